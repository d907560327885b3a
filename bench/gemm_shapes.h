// SPDX-License-Identifier: Apache-2.0
// bench/gemm_shapes.h - the shapes of the GEMM suite, as data.
#ifndef FOVEA_BENCH_GEMM_SHAPES_H
#define FOVEA_BENCH_GEMM_SHAPES_H

#include <stddef.h>

/// How a shape is run; each bit is a line of the suite.
enum gemm_way {
    GEMM_NN = 1,     ///< B as it lies, k x n
    GEMM_NT = 2,     ///< B as a Linear's weight, n x k
    GEMM_TN = 4,     ///< A stored k x m
    GEMM_TT = 8,     ///< both
    GEMM_PNN = 16,   ///< B packed beforehand from k x n
    GEMM_PNT = 32,   ///< B packed beforehand from n x k
    GEMM_GELU = 64,  ///< the same with bias and GELU, against the product alone
    GEMM_BF16 = 128, ///< B packed beforehand from n x k, as elements of 16 bits; other libraries have the same as f32
    GEMM_F16 = 256,
    GEMM_S8 = 512, ///< the same as integers of 8 bits with scales
};

struct gemm_shape {
    const char *model; ///< where it is met
    unsigned suite;    ///< the first enum bench_suite that has it
    unsigned ways;     ///< of enum gemm_way
    size_t batch;      ///< products at once, of matrices that lie one behind the other
    size_t m, n, k;
};

extern const struct gemm_shape gemm_shapes[];
extern const size_t gemm_shapes_count;

#endif
