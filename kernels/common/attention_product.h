// SPDX-License-Identifier: Apache-2.0
// kernels/common/attention_product.h - C = A B of prefill: A has keys or columns of V, B and C a tile of queries.
//
// Included after an ISA's vec.h, and attention_tile.h where the ISA has that.
#ifndef FOVEA_KERNELS_COMMON_ATTENTION_PRODUCT_H
#define FOVEA_KERNELS_COMMON_ATTENTION_PRODUCT_H

#include "kernels/common/attention.h"
#include "kernels/kernel.h"

enum {
    ATTENTION_TURN = 8,  ///< steps of a turn of the k loop
    ATTENTION_ROWS = 48, ///< queries of a tile, and the pitch of Q^T, S^T, P^T and O^T
    ATTENTION_GROUP = 8, ///< rows of A that lie alike
};

/// What a product does with C: as the micro-kernels; or it is stored, and raises the maximum of each query.
enum attention_mode {
    ATTENTION_STORE = FOVEA_GEMM_STORE,
    ATTENTION_ADD = FOVEA_GEMM_ADD,
    ATTENTION_RESCALE = FOVEA_GEMM_RESCALE,
    ATTENTION_RAISE,
};

/// A[i,p] = a[i / 8 * a_group + i % 8 * a_row + p * a_k]; B[p,r] = b[p * 48 + r] and C likewise, from query 0 on.
struct attention_product {
    size_t m, k;
    const float *a;
    int near; ///< a_row is 1, and for RAISE a_k 16, panels of keys; 0: a_k is 1. A constant where speed counts
    ptrdiff_t a_row, a_k, a_group;
    const float *b;
    float *c;
    const float *scale;             ///< RESCALE: of each query
    float *most;                    ///< RAISE: of each query
    struct fovea_fetch_list *fetch; ///< or NULL
};

/// What the `turns` turns of a tile prefetch: a pointer each, taken off the list; NULL where it has not as many left.
static inline const float *const *attention_take(struct fovea_fetch_list *list, size_t turns)
{
    if (list == NULL || list->count < turns) {
        return NULL;
    }
    list->count -= turns;
    list->next += turns;
    return list->next - turns;
}

/// t->most takes in `rows` rows of C, `vecs` vectors of queries, from row `first` and query `lane` on.
static inline void attention_raise(const struct attention_product *t, size_t first, size_t lane, size_t rows,
                                   size_t vecs)
{
    const float *const c = t->c + first * ATTENTION_ROWS;
    for (size_t end = lane + vecs * FV_LANES; lane < end; lane += FV_LANES) {
        fv_f32 m = fv_load(t->most + lane);
        for (size_t i = 0; i < rows; i++) {
            m = attention_max(fv_load(c + i * ATTENTION_ROWS + lane), m);
        }
        fv_store(t->most + lane, m);
    }
}

/// Where row i of A begins.
static inline const float *attention_row(const struct attention_product *t, size_t i)
{
    return t->a + (ptrdiff_t)(i / ATTENTION_GROUP) * t->a_group + (ptrdiff_t)(i % ATTENTION_GROUP) * t->a_row;
}

#endif
