# SPDX-License-Identifier: Apache-2.0
"""The k loops of the NEON micro-kernel in llvm-mca's models of Arm cores: the main tile at 98 % of the FMA bound.

The bound is measured with the same tool: a loop of independent FMAs and nothing else. llvm-mca takes every load for a
hit of L1. Skipped where LLVM 19 is not there: older models of these cores differ.

usage: neon_mca.py OBJECT OBJDUMP
"""
import pathlib
import re
import shutil
import subprocess
import sys

import loops

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "support"))
import skips  # noqa: E402

CORES = ("neoverse-n1", "neoverse-n2", "neoverse-v1", "neoverse-v2")
MAIN, LEAST = "gemm_rows_6", 0.98
FMAS = [f"fmla v{i}.4s, v30.4s, v31.s[0]" for i in range(24)]  # more than 4 cycles on 4 pipes
ITERATIONS = 1000


def assembly(loop):
    """The loop as assembly that jumps to its begin."""
    for i in loop.instructions:
        jumps = i.target() is not None
        yield i.mnemonic + " " + (re.sub(r"(0x)?[0-9a-f]+ <.*", ".Lbegin", i.operands) if jumps else i.operands)


def cycles(core, lines):
    text = ".Lbegin:\n" + "\n".join(lines) + "\n"
    out = subprocess.run(["llvm-mca-19", "-mtriple=aarch64-linux-gnu", f"-mcpu={core}", f"-iterations={ITERATIONS}",
                          "-resource-pressure=false", "-instruction-info=false"],
                         input=text, check=True, capture_output=True, text=True).stdout
    return int(re.search(r"Total Cycles: +(\d+)", out).group(1)) / ITERATIONS


def main():
    if not shutil.which("llvm-mca-19"):
        skips.skip("gemm_loops_mca", "all", "Debian's llvm-19 is not there")
    bounds = {core: cycles(core, FMAS) / len(FMAS) for core in CORES}  # of an FMA
    checked = failed = 0
    print(f"{'loop':14}{'core':14}{'cycles':>9}{'bound':>9}")
    for loop in loops.innermost(sys.argv[2], sys.argv[1]):
        if not loop.fmas():
            continue
        lines = list(assembly(loop))
        for core in CORES:
            bound, taken = bounds[core] * loop.fmas(), cycles(core, lines)
            slow = loop.function == MAIN and bound < LEAST * taken
            print(f"{loop.function:14}{core:14}{taken:9.2f}{bound:9.2f}{bound / taken:8.1%}{'  FAIL' if slow else ''}")
            checked += loop.function == MAIN
            failed += slow
    print(f"{MAIN}: {checked} loops on cores, {failed} below {LEAST:.0%} of the bound")
    sys.exit(bool(failed) or not checked)


main()
