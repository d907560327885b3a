// SPDX-License-Identifier: Apache-2.0
// tests/model/weight_types.c - Transformers from files of F32, BF16 and F16 tensors: the bits of the same numbers in an
// F32 file, encoded and decoded at once, step by step, and searched, on every ISA. Linears of two types are refused.
#include "fovea/fovea.h"
#include "tests/model/narrow.h"
#include "tests/support/engines.h"
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

static struct fovea_transformer *make(const struct random_model *weights, const struct fovea_engine *engine)
{
    return random_model_create(
        weights, engine,
        (struct fovea_transformer_options){
            .workers = WORKERS, .batch = BATCH, .beam = BEAM, .max_source = SOURCE, .max_target = TARGET});
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

static void test_file(const struct fovea_transformer_config *config, enum fovea_type matrices, enum others others)
{
    struct random_model wide, narrow;
    struct results want, got;
    enum fovea_type types[TENSORS];
    char what[80];
    random_model_init(&wide, config, 5, RANDOM_SOME);
    choose(wide.file, matrices, others, types);
    random_model_narrow(&wide, types, &narrow);
    for (int i = 0; i < TEST_ISAS; i++) {
        struct fovea_engine *const engine = test_engine(test_isas[i], NULL);
        if (!engine)
            continue;
        struct fovea_transformer *const expected = make(&wide, engine), *const model = make(&narrow, engine);
        struct test_threads threads;
        test_threads_init(&threads, WORKERS, 1);
        snprintf(what, sizeof what, "%s, type %d, others %d", test_isas[i], (int)matrices, (int)others);
        compute(expected, NULL, &want);
        compute(model, NULL, &got);
        compare(&want, &got, what);
        if (others == OTHERS_MIXED) {
            compute(model, &threads.executor, &got);
            compare(&want, &got, what);
        }
        fovea_transformer_destroy(expected);
        fovea_transformer_destroy(model);
        fovea_engine_destroy(engine);
    }
    random_model_free(&wide);
    random_model_free(&narrow);
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
    struct fovea_engine *const engine = test_engine(NULL, NULL);
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
