// SPDX-License-Identifier: Apache-2.0
// tests/check/gemm.c - cases of the GEMM micro-kernels: every m and n of the tile, all modes, all ways A and B may lie.
#include "tests/check/check.h"
#include "tests/check/oracle.h"

enum { k_max = 520 };

/// Strides of A, and the range of offsets m x k elements reach from A[0,0].
struct a_layout {
    const char *name;
    ptrdiff_t row, k;
    size_t below, count; ///< elements before A[0,0], and altogether
};

static struct a_layout draw_a(struct check_rng *rng, size_t m, size_t k, size_t mr, bool adjacent)
{
    const ptrdiff_t pad = (ptrdiff_t)(check_chance(rng, 50) ? check_below(rng, 20) : 0);
    const ptrdiff_t wide = (ptrdiff_t)k + pad, tall = (ptrdiff_t)m + pad;
    const struct a_layout layouts[] = {
        {"rows", wide, 1, 0, 0},
        {"backward", -wide, 1, 0, 0},
        {"broadcast", 0, 1, 0, 0},
        {"columns", 1, tall, 0, 0},
        {"packed", 1, (ptrdiff_t)mr, 0, 0},
        {"panel", 1, FOVEA_PANEL, 0, 0},
        {"general", 3 * wide + 1, 3, 0, 0},
    };
    const size_t most = adjacent ? 3 : sizeof layouts / sizeof layouts[0]; // the first three
    struct a_layout a = layouts[check_below(rng, most)];
    if (k == 0)
        return a; // nothing may be read: A points at a guard page
    const ptrdiff_t down = (ptrdiff_t)(m - 1) * a.row, along = (ptrdiff_t)(k - 1) * a.k;
    a.below = down < 0 ? (size_t)-down : 0;
    a.count = 1 + a.below + (size_t)(down > 0 ? down : 0) + (size_t)along;
    return a;
}

static const float *make_a(struct check_case *c, const struct a_layout *layout, const struct check_source *values,
                           size_t m, size_t k)
{
    struct check_buffer *const b = check_buffer(c, "A", layout->count);
    float *const a = b->data + layout->below;
    for (size_t i = 0; i < m; i++)
        for (size_t p = 0; p < k; p++)
            a[(ptrdiff_t)i * layout->row + (ptrdiff_t)p * layout->k] = check_draw(&c->rng, values);
    return a;
}

/// Panels, or natural rows; readable by whole panels, what lies in columns past n being poison.
static void make_b(struct check_case *c, struct fovea_gemm_tile *t, bool beside, const struct check_source *values)
{
    const size_t of_tile = (t->n + FOVEA_PANEL - 1) / FOVEA_PANEL, panels = beside ? of_tile * (t->more + 1) : of_tile;
    const bool narrow = t->n < FOVEA_PANEL;
    const bool rows = t->packed_panel != 0 || check_chance(&c->rng, narrow ? 60 : 40);
    const size_t pad = check_chance(&c->rng, 40) ? check_below(&c->rng, 40) : 0;
    const bool ends = rows && !beside && t->k != 0 && t->packed_panel == 0 && t->mode == FOVEA_GEMM_STORE &&
                      check_chance(&c->rng, 50);
    const bool dense = ends && narrow && check_chance(&c->rng, 80); // a panel holds more than one row
    t->b_k = (ptrdiff_t)(dense ? t->n + pad % 3 : rows ? panels * FOVEA_PANEL + pad : FOVEA_PANEL);
    t->b_panel = (ptrdiff_t)(rows ? FOVEA_PANEL : FOVEA_PANEL * t->k + pad);
    t->b_next = beside ? (ptrdiff_t)of_tile * t->b_panel : 0;
    const size_t past = panels * FOVEA_PANEL - t->n; // columns: what of the last rows could not be read in full
    const size_t few = dense ? (past + (size_t)t->b_k - 1) / (size_t)t->b_k : 1, least = few < t->k ? few : t->k;
    t->b_ends = !ends ? 0 : check_chance(&c->rng, 50) ? least : least + check_below(&c->rng, t->k - least + 1);
    const size_t last = (panels - 1) * (size_t)t->b_panel + (t->k - 1) * (size_t)t->b_k;
    const size_t live = t->b_ends ? t->n - (panels - 1) * FOVEA_PANEL : FOVEA_PANEL;
    struct check_buffer *const b = check_buffer(c, "B", t->k == 0 ? 0 : last + live);
    for (size_t p = 0; p < t->k; p++)
        for (size_t j = 0; j < panels * FOVEA_PANEL; j++)
            if (j % (of_tile * FOVEA_PANEL) < t->n)
                b->data[j / FOVEA_PANEL * (size_t)t->b_panel + p * (size_t)t->b_k + j % FOVEA_PANEL] =
                    check_draw(&c->rng, values);
    t->b = b->data;
    check_describe(c, " B %s b_ends %zu b_panel %td b_k %td", rows ? "rows" : "panels", t->b_ends, t->b_panel, t->b_k);
}

static void make_scale(struct check_case *c, struct fovea_gemm_tile *t, const struct check_source *values)
{
    const size_t round = (t->n + FOVEA_PANEL - 1) / FOVEA_PANEL * FOVEA_PANEL;
    struct check_buffer *const scale = check_buffer(c, "scale", round);
    check_fill(&c->rng, values, scale->data, t->n);
    t->scale = scale->data;
}

/// Terms, or none: any of them, the residual being C itself where `itself`.
static struct fovea_gemm_terms make_terms(struct check_case *c, const struct fovea_gemm_tile *t, size_t rows,
                                          size_t columns, const struct check_source *values, bool itself)
{
    struct check_rng *const rng = &c->rng;
    const bool beside = columns != t->n, some = check_chance(rng, 50);
    struct fovea_gemm_terms terms = {
        .alpha = check_chance(rng, 50) ? 1 : 2 * check_uniform(rng),
        .beta = t->mode == FOVEA_GEMM_ADD || check_chance(rng, 50) ? -0.0f : 2 * check_uniform(rng),
        .relu = check_chance(rng, 50),
        .residual_row = itself ? t->c_row : (ptrdiff_t)(columns + check_below(rng, 20)),
        .bias_next = beside ? (ptrdiff_t)t->n : 0,
    };
    terms.residual_next = beside ? (ptrdiff_t)t->n : (ptrdiff_t)t->m * terms.residual_row;
    struct check_buffer *const bias = check_buffer(c, "bias", columns);
    struct check_buffer *const residual =
        check_buffer(c, "residual", (rows - 1) * (size_t)terms.residual_row + columns);
    check_fill(rng, values, bias->data, columns);
    check_fill_rows(c, residual, values, rows, columns, (size_t)terms.residual_row);
    terms.bias = check_chance(rng, 60) ? bias->data : NULL;
    terms.residual = some ? residual->data : NULL;
    check_describe(c, " alpha %a beta %a bias %d relu %u residual %d", (double)terms.alpha, (double)terms.beta,
                   terms.bias != NULL, (unsigned)terms.relu, itself ? 2 : some);
    return terms;
}

/// What terms make of C: sums in a room of their own, then the epilogue that defines it.
static void define(const struct fovea_gemm_tile *tile, const struct fovea_gemm_terms *terms, size_t rows,
                   size_t columns, struct check_buffer *acc, float *c)
{
    struct fovea_gemm_tile t = *tile;
    t.terms = NULL;
    t.c = acc->data;
    check_scalar("gemm")->run.gemm(&t);
    const struct fovea_gemm_epilogue e = {
        .m = rows,
        .n = columns,
        .acc = acc->data,
        .acc_row = t.c_row,
        .c = c,
        .c_row = t.c_row,
        .alpha = terms->alpha,
        .beta = terms->beta,
        .bias = terms->bias,
        .residual = terms->residual,
        .residual_row = terms->residual_row,
        .act = terms->relu ? FOVEA_ACT_RELU : FOVEA_ACT_NONE,
    };
    check_scalar("gemm_epilogue")->run.epilogue(&e);
}

static void run_case(struct check_case *c)
{
    static const char *const modes[] = {"STORE", "ADD", "RESCALE"};
    const struct check_variant *const v = c->variant;
    struct check_rng *const rng = &c->rng;
    // A walk with a prime step meets each (m, n) in mr * nr * 3 / 2 cases, far apart ones early. In one of three n is
    // nr: tiles that apply terms in registers are these.
    const size_t columns_drawn = v->nr * 3u / 2;
    const size_t at = (size_t)(c->index * 7919 % (v->mr * columns_drawn)), column = at % columns_drawn;
    struct fovea_gemm_tile t = {.m = 1 + at / columns_drawn, .n = column < v->nr ? 1 + column : v->nr};
    t.touch = check_chance(rng, 30) ? 1 + (uint32_t)check_below(rng, 4) : 0; // k of more than a page, often
    t.k = check_size(rng, check_chance(rng, t.touch != 0 ? 30 : 5) ? k_max : 70);
    const bool packs = v->packs && check_chance(rng, 15); // in a product one tile of many does
    t.n = packs ? (t.n + FOVEA_PANEL - 1) / FOVEA_PANEL * FOVEA_PANEL : t.n;
    t.packed_panel = packs ? (ptrdiff_t)(FOVEA_PANEL * t.k + check_below(rng, 40)) : 0;
    t.mode = (enum fovea_gemm_mode)check_below(rng, packs ? 2 : 3);
    t.more = t.mode != FOVEA_GEMM_RESCALE && !packs && check_chance(rng, 50) ? check_below(rng, 4) : 0;
    const bool beside = t.more != 0 && check_chance(rng, 50);
    t.near = check_chance(rng, 50);
    t.follows = check_chance(rng, 30);
    t.lead_steps = !packs && check_chance(rng, 30) ? (uint32_t)check_below(rng, 100) : 0;
    const size_t rows = beside ? t.m : t.m * (t.more + 1), columns = beside ? t.n * (t.more + 1) : t.n;
    const struct check_source values = check_source(rng, 1);
    const struct a_layout layout = draw_a(rng, rows, t.k, rows, packs);
    t.a_row = layout.row;
    t.a_k = layout.k;
    t.c_row = (ptrdiff_t)(columns + (check_chance(rng, 70) ? check_below(rng, 40) : 0));
    t.a_next = beside ? 0 : (ptrdiff_t)t.m * t.a_row;
    t.c_next = beside ? (ptrdiff_t)t.n : (ptrdiff_t)t.m * t.c_row;
    check_describe(c,
                   " m %zu more %zu %s n %zu k %zu %s packs %d near %u follows %u lead %u touch %u values %d A %s"
                   " c_row %td",
                   t.m, t.more, beside ? "beside" : "below", t.n, t.k, modes[t.mode], packs, (unsigned)t.near,
                   (unsigned)t.follows, (unsigned)t.lead_steps, (unsigned)t.touch, (int)values.kind, layout.name,
                   t.c_row);
    t.a = make_a(c, &layout, &values, rows, t.k);
    make_b(c, &t, beside, &values);
    // Prefetches change nothing, wherever they point.
    if (t.more == 0 && t.b_ends == 0 && !packs && check_chance(rng, 50)) {
        t.ahead = t.b;
        t.ahead_step = check_chance(rng, 50) ? FOVEA_PANEL / 2 : FOVEA_PANEL;
        t.ahead_panel = check_chance(rng, 50) ? FOVEA_PANEL * (ptrdiff_t)check_below(rng, 4) : 0;
        check_describe(c, " ahead %td panel %td", (ptrdiff_t)t.ahead_step, (ptrdiff_t)t.ahead_panel);
    }
    if (t.mode == FOVEA_GEMM_RESCALE)
        make_scale(c, &t, &values);

    const bool has_terms = t.mode != FOVEA_GEMM_RESCALE && check_chance(rng, 50);
    const bool itself = has_terms && check_chance(rng, 20);
    struct fovea_gemm_terms terms = {.alpha = 1};
    if (has_terms)
        terms = make_terms(c, &t, rows, columns, &values, itself);
    struct check_buffer *const want = check_buffer(c, "C", (rows - 1) * (size_t)t.c_row + columns);
    struct check_buffer *before = want;
    if (t.mode != FOVEA_GEMM_STORE || itself || terms.beta != 0) {
        check_fill_rows(c, want, &values, rows, columns, (size_t)t.c_row);
        before = check_twin(c, want);
    }
    struct check_buffer *const got = check_twin(c, want), *const acc = check_twin(c, want);
    const size_t panels = packs ? t.n / FOVEA_PANEL : 0, of_panel = FOVEA_PANEL * t.k;
    struct check_buffer *const want_packed =
        check_buffer(c, "packed", panels != 0 ? (panels - 1) * (size_t)t.packed_panel + of_panel : 0);
    struct check_buffer *const got_packed = check_twin(c, want_packed);
    check_seal();
    t.packed = packs ? want_packed->data : NULL;
    t.c = want->data;
    check_enter(c, c->scalar);
    if (has_terms) {
        t.terms = &terms;
        terms.residual = itself ? want->data : terms.residual;
        define(&t, &terms, rows, columns, acc, want->data);
    } else {
        c->scalar->run.gemm(&t);
    }
    check_leave(c);
    t.c = got->data;
    t.packed = packs ? got_packed->data : NULL;
    terms.residual = itself ? got->data : terms.residual;
    check_enter(c, v);
    v->run.gemm(&t);
    check_leave(c);
    check_sealed(c);
    check_outputs(c, want, got, (struct check_view){rows, columns, (size_t)t.c_row, 0});
    check_outputs(c, want_packed, got_packed, (struct check_view){panels, of_panel, (size_t)t.packed_panel, 0});
    for (size_t i = 0; i < rows && values.kind == CHECK_UNIFORM && !has_terms; i++) {
        for (size_t j = 0; j < columns; j++) {
            struct fovea_gemm_tile of = t;
            of.b += (ptrdiff_t)(j / t.n) * t.b_next;
            const struct check_exact e = oracle_gemm(&of, before->data + j / t.n * t.n, i, j % t.n);
            check_bound(c, "C", i, j, got->data[i * (size_t)t.c_row + j], e.value, e.bound);
        }
    }
}

/// A full tile with packed operands in the first level of cache.
static double bench(struct check_case *c, size_t calls)
{
    const struct check_variant *const v = c->variant;
    const struct check_source values = {CHECK_UNIFORM, 1, 0};
    const size_t k = 64;
    struct fovea_gemm_tile t = {.m = v->mr, .n = v->nr, .k = k, .a_row = 1, .a_k = v->mr, .b_k = FOVEA_PANEL};
    t.b_panel = (ptrdiff_t)(k * FOVEA_PANEL);
    t.c_row = v->nr;
    struct check_buffer *const a = check_buffer(c, "A", t.m * k), *const b = check_buffer(c, "B", t.n * k);
    check_fill(&c->rng, &values, a->data, a->count);
    check_fill(&c->rng, &values, b->data, b->count);
    t.a = a->data;
    t.b = b->data;
    t.c = check_buffer(c, "C", t.m * t.n)->data;
    c->started = check_seconds();
    for (size_t i = 0; i < calls; i++)
        v->run.gemm(&t);
    return 2.0 * (double)(t.m * t.n * t.k);
}

const struct check_family check_family_gemm = {1000, run_case, bench};
