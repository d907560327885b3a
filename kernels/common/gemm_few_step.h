// SPDX-License-Identifier: Apache-2.0
// kernels/common/gemm_few_step.h - a k step of few rows of C times panels of any elements. Included after an ISA's
// vec.h, with FEW_ELEMENT the type of elements, and FEW_LOAD(panel, at, column, less, slowly) the vector of elements at
// panel + at + column as f32, where `less` is what each vector of a step may need besides, and `slowly` asks for more
// loads than one.
#ifndef FOVEA_KERNELS_COMMON_GEMM_FEW_STEP_H
#define FOVEA_KERNELS_COMMON_GEMM_FEW_STEP_H

#include "kernels/common/unroll.h"
#include "kernels/fault.h"

#include <stdbool.h>

enum {
    FEW_LINE = 64 / sizeof(FEW_ELEMENT),                             ///< elements of a cache line
    FEW_STEPS = 2,                                                   ///< steps of an iteration
    FEW_LINES = (FEW_STEPS * FOVEA_PANEL + FEW_LINE - 1) / FEW_LINE, ///< their lines of a panel
    FEW_AHEAD = 2048 / (FOVEA_PANEL * sizeof(FEW_ELEMENT)),          ///< steps that prefetches are ahead, 2 KiB
    FEW_FAR = 8 * FEW_AHEAD,                                         ///< those into L2, of a panel that is alone
    FEW_VECS = FOVEA_PANEL / FV_LANES,
    FEW_REGISTERS = (FV_LANES == 8 ? 16 : 32) - (sizeof(FEW_ELEMENT) == 1 ? 2 : 0), ///< but constants
    FEW_SUMS = 24,                                                                  ///< most sums of a tile
    FEW_STAY = 5,   ///< room for the vectors of A or B that stay in registers for a step
    FEW_PANELS = 8, ///< most panels of a tile
    FEW_MR = 16,    ///< most rows of a tile where that is one panel, which it can pack
};

// Where 16 registers hold 12 sums, clang 14 puts a sum where its vector of B was, and then stores another one to have a
// register for it. gcc 12 does so with 8-bit integers, which need more registers, and several panels. So a vector of B
// outlives its FMAs; but not where the FMA of a single row reads it from memory, and of one panel not with AVX-512,
// whose FMAs read A from memory then. On NEON both operands do, or gcc 12 copies sums: of six rows one, 25.0 cycles of
// two steps on N1 for 24.0, of two and three rows of 8 bits one, too. clang 14 would spill sums for that, of six rows
// fewest if an element of A outlives its FMAs.
#define FEW_IS_S8 (sizeof(FEW_ELEMENT) == 1)
#if defined(__clang__) && FV_LANES == 8
#define FEW_KEEPS(R, P) ((R) > 1 || sizeof(FEW_ELEMENT) < sizeof(float))
#elif defined(__clang__) && FV_LANES == 4
#define FEW_KEEPS(R, P) (((R) == 4 || (R) == 6) && !FEW_IS_S8)
#elif FV_LANES == 4
#define FEW_KEEPS(R, P) 1
#else
#define FEW_KEEPS(R, P) (FEW_IS_S8 && ((P) > 1 || FV_LANES < 16))
#endif
// Whether each FMA reads its element of A from memory, as an operand that is broadcast. On cores that execute 512 bits
// as two halves a broadcast of its own is one more operation of an FMA's pipe, or shifts the operations behind it to
// other pipes: Zen 4, loops alone, of 8 bits one row 2.58 -> 2.00 cycles for 16 elements, two 3.33 -> 3.00, four 5.34
// -> 5.00. Of three panels five to eight rows are 0.90 to 0.98 as fast so.
#ifdef FV_HALVES
#define FEW_EMBEDS(R, P) ((P) != 3)
#define FEW_ONCE 1 // few_fetch
#else
#define FEW_EMBEDS(R, P) 0
#define FEW_ONCE 0
#endif
#ifdef __aarch64__
#define FEW_VECTOR "w"
#else
#define FEW_VECTOR "v"
#endif
#if defined(__aarch64__) && !defined(__clang__)
#define FEW_OUTLIVE(a, b, x) FEW_VECTOR(a), FEW_VECTOR(b)
#else
#define FEW_OUTLIVE(a, b, x) FEW_VECTOR(x)
#endif

/// sum += a b. x: that of the two which is the last to be loaded.
#define FEW_FMA(sum, a, b, x, R, P)                                                                                    \
    do {                                                                                                               \
        *(sum) =                                                                                                       \
            FOVEA_FAULT_IS(GEMM_FEW_MUL_ADD) ? fv_add(fv_fma_one(a, b, fv_zero()), *(sum)) : fv_fma_one(a, b, *(sum)); \
        if (FEW_KEEPS(R, P)) {                                                                                         \
            __asm__("" : "+" FEW_VECTOR(*(sum)) : FEW_OUTLIVE(a, b, x));                                               \
        }                                                                                                              \
    } while (0)

/// Stores vector v of B's step where it is packed.
static inline __attribute__((always_inline)) void few_pack(float *packed, int v, fv_f32 x)
{
    if (packed != NULL) {
        fv_store(packed + v * FV_LANES, x);
    }
}

/// A k step: acc[R rows, P panels] += a[R] b, where panel j of b begins at b[j] + at. `less` has 16 floats a panel, or
/// is NULL. Besides the sums, registers hold the elements of A and a vector of B, or the vectors of B and an element of
/// A, whichever are fewer; if these do not leave one free, a vector of B after another and an element of A. With
/// FEW_EMBEDS they hold a vector of B after another, and no element of A. packed: NULL, or where B goes as f32.
static inline __attribute__((always_inline)) void few_step(fv_f32 *acc, const float *a, const FEW_ELEMENT *const *b,
                                                           size_t at, const float *less, float *packed, int R, int P,
                                                           bool quiet)
{
    (void)less;
    const bool slowly = quiet && R == 1, embeds = FEW_EMBEDS(R, P) && !quiet; // quiet tiles wait for memory
    (void)slowly;
    const int row = P * FEW_VECS, least = R < row ? R : row;
    const int V = R * row + least + 1 < FEW_REGISTERS ? row : 1; // vectors of B at a time
    FV_UNROLL
    for (int first = 0; first < row; first += V) {
        __asm__("" : "+r"(a)); // or gcc keeps the elements of A for the next vectors
        if (embeds) {
            FV_UNROLL
            for (int v = first; v < first + V; v++) {
                const fv_f32 x = FEW_LOAD(b[v / FEW_VECS], at, v % FEW_VECS * FV_LANES, less + v * FV_LANES, slowly);
                few_pack(packed, v, x);
                FV_UNROLL
                for (int i = 0; i < R; i++) {
                    FEW_FMA(&acc[i * row + v], fv_load_one(a + i), x, x, R, P);
                }
                __asm__("" : "+r"(a));
            }
        } else if (R <= V) {
            fv_one stay[FEW_STAY];
            FV_UNROLL
            for (int i = 0; i < R; i++) {
                stay[i] = fv_load_one(a + i);
            }
            FV_UNROLL
            for (int v = first; v < first + V; v++) {
                const fv_f32 x = FEW_LOAD(b[v / FEW_VECS], at, v % FEW_VECS * FV_LANES, less + v * FV_LANES, slowly);
                few_pack(packed, v, x);
                FV_UNROLL
                for (int i = 0; i < R; i++) {
                    FEW_FMA(&acc[i * row + v], stay[i], x, x, R, P);
                }
            }
        } else {
            fv_f32 stay[FEW_STAY];
            FV_UNROLL
            for (int i = 0; i < V; i++) {
                const int v = first + i;
                stay[i] = FEW_LOAD(b[v / FEW_VECS], at, v % FEW_VECS * FV_LANES, less + v * FV_LANES, slowly);
                few_pack(packed, v, stay[i]);
            }
            FV_UNROLL
            for (int i = 0; i < R; i++) {
                if (i % 3 == 0) {
                    fv_fence();
                }
                const fv_one x = fv_load_one(a + i);
                FV_UNROLL
                for (int j = 0; j < V; j++) {
                    FEW_FMA(&acc[i * row + first + j], x, stay[j], x, R, P);
                }
            }
        }
    }
}

/// Prefetches what an iteration reads `ahead` elements from b on. A single stream is read more slowly than several, so
/// the lines of one panel are prefetched twice: into L2, early, and into L1. On cores of halves they are prefetched
/// once, 2 KiB ahead, into L2: Zen 4, over the same copy of B, from memory, 13 to 32 rows of 16 bits 1.04 to 1.16 times
/// as fast, of 8 bits 1.02 to 1.09 (several panels into L2 0.86 to 1.0).
static inline __attribute__((always_inline)) void few_fetch(const FEW_ELEMENT *const *b, ptrdiff_t ahead, int P)
{
    FV_UNROLL
    for (int j = 0; j < P; j++) {
        FV_UNROLL
        for (int i = 0; i < FEW_LINES; i++) {
            const FEW_ELEMENT *const line = b[j] + ahead + i * FEW_LINE;
            if (FEW_ONCE && P == 1) {
                __builtin_prefetch(line, 0, 2);
                continue;
            }
            __builtin_prefetch(line, 0, 3);
            if (P == 1) {
                __builtin_prefetch(b[j] + FEW_FAR * FOVEA_PANEL + i * FEW_LINE, 0, 2);
            }
        }
    }
}

#endif
