// SPDX-License-Identifier: Apache-2.0
// tests/cblas/call.h - one BLAS call of any kind, and what fovea_gemm says it must give.
#ifndef FOVEA_TESTS_CBLAS_CALL_H
#define FOVEA_TESTS_CBLAS_CALL_H

#include "cblas/front.h"

enum call_function { CALL_CBLAS, CALL_FORTRAN };

/// A call of sgemm, or of sgemv (n is then 1: op(A) is m x k, B is x, C is y). Column-major where Fortran is called.
struct call {
    enum call_function function;
    bool vector, row_major;
    int trans_a, trans_b; ///< 0: as it lies, 1: transposed, 2: conjugated
    int m, n, k;
    int lda, ldb, ldc; ///< of vectors: incx, incy
    float alpha, beta;
    float *a, *b, *c;
    size_t a_floats, b_floats, c_floats;
};

/// Draws a call of sizes up to `most`; operands lie against inaccessible pages (tests/support/memory.h).
struct call call_draw(uint64_t *seed, int most);
/// The same with the sizes given. Leading dimensions are drawn.
struct call call_of_size(uint64_t *seed, bool vector, int m, int n, int k);
/// Draws factors; one in four is NaN or infinite where `any`.
void call_factors(struct call *call, uint64_t *seed, bool any);

void call_run(const struct call *call);

/// All c_floats that C must hold after the call, gaps between rows included; freed by the caller.
float *call_expect(const struct call *call, const struct fovea_engine *engine);
/// Runs the call and compares; what differs is told on stderr.
bool call_right(const struct call *call, const struct fovea_engine *engine);

/// An engine that no environment variable changes.
struct fovea_engine *call_engine(void);

#endif
