// SPDX-License-Identifier: Apache-2.0
// tests/check/gemm_few.c - cases of the kernels for few rows of C over panels from memory, of f32, of 16-bit elements
// and of 8-bit integers: all numbers of rows, columns that end within a panel, steps around the distance of prefetches.
#include "tests/check/check.h"
#include "tests/check/oracle.h"
#include "tests/check/s8.h"

#include <string.h>

static const uint16_t *halves(const struct check_buffer *buffer)
{
    return (const uint16_t *)(const void *)buffer->data;
}

/// Panels of B: `count` bytes in all, `panel` bytes of each, `pitch` bytes from one to the next; and as floats.
struct panels {
    size_t number, panel, pitch, count;
    struct check_buffer *b, *wide;
    size_t wide_pitch; // in floats
};

static void fill_floats(struct check_case *c, struct panels *p, const struct check_source *values)
{
    p->wide = p->b;
    p->wide_pitch = p->pitch / sizeof(float);
    check_fill(&c->rng, values, p->b->data, p->b->count);
}

static void fill_halves(struct check_case *c, struct panels *p, bool any)
{
    const size_t count = p->count / sizeof(uint16_t);
    p->wide = check_buffer(c, "B as f32", count);
    p->wide_pitch = p->pitch / sizeof(uint16_t);
    for (size_t i = 0; i < count; i++) { // a sign, and 2^-1 to 2^-7 in either format
        const uint16_t bits = (uint16_t)check_next(&c->rng), small = (bits & 0x83ff) | 0x3000;
        memcpy((uint16_t *)(void *)p->b->data + i, any ? &bits : &small, sizeof bits);
    }
    const bool bf16 = strcmp(c->variant->slot, "gemm_bf16") == 0;
    check_scalar(bf16 ? "widen_bf16" : "widen_f16")->run.widen(count, halves(p->b), p->wide->data);
}

static void fill_s8(struct check_case *c, struct panels *p, size_t k, bool any)
{
    p->wide = check_buffer(c, "B as f32", p->number * FOVEA_PANEL * k);
    p->wide_pitch = FOVEA_PANEL * k;
    for (size_t j = 0; j < p->number; j++) {
        struct fovea_s8_group *const groups = (void *)((char *)p->b->data + j * p->pitch);
        for (size_t at = 0; at < k; at += FOVEA_GROUP) {
            struct fovea_s8_group *const of = &groups[at / FOVEA_GROUP];
            const size_t steps = k - at < FOVEA_GROUP ? k - at : FOVEA_GROUP;
            s8_fill(&c->rng, steps, any, of->q[0], of->scale);
            check_scalar("widen_s8")
                ->run.widen_s8(steps, of->q[0], of->scale, p->wide->data + j * p->wide_pitch + at * FOVEA_PANEL);
        }
    }
}

static void run_case(struct check_case *c)
{
    const struct check_variant *const v = c->variant;
    struct check_rng *const rng = &c->rng;
    const size_t size = strcmp(v->slot, "gemm_few") == 0  ? sizeof(float) // of an element
                        : strcmp(v->slot, "gemm_s8") == 0 ? sizeof(uint8_t)
                                                          : sizeof(uint16_t);
    struct fovea_gemm_few_tile t = {.m = 1 + c->index % v->mr, .n = 1 + check_size(rng, 150)};
    t.k = check_chance(rng, 5) ? 0 : 1 + check_size(rng, size == 1 ? 300 : 150);
    const bool any = check_chance(rng, 30); // any bits, else numbers of a size that the oracle may be asked about
    struct panels p = {.number = (t.n + FOVEA_PANEL - 1) / FOVEA_PANEL};
    p.panel = size == 1 ? s8_panel_bytes(t.k) : FOVEA_PANEL * t.k * size;
    p.pitch = p.panel + (check_chance(rng, 30) ? 64 * check_below(rng, 4) : 0);
    p.count = p.panel == 0 ? 0 : (p.number - 1) * p.pitch + p.panel;
    const size_t lda = t.m + check_below(rng, 4), ldc = t.n + check_below(rng, 20);
    const struct check_source values = any ? check_source(rng, 1) : (struct check_source){CHECK_UNIFORM, 1, 0};
    const bool packs = v->packs && check_chance(rng, 20);
    t.m = packs ? v->mr : t.m;
    t.quiet = !packs && check_chance(rng, 50);
    t.adds = packs && check_chance(rng, 50);
    t.packed_panel = packs ? (ptrdiff_t)(FOVEA_PANEL * (t.k + check_below(rng, 3))) : 0;
    t.a_k = (ptrdiff_t)lda;
    t.b_panel = (ptrdiff_t)(p.pitch / size);
    t.c_row = (ptrdiff_t)ldc;
    check_describe(c, " m %zu n %zu k %zu values %d any %d quiet %u gap %zu lda %zu ldc %zu%s", t.m, t.n, t.k,
                   (int)values.kind, any, t.quiet, p.pitch - p.panel, lda, ldc,
                   t.adds  ? " packs and adds"
                   : packs ? " packs"
                           : "");
    struct check_buffer *const a = check_buffer(c, "A", t.k != 0 ? (t.k - 1) * lda + t.m : 0);
    p.b = check_buffer(c, "B", p.count / sizeof(float));
    check_fill_rows(c, a, &values, t.k, t.m, lda);
    if (size == sizeof(float)) {
        fill_floats(c, &p, &values);
    } else if (size == sizeof(uint16_t)) {
        fill_halves(c, &p, any);
    } else {
        fill_s8(c, &p, t.k, any);
    }
    t.a = a->data;
    t.b = p.b->data;
    struct check_buffer *const want = check_buffer(c, "C", (t.m - 1) * ldc + t.n);
    if (t.adds) {
        check_fill_rows(c, want, &values, t.m, t.n, ldc);
    }
    struct check_buffer *const before = check_twin(c, want), *const got = check_twin(c, want);
    const size_t of_panel = FOVEA_PANEL * t.k, packed = packs ? (p.number - 1) * (size_t)t.packed_panel + of_panel : 0;
    struct check_buffer *const want_packed = check_buffer(c, "packed", packed);
    struct check_buffer *const got_packed = check_twin(c, want_packed);
    check_seal();
    t.c = want->data;
    t.packed = packs ? want_packed->data : NULL;
    check_enter(c, c->scalar);
    c->scalar->run.gemm_few(&t);
    check_leave(c);
    t.c = got->data;
    t.packed = packs ? got_packed->data : NULL;
    check_enter(c, v);
    v->run.gemm_few(&t);
    check_leave(c);
    check_sealed(c);
    check_outputs(c, want, got, (struct check_view){t.m, t.n, ldc, 0});
    check_outputs(c, want_packed, got_packed,
                  (struct check_view){packs ? p.number : 0, of_panel, (size_t)t.packed_panel, 0});
    for (size_t i = 0; i < t.m && !any; i++) {
        for (size_t j = 0; j < t.n; j++) { // as an element of a tile of the micro-kernels over the elements as f32
            const struct fovea_gemm_tile one = {.k = t.k,
                                                .a = t.a + i,
                                                .a_k = t.a_k,
                                                .b = p.wide->data + j / FOVEA_PANEL * p.wide_pitch + j % FOVEA_PANEL,
                                                .b_k = FOVEA_PANEL,
                                                .mode = t.adds ? FOVEA_GEMM_ADD : FOVEA_GEMM_STORE};
            const struct check_exact e = oracle_gemm(&one, before->data + i * ldc + j, 0, 0);
            check_bound(c, "C", i, j, got->data[i * ldc + j], e.value, e.bound);
        }
    }
}

/// Two rows over 384 columns, whole tiles of 3, 4, 6 and 8 panels.
static double bench(struct check_case *c, size_t calls)
{
    const struct check_source values = {CHECK_UNIFORM, 1, 0};
    enum { m = 2, n = 384, k = 128 };
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
