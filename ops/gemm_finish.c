// SPDX-License-Identifier: Apache-2.0
// ops/gemm_finish.c - the end of a product: what tiles do to their sums in registers, or else the epilogue kernel.
#include "ops/gemm_ways.h"

// The kernels do not include public headers, so they have names of their own for the activations.
#define SAME_ACTIVATION(name) _Static_assert((int)FOVEA_ACT_##name == (int)FOVEA_ACTIVATION_##name, #name)
SAME_ACTIVATION(NONE);
SAME_ACTIVATION(RELU);
SAME_ACTIVATION(GELU);
SAME_ACTIVATION(GELU_TANH);
SAME_ACTIVATION(TANH);
SAME_ACTIVATION(SILU);
#undef SAME_ACTIVATION

bool fovea_gemm_finishes(const struct fovea_gemm_area *area)
{
    const struct fovea_gemm_desc *const d = &area->plan->desc;
    return area->acc != NULL || d->alpha != 1 || area->bias != NULL || d->activation != FOVEA_ACTIVATION_NONE ||
           d->residual;
}

bool fovea_gemm_finishes_in_tiles(const struct fovea_gemm_area *area)
{
    return area->plan->terms && fovea_gemm_finishes(area) && (area->acc == NULL || area->plan->blocks.count == 1);
}

struct fovea_gemm_terms fovea_gemm_terms(const struct fovea_gemm_layout *plan)
{
    const struct fovea_gemm_desc *const d = &plan->desc;
    return (struct fovea_gemm_terms){
        .alpha = d->alpha,
        .beta = d->beta,
        .residual_row = (ptrdiff_t)d->ldr,
        .relu = d->activation == FOVEA_ACTIVATION_RELU,
    };
}

void fovea_gemm_place_terms(const struct fovea_gemm_area *area, const struct fovea_gemm_tile *tile, bool below,
                            size_t row, size_t column, struct fovea_gemm_terms *terms)
{
    if (tile->terms == NULL) {
        return;
    }
    terms->bias = area->bias != NULL ? area->bias + column : NULL;
    terms->bias_next = below ? 0 : tile->c_next;
    terms->residual = area->residual != NULL ? area->residual + row * area->plan->desc.ldr + column : NULL;
    terms->residual_next = below ? (ptrdiff_t)tile->m * terms->residual_row : tile->c_next;
}

void fovea_gemm_finish(const struct fovea_gemm_area *area, const struct fovea_gemm_sums *sums, float *c, size_t row,
                       size_t column)
{
    const struct fovea_gemm_desc *const d = &area->plan->desc;
    if (!fovea_gemm_finishes(area)) {
        return;
    }
    const struct fovea_gemm_epilogue epilogue = {
        .m = sums->m,
        .n = d->gated ? sums->n / 2 : sums->n,
        .gated = d->gated,
        .acc = sums->acc,
        .acc_row = sums->acc_row,
        .c = c,
        .c_row = (ptrdiff_t)d->ldc,
        .alpha = d->alpha,
        .beta = d->beta,
        .bias = area->bias != NULL ? area->bias + column : NULL,
        .residual = d->residual ? area->residual + row * d->ldr + (d->gated ? column / 2 : column) : NULL,
        .residual_row = (ptrdiff_t)d->ldr,
        .act = (uint32_t)d->activation,
    };
    area->plan->kernels->gemm_epilogue.run(&epilogue);
}
