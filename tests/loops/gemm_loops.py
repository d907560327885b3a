# SPDX-License-Identifier: Apache-2.0
"""What the compiler made of the k loops of the GEMM micro-kernels: every register tile.

A k step of m rows and v vectors is m x v FMAs, v vectors of B that are loaded once each and m elements of A, and
nothing else that a vector takes part in: no spill, no store but of the B that a tile packs, no shuffle, no load of B
that is folded into an FMA and so repeated. The table says what else the main tile may have.

usage: gemm_loops.py OBJECT_DIR OBJDUMP COMPILER_ID ISA...
"""
import collections
import functools
import pathlib
import re
import sys

import loops

Kernel = collections.namedtuple("Kernel", "isa stem function m v prefetches reloads instructions twice stores",
                                defaults=[False, 0])


def twice(kernel, m):
    """Rows of A that each panel's FMA loads for itself: those a pointer is for."""
    return (m + 2) // 3 if kernel.twice else 0


def avx512(m, v):
    """The tiles of so many panels, the table's of AVX-512, of each kind up to m rows; all are assembly. Of what moves
    the line that is prefetched a compiler may keep the stride in memory."""
    near = v if v > 1 else 0
    # Four steps a turn, and single ones: rows of A are broadcast inside the FMAs of a lone panel, and where two or
    # three are side by side those of the rows that a pointer is for, one in three.
    pointers = (m + 2) // 3
    bare = m * v + v + {1: 0, 2: m - pointers, 3: m - pointers, 4: m}[v]
    natural = (bare + (1 + pointers + 2) / 4, bare + 1 + pointers + 2)
    kinds = {"near": near, "near_line": near + 1, "near_panels": near + v, "near_half": near, "natural": 0,
             "natural_half": 0, "apart": 0, "apart_line": 1, "apart_panels": v, "apart_half": 0, "lead": v,
             "packing": v}
    if v == 1:
        kinds["pages"] = 0
        del kinds["apart_panels"]  # of one panel it is apart_line, and gcc makes one function of the two
    for kind, prefetches in kinds.items():
        reloads = 1 if "line" in kind or "panels" in kind else 0
        yield Kernel("avx512", "gemm_tiles_f32", f"{kind}_{{m}}x{v}", m, v, {prefetches},
                     {"GNU": reloads, "Clang": reloads},
                     dict.fromkeys(("GNU", "Clang"), natural) if "natural" in kind else None, v in (2, 3),
                     v if kind == "packing" else 0)


# The main tile, by its function; cache lines prefetched a step, one or more loops for each; reloads: strides that a
# compiler may read from the stack in a step; instructions a step, of the shortest and of the longest loop: the longest
# is the loop of single steps at the end of k, around which the compiler counts.
KERNELS = [
    *avx512(9, 3),
    *avx512(6, 4),
    *avx512(12, 2),
    *avx512(16, 1),
    Kernel("avx2", "gemm_f32_6x16", "gemm_{m}", 6, 2, {1, 1.5, 2}, {"GNU": 0, "Clang": 0},
           {"GNU": (22, 25), "Clang": (22, 25)}),
    Kernel("avx2", "gemm_f32_3x32", "gemm_pair_{m}", 3, 4, {0}, {"GNU": 0, "Clang": 0},
           {"GNU": (20, 23), "Clang": (20, 23)}),
    *(Kernel("neon", "gemm_f32_2x48", f"gemm_{{m}}x{panels}", 2, 4 * panels, {0}, {"GNU": 0, "Clang": 0}, None)
      for panels in (1, 2, 3)),
    Kernel("neon", "gemm_f32_6x16", "gemm_rows_{m}", 6, 4, {1, 2}, {"GNU": 0, "Clang": 0}, None),
    Kernel("neon", "gemm_f32_6x16", "gemm_half_{m}", 6, 2, {1, 2}, {"GNU": 0, "Clang": 0}, None),
]
COLUMNS = ("FMAs", "B", "A", "prefetches", "reloads", "spills", "stores", "shuffles")


def per_step(loop, fmas):
    """The counts of COLUMNS for one k step of a loop that may be unrolled."""
    counts = (loop.fmas(), loop.b_loads(), loop.a_loads(), loop.prefetches(), loop.reloads(), loop.spills(),
              loop.stores(), loop.shuffles())
    steps = max(1, round(counts[0] / fmas))
    return tuple(count / steps for count in counts)


def problems(kernel, m, found, compiler):
    """What is wrong with the loops of the tile of m rows; found: their counts."""
    v = kernel.v
    if not found:
        yield "no k loop found"
    for counts in found:
        wanted = (m * v, v, m + (v - 1) * twice(kernel, m), counts[3], counts[4], 0, kernel.stores, 0)
        for column, count, expected in zip(COLUMNS, counts, wanted):
            if count != expected:
                yield f"{count:g} {column} a step, not {expected}"
    if m == kernel.m:
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


@functools.cache
def k_loops(objdump, path):
    """Those of an object, by function."""
    found = collections.defaultdict(list)
    for loop in loops.innermost(objdump, path):
        if loop.fmas():
            found[loop.function].append(loop)
    return found


def stores_vector(instruction):
    """Whether it stores a vector to where a general register points: its last operand, in AT&T's syntax."""
    return instruction.mnemonic.startswith("vmov") and instruction.operands.endswith(")")


def variants_for_few():
    """The kernels for few rows of a packed B: stem, ISA, their most rows, the most that are told to be quiet, and
    whether one of their loops packs."""
    text = (pathlib.Path(__file__).parents[2] / "kernels/gemm.def").read_text()
    for stem, isa, facts in re.findall(r"^FOVEA_KERNEL\(gemm_few, \w+, (\w+), (\w+), \((.*)\)\)", text, re.M):
        number = {name: int(value) for name, value in re.findall(r"\.(\w+) = (\d+)", facts)}
        yield stem, isa, number["mr"], number.get("quiet_rows", 0), number.get("packs", 0)


def few_rows(folder, objdump, isas):
    """What is wrong with the k loops for few rows of C: of those that prefetch there is at least one for each number of
    rows, of those that do not as many as rows are told so; and others if the variant packs, which store B of two
    steps. (Loops over tiles of a single step store sums.)"""
    for stem, isa, rows, quiet, packs in (v for v in variants_for_few() if v[1] in isas and v[1] != "scalar"):
        path = folder / f"fovea_kernels_{isa}.dir/kernels/{isa}/{stem}.c.o"
        found = [loop for loop in loops.innermost(objdump, path) if loop.fmas()]
        loud = [loop for loop in found if loop.prefetches()]
        packing = [loop for loop in loud if packs and loop.count(stores_vector) >= 2]
        loud = [loop for loop in loud if loop not in packing]
        kept = sum(loop.spills() + loop.stores() for loop in loud) + sum(loop.spills() for loop in packing)
        copies = sum(loop.copies() for loop in loud) if isa == "neon" else 0  # x86 cores copy by renaming
        still = sum(not (loop.prefetches() or loop.spills() or loop.stores()) for loop in found)
        print(f"{stem}_{isa}: {len(loud)} k loops, {kept} spills and stores in them, {copies} copies; {still} prefetch "
              f"nothing, {len(packing)} packs")
        if len(loud) < rows or kept or copies or still != quiet or bool(packing) != bool(packs):
            yield f"{stem}_{isa}"


def main():
    folder, objdump, compiler, isas = pathlib.Path(sys.argv[1]), sys.argv[2], sys.argv[3], sys.argv[4:]
    failed = checked = 0
    print(f"{'tile':40}" + "".join(f"{column:>11}" for column in COLUMNS) + "   instructions")
    for kernel in (kernel for kernel in KERNELS if kernel.isa in isas):
        path = folder / f"fovea_kernels_{kernel.isa}.dir/kernels/{kernel.isa}/{kernel.stem}.c.o"
        for m in range(1, kernel.m + 1):
            name, fmas = kernel.function.format(m=m), m * kernel.v
            found = k_loops(objdump, path)[name]
            counts = [per_step(loop, fmas) for loop in found]
            wrong = list(problems(kernel, m, counts, compiler))
            if m == kernel.m:
                wrong += long(kernel, [work(loop) * fmas / loop.fmas() for loop in found], compiler)
            if wrong or m == kernel.m:
                for loop, line in zip(found, counts):
                    print(f"{kernel.stem + '_' + kernel.isa + ' ' + name:40}" +
                          "".join(f"{count:11g}" for count in line) + f"{len(loop.instructions):15}")
            for problem in wrong:
                print(f"FAIL {kernel.stem}_{kernel.isa} {name}: {problem}")
            failed += bool(wrong)
            checked += 1
    for name in few_rows(folder, objdump, isas):
        print(f"FAIL {name}")
        failed += 1
    print(f"{checked} tiles, {failed} failed")
    sys.exit(bool(failed) or not checked)


main()
