// SPDX-License-Identifier: Apache-2.0
// tests/unit/explain.c - the line that explains a plan names all that its descriptor asks for, and nothing else; that
// of a call what it adds.
#include "tests/support/engines.h"
#include "tests/support/operator.h"
#include "tests/support/test.h"

static struct fovea_engine *engine;

// That the line of a descriptor has these words, or has not.
static void check_says(const struct test_operator *op, const void *desc, const char *change, const char *words, int has)
{
    char text[FOVEA_EXPLAIN_BYTES] = "";
    const enum fovea_status status = op->explain(engine, desc, text, sizeof text);
    CHECK(!status && strlen(text) + 1 < sizeof text && (strstr(text, words) != NULL) == has, "%s, %s: %s\"%s\": %s",
          op->name, change, has ? "" : "not ", words, text);
}

// One thing in a copy of a plain descriptor, d, that does not ask for it.
#define SAYS(op, words, change)                                                                                        \
    do {                                                                                                               \
        check_says(&test_##op, &plain, "plain", words, 0);                                                             \
        d = plain;                                                                                                     \
        change;                                                                                                        \
        check_says(&test_##op, &d, #change, words, 1);                                                                 \
    } while (0)

static void test_gemm_lines(void)
{
    struct fovea_gemm_desc plain = FOVEA_GEMM_DESC_INIT, d;
    plain.m = 40, plain.n = plain.ldb = plain.ldc = plain.ldr = 60, plain.k = plain.lda = 50;
    check_says(&test_gemm, &plain, "plain", "gemm: 40x60x50 f32 nn batch 1, ", 1);
    SAYS(gemm, " f32 nt ", (d.trans_b = FOVEA_TRANS, d.ldb = 50));
    SAYS(gemm, " f32 tn ", (d.trans_a = FOVEA_TRANS, d.lda = 40));
    SAYS(gemm, " f32 n packed ", (d.b_packed = 1, d.trans_b = FOVEA_TRANS));
    SAYS(gemm, " f32 n packed bf16 ", (d.b_packed = 1, d.b_type = FOVEA_BF16));
    SAYS(gemm, " KiB as f32: ", (d.b_packed = 1, d.b_type = FOVEA_F16));
    SAYS(gemm, ", packed B, widened on the way, ", (d.b_packed = 1, d.b_type = FOVEA_F16));
    SAYS(gemm, ", packed B, widened in registers, ", (d.m = 3, d.b_packed = 1, d.b_type = FOVEA_F16));
    SAYS(gemm, ", alpha 2,", d.alpha = 2);
    SAYS(gemm, ", beta -0.5,", d.beta = -0.5f);
    SAYS(gemm, ", gelu_tanh,", d.activation = FOVEA_ACTIVATION_GELU_TANH);
    SAYS(gemm, ", residual,", d.residual = 1);
    SAYS(gemm, ", gated,", d.gated = 1);
    SAYS(gemm, " batch 3, one A, one B, one residual,", (d.batch = 3, d.batch_c = 2400, d.residual = 1));
    SAYS(gemm, "because nothing is written: batch is 0", d.batch = 0);
    SAYS(gemm, "because nothing is written: m is 0", d.m = 0);
    SAYS(gemm, "because nothing is written: n is 0", d.n = 0);
    SAYS(gemm, "because there is nothing to multiply: k is 0", d.k = 0);
    SAYS(gemm, "because there is nothing to multiply: alpha is 0", d.alpha = 0);
}

static void test_attention_lines(void)
{
    enum { HEADS = 4, QUERIES = 20, KEYS = 130, D = 64 };
    struct fovea_attention_desc plain, d;
    CHECK(!fovea_attention_desc_init(&plain, sizeof plain), "init");
    plain.batch = 2, plain.heads = plain.kv_heads = HEADS, plain.q_len = QUERIES, plain.kv_len = KEYS;
    plain.qk_dim = plain.v_dim = D;
    plain.q = plain.out = (struct fovea_strides){QUERIES * HEADS * D, D, HEADS * D};
    plain.k = plain.v = (struct fovea_strides){KEYS * HEADS * D, D, HEADS * D};
    check_says(&test_attention, &plain, "plain", "dims 64 and 64, f32, k in rows, ", 1);
    SAYS(attention, ", causal,", d.causal = 1);
    SAYS(attention, ", window 3 left, 5 right,", (d.window_left = 3, d.window_right = 5));
    SAYS(attention, ", window 3 left,", d.window_left = 3);
    SAYS(attention, ", window 1000000000 right,", d.window_right = 1000000000);
    SAYS(attention, ", softcap 5,", d.softcap = 5);
    SAYS(attention, ", scale 0.5,", d.scale = 0.5f);
    SAYS(attention, ", dropout 0.1,", d.dropout = 0.1f);
    SAYS(attention, ", lengths by batch,", d.kv_len_kind = FOVEA_KV_LEN_BATCH);
    SAYS(attention, ", lengths by row,", d.kv_len_kind = FOVEA_KV_LEN_BATCH_ROW);
    SAYS(attention, ", segments,", d.segments = 1);
    SAYS(attention, ", blocks 32x64, blocks broadcast over batch and heads,",
         (d.blocks = 1, d.block_rows = 32, d.block_keys = 64, d.blocks_row = 2));
    SAYS(attention, ", mask bytes, mask broadcast over heads and rows,",
         (d.mask = FOVEA_MASK_BYTES, d.mask_batch = KEYS, d.mask_key = 1));
    SAYS(attention, ", mask bits, mask broadcast over batch and heads,", (d.mask = FOVEA_MASK_BITS, d.mask_row = 17));
    SAYS(attention, ", bias, bias broadcast over keys,",
         (d.bias = 1, d.bias_batch = d.bias_head = QUERIES, d.bias_row = 1));
    SAYS(attention, ", additive,", d.scoring = FOVEA_SCORING_ADDITIVE);
    SAYS(attention, ", statistics,", d.statistics = 1);
    SAYS(attention, ", q broadcast over rows,", d.q.row = 0);
    SAYS(attention, ", q broadcast over batch and heads,", d.q.batch = d.q.head = 0);
    SAYS(attention, ", k broadcast over batch,", d.k.batch = 0);
    SAYS(attention, ", v broadcast over heads and rows,", d.v.head = d.v.row = 0);
    SAYS(attention, ", rows of q overlap,", (d.q.head = HEADS * D, d.q.row = D));
    SAYS(attention, ", rows of k overlap, rows of v overlap,", d.k.row = d.v.row = d.k.row - 1);
    SAYS(attention, ", rows of k overlap, k in panels,", d.k_layout = FOVEA_K_PANELS);
    SAYS(attention, ", k in panels,", (d.k_layout = FOVEA_K_PANELS, d.k.row = 0));
    SAYS(attention, ", k in panels, k and v of bf16,",
         (d.k_layout = FOVEA_K_PANELS, d.k.row = 0, d.kv_type = FOVEA_BF16));
    SAYS(attention, ", k in rows, k and v of f16,", d.kv_type = FOVEA_F16);
    SAYS(attention, ", in pages of 64,", (d.page_keys = 64, d.k.batch = 0));
    SAYS(attention, ", nothing is written: q_len is 0", d.q_len = 0);
    d = plain;
    d.kv_heads = 0; // as many as heads
    check_says(&test_attention, &d, "kv_heads 0", "heads 4/4, ", 1);
    d.scale = 0.125f; // 1/sqrt(64)
    check_says(&test_attention, &d, "the default in numbers", "scale", 0);
    d.batch = 1, d.q.batch = 0;
    check_says(&test_attention, &d, "a stride of what there is one of", "broadcast", 0);
    d = plain, d.q_len = 0, d.q.batch = d.out.batch = 0;
    check_says(&test_attention, &d, "a stride of what there is none of", "broadcast", 0);
}

static void test_rowwise_lines(void)
{
    struct fovea_rowwise_desc plain = FOVEA_ROWWISE_DESC_INIT, d;
    plain.op = FOVEA_ROWWISE_RMSNORM;
    plain.rows = 4, plain.cols = plain.ldx = plain.ldx2 = plain.ldy = 24;
    check_says(&test_rowwise, &plain, "plain", "rowwise: 4x24 f32, kernel rmsnorm_f32_scalar, 1 task, no memory", 1);
    SAYS(rowwise, ", eps 1e-06,", d.eps = 1e-6f);
    SAYS(rowwise, ", dropout 0.1,", (d.op = FOVEA_ROWWISE_DROPOUT, d.dropout = 0.1f));
    SAYS(rowwise, ", heads 3, rotary 0,", (d.op = FOVEA_ROWWISE_ROTARY, d.heads = 3));
    SAYS(rowwise, ", heads 3, rotary 8, adjacent pairs,",
         (d.op = FOVEA_ROWWISE_ROTARY, d.heads = 3, d.rotary_dim = 8, d.rotary_adjacent = 1));
    SAYS(rowwise, ", nothing is written: rows is 0", d.rows = 0);
    SAYS(rowwise, ", nothing is written: cols is 0", d.cols = 0);
}

static void test_mha_lines(void)
{
    struct fovea_mha_desc plain, d;
    CHECK(!fovea_mha_desc_init(&plain, sizeof plain), "init");
    plain.batch = 2, plain.heads = 4, plain.q_len = plain.kv_len = 9, plain.qk_dim = plain.v_dim = 32;
    plain.query_width = plain.key_width = plain.value_width = plain.out_width = 24;
    check_says(&test_mha, &plain, "plain", ", 9x9, dims 32 and 32, keys projected, ", 1);
    SAYS(mha, ", causal,", d.causal = 1);
    SAYS(mha, ", window 3 left,", d.window_left = 3);
    SAYS(mha, ", scale 1,", d.scale = 1);
    SAYS(mha, ", lengths by batch,", d.kv_len_kind = FOVEA_KV_LEN_BATCH);
    SAYS(mha, ", mask bytes, mask broadcast over heads,",
         (d.mask = FOVEA_MASK_BYTES, d.mask_batch = 81, d.mask_row = 9, d.mask_key = 1));
    SAYS(mha, ", qk_norm, rotary 16,", (d.qk_norm = 1, d.rotary_dim = 16, d.rotary_positions = 9));
    SAYS(mha, ", qk_norm, eps 0.001,", (d.qk_norm = 1, d.qk_norm_eps = 0.001f));
    SAYS(mha, ", rotary 16, adjacent pairs,", (d.rotary_dim = 16, d.rotary_positions = 9, d.rotary_adjacent = 1));
    SAYS(mha, ", bf16 weights,", d.weight_type = FOVEA_BF16);
    SAYS(mha, ", residual,", d.residual = 1);
    SAYS(mha, ", need_weights,", d.need_weights = 1);
    SAYS(mha, ", dropout 0.5, out_dropout 0.25,", (d.dropout = 0.5f, d.out_dropout = 0.25f));
    SAYS(mha, ", additive,", d.scoring = FOVEA_SCORING_ADDITIVE);
    SAYS(mha, ", keys from a cache,", d.keys = FOVEA_MHA_CACHED);
    SAYS(mha, ", keys from a cache, in pages of 64, k and v of bf16,",
         (d.keys = FOVEA_MHA_CACHED, d.page_keys = 64, d.kv_type = FOVEA_BF16));
    SAYS(mha, ", keys from a cache, in pages of 64,", (d.keys = FOVEA_MHA_CACHED, d.page_keys = 64));
    SAYS(mha, ", rows 12,", d.rows = 12);
    SAYS(mha, ", nothing is written: batch is 0", d.batch = 0);
    SAYS(mha, ", nothing is written: q_len is 0", d.q_len = 0);
    d.keys = FOVEA_MHA_APPEND;
    check_says(&test_mha, &d, "a call that fills a cache", "nothing is written", 0);
}

static void test_layer_lines(void)
{
    struct fovea_layer_desc plain, d;
    CHECK(!fovea_layer_desc_init(&plain, sizeof plain), "init");
    plain.batch = 2, plain.len = 9, plain.width = 24, plain.heads = 4, plain.qk_dim = plain.v_dim = 16, plain.ffn = 512;
    check_says(&test_layer, &plain, "plain",
               "layer: post-LayerNorm encoder, 2 x 9 x 24, heads 4/4, dims 16 and 16, ffn 512, no activation, ", 1);
    SAYS(layer, ", ffn 512, gelu,", d.activation = FOVEA_ACTIVATION_GELU);
    SAYS(layer, ", gated ffn 512, silu,", (d.gated = 1, d.activation = FOVEA_ACTIVATION_SILU));
    SAYS(layer, "layer: pre-RMSNorm causal,", (d.norm = FOVEA_NORM_PRE, d.norm_kind = FOVEA_NORM_RMS, d.causal = 1));
    SAYS(layer, "layer: sandwich-RMSNorm encoder,", (d.norm = FOVEA_NORM_SANDWICH, d.norm_kind = FOVEA_NORM_RMS));
    SAYS(layer, " causal with caches,", (d.causal = d.cached = 1, d.kv_len = 9));
    SAYS(layer, ", kv_len 30,", (d.causal = d.cached = 1, d.kv_len = 30));
    SAYS(layer, ", kv_len 30, in pages of 16, rows 12,",
         (d.causal = d.cached = 1, d.kv_len = 30, d.page_keys = 16, d.rows = 12));
    SAYS(layer, ", rotary 8,", (d.rotary_dim = 8, d.rotary_positions = 9));
    SAYS(layer, ", qk_norm,", d.qk_norm = 1);
    SAYS(layer, ", window_left 3, window_right 0, softcap 50, scale 0.5,",
         (d.window_left = 3, d.window_right = 0, d.softcap = 50, d.scale = 0.5f));
    SAYS(layer, ", f16 weights,", d.weight_type = FOVEA_F16);
    SAYS(layer, ", kv_len 9, k and v of f16,", (d.causal = d.cached = 1, d.kv_len = 9, d.kv_type = FOVEA_F16));
    SAYS(layer, ", dropout 0.1,", d.dropout = 0.1f);
    SAYS(layer, ", eps 1e-06,", d.eps = 1e-6f);
    SAYS(layer, " decoder, ", d.decoder = 1);
    SAYS(layer, ", memory_len 7, memory_width 20, beams 2,",
         (d.decoder = 1, d.memory_len = 7, d.memory_width = 20, d.beams = 2));
    SAYS(layer, ", nothing is written: len is 0", d.len = 0);
}

// What is appended to a line, is cut with it.
static void test_cut(void)
{
    struct fovea_gemm_desc d = FOVEA_GEMM_DESC_INIT;
    d.m = d.n = d.k = d.lda = d.ldb = d.ldc = 9;
    char whole[FOVEA_EXPLAIN_BYTES] = "", text[FOVEA_EXPLAIN_BYTES];
    CHECK(!fovea_explain_gemm(engine, &d, whole, sizeof whole), "a line");
    for (size_t size = 0; size <= strlen(whole) + 1; size++) {
        memset(text, 'x', sizeof text);
        const size_t cut = size != 0 ? size - 1 : 0;
        CHECK(!fovea_explain_gemm(engine, &d, text, size) && memcmp(text, whole, cut) == 0 && text[size] == 'x' &&
                  (size == 0 || text[cut] == '\0'),
              "a line in %zu bytes", size);
    }
    CHECK(!fovea_explain_gemm(engine, &d, NULL, sizeof text), "no text");
}

static void check_call(const struct test_operator *op, const void *plan, const void *args, const char *line)
{
    CHECK(test_explains(op, plan, args, line), "%s", line);
}

static void test_rowwise_calls(void)
{
    const float x[64] = {0};
    float y[64];
    static const size_t positions[2] = {1, 0};
    static const uint32_t starts[3] = {0, 1, 2};
    struct fovea_rowwise_desc d = FOVEA_ROWWISE_DESC_INIT;
    d.op = FOVEA_ROWWISE_RMSNORM;
    d.rows = 2, d.cols = d.ldx = d.ldy = 4;
    void *const plan = test_alloc(fovea_rowwise_plan_size());
    CHECK(!fovea_rowwise_plan(engine, &d, plan), "norm");
    struct fovea_rowwise_args a = {.x = x, .y = y, .rows = 2};
    check_call(&test_rowwise, plan, &a, "rowwise: 2x4");
    a.gamma = a.beta = x;
    check_call(&test_rowwise, plan, &a, "rowwise: 2x4, gamma, beta");
    a.rows = 0;
    check_call(&test_rowwise, plan, &a, "rowwise: 0x4, gamma, beta, nothing is written: args.rows is 0");
    d.op = FOVEA_ROWWISE_ROTARY;
    d.heads = 1, d.rotary_dim = 4, d.rotary_positions = 4;
    CHECK(!fovea_rowwise_plan(engine, &d, plan), "rotary");
    a = (struct fovea_rowwise_args){.x = x, .y = y, .rows = 2, .cos = x, .sin = x, .position = 2, .len = 2};
    check_call(&test_rowwise, plan, &a, "rowwise: 2x4, position 2");
    a.position = 0, a.positions = positions, a.starts = starts, a.sequences = 2;
    check_call(&test_rowwise, plan, &a, "rowwise: 2x4, positions, sequences 2");
    d.op = FOVEA_ROWWISE_DROPOUT;
    CHECK(!fovea_rowwise_plan(engine, &d, plan), "dropout");
    a = (struct fovea_rowwise_args){.x = x, .y = y, .rows = 2, .eval = 1};
    check_call(&test_rowwise, plan, &a, "rowwise: 2x4, no dropout");
    free(plan);
}

static void test_calls(void)
{
    const float x[64] = {0};
    float y[64];
    static const uint32_t live[1] = {1};
    struct fovea_gemm_desc gemm = FOVEA_GEMM_DESC_INIT;
    gemm.m = gemm.n = gemm.k = gemm.lda = gemm.ldb = gemm.ldc = 4;
    void *plan = test_alloc(fovea_gemm_plan_size());
    CHECK(!fovea_gemm_plan(engine, &gemm, plan), "gemm");
    struct fovea_gemm_args g = {.a = x, .b = x, .c = y, .m = 3};
    check_call(&test_gemm, plan, &g, "gemm: batch 1, 3x4x4");
    g.m = 0, g.bias = x;
    check_call(&test_gemm, plan, &g, "gemm: batch 1, 0x4x4, bias, nothing is written: args.m is 0");
    free(plan);
    struct fovea_attention_desc attention;
    CHECK(!fovea_attention_desc_init(&attention, sizeof attention), "init");
    attention.batch = 1, attention.heads = attention.kv_heads = 2, attention.q_len = attention.kv_len = 4;
    attention.qk_dim = attention.v_dim = 4;
    attention.q = attention.k = attention.v = attention.out = (struct fovea_strides){0, 4, 8};
    plan = test_alloc(fovea_attention_plan_size());
    CHECK(!fovea_attention_plan(engine, &attention, plan), "attention");
    struct fovea_attention_args a = {.q = x, .k = x, .v = x, .out = y, .batch = 1, .q_len = 4, .kv_len = 4};
    check_call(&test_attention, plan, &a, "attention: batch 1, q_len 4, kv_len 4, q_offset 0");
    a.lse = y + 32, a.slopes = a.sinks = x, a.live_heads = live, a.live_count = 1, a.eval = 1;
    check_call(&test_attention, plan, &a,
               "attention: batch 1, q_len 4, kv_len 4, q_offset 0, lse, ALiBi, sinks, live heads 1, no dropout");
    a = (struct fovea_attention_args){.batch = 1};
    check_call(&test_attention, plan, &a,
               "attention: batch 1, q_len 0, kv_len 0, q_offset 0, nothing is written: args.q_len is 0");
    a = (struct fovea_attention_args){.q = x, .v = x, .k = x, .out = y, .batch = 1, .q_len = 4};
    check_call(&test_attention, plan, &a,
               "attention: batch 1, q_len 4, kv_len 0, q_offset 0, no row sees a key: args.kv_len is 0");
    attention.batch = 2, attention.heads = attention.kv_heads = 1;
    attention.q = attention.k = attention.v = attention.out = (struct fovea_strides){16, 0, 4};
    CHECK(!fovea_attention_plan(engine, &attention, plan), "attention of two");
    a.batch = 2, a.q_len = a.kv_len = 3;
    check_call(&test_attention, plan, &a,
               "attention: batch 2, q_len 3, kv_len 3, q_offset 0, batch strides as planned");
    a.q_len = a.kv_len = 4;
    check_call(&test_attention, plan, &a, "attention: batch 2, q_len 4, kv_len 4, q_offset 0");
    free(plan);
}

// What the last row sees tells whether its position and lengths are right.
static void test_seen(void)
{
    const float x[64] = {0};
    float y[64];
    static const uint32_t lens[2] = {3, 2}, pages[4] = {0}, starts[3] = {0, 2, 3};
    static const int64_t offsets[2] = {-4, 0};
    static const size_t past[2] = {3, 1};
    struct fovea_attention_desc d;
    CHECK(!fovea_attention_desc_init(&d, sizeof d), "init");
    d.batch = 2, d.heads = d.kv_heads = 1, d.q_len = d.kv_len = 4, d.qk_dim = d.v_dim = 4, d.causal = 1;
    d.q = d.k = d.v = d.out = (struct fovea_strides){16, 0, 4};
    void *const plan = test_alloc(fovea_attention_plan_size());
    CHECK(!fovea_attention_plan(engine, &d, plan), "causal");
    struct fovea_attention_args a = {.q = x, .k = x, .v = x, .out = y, .batch = 1, .q_len = 1, .kv_len = 4};
    check_call(&test_attention, plan, &a,
               "attention: batch 1, q_len 1, kv_len 4, q_offset 0, the last row sees keys 0 to 0");
    a.q_offset = 3;
    check_call(&test_attention, plan, &a, "attention: batch 1, q_len 1, kv_len 4, q_offset 3");
    a.q_offset = 0, a.q_offsets = offsets, a.batch = 2;
    check_call(
        &test_attention, plan, &a,
        "attention: batch 2, q_len 1, kv_len 4, q_offset 0, q_offsets, batch strides as planned, the last row of "
        "entry 0 sees no key");
    a.q_offsets = NULL, a.kv_past = past, a.kv_new = 1; // positions do not follow from kv_past
    check_call(&test_attention, plan, &a,
               "attention: batch 2, q_len 1, kv_len 4, q_offset 0, one q_offset, kv_past and new keys 1, batch strides "
               "as planned, the last row of entry 0 sees keys 0 to 0");
    a.kv_past = NULL, a.q_starts = starts, a.q_len = 2;
    check_call(&test_attention, plan, &a,
               "attention: batch 2, q_len 2, kv_len 4, q_offset 0, ragged, the last row of entry 0 sees keys 0 to 1");
    a.q_starts = starts + 2, a.batch = 0;
    check_call(&test_attention, plan, &a,
               "attention: batch 0, q_len 2, kv_len 4, q_offset 0, ragged, nothing is written: args.batch is 0");
    d.causal = 0, d.window_left = 1, d.window_right = 0, d.kv_len_kind = FOVEA_KV_LEN_BATCH, d.page_keys = 16;
    CHECK(!fovea_attention_plan(engine, &d, plan), "window");
    a = (struct fovea_attention_args){.q = x, .k = x, .v = x, .out = y, .batch = 2, .q_len = 4, .kv_len = 4};
    a.kv_lens = lens, a.pages = pages;
    check_call(&test_attention, plan, &a,
               "attention: batch 2, q_len 4, kv_len 4, q_offset 0, one table of pages, the last row of entry 0 sees "
               "keys 2 to 2");
    free(plan);
}

int main(void)
{
    engine = test_engine("scalar", NULL);
    test_gemm_lines();
    test_attention_lines();
    test_rowwise_lines();
    test_mha_lines();
    test_layer_lines();
    test_cut();
    test_calls();
    test_seen();
    test_rowwise_calls();
    fovea_engine_destroy(engine);
    return test_done();
}
