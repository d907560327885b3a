// SPDX-License-Identifier: Apache-2.0
// kernels/common/gemm_few_plain.h - the k loop of few rows of C times panels of f32, or of 16-bit elements, which are
// widened in registers by two operations. Included after an ISA's vec.h, with FEW_ELEMENT the type of elements and
// FEW_WIDEN what loads a vector of them as f32.
//
// One row of f32 is one instruction for a line of B. Then loads are so far ahead of what has arrived that the hardware
// prefetcher of Zen 4 follows them less well. FEW_WIDEN_SLOWLY needs two loads: 1.07 to 1.12; two to four rows 0.93 to
// 1.09.
#ifndef FOVEA_KERNELS_COMMON_GEMM_FEW_PLAIN_H
#define FOVEA_KERNELS_COMMON_GEMM_FEW_PLAIN_H

#ifndef FEW_WIDEN_SLOWLY
#define FEW_WIDEN_SLOWLY FEW_WIDEN
#endif
#define FEW_LOAD(panel, at, column, less, slowly)                                                                      \
    ((slowly) ? FEW_WIDEN_SLOWLY((panel) + (at) + (column)) : FEW_WIDEN((panel) + (at) + (column)))

// Panels of a tile, by its rows: as many as leave registers for its sums, at most eight of one vector, six of two, or
// four of four. (Six of four vectors are a loop of 24, more than FV_UNROLL takes: gcc would keep its sums in memory.)
// Emerald Rapids, AVX-512, against at most four: one row 1.01 to 1.06, two 1.02 to 1.04, three 1.02, four 1.01 to 1.04.
// Quiet tiles are for cores that execute 512 bits as two halves, and for AVX2: at most six panels, as eight lines that
// are a multiple of 4 KiB apart fill a set of L1. Zen 4, f32, 384 to 4864 steps, against six: two rows by four panels
// 0.99 to 1.09, three and four by three 1.0 to 1.13; one row by four, and five and six by three, 0.97 to 1.0.
// clang-format off
#if FV_LANES == 16
#define FEW_SHAPES(X)                                                                                                  \
    X(1, 8) X(2, 8) X(3, 6) X(4, 6) X(5, 4) X(6, 4) X(7, 3) X(8, 3) X(9, 2) X(10, 2) X(11, 2) X(12, 2) X(13, 1)        \
    X(14, 1) X(15, 1) X(16, 1)
#else
#define FEW_SHAPES(X) X(1, FEW_VECS == 2 ? 6 : 4) X(2, 3) X(3, 2) X(4, 1) X(5, 1) X(6, 1)
#endif
#ifdef FV_HALVES
#define FEW_QUIET_SHAPES(X) X(1, 6) X(2, 4) X(3, 3) X(4, 3) X(5, 4) X(6, 4)
#elif FV_LANES == 8
#define FEW_QUIET_SHAPES(X) X(1, 6) X(2, 3)
#else
#define FEW_QUIET_SHAPES(X)
#endif
// clang-format on

#include "kernels/common/gemm_few_step.h"

/// acc[R rows, P panels] += the chains of a tile; panel j is b[j], which moves past it. packed: NULL, or where the only
/// panel goes as f32.
static inline __attribute__((always_inline)) void few_chains(const struct fovea_gemm_few_tile *t, const FEW_ELEMENT **b,
                                                             float *packed, fv_f32 *acc, int R, int P, bool quiet)
{
    const float *a = t->a;
    // What is prefetched is FEW_AHEAD steps ahead or, of the last steps, the first ones of the panels behind these. If
    // the panel goes as f32, these are steps of a block of k, and the rest of it is passed over.
    const ptrdiff_t behind = packed != NULL ? t->b_panel - (ptrdiff_t)(t->k * FOVEA_PANEL) : 0;
    for (size_t rounds = t->k / FEW_STEPS; rounds != 0; rounds--) {
        if (!quiet) {
            few_fetch(b, FEW_AHEAD * FOVEA_PANEL + (rounds > FEW_AHEAD / FEW_STEPS ? 0 : behind), P);
        }
        few_step(acc, a, b, 0, NULL, packed, R, P, quiet);
        a += t->a_k;
        __asm__("" : "+r"(a)); // an FMA whose operand has an index register is two instructions of Intel's
        few_step(acc, a, b, FOVEA_PANEL, NULL, packed != NULL ? packed + FOVEA_PANEL : NULL, R, P, quiet);
        a += t->a_k;
        packed += packed != NULL ? FEW_STEPS * FOVEA_PANEL : 0;
        FV_UNROLL
        for (int j = 0; j < P; j++) {
            b[j] += FEW_STEPS * FOVEA_PANEL;
        }
    }
    if (t->k % FEW_STEPS != 0) {
        few_step(acc, a, b, 0, NULL, packed, R, P, quiet);
    }
}

#endif
