// SPDX-License-Identifier: Apache-2.0
// tests/check/gemm_bn.c - cases of the kernels for a few steps over natural rows of B: m and k of all sizes, n of up to
// several panels, all strides.
#include "tests/check/check.h"
#include "tests/check/oracle.h"

enum { n_max = 2 * FOVEA_PAGE + 300 }; // so that pages are touched within a row, too

static size_t beyond(struct check_rng *rng)
{
    return check_chance(rng, 50) ? check_below(rng, 20) : 0;
}

static void run_case(struct check_case *c)
{
    const struct check_variant *const v = c->variant;
    struct check_rng *const rng = &c->rng;
    const size_t at = (size_t)(c->index * 7919 % ((uint64_t)v->mr * FOVEA_BN_STEPS));
    struct fovea_gemm_bn_tile t = {.m = 1 + at / FOVEA_BN_STEPS, .k = 1 + at % FOVEA_BN_STEPS};
    t.n = 1 + check_size(rng, check_chance(rng, 4) ? n_max : 100);
    t.adds = check_chance(rng, 50);
    t.lead_columns = check_chance(rng, 50) ? check_below(rng, 200) : 0;
    t.touch = (uint32_t)check_below(rng, 3);
    const int turned = check_chance(rng, 30);
    const size_t lda = (turned ? t.m : t.k) + beyond(rng), ldb = t.n + beyond(rng), ldc = t.n + beyond(rng);
    const struct check_source values = check_source(rng, 1);
    t.a_row = turned ? 1 : (ptrdiff_t)lda;
    t.a_k = turned ? (ptrdiff_t)lda : 1;
    t.b_row = (ptrdiff_t)ldb;
    t.c_row = (ptrdiff_t)ldc;
    const bool alone = check_chance(&c->rng, 33);
    check_describe(c, " m %zu n %zu k %zu adds %u%s lead %zu touch %u values %d lda %zu%s ldb %zu ldc %zu", t.m, t.n,
                   t.k, (unsigned)t.adds, alone ? " alone" : "", t.lead_columns, (unsigned)t.touch, (int)values.kind,
                   lda, turned ? " turned" : "", ldb, ldc);
    const size_t a_rows = turned ? t.k : t.m, a_cols = turned ? t.m : t.k;
    struct check_buffer *const a = check_buffer(c, "A", (a_rows - 1) * lda + a_cols);
    struct check_buffer *const b = check_buffer(c, "B", (t.k - 1) * ldb + t.n);
    check_fill_rows(c, a, &values, a_rows, a_cols, lda);
    check_fill_rows(c, b, &values, t.k, t.n, ldb);
    t.a = a->data;
    t.b = b->data;
    t.ahead = alone ? NULL : b->data;
    struct check_buffer *const want = check_buffer(c, "C", (t.m - 1) * ldc + t.n);
    if (t.adds) {
        check_fill_rows(c, want, &values, t.m, t.n, ldc);
    }
    struct check_buffer *const before = check_twin(c, want), *const got = check_twin(c, want);
    check_seal();
    t.c = want->data;
    check_enter(c, c->scalar);
    c->scalar->run.gemm_bn(&t);
    check_leave(c);
    t.c = got->data;
    check_enter(c, v);
    v->run.gemm_bn(&t);
    check_leave(c);
    check_sealed(c);
    check_outputs(c, want, got, (struct check_view){t.m, t.n, ldc, 0});
    for (size_t i = 0; i < t.m && values.kind == CHECK_UNIFORM; i++) {
        for (size_t j = 0; j < t.n; j++) { // as an element of a tile of the micro-kernels
            const struct fovea_gemm_tile one = {.k = t.k,
                                                .a = t.a + (ptrdiff_t)i * t.a_row,
                                                .a_k = t.a_k,
                                                .b = t.b + j,
                                                .b_k = t.b_row,
                                                .mode = t.adds ? FOVEA_GEMM_ADD : FOVEA_GEMM_STORE};
            const struct check_exact e = oracle_gemm(&one, before->data + i * ldc + j, 0, 0);
            check_bound(c, "C", i, j, got->data[i * ldc + j], e.value, e.bound);
        }
    }
}

/// One row against eight rows of B in the first level of cache.
static double bench(struct check_case *c, size_t calls)
{
    const struct check_source values = {CHECK_UNIFORM, 1, 0};
    enum { n = 512, k = 8 };
    struct check_buffer *const a = check_buffer(c, "A", k), *const b = check_buffer(c, "B", n * k);
    check_fill(&c->rng, &values, a->data, a->count);
    check_fill(&c->rng, &values, b->data, b->count);
    struct fovea_gemm_bn_tile t = {.m = 1, .n = n, .k = k, .a_row = k, .a_k = 1, .b_row = n, .c_row = n};
    t.a = a->data;
    t.b = t.ahead = b->data;
    t.c = check_buffer(c, "C", n)->data;
    c->started = check_seconds();
    for (size_t i = 0; i < calls; i++)
        c->variant->run.gemm_bn(&t);
    return 2.0 * (double)(t.m * t.n * t.k);
}

const struct check_family check_family_gemm_bn = {600, run_case, bench};
