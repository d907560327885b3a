// SPDX-License-Identifier: Apache-2.0
// tests/check/gemm_edge.c - cases of the kernels for the last, few columns of C: all numbers of columns, m and k of all
// sizes, rows of B that lie close or a panel apart.
#include "tests/check/check.h"
#include "tests/check/oracle.h"

static size_t beyond(struct check_rng *rng)
{
    return check_chance(rng, 50) ? check_below(rng, 20) : 0;
}

static void run_case(struct check_case *c)
{
    const struct check_variant *const v = c->variant;
    struct check_rng *const rng = &c->rng;
    struct fovea_gemm_edge_tile t = {.m = 1 + (size_t)(c->index * 7919 % 101), .n = 1 + c->index % (FOVEA_PANEL / 2)};
    t.k = check_chance(rng, 5) ? 0 : 1 + check_size(rng, 60);
    const size_t lda = t.k + beyond(rng), ldb = check_chance(rng, 40) ? FOVEA_PANEL : t.n + beyond(rng);
    const size_t ldc = t.n + beyond(rng);
    const struct check_source values = check_source(rng, 1);
    t.a_row = (ptrdiff_t)lda;
    t.b_k = (ptrdiff_t)ldb;
    t.c_row = (ptrdiff_t)ldc;
    check_describe(c, " m %zu n %zu k %zu values %d lda %zu ldb %zu ldc %zu", t.m, t.n, t.k, (int)values.kind, lda, ldb,
                   ldc);
    struct check_buffer *const a = check_buffer(c, "A", (t.m - 1) * lda + t.k);
    struct check_buffer *const b = check_buffer(c, "B", t.k != 0 ? (t.k - 1) * ldb + t.n : 0);
    check_fill_rows(c, a, &values, t.m, t.k, lda);
    check_fill_rows(c, b, &values, t.k, t.n, ldb);
    t.a = a->data;
    t.b = b->data;
    struct check_buffer *const want = check_buffer(c, "C", (t.m - 1) * ldc + t.n), *const got = check_twin(c, want);
    check_seal();
    t.c = want->data;
    check_enter(c, c->scalar);
    c->scalar->run.gemm_edge(&t);
    check_leave(c);
    t.c = got->data;
    check_enter(c, v);
    v->run.gemm_edge(&t);
    check_leave(c);
    check_sealed(c);
    check_outputs(c, want, got, (struct check_view){t.m, t.n, ldc, 0});
    for (size_t i = 0; i < t.m && values.kind == CHECK_UNIFORM; i++) {
        for (size_t j = 0; j < t.n; j++) { // as an element of a tile of the micro-kernels
            const struct fovea_gemm_tile one = {
                .k = t.k, .a = t.a + (ptrdiff_t)i * t.a_row, .a_k = 1, .b = t.b + j, .b_k = t.b_k};
            const struct check_exact e = oracle_gemm(&one, NULL, 0, 0);
            check_bound(c, "C", i, j, got->data[i * ldc + j], e.value, e.bound);
        }
    }
}

/// The last four columns of a 100 cube.
static double bench(struct check_case *c, size_t calls)
{
    const struct check_source values = {CHECK_UNIFORM, 1, 0};
    enum { m = 100, n = 4, k = 100 };
    struct check_buffer *const a = check_buffer(c, "A", m * k), *const b = check_buffer(c, "B", k * n);
    check_fill(&c->rng, &values, a->data, a->count);
    check_fill(&c->rng, &values, b->data, b->count);
    const struct fovea_gemm_edge_tile t = {.m = m,
                                           .n = n,
                                           .k = k,
                                           .a = a->data,
                                           .a_row = k,
                                           .b = b->data,
                                           .b_k = n,
                                           .c = check_buffer(c, "C", m * n)->data,
                                           .c_row = n};
    c->started = check_seconds();
    for (size_t i = 0; i < calls; i++)
        c->variant->run.gemm_edge(&t);
    return 2.0 * m * n * k;
}

const struct check_family check_family_gemm_edge = {808, run_case, bench};
