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
/// Of slots that need more than the one problem of tests/check, and of the border.
extern const struct tune_attention_shape tune_decode_shapes[];
extern const size_t tune_decode_shape_count;
extern const struct tune_shape tune_s8_shapes[], tune_border_shapes[];
extern const size_t tune_s8_shape_count, tune_border_shape_count;

#endif
