# SPDX-License-Identifier: Apache-2.0
"""Kernels: the registers, the files and the build's lists name the same things.

A line FOVEA_KERNEL(family, slot, stem, isa, ...) stands for the symbol fovea_<stem>_<isa>, which is defined in
kernels/<isa>/<stem>.c and nowhere else; every .c file below kernels/<isa>/ is registered, or is one of SHARED, which
define a table by the same name; every slot has a scalar line.

usage: names.py SOURCE_DIR
"""
import pathlib
import re
import sys

STEM = re.compile(r"(gemm|gemm_b[nt]|gemm_(b?f16|s8)|gemm_few|gemm_edge|gemm_epilogue|pack_bt?|"
                  r"(widen|narrow)_b?f16|widen_s8|transpose|attention_\w+|[a-z]+2?|\w+_softmax|gelu_tanh)_f32"
                  r"(_\d+x\d+|_halves)?$")

SHARED = {"kernels/avx512/gemm_tiles_f32.c"}  # what several kernels run, and no register names


def main():
    root = pathlib.Path(sys.argv[1])
    found, registered, slots = [], set(), {}
    for register in ("gemm", "attention", "rowwise"):
        text = (root / f"kernels/{register}.def").read_text()
        for slot, stem, isa in re.findall(r"^FOVEA_KERNEL\(\w+, (\w+), (\w+), (\w+),", text, re.M):
            registered.add(f"kernels/{isa}/{stem}.c")
            slots.setdefault(slot, set()).add(isa)
            if not STEM.match(stem):
                found.append(f"kernels/{register}.def: {stem} does not follow the grammar op_type[_MRxNR|_halves]")
    declared = set(re.findall(r"^FOVEA_SLOT\(\w+, (\w+)\)", (root / "kernels/slots.def").read_text(), re.M))
    if declared != set(slots):
        found.append(f"kernels/slots.def and the registers differ: {sorted(declared ^ set(slots))}")
    found += [f"slot {slot} has no scalar line" for slot, isas in slots.items() if "scalar" not in isas]

    files = {path.relative_to(root).as_posix() for isa in ("scalar", "avx2", "avx512", "neon")
             for path in (root / "kernels" / isa).glob("*.c")}
    found += [f"{name} is not registered" for name in sorted(files - registered - SHARED)]
    found += [f"{name} is registered and missing" for name in sorted(registered - files)]
    found += [f"{name} is shared and missing, or registered" for name in sorted(SHARED - files | SHARED & registered)]
    for name in sorted(files & (registered | SHARED)):
        _, isa, stem = name[:-2].split("/")
        symbol = f"fovea_{stem}_{isa}"
        text = (root / name).read_text()
        targets = re.findall(r'#include "(kernels/common/\w+\.inc)"', text)
        included = "".join((root / target).read_text() for target in targets)
        own = re.escape(f"FV_NAME({stem})")
        if ("#define FV_HALVES" in text) == stem.endswith("_halves"):  # kernels/common/variant.h
            own += "|" + re.escape(f"FV_VARIANT({stem.removesuffix('_halves')})")
        kind = rf"const struct \w+ {symbol} =" if name in SHARED else rf"void ({symbol}|{own})\("
        if not re.search("^" + kind, text + included, re.M):
            found.append(f"{name} does not define {symbol}")

    listed = set(re.findall(r"[a-z0-9_]+_f32(?:_\d+x\d+|_halves)?", (root / "cmake/files.cmake").read_text()))
    stems = {name.split("/")[2][:-2] for name in registered | SHARED}
    if listed != stems:
        found.append(f"cmake/files.cmake and the registers differ: {sorted(listed ^ stems)}")
    print("\n".join(found))
    print(f"{len(registered)} kernels, {len(slots)} slots, {len(found)} problems")
    sys.exit(bool(found))


main()
