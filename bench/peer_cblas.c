// SPDX-License-Identifier: Apache-2.0
// bench/peer_cblas.c - what the libraries with CBLAS have in common.
#include "bench/peer_cblas.h"

bool peer_cblas_symbols(void *library, struct peer_cblas *cblas)
{
    const struct peer_symbol symbols[] = {{"cblas_sgemm", &cblas->sgemm}, {"cblas_sgemv", &cblas->sgemv}};
    return peer_symbols(library, symbols, sizeof symbols / sizeof *symbols);
}

uint32_t peer_cblas_threads(const struct peer_request *request)
{
    return request->event == PEER_ATTENTION ? 1 : request->threads;
}

const char *peer_cblas_prefix(const struct peer_request *request)
{
    return request->event == PEER_ATTENTION ? "composite over " : "";
}

struct contestant peer_cblas_contestant(struct peer_cblas *cblas, const struct peer_request *request)
{
    cblas->engine = request->engine;
    return request->event == PEER_ATTENTION ? peer_cblas_attention(cblas) : peer_cblas_gemm(cblas);
}
