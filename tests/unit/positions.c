// SPDX-License-Identifier: Apache-2.0
// tests/unit/positions.c - multi-head attention with a position for each sequence, every option drawn at random, also
// of ragged batches and with keys in pages: the bits of each sequence alone, in a batch of one with a view of the
// cache, which is NaN beyond its keys; with dropout, those of a batch at one position or, if it is ragged, of empty
// sequences but one.
#include "fovea/fovea.h"
#include "tests/support/engines.h"
#include "tests/support/keys.h"
#include "tests/support/memory.h"
#include "tests/support/operator.h"
#include "tests/support/test.h"
#include "tests/support/weights.h"

#include <stdbool.h>

enum { BATCH_MAX = 5, HEADS_MAX = 6, IN = 24, OUT = 19 };

static struct fovea_engine *engines[TEST_ISAS];
static uint64_t rng = 17;

static float *some(size_t n, float scale)
{
    return test_some(n, scale, &rng);
}

static bool maybe(void)
{
    return test_below(&rng, 3) == 0;
}

static struct fovea_linear linear(size_t inputs, size_t outputs)
{
    return test_linear(engines[0], inputs, outputs, !maybe(), &rng);
}

struct problem {
    struct fovea_mha_desc desc;
    struct fovea_mha_weights weights;
    struct fovea_mha_args args;
    struct fovea_kv_cache cache; // before the call
    size_t positions[BATCH_MAX];
    uint32_t live[HEADS_MAX];
    uint32_t starts[BATCH_MAX + 1];
};

// The first row of sequence b, of query and of key, and how many it has.
struct rows {
    size_t query, key, queries, keys;
};
static struct rows rows_of(const struct fovea_mha_args *a, size_t b)
{
    if (!a->starts)
        return (struct rows){b * a->q_len, b * a->kv_len, a->q_len, a->kv_len};
    const size_t first = a->starts[b], count = a->starts[b + 1] - first;
    return (struct rows){first, first, count, count};
}

// Keys of each sequence before its position, or all of those in the cache; NaN beyond.
static void draw_cache(struct problem *p)
{
    const struct fovea_mha_desc *const d = &p->desc;
    p->cache = test_cache(p->args.batch, d->kv_heads, d->kv_len, d->qk_dim, d->v_dim);
    for (size_t b = 0; b < p->cache.batch; b++)
        test_fill_cache(&p->cache, b, d->keys == FOVEA_MHA_APPEND ? p->positions[b] : p->args.kv_len, &rng);
}

static void draw_masks(struct problem *p)
{
    struct fovea_mha_desc *const d = &p->desc;
    struct fovea_mha_args *const a = &p->args;
    const size_t of_head = a->q_len * d->kv_len, all = a->batch * d->heads * of_head;
    if (maybe()) {
        d->mask = FOVEA_MASK_BYTES;
        d->mask_row = d->kv_len, d->mask_key = 1, d->mask_head = of_head, d->mask_batch = d->heads * of_head;
        uint8_t *const mask = test_memory(all, TEST_HIGH);
        for (size_t i = 0; i < all; i++)
            mask[i] = !maybe();
        a->mask = mask;
    }
    if (maybe()) {
        d->bias = 1;
        d->bias_row = d->kv_len, d->bias_key = 1, d->bias_head = of_head, d->bias_batch = d->heads * of_head;
        a->bias = some(all, 2);
    }
    if (maybe()) {
        d->kv_len_kind = maybe() ? FOVEA_KV_LEN_BATCH_ROW : FOVEA_KV_LEN_BATCH;
        const size_t count = a->batch * (d->kv_len_kind == FOVEA_KV_LEN_BATCH ? 1 : a->q_len);
        uint32_t *const lens = test_memory(count * sizeof *lens, TEST_HIGH);
        for (size_t i = 0; i < count; i++)
            lens[i] = test_below(&rng, (uint32_t)d->kv_len + 1);
        a->kv_lens = lens;
    }
}

// Makes a batch ragged, of sequences with no more rows than before.
static void draw_starts(struct problem *p)
{
    struct fovea_mha_desc *const d = &p->desc;
    struct fovea_mha_args *const a = &p->args;
    for (size_t b = 0; b < a->batch; b++)
        p->starts[b + 1] = p->starts[b] + (maybe() ? (uint32_t)a->q_len : test_below(&rng, (uint32_t)a->q_len + 1));
    a->starts = p->starts;
    d->rows = maybe() ? p->starts[a->batch] + test_below(&rng, 2) : 0;
    a->eval |= d->out_dropout != 0; // which numbers the rows of the call
    a->average_weights = a->dropped_weights = 0;
}

static void draw(struct problem *p, int number)
{
    static const size_t groups[][2] = {{1, 1}, {2, 1}, {3, 3}, {4, 2}, {6, 2}, {6, 3}};
    static const enum fovea_mha_keys keys[] = {FOVEA_MHA_APPEND, FOVEA_MHA_APPEND, FOVEA_MHA_APPEND, FOVEA_MHA_CACHED,
                                               FOVEA_MHA_PROJECT};
    struct fovea_mha_desc *const d = &p->desc;
    struct fovea_mha_args *const a = &p->args;
    fovea_mha_desc_init(d, sizeof *d);
    const size_t *const heads = groups[test_below(&rng, sizeof groups / sizeof *groups)];
    const size_t capacity = number % 16 == 0 ? 1025 + test_below(&rng, 1100) : 20 + test_below(&rng, 280);
    d->keys = keys[test_below(&rng, sizeof keys / sizeof *keys)];
    d->heads = heads[0], d->kv_heads = heads[1];
    d->qk_dim = 1 + test_below(&rng, 20), d->v_dim = 1 + test_below(&rng, 20);
    if (number % 64 == 1)
        d->qk_dim = d->v_dim = 512; // a few new keys are pieces of several tasks
    d->query_width = d->key_width = d->value_width = IN, d->out_width = OUT;
    *a = (struct fovea_mha_args){.batch = 1 + test_below(&rng, BATCH_MAX), .seed = 99, .site = 7};
    a->q_len = maybe() ? 1 : test_below(&rng, 24);
    a->kv_len = d->keys == FOVEA_MHA_CACHED || (d->keys == FOVEA_MHA_PROJECT && maybe())
                    ? 1 + test_below(&rng, (uint32_t)capacity)
                : maybe() ? test_below(&rng, 20)
                          : a->q_len % 20;
    d->batch = a->batch + test_below(&rng, 2), d->q_len = a->q_len + test_below(&rng, 9);
    const size_t new_len = a->kv_len + test_below(&rng, (uint32_t)(capacity - a->kv_len) + 1);
    d->new_len = d->keys == FOVEA_MHA_APPEND ? new_len : 0;
    d->kv_len = capacity;
    for (size_t b = 0; b < a->batch; b++)
        p->positions[b] = maybe() ? 0 : test_below(&rng, (uint32_t)(capacity - a->kv_len) + 1);
    a->positions = p->positions;
    d->scoring = maybe() ? FOVEA_SCORING_ADDITIVE : FOVEA_SCORING_DOT;
    d->softcap = maybe() ? 3.0f : 0;
    d->causal = test_below(&rng, 2);
    d->window_left = maybe() ? test_below(&rng, 100) : FOVEA_WINDOW_ALL;
    d->window_right = maybe() ? test_below(&rng, 100) : FOVEA_WINDOW_ALL;
    d->residual = maybe();
    d->dropout = maybe() ? 0.3f : 0, d->out_dropout = maybe() ? 0.2f : 0;
    d->need_weights = maybe();
    d->qk_norm = maybe();
    d->rotary_dim = maybe() ? d->qk_dim / 2 * 2 : maybe() ? d->qk_dim / 4 * 2 : 0;
    d->rotary_adjacent = maybe();
    if (d->rotary_dim) {
        d->rotary_positions = capacity + d->q_len;
        a->rotary_cos = some(d->rotary_positions * d->rotary_dim / 2, 1);
        a->rotary_sin = some(d->rotary_positions * d->rotary_dim / 2, 1);
    }
    for (uint32_t h = 0; h < d->heads; h++)
        if (!maybe())
            p->live[a->live_count++] = h;
    a->live_heads = maybe() ? p->live : NULL;
    a->live_count = a->live_heads ? a->live_count : 0;
    a->eval = maybe();
    a->average_weights = d->need_weights && maybe(), a->dropped_weights = d->need_weights && maybe();
    a->query = some(a->batch * a->q_len * IN, 1);
    a->key = some(a->batch * a->kv_len * IN, 1), a->value = some(a->batch * a->kv_len * IN, 1);
    a->residual = d->residual ? some(a->batch * a->q_len * OUT, 1) : NULL;
    p->weights = (struct fovea_mha_weights){.q = linear(IN, d->heads * d->qk_dim),
                                            .k = linear(IN, d->kv_heads * d->qk_dim),
                                            .v = linear(IN, d->kv_heads * d->v_dim),
                                            .o = linear(d->heads * d->v_dim, OUT)};
    p->weights.q_norm = d->qk_norm ? some(d->qk_dim, 1) : NULL;
    p->weights.k_norm = d->qk_norm ? some(d->qk_dim, 1) : NULL;
    a->weights = &p->weights;
    a->additive = d->scoring == FOVEA_SCORING_ADDITIVE ? some(d->heads * d->qk_dim, 1) : NULL;
    a->slopes = maybe() ? some(d->heads, 0.1f) : NULL;
    a->sinks = maybe() ? some(d->heads, 1) : NULL;
    draw_masks(p);
    const int way = number % 4; // a ragged call returns no weights
    if ((d->keys == FOVEA_MHA_CACHED || a->kv_len == a->q_len) && (d->need_weights ? way == 1 : way != 0))
        draw_starts(p);
    if (d->keys != FOVEA_MHA_PROJECT)
        draw_cache(p);
}

// The keys that rows of returned weights have.
static size_t keys_of(const struct problem *p, const struct fovea_mha_args *a)
{
    size_t past = a->position;
    for (size_t b = 0; a->positions && b < a->batch; b++)
        past = a->positions[b] > past ? a->positions[b] : past;
    return a->kv_len + (p->desc.keys == FOVEA_MHA_APPEND ? past : 0);
}

// What a call leaves.
struct result {
    float *out, *weights;
    struct fovea_kv_cache cache;
};

// A call for sequences from `first` of the problem on, with a cache or with pages of so many keys.
static struct result run(const struct problem *p, const struct fovea_mha_args *args, size_t first, uint32_t page_keys,
                         const struct fovea_engine *engine, enum test_way way)
{
    struct fovea_mha_desc d = p->desc;
    struct fovea_mha_args a = *args;
    struct test_pages pages;
    struct fovea_kv_cache view = {0};
    struct result r = {.out = test_floats(a.batch * a.q_len * OUT, TEST_HIGH)};
    if (p->desc.need_weights && !a.starts)
        r.weights = test_floats(a.batch * p->desc.heads * a.q_len * keys_of(p, &a), TEST_HIGH);
    if (p->desc.keys != FOVEA_MHA_PROJECT) {
        r.cache = test_copy_cache(&p->cache);
        view = test_view_cache(&r.cache, first), view.batch = a.batch;
        a.cache = &view;
    }
    if (page_keys != 0) {
        pages = test_in_pages(&view, page_keys);
        d.page_keys = page_keys;
        a.cache = NULL, a.pool = &pages.pool, a.pages = pages.table, a.pages_batch = pages.of_sequence;
    }
    a.out = r.out, a.attn_weights = r.weights;
    const enum fovea_status status = test_run(&test_mha, engine, &d, &a, way, first + 1);
    CHECK(!status, "mha: %s", fovea_status_string(status));
    if (page_keys != 0)
        test_move_keys(&view, &pages, true);
    return r;
}

// Sequence b in a batch of its own.
static struct fovea_mha_args alone(const struct problem *p, size_t b)
{
    const struct fovea_mha_desc *const d = &p->desc;
    struct fovea_mha_args a = p->args;
    const struct rows rows = rows_of(&a, b);
    a.batch = 1;
    a.position = a.positions[b], a.positions = NULL, a.starts = NULL;
    a.query += rows.query * IN, a.key += rows.key * IN, a.value += rows.key * IN;
    a.q_len = rows.queries, a.kv_len = d->keys == FOVEA_MHA_CACHED ? a.kv_len : rows.keys;
    a.residual = a.residual ? a.residual + rows.query * OUT : NULL;
    a.mask = a.mask ? a.mask + b * d->mask_batch : NULL;
    a.bias = a.bias ? a.bias + b * d->bias_batch : NULL;
    a.kv_lens = a.kv_lens ? a.kv_lens + (d->kv_len_kind == FOVEA_KV_LEN_BATCH ? b : rows.query) : NULL;
    return a;
}

// Sequence b under its number in the batch, which names what is dropped: at one position with the others, or without
// any of their rows.
static struct fovea_mha_args numbered(const struct problem *p, size_t b, uint32_t *starts)
{
    struct fovea_mha_args a = p->args;
    const struct rows rows = rows_of(&a, b);
    if (!a.starts) {
        a.position = a.positions[b], a.positions = NULL;
        return a;
    }
    for (size_t i = 0; i <= a.batch; i++)
        starts[i] = i > b ? (uint32_t)rows.queries : 0;
    a.starts = starts;
    a.query += rows.query * IN, a.key += rows.key * IN, a.value += rows.key * IN;
    a.residual = a.residual ? a.residual + rows.query * OUT : NULL;
    a.kv_lens = a.kv_lens && p->desc.kv_len_kind == FOVEA_KV_LEN_BATCH_ROW ? a.kv_lens + rows.query : a.kv_lens;
    return a;
}

// Sequence b of the call is number `of` of the reference's rows, of which those of weights have fewer keys or more.
static void compare_sequence(const struct problem *p, const struct result *got, size_t b, const struct result *expected,
                             const struct fovea_mha_args *reference, size_t of, int e, int draw)
{
    const struct fovea_mha_args *const a = &p->args;
    const struct rows rows = rows_of(a, b);
    const size_t maps = (a->average_weights ? 1 : p->desc.heads) * a->q_len;
    char what[40];
    snprintf(what, sizeof what, "%s, draw %d", test_isas[e], draw);
    CHECK_SAME(expected->out + of * a->q_len * OUT, got->out + rows.query * OUT, rows.queries * OUT, "%s", what);
    if (p->desc.keys == FOVEA_MHA_APPEND) {
        const struct fovea_kv_cache want = test_view_cache(&expected->cache, b), has = test_view_cache(&got->cache, b);
        test_same_caches(&want, &has, what);
    }
    const size_t all = keys_of(p, a), keys = keys_of(p, reference);
    for (size_t row = 0; row < maps && got->weights; row++) {
        const float *const w = got->weights + (b * maps + row) * all;
        CHECK_SAME(expected->weights + (of * maps + row) * keys, w, keys, "%s", what);
        for (size_t j = keys; j < all; j++)
            CHECK(w[j] == 0, "weight of key %zu beyond a sequence is %a", j, (double)w[j]);
    }
}

static void test_draw(int number)
{
    struct problem p = {0};
    draw(&p, number);
    const uint32_t page_keys = p.desc.keys == FOVEA_MHA_PROJECT || maybe() ? 0 : 16u << test_below(&rng, 5);
    const bool drops = (p.desc.dropout != 0 || p.desc.out_dropout != 0) && !p.args.eval;
    struct result expected[BATCH_MAX];
    struct fovea_mha_args reference[BATCH_MAX];
    uint32_t starts[BATCH_MAX][BATCH_MAX + 1];
    for (size_t b = 0; b < p.args.batch; b++) {
        reference[b] = drops ? numbered(&p, b, starts[b]) : alone(&p, b);
        expected[b] = run(&p, &reference[b], drops ? 0 : b, 0, engines[0], TEST_SERIAL);
    }
    for (int e = 0; e < TEST_ISAS; e++) {
        if (!engines[e])
            continue;
        const struct result got = run(&p, &p.args, 0, page_keys, engines[e], (enum test_way)((e + number) % TEST_WAYS));
        for (size_t b = 0; b < p.args.batch; b++)
            compare_sequence(&p, &got, b, &expected[b], &reference[b], drops && !p.args.starts ? b : 0, e, number);
    }
}

int main(void)
{
    const int draws = getenv("FOVEA_TEST_SMALL") != NULL ? 16 : 400;
    test_engines(engines);
    for (int i = 0; i < draws; i++) {
        test_draw(i);
        test_memory_reset();
    }
    test_engines_free(engines);
    return test_done();
}
