// SPDX-License-Identifier: Apache-2.0
// tests/unit/errors_attention.c - bad input for attention: each descriptor and each call differs from a good one in one
// thing, named by the expression that does it.
#include "tests/support/engines.h"
#include "tests/unit/refuse.h"

static struct fovea_engine *engine;

enum { B = 2, H = 6, HKV = 3, LQ = 5, LK = 40, D = 8, DV = 12 };

static float *some(size_t n)
{
    float *const x = test_floats(n, TEST_HIGH);
    for (size_t i = 0; i < n; i++)
        x[i] = (float)(i % 7);
    return x;
}

static struct fovea_attention_desc attention_desc(void)
{
    struct fovea_attention_desc d;
    CHECK(!fovea_attention_desc_init(&d, sizeof d), "init");
    d.batch = B, d.heads = H, d.kv_heads = HKV, d.q_len = LQ, d.kv_len = LK, d.qk_dim = D, d.v_dim = DV;
    d.q = (struct fovea_strides){LQ * H * D, D, H * D};
    d.k = (struct fovea_strides){LK * HKV * D, D, HKV * D};
    d.v = (struct fovea_strides){LK * HKV * DV, DV, HKV * DV};
    d.out = (struct fovea_strides){LQ * H * DV, DV, H * DV};
    d.kv_len_kind = FOVEA_KV_LEN_BATCH;
    d.mask = FOVEA_MASK_BYTES;
    d.bias = d.segments = d.blocks = 1;
    d.block_rows = 1, d.block_keys = LK;
    d.mask_key = d.bias_key = 1;
    return d;
}

static void test_attention_descs(const struct refuse *refused, struct fovea_attention_desc good)
{
    const struct refuse r = *refused;
    struct fovea_attention_desc bad;
    const size_t huge = SIZE_MAX / 4;
    BAD_DESC(bad.struct_size = 0, FOVEA_ERR_STRUCT);
    BAD_DESC(bad.struct_size += 4, FOVEA_ERR_STRUCT);
    BAD_DESC(bad.causal = 2, FOVEA_ERR_ENUM);
    BAD_DESC(bad.mask = (enum fovea_mask)3, FOVEA_ERR_ENUM);
    BAD_DESC(bad.mask = (enum fovea_mask)(-1), FOVEA_ERR_ENUM);
    BAD_DESC(bad.segments = 2, FOVEA_ERR_ENUM);
    BAD_DESC(bad.blocks = 2, FOVEA_ERR_ENUM);
    BAD_DESC(bad.block_rows = 0, FOVEA_ERR_SHAPE);
    BAD_DESC(bad.block_keys = 0, FOVEA_ERR_SHAPE);
    BAD_DESC(bad.blocks_row = huge, FOVEA_ERR_OVERFLOW);
    BAD_DESC((bad.mask = FOVEA_MASK_BITS, bad.mask_row = SIZE_MAX), FOVEA_ERR_OVERFLOW);
    BAD_DESC(bad.statistics = 2, FOVEA_ERR_ENUM);
    BAD_DESC(bad.softcap = -1, FOVEA_ERR_VALUE);
    BAD_DESC(bad.softcap = INFINITY, FOVEA_ERR_VALUE);
    BAD_DESC(bad.softcap = NAN, FOVEA_ERR_VALUE);
    BAD_DESC(bad.scoring = (enum fovea_scoring)2, FOVEA_ERR_ENUM);
    BAD_DESC((bad.scoring = FOVEA_SCORING_ADDITIVE, bad.scale = 1), FOVEA_ERR_VALUE);
    BAD_DESC_TOLD(bad.page_keys = 48, FOVEA_ERR_VALUE, "attention: page_keys is 48, neither 16, 32 or 64 nor a ");
    BAD_DESC(bad.page_keys = 8, FOVEA_ERR_VALUE);
    BAD_DESC(bad.page_keys = 192, FOVEA_ERR_VALUE);
    BAD_DESC(bad.dropout = 1, FOVEA_ERR_VALUE);
    BAD_DESC(bad.dropout = -0.1f, FOVEA_ERR_VALUE);
    BAD_DESC(bad.dropout = NAN, FOVEA_ERR_VALUE);
    BAD_DESC(bad.bias = 3, FOVEA_ERR_ENUM);
    BAD_DESC(bad.k_layout = (enum fovea_k_layout)2, FOVEA_ERR_ENUM);
    BAD_DESC(bad.k_layout = (enum fovea_k_layout)(-1), FOVEA_ERR_ENUM);
    BAD_DESC(bad.kv_type = (enum fovea_type)3, FOVEA_ERR_ENUM);
    BAD_DESC(bad.kv_type = (enum fovea_type)(-1), FOVEA_ERR_ENUM);
    BAD_DESC(bad.kv_len_kind = (enum fovea_kv_len)3, FOVEA_ERR_ENUM);
    BAD_DESC(bad.kv_len_kind = (enum fovea_kv_len)(-1), FOVEA_ERR_ENUM);
    BAD_DESC(bad.scale = INFINITY, FOVEA_ERR_VALUE);
    BAD_DESC(bad.scale = -INFINITY, FOVEA_ERR_VALUE);
    BAD_DESC_TOLD(bad.kv_heads = 4, FOVEA_ERR_SHAPE, "attention: heads 6 is no multiple of kv_heads 4");
    BAD_DESC_TOLD(bad.qk_dim = 0, FOVEA_ERR_SHAPE, "attention: qk_dim is 0, not within 1 to 512");
    BAD_DESC(bad.v_dim = 0, FOVEA_ERR_SHAPE);
    BAD_DESC(bad.qk_dim = 513, FOVEA_ERR_SHAPE);
    BAD_DESC(bad.v_dim = 513, FOVEA_ERR_SHAPE);
    BAD_DESC(bad.q.row = D - 1, FOVEA_ERR_STRIDE);
    BAD_DESC_TOLD(bad.k.row = 0, FOVEA_ERR_STRIDE, "attention: k.row is 0, less than the 8 elements of a row: ");
    BAD_DESC_TOLD(bad.k.row = D - 1, FOVEA_ERR_STRIDE, "attention: k.row is 7, less than the 8 elements of a row");
    BAD_DESC(bad.v.row = DV - 1, FOVEA_ERR_STRIDE);
    BAD_DESC(bad.out.row = DV - 1, FOVEA_ERR_STRIDE);
    BAD_DESC(bad.out.row = 0, FOVEA_ERR_STRIDE);
    BAD_DESC(bad.out.head = 0, FOVEA_ERR_STRIDE);
    BAD_DESC_TOLD(bad.out.head = DV - 1, FOVEA_ERR_STRIDE,
                  "attention: rows of out overlap: out.head is 11, within which lie 12 elements");
    BAD_DESC(bad.out.batch = 0, FOVEA_ERR_STRIDE);
    BAD_DESC(bad.out.batch = LQ * H * DV - 1, FOVEA_ERR_STRIDE);
    BAD_DESC(bad.q_len = huge, FOVEA_ERR_OVERFLOW);
    BAD_DESC(bad.kv_len = huge, FOVEA_ERR_OVERFLOW);
    BAD_DESC(bad.batch = huge, FOVEA_ERR_OVERFLOW);
    BAD_DESC((bad.heads = huge - huge % 3, bad.batch = 1), FOVEA_ERR_OVERFLOW);
    BAD_DESC(bad.q.row = huge, FOVEA_ERR_OVERFLOW);
    BAD_DESC(bad.k.head = huge, FOVEA_ERR_OVERFLOW);
    BAD_DESC(bad.v.batch = huge, FOVEA_ERR_OVERFLOW);
    BAD_DESC(bad.out.batch = huge, FOVEA_ERR_OVERFLOW);
    BAD_DESC(bad.mask_row = SIZE_MAX, FOVEA_ERR_OVERFLOW);
    BAD_DESC(bad.bias_key = huge, FOVEA_ERR_OVERFLOW);
    BAD_DESC((bad.k_layout = FOVEA_K_PANELS, bad.k.head = huge), FOVEA_ERR_OVERFLOW);
}

// Each operand may have PTRDIFF_MAX bytes, of elements of its own size.
static void test_attention_most(enum fovea_type type, enum fovea_k_layout k_layout)
{
    struct fovea_attention_desc d = attention_desc();
    const size_t size = fovea_type_bytes(type), panels = HKV * (size_t)48 * D; // of LK keys
    const struct {
        const char *name;
        size_t *batch, entry, size;
    } operands[] = {{"q", &d.q.batch, LQ * H * D, sizeof(float)},
                    {"k", &d.k.batch, k_layout == FOVEA_K_PANELS ? panels : LK * HKV * D, size},
                    {"v", &d.v.batch, LK * HKV * DV, size},
                    {"out", &d.out.batch, LQ * H * DV, sizeof(float)},
                    {"mask", &d.mask_batch, LK, 1},
                    {"blocks", &d.blocks_batch, 1, 1},
                    {"bias", &d.bias_batch, LK, sizeof(float)}};
    void *const plan = test_memory(fovea_attention_plan_size(), TEST_HIGH);
    d.kv_type = type, d.k_layout = k_layout;
    d.k.head = k_layout == FOVEA_K_PANELS ? panels / HKV : d.k.head;
    for (size_t i = 0; i < sizeof operands / sizeof *operands; i++) {
        const size_t before = *operands[i].batch;
        *operands[i].batch = PTRDIFF_MAX / operands[i].size - operands[i].entry; // the last of B = 2 entries ends there
        CHECK(!fovea_attention_plan(engine, &d, plan), "type %d: the most of %s", type, operands[i].name);
        ++*operands[i].batch;
        CHECK(fovea_attention_plan(engine, &d, plan) == FOVEA_ERR_OVERFLOW, "type %d: more of %s", type,
              operands[i].name);
        *operands[i].batch = before;
    }
}

static void test_attention_errors(void)
{
    static const uint32_t lens[B] = {LK, 1};
    static const uint8_t mask[LK] = {1, 1, 1};
    static const uint32_t segments[B * LK] = {1};
    const struct fovea_attention_desc good = attention_desc();
    float *const out = test_floats(B * LQ * H * DV, TEST_HIGH);
    struct fovea_attention_args wrong;
    const struct fovea_attention_args args = {.q = some(B * LQ * H * D),
                                              .k = some(B * LK * HKV * D),
                                              .v = some(B * LK * HKV * DV),
                                              .out = out,
                                              .batch = B,
                                              .q_len = LQ,
                                              .kv_len = LK,
                                              .kv_lens = lens,
                                              .mask = mask,
                                              .bias = some(LK),
                                              .blocks = mask,
                                              .q_segments = segments,
                                              .kv_segments = segments};
    const struct refuse r = refuse_begin(&test_attention, engine, &good, &args, out, B * LQ * H * DV);
    refuse_common(&r);
    test_attention_descs(&r, good);
    BAD_ARGS(wrong.q = NULL, FOVEA_ERR_NULL);
    BAD_ARGS_TOLD(wrong.k = NULL, FOVEA_ERR_NULL, "attention: args.k is NULL");
    BAD_ARGS_TOLD(wrong.v = NULL, FOVEA_ERR_NULL, "attention: args.v is NULL");
    BAD_ARGS(wrong.out = NULL, FOVEA_ERR_NULL);
    BAD_ARGS((wrong.batch = 1, wrong.out = NULL), FOVEA_ERR_NULL);
    BAD_ARGS((wrong.q_len = 1, wrong.out = NULL), FOVEA_ERR_NULL);
    BAD_ARGS(wrong.kv_lens = NULL, FOVEA_ERR_NULL);
    BAD_ARGS(wrong.mask = NULL, FOVEA_ERR_NULL);
    BAD_ARGS(wrong.bias = NULL, FOVEA_ERR_NULL);
    BAD_ARGS(wrong.kv_begin = 8, FOVEA_ERR_ALIGN);
    BAD_ARGS_TOLD(wrong.eval = 3, FOVEA_ERR_ENUM, "attention: args.eval is 3, neither 0 nor 1");
    BAD_ARGS_TOLD(wrong.kv_new_queries = 2, FOVEA_ERR_ENUM, "attention: args.kv_new_queries is 2, neither 0 nor 1");
    BAD_ARGS(wrong.kv_starts = lens, FOVEA_ERR_NULL);
    BAD_ARGS(wrong.q_segments = NULL, FOVEA_ERR_NULL);
    BAD_ARGS(wrong.kv_segments = NULL, FOVEA_ERR_NULL);
    BAD_ARGS(wrong.blocks = NULL, FOVEA_ERR_NULL);
    BAD_ARGS((wrong.kv_len = 0, wrong.q_segments = NULL), FOVEA_ERR_NULL);
    BAD_ARGS(wrong.entropy = out, FOVEA_ERR_VALUE); // the plan has no statistics
    BAD_ARGS(wrong.additive = args.q, FOVEA_ERR_VALUE);
    BAD_ARGS(wrong.pages = lens, FOVEA_ERR_VALUE);
    struct fovea_attention_desc plain = good; // which the same call must not pass for
    plain.mask = FOVEA_MASK_NONE, plain.kv_len_kind = FOVEA_KV_LEN_ALL, plain.bias = plain.segments = plain.blocks = 0;
    for (int kept = 0; kept < 7; kept++) {
        wrong = args;
        wrong.mask = kept == 0 ? args.mask : NULL, wrong.bias = kept == 1 ? args.bias : NULL;
        wrong.blocks = kept == 2 ? args.blocks : NULL, wrong.kv_lens = kept == 3 ? args.kv_lens : NULL;
        wrong.q_segments = kept == 4 ? segments : NULL, wrong.kv_segments = kept == 5 ? segments : NULL;
        CHECK(fovea_attention_once(engine, &plain, &wrong) == (kept < 6 ? FOVEA_ERR_VALUE : FOVEA_OK), "kept %d", kept);
    }
    float *const outs[2] = {test_floats(B * LQ * H * DV, TEST_HIGH), test_floats(B * LQ * H * DV, TEST_HIGH)};
    plain.k.head = plain.v.head = 0;
    for (int i = 0; i < 2; i++) { // as many key heads as heads
        plain.kv_heads = i ? 0 : H;
        wrong.out = outs[i];
        CHECK(fovea_attention_once(engine, &plain, &wrong) == FOVEA_OK, "%zu key heads", plain.kv_heads);
    }
    CHECK(test_differ(outs[0], outs[1], B * LQ * H * DV) == B * LQ * H * DV, "no key heads are as many as heads");
    plain.heads = plain.kv_heads = 1;
    wrong.out = NULL;
    CHECK(fovea_attention_once(engine, &plain, &wrong) == FOVEA_ERR_NULL, "one head needs an output");
    static const uint32_t dead[] = {0, H}, twice[] = {1, 1};
    BAD_ARGS((wrong.live_heads = dead, wrong.live_count = 2), FOVEA_ERR_SHAPE);
    BAD_ARGS(wrong.live_count = 1, FOVEA_ERR_NULL);
    BAD_ARGS_TOLD((wrong.live_heads = twice, wrong.live_count = 2), FOVEA_ERR_VALUE,
                  "attention: args.live_heads[1] is 1, not above the 1 before it");
    BAD_ARGS(wrong.batch = B + 1, FOVEA_ERR_SHAPE);
    BAD_ARGS_TOLD(wrong.q_len = LQ + 1, FOVEA_ERR_SHAPE, "attention: args.q_len is 6, more than the plan's 5");
    BAD_ARGS_TOLD(wrong.kv_len = LK + 1, FOVEA_ERR_SHAPE, "attention: args.kv_len is 41, more than the plan's 40");
    BAD_ARGS(wrong.kv_len = SIZE_MAX, FOVEA_ERR_SHAPE);
    const size_t overlap[4] = {1, 1, 1, LQ * H * DV - 1}, huge[4] = {SIZE_MAX / 2, 1, 1, LQ * H * DV};
    BAD_ARGS(wrong.batch_strides = overlap, FOVEA_ERR_STRIDE);
    BAD_ARGS(wrong.batch_strides = huge, FOVEA_ERR_OVERFLOW);
    const struct fovea_attention_args nothing = {.batch = 0, .q_len = LQ, .kv_len = LK};
    CHECK(!fovea_attention(r.plan, &nothing, r.shared, r.scratch, NULL), "an empty batch needs no pointers");
    struct fovea_attention_desc d;
    CHECK(fovea_attention_desc_init(NULL, sizeof d) == FOVEA_ERR_NULL, "init of NULL");
    CHECK(fovea_attention_desc_init(&d, sizeof d - 4) == FOVEA_ERR_STRUCT, "init of another size");
    CHECK(fovea_attention_once(engine, NULL, NULL) == FOVEA_ERR_NULL, "desc NULL");
    test_memory_reset();
}

int main(void)
{
    engine = test_engine("scalar", NULL);
    for (int type = FOVEA_F32; type <= FOVEA_F16; type++)
        for (int layout = FOVEA_K_ROWS; layout <= FOVEA_K_PANELS; layout++)
            test_attention_most((enum fovea_type)type, (enum fovea_k_layout)layout);
    test_attention_errors();
    fovea_engine_destroy(engine);
    return test_done();
}
