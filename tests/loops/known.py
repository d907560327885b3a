# SPDX-License-Identifier: Apache-2.0
"""The test of loops.py: two loops whose contents are known, one of them not a loop at all.

usage: known.py x86|arm COMPILER OBJDUMP
"""
import pathlib
import subprocess
import sys
import tempfile

import loops

# `steps` has each thing that is counted once or twice; `twice` jumps back without going round.
SOURCE = {
    "x86": """
steps:
    vmovups (%rsi), %zmm0
1:  vmovups (%rdi), %zmm1
    vbroadcastss 4(%rdi), %zmm2
    vfmadd231ps %zmm1, %zmm2, %zmm3
    vfmadd231ps 64(%rdi), %zmm2, %zmm4
    vfmadd231ps (%rdi){1to16}, %zmm1, %zmm5
    vmulps %zmm1, %zmm2, %zmm6
    vpermilps $1, %zmm1, %zmm7
    vmovaps %zmm1, %zmm8
    prefetcht0 512(%rdi)
    vmovups %zmm3, -64(%rsp)
    vmovups %zmm3, (%rdx)
    addq -8(%rsp), %rdi
    decq %rax
    jne 1b
    ret
twice:
    jmp 3f
2:  vfmadd231ps %zmm1, %zmm2, %zmm3
    ret
3:  vfmadd231ps %zmm1, %zmm2, %zmm3
    jmp 2b
""",
    "arm": """
steps:
    ldr q0, [x1]
1:  ldp q1, q2, [x0, #32]
    ld1 {v16.4s-v17.4s}, [x0]
    ldr s3, [x2, x3, lsl #2]
    ld1r {v4.4s}, [x2]
    fmla v5.4s, v1.4s, v3.s[0]
    fmla v6.4s, v2.4s, v4.4s
    fmul v7.4s, v1.4s, v4.4s
    mov v8.16b, v1.16b
    prfm pldl1keep, [x0, #512]
    str q5, [sp, #16]
    ldr x4, [sp]
    str q5, [x5]
    subs x6, x6, #1
    b.ne 1b
    ret
twice:
    b 3f
2:  fmla v5.4s, v1.4s, v3.s[0]
    ret
3:  fmla v5.4s, v1.4s, v3.s[0]
    b 2b
""",
}
# fmas, b_loads, a_loads, prefetches, spills, reloads, stores, shuffles, copies
KNOWN = {"x86": (3, 2, 2, 1, 1, 1, 2, 1, 1), "arm": (2, 4, 1, 1, 1, 1, 2, 2, 1)}


def main():
    machine, compiler, objdump = sys.argv[1:4]
    with tempfile.TemporaryDirectory() as folder:
        source, object_ = pathlib.Path(folder, "known.s"), pathlib.Path(folder, "known.o")
        source.write_text("".join(f".globl {name}\n.type {name}, %function\n" for name in ("steps", "twice")) +
                          SOURCE[machine])
        subprocess.run([compiler, "-c", source, "-o", object_], check=True)
        found = list(loops.innermost(objdump, object_))
    counts = [(loop.fmas(), loop.b_loads(), loop.a_loads(), loop.prefetches(), loop.spills(), loop.reloads(),
               loop.stores(), loop.shuffles(), loop.copies()) for loop in found]
    print(*counts, sep="\n")
    sys.exit([loop.function for loop in found] != ["steps"] or counts != [KNOWN[machine]])


main()
