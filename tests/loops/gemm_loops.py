# SPDX-License-Identifier: Apache-2.0
"""What the compiler made of the k loops of the GEMM micro-kernels: every register tile of every kernel.

A k step of m rows and v vectors is m x v FMAs, v vectors of B that are loaded once each and m elements of A, and
nothing else that a vector takes part in: no spill, no store, no shuffle, no load of B that is folded into an FMA and so
repeated. The table says what else the main tile may have.

usage: gemm_loops.py OBJECT_DIR OBJDUMP COMPILER_ID ISA...
"""
import collections
import pathlib
import sys

import loops

Kernel = collections.namedtuple("Kernel", "isa stem function m v prefetches reloads instructions twice",
                                defaults=[set()])


def twice(kernel, m, v):
    """Rows of A that each panel's FMA loads for itself, those a pointer is for, in tiles of so many panels."""
    return (m + 2) // 3 if v in kernel.twice else 0


def avx512(stem, m, v):
    """Each kind of its tiles, all of them assembly. Of what moves the line that is prefetched a compiler may keep the
    stride in memory."""
    near = v if v > 1 else 0
    # Four steps a turn, and single ones: rows of A are broadcast inside the FMAs of a lone panel, and where two or
    # three are side by side those of the rows that a pointer is for, one in three.
    pointers = (m + 2) // 3
    bare = m * v + v + {1: 0, 2: m - pointers, 3: m - pointers, 4: m}[v]
    natural = (bare + (1 + pointers + 2) / 4, bare + 1 + pointers + 2)
    kinds = {"near": near, "near_line": near + 1, "near_panels": near + v, "near_half": near, "natural": 0,
             "natural_half": 0, "apart": 0, "apart_line": 1, "apart_panels": v, "apart_half": 0, "lead": v}
    for kind, prefetches in kinds.items():
        reloads = 1 if "line" in kind or "panels" in kind else 0
        yield Kernel("avx512", stem, kind + "_{m}x{v}", m, v, {prefetches}, {"GNU": reloads, "Clang": reloads},
                     dict.fromkeys(("GNU", "Clang"), natural) if "natural" in kind else None, {2, 3})


# The main tile, by its function; cache lines prefetched a step, one or more loops for each; reloads: strides that a
# compiler may read from the stack in a step; instructions a step, of the shortest and of the longest loop: the longest
# is the loop of single steps at the end of k, around which the compiler counts.
KERNELS = [
    *avx512("gemm_f32_9x48", 9, 3),
    *avx512("gemm_f32_6x64", 6, 4),
    *avx512("gemm_f32_12x32", 12, 2),
    *avx512("gemm_f32_16x16", 16, 1),
    Kernel("avx2", "gemm_f32_6x16", "gemm_{m}", 6, 2, {1, 1.5, 2}, {"GNU": 0, "Clang": 0},
           {"GNU": (22, 25), "Clang": (22, 25)}),
    Kernel("avx2", "gemm_f32_3x32", "gemm_pair_{m}", 3, 4, {0}, {"GNU": 0, "Clang": 0},
           {"GNU": (20, 23), "Clang": (20, 23)}),
    Kernel("neon", "gemm_f32_6x16", "gemm_rows_{m}", 6, 4, {1, 2}, {"GNU": 0, "Clang": 0}, None),
]
COLUMNS = ("FMAs", "B", "A", "prefetches", "reloads", "spills", "stores", "shuffles")


def per_step(loop, fmas):
    """The counts of COLUMNS for one k step of a loop that may be unrolled."""
    counts = (loop.fmas(), loop.b_loads(), loop.a_loads(), loop.prefetches(), loop.reloads(), loop.spills(),
              loop.stores(), loop.shuffles())
    steps = max(1, round(counts[0] / fmas))
    return tuple(count / steps for count in counts)


def problems(kernel, m, v, found, compiler):
    """What is wrong with the loops of one register tile; found: their counts."""
    if not found:
        yield "no k loop found"
    for counts in found:
        wanted = (m * v, v, m + (v - 1) * twice(kernel, m, v), counts[3], counts[4], 0, 0, 0)
        for column, count, expected in zip(COLUMNS, counts, wanted):
            if count != expected:
                yield f"{count:g} {column} a step, not {expected}"
    if (m, v) == (kernel.m, kernel.v):
        prefetches = {counts[3] for counts in found}
        if prefetches != kernel.prefetches:
            yield f"prefetches of its loops: {sorted(prefetches)}, not {sorted(kernel.prefetches)}"
        for counts in found:
            if counts[4] > kernel.reloads[compiler]:
                yield f"{counts[4]:g} strides read from the stack a step, more than {kernel.reloads[compiler]}"


def work(loop):
    """Its instructions but those that only align the jump at its end, of which a compiler may add one."""
    return loop.count(lambda i: not i.mnemonic.startswith("nop"))


def long(kernel, steps, compiler):
    """What is wrong with the instructions a step of the main tile's loops."""
    if kernel.instructions and steps and (min(steps), max(steps)) != kernel.instructions[compiler]:
        yield f"{min(steps):g} to {max(steps):g} instructions a step, not {kernel.instructions[compiler]}"


def tiles(kernel):
    """Rows and panels of its register tiles; gcc makes one function of two of one panel that are alike."""
    first = 2 if "apart_panels" in kernel.function else 1
    panels = [kernel.v] if "{v}" not in kernel.function else range(first, kernel.v + 1)
    return [(m, v) for m in range(1, kernel.m + 1) for v in panels]


def main():
    folder, objdump, compiler, isas = pathlib.Path(sys.argv[1]), sys.argv[2], sys.argv[3], sys.argv[4:]
    failed = checked = 0
    print(f"{'tile':34}" + "".join(f"{column:>11}" for column in COLUMNS) + "   instructions")
    for kernel in (kernel for kernel in KERNELS if kernel.isa in isas):
        path = folder / f"fovea_kernels_{kernel.isa}.dir/kernels/{kernel.isa}/{kernel.stem}.c.o"
        by_function = collections.defaultdict(list)
        for loop in loops.innermost(objdump, path):
            if loop.fmas():
                by_function[loop.function].append(loop)
        for m, v in tiles(kernel):
            name = kernel.function.format(m=m, v=v)
            found = by_function[name]
            counts = [per_step(loop, m * v) for loop in found]
            wrong = list(problems(kernel, m, v, counts, compiler))
            if (m, v) == (kernel.m, kernel.v):
                wrong += long(kernel, [work(loop) * m * v / loop.fmas() for loop in found], compiler)
            if wrong or (m, v) == (kernel.m, kernel.v):
                for loop, line in zip(found, counts):
                    print(f"{kernel.stem + '_' + kernel.isa + ' ' + name:34}" +
                          "".join(f"{count:11g}" for count in line) + f"{len(loop.instructions):15}")
            for problem in wrong:
                print(f"FAIL {kernel.stem}_{kernel.isa} {name}: {problem}")
            failed += bool(wrong)
            checked += 1
    print(f"{checked} tiles, {failed} failed")
    sys.exit(bool(failed) or not checked)


main()
