// SPDX-License-Identifier: Apache-2.0
// tests/unit/kv_types.c - multi-head attention and layers whose caches and pages have 16-bit elements: the bits of a
// cache of f32 with the same numbers, on every ISA, for prompts, pieces of prompts and single tokens.
#include "tests/unit/layer_cases.h"

enum { B = 3, QK = 70, V = 40, ROTARY = 20 };

static int ways = 1; ///< every so many of the ways to run is tried

static const char *const type_names[] = {[FOVEA_F32] = "f32", [FOVEA_BF16] = "bf16", [FOVEA_F16] = "f16"};

// A call of multi-head attention for sequences with keys before them, their rows one behind the other. If all have as
// many rows, it returns the weights of keys, too.
struct call {
    struct fovea_mha_desc desc;
    struct fovea_mha_weights weights;
    struct fovea_mha_args args;
    size_t positions[B], rows, keys, returned;
    uint32_t starts[B + 1];
};

static void draw_call(const size_t *lens, const size_t *positions, bool rotary, struct call *c)
{
    memset(c, 0, sizeof *c);
    struct fovea_mha_desc *const d = &c->desc;
    fovea_mha_desc_init(d, sizeof *d);
    d->keys = FOVEA_MHA_APPEND;
    d->batch = B, d->heads = HEADS, d->kv_heads = KV_HEADS, d->qk_dim = QK, d->v_dim = V;
    d->q_len = d->new_len = d->kv_len = CAPACITY;
    d->query_width = d->key_width = d->value_width = d->out_width = WIDTH;
    d->causal = 1;
    d->rotary_dim = rotary ? ROTARY : 0, d->rotary_positions = rotary ? CAPACITY : 0;
    d->qk_norm = rotary;
    c->weights = (struct fovea_mha_weights){.q = linear(WIDTH, HEADS * QK),
                                            .k = linear(WIDTH, KV_HEADS * QK),
                                            .v = linear(WIDTH, KV_HEADS * V),
                                            .o = linear(HEADS * V, WIDTH),
                                            .q_norm = rotary ? some(QK, 1) : NULL,
                                            .k_norm = rotary ? some(QK, 1) : NULL};
    for (size_t b = 0; b < B; b++) {
        c->positions[b] = positions[b];
        c->starts[b + 1] = c->starts[b] + (uint32_t)lens[b];
        c->args.q_len = lens[b] > c->args.q_len ? lens[b] : c->args.q_len;
        c->keys = positions[b] + lens[b] > c->keys ? positions[b] + lens[b] : c->keys;
    }
    c->rows = d->rows = c->starts[B];
    c->args.weights = &c->weights, c->args.batch = B, c->args.kv_len = c->args.q_len;
    d->need_weights = c->rows == B * c->args.q_len;
    c->returned = d->need_weights ? HEADS * c->rows * c->keys : 0;
    c->args.starts = d->need_weights ? NULL : c->starts, c->args.positions = c->positions;
    c->args.query = c->args.key = c->args.value = some(c->rows * WIDTH, 1);
    if (rotary)
        c->args.rotary_cos = some(CAPACITY * ROTARY / 2, 1), c->args.rotary_sin = some(CAPACITY * ROTARY / 2, 1);
}

// The same queries over keys that are there already, as f32.
static void reference(const struct call *c, const struct fovea_kv_cache *cache, float *out, float *weights)
{
    const struct fovea_kv_cache wide = test_widen_cache(cache);
    struct fovea_mha_desc d = c->desc;
    struct fovea_mha_args a = c->args;
    d.keys = FOVEA_MHA_CACHED, d.new_len = 0, d.kv_type = FOVEA_F32, d.page_keys = 0;
    a.key = a.value = NULL, a.kv_len = c->keys, a.cache = &wide, a.out = out, a.attn_weights = weights;
    CHECK(!test_run(&test_mha, engines[0], &d, &a, TEST_SERIAL, 1), "over keys of f32");
}

// The empty places of the cache are NaN; so is what no page has. All ways on all ISAs append what the first one did, so
// one reference is enough.
static void test_call(enum fovea_type type, uint32_t page_keys, const size_t *lens, bool rotary)
{
    static const size_t positions[B] = {0, 129, 17};
    struct call c;
    draw_call(lens, positions, rotary, &c);
    const struct fovea_kv_cache before = test_typed_cache(type, B, KV_HEADS, CAPACITY, QK, V);
    for (size_t b = 0; b < B; b++)
        test_fill_cache(&before, b, positions[b], &rng);
    c.desc.kv_type = type, c.desc.page_keys = page_keys;
    struct fovea_kv_cache appended = {0};
    float *const want = test_floats(c.rows * WIDTH, TEST_HIGH);
    float *const want_returned = c.returned != 0 ? test_floats(c.returned, TEST_HIGH) : NULL;
    for (int e = 0; e < TEST_ISAS; e++)
        for (int way = 0; way < TEST_WAYS && engines[e]; way += ways) {
            const struct fovea_kv_cache cache = test_copy_cache(&before);
            struct test_pages pages;
            struct fovea_mha_args a = c.args;
            float *const out = test_floats(c.rows * WIDTH, TEST_HIGH);
            float *const returned = c.returned != 0 ? test_floats(c.returned, TEST_HIGH) : NULL;
            char what[120];
            snprintf(what, sizeof what, "%s %s, %s, pages of %u, %zu rows", test_isas[e], test_way_names[way],
                     type_names[type], (unsigned)page_keys, c.rows);
            a.out = out, a.attn_weights = returned;
            if (page_keys != 0) {
                pages = test_in_pages(&cache, page_keys);
                a.pool = &pages.pool, a.pages = pages.table, a.pages_batch = pages.of_sequence;
            } else {
                a.cache = &cache;
            }
            const enum fovea_status status = test_run(&test_mha, engines[e], &c.desc, &a, (enum test_way)way, 1);
            CHECK(!status, "%s: %s", what, fovea_status_string(status));
            if (page_keys != 0)
                test_move_keys(&cache, &pages, true);
            if (appended.k == NULL) {
                appended = test_copy_cache(&cache);
                reference(&c, &appended, want, want_returned);
            }
            test_same_caches(&appended, &cache, what);
            CHECK_SAME(want, out, c.rows * WIDTH, "%s", what);
            CHECK_SAME(want_returned, returned, c.returned, "weights of %s", what);
        }
    test_memory_reset();
}

// A sequence token by token, and at once: the same rows and the same cache.
static void test_steps(enum fovea_type type)
{
    static const size_t lens[B] = {CAPACITY, 0, 0}, positions[B] = {0, 0, 0};
    struct call c;
    draw_call(lens, positions, true, &c);
    c.desc.batch = 1, c.desc.kv_type = type;
    struct fovea_mha_args at_once = c.args;
    at_once.batch = 1, at_once.starts = NULL, at_once.positions = NULL;
    const struct fovea_kv_cache all = test_typed_cache(type, 1, KV_HEADS, CAPACITY, QK, V);
    float *const want = test_floats(CAPACITY * WIDTH, TEST_HIGH), *const got = test_floats(CAPACITY * WIDTH, TEST_HIGH);
    at_once.cache = &all, at_once.out = want;
    CHECK(!test_run(&test_mha, engines[0], &c.desc, &at_once, TEST_SERIAL, 1), "at once");
    for (int e = 0; e < TEST_ISAS; e++) {
        const struct fovea_kv_cache steps = test_typed_cache(type, 1, KV_HEADS, CAPACITY, QK, V);
        struct fovea_mha_args a = at_once;
        a.cache = &steps, a.q_len = a.kv_len = 1;
        if (engines[e] == NULL)
            continue;
        const struct test_session s = test_plan(&test_mha, engines[e], &c.desc, 1);
        for (; a.position < CAPACITY; a.position++) {
            a.query = a.key = a.value = at_once.query + a.position * WIDTH;
            a.out = got + a.position * WIDTH;
            CHECK(!fovea_mha(s.plan, &a, s.shared, s.scratch, NULL), "token %zu", a.position);
        }
        CHECK_SAME(want, got, CAPACITY * WIDTH, "%s, %s, token by token", test_isas[e], type_names[type]);
        test_same_caches(&all, &steps, "token by token");
    }
    test_memory_reset();
}

// A Linear of small integers: of small integers it makes some below 2^8, which every type has.
static struct fovea_linear integers(size_t inputs, size_t outputs)
{
    float *const w = test_floats(inputs * outputs, TEST_HIGH);
    for (size_t i = 0; i < inputs * outputs; i++)
        w[i] = (float)test_below(&rng, 3) - 1;
    return (struct fovea_linear){test_packed(engines[0], w, inputs, outputs), NULL};
}

// A layer whose keys and values of x are such integers has the bits of one with caches of f32: nothing is rounded. What
// a decoder's cross_cache holds was rounded before.
static void test_layers(enum fovea_type type, bool decoder, bool pages)
{
    static const size_t positions[B + 1] = {0, 140, 33, 7}, lens[B + 1] = {9, 9, 9, 9};
    enum { SEQUENCES = B + 1, LEN = 10 };
    struct fovea_layer_desc d;
    struct fovea_layer_weights w;
    draw(SEQUENCES, decoder, FOVEA_NORM_POST, false, &d, &w);
    w.self_attention.k = integers(WIDTH, KV_HEADS * D), w.self_attention.v = integers(WIDTH, KV_HEADS * DV);
    float *const x = test_floats(SEQUENCES * LEN * WIDTH, TEST_HIGH);
    for (size_t i = 0; i < SEQUENCES * LEN * WIDTH; i++)
        x[i] = (float)test_below(&rng, 15) - 7;
    const struct fovea_kv_cache self = test_typed_cache(type, SEQUENCES, KV_HEADS, CAPACITY, D, DV),
                                cross = test_typed_cache(type, SEQUENCES / d.beams, KV_HEADS, MEMORY, D, DV);
    for (size_t b = 0; b < SEQUENCES; b++)
        test_fill_cache(&self, b, positions[b], &rng);
    for (size_t b = 0; b < SEQUENCES / d.beams; b++)
        test_fill_cache(&cross, b, lens[b], &rng);
    const struct fovea_kv_cache wide = test_widen_cache(&self), wide_cross = test_widen_cache(&cross);
    float *const want = test_floats(SEQUENCES * LEN * WIDTH, TEST_HIGH);
    struct fovea_layer_args a = {.weights = &w, .x = x, .y = want, .batch = SEQUENCES, .len = LEN, .beams = d.beams};
    a.positions = positions, a.memory_len = decoder ? MEMORY : 0;
    a.self_cache = &wide, a.cross_cache = decoder ? &wide_cross : NULL;
    CHECK(!test_run(&test_layer, engines[0], &d, &a, TEST_SERIAL, 1), "over keys of f32");
    d.kv_type = type, d.page_keys = pages ? 32 : 0;
    a.cross_cache = decoder ? &cross : NULL;
    for (int e = 0; e < TEST_ISAS; e++)
        for (int way = 0; way < TEST_WAYS && engines[e]; way += ways) {
            const struct fovea_kv_cache cache = test_copy_cache(&self);
            float *const y = test_floats(SEQUENCES * LEN * WIDTH, TEST_HIGH);
            struct test_pages in_pages;
            a.y = y, a.self_cache = pages ? NULL : &cache;
            if (pages) {
                in_pages = test_in_pages(&cache, 32);
                a.self_pool = &in_pages.pool, a.pages = in_pages.table, a.pages_batch = in_pages.of_sequence;
            }
            CHECK(!test_run(&test_layer, engines[e], &d, &a, (enum test_way)way, 1), "%s", test_isas[e]);
            if (pages)
                test_move_keys(&cache, &in_pages, true);
            CHECK_SAME(want, y, SEQUENCES * LEN * WIDTH, "%s, %s, %s", test_isas[e], type_names[type],
                       decoder ? "decoder" : "causal");
            const struct fovea_kv_cache now = test_widen_cache(&cache);
            test_same_caches(&wide, &now, type_names[type]);
        }
    test_memory_reset();
}

#define REFUSED(op, desc, status, line)                                                                                \
    CHECK(fovea_explain_##op(engines[0], &(desc), text, sizeof text) == (status) && strstr(text, line), "%s", text)

/// Types that do not exist, and types of caches that there are not.
static void test_refused(void)
{
    static const size_t lens[B] = {1, 1, 1}, positions[B] = {0, 0, 0};
    char text[FOVEA_EXPLAIN_BYTES] = "";
    struct call c;
    draw_call(lens, positions, false, &c);
    c.desc.kv_type = (enum fovea_type)3;
    REFUSED(mha, c.desc, FOVEA_ERR_ENUM, "mha: kv_type is 3, not within 0 to 2");
    c.desc.kv_type = FOVEA_BF16, c.desc.keys = FOVEA_MHA_PROJECT;
    REFUSED(mha, c.desc, FOVEA_ERR_VALUE, "mha: kv_type is bf16, but keys are projected, not in a cache");
    struct fovea_layer_desc d;
    struct fovea_layer_weights w;
    draw(2, false, FOVEA_NORM_PRE, false, &d, &w);
    d.kv_type = (enum fovea_type)3;
    REFUSED(layer, d, FOVEA_ERR_ENUM, "layer: kv_type is 3, not within 0 to 2");
    d.kv_type = FOVEA_F16, d.cached = 0;
    REFUSED(layer, d, FOVEA_ERR_VALUE, "layer: kv_type is f16, but the layer is not cached");

    c.desc.keys = FOVEA_MHA_APPEND;
    const struct fovea_kv_cache cache = test_cache(B, KV_HEADS, CAPACITY, QK, V);
    c.args.cache = &cache, c.args.out = test_floats(c.rows * WIDTH, TEST_HIGH);
    const enum fovea_status status = test_run(&test_mha, engines[0], &c.desc, &c.args, TEST_SERIAL, 1);
    CHECK(status == FOVEA_ERR_FORMAT, "a cache of f32: %s", fovea_status_string(status));
    test_memory_reset();
}

int main(void)
{
    static const size_t lens[][B] = {{140, 1, 5}, {1, 1, 1}, {37, 21, 30}, {0, 21, 1}, {9, 9, 9}};
    static const uint32_t pages[4] = {0, 16, 64, 256};
    const bool small = getenv("FOVEA_TEST_SMALL") != NULL;
    ways = small ? TEST_WAYS - 1 : 1;
    test_engines(engines);
    for (int type = FOVEA_BF16; type <= FOVEA_F16; type++) {
        for (size_t i = 0; i < 4 * sizeof lens / sizeof *lens; i += small ? 7 : 1)
            test_call((enum fovea_type)type, pages[i % 4], lens[i / 4], (i / 4 + i) % 2 != 0);
        if (!small || type == FOVEA_F16)
            test_steps((enum fovea_type)type);
        for (int i = 0; i < 4; i += small ? 3 : 1)
            test_layers((enum fovea_type)type, i & 1, i & 2);
    }
    test_refused();
    test_engines_free(engines);
    return test_done();
}
