// SPDX-License-Identifier: Apache-2.0
// tests/model/weight_types.c - Transformers from files of F32, BF16 and F16 tensors, and of weights that are rounded to
// 8 bits: the bits of the same numbers in an F32 file, encoded and decoded at once, step by step, and searched, on
// every ISA. Linears of two types are refused.
#include "fovea/fovea.h"
#include "tests/model/narrow.h"
#include "tests/support/engines.h"
#include "tests/support/s8.h"
#include "tests/support/test.h"
#include "tests/support/threads.h"

enum { BATCH = 3, BEAM = 4, SOURCE = 11, TARGET = 9, VOCAB = 37, TENSORS = 100, WORKERS = 3 };

static const struct fovea_transformer_config plain = {.struct_size = sizeof plain,
                                                      .norm = FOVEA_NORM_PRE,
                                                      .activation = FOVEA_ACTIVATION_GELU,
                                                      .positions = FOVEA_POSITIONS_SINUSOIDAL,
                                                      .eps = 1e-5f,
                                                      .scale_embeddings = 1,
                                                      .final_norm = 1,
                                                      .bos = 1,
                                                      .eos = 2,
                                                      .d_model = 40,
                                                      .heads = 2,
                                                      .qk_dim = 12,
                                                      .v_dim = 20,
                                                      .ffn = 51,
                                                      .encoder_layers = 1,
                                                      .decoder_layers = 2,
                                                      .source_vocab = 31,
                                                      .target_vocab = VOCAB};

// What one file may have: the type of its Linears' weights, and how those of other tensors follow from their numbers.
enum others { OTHERS_F32, OTHERS_SAME, OTHERS_MIXED, OTHERS };

static int is_matrix(const struct fovea_tensor *t)
{
    return t->dims == 2 && !strstr(t->name, "embedding") && !strstr(t->name, "positions");
}

static void choose(const struct fovea_safetensors *file, enum fovea_type matrices, enum others others,
                   enum fovea_type types[TENSORS])
{
    const size_t count = fovea_safetensors_count(file);
    CHECK(count <= TENSORS, "%zu tensors", count);
    for (size_t i = 0; i < count; i++) {
        const enum fovea_type of[OTHERS] = {FOVEA_F32, matrices, (enum fovea_type)(i % 3)};
        types[i] = is_matrix(fovea_safetensors_at(file, i)) ? matrices : of[others];
    }
}

static struct fovea_transformer *make(const struct random_model *weights, const struct fovea_engine *engine,
                                      uint32_t round_s8)
{
    return random_model_create(weights, engine,
                               (struct fovea_transformer_options){.workers = WORKERS,
                                                                  .batch = BATCH,
                                                                  .beam = BEAM,
                                                                  .max_source = SOURCE,
                                                                  .max_target = TARGET,
                                                                  .round_s8 = round_s8});
}

// Everything a model computes.
struct results {
    float whole[BATCH * TARGET * VOCAB], steps[TARGET * BATCH * VOCAB], scores[2 * BATCH];
    uint32_t tokens[2 * BATCH * TARGET];
    size_t lens[2 * BATCH];
};

static void compute(struct fovea_transformer *model, const struct fovea_executor *executor, struct results *r)
{
    uint32_t source[BATCH * SOURCE], target[BATCH * TARGET];
    const uint32_t lens[BATCH] = {SOURCE, 4, SOURCE - 1};
    random_tokens(source, BATCH * SOURCE, plain.source_vocab, 1);
    random_tokens(target, BATCH * TARGET, plain.target_vocab, 2);
    memset(r, 0, sizeof *r);
    CHECK(!fovea_transformer_encode(model, BATCH, SOURCE, source, lens, executor), "encode");
    CHECK(!fovea_transformer_decode(model, TARGET, target, r->whole, executor), "decode");
    for (size_t p = 0; p < TARGET; p++) {
        const uint32_t tokens[BATCH] = {target[p], target[TARGET + p], target[2 * TARGET + p]};
        CHECK(!fovea_transformer_step(model, p, tokens, r->steps + p * BATCH * VOCAB, executor), "step %zu", p);
    }
    for (size_t i = 0; i < 2; i++) {
        struct fovea_hypothesis found[BATCH] = {{0, 0, NULL}};
        CHECK(!fovea_transformer_search(model, BATCH, SOURCE, source, lens, i ? BEAM : 1, found, executor), "search");
        for (size_t b = 0; b < BATCH; b++) {
            r->scores[i * BATCH + b] = found[b].score;
            r->lens[i * BATCH + b] = found[b].len;
            memcpy(r->tokens + (i * BATCH + b) * TARGET, found[b].tokens, found[b].len * sizeof *found[b].tokens);
        }
    }
}

static void compare(const struct results *want, const struct results *got, const char *what)
{
    CHECK_SAME(want->whole, got->whole, BATCH * TARGET * VOCAB, "%s: decoding at once", what);
    CHECK_SAME(want->steps, got->steps, TARGET * BATCH * VOCAB, "%s: steps", what);
    CHECK_SAME(want->scores, got->scores, 2 * BATCH, "%s: scores", what);
    CHECK(memcmp(want->tokens, got->tokens, sizeof want->tokens) == 0, "%s: the tokens found", what);
    CHECK(memcmp(want->lens, got->lens, sizeof want->lens) == 0, "%s: their number", what);
}

// That two models are the same, the second also with threads.
static void test_same(const struct random_model *wide, const struct random_model *narrow, uint32_t round_s8,
                      bool threads, const char *name)
{
    struct results want, got;
    char what[80];
    for (int i = 0; i < TEST_ISAS; i++) {
        struct fovea_engine *const engine = test_engine(test_isas[i], NULL);
        if (!engine)
            continue;
        struct fovea_transformer *const expected = make(wide, engine, 0), *const model = make(narrow, engine, round_s8);
        struct test_threads pool;
        test_threads_init(&pool, WORKERS, 1);
        snprintf(what, sizeof what, "%s, %s", test_isas[i], name);
        compute(expected, NULL, &want);
        compute(model, NULL, &got);
        compare(&want, &got, what);
        if (threads) {
            compute(model, &pool.executor, &got);
            compare(&want, &got, what);
        }
        fovea_transformer_destroy(expected);
        fovea_transformer_destroy(model);
        fovea_engine_destroy(engine);
    }
}

static void test_file(const struct fovea_transformer_config *config, enum fovea_type matrices, enum others others)
{
    struct random_model wide, narrow;
    enum fovea_type types[TENSORS];
    char name[60];
    random_model_init(&wide, config, 5, RANDOM_SOME);
    choose(wide.file, matrices, others, types);
    random_model_narrow(&wide, types, &narrow);
    snprintf(name, sizeof name, "type %d, others %d", (int)matrices, (int)others);
    test_same(&wide, &narrow, 0, others == OTHERS_MIXED, name);
    random_model_free(&wide);
    random_model_free(&narrow);
}

// Numbers of 8 bits, which rounding does not change: with options.round_s8 and without the model is the same.
static void test_s8(const struct fovea_transformer_config *config)
{
    struct random_model wide;
    random_model_init(&wide, config, 5, RANDOM_SOME);
    for (size_t i = 0; i < fovea_safetensors_count(wide.file); i++) {
        const struct fovea_tensor *const t = fovea_safetensors_at(wide.file, i);
        if (is_matrix(t))
            s8_round(FOVEA_TRANS, t->shape[1], t->shape[0], random_model_tensor(&wide, t->name, NULL), t->shape[1]);
    }
    test_same(&wide, &wide, 1, true, "s8");
    random_model_free(&wide);
}

// A weight that is not finite is refused by name, and so is a flag that is neither 0 nor 1.
static void test_s8_refused(const struct fovea_engine *engine, const struct fovea_transformer_config *config,
                            const char *name, const char *says)
{
    struct random_model wide;
    struct fovea_transformer *model = NULL;
    char message[300] = "";
    struct fovea_transformer_options options = {
        .struct_size = sizeof options, .workers = 1, .batch = 1, .beam = 1, .max_source = SOURCE, .max_target = TARGET};
    random_model_init(&wide, config, 5, RANDOM_ALL);
    random_model_tensor(&wide, name, NULL)[3] = NAN;
    options.round_s8 = 1;
    CHECK(fovea_transformer_create(engine, wide.file, config, &options, &model, message, sizeof message) ==
                  FOVEA_ERR_VALUE &&
              !model && strcmp(message, says) == 0,
          "the line is \"%s\"", message);
    options.round_s8 = 2;
    CHECK(fovea_transformer_create(engine, wide.file, config, &options, &model, message, sizeof message) ==
              FOVEA_ERR_ENUM,
          "round_s8 is 2: \"%s\"", message);
    random_model_free(&wide);
}

// A Linear's weight of another type than that of output.weight is refused by a line that names both.
static void test_refused(const struct fovea_engine *engine, const char *name, enum fovea_type own, enum fovea_type rest,
                         const char *says)
{
    struct random_model wide, narrow;
    enum fovea_type types[TENSORS];
    struct fovea_transformer *model = NULL;
    char message[300] = "";
    const struct fovea_transformer_options options = {
        .struct_size = sizeof options, .workers = 1, .batch = 1, .beam = 1, .max_source = SOURCE, .max_target = TARGET};
    random_model_init(&wide, &plain, 5, RANDOM_ALL);
    choose(wide.file, rest, OTHERS_SAME, types);
    types[fovea_safetensors_find(wide.file, name) - fovea_safetensors_at(wide.file, 0)] = own;
    random_model_narrow(&wide, types, &narrow);
    CHECK(fovea_transformer_create(engine, narrow.file, &plain, &options, &model, message, sizeof message) ==
              FOVEA_ERR_FORMAT,
          "%s of another type", name);
    CHECK(!model && strcmp(message, says) == 0, "the line is \"%s\"", message);
    random_model_free(&wide);
    random_model_free(&narrow);
}

int main(void)
{
    struct fovea_transformer_config gated = plain;
    gated.gated = 1;
    gated.norm = FOVEA_NORM_POST;
    gated.norm_kind = FOVEA_NORM_RMS;
    gated.activation = FOVEA_ACTIVATION_SILU;
    gated.positions = FOVEA_POSITIONS_LEARNED;
    gated.final_norm = 0;
    for (int type = FOVEA_F32; type <= FOVEA_F16; type++)
        for (int others = OTHERS_F32; others < OTHERS; others++) {
            test_file(&plain, (enum fovea_type)type, (enum others)others);
            test_file(&gated, (enum fovea_type)type, (enum others)others);
        }
    test_s8(&plain);
    test_s8(&gated);
    struct fovea_engine *const engine = test_engine(NULL, NULL);
    test_s8_refused(
        engine, &plain, "decoder.layers.0.ffn.down.weight",
        "tensor \"decoder.layers.0.ffn.down.weight\" has an element that is infinite, NaN or too large for 8 "
        "bits");
    test_s8_refused(
        engine, &gated, "encoder.layers.0.ffn.gate.weight",
        "tensor \"encoder.layers.0.ffn.gate.weight\" has an element that is infinite, NaN or too large for 8 "
        "bits");
    test_s8_refused(
        engine, &gated, "encoder.layers.0.ffn.up.weight",
        "tensor \"encoder.layers.0.ffn.up.weight\" has an element that is infinite, NaN or too large for 8 bits");
    test_refused(engine, "decoder.layers.1.ffn.up.weight", FOVEA_F32, FOVEA_BF16,
                 "tensor \"decoder.layers.1.ffn.up.weight\" is F32, but \"output.weight\" is BF16: the weights of all "
                 "Linears have one type");
    test_refused(
        engine, "encoder.layers.0.self_attention.k.weight", FOVEA_F16, FOVEA_F32,
        "tensor \"encoder.layers.0.self_attention.k.weight\" is F16, but \"output.weight\" is F32: the weights "
        "of all Linears have one type");
    test_refused(engine, "output.weight", FOVEA_BF16, FOVEA_F16,
                 "tensor \"encoder.layers.0.self_attention.q.weight\" is F16, but \"output.weight\" is BF16: the "
                 "weights of all Linears have one type");
    fovea_engine_destroy(engine);
    return test_done();
}
