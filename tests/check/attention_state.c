// SPDX-License-Identifier: Apache-2.0
// tests/check/attention_state.c - running states of attention, and the cases of merge and finish.
#include "tests/check/attention.h"
#include "tests/check/bounds.h"

#include <math.h>
#include <string.h>

static size_t round16(size_t n)
{
    return (n + FOVEA_PANEL - 1) / FOVEA_PANEL * FOVEA_PANEL;
}

static struct check_buffer *output(struct check_case *c, const char *name, size_t count)
{
    struct check_buffer *const b = check_buffer(c, name, count);
    b->output = true;
    return b;
}

static void draw_row(struct check_rng *rng, const struct attention_states *s, size_t r, bool empty,
                     const struct check_source *values)
{
    float *const m = s->m[0]->data + r, *const l = s->l[0]->data + r;
    *m = empty || check_chance(rng, 5) ? -INFINITY : check_draw(rng, values);
    *l = empty || check_chance(rng, 5) ? 0 : fabsf(check_draw(rng, values)) + (values->kind == CHECK_UNIFORM);
    for (size_t q = 0; q < s->v_dim; q++)
        s->o[0]->data[(ptrdiff_t)r * s->o_row + (ptrdiff_t)q * s->o_col] = empty ? 0 : check_draw(rng, values);
}

struct attention_states attention_draw_states(struct check_case *c, size_t rows, size_t v_dim, ptrdiff_t o_row,
                                              ptrdiff_t o_col, unsigned percent_empty,
                                              const struct check_source *values)
{
    struct attention_states s = {.rows = rows, .v_dim = v_dim, .o_row = o_row, .o_col = o_col};
    const size_t o_count =
        o_row == 1 ? (v_dim - 1) * (size_t)o_col + round16(rows) : (rows - 1) * (size_t)o_row + round16(v_dim);
    s.m[0] = output(c, "state.m", round16(rows));
    s.l[0] = output(c, "state.l", round16(rows));
    s.o[0] = output(c, "state.o", o_count);
    for (size_t r = 0; r < rows; r++)
        draw_row(&c->rng, &s, r, check_chance(&c->rng, percent_empty), values);
    s.m[1] = check_twin(c, s.m[0]);
    s.l[1] = check_twin(c, s.l[0]);
    s.o[1] = check_twin(c, s.o[0]);
    return s;
}

void attention_draw_statistics(struct check_case *c, struct attention_states *s)
{
    struct check_buffer **const all[] = {s->spread, s->top, s->largest};
    for (size_t i = 0; i < 3; i++)
        all[i][0] = output(c, "statistics", round16(s->rows));
    for (size_t r = 0; r < s->rows; r++) {
        const bool empty = s->l[0]->data[r] == 0;
        const uint32_t key = empty ? UINT32_MAX : (uint32_t)check_below(&c->rng, 5000);
        s->spread[0]->data[r] = empty ? 0 : -3 * fabsf(check_uniform(&c->rng));
        memcpy(s->top[0]->data + r, &key, sizeof key);
    }
    for (size_t i = 0; i < 3; i++)
        all[i][1] = check_twin(c, all[i][0]);
}

struct fovea_attention_state attention_state(const struct attention_states *s, size_t which)
{
    struct fovea_attention_state state = {
        s->rows, s->v_dim, s->m[which]->data, s->l[which]->data, s->o[which]->data, s->o_row, s->o_col, NULL,
        NULL,    NULL};
    if (s->spread[which]) {
        state.spread = s->spread[which]->data;
        state.top = (uint32_t *)(void *)s->top[which]->data;
        state.largest = s->largest[which]->data;
    }
    return state;
}

/// Zeros among the first `count` elements of the second state become those of the first.
static void take_zeros(struct check_buffer *const both[2], size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (both[0]->data[i] == 0 && both[1]->data[i] == 0)
            both[1]->data[i] = both[0]->data[i];
    }
}

void attention_compare_states(struct check_case *c, const struct attention_states *s)
{
    const bool finished = strcmp(c->variant->slot, "attention_finish") == 0;
    const bool prefill = strcmp(c->variant->slot, "attention_prefill") == 0;
    const size_t lanes = round16(s->rows);
    // Zeros of m, and of an O to which prefill added hidden keys of weight +0, may have either sign: no result can tell
    // (docs/numerics.md).
    take_zeros(s->m, s->rows);
    take_zeros(s->o, prefill ? s->o[0]->count : 0);
    check_outputs(c, s->m[0], s->m[1], (struct check_view){1, s->rows, lanes, lanes});
    check_outputs(c, s->l[0], s->l[1], (struct check_view){1, s->rows, lanes, lanes});
    if (s->spread[0]) {
        check_outputs(c, s->spread[0], s->spread[1], (struct check_view){1, s->rows, lanes, lanes});
        check_outputs(c, s->top[0], s->top[1], (struct check_view){1, s->rows, lanes, lanes});
        // written when the state is finished, padding and all
        check_outputs(c, s->largest[0], s->largest[1], (struct check_view){1, finished ? s->rows : 0, lanes, lanes});
    }
    if (s->o_row == 1)
        check_outputs(c, s->o[0], s->o[1], (struct check_view){s->v_dim, s->rows, (size_t)s->o_col, lanes});
    else
        check_outputs(c, s->o[0], s->o[1], (struct check_view){s->rows, s->v_dim, (size_t)s->o_row, round16(s->v_dim)});
}

/// A shape as prefill (lanes are queries) or decode (lanes are columns) keeps it.
struct shape {
    size_t rows, v_dim;
    ptrdiff_t o_row, o_col;
};

static struct shape draw_shape(struct check_case *c)
{
    struct check_rng *const rng = &c->rng;
    const bool queries = check_chance(rng, 50);
    struct shape s = {1 + check_below(rng, queries ? FOVEA_TILE_ROWS_MAX : 16), 1 + check_size(rng, 130), 1, 1};
    const ptrdiff_t pad = (ptrdiff_t)(check_chance(rng, 50) ? check_below(rng, 20) : 0);
    if (queries)
        s.o_col = (ptrdiff_t)round16(s.rows) + pad;
    else
        s.o_row = (ptrdiff_t)round16(s.v_dim) + pad;
    check_describe(c, " rows %zu v_dim %zu o_row %td o_col %td", s.rows, s.v_dim, s.o_row, s.o_col);
    return s;
}

/// Uniform values: what the state stands for, sum l exp(m) and sum O exp(m), is the sum of what the two stood for.
static void bound_merge(struct check_case *c, const struct attention_states *before,
                        const struct attention_states *into, const struct attention_states *from)
{
    for (size_t r = 0; r < into->rows; r++) {
        const double tm = before->m[1]->data[r], tl = before->l[1]->data[r];
        const double sm = from->m[0]->data[r], sl = from->l[0]->data[r];
        if ((tm == -INFINITY || sm == -INFINITY)) // the rules for empty states are exact: bits say it all
            continue;
        const double max = fmax(tm, sm), a = exp(tm - max), b = exp(sm - max);
        const double error = CHECK_U * (3 * fabs(tm - sm) + 2 * CHECK_EXP2_ULP + 2);
        check_bound(c, "state.l", 0, r, into->l[1]->data[r], tl * a + sl * b, 1.01 * error * (tl * a + sl * b));
        for (size_t q = 0; q < into->v_dim; q++) {
            const ptrdiff_t at = (ptrdiff_t)r * into->o_row + (ptrdiff_t)q * into->o_col;
            const double t = before->o[1]->data[at], s = from->o[0]->data[at];
            check_bound(c, "state.o", r, q, into->o[1]->data[at], t * a + s * b,
                        1.01 * error * (fabs(t) * a + fabs(s) * b) + 0x1p-126);
        }
    }
}

static void run_merge(struct check_case *c)
{
    const struct shape s = draw_shape(c);
    const struct check_source values = check_source(&c->rng, 10);
    const unsigned empty = (unsigned)check_below(&c->rng, 101);
    check_describe(c, " values %d empty %u%%", (int)values.kind, empty);
    struct attention_states into = attention_draw_states(c, s.rows, s.v_dim, s.o_row, s.o_col, empty, &values);
    struct attention_states from = attention_draw_states(c, s.rows, s.v_dim, s.o_row, s.o_col, empty, &values);
    if (check_chance(&c->rng, 30)) {
        attention_draw_statistics(c, &into);
        attention_draw_statistics(c, &from);
        check_describe(c, " statistics");
    }
    struct attention_states before = into, source = from; // what was merged: `from` may be destroyed
    before.m[1] = check_twin(c, into.m[0]);
    before.l[1] = check_twin(c, into.l[0]);
    before.o[1] = check_twin(c, into.o[0]);
    source.m[0] = check_twin(c, from.m[0]);
    source.l[0] = check_twin(c, from.l[0]);
    source.o[0] = check_twin(c, from.o[0]);
    const struct check_variant *const who[] = {c->scalar, c->variant};
    check_seal();
    for (size_t w = 0; w < 2; w++) {
        const struct fovea_attention_state t = attention_state(&into, w), f = attention_state(&from, w);
        check_enter(c, who[w]);
        who[w]->run.merge(&t, &f);
        check_leave(c);
    }
    check_sealed(c);
    attention_compare_states(c, &into);
    struct check_buffer *const *const spent[] = {from.m, from.l, from.o};
    for (size_t i = 0; i < 3; i++) {
        const size_t count = spent[i][0]->count;
        check_outputs(c, spent[i][0], spent[i][1], (struct check_view){1, 0, count, count});
    }
    if (values.kind == CHECK_UNIFORM)
        bound_merge(c, &before, &into, &source);
}

static void run_finish(struct check_case *c)
{
    const struct shape s = draw_shape(c);
    const struct check_source values = check_source(&c->rng, 10);
    const unsigned empty = check_chance(&c->rng, 50) ? (unsigned)check_below(&c->rng, 101) : 0;
    const bool has_lse = check_chance(&c->rng, 60), has_sinks = check_chance(&c->rng, 40);
    check_describe(c, " values %d empty %u%% lse %d sinks %d", (int)values.kind, empty, has_lse, has_sinks);
    struct check_buffer *const sinks = check_buffer(c, "sinks", round16(s.rows));
    for (size_t r = 0; r < s.rows; r++)
        sinks->data[r] = check_chance(&c->rng, 20) ? -INFINITY : check_draw(&c->rng, &values);
    struct attention_states states = attention_draw_states(c, s.rows, s.v_dim, s.o_row, s.o_col, empty, &values);
    if (check_chance(&c->rng, 30)) {
        attention_draw_statistics(c, &states);
        check_describe(c, " statistics");
    }
    struct attention_states before = states;
    before.o[1] = check_twin(c, states.o[0]);
    struct check_buffer *const want = check_buffer(c, "lse", s.rows), *const got = check_twin(c, want);
    struct check_buffer *const lse[] = {want, got};
    const struct check_variant *const who[] = {c->scalar, c->variant};
    check_seal();
    for (size_t w = 0; w < 2; w++) {
        const struct fovea_attention_state state = attention_state(&states, w);
        check_enter(c, who[w]);
        who[w]->run.finish(&state, has_sinks ? sinks->data : NULL, has_lse ? lse[w]->data : NULL);
        check_leave(c);
    }
    check_sealed(c);
    attention_compare_states(c, &states);
    check_outputs(c, want, got, (struct check_view){has_lse, s.rows, s.rows, 0});
    for (size_t r = 0; r < s.rows && values.kind == CHECK_UNIFORM; r++) {
        const double m = states.m[1]->data[r], l = states.l[1]->data[r];
        const double sink = has_sinks ? (double)sinks->data[r] : -INFINITY, most = fmax(m, sink);
        if (l == 0 || m == -INFINITY)
            continue;
        // With a sink: the factors of m and of the sink, each off by three roundings of its exponent and an exp2.
        const double keep = exp(m - most), sum = l * keep + exp(sink - most), ln = log(sum), exact = most + ln;
        const double worse = isinf(sink) ? 0 : 3 * fabs(m - sink) + 2 * CHECK_EXP2_ULP + 2;
        if (has_lse)
            check_bound(c, "lse", 0, r, got->data[r], exact,
                        CHECK_U * (2 * CHECK_LN_ULP * fabs(ln) + fabs(exact) + worse) * 1.01);
        for (size_t q = 0; q < s.v_dim; q++) {
            const ptrdiff_t at = (ptrdiff_t)r * s.o_row + (ptrdiff_t)q * s.o_col;
            const double out = before.o[1]->data[at] * keep / sum;
            check_bound(c, "out", r, q, states.o[1]->data[at], out,
                        (2.01 + 2 * worse) * CHECK_U * fabs(out) + 0x1p-120);
        }
    }
}

static double bench_merge(struct check_case *c, size_t calls)
{
    const struct check_source values = {CHECK_UNIFORM, 10, 0};
    const struct attention_states s = attention_draw_states(c, 16, 64, 64, 1, 0, &values);
    const struct fovea_attention_state into = attention_state(&s, 0), from = attention_state(&s, 1);
    c->started = check_seconds();
    for (size_t i = 0; i < calls; i++)
        c->variant->run.merge(&into, &from);
    return -16.0 * 64.0;
}

static double bench_finish(struct check_case *c, size_t calls)
{
    const struct check_source values = {CHECK_UNIFORM, 10, 0};
    const struct attention_states s = attention_draw_states(c, 16, 64, 64, 1, 0, &values);
    for (size_t r = 0; r < 16; r++)
        s.l[0]->data[r] = 1; // a state that finishing does not change
    const struct fovea_attention_state state = attention_state(&s, 0);
    c->started = check_seconds();
    for (size_t i = 0; i < calls; i++)
        c->variant->run.finish(&state, NULL, NULL);
    return -16.0 * 64.0;
}

const struct check_family check_family_merge = {1000, run_merge, bench_merge};
const struct check_family check_family_finish = {1000, run_finish, bench_finish};
