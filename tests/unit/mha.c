// SPDX-License-Identifier: Apache-2.0
// tests/unit/mha.c - multi-head attention with every option it hands on to attention, drawn at random: the bits are
// those of its operators called one after another, of weights that it returns, too.
#include "fovea/fovea.h"
#include "tests/support/engines.h"
#include "tests/support/keys.h"
#include "tests/support/memory.h"
#include "tests/support/operator.h"
#include "tests/support/test.h"
#include "tests/support/weights.h"

#include <stdbool.h>

enum { SITE = 12, HEADS_MAX = 6 };
static const uint64_t seed_of_run = 0xfedcba9876543210u;

static struct fovea_engine *engines[TEST_ISAS];
static uint64_t rng = 3;

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

// One drawn problem.
struct problem {
    struct fovea_mha_desc desc;
    struct fovea_mha_weights weights;
    struct fovea_mha_args args; // of the whole sequence, keys projected
    uint32_t live[HEADS_MAX];
};

static void draw(struct problem *p)
{
    static const size_t groups[][2] = {{1, 1}, {2, 1}, {3, 3}, {4, 2}, {6, 2}, {6, 3}, {6, 0}};
    struct fovea_mha_desc *const d = &p->desc;
    fovea_mha_desc_init(d, sizeof *d);
    const size_t *const heads = groups[test_below(&rng, sizeof groups / sizeof *groups)];
    d->heads = heads[0], d->kv_heads = heads[1];
    d->batch = 1 + test_below(&rng, 3);
    d->q_len = 1 + test_below(&rng, 40), d->kv_len = 1 + test_below(&rng, 300);
    d->qk_dim = 1 + test_below(&rng, 20), d->v_dim = 1 + test_below(&rng, 20);
    d->query_width = 24, d->key_width = 17, d->value_width = 31, d->out_width = 19;
    d->scoring = maybe() ? FOVEA_SCORING_ADDITIVE : FOVEA_SCORING_DOT;
    d->scale = d->scoring == FOVEA_SCORING_DOT && maybe() ? 0.4f : FOVEA_SCALE_DEFAULT;
    d->softcap = maybe() ? 3.0f : 0;
    d->causal = maybe();
    d->window_left = maybe() ? test_below(&rng, 200) : FOVEA_WINDOW_ALL;
    d->window_right = maybe() ? test_below(&rng, 200) : FOVEA_WINDOW_ALL;
    d->residual = maybe();
    d->dropout = maybe() ? 0.3f : 0;
    d->need_weights = !maybe();
    d->qk_norm = maybe();
    d->qk_norm_eps = maybe() ? 0.01f : d->qk_norm_eps;
    d->rotary_dim = maybe() ? d->qk_dim / 2 * 2 : maybe() ? d->qk_dim / 4 * 2 : 0;
    d->rotary_adjacent = maybe();
    struct fovea_mha_args *const a = &p->args;
    *a = (struct fovea_mha_args){.batch = d->batch, .q_len = d->q_len, .kv_len = d->kv_len, .seed = seed_of_run};
    a->site = SITE;
    a->position = maybe() ? test_below(&rng, 300) : maybe() ? test_below(&rng, (uint32_t)d->kv_len) : 0;
    if (maybe()) {
        d->mask = FOVEA_MASK_BYTES;
        const size_t of_head = d->q_len * d->kv_len, all = d->batch * d->heads * of_head;
        d->mask_row = d->kv_len, d->mask_key = 1;
        d->mask_head = maybe() ? of_head : 0;
        d->mask_batch = maybe() ? d->heads * of_head : 0;
        uint8_t *const mask = test_memory(all, TEST_HIGH);
        for (size_t i = 0; i < all; i++)
            mask[i] = !maybe();
        a->mask = mask;
    }
    if (maybe()) {
        d->bias = 1;
        d->bias_head = d->q_len * d->kv_len, d->bias_row = d->kv_len, d->bias_key = 1;
        d->bias_batch = maybe() ? d->heads * d->bias_head : 0;
        a->bias = some(d->batch * d->heads * d->bias_head, 2);
    }
    if (maybe()) {
        d->kv_len_kind = maybe() ? FOVEA_KV_LEN_BATCH_ROW : FOVEA_KV_LEN_BATCH;
        const size_t count = d->kv_len_kind == FOVEA_KV_LEN_BATCH ? d->batch : d->batch * d->q_len;
        uint32_t *const lens = test_memory(count * sizeof *lens, TEST_HIGH);
        for (size_t b = 0; b < count; b++)
            lens[b] = test_below(&rng, (uint32_t)d->kv_len + 1);
        a->kv_lens = lens;
    }
    if (maybe()) {
        for (uint32_t h = 0; h < d->heads; h++)
            if (maybe())
                p->live[a->live_count++] = h;
        a->live_heads = p->live;
    }
    if (d->rotary_dim) {
        d->rotary_positions = 400;
        a->rotary_cos = some(d->rotary_positions * d->rotary_dim / 2, 1);
        a->rotary_sin = some(d->rotary_positions * d->rotary_dim / 2, 1);
    }
    a->eval = maybe();
    a->average_weights = maybe();
    a->dropped_weights = maybe();
    a->query = some(d->batch * d->q_len * d->query_width, 1);
    a->key = some(d->batch * d->kv_len * d->key_width, 1);
    a->value = some(d->batch * d->kv_len * d->value_width, 1);
    a->residual = d->residual ? some(d->batch * d->q_len * d->out_width, 1) : NULL;
    const size_t kv_heads = d->kv_heads ? d->kv_heads : d->heads;
    p->weights = (struct fovea_mha_weights){.q = linear(d->query_width, d->heads * d->qk_dim),
                                            .k = linear(d->key_width, kv_heads * d->qk_dim),
                                            .v = linear(d->value_width, kv_heads * d->v_dim),
                                            .o = linear(d->heads * d->v_dim, d->out_width)};
    p->weights.q_norm = d->qk_norm && !maybe() ? some(d->qk_dim, 1) : NULL;
    p->weights.k_norm = d->qk_norm && !maybe() ? some(d->qk_dim, 1) : NULL;
    a->additive = d->scoring == FOVEA_SCORING_ADDITIVE ? some(d->heads * d->qk_dim, 1) : NULL;
    a->slopes = maybe() ? some(d->heads, 0.1f) : NULL;
    a->sinks = maybe() ? some(d->heads, 1) : NULL;
    a->weights = &p->weights;
}

static float *product(const struct fovea_linear *l, const float *x, size_t rows, size_t inputs, size_t outputs,
                      const float *residual)
{
    struct fovea_gemm_desc d = FOVEA_GEMM_DESC_INIT;
    d.b_packed = 1;
    d.m = rows, d.k = d.lda = inputs, d.n = d.ldc = d.ldr = outputs;
    d.residual = residual != NULL;
    float *const y = test_floats(rows * outputs, TEST_HIGH);
    const struct fovea_gemm_args a = {.a = x, .b = l->weight, .c = y, .bias = l->bias, .residual = residual, .m = rows};
    CHECK(!fovea_gemm_once(engines[0], &d, &a), "product");
    return y;
}

// Norms so many heads that were projected, each by itself, where there are norms.
static void normed(const struct problem *p, float *x, size_t heads, const float *gamma)
{
    const struct fovea_mha_desc *const m = &p->desc;
    struct fovea_rowwise_desc d = FOVEA_ROWWISE_DESC_INIT;
    d.op = FOVEA_ROWWISE_RMSNORM;
    d.rows = heads, d.cols = d.ldx = d.ldy = m->qk_dim;
    d.eps = m->qk_norm_eps;
    const struct fovea_rowwise_args a = {.x = x, .gamma = gamma, .y = x, .rows = heads};
    CHECK(!m->qk_norm || !fovea_rowwise_once(engines[0], &d, &a), "norm");
}

// What is projected for some heads, turned by rotary positions where there are some: each sequence from `position` on.
static float *turned(const struct problem *p, float *x, size_t heads, size_t len, size_t position)
{
    const struct fovea_mha_desc *const m = &p->desc;
    struct fovea_rowwise_desc d = FOVEA_ROWWISE_DESC_INIT;
    d.op = FOVEA_ROWWISE_ROTARY;
    d.rows = len, d.heads = heads, d.cols = d.ldx = d.ldy = heads * m->qk_dim;
    d.rotary_dim = m->rotary_dim, d.rotary_adjacent = m->rotary_adjacent, d.rotary_positions = m->rotary_positions;
    for (size_t b = 0; b < m->batch && m->rotary_dim; b++) {
        float *const rows = x + b * len * d.cols;
        const struct fovea_rowwise_args a = {.x = rows,
                                             .y = rows,
                                             .rows = len,
                                             .cos = p->args.rotary_cos,
                                             .sin = p->args.rotary_sin,
                                             .position = position,
                                             .len = len};
        CHECK(!fovea_rowwise_once(engines[0], &d, &a), "rotary");
    }
    return x;
}

static struct fovea_strides projected(size_t heads, size_t len, size_t dim)
{
    return (struct fovea_strides){len * heads * dim, dim, heads * dim};
}

// What a problem gives, operator by operator; and its weights.
static float *from_operators(const struct problem *p, float *attn_weights)
{
    const struct fovea_mha_desc *const m = &p->desc;
    const struct fovea_mha_args *const call = &p->args;
    const size_t kv_heads = m->kv_heads ? m->kv_heads : m->heads, q_rows = m->batch * m->q_len;
    const size_t kv_rows = m->batch * m->kv_len, qk = kv_heads * m->qk_dim, v = kv_heads * m->v_dim;
    struct fovea_attention_desc d;
    fovea_attention_desc_init(&d, sizeof d);
    d.batch = m->batch, d.heads = m->heads, d.kv_heads = kv_heads;
    d.q_len = m->q_len, d.kv_len = m->kv_len, d.qk_dim = m->qk_dim, d.v_dim = m->v_dim;
    d.scoring = m->scoring, d.scale = m->scale, d.softcap = m->softcap, d.causal = m->causal, d.dropout = m->dropout;
    d.window_left = m->window_left, d.window_right = m->window_right, d.kv_len_kind = m->kv_len_kind;
    d.mask = m->mask, d.mask_row = m->mask_row, d.mask_key = m->mask_key;
    d.mask_batch = m->mask_batch, d.mask_head = m->mask_head, d.bias_batch = m->bias_batch;
    d.bias = m->bias, d.bias_head = m->bias_head, d.bias_row = m->bias_row, d.bias_key = m->bias_key;
    d.q = projected(m->heads, m->q_len, m->qk_dim), d.out = projected(m->heads, m->q_len, m->v_dim);
    d.k = projected(kv_heads, m->kv_len, m->qk_dim), d.v = projected(kv_heads, m->kv_len, m->v_dim);
    float *const o = test_floats(q_rows * m->heads * m->v_dim, TEST_HIGH);
    float *const queries = product(&p->weights.q, call->query, q_rows, m->query_width, m->heads * m->qk_dim, NULL);
    float *const key_rows = product(&p->weights.k, call->key, kv_rows, m->key_width, qk, NULL);
    normed(p, queries, q_rows * m->heads, p->weights.q_norm);
    normed(p, key_rows, kv_rows * kv_heads, p->weights.k_norm);
    const struct fovea_attention_args a = {.q = turned(p, queries, m->heads, m->q_len, call->position),
                                           .k = turned(p, key_rows, kv_heads, m->kv_len, 0),
                                           .v = product(&p->weights.v, call->value, kv_rows, m->value_width, v, NULL),
                                           .out = o,
                                           .lse = test_floats(q_rows * m->heads, TEST_HIGH),
                                           .batch = m->batch,
                                           .q_len = m->q_len,
                                           .kv_len = m->kv_len,
                                           .q_offset = (int64_t)call->position,
                                           .kv_lens = call->kv_lens,
                                           .mask = call->mask,
                                           .bias = call->bias,
                                           .additive = call->additive,
                                           .slopes = call->slopes,
                                           .sinks = call->sinks,
                                           .live_heads = call->live_heads,
                                           .live_count = call->live_count,
                                           .seed = call->seed + call->site,
                                           .eval = call->eval};
    CHECK(!fovea_attention_once(engines[0], &d, &a), "attention");
    if (attn_weights) {
        const struct test_session s = test_plan(&test_attention, engines[0], &d, 1);
        const size_t of_head = m->q_len * m->kv_len;
        const struct fovea_attention_weights_args w = {
            .call = &a,
            .weights = attn_weights,
            .average = call->average_weights,
            .dropped = call->dropped_weights,
            .strides = {call->average_weights ? of_head : m->heads * of_head, of_head, m->kv_len}};
        CHECK(!fovea_attention_weights(s.plan, &w, s.scratch, NULL), "weights");
    }
    return product(&p->weights.o, o, q_rows, m->heads * m->v_dim, m->out_width, call->residual);
}

// The same keys, put into a cache of a plan by a call without queries.
static void fill_cache(const struct fovea_engine *engine, const struct problem *p, const struct fovea_mha_desc *m,
                       struct fovea_kv_cache *cache)
{
    *cache = test_cache(m->batch, m->kv_heads ? m->kv_heads : m->heads, m->kv_len, m->qk_dim, m->v_dim);
    struct fovea_mha_desc d = *m;
    d.keys = FOVEA_MHA_APPEND, d.q_len = 0, d.new_len = m->kv_len;
    struct fovea_mha_args a = p->args;
    a.cache = cache, a.q_len = 0, a.position = 0, a.residual = NULL, a.average_weights = a.dropped_weights = 0;
    CHECK(!test_run(&test_mha, engine, &d, &a, TEST_SERIAL, 1), "fill");
}

// The keys of each sequence from `from` on.
static const float *later(const float *x, size_t batch, size_t len, size_t from, size_t to, size_t width)
{
    float *const part = test_floats(batch * (to - from) * width, TEST_HIGH);
    for (size_t b = 0; b < batch; b++)
        memcpy(part + b * (to - from) * width, x + (b * len + from) * width, (to - from) * width * sizeof *part);
    return part;
}

enum way_of_keys { PROJECTED, CACHED, APPENDED, KEY_WAYS };
static const char *const key_ways[KEY_WAYS] = {"mha", "mha of a cache", "mha that appends"};

// The call with its keys in a cache: all of them, or those before its position, the others being appended.
static void put_into_cache(const struct fovea_engine *engine, const struct problem *p, enum way_of_keys way,
                           struct fovea_mha_desc *d, struct fovea_mha_args *a, struct fovea_kv_cache *cache)
{
    const size_t all = a->kv_len, before = way == CACHED ? all : a->position;
    struct problem filled = *p;
    filled.args.key = later(a->key, a->batch, all, 0, before, d->key_width);
    filled.args.value = later(a->value, a->batch, all, 0, before, d->value_width);
    filled.args.kv_len = before;
    fill_cache(engine, &filled, d, cache);
    a->cache = cache;
    d->keys = way == CACHED ? FOVEA_MHA_CACHED : FOVEA_MHA_APPEND;
    d->new_len = all - before;
    a->key = way == CACHED ? NULL : later(a->key, a->batch, all, before, all, d->key_width);
    a->value = way == CACHED ? NULL : later(a->value, a->batch, all, before, all, d->value_width);
    a->kv_len = way == CACHED ? all : all - before;
}

static void test_draw(int number)
{
    struct problem p = {0};
    draw(&p);
    const struct fovea_mha_desc *const m = &p.desc;
    const size_t n = m->batch * m->q_len * m->out_width;
    const size_t maps = m->batch * (p.args.average_weights ? 1 : m->heads) * m->q_len * m->kv_len;
    float *const weights = m->need_weights ? test_floats(maps, TEST_HIGH) : NULL;
    const float *const expected = from_operators(&p, weights);
    for (int e = 0; e < TEST_ISAS; e++)
        for (int way = PROJECTED; way < KEY_WAYS && engines[e]; way++) {
            struct fovea_mha_desc d = p.desc;
            struct fovea_mha_args a = p.args;
            struct fovea_kv_cache cache = {0};
            if (way == APPENDED && a.position >= a.kv_len)
                continue;
            d.batch += number % 2; // of a plan for more
            d.q_len += number % 5 * 4;
            d.kv_len += number % 3 * 30;
            if (way != PROJECTED)
                put_into_cache(engines[e], &p, (enum way_of_keys)way, &d, &a, &cache);
            a.out = test_floats(n, TEST_HIGH);
            a.attn_weights = m->need_weights && !(number % 8 == 7) ? test_floats(maps, TEST_HIGH) : NULL;
            a.average_weights = a.attn_weights && a.average_weights,
            a.dropped_weights = a.attn_weights && a.dropped_weights;
            CHECK(!test_run(&test_mha, engines[e], &d, &a, (enum test_way)((e + number) % TEST_WAYS), 3), "mha");
            CHECK_SAME(expected, a.out, n, "%s, %s, draw %d", key_ways[way], test_isas[e], number);
            if (a.attn_weights)
                CHECK_SAME(weights, a.attn_weights, maps, "%s, %s, draw %d", key_ways[way], test_isas[e], number);
        }
}

// A head that is pruned is as one whose columns of W_o are zeros.
static void test_pruned(void)
{
    struct problem p = {0};
    do {
        test_memory_reset();
        draw(&p);
    } while (p.desc.heads != 4);
    const struct fovea_mha_desc *const m = &p.desc;
    static const uint32_t live[] = {1, 2};
    struct fovea_mha_args a = p.args;
    a.live_heads = live, a.live_count = 2;
    a.average_weights = a.dropped_weights = 0;
    const size_t rows = m->heads * m->v_dim, n = m->batch * m->q_len * m->out_width;
    float *const w = some(rows * m->out_width, 1);
    float *const outs[2] = {test_floats(n, TEST_HIGH), test_floats(n, TEST_HIGH)};
    for (int zeroed = 0; zeroed <= 1; zeroed++) {
        for (size_t i = 0; zeroed && i < rows * m->out_width; i++) // rows of W_o^T are those of the heads
            w[i] = i / m->out_width / m->v_dim == 1 || i / m->out_width / m->v_dim == 2 ? w[i] : 0;
        p.weights.o.weight = test_pack(engines[0], FOVEA_NO_TRANS, rows, m->out_width, w, m->out_width);
        a.out = outs[zeroed];
        a.live_heads = zeroed ? NULL : live, a.live_count = zeroed ? 0 : 2;
        CHECK(!test_run(&test_mha, engines[0], m, &a, TEST_SERIAL, 1), "mha");
    }
    CHECK_SAME(outs[1], outs[0], n, "pruned");
}

static void test_refused(void)
{
    struct problem p = {0};
    do {
        test_memory_reset();
        draw(&p);
    } while (p.desc.heads != 4 || p.desc.scoring == FOVEA_SCORING_ADDITIVE);
    p.desc.need_weights = 0, p.args.average_weights = p.args.dropped_weights = 0;
    p.args.out = test_floats(p.desc.batch * p.desc.q_len * p.desc.out_width, TEST_HIGH);
    float map[1];
    static const uint32_t twice[] = {1, 1}, none[] = {4};
    const struct {
        const char *what;
        enum fovea_status status;
        size_t kv_heads;
        const float *additive;
        float *attn_weights;
        const uint32_t *live;
        size_t live_count;
    } wrong[] = {{"three key heads", FOVEA_ERR_SHAPE, 3, NULL, NULL, NULL, 0},
                 {"additive", FOVEA_ERR_VALUE, 2, map, NULL, NULL, 0},
                 {"weights", FOVEA_ERR_VALUE, 2, NULL, map, NULL, 0},
                 {"a head twice", FOVEA_ERR_VALUE, 2, NULL, NULL, twice, 2},
                 {"no such head", FOVEA_ERR_SHAPE, 2, NULL, NULL, none, 1},
                 {"no list", FOVEA_ERR_NULL, 2, NULL, NULL, NULL, 1}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct fovea_mha_desc d = p.desc;
        struct fovea_mha_args a = p.args;
        d.kv_heads = wrong[i].kv_heads;
        a.additive = wrong[i].additive;
        a.attn_weights = wrong[i].attn_weights;
        a.live_heads = wrong[i].live, a.live_count = wrong[i].live_count;
        CHECK(test_run(&test_mha, engines[0], &d, &a, TEST_SERIAL, 1) == wrong[i].status, "%s", wrong[i].what);
    }
    struct fovea_mha_desc d = p.desc;
    struct fovea_mha_args args = p.args;
    args.average_weights = 2;
    CHECK(test_run(&test_mha, engines[0], &d, &args, TEST_SERIAL, 1) == FOVEA_ERR_ENUM, "average_weights");
    args.average_weights = 0, args.dropped_weights = 2;
    CHECK(test_run(&test_mha, engines[0], &d, &args, TEST_SERIAL, 1) == FOVEA_ERR_ENUM, "dropped_weights");
    d.need_weights = 2;
    CHECK(test_run(&test_mha, engines[0], &d, &p.args, TEST_SERIAL, 1) == FOVEA_ERR_ENUM, "need_weights");
    d.need_weights = 0, d.rotary_adjacent = 2;
    CHECK(test_run(&test_mha, engines[0], &d, &p.args, TEST_SERIAL, 1) == FOVEA_ERR_ENUM, "rotary_adjacent");
    d.rotary_adjacent = 0, d.qk_dim = 2, d.rotary_dim = 4;
    CHECK(test_run(&test_mha, engines[0], &d, &p.args, TEST_SERIAL, 1) == FOVEA_ERR_SHAPE, "rotary_dim");
}

int main(void)
{
    const int draws = getenv("FOVEA_TEST_SMALL") != NULL ? 12 : 200;
    test_engines(engines);
    for (int i = 0; i < draws; i++) {
        test_draw(i);
        test_memory_reset();
    }
    test_pruned();
    test_refused();
    test_memory_reset();
    test_engines_free(engines);
    return test_done();
}
