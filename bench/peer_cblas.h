// SPDX-License-Identifier: Apache-2.0
// bench/peer_cblas.h - contestants over cblas_sgemm; products of one row over cblas_sgemv.
#ifndef FOVEA_BENCH_PEER_CBLAS_H
#define FOVEA_BENCH_PEER_CBLAS_H

#include "bench/composite.h"
#include "bench/peer.h"

/// The interface of CBLAS with 32-bit integers.
enum { CBLAS_ROW_MAJOR = 101, CBLAS_NO_TRANS = 111, CBLAS_TRANS = 112 };
struct peer_cblas {
    void (*sgemm)(int order, int trans_a, int trans_b, int m, int n, int k, float alpha, const float *a, int lda,
                  const float *b, int ldb, float beta, float *c, int ldc);
    void (*sgemv)(int order, int trans, int m, int n, float alpha, const float *a, int lda, const float *x, int incx,
                  float beta, float *y, int incy);
    const struct fovea_engine *engine; ///< whose softmax the composite takes
    struct composite_maker maker;
};

/// Finds both in a library.
bool peer_cblas_symbols(void *library, struct peer_cblas *cblas);
/// A contestant of the event, without a name; cblas outlives it.
struct contestant peer_cblas_contestant(struct peer_cblas *cblas, const struct peer_request *request);
/// What its name begins with.
const char *peer_cblas_prefix(const struct peer_request *request);
/// Threads that the library may have: in attention heads are tasks of ours, each with a product of one thread.
uint32_t peer_cblas_threads(const struct peer_request *request);

/// The two, in a file each.
struct contestant peer_cblas_gemm(const struct peer_cblas *cblas);
struct contestant peer_cblas_attention(struct peer_cblas *cblas);

#endif
