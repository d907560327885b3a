// SPDX-License-Identifier: Apache-2.0
// tests/model/search.c - greedy and beam search against a naive search that decodes whole prefixes one by one.
//
// The naive search is written from the definition at the top of nn/search.c. It uses fovea_transformer_encode and
// fovea_transformer_decode on one sequence at a time, so it also says that neighbours in a batch change nothing. Models
// whose output layer has few distinct values give exact ties of all kinds. Nothing may be allocated while a model
// works: the linker sends every allocation of this program through the counters below (-Wl,--wrap).
#include "fovea/fovea.h"
#include "tests/model/random_model.h"
#include "tests/support/engines.h"
#include "tests/support/test.h"
#include "tests/support/threads.h"

enum { BATCH = 5, BEAM = 5, SOURCE = 9, TARGET = 12, VOCAB = 11, WORKERS = 3 };

static size_t allocations;

#define WRAP(name, parameters, ...)                                                                                    \
    void *__real_##name parameters;                                                                                    \
    void *__wrap_##name parameters;                                                                                    \
    void *__wrap_##name parameters                                                                                     \
    {                                                                                                                  \
        allocations++;                                                                                                 \
        return __real_##name(__VA_ARGS__);                                                                             \
    }
WRAP(malloc, (size_t bytes), bytes)
WRAP(calloc, (size_t count, size_t bytes), count, bytes)
WRAP(realloc, (void *old, size_t bytes), old, bytes)
WRAP(aligned_alloc, (size_t alignment, size_t bytes), alignment, bytes)

// ---- The naive search --------------------------------------------------------------------------------------------

struct hypothesis {
    float score;
    size_t len;
    uint32_t tokens[TARGET];
};

struct candidate {
    float score;
    uint32_t token;
    size_t parent;
};

// Best first; on a tie the lower token, then the lower parent.
static int order(const void *a, const void *b)
{
    const struct candidate *const x = a, *const y = b;
    if (x->score != y->score)
        return x->score > y->score ? -1 : 1;
    if (x->token != y->token)
        return x->token < y->token ? -1 : 1;
    return (x->parent > y->parent) - (x->parent < y->parent);
}

// Every extension of every live hypothesis, best first; those whose score is NaN are none.
static size_t extend(struct fovea_transformer *model, const struct hypothesis *live, size_t count,
                     struct candidate *candidates)
{
    static float log_probs[(TARGET + 1) * VOCAB];
    const struct fovea_transformer_config *const config = fovea_transformer_config_of(model);
    size_t found = 0;
    for (size_t parent = 0; parent < count; parent++) {
        uint32_t prefix[TARGET + 1] = {config->bos};
        const size_t len = live[parent].len;
        memcpy(prefix + 1, live[parent].tokens, len * sizeof *prefix);
        const enum fovea_status status = fovea_transformer_decode(model, len + 1, prefix, log_probs, NULL);
        CHECK(!status, "decode: %s", fovea_status_string(status));
        for (uint32_t token = 0; token < config->target_vocab; token++) {
            const float score = live[parent].score + log_probs[len * config->target_vocab + token];
            if (!isnan(score))
                candidates[found++] = (struct candidate){score, token, parent};
        }
    }
    qsort(candidates, found, sizeof *candidates, order);
    return found;
}

// Takes the finished out of the beam best candidates; what goes on becomes the live set. Returns how many go on.
static size_t divide(const struct candidate *candidates, size_t count, uint32_t eos, struct hypothesis *live,
                     struct hypothesis *finished, size_t *finished_count)
{
    struct hypothesis next[BEAM];
    size_t going = 0;
    for (size_t i = 0; i < count; i++) {
        struct hypothesis h = live[candidates[i].parent];
        h.score = candidates[i].score;
        if (candidates[i].token == eos) {
            finished[(*finished_count)++] = h;
            continue;
        }
        h.tokens[h.len++] = candidates[i].token;
        next[going++] = h;
    }
    memcpy(live, next, going * sizeof *next);
    return going;
}

static int goes_on(const struct hypothesis *live, size_t live_count, const struct hypothesis *finished,
                   size_t finished_count, size_t beam)
{
    if (finished_count >= beam || live_count == 0)
        return 0;
    float worst = INFINITY;
    for (size_t i = 0; i < finished_count; i++)
        worst = finished[i].score < worst ? finished[i].score : worst;
    return finished_count == 0 || live[0].score > worst;
}

static struct hypothesis naive(struct fovea_transformer *model, const uint32_t *source, uint32_t len, size_t beam)
{
    struct hypothesis live[BEAM] = {{0}}, finished[BEAM + TARGET * BEAM];
    static struct candidate candidates[BEAM * VOCAB];
    const uint32_t eos = fovea_transformer_config_of(model)->eos;
    const enum fovea_status status = fovea_transformer_encode(model, 1, len, source, NULL, NULL);
    CHECK(!status, "encode: %s", fovea_status_string(status));
    size_t live_count = 1, finished_count = 0;
    for (size_t t = 0; t < TARGET && goes_on(live, live_count, finished, finished_count, beam); t++) {
        const size_t found = extend(model, live, live_count, candidates);
        live_count = divide(candidates, found < beam ? found : beam, eos, live, finished, &finished_count);
    }
    if (finished_count == 0)
        return live_count ? live[0] : (struct hypothesis){.score = -INFINITY};
    size_t best = 0;
    for (size_t i = 1; i < finished_count; i++)
        best = finished[i].score > finished[best].score ? i : best;
    return finished[best];
}

// ---- Models --------------------------------------------------------------------------------------------------------

// What is done to a random model.
enum change {
    AS_IT_IS,
    TIES,
    TIED_PARENTS,
    TIED_PAIRS,
    SURE,
    NO_END,
    AT_ONCE,
    LIKELY_END,
    SURE_END,
    IMPOSSIBLE,
    NOT_A_NUMBER,
    CHANGES
};
static const char *const change_names[CHANGES] = {"as it is", "ties",   "tied parents", "tied pairs",
                                                  "sure",     "no end", "ends at once", "likely end",
                                                  "sure end", "-inf",   "NaN"};

static bool has_ties(enum change change)
{
    return change == TIES || change == TIED_PARENTS || change == TIED_PAIRS;
}

static void change_bias(float *bias, size_t vocab, uint32_t eos, enum change change)
{
    if (change == NO_END)
        bias[eos] = -1000;
    if (change == AT_ONCE)
        bias[eos] = 1000;
    if (change == LIKELY_END)
        bias[eos] += 2;
    if (change == SURE_END)
        bias[eos] += 4;
    for (size_t v = 0; v < vocab; v++)
        if (has_ties(change))
            bias[v] = 0;
        else if (change == IMPOSSIBLE && v % 4)
            bias[v] = -INFINITY;
    if (change == NOT_A_NUMBER)
        bias[vocab - 1] = NAN;
}

static void change(struct random_model *model, enum change change)
{
    size_t n, vocab;
    float *const weight = random_model_tensor(model, "output.weight", &n);
    float *const bias = random_model_tensor(model, "output.bias", &vocab);
    float *const embedding = random_model_tensor(model, "target_embedding.weight", NULL);
    const size_t width = n / vocab;
    for (size_t i = 0; i < n; i++) {
        if (has_ties(change)) // three kinds of tokens
            weight[i] = weight[i % (3 * width)];
        if (change == TIED_PARENTS) // all tokens look alike: only the position tells
            embedding[i] = embedding[i % width];
        if (change == TIED_PAIRS) // six kinds of what follows: tied ends of tied parents go on differently
            embedding[i] = embedding[i % (6 * width)];
        if (change == SURE) // one token far above the others: much ends while something better lives
            weight[i] *= 5;
        if (change == SURE_END) // and often more ends than the beam is wide
            weight[i] *= 16;
    }
    change_bias(bias, vocab, model->config.eos, change);
}

static struct fovea_transformer *create(const struct random_model *random, const struct fovea_engine *engine)
{
    return random_model_create(random, engine,
                               (struct fovea_transformer_options){.workers = WORKERS,
                                                                  .batch = BATCH,
                                                                  .beam = BEAM,
                                                                  .max_source = SOURCE,
                                                                  .max_target = TARGET});
}

static void compare(const char *what, size_t beam, size_t b, const struct hypothesis *expected,
                    const struct fovea_hypothesis *got)
{
    CHECK(test_differ(&got->score, &expected->score, 1) == 1 && got->len == expected->len &&
              memcmp(got->tokens, expected->tokens, got->len * sizeof *got->tokens) == 0,
          "%s, beam %zu, sequence %zu: score %a of %zu tokens, expected %a of %zu", what, beam, b, (double)got->score,
          got->len, (double)expected->score, expected->len);
}

static size_t total_len; // of all results: says that searches neither all end at once nor never

static void test_searches(const char *what, struct fovea_transformer *model, struct fovea_transformer *other,
                          uint64_t seed)
{
    uint32_t source[BATCH * SOURCE], lens[BATCH];
    const size_t vocab = fovea_transformer_config_of(model)->source_vocab;
    struct test_threads threads;
    test_threads_init(&threads, WORKERS, seed);
    for (size_t beam = 1; beam <= BEAM; beam++) {
        const size_t batch = 1 + test_below(&seed, BATCH), len = 1 + test_below(&seed, SOURCE);
        random_tokens(source, batch * len, vocab, seed);
        for (size_t b = 0; b < batch; b++)
            lens[b] = (uint32_t)(b == 0 ? len : 1 + test_below(&seed, (uint32_t)len));
        struct fovea_hypothesis found[BATCH];
        const size_t before = allocations;
        const int threaded = beam % 2 == 0; // the test's threads allocate
        const enum fovea_status status =
            fovea_transformer_search(model, batch, len, source, lens, beam, found, threaded ? &threads.executor : NULL);
        CHECK(!status, "%s, beam %zu: %s", what, beam, fovea_status_string(status));
        CHECK(threaded || allocations == before, "%s, beam %zu: %zu allocations", what, beam, allocations - before);
        for (size_t b = 0; b < batch && !status; b++) {
            const struct hypothesis expected = naive(other, source + b * len, lens[b], beam);
            compare(what, beam, b, &expected, &found[b]);
            total_len += found[b].len;
        }
    }
}

static void test_allocations(struct fovea_transformer *model)
{
    uint32_t tokens[BATCH * SOURCE] = {0};
    static float log_probs[BATCH * TARGET * VOCAB];
    const size_t before = allocations;
    int failed = fovea_transformer_encode(model, BATCH, SOURCE, tokens, NULL, NULL) != FOVEA_OK;
    failed += fovea_transformer_decode(model, SOURCE, tokens, log_probs, NULL) != FOVEA_OK;
    failed += fovea_transformer_step(model, 0, tokens, log_probs, NULL) != FOVEA_OK;
    CHECK(!failed && allocations == before, "%d calls failed, %zu allocations", failed, allocations - before);
}

static void test_model(const struct fovea_engine *engine, enum change what, uint64_t seed)
{
    const struct fovea_transformer_config config = {
        .struct_size = sizeof config, .norm = seed % 2 ? FOVEA_NORM_PRE : FOVEA_NORM_POST,
        .activation = FOVEA_ACTIVATION_RELU, .positions = what == TIED_PARENTS ? seed % 2 : seed % 3,
        .eps = 1e-5f, .final_norm = seed % 2, .bos = 1, .eos = 2, .d_model = 16, .heads = 2, .qk_dim = 8, .v_dim = 6,
        .ffn = 20, .encoder_layers = 1, .decoder_layers = 1 + seed % 2, .source_vocab = 7,
        .target_vocab = VOCAB - seed % 3};
    struct random_model random;
    random_model_init(&random, &config, seed, RANDOM_ALL);
    change(&random, what);
    struct fovea_transformer *const model = create(&random, engine), *const other = create(&random, engine);
    test_searches(change_names[what], model, other, seed);
    test_allocations(model);
    fovea_transformer_destroy(model);
    fovea_transformer_destroy(other);
    random_model_free(&random);
}

int main(void)
{
    struct fovea_engine *engines[TEST_ISAS];
    test_engines(engines);
    const uint64_t seeds = getenv("FOVEA_TEST_SMALL") ? 2 : 8;
    for (int i = 0; i < TEST_ISAS; i++)
        for (uint64_t seed = 0; engines[i] && seed < seeds; seed++) // other models on each: model_bits compares them
            for (enum change what = AS_IT_IS; what < CHANGES; what++)
                test_model(engines[i], what, seed + (uint64_t)i * seeds);
    CHECK(total_len > 300 * seeds, "all results together have %zu tokens", total_len);
    CHECK(allocations > 0, "allocations are not counted");
    test_engines_free(engines);
    return test_done();
}
