// SPDX-License-Identifier: Apache-2.0
// kernels/common/gemm_more.h - a GEMM tile and its `more` tiles, for micro-kernels that compute one at a time.
#ifndef FOVEA_KERNELS_COMMON_GEMM_MORE_H
#define FOVEA_KERNELS_COMMON_GEMM_MORE_H

#include "kernels/fault.h"
#include "kernels/kernel.h"

enum {
    GEMM_COPIED = FOVEA_PANEL,     ///< rows of B that are copied at a time
    GEMM_WIDEST = 3 * FOVEA_PANEL, ///< columns of the widest tile that is computed so
};

/// Copies some rows of B, of n <= 48 elements, into whole panels side by side, padded with +0.
static inline void gemm_copy_rows(const float *b, ptrdiff_t b_k, size_t rows, size_t n, float *copy)
{
    for (size_t p = 0; p < rows; p++, b += b_k, copy += GEMM_WIDEST) {
        for (size_t j = 0; j < GEMM_WIDEST; j++) {
            copy[j] = j < n ? b[j] : 0.0f;
        }
    }
}

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

/// Computes one tile. If B ends in it (b_ends), its last rows are computed as further tiles over copies.
static inline void gemm_to_the_end(const struct fovea_gemm_tile *tile, fovea_gemm_fn *one)
{
    if (tile->b_ends == 0) {
        one(tile);
        return;
    }
    struct fovea_gemm_tile t = *tile;
    t.k -= tile->b_ends;
    one(&t);
    float copy[GEMM_COPIED * GEMM_WIDEST];
    t.b = copy;
    t.b_k = GEMM_WIDEST;
    t.mode = FOVEA_GEMM_ADD;
    for (size_t p = tile->k - tile->b_ends; p < tile->k; p += t.k) {
        t.k = tile->k - p < GEMM_COPIED ? tile->k - p : GEMM_COPIED;
        gemm_copy_rows(tile->b + (ptrdiff_t)p * tile->b_k, tile->b_k, t.k, t.n, copy);
        t.a = tile->a + (ptrdiff_t)p * tile->a_k;
        one(&t);
    }
}

/// Computes one tile of at most 6 x 48 that has terms: by `one` itself, which only handles whole panels, or through a
/// buffer.
static inline void gemm_with_terms(const struct fovea_gemm_tile *tile, fovea_gemm_fn *one, fovea_epilogue_fn *epilogue)
{
    enum { ROWS = 6 };
    if (tile->b_ends == 0 && tile->n % FOVEA_PANEL == 0) {
        one(tile);
        return;
    }
    float room[ROWS * GEMM_WIDEST];
    struct fovea_gemm_tile t = *tile;
    t.terms = NULL;
    t.c = room;
    t.c_row = GEMM_WIDEST;
    for (size_t i = 0; i < t.m && t.mode == FOVEA_GEMM_ADD; i++) {
        for (size_t j = 0; j < t.n; j++) {
            room[i * GEMM_WIDEST + j] = tile->c[(ptrdiff_t)i * tile->c_row + (ptrdiff_t)j];
        }
    }
    gemm_to_the_end(&t, one);
    gemm_end_room(tile, t.m, room, GEMM_WIDEST, epilogue);
}

static inline void gemm_with_more(const struct fovea_gemm_tile *tile, fovea_gemm_fn *one, fovea_epilogue_fn *epilogue)
{
    struct fovea_gemm_tile t = *tile;
    struct fovea_gemm_terms terms;
    if (t.terms != NULL) {
        terms = *t.terms;
        t.terms = &terms;
    }
    for (size_t i = 0; i <= tile->more; i++) {
        if (t.terms != NULL) {
            gemm_with_terms(&t, one, epilogue);
            gemm_move_terms(&terms, 1);
        } else {
            gemm_to_the_end(&t, one);
        }
        t.a += FOVEA_FAULT_IS(GEMM_BELOW_STAYS) ? 0 : t.a_next;
        t.b += FOVEA_FAULT_IS(GEMM_BESIDE_STAYS) ? 0 : t.b_next;
        t.c += t.c_next;
    }
}

#endif
