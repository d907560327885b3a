// SPDX-License-Identifier: Apache-2.0
// kernels/common/gemm_more.h - a GEMM tile and its `more` tiles, for micro-kernels that compute one at a time,
// and their terms.
#ifndef FOVEA_KERNELS_COMMON_GEMM_MORE_H
#define FOVEA_KERNELS_COMMON_GEMM_MORE_H

#include "kernels/fault.h"
#include "kernels/kernel.h"

enum { GEMM_COPIED = FOVEA_PANEL }; ///< rows of B that are copied at a time, where it ends

/// Advances terms by this many tiles.
static inline void gemm_move_terms(struct fovea_gemm_terms *terms, ptrdiff_t tiles)
{
    if (FOVEA_FAULT_IS(GEMM_TERMS_STAY)) {
        return;
    }
    terms->bias = terms->bias != NULL ? terms->bias + tiles * terms->bias_next : NULL;
    terms->residual = terms->residual != NULL ? terms->residual + tiles * terms->residual_next : NULL;
}

/// Applies a tile's terms to some rows of sums in a buffer, and stores C; for tiles whose columns are not whole
/// vectors, or that contain the end of B.
static inline void gemm_end_room(const struct fovea_gemm_tile *tile, size_t rows, const float *room, ptrdiff_t room_row,
                                 fovea_epilogue_fn *epilogue)
{
    const struct fovea_gemm_terms *const terms = tile->terms;
    const struct fovea_gemm_epilogue end = {
        .m = rows,
        .n = tile->n,
        .acc = room,
        .acc_row = room_row,
        .c = tile->c,
        .c_row = tile->c_row,
        .alpha = terms->alpha,
        .beta = terms->beta,
        .bias = terms->bias,
        .residual = terms->residual,
        .residual_row = terms->residual_row,
        .act = terms->relu ? FOVEA_ACT_RELU : FOVEA_ACT_NONE,
    };
    epilogue(&end);
}

/// Computes a tile and its `more` tiles by `one`.
static inline void gemm_with_more(const struct fovea_gemm_tile *tile, fovea_gemm_fn *one)
{
    struct fovea_gemm_tile t = *tile;
    struct fovea_gemm_terms terms;
    if (t.terms != NULL) {
        terms = *t.terms;
        t.terms = &terms;
    }
    for (size_t i = 0; i <= tile->more; i++) {
        one(&t);
        if (t.terms != NULL) {
            gemm_move_terms(&terms, 1);
        }
        t.a += FOVEA_FAULT_IS(GEMM_BELOW_STAYS) ? 0 : t.a_next;
        t.b += FOVEA_FAULT_IS(GEMM_BESIDE_STAYS) ? 0 : t.b_next;
        t.c += t.c_next;
    }
}

#endif
