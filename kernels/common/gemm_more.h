// SPDX-License-Identifier: Apache-2.0
// kernels/common/gemm_more.h - a GEMM tile and those after it, for micro-kernels that compute one at a time.
#ifndef FOVEA_KERNELS_COMMON_GEMM_MORE_H
#define FOVEA_KERNELS_COMMON_GEMM_MORE_H

#include "kernels/fault.h"
#include "kernels/kernel.h"

enum { GEMM_COPIED = FOVEA_PANEL }; // rows at a time

/// Some rows of B, of n <= 48 elements, into whole panels side by side, whose other elements are +0.
static inline void gemm_copy_rows(const float *b, ptrdiff_t b_k, size_t rows, size_t n, float *copy)
{
    for (size_t p = 0; p < rows; p++, b += b_k, copy += 3 * FOVEA_PANEL) {
        for (size_t j = 0; j < 3 * FOVEA_PANEL; j++) {
            copy[j] = j < n ? b[j] : 0.0f;
        }
    }
}

/// One tile; where B ends, its last rows are others, on copies.
static inline void gemm_to_the_end(const struct fovea_gemm_tile *tile, fovea_gemm_fn *one)
{
    if (tile->b_ends == 0) {
        one(tile);
        return;
    }
    struct fovea_gemm_tile t = *tile;
    t.k -= tile->b_ends;
    one(&t);
    float copy[GEMM_COPIED * 3 * FOVEA_PANEL];
    t.b = copy;
    t.b_k = 3 * FOVEA_PANEL;
    t.mode = FOVEA_GEMM_ADD;
    for (size_t p = tile->k - tile->b_ends; p < tile->k; p += t.k) {
        t.k = tile->k - p < GEMM_COPIED ? tile->k - p : GEMM_COPIED;
        gemm_copy_rows(tile->b + (ptrdiff_t)p * tile->b_k, tile->b_k, t.k, t.n, copy);
        t.a = tile->a + (ptrdiff_t)p * tile->a_k;
        one(&t);
    }
}

static inline void gemm_with_more(const struct fovea_gemm_tile *tile, fovea_gemm_fn *one)
{
    if (tile->more == 0) {
        gemm_to_the_end(tile, one);
        return;
    }
    struct fovea_gemm_tile t = *tile;
    for (size_t i = 0; i <= tile->more; i++) {
        gemm_to_the_end(&t, one);
        t.a += FOVEA_FAULT_IS(GEMM_BELOW_STAYS) ? 0 : t.a_next;
        t.b += FOVEA_FAULT_IS(GEMM_BESIDE_STAYS) ? 0 : t.b_next;
        t.c += t.c_next;
    }
}

#endif
