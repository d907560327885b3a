// SPDX-License-Identifier: Apache-2.0
// tests/unit/alloc.c - after creation nothing allocates: this program's malloc counts, and no call of an operator,
// layer or model may add to it.
#include "fovea/fovea.h"
#include "tests/model/random_model.h"
#include "tests/support/engines.h"
#include "tests/support/operator.h"
#include "tests/support/test.h"

#include <errno.h>

// glibc's own entries: what malloc and its family do where nobody defines them anew.
extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *p, size_t size);
extern void *__libc_memalign(size_t alignment, size_t size);
extern void __libc_free(void *p);

static unsigned long calls; // of any of them, free included

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define OWNED_BY_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define OWNED_BY_SANITIZER 1
#endif
#endif

#ifndef OWNED_BY_SANITIZER
void *malloc(size_t size)
{
    calls++;
    return __libc_malloc(size);
}

void *calloc(size_t count, size_t size)
{
    calls++;
    return __libc_calloc(count, size);
}

void *realloc(void *p, size_t size)
{
    calls++;
    return __libc_realloc(p, size);
}

void *aligned_alloc(size_t alignment, size_t size)
{
    calls++;
    return __libc_memalign(alignment, size);
}

int posix_memalign(void **p, size_t alignment, size_t size)
{
    calls++;
    *p = __libc_memalign(alignment, size);
    return *p ? 0 : ENOMEM;
}

void free(void *p)
{
    calls++;
    __libc_free(p);
}
#endif

enum { M = 40, N = 70, K = 300 };

// Plans into memory of its own, then counts what running does, in this thread and task by task.
static void operator_case(const struct test_operator *op, const struct fovea_engine *engine, const void *desc,
                          const void *args)
{
    CHECK(op->plan_size() % 64 == 0, "%s: a plan of %zu bytes", op->name, op->plan_size());
    struct fovea_work *const plan = test_alloc(op->plan_size());
    const unsigned long before_plan = calls;
    const enum fovea_status planned = op->plan(engine, desc, plan);
    CHECK(!planned && calls == before_plan, "%s_plan: %s, %lu allocations", op->name, fovea_status_string(planned),
          calls - before_plan);
    CHECK(plan->scratch_bytes % 64 == 0, "%s: scratch of %zu bytes", op->name, plan->scratch_bytes);
    void *const shared = test_alloc(plan->shared_bytes), *const scratch = test_alloc(plan->scratch_bytes);
    const unsigned long before = calls;
    enum fovea_status status = op->run(plan, args, shared, scratch, NULL);
    for (uint32_t phase = 0; phase < plan->phases; phase++)
        for (uint32_t task = 0; task < op->tasks(plan, args, phase) && !status; task++)
            status = op->task(plan, args, shared, scratch, phase, task);
    CHECK(!status && calls == before, "%s: %s, %lu allocations", op->name, fovea_status_string(status), calls - before);
    free(plan);
    free(shared);
    free(scratch);
}

static float *some(size_t n)
{
    float *const x = test_alloc(n * sizeof *x);
    for (size_t i = 0; i < n; i++)
        x[i] = 0.01f * (float)(i % 13);
    return x;
}

static void test_operators(const struct fovea_engine *engine)
{
    float *const a = some(1 << 16), *const b = some(1 << 16), *const c = some(1 << 16);
    struct fovea_gemm_desc gemm = FOVEA_GEMM_DESC_INIT;
    gemm.m = M, gemm.n = gemm.ldc = N, gemm.k = gemm.ldb = K, gemm.lda = M;
    gemm.trans_a = gemm.trans_b = FOVEA_TRANS;
    gemm.beta = 0.5f;
    gemm.activation = FOVEA_ACTIVATION_GELU;
    operator_case(&test_gemm, engine, &gemm, &(struct fovea_gemm_args){.a = a, .b = b, .c = c, .bias = a, .m = M});

    struct fovea_rowwise_desc norm = FOVEA_ROWWISE_DESC_INIT;
    norm.op = FOVEA_ROWWISE_LAYERNORM;
    norm.rows = M, norm.cols = norm.ldx = norm.ldy = K;
    operator_case(&test_rowwise, engine, &norm, &(struct fovea_rowwise_args){.x = a, .y = c, .rows = M});

    struct fovea_attention_desc attention;
    fovea_attention_desc_init(&attention, sizeof attention);
    attention.batch = attention.heads = attention.kv_heads = 2;
    attention.q_len = M, attention.kv_len = K, attention.qk_dim = attention.v_dim = 16;
    attention.q = attention.out = (struct fovea_strides){M * 32, 16, 32};
    attention.k = attention.v = (struct fovea_strides){K * 32, 16, 32};
    attention.causal = 1;
    struct fovea_attention_args args = {
        .q = a, .k = b, .v = b, .out = c, .batch = 2, .q_len = M, .kv_len = K, .q_offset = K - M};
    operator_case(&test_attention, engine, &attention, &args);
    args.q_len = 1; // decoding
    operator_case(&test_attention, engine, &attention, &args);
    free(a);
    free(b);
    free(c);
}

static void *pack(const struct fovea_engine *engine, size_t inputs, size_t outputs)
{
    size_t bytes;
    CHECK(!fovea_pack_size(inputs, outputs, &bytes), "size");
    void *const blob = test_alloc(bytes);
    float *const w = some(inputs * outputs);
    const unsigned long before = calls;
    CHECK(!fovea_pack(engine, FOVEA_TRANS, inputs, outputs, w, inputs, blob, bytes) && calls == before, "packing: %lu",
          calls - before);
    free(w);
    return blob;
}

static void test_layers(const struct fovea_engine *engine)
{
    enum { B = 2, L = 9, W = 32, H = 2, D = 16, FFN = 64 };
    void *const square = pack(engine, W, W), *const up = pack(engine, W, FFN), *const down = pack(engine, FFN, W);
    float *const x = some(B * L * W), *const y = some(B * L * W);
    static const uint32_t lens[B] = {L, 3};
    const struct fovea_linear linear = {square, NULL};
    const struct fovea_layer_weights weights = {.self_attention = {.q = linear, .k = linear, .v = linear, .o = linear},
                                                .cross_attention = {.q = linear, .k = linear, .v = linear, .o = linear},
                                                .up = {up, NULL},
                                                .down = {down, NULL}};
    struct fovea_layer_desc d;
    fovea_layer_desc_init(&d, sizeof d);
    d.decoder = 1;
    d.batch = B, d.len = d.memory_len = L, d.width = W, d.heads = H, d.qk_dim = d.v_dim = D, d.ffn = FFN;
    operator_case(&test_layer, engine, &d,
                  &(struct fovea_layer_args){.weights = &weights,
                                             .x = x,
                                             .y = y,
                                             .memory = x,
                                             .batch = B,
                                             .len = L,
                                             .memory_len = L,
                                             .beams = 1,
                                             .memory_lens = lens});
    struct fovea_mha_desc mha;
    fovea_mha_desc_init(&mha, sizeof mha);
    mha.batch = B, mha.heads = H, mha.q_len = mha.kv_len = L, mha.qk_dim = mha.v_dim = D;
    mha.query_width = mha.key_width = mha.value_width = mha.out_width = W;
    operator_case(&test_mha, engine, &mha,
                  &(struct fovea_mha_args){.weights = &weights.self_attention,
                                           .query = x,
                                           .key = x,
                                           .value = x,
                                           .out = y,
                                           .batch = B,
                                           .q_len = L,
                                           .kv_len = L});
    free(square);
    free(up);
    free(down);
    free(x);
    free(y);
}

static void test_model(const struct fovea_engine *engine)
{
    static const struct fovea_transformer_config config = {.struct_size = sizeof config,
                                                           .norm = FOVEA_NORM_PRE,
                                                           .activation = FOVEA_ACTIVATION_RELU,
                                                           .positions = FOVEA_POSITIONS_SINUSOIDAL,
                                                           .eps = 1e-5f,
                                                           .final_norm = 1,
                                                           .bos = 1,
                                                           .eos = 2,
                                                           .d_model = 32,
                                                           .heads = 2,
                                                           .qk_dim = 16,
                                                           .v_dim = 16,
                                                           .ffn = 64,
                                                           .encoder_layers = 1,
                                                           .decoder_layers = 2,
                                                           .source_vocab = 11,
                                                           .target_vocab = 13};
    static const uint32_t tokens[2 * 8] = {3, 4, 5, 6, 7, 8, 9, 2, 5, 4, 3, 2}, lens[2] = {8, 4}, first[2] = {1, 1};
    struct random_model weights;
    random_model_init(&weights, &config, 3, RANDOM_ALL);
    struct fovea_transformer *const model = random_model_create(
        &weights, engine,
        (struct fovea_transformer_options){.workers = 1, .batch = 2, .beam = 3, .max_source = 8, .max_target = 12});
    random_model_free(&weights);
    float log_probs[2 * 12 * 13];
    struct fovea_hypothesis found[2];
    const unsigned long before = calls;
    const enum fovea_status status[] = {
        fovea_transformer_search(model, 2, 8, tokens, lens, 3, found, NULL),
        fovea_transformer_search(model, 1, 8, tokens, NULL, 1, found, NULL),
        fovea_transformer_encode(model, 2, 8, tokens, lens, NULL),
        fovea_transformer_decode(model, 8, tokens, log_probs, NULL),
        fovea_transformer_step(model, 0, first, log_probs, NULL),
    };
    CHECK(calls == before, "the model made %lu allocations", calls - before);
    for (size_t i = 0; i < sizeof status / sizeof *status; i++)
        CHECK(!status[i], "call %zu of the model: %s", i, fovea_status_string(status[i]));
    fovea_transformer_destroy(model);
}

int main(void)
{
#ifdef OWNED_BY_SANITIZER
    printf("skip: this sanitizer owns malloc\n");
    return 77;
#endif
    void *volatile p = malloc(1); // volatile: compilers drop a pair that nobody sees
    free(p);
    CHECK(calls == 2, "the counters do not count: %lu", calls);
    for (int i = 0; i < TEST_ISAS; i++) {
        struct fovea_engine *const engine = test_engine(test_isas[i], NULL);
        if (!engine)
            continue;
        test_operators(engine);
        test_layers(engine);
        test_model(engine);
        fovea_engine_destroy(engine);
    }
    return test_done();
}
