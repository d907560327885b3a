// SPDX-License-Identifier: Apache-2.0
// tune/shapes.h - tables of the problems that represent classes.
#ifndef FOVEA_TUNE_SHAPES_H
#define FOVEA_TUNE_SHAPES_H

#include "tune/case.h"

/// Of the classes of GEMM, for each form of B.
struct tune_size {
    size_t m, n, k;
};
extern const struct tune_size tune_gemm_shapes[];
extern const size_t tune_gemm_shape_count;
/// Of those of attention; no heads: no more.
extern const struct tune_attention_shape tune_attention_shapes[FOVEA_ATTENTION_CLASSES][TUNE_CASES_MAX];
/// Of the border.
extern const struct tune_shape tune_border_shapes[];
extern const size_t tune_border_shape_count;

/// Of slots for whose variants the one problem of tests/check says too little.
struct tune_slot_shapes {
    enum fovea_slot slot;
    enum fovea_type type;
    const struct tune_attention_shape *attention; ///< or NULL
    const struct tune_shape *gemm;
    size_t count;
};
/// NULL: that problem is enough.
const struct tune_slot_shapes *tune_slot_shapes_of(enum fovea_slot slot);

#endif
