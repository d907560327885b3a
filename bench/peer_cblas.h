// SPDX-License-Identifier: Apache-2.0
// bench/peer_cblas.h - a contestant over cblas_sgemm; products of one row over cblas_sgemv.
#ifndef FOVEA_BENCH_PEER_CBLAS_H
#define FOVEA_BENCH_PEER_CBLAS_H

#include "bench/peer.h"

/// The interface of CBLAS with 32-bit integers. Enums: 101 row-major, 111 as it lies, 112 transposed.
struct peer_cblas {
    void (*sgemm)(int order, int trans_a, int trans_b, int m, int n, int k, float alpha, const float *a, int lda,
                  const float *b, int ldb, float beta, float *c, int ldc);
    void (*sgemv)(int order, int trans, int m, int n, float alpha, const float *a, int lda, const float *x, int incx,
                  float beta, float *y, int incy);
};

/// Finds both in a library.
bool peer_cblas_symbols(void *library, struct peer_cblas *cblas);
/// A contestant of that name; cblas outlives it.
struct contestant peer_cblas_contestant(const struct peer_cblas *cblas);

#endif
