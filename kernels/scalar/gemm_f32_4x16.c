// SPDX-License-Identifier: Apache-2.0
// kernels/scalar/gemm_f32_4x16.c - a GEMM tile, the definition (docs/numerics.md section 2).
//
// 4 x 16 is the tile size reported to the blocking code; the loops work for any m and n.
#include "kernels/kernel.h"

#include <math.h>

/// Applies the terms of a tile to acc of C[i,j], as the epilogue would.
static float ended(const struct fovea_gemm_terms *terms, float acc, float c, size_t i, size_t j)
{
    const struct fovea_gemm_epilogue one = {
        .m = 1,
        .n = 1,
        .acc = &acc,
        .c = &c,
        .alpha = terms->alpha,
        .beta = terms->beta,
        .bias = terms->bias != NULL ? terms->bias + j : NULL,
        .residual = terms->residual != NULL ? terms->residual + (ptrdiff_t)i * terms->residual_row + j : NULL,
        .act = terms->relu ? FOVEA_ACT_RELU : FOVEA_ACT_NONE,
    };
    fovea_gemm_epilogue_f32_scalar(&one);
    return c;
}

static void pack(const struct fovea_gemm_tile *tile)
{
    for (size_t p = 0; p < tile->k; p++) {
        for (size_t j = 0; j < tile->n; j++) {
            tile->packed[(ptrdiff_t)(j / FOVEA_PANEL) * tile->packed_panel +
                         (ptrdiff_t)(p * FOVEA_PANEL + j % FOVEA_PANEL)] =
                tile->b[(ptrdiff_t)p * tile->b_k + (ptrdiff_t)j];
        }
    }
}

static void compute(const struct fovea_gemm_tile *tile)
{
    for (size_t i = 0; i < tile->m; i++) {
        for (size_t j = 0; j < tile->n; j++) {
            const float *const a = tile->a + (ptrdiff_t)i * tile->a_row;
            const float *const b = tile->b + (ptrdiff_t)(j / FOVEA_PANEL) * tile->b_panel + j % FOVEA_PANEL;
            float *const c = tile->c + (ptrdiff_t)i * tile->c_row + j;
            float acc = tile->mode == FOVEA_GEMM_ADD ? *c : 0.0f;
            for (size_t p = 0; p < tile->k; p++) {
                acc = fmaf(a[(ptrdiff_t)p * tile->a_k], b[(ptrdiff_t)p * tile->b_k], acc);
            }
            *c = tile->mode == FOVEA_GEMM_RESCALE ? fmaf(*c, tile->scale[j], acc)
                 : tile->terms != NULL            ? ended(tile->terms, acc, *c, i, j)
                                                  : acc;
        }
    }
}

void fovea_gemm_f32_4x16_scalar(const struct fovea_gemm_tile *tile)
{
    if (tile->packed != NULL) {
        pack(tile);
    }
    struct fovea_gemm_tile t = *tile;
    struct fovea_gemm_terms terms;
    if (t.terms != NULL) {
        terms = *t.terms;
        t.terms = &terms;
    }
    for (size_t i = 0; i <= tile->more; i++) {
        compute(&t);
        t.a += t.a_next;
        t.b += t.b_next;
        t.c += t.c_next;
        if (t.terms != NULL) {
            terms.bias = terms.bias != NULL ? terms.bias + terms.bias_next : NULL;
            terms.residual = terms.residual != NULL ? terms.residual + terms.residual_next : NULL;
        }
    }
}
