// SPDX-License-Identifier: Apache-2.0
// tests/model/dropout.c - a Transformer in training is its layers and its embeddings, each with the sites that
// fovea/transformer.h names, to the bit; out of training it is one without dropout. Any ISA, any threads.
#include "nn/transformer.h"
#include "fovea/fovea.h"
#include "tests/model/random_model.h"
#include "tests/support/engines.h"
#include "tests/support/test.h"
#include "tests/support/threads.h"

enum { BATCH = 2, SOURCE = 19, TARGET = 23, WORKERS = 4 };
static const float p_drop = 0.25f;
static const uint64_t seed_of_run = 0xfedcba9876543210u;

static struct fovea_transformer_config config = {.struct_size = sizeof config,
                                                 .norm = FOVEA_NORM_PRE,
                                                 .activation = FOVEA_ACTIVATION_RELU,
                                                 .positions = FOVEA_POSITIONS_SINUSOIDAL,
                                                 .eps = 1e-5f,
                                                 .scale_embeddings = 1,
                                                 .final_norm = 1,
                                                 .bos = 1,
                                                 .eos = 2,
                                                 .d_model = 40,
                                                 .heads = 2,
                                                 .qk_dim = 20,
                                                 .v_dim = 12,
                                                 .ffn = 50,
                                                 .encoder_layers = 2,
                                                 .decoder_layers = 2,
                                                 .source_vocab = 31,
                                                 .target_vocab = 27};
enum { COUNT = BATCH * TARGET * 27 };

static struct random_model weights;
static uint32_t source[BATCH * SOURCE], target[BATCH * TARGET];
static const uint32_t lens[BATCH] = {SOURCE, SOURCE - 8};

static struct fovea_transformer *make(const struct fovea_engine *engine, float dropout)
{
    return random_model_create(&weights, engine,
                               (struct fovea_transformer_options){.workers = WORKERS,
                                                                  .batch = BATCH,
                                                                  .beam = 1,
                                                                  .max_source = SOURCE,
                                                                  .max_target = TARGET,
                                                                  .dropout = dropout});
}

static void decode(struct fovea_transformer *model, const struct fovea_executor *executor, float *out)
{
    CHECK(!fovea_transformer_encode(model, BATCH, SOURCE, source, lens, executor), "encode");
    CHECK(!fovea_transformer_decode(model, TARGET, target, out, executor), "decode");
}

static void same(const char *what, const float *expected, const float *got)
{
    CHECK_SAME(expected, got, COUNT, "%s", what);
}

// ---- The same from layers -------------------------------------------------------------------------------------------

static void row_wise(const struct fovea_engine *engine, enum fovea_rowwise_op op, const struct fovea_norm *norm,
                     uint32_t site, float *x, size_t rows, size_t cols)
{
    struct fovea_rowwise_desc d = FOVEA_ROWWISE_DESC_INIT;
    d.op = op;
    d.rows = rows, d.cols = d.ldx = d.ldx2 = d.ldy = cols;
    d.eps = config.eps;
    d.dropout = op == FOVEA_ROWWISE_DROPOUT ? p_drop : 0;
    const struct fovea_rowwise_args a = {.x = x,
                                         .y = x,
                                         .gamma = norm ? norm->gamma : NULL,
                                         .beta = norm ? norm->beta : NULL,
                                         .rows = rows,
                                         .seed = seed_of_run,
                                         .site = site};
    CHECK(!fovea_rowwise_once(engine, &d, &a), "row-wise");
}

static float *embedded(const struct fovea_engine *engine, const float *embedding, const float *positions,
                       const uint32_t *tokens, size_t len, uint32_t site)
{
    const size_t d = config.d_model;
    float *const x = test_alloc(BATCH * len * d * sizeof *x);
    for (size_t row = 0; row < BATCH * len; row++)
        for (size_t c = 0; c < d; c++)
            x[row * d + c] = embedding[tokens[row] * d + c] * sqrtf((float)d) + positions[row % len * d + c];
    row_wise(engine, FOVEA_ROWWISE_DROPOUT, NULL, site, x, BATCH * len, d);
    return x;
}

// In place, all layers; memory: NULL for the encoder.
static void layers(const struct fovea_engine *engine, const struct fovea_layer_weights *of, size_t count, size_t len,
                   uint32_t site, float *x, const float *memory)
{
    struct fovea_layer_desc d;
    CHECK(!fovea_layer_desc_init(&d, sizeof d), "desc");
    d.norm = config.norm, d.activation = config.activation, d.eps = config.eps;
    d.decoder = memory != NULL;
    d.batch = BATCH, d.len = len, d.memory_len = memory ? SOURCE : 0;
    d.width = config.d_model, d.heads = config.heads, d.qk_dim = config.qk_dim, d.v_dim = config.v_dim;
    d.ffn = config.ffn;
    d.dropout = p_drop;
    void *const plan = test_alloc(fovea_layer_plan_size());
    CHECK(!fovea_layer_plan(engine, &d, plan), "plan");
    const struct fovea_work *const work = plan;
    void *const shared = test_alloc(work->shared_bytes), *const scratch = test_alloc(work->scratch_bytes);
    for (size_t i = 0; i < count; i++, site += 4) {
        const struct fovea_layer_args args = {.weights = &of[i],
                                              .x = x,
                                              .y = x,
                                              .memory = memory,
                                              .batch = BATCH,
                                              .len = len,
                                              .memory_len = d.memory_len,
                                              .beams = 1,
                                              .lens = memory ? NULL : lens,
                                              .memory_lens = memory ? lens : NULL,
                                              .seed = seed_of_run,
                                              .site = site};
        CHECK(!fovea_layer(plan, &args, shared, scratch, NULL), "layer");
    }
    free(plan);
    free(shared);
    free(scratch);
}

// The log-probabilities in training, from the weights of a model.
static void compose(const struct fovea_engine *engine, const struct fovea_transformer *m, float *out)
{
    const uint32_t encoder = (uint32_t)config.encoder_layers, all = encoder + (uint32_t)config.decoder_layers;
    float *const memory = embedded(engine, m->source_embedding, m->source_positions, source, SOURCE, 4 * all);
    float *const x = embedded(engine, m->target_embedding, m->target_positions, target, TARGET, 4 * all + 1);
    layers(engine, m->encoder, config.encoder_layers, SOURCE, 0, memory, NULL);
    if (config.final_norm)
        row_wise(engine, FOVEA_ROWWISE_LAYERNORM, &m->encoder_norm, 0, memory, BATCH * SOURCE, config.d_model);
    layers(engine, m->decoder, config.decoder_layers, TARGET, 4 * encoder, x, memory);
    if (config.final_norm)
        row_wise(engine, FOVEA_ROWWISE_LAYERNORM, &m->decoder_norm, 0, x, BATCH * TARGET, config.d_model);
    struct fovea_gemm_desc d = FOVEA_GEMM_DESC_INIT;
    d.b_packed = 1;
    d.m = BATCH * TARGET, d.k = d.lda = config.d_model, d.n = d.ldc = config.target_vocab;
    const struct fovea_gemm_args a = {.a = x, .b = m->output.weight, .c = out, .bias = m->output.bias, .m = d.m};
    CHECK(!fovea_gemm_once(engine, &d, &a), "gemm");
    row_wise(engine, FOVEA_ROWWISE_LOG_SOFTMAX, NULL, 0, out, BATCH * TARGET, config.target_vocab);
    free(memory);
    free(x);
}

static void test_isa(const char *isa, const struct fovea_engine *engine, float *trained)
{
    static float out[COUNT], without[COUNT];
    struct fovea_transformer *const plain = make(engine, 0), *const model = make(engine, p_drop);
    decode(plain, NULL, without);
    decode(model, NULL, out);
    same("as made", without, out);

    CHECK(!fovea_transformer_train(model, 1, seed_of_run), "train");
    decode(model, NULL, out);
    if (trained[0] == 0) {
        compose(engine, model, trained);
        CHECK(test_differ(trained, without, COUNT) != COUNT, "nothing is dropped");
    }
    same(isa, trained, out);
    struct test_threads threads;
    test_threads_init(&threads, WORKERS, 3);
    decode(model, &threads.executor, out);
    same("threads", trained, out);
    CHECK(!fovea_transformer_train(model, 1, seed_of_run + 1), "train");
    decode(model, NULL, out);
    CHECK(test_differ(trained, out, COUNT) != COUNT, "%s: another seed, the same bits", isa);

    // Steps never drop; with an encoding that did not either they are the whole.
    CHECK(!fovea_transformer_train(model, 0, seed_of_run), "eval");
    decode(model, NULL, out);
    same("eval", without, out);
    CHECK(!fovea_transformer_train(model, 1, seed_of_run), "train");
    for (size_t t = 0; t < TARGET; t++) {
        const uint32_t tokens[BATCH] = {target[t], target[TARGET + t]};
        CHECK(!fovea_transformer_step(model, t, tokens, out, NULL), "step");
        for (size_t b = 0; b < BATCH; b++)
            CHECK(test_differ(out + b * 27, without + (b * TARGET + t) * 27, 27) == 27, "step %zu drops", t);
    }
    // Nor does a search, whatever was encoded.
    struct fovea_hypothesis searched[2][BATCH];
    for (int i = 0; i < 2; i++)
        CHECK(!fovea_transformer_search(i ? model : plain, BATCH, SOURCE, source, lens, 1, searched[i], NULL),
              "search");
    for (size_t b = 0; b < BATCH; b++)
        CHECK(searched[0][b].len == searched[1][b].len &&
                  test_differ(&searched[0][b].score, &searched[1][b].score, 1) == 1,
              "%s: a search in training drops", isa);
    decode(model, NULL, out);
    same("training, after a search", trained, out);
    CHECK(fovea_transformer_train(model, 2, 0) == FOVEA_ERR_ENUM, "on is 2");
    CHECK(fovea_transformer_train(NULL, 1, 0) == FOVEA_ERR_NULL, "no model");
    fovea_transformer_destroy(plain);
    fovea_transformer_destroy(model);
}

int main(void)
{
    struct fovea_engine *engines[TEST_ISAS];
    test_engines(engines);
    random_tokens(source, BATCH * SOURCE, config.source_vocab, 1);
    random_tokens(target, BATCH * TARGET, config.target_vocab, 2);
    for (int post = 0; post < 2; post++) {
        float trained[COUNT] = {0};
        config.norm = post ? FOVEA_NORM_POST : FOVEA_NORM_PRE;
        config.final_norm = !post;
        random_model_init(&weights, &config, 5, RANDOM_ALL);
        for (int i = 0; i < TEST_ISAS; i++)
            if (engines[i])
                test_isa(test_isas[i], engines[i], trained);
        random_model_free(&weights);
    }
    test_engines_free(engines);
    return test_done();
}
