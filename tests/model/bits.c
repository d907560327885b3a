// SPDX-License-Identifier: Apache-2.0
// tests/model/bits.c - the whole Transformer gives the same bits on every ISA, any number of threads, any order of
// tasks, any tiling, whole or step by step with caches.
//
// The model is random: d_model 192, 3 heads of 40 and 72, FFN 512, so attention crosses chunks (128) and splits (1024)
// and GEMMs cross k blocks. FOVEA_TEST_SMALL=1 shortens the sequences for emulators. The hash of the result is the
// same on every machine and stands here.
#include "fovea/fovea.h"
#include "tests/model/random_model.h"
#include "tests/support/engines.h"
#include "tests/support/test.h"
#include "tests/support/threads.h"

enum { WORKERS = 8, BATCH = 2, BEAM = 3 };
// FNV-1a of the log-probabilities of the full and of the small run.
static const uint64_t HASH_FULL = 0x23245078d852f450, HASH_SMALL = 0xc75e4682e35ae085;

static const struct fovea_transformer_config config = {.struct_size = sizeof config,
                                                       .norm = FOVEA_NORM_PRE,
                                                       .activation = FOVEA_ACTIVATION_GELU,
                                                       .positions = FOVEA_POSITIONS_SINUSOIDAL,
                                                       .eps = 1e-5f,
                                                       .scale_embeddings = 1,
                                                       .final_norm = 1,
                                                       .bos = 1,
                                                       .eos = 2,
                                                       .d_model = 192,
                                                       .heads = 3,
                                                       .qk_dim = 40,
                                                       .v_dim = 72,
                                                       .ffn = 512,
                                                       .encoder_layers = 1,
                                                       .decoder_layers = 2,
                                                       .source_vocab = 31,
                                                       .target_vocab = 47};

static size_t source_len = 300, target_len = 1100;
static struct random_model weights;
static uint32_t *source, *target, lens[BATCH];

static struct fovea_transformer *make(const struct fovea_engine *engine)
{
    return random_model_create(&weights, engine,
                               (struct fovea_transformer_options){.workers = WORKERS,
                                                                  .batch = BATCH,
                                                                  .beam = BEAM,
                                                                  .max_source = source_len,
                                                                  .max_target = target_len});
}

// The log-probabilities of all prefixes at once.
static void decode(struct fovea_transformer *model, const struct fovea_executor *executor, float *out)
{
    const enum fovea_status a = fovea_transformer_encode(model, BATCH, source_len, source, lens, executor);
    const enum fovea_status b = fovea_transformer_decode(model, target_len, target, out, executor);
    CHECK(!a && !b, "%s, %s", fovea_status_string(a), fovea_status_string(b));
}

static void compare(const char *what, const float *expected, const float *got)
{
    CHECK_SAME(expected, got, BATCH * target_len * config.target_vocab, "log-probabilities, %s", what);
}

// Step by step with caches: position p of every sequence must give the bits of the whole.
static void compare_steps(const char *what, struct fovea_transformer *model, const float *expected)
{
    const size_t vocab = config.target_vocab;
    float *const row = test_alloc(BATCH * vocab * sizeof *row);
    size_t wrong = 0, first = target_len;
    for (size_t p = 0; p < target_len; p++) {
        const uint32_t tokens[BATCH] = {target[p], target[target_len + p]};
        if (fovea_transformer_step(model, p, tokens, row, NULL))
            wrong++;
        for (size_t b = 0; b < BATCH; b++)
            if (test_differ(row + b * vocab, expected + (b * target_len + p) * vocab, vocab) != vocab) {
                first = p < first ? p : first;
                wrong++;
            }
    }
    CHECK(wrong == 0, "%s: %zu cached steps differ from the whole, the first at position %zu", what, wrong, first);
    free(row);
}

static void isa_case(const char *isa, const float *expected, float *out)
{
    struct fovea_engine *const engine = test_engine(isa, NULL);
    if (!engine) {
        printf("skip %s: this CPU or build lacks it\n", isa);
        return;
    }
    struct fovea_transformer *const model = make(engine);
    char what[64];
    decode(model, NULL, out);
    snprintf(what, sizeof what, "%s, serial", isa);
    compare(what, expected, out);
    compare_steps(isa, model, expected);
    for (uint32_t workers = 2; workers <= WORKERS; workers += 3) {
        struct test_threads threads;
        test_threads_init(&threads, workers, workers);
        decode(model, &threads.executor, out);
        snprintf(what, sizeof what, "%s, %u shuffled threads", isa, workers);
        compare(what, expected, out);
    }
    fovea_transformer_destroy(model);
    fovea_engine_destroy(engine);
}

static void tiling_case(uint64_t seed, const float *expected, float *out)
{
    const struct fovea_tiling tiling = {1 + test_below(&seed, 300), 1 + test_below(&seed, 200),
                                        1 + test_below(&seed, 400)};
    struct fovea_engine *const engine = test_engine(NULL, &tiling);
    struct fovea_transformer *const model = make(engine);
    char what[64];
    snprintf(what, sizeof what, "kc %u, mc %u, nc %u", tiling.kc, tiling.mc, tiling.nc);
    decode(model, NULL, out);
    compare(what, expected, out);
    fovea_transformer_destroy(model);
    fovea_engine_destroy(engine);
}

int main(void)
{
    const int small = getenv("FOVEA_TEST_SMALL") != NULL;
    if (small) {
        source_len = 40;
        target_len = 140;
    }
    random_model_init(&weights, &config, 7, RANDOM_ALL);
    source = test_alloc(BATCH * source_len * sizeof *source);
    target = test_alloc(BATCH * target_len * sizeof *target);
    random_tokens(source, BATCH * source_len, config.source_vocab, 1);
    random_tokens(target, BATCH * target_len, config.target_vocab, 2);
    lens[0] = (uint32_t)source_len;
    lens[1] = (uint32_t)source_len - 17;

    const size_t n = BATCH * target_len * config.target_vocab;
    float *const expected = test_alloc(n * sizeof *expected), *const out = test_alloc(n * sizeof *out);
    struct fovea_engine *const scalar = test_engine("scalar", NULL);
    struct fovea_transformer *const model = make(scalar);
    decode(model, NULL, expected);
    CHECK(isfinite(expected[n - 1]) && expected[0] < 0, "log-probabilities are %g ... %g", (double)expected[0],
          (double)expected[n - 1]);
    const uint64_t hash = test_hash(expected, n), known = small ? HASH_SMALL : HASH_FULL;
    CHECK(hash == known, "the bits of this machine hash to %016llx, elsewhere to %016llx", (unsigned long long)hash,
          (unsigned long long)known);

    for (int i = 1; i < TEST_ISAS; i++)
        isa_case(test_isas[i], expected, out);
    tiling_case(11, expected, out);
    tiling_case(12, expected, out);

    fovea_transformer_destroy(model);
    fovea_engine_destroy(scalar);
    random_model_free(&weights);
    free(source);
    free(target);
    free(expected);
    free(out);
    return test_done();
}
