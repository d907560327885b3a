// SPDX-License-Identifier: Apache-2.0
// kernels/avx512/attention_block.h - a whole tile of prefill, 8 rows by 48 queries, in assembly.
//
// A step is 24 FMAs, 3 loads of B and 8 broadcasts of A, three of them inside their FMAs: an instruction less and two
// loads more for each. That makes 32 instructions, where gcc needs 35 to 39 for intrinsics (it copies sums between
// registers and spills pointers). They matter because a core whose other hyper-thread is busy issues two a cycle: 24
// FMAs in 32 instructions are then 75 % of the peak, in 38 they are 63 %. A core of its own issues four, and takes two
// loads a cycle, of which a step has 17 in its 12: three rows inside cost it 1 %, all 8 would 10 %. An address with an
// index would split an FMA from its load again, so of rows that are apart it is the ones without.
//
// zmm0 to zmm23 are the sums, row by row; zmm27 and zmm31 take elements of A in turn; zmm28 to zmm30 are B.
#ifndef FOVEA_KERNELS_AVX512_ATTENTION_BLOCK_H
#define FOVEA_KERNELS_AVX512_ATTENTION_BLOCK_H

#include "kernels/avx512/vec.h"
#include "kernels/common/attention_product.h"

// clang-format off
// X(row's offset in C, its three sums) for each row.
#define BLOCK_ROWS(X)                                                                                   \
    X("0", "0", "1", "2") X("192", "3", "4", "5") X("384", "6", "7", "8") X("576", "9", "10", "11")     \
    X("768", "12", "13", "14") X("960", "15", "16", "17") X("1152", "18", "19", "20") X("1344", "21", "22", "23")
#define BLOCK_ZERO(at, x, y, z)                                                                         \
    "vpxord %%zmm" x ", %%zmm" x ", %%zmm" x "\n\t"                                                     \
    "vpxord %%zmm" y ", %%zmm" y ", %%zmm" y "\n\t"                                                     \
    "vpxord %%zmm" z ", %%zmm" z ", %%zmm" z "\n\t"
#define BLOCK_LOAD(at, x, y, z)                                                                         \
    "vmovups " at "(%[c]), %%zmm" x "\n\t"                                                              \
    "vmovups " at "+64(%[c]), %%zmm" y "\n\t"                                                           \
    "vmovups " at "+128(%[c]), %%zmm" z "\n\t"
#define BLOCK_STORE(at, x, y, z)                                                                        \
    "vmovups %%zmm" x ", " at "(%[c])\n\t"                                                              \
    "vmovups %%zmm" y ", " at "+64(%[c])\n\t"                                                           \
    "vmovups %%zmm" z ", " at "+128(%[c])\n\t"
#define BLOCK_RESCALE(at, x, y, z)                                                                      \
    "vfmadd231ps " at "(%[c]), %%zmm28, %%zmm" x "\n\t"                                                 \
    "vfmadd231ps " at "+64(%[c]), %%zmm29, %%zmm" y "\n\t"                                              \
    "vfmadd231ps " at "+128(%[c]), %%zmm30, %%zmm" z "\n\t"

// A row's part of a step: its element is at `at`, broadcast into register `by` or inside the FMAs.
#define BLOCK_B(at)                                                                                     \
    "vmovups " at "(%[b]), %%zmm28\n\tvmovups " at "+64(%[b]), %%zmm29\n\tvmovups " at "+128(%[b]), %%zmm30\n\t"
#define BLOCK_FMA(at, by, x, y, z)                                                                      \
    "vbroadcastss " at ", %%zmm" by "\n\t"                                                              \
    "vfmadd231ps %%zmm28, %%zmm" by ", %%zmm" x "\n\t"                                                  \
    "vfmadd231ps %%zmm29, %%zmm" by ", %%zmm" y "\n\t"                                                  \
    "vfmadd231ps %%zmm30, %%zmm" by ", %%zmm" z "\n\t"
#define BLOCK_FMA_INSIDE(at, x, y, z)                                                                   \
    "vfmadd231ps " at "%{1to16%}, %%zmm28, %%zmm" x "\n\t"                                              \
    "vfmadd231ps " at "%{1to16%}, %%zmm29, %%zmm" y "\n\t"                                              \
    "vfmadd231ps " at "%{1to16%}, %%zmm30, %%zmm" z "\n\t"

// Step p of a turn; A's elements of the next step are `step` bytes on. NEAR: the 8 rows of A lie side by side; APART:
// they are %[s] bytes apart, a0, a1 and a2 being rows 0, 3 and 6.
#define BLOCK_NEAR(step, p)                                                                             \
    BLOCK_B("192*" p)                                                                                   \
    BLOCK_FMA_INSIDE(step "*" p "(%[a0])", "0", "1", "2")                                               \
    BLOCK_FMA(step "*" p "+4(%[a0])", "31", "3", "4", "5")                                              \
    BLOCK_FMA(step "*" p "+8(%[a0])", "27", "6", "7", "8")                                              \
    BLOCK_FMA_INSIDE(step "*" p "+12(%[a0])", "9", "10", "11")                                          \
    BLOCK_FMA(step "*" p "+16(%[a0])", "31", "12", "13", "14")                                          \
    BLOCK_FMA(step "*" p "+20(%[a0])", "27", "15", "16", "17")                                          \
    BLOCK_FMA_INSIDE(step "*" p "+24(%[a0])", "18", "19", "20")                                         \
    BLOCK_FMA(step "*" p "+28(%[a0])", "31", "21", "22", "23")
#define BLOCK_APART(step, p)                                                                            \
    BLOCK_B("192*" p)                                                                                   \
    BLOCK_FMA_INSIDE(step "*" p "(%[a0])", "0", "1", "2")                                               \
    BLOCK_FMA(step "*" p "(%[a0],%[s])", "31", "3", "4", "5")                                           \
    BLOCK_FMA(step "*" p "(%[a0],%[s],2)", "27", "6", "7", "8")                                         \
    BLOCK_FMA_INSIDE(step "*" p "(%[a1])", "9", "10", "11")                                             \
    BLOCK_FMA(step "*" p "(%[a1],%[s])", "31", "12", "13", "14")                                        \
    BLOCK_FMA(step "*" p "(%[a1],%[s],2)", "27", "15", "16", "17")                                      \
    BLOCK_FMA_INSIDE(step "*" p "(%[a2])", "18", "19", "20")                                            \
    BLOCK_FMA(step "*" p "(%[a2],%[s])", "31", "21", "22", "23")
#define BLOCK_ADD_NEAR(bytes) "add $" bytes ", %[a0]\n\t"
#define BLOCK_ADD_APART(bytes) "add $" bytes ", %[a0]\n\tadd $" bytes ", %[a1]\n\tadd $" bytes ", %[a2]\n\t"

// The k loop: n turns of 8 steps, each of which prefetches 4 lines into L2, then `left` steps, together at least one.
#define BLOCK_LOOP(FORM, step)                                                                          \
    "test %[n], %[n]\n\tjz 2f\n"                                                                        \
    "1:\n\t"                                                                                            \
    "mov (%[fetch]), %[line]\n\tadd $8, %[fetch]\n\t"                                                   \
    BLOCK_##FORM(step, "0") BLOCK_##FORM(step, "1") "prefetcht1 (%[line])\n\t"                          \
    BLOCK_##FORM(step, "2") BLOCK_##FORM(step, "3") "prefetcht1 64(%[line])\n\t"                        \
    BLOCK_##FORM(step, "4") BLOCK_##FORM(step, "5") "prefetcht1 128(%[line])\n\t"                       \
    BLOCK_##FORM(step, "6") BLOCK_##FORM(step, "7") "prefetcht1 192(%[line])\n\t"                       \
    BLOCK_ADD_##FORM("8*" step) "add $8*192, %[b]\n\tdec %[n]\n\tjnz 1b\n"                              \
    "2:\ttest %[left], %[left]\n\tjz 4f\n"                                                             \
    "3:\n\t"                                                                                            \
    BLOCK_##FORM(step, "0")                                                                             \
    BLOCK_ADD_##FORM(step) "add $192, %[b]\n\tdec %[left]\n\tjnz 3b\n"                                 \
    "4:\n\t"

#define BLOCK_SUMS "zmm0", "zmm1", "zmm2", "zmm3", "zmm4", "zmm5", "zmm6", "zmm7", "zmm8", "zmm9", "zmm10", "zmm11", \
    "zmm12", "zmm13", "zmm14", "zmm15", "zmm16", "zmm17", "zmm18", "zmm19", "zmm20", "zmm21", "zmm22", "zmm23"
#define BLOCK(FORM, step, begin, end)                                                                   \
    __asm__ volatile(BLOCK_ROWS(begin) BLOCK_LOOP(FORM, step) end BLOCK_ROWS(BLOCK_STORE)               \
                     : [a0] "+&r"(a0), [a1] "+&r"(a1), [a2] "+&r"(a2), [b] "+&r"(b), [n] "+&r"(n), [left] "+&r"(left), \
                       [fetch] "+&r"(fetch), [line] "=&r"(line)                                          \
                     : [s] "r"(s), [c] "r"(c), [scale] "r"(scale)                                       \
                     : BLOCK_SUMS, "zmm27", "zmm28", "zmm29", "zmm30", "zmm31", "memory", "cc")
#define BLOCK_END_RESCALE                                                                               \
    "vmovups (%[scale]), %%zmm28\n\tvmovups 64(%[scale]), %%zmm29\n\tvmovups 128(%[scale]), %%zmm30\n\t" \
    BLOCK_ROWS(BLOCK_RESCALE)
#define BLOCK_MODES(FORM, step)                                                                         \
    do {                                                                                                \
        if (mode == FOVEA_GEMM_STORE) {                                                                 \
            BLOCK(FORM, step, BLOCK_ZERO, "");                                                          \
        } else if (mode == FOVEA_GEMM_ADD) {                                                            \
            BLOCK(FORM, step, BLOCK_LOAD, "");                                                          \
        } else {                                                                                        \
            BLOCK(FORM, step, BLOCK_ZERO, BLOCK_END_RESCALE);                                           \
        }                                                                                               \
    } while (0)
// clang-format on

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Woverlength-strings" // clang counts the assembly of a tile

/// Rows [first, first + 8) of A, which begin at a0, by the queries [lane, lane + 48). The mode is a constant, and the
/// form of A should be.
static inline __attribute__((always_inline)) void attention_whole_block(const struct attention_product *t,
                                                                        const float *a0, size_t first, size_t lane,
                                                                        enum fovea_gemm_mode mode)
{
    const float *b = t->b + lane, *const scale = t->scale + lane, *a1 = a0 + 3 * t->a_row, *a2 = a0 + 6 * t->a_row;
    float *const c = t->c + first * ATTENTION_ROWS + lane;
    const ptrdiff_t s = t->a_row * (ptrdiff_t)sizeof(float);
    size_t n = t->k / ATTENTION_TURN, left = t->k % ATTENTION_TURN;
    const float *const *fetch = attention_take(t->fetch, n), *line;
    if (!t->near) {
        BLOCK_MODES(APART, "4");
    } else if (t->a_k == ATTENTION_GROUP) {
        BLOCK_MODES(NEAR, "32");
    } else {
        BLOCK_MODES(NEAR, "64");
    }
}

#pragma GCC diagnostic pop

#undef BLOCK
#undef BLOCK_ADD_APART
#undef BLOCK_ADD_NEAR
#undef BLOCK_APART
#undef BLOCK_B
#undef BLOCK_END_RESCALE
#undef BLOCK_FMA
#undef BLOCK_FMA_INSIDE
#undef BLOCK_LOAD
#undef BLOCK_LOOP
#undef BLOCK_MODES
#undef BLOCK_NEAR
#undef BLOCK_RESCALE
#undef BLOCK_ROWS
#undef BLOCK_STORE
#undef BLOCK_SUMS
#undef BLOCK_ZERO

#endif
