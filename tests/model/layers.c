// SPDX-License-Identifier: Apache-2.0
// tests/model/layers.c - whole Transformers of every architecture against the float64 oracle, bits among the ISAs.
//
// The bound: a sublayer's GEMMs are chains of at most k products of numbers of about 1 by weights of about 1/sqrt(k),
// whose rounding errors add like a random walk to some sqrt(k) u (u = 2^-24), GEMM after GEMM; a norm keeps what came
// before at that size. After s sublayers, and as logits of about 1, log-probabilities are off by a few s sqrt(k) u. The
// factor in front is 4: errors of 0.2 to 0.8 s sqrt(k) u are found, any wrong constant or missing term gives thousands.
#include "fovea/fovea.h"
#include "tests/model/oracle.h"
#include "tests/model/random_model.h"
#include "tests/support/engines.h"
#include "tests/support/test.h"

enum { BATCH = 3 };

struct architecture {
    const char *name;
    struct fovea_transformer_config config;
    enum random_biases biases;
    size_t source_len, target_len;
};

#define COMMON .struct_size = sizeof(struct fovea_transformer_config), .eps = 1e-5f, .bos = 1, .eos = 2
static const struct architecture architectures[] = {
    {"post-norm, as in the paper",
     {COMMON, .norm = FOVEA_NORM_POST, .activation = FOVEA_ACTIVATION_RELU, .scale_embeddings = 1, .d_model = 48,
      .heads = 4, .qk_dim = 12, .v_dim = 12, .ffn = 96, .encoder_layers = 2, .decoder_layers = 2, .source_vocab = 19,
      .target_vocab = 23},
     RANDOM_ALL, 21, 19},
    {"pre-norm, final norm, GELU",
     {COMMON, .norm = FOVEA_NORM_PRE, .activation = FOVEA_ACTIVATION_GELU, .scale_embeddings = 1, .final_norm = 1,
      .d_model = 40, .heads = 2, .qk_dim = 20, .v_dim = 20, .ffn = 72, .encoder_layers = 2, .decoder_layers = 2,
      .source_vocab = 17, .target_vocab = 33},
     RANDOM_ALL, 17, 20},
    {"learned positions, some biases, GELU by tanh",
     {COMMON, .norm = FOVEA_NORM_PRE, .activation = FOVEA_ACTIVATION_GELU_TANH, .positions = FOVEA_POSITIONS_LEARNED,
      .final_norm = 1, .d_model = 33, .heads = 3, .qk_dim = 7, .v_dim = 21, .ffn = 65, .encoder_layers = 1,
      .decoder_layers = 2, .source_vocab = 16, .target_vocab = 16},
     RANDOM_SOME, 24, 13},
    {"no positions, no biases, tanh",
     {COMMON, .norm = FOVEA_NORM_POST, .activation = FOVEA_ACTIVATION_TANH, .positions = FOVEA_POSITIONS_NONE,
      .scale_embeddings = 1, .d_model = 64, .heads = 2, .qk_dim = 48, .v_dim = 16, .ffn = 128, .encoder_layers = 1,
      .decoder_layers = 1, .source_vocab = 50, .target_vocab = 49},
     RANDOM_NONE, 5, 31},
    {"no encoder layers, one wide head, no activation",
     {COMMON, .norm = FOVEA_NORM_PRE, .activation = FOVEA_ACTIVATION_NONE, .positions = FOVEA_POSITIONS_NONE,
      .final_norm = 0, .d_model = 16, .heads = 1, .qk_dim = 130, .v_dim = 1, .ffn = 1, .decoder_layers = 3,
      .source_vocab = 9, .target_vocab = 4},
     RANDOM_SOME, 1, 7},
    {"RMSNorm and SwiGLU, as in Llama, no biases",
     {COMMON, .norm = FOVEA_NORM_PRE, .norm_kind = FOVEA_NORM_RMS, .activation = FOVEA_ACTIVATION_SILU, .gated = 1,
      .final_norm = 1, .d_model = 48, .heads = 3, .qk_dim = 16, .v_dim = 16, .ffn = 88, .encoder_layers = 2,
      .decoder_layers = 2, .source_vocab = 21, .target_vocab = 27},
     RANDOM_NONE, 18, 22},
    {"GEGLU, post-norm, some biases", // of one layer the value's, not the gate's
     {COMMON, .norm = FOVEA_NORM_POST, .activation = FOVEA_ACTIVATION_GELU, .gated = 1, .scale_embeddings = 1,
      .d_model = 30, .heads = 2, .qk_dim = 11, .v_dim = 15, .ffn = 43, .encoder_layers = 4, .decoder_layers = 1,
      .source_vocab = 14, .target_vocab = 18},
     RANDOM_SOME, 20, 15},
    {"RMSNorm with biases, post-norm, SiLU",
     {COMMON, .norm = FOVEA_NORM_POST, .norm_kind = FOVEA_NORM_RMS, .activation = FOVEA_ACTIVATION_SILU,
      .scale_embeddings = 1, .d_model = 36, .heads = 4, .qk_dim = 9, .v_dim = 9, .ffn = 70, .encoder_layers = 1,
      .decoder_layers = 2, .source_vocab = 13, .target_vocab = 19},
     RANDOM_ALL, 16, 17},
    {"odd width, longer than a chunk of keys",
     {COMMON, .norm = FOVEA_NORM_PRE, .activation = FOVEA_ACTIVATION_RELU, .scale_embeddings = 1, .final_norm = 1,
      .d_model = 27, .heads = 3, .qk_dim = 9, .v_dim = 5, .ffn = 50, .encoder_layers = 1, .decoder_layers = 1,
      .source_vocab = 30, .target_vocab = 20},
     RANDOM_ALL, 150, 140},
};

// One architecture with its input.
struct work {
    const struct architecture *what;
    struct random_model model;
    uint32_t *source, *target, lens[BATCH];
    size_t count; // of log-probabilities
    double *oracle;
    float *scalar, *out;
};

static void work_init(struct work *w, const struct architecture *what, uint64_t seed)
{
    const size_t vocab = what->config.target_vocab, row = what->target_len * vocab;
    *w = (struct work){.what = what, .count = BATCH * row};
    random_model_init(&w->model, &what->config, seed, what->biases);
    w->source = test_alloc(BATCH * what->source_len * sizeof *w->source);
    w->target = test_alloc(BATCH * what->target_len * sizeof *w->target);
    random_tokens(w->source, BATCH * what->source_len, what->config.source_vocab, seed + 1);
    random_tokens(w->target, BATCH * what->target_len, vocab, seed + 2);
    w->oracle = test_alloc(w->count * sizeof *w->oracle);
    w->scalar = test_alloc(w->count * sizeof *w->scalar);
    w->out = test_alloc(w->count * sizeof *w->out);
    for (size_t b = 0; b < BATCH; b++) {
        w->lens[b] = (uint32_t)(what->source_len - b * (what->source_len / 3));
        oracle_log_probs(&what->config, w->model.file, what->source_len, w->lens[b], w->source + b * what->source_len,
                         what->target_len, w->target + b * what->target_len, w->oracle + b * row);
    }
}

static void work_free(struct work *w)
{
    random_model_free(&w->model);
    free(w->source);
    free(w->target);
    free(w->oracle);
    free(w->scalar);
    free(w->out);
}

static struct fovea_transformer *encoded(const struct work *w, const struct fovea_engine *engine)
{
    struct fovea_transformer *const model = random_model_create(
        &w->model, engine,
        (struct fovea_transformer_options){.workers = 1,
                                           .batch = BATCH + 1,
                                           .beam = 2,
                                           .max_source = w->what->source_len + (w->what->source_len < 40 ? 3 : 0),
                                           .max_target = w->what->target_len + (w->what->target_len < 40 ? 2 : 0)});
    const enum fovea_status status =
        fovea_transformer_encode(model, BATCH, w->what->source_len, w->source, w->lens, NULL);
    CHECK(!status, "%s: encode: %s", w->what->name, fovea_status_string(status));
    return model;
}

static void against_oracle(const struct work *w)
{
    const struct fovea_transformer_config *const c = &w->what->config;
    size_t k = c->d_model > c->ffn ? c->d_model : c->ffn;
    k = c->heads * c->v_dim > k ? c->heads * c->v_dim : k;
    const double unit = (double)(2 * c->encoder_layers + 3 * c->decoder_layers + 1) * sqrt((double)k) * 0x1p-24;
    double worst = 0;
    for (size_t i = 0; i < w->count; i++) {
        const double off = fabs((double)w->scalar[i] - w->oracle[i]);
        worst = off > worst || isnan(off) ? off : worst;
    }
    CHECK(worst <= 4 * unit, "%s: %g from float64, %.1f times s sqrt(k) u", w->what->name, worst, worst / unit);
    printf("%s: %.2g from float64, %.2f s sqrt(k) u\n", w->what->name, worst, worst / unit);
}

static void test_steps(const struct work *w, const char *isa, struct fovea_transformer *model)
{
    const size_t vocab = w->what->config.target_vocab, len = w->what->target_len;
    float *const row = test_alloc(BATCH * vocab * sizeof *row);
    size_t wrong = 0;
    for (size_t t = 0; t < len; t++) {
        const uint32_t tokens[BATCH] = {w->target[t], w->target[len + t], w->target[2 * len + t]};
        wrong += fovea_transformer_step(model, t, tokens, row, NULL) != FOVEA_OK;
        for (size_t b = 0; b < BATCH; b++)
            wrong += test_differ(row + b * vocab, w->scalar + (b * len + t) * vocab, vocab) != vocab;
    }
    CHECK(wrong == 0, "%s, %s: %zu cached steps differ from the whole", w->what->name, isa, wrong);
    free(row);
}

static void test_architecture(const struct architecture *what, uint64_t seed,
                              struct fovea_engine *const engines[TEST_ISAS])
{
    struct work w;
    work_init(&w, what, seed);
    for (int i = 0; i < TEST_ISAS; i++) {
        if (!engines[i])
            continue;
        struct fovea_transformer *const model = encoded(&w, engines[i]);
        const enum fovea_status status =
            fovea_transformer_decode(model, what->target_len, w.target, i ? w.out : w.scalar, NULL);
        CHECK(!status, "%s, %s: decode: %s", what->name, test_isas[i], fovea_status_string(status));
        if (i == 0)
            against_oracle(&w);
        else
            CHECK(test_differ(w.scalar, w.out, w.count) == w.count, "%s: %s differs from scalar", what->name,
                  test_isas[i]);
        test_steps(&w, test_isas[i], model);
        fovea_transformer_destroy(model);
    }
    work_free(&w);
}

int main(void)
{
    struct fovea_engine *engines[TEST_ISAS];
    test_engines(engines);
    for (size_t i = 0; i < sizeof architectures / sizeof *architectures; i++)
        test_architecture(&architectures[i], 100 * i, engines);
    test_engines_free(engines);
    return test_done();
}
