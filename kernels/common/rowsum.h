// SPDX-License-Identifier: Apache-2.0
// kernels/common/rowsum.h - reductions of a row: sixteen virtual lanes, one fixed tree (docs/numerics.md, section 1).
//
// Included after an ISA's vec.h. Lane l takes the elements l, l+16, l+32, ...: FV_VECS vectors on every ISA, one on
// AVX-512, two on AVX2, four on NEON, so the order of every addition is the same on all of them. If the row ends inside
// a block, a select keeps the value of the lanes past its end, whatever a step would have computed from the missing
// elements.
#ifndef FOVEA_KERNELS_COMMON_ROWSUM_H
#define FOVEA_KERNELS_COMMON_ROWSUM_H

#include "kernels/common/unroll.h"
#include "kernels/fault.h"

/// Returns the lane after it has taken the element *x; c is a constant of the row. A step may change *x: see
/// fv_row_fold.
typedef fv_f32 fv_row_step(fv_f32 lane, fv_f32 *x, fv_f32 c);

/// Folds x[0..n) into vecs * FV_LANES lanes, vecs at most 4. If y is not NULL, what step leaves of each element is
/// stored there; y may be x. step and vecs must be constants at the call, and y too if it is NULL: then no call is left
/// in the loop. The lanes stay in registers there; in the array, which the rest indexes, gcc stored them after each
/// step.
static inline __attribute__((always_inline)) void fv_row_fold(size_t n, const float *x, fv_f32 c, fv_row_step *step,
                                                              size_t vecs, fv_f32 *lanes, float *y)
{
    fv_f32 kept[4];
    FV_UNROLL
    for (size_t v = 0; v < vecs; v++)
        kept[v] = lanes[v];
    size_t i = 0;
    for (; i + vecs * FV_LANES <= n; i += vecs * FV_LANES) {
        FV_UNROLL
        for (size_t v = 0; v < vecs; v++) {
            fv_f32 element = fv_load(x + i + v * FV_LANES);
            kept[v] = step(kept[v], &element, c);
            if (y)
                fv_store(y + i + v * FV_LANES, element);
        }
    }
    FV_UNROLL
    for (size_t v = 0; v < vecs; v++)
        lanes[v] = kept[v];
    for (size_t v = 0; v < vecs && i < n; v++, i += FV_LANES) {
        const size_t live = n - i < FV_LANES ? n - i : FV_LANES;
        fv_f32 element = fv_load_tail(x + i, live);
        const fv_f32 taken = step(lanes[v], &element, c);
        lanes[v] = fv_select(fv_mask_bits(FOVEA_FAULT_IS(ROW_TAIL_UNMASKED) ? ~0u : (1u << live) - 1), taken, lanes[v]);
        if (y)
            fv_store_tail(y + i, element, live);
    }
}

/// Joins two lanes.
typedef float fv_row_join(float a, float b);

/// The fixed tree over sixteen lanes. The four levels are written out one by one, because then compilers vectorise
/// each.
static inline __attribute__((always_inline)) float fv_row_tree(const fv_f32 lanes[FV_VECS], fv_row_join *join)
{
    float lane[16];
    for (size_t v = 0; v < FV_VECS; v++)
        fv_store(lane + v * FV_LANES, lanes[v]);
    for (size_t i = 0; i < 8; i++)
        lane[i] = FOVEA_FAULT_IS(ROW_TREE_ORDER) ? join(lane[2 * i], lane[2 * i + 1]) : join(lane[i], lane[i + 8]);
    for (size_t i = 0; i < 4; i++)
        lane[i] = join(lane[i], lane[i + 4]);
    for (size_t i = 0; i < 2; i++)
        lane[i] = join(lane[i], lane[i + 2]);
    return join(lane[0], lane[1]);
}

static inline float fv_row_add(float a, float b)
{
    return a + b;
}

/// The sum of a row: sixteen lanes that start at +0 fold x[0..n) by step, then the tree adds them. y as in fv_row_fold.
static inline __attribute__((always_inline)) float fv_row_sum(size_t n, const float *x, fv_f32 c, fv_row_step *step,
                                                              float *y)
{
    fv_f32 lanes[FV_VECS];
    for (size_t v = 0; v < FV_VECS; v++)
        lanes[v] = fv_zero();
    fv_row_fold(n, x, c, step, FV_VECS, lanes, y);
    return fv_row_tree(lanes, fv_row_add);
}

#endif
