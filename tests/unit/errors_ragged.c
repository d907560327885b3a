// SPDX-License-Identifier: Apache-2.0
// tests/unit/errors_ragged.c - bad input for ragged batches and keys in pages, of multi-head attention and of layers.
#include "tests/unit/refuse_nn.h"

enum { PAGE = 16, PAGES = 5, TABLE = 2 };
static const uint32_t starts[B + 1] = {0, L, L + 2}, late[B + 1] = {1, 2, 3}, back[B + 1] = {0, 3, 2};
static const uint32_t long_one[B + 1] = {0, L + 1, L + 1}, table[B * TABLE] = {4, PAGES, 0, 3}, beyond[B] = {4, PAGES};
static const size_t positions[B] = {9, 10}, far[B] = {9, CAPACITY - 1};

static struct fovea_kv_pages make_pool(void)
{
    struct fovea_kv_pages p = {
        .struct_size = sizeof p, .page_keys = PAGE, .pages = PAGES, .kv_heads = H, .qk_dim = D, .v_dim = DV};
    size_t k, v;
    CHECK(!fovea_kv_pages_size(&p, &k, &v), "size");
    p.k = some(k), p.v = some(v);
    return p;
}

// That the line of a call is this one.
static void says(const struct refuse *r, const void *args, const char *line)
{
    CHECK(test_explains(r->op, r->plan, args, line), "%s", line);
}

// That more rows than all sequences have take no more memory.
static void check_most_rows(const struct test_operator *op, void *desc, size_t *rows, size_t all)
{
    static const size_t more[] = {0, SIZE_MAX / 8};
    struct fovea_work work[3];
    *rows = all;
    for (int i = 0; i < 3; i++) {
        struct fovea_work *const plan = test_memory(op->plan_size(), TEST_HIGH);
        CHECK(!op->plan(engine, desc, plan), "rows %zu", *rows);
        work[i] = *plan, *rows = more[i % 2];
    }
    CHECK(work[1].shared_bytes == work[0].shared_bytes && work[2].shared_bytes == work[0].shared_bytes,
          "rows of all, 0 and more: %zu, %zu and %zu B", work[0].shared_bytes, work[1].shared_bytes,
          work[2].shared_bytes);
}

static void test_attention_errors(void)
{
    struct fovea_mha_desc good, bad;
    CHECK(!fovea_mha_desc_init(&good, sizeof good), "init");
    good.keys = FOVEA_MHA_APPEND, good.page_keys = PAGE, good.rows = L + 2;
    good.batch = B, good.heads = H, good.q_len = good.new_len = L, good.kv_len = CAPACITY;
    good.qk_dim = D, good.v_dim = DV, good.need_weights = 1;
    good.query_width = good.key_width = good.value_width = good.out_width = W;
    const struct fovea_mha_weights weights = mha_weights();
    const struct fovea_kv_pages pool = make_pool();
    const struct fovea_kv_cache cache = make_cache();
    struct fovea_kv_pages bad_pool;
    const size_t rows = L + 2;
    float *const out = test_floats(rows * W, TEST_HIGH);
    struct fovea_mha_args wrong;
    const struct fovea_mha_args args = {.weights = &weights,
                                        .query = some(rows * W),
                                        .key = some(rows * W),
                                        .value = some(rows * W),
                                        .out = out,
                                        .batch = B,
                                        .q_len = L,
                                        .kv_len = L,
                                        .positions = positions,
                                        .starts = starts,
                                        .pool = &pool,
                                        .pages = table,
                                        .pages_batch = TABLE};
    const struct refuse r = refuse_begin(&test_mha, engine, &good, &args, out, rows * W);
    BAD_DESC_TOLD(bad.page_keys = 48, FOVEA_ERR_VALUE, "mha: page_keys is 48, not 16, 32, 64, 128 or 256");
    BAD_DESC(bad.page_keys = 512, FOVEA_ERR_VALUE);
    BAD_DESC_TOLD(bad.keys = FOVEA_MHA_PROJECT, FOVEA_ERR_VALUE,
                  "mha: page_keys is 16, but keys are projected, not in pages");
    bad = good;
    check_most_rows(&test_mha, &bad, &bad.rows, B * L);
    BAD_ARGS_TOLD(wrong.starts = late, FOVEA_ERR_SHAPE, "mha: args.starts[0] is 1, not 0");
    BAD_ARGS_TOLD(wrong.starts = back, FOVEA_ERR_SHAPE, "mha: args.starts[2] is 2, below the 3 before it");
    BAD_ARGS_TOLD(wrong.starts = long_one, FOVEA_ERR_SHAPE, "mha: entry 0 has 6 rows, more than args.q_len, 5");
    BAD_ARGS_TOLD(wrong.kv_len = L - 1, FOVEA_ERR_SHAPE, "mha: args.kv_len is 4, but args.q_len 5: ");
    BAD_ARGS_TOLD(wrong.positions = NULL, FOVEA_ERR_NULL, "mha: args.positions is NULL, but args.starts is given");
    BAD_ARGS_TOLD(wrong.attn_weights = out, FOVEA_ERR_UNSUPPORTED, "mha: args.attn_weights of a ragged batch");
    BAD_ARGS_TOLD(wrong.starts = NULL, FOVEA_ERR_SHAPE, "mha: args.query has 10 rows, more than the plan's rows, 7");
    BAD_ARGS_TOLD((wrong.starts = NULL, wrong.q_len = 0), FOVEA_ERR_SHAPE,
                  "mha: args.key has 10 rows, more than the plan's rows, 7");
    BAD_ARGS_TOLD((wrong.q_len = 0, wrong.kv_len = L - 1), FOVEA_ERR_SHAPE,
                  "mha: entry 0 has 5 rows, more than args.kv_len, 4");
    BAD_ARGS_TOLD(wrong.positions = far, FOVEA_ERR_SHAPE,
                  "mha: args.positions[1] is 19, and 2 keys from there on are more than the plan's kv_len, 20");
    BAD_ARGS_TOLD(wrong.cache = &cache, FOVEA_ERR_VALUE, "mha: args.cache is given, but the plan's keys are in pages");
    BAD_ARGS_TOLD(wrong.pool = NULL, FOVEA_ERR_NULL, "mha: args.pool is NULL");
    BAD_ARGS_TOLD(wrong.pages = NULL, FOVEA_ERR_NULL, "mha: args.pages is NULL");
    BAD_ARGS_TOLD((wrong.pages = beyond, wrong.pages_batch = 1), FOVEA_ERR_SHAPE,
                  "mha: args.pages[1] is 5, not below args.pool->pages, 5");
    BAD_ARGS_TOLD(wrong.pages_batch = 0, FOVEA_ERR_SHAPE, "mha: entry 0 has 1 pages, more than args.pages_batch, 0");
#define BAD_POOL(change, status) BAD_ARGS((bad_pool = pool, change, wrong.pool = &bad_pool), status)
    BAD_POOL(bad_pool.struct_size = 0, FOVEA_ERR_STRUCT);
    BAD_POOL(bad_pool.k = NULL, FOVEA_ERR_NULL);
    BAD_POOL(bad_pool.v = NULL, FOVEA_ERR_NULL);
    BAD_POOL(bad_pool.k_rows = 2, FOVEA_ERR_ENUM);
    BAD_POOL(bad_pool.k_rows = 1, FOVEA_ERR_UNSUPPORTED);
    BAD_POOL(bad_pool.page_keys = 2 * PAGE, FOVEA_ERR_SHAPE);
    refuse_told(&r, &wrong, "mha: args.pool->page_keys is 32, not the plan's 16");
    BAD_POOL(bad_pool.kv_heads = H - 1, FOVEA_ERR_SHAPE);
    BAD_POOL(bad_pool.qk_dim = D - 1, FOVEA_ERR_SHAPE);
    BAD_POOL(bad_pool.v_dim = DV + 1, FOVEA_ERR_SHAPE);
    BAD_POOL(bad_pool.type = FOVEA_F16, FOVEA_ERR_FORMAT);
    refuse_told(&r, &wrong, "mha: args.pool has f16 elements, not f32");
    BAD_POOL(bad_pool.type = (enum fovea_type)3, FOVEA_ERR_ENUM);
    BAD_POOL(bad_pool.pages = SIZE_MAX, FOVEA_ERR_OVERFLOW);
    CHECK(!fovea_mha(r.plan, &args, r.shared, r.scratch, NULL), "the good call");
    says(&r, &args, "mha: batch 2, q_len 5, kv_len 5, positions 9 to 10, rows 7");
    wrong = args, wrong.q_len = 0, wrong.query = NULL, wrong.out = NULL; // its rows are keys
    CHECK(!fovea_mha(r.plan, &wrong, r.shared, r.scratch, NULL), "no queries");
    says(&r, &wrong, "mha: batch 2, q_len 0, kv_len 5, positions 9 to 10, rows 7");
    wrong = args, wrong.batch = 0;
    says(&r, &wrong, "mha: batch 0, q_len 5, kv_len 5, position 0, rows 0, nothing is written: args.batch is 0");
    static const uint32_t none[B + 1] = {0};
    struct fovea_mha_args empty = args; // has neither queries nor keys
    empty.starts = none, empty.query = empty.key = empty.value = NULL, empty.out = NULL;
    CHECK(!fovea_mha(r.plan, &empty, r.shared, r.scratch, NULL), "only sequences of no rows");
    struct fovea_mha_desc without = good; // pages
    without.page_keys = 0;
    CHECK(test_run(&test_mha, engine, &without, &args, TEST_SERIAL, 1) == FOVEA_ERR_VALUE, "no pages");
    // The longest sequence is not the first one.
    struct fovea_mha_desc turned = without;
    struct fovea_mha_args late_one = args;
    static const uint32_t short_one[B + 1] = {0, 2, L + 2};
    turned.keys = FOVEA_MHA_PROJECT, turned.new_len = 0, turned.kv_len = turned.rotary_positions = L,
    turned.rotary_dim = 2;
    late_one.pool = NULL, late_one.pages = NULL, late_one.positions = NULL, late_one.starts = short_one;
    late_one.rotary_cos = late_one.rotary_sin = some(L);
    CHECK(!test_run(&test_mha, engine, &turned, &late_one, TEST_SERIAL, 1), "rotary positions");
    late_one.position = 1;
    CHECK(test_run(&test_mha, engine, &turned, &late_one, TEST_SERIAL, 1) == FOVEA_ERR_SHAPE, "a position too many");
    test_memory_reset();
}

static void test_layer_errors(void)
{
    struct fovea_layer_desc good, bad;
    CHECK(!fovea_layer_desc_init(&good, sizeof good), "init");
    good.causal = good.cached = 1, good.page_keys = PAGE;
    good.batch = B, good.len = L, good.kv_len = CAPACITY, good.rows = B * L - 1;
    good.width = W, good.heads = H, good.qk_dim = D, good.v_dim = DV, good.ffn = FFN;
    const struct fovea_layer_weights weights = {.self_attention = mha_weights(),
                                                .cross_attention = mha_weights(),
                                                .up = {linear(W, FFN), NULL},
                                                .down = {linear(FFN, W), NULL}};
    const struct fovea_kv_pages pool = make_pool();
    const struct fovea_kv_cache cache = make_cache();
    float *const y = test_floats(B * L * W, TEST_HIGH);
    struct fovea_layer_args wrong;
    const struct fovea_layer_args args = {.weights = &weights,
                                          .x = some(B * L * W),
                                          .y = y,
                                          .batch = B,
                                          .len = L,
                                          .beams = 1,
                                          .starts = starts,
                                          .positions = positions,
                                          .self_pool = &pool,
                                          .pages = table,
                                          .pages_batch = TABLE};
    const struct refuse r = refuse_begin(&test_layer, engine, &good, &args, y, B * L * W);
    BAD_DESC_TOLD(bad.cached = 0, FOVEA_ERR_VALUE, "layer: page_keys is 16, but the layer is not cached");
    BAD_DESC_TOLD(bad.page_keys = 17, FOVEA_ERR_VALUE, "layer: self_attention: page_keys is 17, not ");
    bad = good;
    check_most_rows(&test_layer, &bad, &bad.rows, B * L);
    BAD_ARGS_TOLD(wrong.self_cache = &cache, FOVEA_ERR_VALUE, "layer: args.self_cache is given, but keys are in pages");
    BAD_ARGS_TOLD(wrong.self_pool = NULL, FOVEA_ERR_NULL, "layer: args.self_pool is NULL");
    BAD_ARGS_TOLD(wrong.pages = NULL, FOVEA_ERR_NULL, "layer: args.pages is NULL");
    BAD_ARGS_TOLD(wrong.starts = late, FOVEA_ERR_SHAPE, "layer: self_attention: args.starts[0] is 1, not 0");
    BAD_ARGS_TOLD(wrong.positions = NULL, FOVEA_ERR_NULL, "layer: self_attention: args.positions is NULL, but ");
    BAD_ARGS_TOLD(wrong.starts = long_one, FOVEA_ERR_SHAPE,
                  "layer: self_attention: entry 0 has 6 rows, more than args.len, 5");
    BAD_ARGS_TOLD(wrong.starts = NULL, FOVEA_ERR_SHAPE,
                  "layer: self_attention: args.x has 10 rows, more than the plan's rows, 9");
    BAD_ARGS_TOLD(
        wrong.positions = far, FOVEA_ERR_SHAPE,
        "layer: self_attention: args.positions[1] is 19, and 2 keys from there on are more than the plan's kv_len, ");
    BAD_ARGS_TOLD(wrong.len = 0, FOVEA_ERR_SHAPE, "layer: args.starts has 7 rows, but args.len is 0");
    CHECK(!fovea_layer(r.plan, &args, r.shared, r.scratch, NULL), "the good call");
    says(&r, &args, "layer: batch 2, len 5, positions 9 to 10, rows 7");
    wrong = args, wrong.batch = 0;
    says(&r, &wrong, "layer: batch 0, len 5, position 0, rows 0, nothing is written: args.batch is 0");
    // Decoders: uncached their memory is not ragged, and beams are rows of one cross-attention.
    for (uint32_t cached = 0; cached < 2; cached++) {
        struct fovea_layer_desc decoder = good;
        struct fovea_layer_args a = args;
        decoder.causal = 0, decoder.decoder = 1, decoder.cached = cached, decoder.page_keys = 0;
        decoder.beams = B, decoder.memory_len = CAPACITY;
        a.self_pool = NULL, a.pages = NULL, a.beams = B, a.memory_len = CAPACITY;
        a.self_cache = a.cross_cache = cached ? &cache : NULL, a.memory = cached ? NULL : some(B * CAPACITY * W);
        a.positions = cached ? positions : NULL;
        a.y = test_floats(B * L * W, TEST_HIGH);
        const enum fovea_status want = cached ? FOVEA_ERR_UNSUPPORTED : FOVEA_ERR_VALUE;
        CHECK(test_run(&test_layer, engine, &decoder, &a, TEST_SERIAL, 1) == want, "decoder, cached %u", cached);
        a.starts = NULL, a.beams = 1, decoder.beams = 1, decoder.rows = B * L - 1;
        CHECK(test_run(&test_layer, engine, &decoder, &a, TEST_SERIAL, 1) == FOVEA_ERR_SHAPE, "rows, cached %u",
              cached);
        CHECK(refuse_clean(a.y, B * L * W * sizeof *a.y), "decoder: y was written");
    }
    test_memory_reset();
}

int main(void)
{
    engine = test_engine("scalar", NULL);
    test_attention_errors();
    test_layer_errors();
    fovea_engine_destroy(engine);
    return test_done();
}
