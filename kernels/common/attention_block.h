// SPDX-License-Identifier: Apache-2.0
// kernels/common/attention_block.h - skeleton of a whole prefill tile in assembly: k loop, loading and storing the
// sums.
//
// Included at the end of an ISA's attention_block.h, which defines how a step is computed:
//   BLOCK_REG, BLOCK_BYTES     the vector registers' name and their width: "ymm", "32"
//   BLOCK_CLEAR(x)             sum x becomes +0
//   BLOCK_ROWS(X)              X(row's offset in C, its three sums) for each row
//   BLOCK_B0, _B1, _B2         the registers of B
//   BLOCK_NEAR(step, p)        step p of eight; A's elements of the next step are `step` bytes further on, and the rows
//                              of A are adjacent, from %[a0] on
//   BLOCK_APART(step, p)       the same for rows %[s] bytes apart; %[a0], %[a1] and %[a2] are rows 0, 3 and 6
//   BLOCK_CLOBBERS             the registers it uses
//   BLOCK_HAS_TAIL             1 if BLOCK_TAIL computes the last turn of eight steps, otherwise 0
//   BLOCK_TAIL(FORM, step, END)  that turn and the end, then it goes on at 8; at 7 at once if %[tail] is 0
//   BLOCK_INTO_L1(FORM, step)  BLOCK_LOOP_INTO_L1, or nothing where that is never faster
// Sums and steps are in assembly because gcc copies and spills registers when all of them are in use.
#ifndef FOVEA_KERNELS_COMMON_ATTENTION_BLOCK_H
#define FOVEA_KERNELS_COMMON_ATTENTION_BLOCK_H

#include "kernels/common/attention_product.h"
#include "kernels/common/unroll.h"
#include "kernels/fault.h"

#include <stdbool.h>

// clang-format off
#define BLOCK_ZERO(at, x, y, z) BLOCK_CLEAR(x) BLOCK_CLEAR(y) BLOCK_CLEAR(z)
// Loads or stores a row of three vectors; the register numbers are arguments.
#define BLOCK_FROM(at, x, y, z)                                                                         \
    "vmovups " at ", %%" BLOCK_REG x "\n\t"                                                             \
    "vmovups " BLOCK_BYTES "+" at ", %%" BLOCK_REG y "\n\t"                                             \
    "vmovups 2*" BLOCK_BYTES "+" at ", %%" BLOCK_REG z "\n\t"
#define BLOCK_LOAD(at, x, y, z) BLOCK_FROM(at "(%[c])", x, y, z)
#define BLOCK_TO(at, x, y, z)                                                                           \
    "vmovups %%" BLOCK_REG x ", " at "\n\t"                                                             \
    "vmovups %%" BLOCK_REG y ", " BLOCK_BYTES "+" at "\n\t"                                             \
    "vmovups %%" BLOCK_REG z ", 2*" BLOCK_BYTES "+" at "\n\t"
#define BLOCK_STORE(at, x, y, z) BLOCK_TO(at "(%[c])", x, y, z)
#define BLOCK_END_STORE BLOCK_ROWS(BLOCK_STORE)
// X(offset in C, register of a lane, of a sum): what an end does to a sum and its lane, or its store. Then what it does
// to a row, which is stored at once.
#define BLOCK_DO_STORE(at, lane, x)
#define BLOCK_DO_RESCALE(at, lane, x) "vfmadd231ps " at "(%[c]), %%" BLOCK_REG lane ", %%" BLOCK_REG x "\n\t"
#define BLOCK_DO_RAISE(at, lane, x) "vmaxps %%" BLOCK_REG lane ", %%" BLOCK_REG x ", %%" BLOCK_REG lane "\n\t"
#define BLOCK_DO_KEEP(at, lane, x) "vmovups %%" BLOCK_REG x ", " at "(%[c])\n\t"
#define BLOCK_LAST(DO, lane0, lane1, lane2, at, x, y, z)                                                \
    DO(at, lane0, x) DO(at "+" BLOCK_BYTES, lane1, y) DO(at "+2*" BLOCK_BYTES, lane2, z) BLOCK_STORE(at, x, y, z)
#define BLOCK_RESCALE(...) BLOCK_LAST(BLOCK_DO_RESCALE, BLOCK_B0, BLOCK_B1, BLOCK_B2, __VA_ARGS__)
#define BLOCK_RAISE(...) BLOCK_LAST(BLOCK_DO_RAISE, BLOCK_B0, BLOCK_B1, BLOCK_B2, __VA_ARGS__)
#define BLOCK_END_RESCALE BLOCK_FROM("0(%[lanes])", BLOCK_B0, BLOCK_B1, BLOCK_B2) BLOCK_ROWS(BLOCK_RESCALE)
#define BLOCK_END_RAISE                                                                                 \
    BLOCK_FROM("0(%[lanes])", BLOCK_B0, BLOCK_B1, BLOCK_B2) BLOCK_ROWS(BLOCK_RAISE)                     \
    BLOCK_TO("0(%[lanes])", BLOCK_B0, BLOCK_B1, BLOCK_B2)

// For the steps: loads B of step p; multiplies a row, whose element at `at` is broadcast into register `by`.
#define BLOCK_B(p) BLOCK_FROM("192*" p "(%[b])", BLOCK_B0, BLOCK_B1, BLOCK_B2)
#define BLOCK_FMA(at, by, x, y, z)                                                                      \
    "vbroadcastss " at ", %%" BLOCK_REG by "\n\t"                                                       \
    "vfmadd231ps %%" BLOCK_REG BLOCK_B0 ", %%" BLOCK_REG by ", %%" BLOCK_REG x "\n\t"                   \
    "vfmadd231ps %%" BLOCK_REG BLOCK_B1 ", %%" BLOCK_REG by ", %%" BLOCK_REG y "\n\t"                   \
    "vfmadd231ps %%" BLOCK_REG BLOCK_B2 ", %%" BLOCK_REG by ", %%" BLOCK_REG z "\n\t"
// NEAR, but the next step's elements of A are %[s] bytes on.
#define BLOCK_STRIDED(step, p) BLOCK_NEAR("0", p) "add %[s], %[a0]\n\t"
#define BLOCK_ADD_STRIDED(bytes)
#define BLOCK_ADD_NEAR(bytes) "add $" bytes ", %[a0]\n\t"
#define BLOCK_ADD_APART(bytes) "add $" bytes ", %[a0]\n\tadd $" bytes ", %[a1]\n\tadd $" bytes ", %[a2]\n\t"

// Eight steps of the k loop. Along with them it prefetches 4 lines into L2, into L1, or nothing: even a prefetch of
// something that is there occupies a load port.
#define BLOCK_FETCH(at) "prefetcht1 " at "(%[line])\n\t"
#define BLOCK_FETCH_L1(at) "prefetcht0 " at "(%[line])\n\t"
#define BLOCK_IDLE(at)
#define BLOCK_TURN(FORM, step, FETCH)                                                                   \
    BLOCK_##FORM(step, "0") BLOCK_##FORM(step, "1") BLOCK_##FETCH("0")                                  \
    BLOCK_##FORM(step, "2") BLOCK_##FORM(step, "3") BLOCK_##FETCH("64")                                 \
    BLOCK_##FORM(step, "4") BLOCK_##FORM(step, "5") BLOCK_##FETCH("128")                                \
    BLOCK_##FORM(step, "6") BLOCK_##FORM(step, "7") BLOCK_##FETCH("192")                                \
    BLOCK_ADD_##FORM("8*" step) "add $8*192, %[b]\n\t"
#define BLOCK_NEXT_LINE "mov (%[fetch]), %[line]\n\tadd $8, %[fetch]\n\t"
#define BLOCK_LOOP_INTO_L1(FORM, step)                                                                  \
    "test %[line], %[line]\n\tjz 1f\n"                                                                  \
    "6:\n\t" BLOCK_NEXT_LINE BLOCK_TURN(FORM, step, FETCH_L1) "dec %[n]\n\tjnz 6b\n\tjmp 3f\n"
// The k loop: n times eight steps, with prefetches if there is a list, then `left` single steps.
// %[line] is initially 1 if prefetches go into L1, otherwise 0.
#define BLOCK_LOOP(FORM, step)                                                                          \
    "test %[n], %[n]\n\tjz 3f\n\ttest %[fetch], %[fetch]\n\tjz 2f\n"                                     \
    BLOCK_INTO_L1(FORM, step)                                                                           \
    "1:\n\t" BLOCK_NEXT_LINE BLOCK_TURN(FORM, step, FETCH) "dec %[n]\n\tjnz 1b\n\tjmp 3f\n"              \
    "2:\n\t" BLOCK_TURN(FORM, step, IDLE) "dec %[n]\n\tjnz 2b\n"                                        \
    "3:\ttest %[left], %[left]\n\tjz 5f\n"                                                             \
    "4:\n\t"                                                                                            \
    BLOCK_##FORM(step, "0")                                                                             \
    BLOCK_ADD_##FORM(step) "add $192, %[b]\n\tdec %[left]\n\tjnz 4b\n"                                 \
    "5:\n\t"

#define BLOCK(FORM, step, begin, END)                                                                   \
    __asm__ volatile(BLOCK_ROWS(begin) BLOCK_LOOP(FORM, step)                                           \
                     BLOCK_TAIL(FORM, step, END)                                                        \
                     "7:\n\t" BLOCK_END_##END "8:\n\t"                                                  \
                     : [a0] "+&r"(a0), [a1] "+&r"(a1), [a2] "+&r"(a2), [b] "+&r"(b), [n] "+&r"(n), [left] "+&r"(left), \
                       [fetch] "+&r"(fetch), [line] "+&r"(line)                                          \
                     : [s] "r"(s), [c] "r"(c), [lanes] "r"(lanes), [tail] "m"(tail)                     \
                     : BLOCK_CLOBBERS, "memory", "cc")
#define BLOCK_MODES(FORM, step)                                                                         \
    do {                                                                                                \
        if (mode == ATTENTION_STORE) {                                                                 \
            BLOCK(FORM, step, BLOCK_ZERO, STORE);                                                       \
        } else if (mode == ATTENTION_ADD) {                                                            \
            BLOCK(FORM, step, BLOCK_LOAD, STORE);                                                       \
        } else if (mode == ATTENTION_RAISE) {                                                           \
            BLOCK(FORM, step, BLOCK_ZERO, RAISE);                                                       \
        } else {                                                                                        \
            BLOCK(FORM, step, BLOCK_ZERO, RESCALE);                                                     \
        }                                                                                               \
    } while (0)
// clang-format on

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Woverlength-strings" // clang counts the assembly of a tile

/// What the turn of BLOCK_TAIL would prefetch, before the others.
static inline void block_fetch_last(const float *lines, bool into_l1)
{
    FV_UNROLL
    for (size_t i = 0; i < FOVEA_FETCH_LINES; i++) {
        if (into_l1) {
            __builtin_prefetch(lines + i * FOVEA_LINE, 0, 3);
        } else {
            __builtin_prefetch(lines + i * FOVEA_LINE, 0, 2);
        }
    }
}

/// Rows of A from `first` on, which begin at a0, by the queries from `lane` on. The mode must be a constant, and the
/// layout of A should be, as far as the product determines it: near, and with RAISE panels of 16 keys.
static inline __attribute__((always_inline)) void attention_whole_block(const struct attention_product *t,
                                                                        const float *a0, size_t first, size_t lane,
                                                                        enum attention_mode mode)
{
    const float *b = t->b + lane, *const lanes = (mode == ATTENTION_RAISE ? t->most : t->scale) + lane,
                *a1 = a0 + 3 * t->a_row, *a2 = a0 + 6 * t->a_row;
    float *const c = t->c + first * ATTENTION_ROWS + lane;
    const ptrdiff_t next = FOVEA_FAULT_IS(PREFILL_V_AS_COPIED) ? ATTENTION_GROUP : t->a_k;
    const ptrdiff_t s = (t->near ? next : t->a_row) * (ptrdiff_t)sizeof(float);
    const size_t turns = t->k / ATTENTION_TURN, last = BLOCK_HAS_TAIL && turns != 0;
    const size_t tail = FOVEA_FAULT_IS(PREFILL_TAIL_SKIPPED) ? 0 : last;
    size_t n = turns - last, left = FOVEA_FAULT_IS(PREFILL_TILE_K_SHORT) ? 0 : t->k % ATTENTION_TURN;
    const void *const *fetch = attention_take(t->fetch, turns);
    uintptr_t line = t->fetch != NULL && t->fetch->into_l1;
    if (fetch != NULL && last != 0) {
        block_fetch_last(fetch[n], line != 0);
    }
    if (!t->near) {
        BLOCK_MODES(APART, "4");
    } else if (mode == ATTENTION_RAISE) { // panels of keys
        BLOCK_MODES(NEAR, "64");
    } else if (t->a_k == ATTENTION_GROUP) { // a copy of V
        BLOCK_MODES(NEAR, "32");
    } else {
        BLOCK_MODES(STRIDED, "0");
    }
}

#pragma GCC diagnostic pop

#endif
