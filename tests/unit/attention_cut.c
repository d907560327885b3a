// SPDX-License-Identifier: Apache-2.0
// tests/unit/attention_cut.c - any case, its queries in pieces, one by one or in a ragged batch: the bits of one call,
// on every ISA.
#include "tests/support/engines.h"
#include "tests/support/memory.h"
#include "tests/support/operator.h"
#include "tests/support/test.h"
#include "tests/unit/attention_case.h"

enum kind { OUT, LSE, ENTROPY, LARGEST, TOP, KINDS };
static const char *const kind_names[KINDS] = {"out", "lse", "entropy", "largest weight", "its key"};

static struct fovea_engine *engines[TEST_ISAS];

/// What rows (batch, heads, queries) return, dense; of OUT v_dim floats each.
struct result {
    float *of[KINDS];
};

static size_t width(const struct attention_case *c, enum kind kind)
{
    return kind == OUT ? c->desc.v_dim : c->desc.statistics || kind == LSE;
}

static struct result new_result(const struct attention_case *c, size_t rows)
{
    struct result r;
    for (int k = 0; k < KINDS; k++)
        r.of[k] = test_floats(rows * width(c, (enum kind)k), TEST_HIGH);
    return r;
}

static void compare(const struct attention_case *c, const struct result *expected, const struct result *got,
                    size_t rows, int e, const char *what)
{
    for (int k = 0; k < KINDS; k++)
        CHECK_SAME(expected->of[k], got->of[k], rows * width(c, (enum kind)k), "%s: %s, %s: %s", c->text, test_isas[e],
                   what, kind_names[k]);
}

// One plan for many pieces: its memory, and what a piece has of its own.
struct session {
    struct test_session of;
    struct result rows;
    uint32_t *lens, *segments; // (batch, queries)
    int64_t *offsets;
};

static struct session begin(const struct attention_case *c, int e)
{
    const size_t rows = c->args.batch * c->desc.q_len; // out has the strides of the plan
    return (struct session){.of = test_plan(&test_attention, engines[e], &c->desc, 1),
                            .rows = new_result(c, c->desc.heads * rows),
                            .lens = test_memory(rows * sizeof(uint32_t), TEST_HIGH),
                            .segments = test_memory(rows * sizeof(uint32_t), TEST_HIGH),
                            .offsets = test_memory(c->args.batch * sizeof(int64_t), TEST_HIGH)};
}

// Queries [first, first + count) of an array that has an element for each of (batch, q_len).
static const uint32_t *cut(const struct attention_case *c, const uint32_t *from, size_t first, size_t count,
                           uint32_t *to)
{
    for (size_t b = 0; b < c->args.batch; b++)
        memcpy(to + b * count, from + b * c->args.q_len + first, count * sizeof *to);
    return to;
}

// Those queries of every entry as a call of their own. With a map of blocks `first` begins one.
static struct fovea_attention_args piece(const struct attention_case *c, const struct session *s, size_t first,
                                         size_t count)
{
    const struct fovea_attention_desc *const d = &c->desc;
    struct fovea_attention_args a = c->args;
    a.q_len = count;
    a.q += first * c->q.row;
    a.q_offset += (int64_t)first;
    for (size_t b = 0; b < a.batch && a.q_offsets; b++)
        s->offsets[b] = a.q_offsets[b] + (int64_t)first;
    a.q_offsets = a.q_offsets ? s->offsets : NULL;
    if (d->kv_len_kind == FOVEA_KV_LEN_BATCH_ROW)
        a.kv_lens = cut(c, a.kv_lens, first, count, s->lens);
    if (d->segments)
        a.q_segments = cut(c, a.q_segments, first, count, s->segments);
    a.mask = d->mask ? a.mask + first * d->mask_row : NULL;
    a.bias = d->bias ? a.bias + first * d->bias_row : NULL;
    a.blocks = d->blocks ? a.blocks + first / d->block_rows * d->blocks_row : NULL;
    return a;
}

// Where a call writes what it returns.
static void return_to(const struct attention_case *c, struct fovea_attention_args *a, const struct result *r)
{
    a->out = r->of[OUT];
    a->lse = r->of[LSE];
    if (c->desc.statistics) {
        a->entropy = r->of[ENTROPY];
        a->max_weight = r->of[LARGEST];
        a->max_key = (uint32_t *)(void *)r->of[TOP];
    }
}

// Makes out of the case (batch, heads, q_len, v_dim), dense.
static void make_dense(struct attention_case *c)
{
    const size_t head = c->desc.q_len * c->desc.v_dim;
    c->desc.out = (struct fovea_strides){c->desc.heads * head, head, c->desc.v_dim};
    c->batch_strides[3] = c->desc.out.batch;
}

// Runs a piece and puts its rows where those of the whole lie.
static void run_piece(const struct attention_case *c, const struct session *s, size_t first, size_t count,
                      const struct result *whole)
{
    const size_t heads = c->args.batch * c->desc.heads;
    struct fovea_attention_args a = piece(c, s, first, count);
    return_to(c, &a, &s->rows);
    for (int k = 0; k < KINDS; k++)
        check_poison(s->rows.of[k], heads * c->desc.q_len * width(c, (enum kind)k));
    const enum fovea_status status = fovea_attention(s->of.plan, &a, s->of.shared, s->of.scratch, NULL);
    CHECK(!status, "%s: %zu queries from %zu: %s", c->text, count, first, fovea_status_string(status));
    for (int k = 0; k < KINDS; k++)
        for (size_t h = 0; h < heads; h++) {
            const size_t each = width(c, (enum kind)k), from = h * (k == OUT ? c->desc.q_len : count);
            memcpy(whole->of[k] + (h * c->args.q_len + first) * each, s->rows.of[k] + from * each,
                   count * each * sizeof(float));
        }
}

// All queries in pieces of at most so many.
static struct result in_pieces(struct attention_case *c, int e, size_t most)
{
    const struct session s = begin(c, e);
    const struct result r = new_result(c, c->args.batch * c->desc.heads * c->args.q_len);
    const size_t unit = c->desc.blocks ? c->desc.block_rows : 1;
    for (size_t first = 0, count; first < c->args.q_len; first += count) {
        count = (1 + check_below(&c->rng, most) + unit - 1) / unit * unit;
        count = count < c->args.q_len - first ? count : c->args.q_len - first;
        run_piece(c, &s, first, count, &r);
    }
    return r;
}

// A ragged batch: entry b has the first starts[b + 1] - starts[b] queries of that of the case.
enum { BATCH_MAX = 3 };

// Elements of (batch, q_len) where they lie then.
static const uint32_t *join(const struct attention_case *c, const uint32_t *from, const uint32_t *starts)
{
    uint32_t *const to = test_memory(starts[c->args.batch] * sizeof *to, TEST_HIGH);
    for (size_t b = 0; b < c->args.batch; b++)
        memcpy(to + starts[b], from + b * c->args.q_len, (starts[b + 1] - starts[b]) * sizeof *to);
    return to;
}

// Queries (rows, heads, d), dense.
static const float *join_queries(const struct attention_case *c, const uint32_t *starts)
{
    const size_t heads = c->desc.heads, d = c->desc.qk_dim;
    float *const q = test_floats(starts[c->args.batch] * heads * d, TEST_HIGH);
    for (size_t b = 0; b < c->args.batch; b++)
        for (size_t i = 0; i < starts[b + 1] - starts[b]; i++)
            for (size_t h = 0; h < heads; h++)
                memcpy(q + ((starts[b] + i) * heads + h) * d, c->args.q + b * c->q.batch + h * c->q.head + i * c->q.row,
                       d * sizeof *q);
    return q;
}

// Each entry in a call whose q_len is its own, on the scalar engine.
static struct result one_by_one(const struct attention_case *c, const uint32_t *starts)
{
    const size_t heads = c->desc.heads, q_len = c->args.q_len, dv = c->desc.v_dim;
    const struct result r = new_result(c, starts[c->args.batch] * heads);
    const struct session s = begin(c, 0);
    const struct result whole = new_result(c, c->args.batch * heads * q_len);
    for (size_t b = 0; b < c->args.batch; b++) {
        const size_t count = starts[b + 1] - starts[b];
        if (count != 0)
            run_piece(c, &s, 0, count, &whole);
        for (size_t h = 0; h < heads; h++)
            for (size_t i = 0; i < count; i++) {
                const size_t from = (b * heads + h) * q_len + i;
                memcpy(r.of[OUT] + ((starts[b] + i) * heads + h) * dv, whole.of[OUT] + from * dv, dv * sizeof(float));
                for (int k = LSE; k < KINDS; k++)
                    memcpy(r.of[k] + (starts[b] * heads + h * count + i) * width(c, (enum kind)k),
                           whole.of[k] + from * width(c, (enum kind)k), width(c, (enum kind)k) * sizeof(float));
            }
    }
    return r;
}

static void run_ragged(struct attention_case *c, enum test_way way)
{
    const size_t heads = c->desc.heads, d = c->desc.qk_dim, dv = c->desc.v_dim;
    uint32_t starts[BATCH_MAX + 1] = {0};
    for (size_t b = 0; b < c->args.batch; b++)
        starts[b + 1] = starts[b] + (uint32_t)check_below(&c->rng, c->args.q_len + 1);
    const size_t rows = starts[c->args.batch] * heads;
    const struct result expected = one_by_one(c, starts);
    struct fovea_attention_desc desc = c->desc;
    desc.q = (struct fovea_strides){desc.q_len * heads * d, d, heads * d};
    desc.out = (struct fovea_strides){desc.q_len * heads * dv, dv, heads * dv};
    struct fovea_attention_args a = c->args;
    a.q = join_queries(c, starts);
    a.q_starts = starts;
    a.kv_lens = desc.kv_len_kind == FOVEA_KV_LEN_BATCH_ROW ? join(c, a.kv_lens, starts) : a.kv_lens;
    a.q_segments = desc.segments ? join(c, a.q_segments, starts) : NULL;
    for (int e = 0; e < TEST_ISAS; e++) {
        if (!engines[e])
            continue;
        const struct result got = new_result(c, rows);
        return_to(c, &a, &got);
        const enum fovea_status status = test_run(&test_attention, engines[e], &desc, &a, way, c->rng.state);
        CHECK(!status, "%s: ragged: %s", c->text, fovea_status_string(status));
        compare(c, &expected, &got, rows, e, "ragged");
    }
}

// Whether a position is not one of those that are clamped, from which pieces could not count on.
static bool counts(int64_t position)
{
    return position > INT64_MIN / 2 && position < INT64_MAX / 2;
}

// Whether it has rows, keys, and positions that may be counted on from.
static bool is_case(const struct attention_case *c)
{
    bool all = counts(c->args.q_offset);
    for (size_t b = 0; b < c->args.batch && c->args.q_offsets; b++)
        all &= counts(c->args.q_offsets[b]);
    return all && c->args.batch * c->desc.heads * c->args.kv_len != 0 && c->args.q_len > 1;
}

static bool run_case(uint64_t number)
{
    struct attention_case c;
    attention_draw(&c, number, true, 400000);
    c.args.kv_new = c.args.kv_new_queries ? c.args.q_len : c.args.kv_new, c.args.kv_new_queries = 0; // of the whole
    const bool is = is_case(&c);
    if (is) {
        make_dense(&c);
        const size_t rows = c.args.batch * c.desc.heads * c.args.q_len;
        const struct session s = begin(&c, 0);
        const struct result expected = new_result(&c, rows);
        run_piece(&c, &s, 0, c.args.q_len, &expected);
        for (int e = 0; e < TEST_ISAS; e++) {
            static const size_t most[] = {1, 20, 100};
            const size_t m = most[(number + (uint64_t)e) % 3];
            if (!engines[e])
                continue;
            const struct result got = in_pieces(&c, e, m);
            compare(&c, &expected, &got, rows, e, m == 1 ? "one by one" : "in pieces");
        }
        run_ragged(&c, (enum test_way)(number % TEST_WAYS));
    }
    test_memory_reset();
    return is;
}

int main(void)
{
    const bool small = getenv("FOVEA_TEST_SMALL") != NULL;
    const int cases = small ? 60 : 500;
    int ran = 0;
    test_engines(engines);
    for (int i = 0; i < cases; i++)
        ran += run_case(80001 + (uint64_t)i);
    CHECK(ran >= cases / 2, "%d of %d cases can be cut", ran, cases);
    test_engines_free(engines);
    return test_done();
}
