// SPDX-License-Identifier: Apache-2.0
// kernels/common/attention_prefill_values.h - O^T of a chunk: V^T P^T over the keys that some row sees.
//
// Part of attention_prefill_f32.inc, after FV_GEMM is defined.
#ifndef FOVEA_KERNELS_COMMON_ATTENTION_PREFILL_VALUES_H
#define FOVEA_KERNELS_COMMON_ATTENTION_PREFILL_VALUES_H

#include "kernels/common/attention_prefill_scores.h"

/// V as the products read it, v[c / 8 * group + j * row + c % 8], and what they prefetch along with it, or NULL.
struct prefill_v {
    const float *v;
    ptrdiff_t row, group;
    struct fovea_fetch_list *fetch;
};

/// The address of column c of key j.
static inline const float *prefill_v_at(const struct prefill_v *v, size_t j, size_t c)
{
    return v->v + (ptrdiff_t)(c / ATTENTION_GROUP) * v->group + (ptrdiff_t)j * v->row + c % ATTENTION_GROUP;
}

/// C = V^T P^T over keys [j, end) for some vectors; c is O^T or what is added to it. The mode must be a constant.
static inline __attribute__((always_inline)) void prefill_product_v(const struct fovea_attention_chunk *chunk,
                                                                    const struct prefill_v *v, size_t j, size_t end,
                                                                    struct prefill_vectors vectors, const float *p,
                                                                    float *c, const float *alpha,
                                                                    enum attention_mode mode)
{
    const struct attention_product t = {
        .m = chunk->state.v_dim,
        .k = end - j,
        .a = prefill_v_at(v, j, 0),
        .near = 1,
        .a_row = 1,
        .a_k = v->row,
        .a_group = v->group,
        .b = p + j * ATTENTION_ROWS,
        .c = c,
        .scale = alpha,
        .fetch = v->fetch,
    };
    prefill_product(&t, vectors.first, vectors.end, mode);
}

/// C = V^T P^T.
static void prefill_store(const struct fovea_attention_chunk *chunk, const struct prefill_v *v, size_t j, size_t end,
                          struct prefill_vectors vectors, const float *p, float *c)
{
    prefill_product_v(chunk, v, j, end, vectors, p, c, p, ATTENTION_STORE); // no scale is read
}

/// C = C + V^T P^T.
static void prefill_add(const struct fovea_attention_chunk *chunk, const struct prefill_v *v, size_t j, size_t end,
                        struct prefill_vectors vectors, const float *p, float *c)
{
    prefill_product_v(chunk, v, j, end, vectors, p, c, p, ATTENTION_ADD);
}

/// C = fma(C, alpha, V^T P^T).
static void prefill_rescale(const struct fovea_attention_chunk *chunk, const struct prefill_v *v, size_t j, size_t end,
                            struct prefill_vectors vectors, const float *p, float *c, const float *alpha)
{
    prefill_product_v(chunk, v, j, end, vectors, p, c, alpha, ATTENTION_RESCALE);
}

#endif
