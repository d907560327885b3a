// SPDX-License-Identifier: Apache-2.0
// bench/peer_cblas.c - a contestant over CBLAS: no B prepared beforehand, as CBLAS has none.
#include "bench/peer_cblas.h"

#include <limits.h>
#include <stdlib.h>

enum { ROW_MAJOR = 101, NO_TRANS = 111, TRANS = 112 };

struct prepared {
    const struct peer_cblas *cblas;
    const struct gemm_problem *problem;
};

bool peer_cblas_symbols(void *library, struct peer_cblas *cblas)
{
    const struct peer_symbol symbols[] = {{"cblas_sgemm", &cblas->sgemm}, {"cblas_sgemv", &cblas->sgemv}};
    return peer_symbols(library, symbols, sizeof symbols / sizeof *symbols);
}

static void *prepare(const void *state, const struct gemm_problem *p, bool packed)
{
    if (packed || p->gelu || p->m > INT_MAX || p->n > INT_MAX || p->k > INT_MAX)
        return NULL;
    struct prepared *const self = malloc(sizeof *self);
    if (self)
        *self = (struct prepared){state, p};
    return self;
}

static void run(void *prepared, size_t index)
{
    const struct prepared *const self = prepared;
    const struct gemm_problem *const p = self->problem;
    const float *const b = p->b + index * p->b_stride;
    const int m = (int)p->m, n = (int)p->n, k = (int)p->k;
    if (m == 1 && p->batch == 1) {
        self->cblas->sgemv(ROW_MAJOR, p->trans_b ? NO_TRANS : TRANS, p->trans_b ? n : k, p->trans_b ? k : n, 1, b,
                           p->trans_b ? k : n, p->a, 1, 0, p->c, 1);
        return;
    }
    for (size_t i = 0; i < p->batch; i++)
        self->cblas->sgemm(ROW_MAJOR, p->trans_a ? TRANS : NO_TRANS, p->trans_b ? TRANS : NO_TRANS, m, n, k, 1,
                           p->a + i * p->m * p->k, p->trans_a ? m : k, b + i * p->k * p->n, p->trans_b ? k : n, 0,
                           p->c + i * p->m * p->n, n);
}

struct contestant peer_cblas_contestant(const struct peer_cblas *cblas)
{
    return (struct contestant){.state = cblas, .prepare = prepare, .run = run, .release = free};
}
