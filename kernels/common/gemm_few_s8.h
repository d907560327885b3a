// SPDX-License-Identifier: Apache-2.0
// kernels/common/gemm_few_s8.h - the k loop of few rows of C times panels of 8-bit integers, group by group. Included
// after an ISA's vec.h.
#ifndef FOVEA_KERNELS_COMMON_GEMM_FEW_S8_H
#define FOVEA_KERNELS_COMMON_GEMM_FEW_S8_H

#include "kernels/common/bytes.h"

#define FEW_ELEMENT uint8_t
#define FEW_LOAD(panel, at, column, less, slowly)                                                                      \
    fv_fma_load(bytes_load((panel) + (at), column), fv_load((const float *)(const void *)(panel) + (column)), less)

// Panels of a tile, by its rows. With AVX-512 registers hold the two vectors that widening needs of each vector of B,
// too, but for 11 rows: of one row 8 sums, 16 of these, and some six others. Conversions leave two registers more: Zen
// 4, four rows by four panels rather than three 1.02 to 1.04, seven and eight by three rather than two 1.08 to 1.1.
// clang-format off
#if FV_LANES == 16 && defined FV_HALVES
#define FEW_SHAPES(X)                                                                                                  \
    X(1, 8) X(2, 6) X(3, 4) X(4, 4) X(5, 3) X(6, 3) X(7, 3) X(8, 3) X(9, 2) X(10, 2) X(11, 2) X(12, 2) X(13, 1)        \
    X(14, 1) X(15, 1) X(16, 1)
#elif FV_LANES == 16
#define FEW_SHAPES(X)                                                                                                  \
    X(1, 8) X(2, 6) X(3, 4) X(4, 3) X(5, 3) X(6, 3) X(7, 2) X(8, 2) X(9, 2) X(10, 2) X(11, 2) X(12, 1) X(13, 1)        \
    X(14, 1) X(15, 1) X(16, 1)
#elif FV_LANES == 8
#define FEW_SHAPES(X) X(1, 3) X(2, 2) X(3, 1) X(4, 1) X(5, 1)
#else
#define FEW_SHAPES(X) X(1, 2) X(2, 1) X(3, 1) X(4, 1) X(5, 1)
#endif
// clang-format on

#define FEW_QUIET_SHAPES(X) // one FMA more an element leaves time for prefetches (Zen 4, two rows without 0.96)

#include "kernels/common/gemm_few_step.h"

/// acc[R rows, P panels] += the chains of a tile; panel j is b[j], which moves past it. packed: NULL, or where the only
/// panel goes as f32.
static inline __attribute__((always_inline)) void few_chains(const struct fovea_gemm_few_tile *t, const uint8_t **b,
                                                             float *packed, fv_f32 *acc, int R, int P, bool quiet)
{
    (void)quiet;
    enum { SIZE = sizeof(struct fovea_s8_group), Q = offsetof(struct fovea_s8_group, q) };
    enum { OTHERS = 6 };                                               // registers that a step needs besides
    const int held = (R + 2) * P * FEW_VECS + OTHERS <= FEW_REGISTERS; // scales stay in registers
    const float *a = t->a;
    const ptrdiff_t a_k = t->a_k; // which stays in a register
    const ptrdiff_t groups = (ptrdiff_t)((t->k + FOVEA_GROUP - 1) / FOVEA_GROUP);
    for (size_t left = t->k, steps; left != 0; left -= steps) {
        float room[FEW_PANELS * FOVEA_PANEL];
        const float *less = room;
        FV_UNROLL
        for (int v = 0; v < P * FEW_VECS; v++) {
            const float *const scale = (const float *)(const void *)b[v / FEW_VECS] + v % FEW_VECS * FV_LANES;
            fv_store(room + v * FV_LANES, bytes_zero(fv_load(scale)));
        }
#if FV_LANES == 4
        __asm__("" : "+r"(less)); // each FMA loads its part anew: fv_fma_load
#endif
        steps = left < FOVEA_GROUP ? left : FOVEA_GROUP;
        // What is prefetched is FEW_AHEAD steps, two groups, ahead or, of the last two, the first ones of the panels
        // behind these.
        const ptrdiff_t ahead = left > FEW_AHEAD ? 2 * SIZE : t->b_panel + (2 - groups) * SIZE;
        few_fetch(b, ahead, P);
        size_t at = Q;
        for (const size_t end = at + steps / FEW_STEPS * FEW_STEPS * FOVEA_PANEL; at != end;
             at += (size_t)FEW_STEPS * FOVEA_PANEL) {
            few_fetch(b, (ptrdiff_t)at + ahead, P);
            FV_UNROLL
            for (size_t i = 0; i < FEW_STEPS; i++) {
                few_step(acc, a, b, at + i * FOVEA_PANEL, less, packed, R, P, false);
                a += a_k;
                packed += packed != NULL ? FOVEA_PANEL : 0;
                __asm__("" : "+r"(a)); // an FMA whose operand has an index register is two instructions of Intel's
                if (!held) {
                    __asm__("" : "+r"(less)::"memory"); // or gcc keeps scales, and has too few registers for the sums
                }
            }
        }
        if (steps % FEW_STEPS != 0) {
            few_step(acc, a, b, at, less, packed, R, P, false);
        }
        FV_UNROLL
        for (int j = 0; j < P; j++) {
            b[j] += SIZE;
        }
    }
}

#endif
