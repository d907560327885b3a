// SPDX-License-Identifier: Apache-2.0
// tests/check/gemm_bt.c - cases of the kernels for few rows and a transposed B: every m and n, all strides.
#include "tests/check/check.h"
#include "tests/check/oracle.h"

enum { k_max = 1100 }; // more than 64 blocks of 16: rows are prefetched in segments then

// The same element as a tile of the micro-kernels: B[p,j] in natural rows is B^T.
static struct check_exact exact(const struct fovea_gemm_bt_tile *t, const float *before, size_t i, size_t j)
{
    const struct fovea_gemm_tile one = {.m = 1,
                                        .n = 1,
                                        .k = t->k,
                                        .a = t->a + i,
                                        .a_k = t->a_k,
                                        .b = t->b + (ptrdiff_t)j * t->b_row,
                                        .b_k = 1,
                                        .mode = t->adds ? FOVEA_GEMM_ADD : FOVEA_GEMM_STORE};
    return oracle_gemm(&one, before, 0, 0);
}

static void run_case(struct check_case *c)
{
    const struct check_variant *const v = c->variant;
    struct check_rng *const rng = &c->rng;
    const size_t at = (size_t)(c->index * 7919 % ((uint64_t)v->mr * FOVEA_PANEL));
    struct fovea_gemm_bt_tile t = {.m = 1 + at / FOVEA_PANEL, .n = 1 + at % FOVEA_PANEL};
    t.n += check_chance(rng, 50) ? FOVEA_PANEL * (1 + check_below(rng, 4)) : 0;
    t.k = check_size(rng, check_chance(rng, 10) ? k_max : 70);
    const size_t lda = t.m + (check_chance(rng, 50) ? check_below(rng, 20) : 0);
    const size_t ldb = t.k + (check_chance(rng, 50) ? check_below(rng, 20) : 0);
    const size_t ldc = t.n + (check_chance(rng, 50) ? check_below(rng, 20) : 0);
    const struct check_source values = check_source(rng, 1);
    t.a_k = (ptrdiff_t)lda;
    t.b_row = (ptrdiff_t)ldb;
    t.c_row = (ptrdiff_t)ldc;
    t.far = check_chance(rng, 50);
    t.side = 8u << check_below(rng, 3);
    t.into_l1 = t.far && check_chance(rng, 50);
    t.touch = t.far ? (uint32_t)check_below(rng, 4) : 0;
    t.twice = t.far && t.m == 1 && check_chance(rng, 50) ? 8 + 2 * (uint32_t)check_below(rng, 5) : 0;
    const bool told = v->packs && check_chance(rng, 40), packs = told && t.m > v->side_rows;
    t.adds = packs && check_chance(rng, 50);
    t.packed_panel = packs ? (ptrdiff_t)(FOVEA_PANEL * t.k + check_below(rng, 40)) : 0;
    t.stream = check_chance(rng, 30) ? 1 + (uint32_t)check_below(rng, 64) : 0;
    t.head = t.k != 0 && check_chance(rng, 30) ? (uint32_t)check_below(rng, t.k < 16 ? t.k : 16) : 0;
    check_describe(c,
                   " m %zu n %zu k %zu values %d lda %zu ldb %zu ldc %zu side %u%s%s touch %u twice %u stream %u "
                   "head %u%s",
                   t.m, t.n, t.k, (int)values.kind, lda, ldb, ldc, t.side, t.far ? " far" : "",
                   t.into_l1 ? " into L1" : "", t.touch, t.twice, t.stream, t.head,
                   t.adds  ? " packs and adds"
                   : packs ? " packs"
                           : "");
    struct check_buffer *const a = check_buffer(c, "A", t.k == 0 ? 0 : (t.k - 1) * lda + t.m);
    struct check_buffer *const b = check_buffer(c, "B", t.k == 0 ? 0 : (t.n - 1) * ldb + t.k);
    if (t.k != 0) {
        check_fill_rows(c, a, &values, t.k, t.m, lda);
        check_fill_rows(c, b, &values, t.n, t.k, ldb);
    }
    t.a = a->data;
    t.b = b->data;
    struct check_buffer *const want = check_buffer(c, "C", (t.m - 1) * ldc + t.n);
    if (t.adds) {
        check_fill_rows(c, want, &values, t.m, t.n, ldc);
    }
    struct check_buffer *const before = check_twin(c, want), *const got = check_twin(c, want);
    const size_t panels = packs ? (t.n + FOVEA_PANEL - 1) / FOVEA_PANEL : 0, of_panel = FOVEA_PANEL * t.k;
    struct check_buffer *const want_packed =
        check_buffer(c, "packed", panels != 0 ? (panels - 1) * (size_t)t.packed_panel + of_panel : 0);
    struct check_buffer *const got_packed = check_twin(c, want_packed);
    check_seal();
    t.packed = packs ? want_packed->data : NULL;
    t.c = want->data;
    check_enter(c, c->scalar);
    c->scalar->run.gemm_bt(&t);
    check_leave(c);
    t.c = got->data;
    t.packed = told ? got_packed->data : NULL; // without room, where side_rows says that it is ignored
    check_enter(c, v);
    v->run.gemm_bt(&t);
    check_leave(c);
    check_sealed(c);
    check_outputs(c, want, got, (struct check_view){t.m, t.n, ldc, 0});
    check_outputs(c, want_packed, got_packed, (struct check_view){panels, of_panel, (size_t)t.packed_panel, 0});
    for (size_t i = 0; i < t.m && values.kind == CHECK_UNIFORM; i++) {
        for (size_t j = 0; j < t.n; j++) {
            const struct check_exact e = exact(&t, before->data + i * ldc + j, i, j);
            check_bound(c, "C", i, j, got->data[i * ldc + j], e.value, e.bound);
        }
    }
}

/// One, two, four, eight and 16 rows, in as many tiles as the variant needs, against rows of B in the first level of
/// cache: a variant that wins at one of them alone may take half as long again for the others.
static double bench(struct check_case *c, size_t calls)
{
    const struct check_source values = {CHECK_UNIFORM, 1, 0};
    enum { most = 16, n = 2 * FOVEA_PANEL, k = 144 };
    struct check_buffer *const a = check_buffer(c, "A", most * k), *const b = check_buffer(c, "B", n * k);
    check_fill(&c->rng, &values, a->data, a->count);
    check_fill(&c->rng, &values, b->data, b->count);
    struct fovea_gemm_bt_tile t = {.n = n, .k = k, .b_row = k, .c_row = n, .side = n};
    t.b = b->data;
    float *const out = check_buffer(c, "C", most * n)->data;
    double flops = 0;
    c->started = check_seconds();
    for (size_t i = 0; i < calls; i++) {
        flops = 0;
        for (size_t m = 1; m <= most; m *= 2) {
            t.a_k = (ptrdiff_t)m;
            for (size_t row = 0; row < m; row += t.m) {
                t.m = m - row < c->variant->mr ? m - row : c->variant->mr;
                t.a = a->data + row;
                t.c = out + row * n;
                c->variant->run.gemm_bt(&t);
            }
            flops += 2.0 * (double)(m * t.n * t.k);
        }
    }
    return flops;
}

const struct check_family check_family_gemm_bt = {600, run_case, bench};
