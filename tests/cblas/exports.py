# SPDX-License-Identifier: Apache-2.0
"""libfovea_cblas.so exports the functions of cblas/front.h and nothing else, and asks for error handlers only weakly.

usage: exports.py SOURCE_DIR LIBRARY NM
"""
import pathlib
import re
import subprocess
import sys


def symbols(nm, library, option):
    text = subprocess.run([nm, "-D", option, library], check=True, capture_output=True, text=True).stdout
    return {line.split()[-1].split("@")[0]: line.split()[-2] for line in text.splitlines()}


def main():
    root, library, nm = pathlib.Path(sys.argv[1]), sys.argv[2], sys.argv[3]
    text = re.sub(r"//[^\n]*", "", (root / "cblas/front.h").read_text())
    declared = set(re.findall(r"FOVEA_API void (\w+)\(", text))
    exported = set(symbols(nm, library, "--defined-only"))
    wanted = symbols(nm, library, "--undefined-only")
    found = [f"{name} is exported or declared, not both" for name in sorted(declared ^ exported)]
    found += [f"{name} is not asked for weakly" for name in ("xerbla_", "cblas_xerbla", "RowMajorStrg")
              if wanted.get(name) not in ("w", "v")]
    print("\n".join(found))
    print(f"{len(exported)} exports, {len(found)} problems")
    sys.exit(bool(found) or not exported)


main()
