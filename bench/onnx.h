// SPDX-License-Identifier: Apache-2.0
// bench/onnx.h - an ONNX model of one product, as bytes.
#ifndef FOVEA_BENCH_ONNX_H
#define FOVEA_BENCH_ONNX_H

#include "bench/problem.h"

/// Writes a model with input "a" (and "b", unless constant: then b is in it) and output "c": MatMul, or Gemm where an
/// operand is transposed. To be freed with bench_free(model, *capacity); NULL without memory.
void *onnx_model(const struct gemm_problem *problem, const float *constant, size_t *bytes, size_t *capacity);

#endif
