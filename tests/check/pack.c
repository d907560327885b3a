// SPDX-License-Identifier: Apache-2.0
// tests/check/pack.c - cases of the packers and the transpose: moves of elements, so every bit is known without an
// oracle in float64; the index map of kernels/kernel.h is the oracle.
#include "tests/check/check.h"

#include <string.h>

/// One size small, the other perhaps large: blocks of 16 x 16, what is left of them, and both long ways.
static void draw_sizes(struct check_rng *rng, size_t *k, size_t *n)
{
    const bool long_k = check_chance(rng, 50);
    *k = check_size(rng, long_k ? 200 : 40);
    *n = check_size(rng, long_k ? 40 : 200);
}

static size_t draw_pad(struct check_rng *rng)
{
    return check_chance(rng, 60) ? check_below(rng, 40) : 0;
}

static void run_pack(struct check_case *c)
{
    struct check_rng *const rng = &c->rng;
    const bool transposed = strcmp(c->variant->slot, "pack_bt") == 0;
    size_t k, n;
    draw_sizes(rng, &k, &n);
    const struct check_source values = check_source(rng, 1);
    const size_t rows = transposed ? n : k, cols = transposed ? k : n, ld = cols + draw_pad(rng);
    const size_t panels = (n + FOVEA_PANEL - 1) / FOVEA_PANEL, panel = FOVEA_PANEL * k + draw_pad(rng);
    check_describe(c, " k %zu n %zu ld %zu dst_panel %zu", k, n, ld, panel);
    struct check_buffer *const src = check_buffer(c, "src", rows * cols == 0 ? 0 : (rows - 1) * ld + cols);
    if (src->count != 0)
        check_fill_rows(c, src, &values, rows, cols, ld);
    struct check_buffer *const want =
        check_buffer(c, "dst", panels * k == 0 ? 0 : (panels - 1) * panel + FOVEA_PANEL * k);
    struct check_buffer *const got = check_twin(c, want);
    check_seal();
    check_enter(c, c->scalar);
    c->scalar->run.pack(k, n, src->data, (ptrdiff_t)ld, want->data, (ptrdiff_t)panel);
    check_leave(c);
    check_enter(c, c->variant);
    c->variant->run.pack(k, n, src->data, (ptrdiff_t)ld, got->data, (ptrdiff_t)panel);
    check_leave(c);
    check_sealed(c);
    check_outputs(c, want, got, (struct check_view){panels, FOVEA_PANEL * k, panel, 0});
    for (size_t j = 0; j < panels * FOVEA_PANEL; j++) {
        for (size_t p = 0; p < k; p++) {
            const float expected = j >= n ? 0 : src->data[transposed ? j * ld + p : p * ld + j];
            const float x = got->data[j / FOVEA_PANEL * panel + p * FOVEA_PANEL + j % FOVEA_PANEL];
            if (!c->failed && !check_same(x, expected))
                check_fail(c, "element p %zu, j %zu: expected %a, got %a", p, j, expected, x);
        }
    }
}

static double bench_pack(struct check_case *c, size_t calls)
{
    const struct check_source values = {CHECK_UNIFORM, 1, 0};
    enum { k = 64, n = 64 };
    struct check_buffer *const src = check_buffer(c, "src", k * n), *const dst = check_buffer(c, "dst", k * n);
    check_fill(&c->rng, &values, src->data, src->count);
    c->started = check_seconds();
    for (size_t i = 0; i < calls; i++)
        c->variant->run.pack(k, n, src->data, k, dst->data, FOVEA_PANEL * k);
    return -(double)(k * n);
}

static void run_transpose(struct check_case *c)
{
    struct check_rng *const rng = &c->rng;
    size_t rows, cols;
    draw_sizes(rng, &rows, &cols);
    const struct check_source values = check_source(rng, 1);
    const size_t ld_src = cols + draw_pad(rng), ld_dst = rows + draw_pad(rng);
    const float scale = check_chance(rng, 50) ? 1 : 3 * check_uniform(rng) - 1;
    check_describe(c, " rows %zu cols %zu ld_src %zu ld_dst %zu scale %g", rows, cols, ld_src, ld_dst, (double)scale);
    const bool empty = rows * cols == 0;
    struct check_buffer *const src = check_buffer(c, "src", empty ? 0 : (rows - 1) * ld_src + cols);
    if (!empty)
        check_fill_rows(c, src, &values, rows, cols, ld_src);
    struct check_buffer *const want = check_buffer(c, "dst", empty ? 0 : (cols - 1) * ld_dst + rows);
    struct check_buffer *const got = check_twin(c, want);
    check_seal();
    check_enter(c, c->scalar);
    c->scalar->run.transpose(rows, cols, scale, src->data, (ptrdiff_t)ld_src, want->data, (ptrdiff_t)ld_dst);
    check_leave(c);
    check_enter(c, c->variant);
    c->variant->run.transpose(rows, cols, scale, src->data, (ptrdiff_t)ld_src, got->data, (ptrdiff_t)ld_dst);
    check_leave(c);
    check_sealed(c);
    check_outputs(c, want, got, (struct check_view){empty ? 0 : cols, rows, ld_dst, 0});
    for (size_t r = 0; r < rows && !c->failed; r++) {
        for (size_t q = 0; q < cols; q++) {
            if (!check_same(got->data[q * ld_dst + r], scale * src->data[r * ld_src + q]))
                check_fail(c, "dst[%zu,%zu] is not scale * src[%zu,%zu]", q, r, r, q);
        }
    }
}

static double bench_transpose(struct check_case *c, size_t calls)
{
    const struct check_source values = {CHECK_UNIFORM, 1, 0};
    enum { rows = 64, cols = 64 };
    struct check_buffer *const src = check_buffer(c, "src", rows * cols), *const dst =
                                                                              check_buffer(c, "dst", rows * cols);
    check_fill(&c->rng, &values, src->data, src->count);
    c->started = check_seconds();
    for (size_t i = 0; i < calls; i++)
        c->variant->run.transpose(rows, cols, 1.0f, src->data, cols, dst->data, rows);
    return -(double)(rows * cols);
}

const struct check_family check_family_pack = {1000, run_pack, bench_pack};
const struct check_family check_family_transpose = {1000, run_transpose, bench_transpose};
