# SPDX-License-Identifier: Apache-2.0
"""Who may include whom (docs/architecture.md), and what each layer must not touch.

usage: layers.py SOURCE_DIR
"""
import pathlib
import re
import sys

# layer: (its files, what its #include "..." may begin with)
LAYERS = [
    (r"kernels/(scalar|avx2|avx512|neon)/", r"kernels/(kernel\.h|fault\.h|common/|{isa}/)"),
    (r"kernels/common/", r"kernels/(kernel\.h|fault\.h|common/)"),
    (r"kernels/[^/]*$", r"kernels/"),
    (r"dispatch/", r"(fovea/|kernels/(kernel|table)\.h|kernels/(registers|slots|tuning)\.def|dispatch/)"),
    (r"ops/", r"(fovea/|kernels/(table|fault)\.h|ops/)"),
    (r"nn/", r"(fovea/|ops/|nn/)"),
    (r"adapters/", r"fovea/"),
    (r"cblas/", r"(fovea/|dispatch/environment\.h|cblas/)"),
    (r"include/fovea/", r"fovea/"),
    (r"bench/", r"(fovea/|dispatch/|bench/)"),
    (r"history/", r"(fovea/|bench/(clock|stats)\.h|history/)"),
    (r"tune/", r"(fovea/|kernels/kernel\.h|dispatch/|ops/facts\.h|tune/|"
               r"bench/(clock|memory|pool|probe|stats)\.h|tests/check/)"),
    (r"cli/", r"(fovea/|dispatch/|ops/facts\.h|cli/|tune/|bench/(bench|clock|instructions)\.h|history/|tests/check/)"),
]
# What may stand only in some places: (pattern, files that may have it, why)
ONLY = [
    (r"#include <(imm|xmm|emm|zmm)intrin\.h>|#include <arm_neon\.h>", r"kernels/(avx2|avx512|neon)/|bench/|tests/",
     "intrinsics belong to kernels/<isa>/"),
    (r"\b(__get_cpuid|__cpuid|getauxval)\b", r"dispatch/|tests/", "the CPU belongs to dispatch/"),
    (r"\bFOVEA_(CPU|REQUIRES)_", r"kernels/|dispatch/|tune/|cli/|bench/|history/|tests/",
     "operators ask for facts of a kernel (kernels/*.def), not for its ISA"),
    (r"\bgetenv\b", r"dispatch/environment\.c|bench/count_|cli/bench_count\.c|tests/",
     "the environment is read with fovea_environment, which a program with raised rights does not believe"),
    (r"\b(malloc|calloc|realloc|aligned_alloc)\(",
     r"(dispatch/(engine|adopt)|ops/once|nn/(safetensors|transformer|transformer_load)|cblas/thread)\.[ch]$|"
     r"bench/|cli/|history/|tests/|tune/|adapters/",
     "memory is the caller's"),
    (r"\b(printf|fprintf|puts|abort|exit)\(",
     r"cblas/(engine|xerbla)\.c|history/page|cli/|tests/|tune/|bench/|examples/",
     "the library prints nothing and never aborts"),
    (r"\bfopen\(", r"dispatch/|bench/|cli/|history/|tests/|tune/",
     "files are read by dispatch/ and by nn/ through mmap"),
    (r"\b(strto(f|d|ld)|atof|setlocale)\(",
     r"bench/|cli/|history/|tests/|tune/", "numbers are read without the locale of the process"),
    (r"-ffast-math|#pragma.*FP_CONTRACT\s+ON", r"docs/|tests/lint/", "arithmetic is canonical"),
]


def sources(root):
    folders = ("adapters", "bench", "cblas", "cli", "dispatch", "history", "include", "kernels", "nn", "ops", "tests",
               "tune")
    for folder in folders:
        for path in sorted((root / folder).rglob("*")):
            if path.suffix in (".c", ".h", ".inc", ".def"):
                yield path.relative_to(root).as_posix(), path.read_text()


def check(name, text):
    for pattern, allowed in LAYERS:
        match = re.match(pattern, name)
        if not match:
            continue
        allowed = allowed.replace("{isa}", match.group(1) if match.groups() else "-")
        for line, target in enumerate(re.findall(r'^\s*#\s*include\s+"([^"]+)"', text, re.M), 1):
            if not re.match(allowed, target):
                yield f'{name}: must not include "{target}"'
        break
    code = re.sub(r"//[^\n]*|\"(\\.|[^\"\\])*\"", "", text)
    for pattern, allowed, why in ONLY:
        if re.search(pattern, text if pattern.startswith("#include") else code) and not re.match(allowed, name):
            yield f"{name}: {re.search(pattern, text).group(0)}: {why}"


def main():
    root = pathlib.Path(sys.argv[1])
    found = [problem for name, text in sources(root) for problem in check(name, text)]
    print("\n".join(found))
    print(f"{len(list(sources(root)))} files, {len(found)} problems")
    sys.exit(bool(found))


main()
