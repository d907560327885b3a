// SPDX-License-Identifier: Apache-2.0
// tests/unit/errors_nn.c - bad input for multi-head attention, packing, caches; empty calls need no pointers.
#include "tests/unit/refuse_nn.h"

static struct fovea_mha_desc mha_desc(enum fovea_mha_keys keys)
{
    struct fovea_mha_desc d;
    CHECK(!fovea_mha_desc_init(&d, sizeof d), "init");
    d.keys = keys;
    d.batch = B, d.heads = H, d.q_len = L, d.kv_len = CAPACITY, d.qk_dim = D, d.v_dim = DV;
    d.new_len = keys == FOVEA_MHA_APPEND ? L : 0;
    d.query_width = d.key_width = d.value_width = d.out_width = W;
    d.kv_len_kind = FOVEA_KV_LEN_BATCH;
    d.mask = FOVEA_MASK_BYTES;
    d.residual = 1;
    d.mask_key = 1;
    return d;
}

static void test_mha_descs(const struct refuse *refused, struct fovea_mha_desc good)
{
    const struct refuse r = *refused;
    struct fovea_mha_desc bad;
    const size_t huge = SIZE_MAX / 4;
    BAD_DESC(bad.struct_size = 0, FOVEA_ERR_STRUCT);
    BAD_DESC(bad.struct_size += 8, FOVEA_ERR_STRUCT);
    BAD_DESC(bad.keys = (enum fovea_mha_keys)3, FOVEA_ERR_ENUM);
    BAD_DESC(bad.keys = (enum fovea_mha_keys)(-1), FOVEA_ERR_ENUM);
    BAD_DESC(bad.kv_len_kind = (enum fovea_kv_len)3, FOVEA_ERR_ENUM);
    BAD_DESC_TOLD(bad.causal = 2, FOVEA_ERR_ENUM, "mha: causal is 2, neither 0 nor 1");
    BAD_DESC_TOLD(bad.mask = (enum fovea_mask)3, FOVEA_ERR_ENUM, "mha: mask is 3, not within 0 to 2");
    BAD_DESC(bad.residual = 2, FOVEA_ERR_ENUM);
    BAD_DESC(bad.heads = 0, FOVEA_ERR_SHAPE);
    BAD_DESC(bad.qk_dim = 0, FOVEA_ERR_SHAPE);
    BAD_DESC_TOLD(bad.v_dim = 513, FOVEA_ERR_SHAPE, "mha: v_dim is 513, not within 1 to 512");
    BAD_DESC_TOLD(bad.kv_heads = 2, FOVEA_ERR_SHAPE, "mha: heads 3 is no multiple of kv_heads 2");
    BAD_DESC_TOLD(bad.query_width = 0, FOVEA_ERR_SHAPE, "mha: query_width is 0");
    BAD_DESC(bad.key_width = 0, FOVEA_ERR_SHAPE);
    BAD_DESC(bad.value_width = 0, FOVEA_ERR_SHAPE);
    BAD_DESC(bad.out_width = 0, FOVEA_ERR_SHAPE);
    BAD_DESC_TOLD(bad.new_len = CAPACITY + 1, FOVEA_ERR_SHAPE,
                  "mha: new_len 21 is more than kv_len 20, the cache's capacity");
    BAD_DESC_TOLD(bad.keys = FOVEA_MHA_CACHED, FOVEA_ERR_VALUE,
                  "mha: new_len is 5, but nothing is appended: keys is not FOVEA_MHA_APPEND");
    BAD_DESC_TOLD(bad.dropout = 1.5f, FOVEA_ERR_VALUE, "mha: dropout is 1.5, not at least 0 and below 1");
    BAD_DESC_TOLD(bad.out_dropout = NAN, FOVEA_ERR_VALUE, "mha: out_dropout is nan, not at least 0 and below 1");
    BAD_DESC_TOLD(bad.qk_norm = 2, FOVEA_ERR_ENUM, "mha: qk_norm is 2, neither 0 nor 1");
    BAD_DESC_TOLD(bad.qk_norm_eps = -1, FOVEA_ERR_VALUE, "mha: qk_norm_eps is -1, negative or not finite");
    BAD_DESC((bad.qk_norm = 1, bad.qk_norm_eps = INFINITY), FOVEA_ERR_VALUE);
    BAD_DESC_TOLD(bad.softcap = -1, FOVEA_ERR_VALUE, "mha: attention: softcap is -1");
    BAD_DESC_TOLD((bad.rotary_dim = 5, bad.rotary_positions = CAPACITY), FOVEA_ERR_SHAPE,
                  "mha: rotary_dim 5 is odd or more than qk_dim 8");
    BAD_DESC_TOLD((bad.rotary_dim = 4, bad.rotary_positions = CAPACITY - 1), FOVEA_ERR_SHAPE,
                  "mha: rotary_positions is 19, but a call may have 20 positions");
    BAD_DESC((bad.rotary_dim = 4, bad.rotary_positions = 0), FOVEA_ERR_SHAPE);
    BAD_DESC((bad.rotary_dim = 4, bad.keys = FOVEA_MHA_PROJECT, bad.new_len = 0, bad.rotary_positions = CAPACITY - 1),
             FOVEA_ERR_SHAPE);
    BAD_DESC((bad.rotary_dim = 4, bad.keys = FOVEA_MHA_CACHED, bad.new_len = 0, bad.rotary_positions = L - 1),
             FOVEA_ERR_SHAPE);
    BAD_DESC(bad.scale = INFINITY, FOVEA_ERR_VALUE);
    BAD_DESC(bad.batch = huge, FOVEA_ERR_OVERFLOW);
    BAD_DESC(bad.heads = huge, FOVEA_ERR_OVERFLOW);
    BAD_DESC(bad.q_len = huge, FOVEA_ERR_OVERFLOW);
    BAD_DESC(bad.kv_len = huge, FOVEA_ERR_OVERFLOW);
    BAD_DESC_TOLD(bad.query_width = huge, FOVEA_ERR_OVERFLOW, "mha: q: gemm: 10 rows with lda ");
    BAD_DESC(bad.out_width = huge, FOVEA_ERR_OVERFLOW);
    BAD_DESC(bad.mask_row = huge, FOVEA_ERR_OVERFLOW);
    bad = good;
    bad.keys = FOVEA_MHA_CACHED, bad.new_len = 0, bad.rotary_dim = 4, bad.rotary_positions = L; // of queries alone
    char text[FOVEA_EXPLAIN_BYTES];
    CHECK(fovea_explain_mha(engine, &bad, text, sizeof text) == FOVEA_OK, "%s", text);
}

static void test_mha_errors(void)
{
    static const uint32_t lens[B] = {L, L};
    static const uint8_t mask[CAPACITY] = {1, 1, 1};
    const struct fovea_mha_desc good = mha_desc(FOVEA_MHA_APPEND);
    const struct fovea_mha_weights weights = mha_weights();
    const struct fovea_kv_cache cache = make_cache();
    struct fovea_mha_weights bad_weights;
    struct fovea_kv_cache bad_cache;
    float *const out = test_floats(B * L * W, TEST_HIGH);
    struct fovea_mha_args wrong;
    const struct fovea_mha_args args = {.weights = &weights,
                                        .query = some(B * L * W),
                                        .key = some(B * L * W),
                                        .value = some(B * L * W),
                                        .residual = some(B * L * W),
                                        .out = out,
                                        .batch = B,
                                        .q_len = L,
                                        .kv_len = L,
                                        .position = 3,
                                        .cache = &cache,
                                        .kv_lens = lens,
                                        .mask = mask};
    const struct refuse r = refuse_begin(&test_mha, engine, &good, &args, out, B * L * W);
    refuse_common(&r);
    test_mha_descs(&r, good);
    BAD_ARGS(wrong.weights = NULL, FOVEA_ERR_NULL);
    BAD_ARGS_TOLD(wrong.query = NULL, FOVEA_ERR_NULL, "mha: args.query is NULL");
    BAD_ARGS_TOLD(wrong.key = NULL, FOVEA_ERR_NULL, "mha: args.key is NULL");
    BAD_ARGS_TOLD(wrong.value = NULL, FOVEA_ERR_NULL, "mha: args.value is NULL");
    BAD_ARGS(wrong.residual = NULL, FOVEA_ERR_NULL);
    BAD_ARGS_TOLD(wrong.out = NULL, FOVEA_ERR_NULL, "mha: args.out is NULL");
    BAD_ARGS_TOLD(wrong.cache = NULL, FOVEA_ERR_NULL, "mha: args.cache is NULL");
    bad_cache = cache, bad_cache.k_rows = 1; // its K would be taken for panels
    BAD_ARGS(wrong.cache = &bad_cache, FOVEA_ERR_UNSUPPORTED);
    bad_cache.k_rows = 2;
    BAD_ARGS(wrong.cache = &bad_cache, FOVEA_ERR_ENUM);
    BAD_ARGS(wrong.kv_lens = NULL, FOVEA_ERR_NULL);
    BAD_ARGS(wrong.mask = NULL, FOVEA_ERR_NULL);
    struct fovea_mha_desc plain = good; // of which a mask, lengths and a residual would be missing
    plain.mask = FOVEA_MASK_NONE, plain.kv_len_kind = FOVEA_KV_LEN_ALL, plain.residual = 0;
    for (int kept = 0; kept < 3; kept++) {
        wrong = args;
        wrong.mask = kept == 0 ? args.mask : NULL, wrong.kv_lens = kept == 1 ? args.kv_lens : NULL;
        wrong.residual = kept == 2 ? args.residual : NULL;
        CHECK(test_run(&test_mha, engine, &plain, &wrong, TEST_SERIAL, 1) == FOVEA_ERR_VALUE, "kept %d", kept);
    }
    static const uint8_t bits[(CAPACITY + 7) / 8] = {7}; // the same mask
    static float of_bytes[B * L * W];
    CHECK(!test_run(&test_mha, engine, &good, &args, TEST_SERIAL, 1), "mask bytes");
    memcpy(of_bytes, out, sizeof of_bytes);
    plain = good, plain.mask = FOVEA_MASK_BITS;
    wrong = args, wrong.mask = bits;
    CHECK(!test_run(&test_mha, engine, &plain, &wrong, TEST_SERIAL, 1), "mask bits");
    CHECK(test_differ(of_bytes, out, B * L * W) == B * L * W, "mask bits hide other keys than bytes");
    static float map[1];
    BAD_ARGS_TOLD(wrong.eval = 3, FOVEA_ERR_ENUM, "mha: args.eval is 3, neither 0 nor 1");
    BAD_ARGS_TOLD(wrong.average_weights = 1, FOVEA_ERR_VALUE,
                  "mha: args.average_weights is 1, but args.attn_weights is NULL");
    BAD_ARGS_TOLD(wrong.dropped_weights = 1, FOVEA_ERR_VALUE,
                  "mha: args.dropped_weights is 1, but args.attn_weights is NULL");
    BAD_ARGS_TOLD(wrong.attn_weights = map, FOVEA_ERR_VALUE, "mha: args.attn_weights is given, but ");
    BAD_ARGS_TOLD(wrong.batch = B + 1, FOVEA_ERR_SHAPE, "mha: args.batch is 3, more than the plan's 2");
    BAD_ARGS_TOLD(wrong.q_len = L + 1, FOVEA_ERR_SHAPE, "mha: args.q_len is 6, more than the plan's 5");
    BAD_ARGS_TOLD(wrong.kv_len = L + 1, FOVEA_ERR_SHAPE, "mha: args.kv_len is 6, more than the plan's new_len, 5");
    BAD_ARGS(wrong.position = CAPACITY - L + 1, FOVEA_ERR_SHAPE);
    BAD_ARGS(wrong.position = SIZE_MAX, FOVEA_ERR_SHAPE);
    static const size_t beyond[B] = {3, CAPACITY - L + 1}, far[B] = {SIZE_MAX, 0}, near[B] = {3, 0};
    BAD_ARGS_TOLD((wrong.position = 0, wrong.positions = beyond), FOVEA_ERR_SHAPE,
                  "mha: args.positions[1] is 16, and 5 keys from there on are more than the plan's kv_len, 20");
    BAD_ARGS_TOLD((wrong.position = 0, wrong.positions = far), FOVEA_ERR_SHAPE,
                  "mha: args.positions[0] is 18446744073709551615, too large");
    BAD_ARGS_TOLD(wrong.positions = near, FOVEA_ERR_VALUE, "mha: args.position is 3, beside args.positions");
    static const size_t turned[B] = {0, CAPACITY - L + 1};
    static const float table[CAPACITY * 2];
    char text[FOVEA_EXPLAIN_BYTES];
    for (int keys = FOVEA_MHA_PROJECT; keys <= FOVEA_MHA_CACHED; keys++) {
        struct fovea_mha_desc rotary = good; // with a table of as many positions as a cache has keys
        rotary.keys = (enum fovea_mha_keys)keys, rotary.new_len = keys == FOVEA_MHA_APPEND ? L : 0,
        rotary.rotary_dim = 4, rotary.rotary_positions = CAPACITY;
        struct fovea_work *const plan = test_memory(fovea_mha_plan_size(), TEST_HIGH);
        CHECK(!fovea_mha_plan(engine, &rotary, plan), "a rotary plan");
        wrong = args, wrong.position = 0, wrong.rotary_cos = wrong.rotary_sin = table;
        wrong.cache = keys == FOVEA_MHA_PROJECT ? NULL : args.cache;
        wrong.kv_len = L - 1, wrong.positions = turned; // keys fit, and one query is beyond the table
        CHECK(fovea_explain_mha_call(plan, &wrong, text, sizeof text) == FOVEA_ERR_SHAPE &&
                  strstr(text, "mha: args.positions[1] is 16, and 5 rows from there on are more than the plan's "
                               "rotary_positions, 20"),
              "\"%s\"", text);
        wrong.positions = near;
        CHECK(test_explains(&test_mha, plan, &wrong, "mha: batch 2, q_len 5, kv_len 4, positions 0 to 3"), "near");
        wrong.kv_len = 0; // where keys are appended, those before may be seen
        const char *const says = keys == FOVEA_MHA_APPEND
                                     ? ", nothing is appended, queries see what the cache has already: args.kv_len is 0"
                                     : ", no query sees a key: args.kv_len is 0";
        CHECK(!fovea_explain_mha_call(plan, &wrong, text, sizeof text) && strstr(text, says), "\"%s\"", text);
    }
    BAD_WEIGHT(bad_weights.q.weight = NULL, FOVEA_ERR_NULL);
    BAD_WEIGHT(bad_weights.k.weight = NULL, FOVEA_ERR_NULL);
    BAD_WEIGHT(bad_weights.v.weight = NULL, FOVEA_ERR_NULL);
    BAD_WEIGHT(bad_weights.o.weight = NULL, FOVEA_ERR_NULL);
    BAD_WEIGHT(bad_weights.q_norm = args.query, FOVEA_ERR_VALUE);
    refuse_told(&r, &wrong, "mha: the weights have q_norm, but the plan has no qk_norm");
    BAD_WEIGHT(bad_weights.k_norm = args.query, FOVEA_ERR_VALUE);
    refuse_told(&r, &wrong, "mha: the weights have k_norm, but the plan has no qk_norm");
    BAD_WEIGHT(bad_weights.v.weight = weights.k.weight, FOVEA_ERR_FORMAT); // of another width
    BAD_WEIGHT(bad_weights.o.weight = weights.q.weight, FOVEA_ERR_FORMAT);
    refuse_told(&r, &wrong, "mha: the weight of o is a blob of 24 x 24, not 12 x 24");
    BAD_WEIGHT(bad_weights.q.weight = (const char *)weights.q.weight + 32, FOVEA_ERR_ALIGN);
#define BAD_CACHE(change, status) BAD_ARGS((bad_cache = cache, change, wrong.cache = &bad_cache), status)
    BAD_CACHE(bad_cache.struct_size = 0, FOVEA_ERR_STRUCT);
    // No field of a struct of unknown size is looked at.
    BAD_CACHE((bad_cache.struct_size = 0, bad_cache.k = NULL), FOVEA_ERR_STRUCT);
    BAD_CACHE(bad_cache.k = NULL, FOVEA_ERR_NULL);
    refuse_told(&r, &wrong, "mha: args.cache->k is NULL");
    BAD_CACHE(bad_cache.v = NULL, FOVEA_ERR_NULL);
    refuse_told(&r, &wrong, "mha: args.cache->v is NULL");
    BAD_CACHE(bad_cache.batch = B - 1, FOVEA_ERR_SHAPE);
    BAD_CACHE(bad_cache.batch = SIZE_MAX, FOVEA_ERR_OVERFLOW);
    BAD_CACHE(bad_cache.kv_heads = H - 1, FOVEA_ERR_SHAPE);
    BAD_CACHE(bad_cache.capacity = CAPACITY - 1, FOVEA_ERR_SHAPE);
    refuse_told(&r, &wrong, "mha: args.cache->capacity is 19, not the plan's kv_len, 20");
    BAD_CACHE(bad_cache.qk_dim = D - 1, FOVEA_ERR_SHAPE);
    BAD_CACHE(bad_cache.v_dim = DV + 1, FOVEA_ERR_SHAPE);
    refuse_told(&r, &wrong, "mha: args.cache->v_dim is 5, not the plan's 4");
    BAD_CACHE(bad_cache.type = FOVEA_BF16, FOVEA_ERR_FORMAT);
    refuse_told(&r, &wrong, "mha: args.cache has bf16 elements, not f32");
    BAD_CACHE(bad_cache.type = (enum fovea_type)3, FOVEA_ERR_ENUM);
    refuse_told(&r, &wrong, "mha: args.cache->type is 3, not within 0 to 2");
    plain = good, plain.keys = FOVEA_MHA_PROJECT;
    CHECK(test_run(&test_mha, engine, &plain, &args, TEST_SERIAL, 1) == FOVEA_ERR_VALUE,
          "a cache of what is projected");
    const struct fovea_mha_args nothing = {.batch = 0};
    CHECK(!fovea_mha(r.plan, &nothing, r.shared, r.scratch, NULL), "an empty batch needs no pointers");
    CHECK(fovea_mha_desc_init(NULL, 0) == FOVEA_ERR_NULL, "init of NULL");
    test_memory_reset();
}

static void test_pack_errors(void)
{
    enum { K = 6, N = 9 };
    float *const b = some(K * N);
    size_t bytes = 7;
    CHECK(fovea_pack_size(K, N, NULL) == FOVEA_ERR_NULL, "size into NULL");
    CHECK(fovea_pack_size(SIZE_MAX / 16, N, &bytes) == FOVEA_ERR_OVERFLOW && bytes == 7, "huge k");
    CHECK(fovea_pack_size(K, SIZE_MAX, &bytes) == FOVEA_ERR_OVERFLOW && bytes == 7, "huge n");
    CHECK(!fovea_pack_size(K, N, &bytes), "size");
    char *const blob = test_memory(bytes + 64, TEST_HIGH);
#define PACK(engine, trans, k, n, b, ldb, blob, bytes, status)                                                         \
    CHECK(fovea_pack(engine, trans, k, n, b, ldb, blob, bytes) == status, "expected %s", fovea_status_string(status))
    PACK(NULL, FOVEA_NO_TRANS, K, N, b, N, blob, bytes, FOVEA_ERR_NULL);
    PACK(engine, FOVEA_NO_TRANS, K, N, NULL, N, blob, bytes, FOVEA_ERR_NULL);
    PACK(engine, FOVEA_NO_TRANS, K, N, b, N, NULL, bytes, FOVEA_ERR_NULL);
    PACK(engine, (enum fovea_transpose)2, K, N, b, N, blob, bytes, FOVEA_ERR_ENUM);
    PACK(engine, FOVEA_NO_TRANS, K, N, b, N - 1, blob, bytes, FOVEA_ERR_STRIDE);
    PACK(engine, FOVEA_TRANS, K, N, b, K - 1, blob, bytes, FOVEA_ERR_STRIDE);
    PACK(engine, FOVEA_NO_TRANS, K, N, b, SIZE_MAX / 4, blob, bytes, FOVEA_ERR_OVERFLOW);
    PACK(engine, FOVEA_NO_TRANS, SIZE_MAX / 8, N, b, N, blob, bytes, FOVEA_ERR_OVERFLOW);
    PACK(engine, FOVEA_NO_TRANS, K, N, b, N, blob + 32, bytes, FOVEA_ERR_ALIGN);
    PACK(engine, FOVEA_NO_TRANS, K, N, b, N, blob, bytes - 1, FOVEA_ERR_MEMORY);
    PACK(engine, FOVEA_NO_TRANS, K, N, b, N, blob, 0, FOVEA_ERR_MEMORY);
    CHECK(refuse_clean(blob, bytes + 64), "a refused blob was written");
    CHECK(fovea_pack_check(NULL, bytes, K, N) == FOVEA_ERR_NULL, "check of NULL");
    CHECK(fovea_pack_check(blob + 32, bytes, K, N) == FOVEA_ERR_ALIGN, "check of a misaligned blob");
    CHECK(fovea_pack_check(blob, bytes, K, N) == FOVEA_ERR_FORMAT, "check of no blob");
    test_memory_reset();
}

static void test_cache_errors(void)
{
    const struct fovea_kv_cache good = make_cache();
    struct fovea_kv_cache c;
    size_t k = 7, v = 7;
    float *const x = some(B * CAPACITY * H * D);
    const struct fovea_strides ks = {0, D, H * D}, vs = {0, DV, H * DV}, narrow = {0, D, D - 1};
    CHECK(fovea_kv_cache_size(NULL, &k, &v) == FOVEA_ERR_NULL, "cache NULL");
    CHECK(fovea_kv_cache_size(&good, NULL, &v) == FOVEA_ERR_NULL, "k NULL");
    CHECK(fovea_kv_cache_size(&good, &k, NULL) == FOVEA_ERR_NULL, "v NULL");
    c = good, c.struct_size = 0;
    CHECK(fovea_kv_cache_size(&c, &k, &v) == FOVEA_ERR_STRUCT, "struct_size 0");
    CHECK(fovea_kv_append(&c, 0, 0, 1, x, ks, x, vs) == FOVEA_ERR_STRUCT, "struct_size 0");
    c.struct_size = sizeof c;
    c.k_rows = 2;
    CHECK(fovea_kv_cache_size(&c, &k, &v) == FOVEA_ERR_ENUM, "k_rows 2");
    c = good, c.capacity = SIZE_MAX;
    CHECK(fovea_kv_cache_size(&c, &k, &v) == FOVEA_ERR_OVERFLOW, "huge capacity");
    c = good, c.v_dim = SIZE_MAX / 8;
    CHECK(fovea_kv_cache_size(&c, &k, &v) == FOVEA_ERR_OVERFLOW && k == 7 && v == 7, "huge v_dim");
    CHECK(fovea_kv_append(NULL, 0, 0, 1, x, ks, x, vs) == FOVEA_ERR_NULL, "cache NULL");
    CHECK(fovea_kv_append(&good, 0, 0, 1, NULL, ks, x, vs) == FOVEA_ERR_NULL, "k NULL");
    CHECK(fovea_kv_append(&good, 0, 0, 1, x, ks, NULL, vs) == FOVEA_ERR_NULL, "v NULL");
    CHECK(fovea_kv_append(&good, B, 0, 1, x, ks, x, vs) == FOVEA_ERR_SHAPE, "past the batch");
    CHECK(fovea_kv_append(&good, 0, CAPACITY, 1, x, ks, x, vs) == FOVEA_ERR_SHAPE, "past the capacity");
    CHECK(fovea_kv_append(&good, 0, SIZE_MAX, 2, x, ks, x, vs) == FOVEA_ERR_SHAPE, "far past the capacity");
    CHECK(fovea_kv_append(&good, 0, 1, SIZE_MAX, x, ks, x, vs) == FOVEA_ERR_SHAPE, "too many");
    CHECK(fovea_kv_append(&good, 0, 0, 2, x, narrow, x, vs) == FOVEA_ERR_STRIDE, "k rows overlap");
    CHECK(fovea_kv_append(&good, 0, 0, 2, x, ks, x, (struct fovea_strides){0, DV, DV - 1}) == FOVEA_ERR_STRIDE,
          "v rows overlap");
    const struct fovea_strides by_head = {0, D, D}, within = {0, D - 1, H * D}, shared = {0, 0, D},
                               first = {0, 2 * D, D};
    CHECK(fovea_kv_append(&good, 0, 0, 2, x, by_head, x, vs) == FOVEA_ERR_STRIDE, "heads on rows of one another");
    CHECK(fovea_kv_append(&good, 0, 0, 2, x, within, x, vs) == FOVEA_ERR_STRIDE, "heads overlap");
    CHECK(!fovea_kv_append(&good, 0, 0, 1, x, by_head, x, vs), "one row");
    CHECK(!fovea_kv_append(&good, 0, 0, 2, x, shared, x, vs), "one head for all");
    CHECK(!fovea_kv_append(&good, 0, 0, 2, x, first, x, vs), "head after head");
    CHECK(fovea_kv_append(&good, 0, 0, 3, x, first, x, vs) == FOVEA_ERR_STRIDE, "a head after two of three rows");
    const struct fovea_strides far = {0, DV, PTRDIFF_MAX / sizeof(float)};
    CHECK(fovea_kv_append(&good, 0, 0, 2, x, ks, x, far) == FOVEA_ERR_OVERFLOW, "v ends beyond all addresses");
    CHECK(!fovea_kv_append(&good, 0, CAPACITY, 0, NULL, ks, NULL, vs), "no keys need no pointers");
    test_memory_reset();
}

static void test_status(void)
{
    for (int i = 0; i <= FOVEA_ERR_FORMAT; i++) {
        const char *const name = fovea_status_string((enum fovea_status)i);
        CHECK(strncmp(name, "FOVEA_", 6) == 0, "%d is %s", i, name);
    }
    CHECK(strcmp(fovea_status_string((enum fovea_status)14), "unknown status") == 0, "14");
    CHECK(strcmp(fovea_status_string((enum fovea_status)(-1)), "unknown status") == 0, "-1");
    CHECK(strcmp(fovea_version(), PROJECT_VERSION) == 0, "%s, but CMake: %s", fovea_version(), PROJECT_VERSION);
}

int main(void)
{
    engine = test_engine("scalar", NULL);
    test_mha_errors();
    test_pack_errors();
    test_cache_errors();
    test_status();
    fovea_engine_destroy(engine);
    return test_done();
}
