# SPDX-License-Identifier: Apache-2.0
"""The k loops of NEON kernels in llvm-mca's models of Arm cores: the largest tiles at 98 % of the FMA bound.

The bound is measured with the same tool: a loop of independent FMAs and nothing else, or of FMAs that wait for one
another, if a loop adds so many to one register that these take longer. llvm-mca takes every load for a hit of L1.
Skipped where LLVM 19 is not there: older models of these cores differ.

Besides, gcc's loops of 2^x copy no vector: a constant that an FMA adds is loaded.

usage: neon_mca.py FOLDER OBJDUMP COMPILER_ID
"""
import collections
import pathlib
import re
import shutil
import subprocess
import sys

import loops

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "support"))
import skips  # noqa: E402

CORES = ("neoverse-n1", "neoverse-n2", "neoverse-v1", "neoverse-v2")
TILE = "gemm_f32_6x16"
HALF = "gemm_half_6"
MAIN = {TILE: ("gemm_rows_6", HALF), "gemm_f32_2x48": ("gemm_2x3",), "gemm_bn_f32": ("gemm_bn_6",),
        "gemm_bt_f32": ("gemm_bt_6",)}
LEAST = 0.98
FMAS = [f"fmla v{i}.4s, v30.4s, v31.s[0]" for i in range(24)]  # more than 4 cycles on 4 pipes
ITERATIONS = 1000


def assembly(loop):
    """The loop as assembly that jumps to its begin."""
    for i in loop.instructions:
        jumps = i.target() is not None
        yield i.mnemonic + " " + (re.sub(r"(0x)?[0-9a-f]+ <.*", ".Lbegin", i.operands) if jumps else i.operands)


def chain(loop):
    """The most FMAs that add to one register."""
    return max(collections.Counter(i.operands.split(",")[0] for i in loop.instructions if loop.is_fma(i)).values())


def is_judged(stem, loop, compiler):
    """Whether it is a main loop; those of the tile are by any compiler. Not that of half a panel which prefetches for
    later tiles as well: 10 loads for 12 FMAs are 3.3 cycles on V2, whose FMAs take 3."""
    busy = loop.function == HALF and loop.prefetches() > 1
    return loop.function in MAIN[stem] and not busy and (stem == TILE or compiler == "GNU")


def cycles(core, lines):
    text = ".Lbegin:\n" + "\n".join(lines) + "\n"
    out = subprocess.run(["llvm-mca-19", "-mtriple=aarch64-linux-gnu", f"-mcpu={core}", f"-iterations={ITERATIONS}",
                          "-resource-pressure=false", "-instruction-info=false"],
                         input=text, check=True, capture_output=True, text=True).stdout
    return int(re.search(r"Total Cycles: +(\d+)", out).group(1)) / ITERATIONS


def main():
    if not shutil.which("llvm-mca-19"):
        skips.skip("gemm_loops_mca", "all", "Debian's llvm-19 is not there")
    folder, objdump, compiler = pathlib.Path(sys.argv[1]), sys.argv[2], sys.argv[3]
    bounds = {core: cycles(core, FMAS) / len(FMAS) for core in CORES}  # of an FMA
    latencies = {core: cycles(core, FMAS[:1]) for core in CORES}
    failed, checked = 0, dict.fromkeys(MAIN, 0)
    print(f"{'loop':14}{'core':14}{'cycles':>9}{'bound':>9}")
    for stem in MAIN:
        for loop in loops.innermost(objdump, folder / f"{stem}.c.o"):
            # The other loops of gemm_bn are the columns at the end of a row, lane by lane.
            if not loop.fmas() or loop.count(lambda i: i.mnemonic == "ld1"):
                continue
            lines, judged = list(assembly(loop)), is_judged(stem, loop, compiler)
            for core in CORES:
                bound = max(bounds[core] * loop.fmas(), latencies[core] * chain(loop))
                taken = cycles(core, lines)
                slow = judged and bound < LEAST * taken
                print(f"{loop.function:14}{core:14}{taken:9.2f}{bound:9.2f}{bound / taken:8.1%}"
                      f"{'  FAIL' if slow else ''}")
                checked[stem] += judged
                failed += slow
    print(f"{sum(checked.values())} loops on cores, {failed} below {LEAST:.0%} of the bound")
    copies = sum(loop.copies() for loop in loops.innermost(objdump, folder / "exp2_f32.c.o"))
    print(f"2^x: {copies} copies of vectors")
    sys.exit(bool(failed or copies and compiler == "GNU") or not checked[TILE])


main()
