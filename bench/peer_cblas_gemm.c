// SPDX-License-Identifier: Apache-2.0
// bench/peer_cblas_gemm.c - products over CBLAS: no B prepared beforehand, as CBLAS has none.
#include "bench/gemm_problem.h"
#include "bench/peer_cblas.h"

#include <limits.h>
#include <stdlib.h>

struct prepared {
    const struct peer_cblas *cblas;
    const struct gemm_problem *problem;
};

static void *prepare(const void *state, const void *problem, bool packed)
{
    const struct gemm_problem *const p = problem;
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
        self->cblas->sgemv(CBLAS_ROW_MAJOR, p->trans_b ? CBLAS_NO_TRANS : CBLAS_TRANS, p->trans_b ? n : k,
                           p->trans_b ? k : n, 1, b, p->trans_b ? k : n, p->a, 1, 0, p->c, 1);
        return;
    }
    for (size_t i = 0; i < p->batch; i++)
        self->cblas->sgemm(CBLAS_ROW_MAJOR, p->trans_a ? CBLAS_TRANS : CBLAS_NO_TRANS,
                           p->trans_b ? CBLAS_TRANS : CBLAS_NO_TRANS, m, n, k, 1, p->a + i * p->m * p->k,
                           p->trans_a ? m : k, b + i * p->k * p->n, p->trans_b ? k : n, 0, p->c + i * p->m * p->n, n);
}

struct contestant peer_cblas_gemm(const struct peer_cblas *cblas)
{
    return (struct contestant){.state = cblas, .prepare = prepare, .run = run, .release = free};
}
