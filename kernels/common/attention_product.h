// SPDX-License-Identifier: Apache-2.0
// kernels/common/attention_product.h - the products C = A B of prefill: A has keys or columns of V as rows, B and C a
// tile of queries.
//
// Included after an ISA's vec.h, and attention_tile.h where the ISA has that.
#ifndef FOVEA_KERNELS_COMMON_ATTENTION_PRODUCT_H
#define FOVEA_KERNELS_COMMON_ATTENTION_PRODUCT_H

#include "kernels/common/attention.h"
#include "kernels/common/unroll.h"
#include "kernels/kernel.h"

enum {
    ATTENTION_TURN = 8,  ///< steps per iteration of the k loop
    ATTENTION_ROWS = 48, ///< queries of a tile, and the row stride of Q^T, S^T, P^T and O^T
    ATTENTION_GROUP = 8, ///< rows of A at a constant stride
};

/// What a product does with C: the modes of the micro-kernels; RAISE stores it and raises the maximum of each query.
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
    int near; ///< 1: a_row is 1, and for RAISE a_k is 16, panels of keys. 0: a_k is 1. Should be a constant where speed
              ///< matters.
    ptrdiff_t a_row, a_k, a_group;
    const float *b;
    float *c;
    const float *scale;             ///< RESCALE: one per query
    float *most;                    ///< RAISE: one per query
    struct fovea_fetch_list *fetch; ///< or NULL
};

/// Takes off the list what the `turns` iterations of a tile prefetch, one pointer each; NULL if too few are left.
static inline const void *const *attention_take(struct fovea_fetch_list *list, size_t turns)
{
    if (list == NULL || list->count < turns) {
        return NULL;
    }
    list->count -= turns;
    list->next += turns;
    return list->next - turns;
}

enum { ATTENTION_CHAINS = 4 }; ///< maxima side by side: one alone waits for its previous key

/// Raises `side` (a constant) vectors of t->most, from query `lane` on, by `rows` rows of C from row `first` on.
static inline __attribute__((always_inline)) void attention_raise_side(const struct attention_product *t, size_t first,
                                                                       size_t lane, size_t rows, int side)
{
    const float *c = t->c + first * ATTENTION_ROWS + lane;
    fv_f32 m[ATTENTION_CHAINS];
    FV_UNROLL
    for (int v = 0; v < side; v++) {
        m[v] = fv_set1(-INFINITY);
    }
    for (size_t i = 0; i < rows; i++, c += ATTENTION_ROWS) {
        FV_UNROLL
        for (int v = 0; v < side; v++) {
            m[v] = attention_most(fv_load(c + v * FV_LANES), m[v]);
        }
    }
    FV_UNROLL
    for (int v = 0; v < side; v++) {
        float *const most = t->most + lane + v * FV_LANES;
        fv_store(most, attention_max(m[v], fv_load(most)));
    }
}

/// Raises t->most by `rows` rows of C and `vecs` vectors of queries, from row `first` and query `lane` on.
static inline void attention_raise(const struct attention_product *t, size_t first, size_t lane, size_t rows,
                                   size_t vecs)
{
    for (; vecs >= ATTENTION_CHAINS; vecs -= ATTENTION_CHAINS, lane += ATTENTION_CHAINS * FV_LANES) {
        attention_raise_side(t, first, lane, rows, ATTENTION_CHAINS);
    }
    for (; vecs != 0; vecs--, lane += FV_LANES) {
        attention_raise_side(t, first, lane, rows, 1);
    }
}

/// The address of row i of A.
static inline const float *attention_row(const struct attention_product *t, size_t i)
{
    return t->a + (ptrdiff_t)(i / ATTENTION_GROUP) * t->a_group + (ptrdiff_t)(i % ATTENTION_GROUP) * t->a_row;
}

#endif
