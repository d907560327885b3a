// SPDX-License-Identifier: Apache-2.0
// bench/peer_libxsmm.c - libxsmm's kernels made at run time for one size (written for 1.17).
//
// They are column-major, so row-major C = A B is asked for as C' = B' A'. One kernel computes the whole product: that
// is what the library is for in small products; in large ones it has no blocking, and others are ahead. Its kernels do
// not transpose their first operand: a B of n x k is theirs only where it may be prepared, by transposing it. One
// thread. Debian has it as an archive; scripts/peers.sh makes a shared library of that.
#include "bench/gemm_problem.h"
#include "bench/memory.h"
#include "bench/peer.h"

#include <limits.h>
#include <stdlib.h>

enum { FLAG_TRANS_B = 2, PREFETCH_NONE = 0 };

typedef void kernel(const float *a, const float *b, float *c, ...);

static struct {
    void (*init)(void);
    kernel *(*dispatch)(int m, int n, int k, const int *lda, const int *ldb, const int *ldc, const float *alpha,
                        const float *beta, const int *flags, const int *prefetch);
    const char *(*target)(void);
} xsmm;

struct prepared {
    const struct gemm_problem *problem;
    kernel *call;
    float *turned; // the set as k x n; NULL: as it lies
    size_t bytes;
};

static void release(void *memory)
{
    struct prepared *const self = memory;
    bench_free(self->turned, self->bytes);
    free(self);
}

static bool turn(struct prepared *self)
{
    const struct gemm_problem *const p = self->problem;
    self->bytes = p->b_count * p->b_stride * sizeof(float);
    self->turned = bench_alloc(self->bytes);
    if (!self->turned)
        return false;
    for (size_t i = 0; i < p->b_count; i++)
        for (size_t j = 0; j < p->n; j++)
            for (size_t l = 0; l < p->k; l++)
                self->turned[i * p->b_stride + l * p->n + j] = p->b[i * p->b_stride + j * p->k + l];
    return true;
}

static void *prepare(const void *state, const void *problem, bool packed)
{
    (void)state;
    const struct gemm_problem *const p = problem;
    if (p->gelu || (packed && p->batch > 1) || p->threads > 1 || p->m > INT_MAX || p->n > INT_MAX || p->k > INT_MAX ||
        packed != p->trans_b)
        return NULL;
    const int m = (int)p->m, n = (int)p->n, k = (int)p->k, lda = p->trans_a ? m : k;
    const int flags = p->trans_a ? FLAG_TRANS_B : 0, prefetch = PREFETCH_NONE;
    const float alpha = 1, beta = 0;
    kernel *const call = xsmm.dispatch(n, m, k, &n, &lda, &n, &alpha, &beta, &flags, &prefetch);
    struct prepared *const self = call ? calloc(1, sizeof *self) : NULL;
    if (!self)
        return NULL;
    self->problem = p;
    self->call = call;
    if (packed && !turn(self)) {
        release(self);
        return NULL;
    }
    return self;
}

static void run(void *prepared, size_t index)
{
    const struct prepared *const self = prepared;
    const struct gemm_problem *const p = self->problem;
    const float *const b = (self->turned ? self->turned : p->b) + index * p->b_stride;
    for (size_t i = 0; i < p->batch; i++)
        self->call(b + i * p->k * p->n, p->a + i * p->m * p->k, p->c + i * p->m * p->n);
}

size_t peer_libxsmm(const struct peer_request *request, struct contestant *out, const char **why)
{
    static const struct peer_isa targets[] = {{"avx2", "hsw"}};
    const char *const target = peer_isa_name(targets, sizeof targets / sizeof *targets, request->isa);
    const struct peer_symbol symbols[] = {{"libxsmm_init", &xsmm.init},
                                          {"libxsmm_smmdispatch", &xsmm.dispatch},
                                          {"libxsmm_get_target_arch", &xsmm.target}};
    void *const library = peer_open(NULL, "libxsmm.so");
    if (!library)
        return 0;
    if (!request->widest && !target)
        *why = "cannot be held to this ISA";
    else if (!peer_symbols(library, symbols, sizeof symbols / sizeof *symbols))
        *why = "this build lacks functions that are needed";
    else if (request->threads > 1)
        *why = "has one thread";
    if (*why)
        return 0;
    if (!request->widest)
        setenv("LIBXSMM_TARGET", target, 1);
    xsmm.init();
    *out = (struct contestant){.prepare = prepare, .run = run, .release = release};
    snprintf(out->name, sizeof out->name, "libxsmm 1.17 %s", xsmm.target());
    return 1;
}
