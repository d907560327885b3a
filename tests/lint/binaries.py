# SPDX-License-Identifier: Apache-2.0
"""What the compiled library may contain.

  - libfovea.so exports exactly the functions the public headers declare with FOVEA_API
  - no ymm or zmm register outside the objects of that ISA (x86): a stray AVX instruction is a crash on older CPUs
  - objects of kernels/ define nothing but their kernels, or a table that these share, and keep no writable data

usage: binaries.py SOURCE_DIR LIBRARY OBJECT_DIR NM OBJDUMP
"""
import pathlib
import re
import subprocess
import sys


def run(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def exports(root, library, nm):
    declared = set()
    adapters = {path.stem for path in (root / "adapters").glob("*.c")}  # libraries of their own
    for header in (root / "include/fovea").glob("*.h"):
        if header.stem not in adapters:
            text = re.sub(r"//[^\n]*", "", header.read_text())
            declared |= set(re.findall(r"FOVEA_API[^;{]*?\b(fovea_\w+)\s*\(", text))
    symbols = {line.split()[-1].split("@")[0] for line in run(nm, "-D", "--defined-only", library).splitlines()}
    for name in sorted(symbols - declared):
        yield f"{name} is exported but not declared in a public header"
    for name in sorted(declared - symbols):
        yield f"{name} is declared in a public header but not exported"


def isa_of(path):
    match = re.search(r"kernels/(avx2|avx512)/", path)
    return match.group(1) if match else None


def leaks(objects, objdump):
    for path in objects:
        isa = isa_of(path.as_posix())
        forbidden = {"avx512": None, "avx2": r"%zmm|%k[1-7]", None: r"%[yz]mm"}[isa]
        if forbidden and re.search(forbidden, run(objdump, "-d", str(path))):
            yield f"{path.name} ({isa or 'baseline'}) holds {forbidden}"


def kernel_symbols(objects, objdump):
    for path in objects:
        match = re.search(r"kernels/(\w+)/(\w+)\.c\.o$", path.as_posix())
        if not match:
            continue
        expected = f"fovea_{match.group(2)}_{match.group(1)}"
        for line in run(objdump, "-t", str(path)).splitlines():
            symbol = re.match(r"[0-9a-f]{16} (.)....(.). (\S+)\s+[0-9a-f]+ +(?:\.\w+ )?(\S+)$", line)
            if not symbol:
                continue
            scope, kind, section, name = symbol.groups()
            if section in (".data", ".bss", "*COM*") and kind == "O" or section == "*COM*":
                yield f"{path.name}: writable data {name}"
            if scope == "g" and section.startswith((".text", ".data", ".rodata")) and name != expected:
                yield f"{path.name}: defines {name} besides {expected}"


def main():
    root, library, folder = pathlib.Path(sys.argv[1]), sys.argv[2], pathlib.Path(sys.argv[3])
    nm, objdump = sys.argv[4:6]
    objects = [path for path in sorted(folder.rglob("*.o"))
               if re.search(r"\b(kernels|dispatch|ops|nn)/", path.relative_to(folder).as_posix())]
    found = list(exports(root, library, nm)) + list(kernel_symbols(objects, objdump))
    if re.search("x86-64", run(objdump, "-f", str(objects[0]))):
        found += leaks(objects, objdump)
    print("\n".join(found))
    print(f"{len(objects)} objects, {len(found)} problems")
    sys.exit(bool(found) or not objects)


main()
