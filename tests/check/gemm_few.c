// SPDX-License-Identifier: Apache-2.0
// tests/check/gemm_few.c - cases of the kernels for few rows of C over panels from memory, of f32 and of 16-bit
// elements: all numbers of rows, columns that end within a panel, steps around the distance of prefetches.
#include "tests/check/check.h"
#include "tests/check/oracle.h"

#include <string.h>

static const uint16_t *halves(const struct check_buffer *buffer)
{
    return (const uint16_t *)(const void *)buffer->data;
}

static void run_case(struct check_case *c)
{
    const struct check_variant *const v = c->variant;
    const bool whole = strcmp(v->slot, "gemm_few") == 0; // elements are f32
    const struct check_variant *const widen =
        whole ? NULL : check_scalar(strcmp(v->slot, "gemm_bf16") == 0 ? "widen_bf16" : "widen_f16");
    struct check_rng *const rng = &c->rng;
    struct fovea_gemm_few_tile t = {.m = 1 + c->index % v->mr, .n = 1 + check_size(rng, 150)};
    t.k = check_chance(rng, 5) ? 0 : 1 + check_size(rng, 150);
    const bool any = check_chance(rng, 30); // any bits, else numbers of a size that the oracle may be asked about
    const size_t panels = (t.n + FOVEA_PANEL - 1) / FOVEA_PANEL, panel = FOVEA_PANEL * t.k;
    const size_t gap = check_chance(rng, 30) ? FOVEA_PANEL * check_below(rng, 4) : 0;
    const size_t lda = t.m + check_below(rng, 4), ldc = t.n + check_below(rng, 20);
    const size_t count = panel == 0 ? 0 : (panels - 1) * (panel + gap) + panel; // elements of B, a multiple of 16
    const struct check_source values = any ? check_source(rng, 1) : (struct check_source){CHECK_UNIFORM, 1, 0};
    t.a_k = (ptrdiff_t)lda;
    t.b_panel = (ptrdiff_t)(panel + gap);
    t.c_row = (ptrdiff_t)ldc;
    check_describe(c, " m %zu n %zu k %zu values %d any %d gap %zu lda %zu ldc %zu", t.m, t.n, t.k, (int)values.kind,
                   any, gap, lda, ldc);
    struct check_buffer *const a = check_buffer(c, "A", t.k != 0 ? (t.k - 1) * lda + t.m : 0);
    struct check_buffer *const b = check_buffer(c, "B", count / 2), *const wide = check_buffer(c, "B as f32", count);
    check_fill_rows(c, a, &values, t.k, t.m, lda);
    for (size_t i = 0; i < count; i++) { // a sign, and 2^-1 to 2^-7 in either format
        const uint16_t bits = (uint16_t)check_next(rng), small = (bits & 0x83ff) | 0x3000;
        memcpy((uint16_t *)(void *)b->data + i, any ? &bits : &small, sizeof bits);
    }
    if (whole) {
        check_fill(rng, &values, wide->data, count);
    } else {
        widen->run.widen(count, halves(b), wide->data);
    }
    t.a = a->data;
    t.b = whole ? wide->data : b->data;
    struct check_buffer *const want = check_buffer(c, "C", (t.m - 1) * ldc + t.n), *const got = check_twin(c, want);
    check_seal();
    t.c = want->data;
    check_enter(c, c->scalar);
    c->scalar->run.gemm_few(&t);
    check_leave(c);
    t.c = got->data;
    check_enter(c, v);
    v->run.gemm_few(&t);
    check_leave(c);
    check_sealed(c);
    check_outputs(c, want, got, (struct check_view){t.m, t.n, ldc, 0});
    for (size_t i = 0; i < t.m && !any; i++) {
        for (size_t j = 0; j < t.n; j++) { // as an element of a tile of the micro-kernels over the elements as f32
            const struct fovea_gemm_tile one = {.k = t.k,
                                                .a = t.a + i,
                                                .a_k = t.a_k,
                                                .b = wide->data + j / FOVEA_PANEL * (panel + gap) + j % FOVEA_PANEL,
                                                .b_k = FOVEA_PANEL};
            const struct check_exact e = oracle_gemm(&one, NULL, 0, 0);
            check_bound(c, "C", i, j, got->data[i * ldc + j], e.value, e.bound);
        }
    }
}

/// Two rows over 64 columns, in the first level of cache.
static double bench(struct check_case *c, size_t calls)
{
    const struct check_source values = {CHECK_UNIFORM, 1, 0};
    enum { m = 2, n = 64, k = 128 };
    struct check_buffer *const a = check_buffer(c, "A", m * k), *const b = check_buffer(c, "B", k * n);
    check_fill(&c->rng, &values, a->data, a->count);
    memset(b->data, 0, k * n * sizeof(float));
    const struct fovea_gemm_few_tile t = {.m = m,
                                          .n = n,
                                          .k = k,
                                          .a = a->data,
                                          .a_k = m,
                                          .b = b->data,
                                          .b_panel = FOVEA_PANEL * k,
                                          .c = check_buffer(c, "C", m * n)->data,
                                          .c_row = n};
    c->started = check_seconds();
    for (size_t i = 0; i < calls; i++)
        c->variant->run.gemm_few(&t);
    return 2.0 * m * n * k;
}

const struct check_family check_family_gemm_few = {800, run_case, bench};
