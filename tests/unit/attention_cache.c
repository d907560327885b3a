// SPDX-License-Identifier: Apache-2.0
// tests/unit/attention_cache.c - the same bits however a sequence is computed: K in a cache or in rows, all at once,
// cut anywhere, in uneven pieces or key by key, and whoever else is in the batch.
#include "tests/support/engines.h"
#include "tests/support/memory.h"
#include "tests/support/operator.h"
#include "tests/support/test.h"
#include "tests/unit/attention_case.h"

enum { HEADS = 2, KV_HEADS = 1, D = 8, DV = 24 };

static struct fovea_engine *engines[TEST_ISAS];

// A causal sequence: q (len, HEADS, D), k (len, KV_HEADS, D), v (len, KV_HEADS, DV), out (len, HEADS, DV).
static size_t len = 1100;
static float *q, *k, *v, *expected, *out;
static struct fovea_kv_cache cache = {
    .struct_size = sizeof cache, .batch = 1, .kv_heads = KV_HEADS, .qk_dim = D, .v_dim = DV};

static struct fovea_attention_desc describe(bool cached)
{
    struct fovea_attention_desc d;
    fovea_attention_desc_init(&d, sizeof d);
    d.causal = 1;
    d.batch = 1;
    d.heads = HEADS;
    d.kv_heads = KV_HEADS;
    d.q_len = d.kv_len = len;
    d.qk_dim = D;
    d.v_dim = DV;
    d.q = (struct fovea_strides){len * HEADS * D, D, HEADS * D};
    d.k = (struct fovea_strides){len * KV_HEADS * D, D, KV_HEADS * D};
    d.v = (struct fovea_strides){len * KV_HEADS * DV, DV, KV_HEADS * DV};
    d.out = (struct fovea_strides){len * HEADS * DV, DV, HEADS * DV};
    if (cached) {
        cache.capacity = len;
        d.k_layout = FOVEA_K_PANELS;
        CHECK(!fovea_kv_cache_strides(&cache, &d.k, &d.v), "strides");
    }
    return d;
}

// One plan and its memory for many calls.
struct session {
    void *plan, *shared, *scratch;
    bool cached;
};

static struct session begin(const struct fovea_engine *engine, bool cached)
{
    const struct fovea_attention_desc d = describe(cached);
    struct fovea_work *const plan = test_alloc(fovea_attention_plan_size());
    CHECK(!fovea_attention_plan(engine, &d, plan), "plan");
    return (struct session){plan, test_alloc(plan->shared_bytes), test_alloc(plan->scratch_bytes), cached};
}

static void end(struct session *s)
{
    free(s->plan);
    free(s->shared);
    free(s->scratch);
}

// Queries [first, last), which see the keys before `last` as far as causal order goes.
static void compute(const struct session *s, size_t first, size_t last)
{
    const struct fovea_attention_args args = {.q = q + first * HEADS * D,
                                              .k = s->cached ? cache.k : k,
                                              .v = s->cached ? cache.v : v,
                                              .out = out + first * HEADS * DV,
                                              .batch = 1,
                                              .q_len = last - first,
                                              .kv_len = last,
                                              .q_offset = (int64_t)first};
    CHECK(!fovea_attention(s->plan, &args, s->shared, s->scratch, NULL), "queries %zu to %zu", first, last);
}

static void append(size_t first, size_t last)
{
    const struct fovea_strides ks = {0, D, KV_HEADS * D}, vs = {0, DV, KV_HEADS * DV};
    const enum fovea_status status =
        fovea_kv_append(&cache, 0, first, last - first, k + first * ks.row, ks, v + first * vs.row, vs);
    CHECK(!status, "appending %zu to %zu: %s", first, last, fovea_status_string(status));
}

static void clear_cache(void)
{
    size_t k_elements, v_elements;
    cache.capacity = len;
    CHECK(!fovea_kv_cache_size(&cache, &k_elements, &v_elements), "cache size");
    cache.k = cache.k ? cache.k : test_floats(k_elements, TEST_HIGH);
    cache.v = cache.v ? cache.v : test_floats(v_elements, TEST_HIGH);
    check_poison(cache.k, k_elements);
    check_poison(cache.v, v_elements);
    check_poison(out, len * HEADS * DV);
}

static void compare(const char *isa, const char *what, size_t cut)
{
    CHECK_SAME(expected, out, len * HEADS * DV, "%s, %s %zu", isa, what, cut);
}

// Two calls, the second beginning at `cut`.
static void cut_at(const struct session *s, const char *isa, size_t cut)
{
    clear_cache();
    append(0, cut);
    compute(s, 0, cut);
    append(cut, len);
    compute(s, cut, len);
    compare(isa, s->cached ? "cached, cut at" : "rows, cut at", cut);
}

// Pieces of random lengths up to `most`: 1 is decoding.
static void in_pieces(const struct session *s, const char *isa, size_t most)
{
    uint64_t seed = most;
    clear_cache();
    for (size_t first = 0, last; first < len; first = last) {
        last = first + 1 + test_below(&seed, (uint32_t)most);
        last = last < len ? last : len;
        append(first, last);
        compute(s, first, last);
    }
    compare(isa, s->cached ? "cached, in pieces of" : "rows, in pieces of", most);
}

static bool near(size_t cut, size_t boundary, size_t reach)
{
    return cut + reach >= boundary && cut <= boundary + reach;
}

static void test_sequences(bool small)
{
    const size_t reach = small ? 1 : 10; // cuts on either side of each boundary
    len = small ? 1040 : len;
    struct check_rng rng = {1};
    const struct check_source six = {CHECK_UNIFORM, 6, 0}, one = {CHECK_UNIFORM, 1, 0};
    q = test_floats(len * HEADS * D, TEST_HIGH);
    k = test_floats(len * KV_HEADS * D, TEST_HIGH);
    v = test_floats(len * KV_HEADS * DV, TEST_HIGH);
    out = test_floats(len * HEADS * DV, TEST_HIGH);
    expected = test_floats(len * HEADS * DV, TEST_HIGH);
    check_fill(&rng, &six, q, len * HEADS * D);
    check_fill(&rng, &one, k, len * KV_HEADS * D);
    check_fill(&rng, &one, v, len * KV_HEADS * DV);
    struct session whole = begin(engines[0], false);
    compute(&whole, 0, len);
    end(&whole);
    memcpy(expected, out, len * HEADS * DV * sizeof *expected);
    for (int e = small ? 1 : 0; e < TEST_ISAS; e++) { // under an emulator scalar takes long: it computed the whole
        for (int cached = 0; cached <= 1 && engines[e]; cached++) {
            struct session s = begin(engines[e], cached);
            for (size_t cut = 1; cut < len; cut += e == 0 ? 16 : 1) // scalar is slow
                if (near(cut, 1, reach) || near(cut, 128, reach) || near(cut, 1024, reach) || near(cut, len, reach))
                    cut_at(&s, test_isas[e], cut);
            in_pieces(&s, test_isas[e], 1);
            in_pieces(&s, test_isas[e], 7);
            in_pieces(&s, test_isas[e], 40);
            end(&s);
        }
    }
    test_memory_reset();
}

// One entry of a random batch, alone.
static void alone(const struct attention_case *c, size_t b, const float *together)
{
    const size_t lens = c->desc.kv_len_kind == FOVEA_KV_LEN_BATCH ? b : b * c->args.q_len;
    struct attention_case one = *c;
    one.args.batch = 1;
    one.args.q += b * c->q.batch;
    one.args.k = (const float *)one.args.k + b * c->k.batch;
    one.args.v = (const float *)one.args.v + b * c->v.batch;
    one.args.q_offset = c->args.q_offsets ? c->args.q_offsets[b] : c->args.q_offset;
    one.args.q_offsets = NULL;
    one.args.kv_lens = c->args.kv_lens ? c->args.kv_lens + lens : NULL;
    one.args.kv_past = c->args.kv_past ? c->args.kv_past + b : NULL;
    one.args.mask = c->args.mask ? c->args.mask + b * c->desc.mask_batch : NULL;
    one.args.bias = c->args.bias ? c->args.bias + b * c->desc.bias_batch : NULL;
    one.args.q_segments = c->args.q_segments ? c->args.q_segments + b * c->args.q_len : NULL;
    one.args.kv_segments = c->args.kv_segments ? c->args.kv_segments + b * c->args.kv_len : NULL;
    one.args.blocks = c->args.blocks ? c->args.blocks + b * c->desc.blocks_batch : NULL;
    one.args.lse = NULL;
    const size_t first = b * c->out.batch;
    const size_t n = (c->desc.heads - 1) * c->out.head + (c->args.q_len - 1) * c->out.row + c->desc.v_dim;
    one.args.out = test_floats(n, TEST_HIGH);
    memcpy(one.args.out, c->out_before + first, n * sizeof *together);
    CHECK(!test_run(&test_attention, engines[0], &one.desc, &one.args, TEST_SERIAL, 1), "%s", c->text);
    CHECK(test_differ(one.args.out, together + first, n) == n, "%s: batch entry %zu alone differs", c->text, b);
}

static void test_neighbours(int cases)
{
    for (int number = 1; number <= cases; number++) {
        struct attention_case c;
        attention_draw(&c, 20000u + (uint64_t)number, false, 200000);
        const bool any = c.args.batch >= 2 && c.desc.heads && c.args.q_len;
        c.args.out = test_floats(c.out_floats, TEST_HIGH);
        c.args.eval = 1; // dropout draws by batch entry
        memcpy(c.args.out, c.out_before, c.out_floats * sizeof *c.args.out);
        CHECK(!test_run(&test_attention, engines[0], &c.desc, &c.args, TEST_SERIAL, 1), "%s", c.text);
        for (size_t b = 0; b < c.args.batch && any; b++)
            alone(&c, b, c.args.out);
        test_memory_reset();
    }
}

int main(void)
{
    const bool small = getenv("FOVEA_TEST_SMALL") != NULL;
    test_engines(engines);
    test_neighbours(small ? 100 : 300);
    test_sequences(small);
    test_engines_free(engines);
    return test_done();
}
