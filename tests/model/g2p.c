// SPDX-License-Identifier: Apache-2.0
// tests/model/g2p.c - the trained model of examples/g2p against what PyTorch computed from the same weights.
//
// usage: test_model_g2p FOLDER, which has g2p.safetensors and golden.safetensors (made by golden.py: words, their
// greedy tokens and the log-probabilities of every step). Both libraries work in f32, in another order of operations:
// their log-probabilities may differ by BOUND (some 1e-6 are found). Among the ISAs of fovea no bit may differ.
#include "fovea/fovea.h"
#include "tests/support/engines.h"
#include "tests/support/test.h"
#include "tests/support/threads.h"

enum { BATCH = 40, BEAM = 5, WORKERS = 3, LEN_MAX = 64, WORDS_MAX = 400, VOCAB_MAX = 256 };
static const double BOUND = 1e-4;

static struct fovea_safetensors *weights;
static struct fovea_transformer_config config;

// The golden data, and what fovea computed first, to compare everything else with.
static struct {
    size_t words, steps_max, vocab;
    uint32_t source[WORDS_MAX][LEN_MAX], lens[WORDS_MAX]; // letters and eos
    const int32_t *offsets, *tokens;
    const float *log_probs;
    float *expected;                                      // as log_probs
    struct fovea_hypothesis best[WORDS_MAX];              // of a beam search
    uint32_t best_tokens[WORDS_MAX][LEN_MAX];
} golden;

static void stop(const char *what)
{
    fprintf(stderr, "FAIL %s\n", what);
    exit(1);
}

static struct fovea_safetensors *open_file(const char *folder, const char *name)
{
    char path[4096], message[300] = "";
    struct fovea_safetensors *file = NULL;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    if (fovea_safetensors_open(path, &file, message, sizeof message))
        stop(message);
    return file;
}

static const struct fovea_tensor *golden_tensor(const struct fovea_safetensors *file, const char *name,
                                                const char *dtype)
{
    const struct fovea_tensor *const t = fovea_safetensors_find(file, name);
    if (!t || strcmp(t->dtype, dtype) != 0)
        stop(name);
    return t;
}

// A copy, aligned.
static const void *numbers(const struct fovea_tensor *t)
{
    return memcpy(test_alloc(t->bytes), t->data, t->bytes);
}

// The id of a letter in the vocabulary "<pad> <s> </s> a b c ...".
static uint32_t letter_id(char letter)
{
    const char *at = fovea_safetensors_metadata(weights, "fovea.source_vocab");
    for (uint32_t id = 0; at && *at; id++) {
        const size_t length = strcspn(at, " ");
        if (length == 1 && *at == letter)
            return id;
        at += length + (at[length] == ' ');
    }
    stop("a golden word has a letter that is not in the vocabulary");
    return 0;
}

static void read_words(const struct fovea_tensor *text)
{
    size_t word = 0;
    for (size_t i = 0; i < text->bytes && word < golden.words; i++) {
        const char c = ((const char *)text->data)[i];
        const uint32_t at = golden.lens[word]++;
        if (at >= LEN_MAX)
            stop("a golden word is too long");
        golden.source[word][at] = c == '\n' ? config.eos : letter_id(c);
        word += c == '\n';
    }
    CHECK(word == golden.words, "%zu words, expected %zu", word, golden.words);
}

static void read_golden(const char *folder, size_t words_most)
{
    struct fovea_safetensors *const file = open_file(folder, "golden.safetensors");
    const struct fovea_tensor *const offsets = golden_tensor(file, "offsets", "I32");
    const struct fovea_tensor *const tokens = golden_tensor(file, "tokens", "I32");
    const struct fovea_tensor *const log_probs = golden_tensor(file, "logprobs", "F32");
    const size_t all = offsets->shape[0] - 1, steps = tokens->shape[0];
    golden.offsets = numbers(offsets);
    golden.tokens = numbers(tokens);
    golden.log_probs = numbers(log_probs);
    golden.vocab = log_probs->shape[1];
    golden.words = all < words_most ? all : words_most;
    CHECK(log_probs->shape[0] == steps && golden.offsets[all] == (int32_t)steps && golden.vocab == config.target_vocab,
          "%zu steps, %zu phones", steps, golden.vocab);
    for (size_t i = 0; i < golden.words; i++) {
        const size_t own = (size_t)(golden.offsets[i + 1] - golden.offsets[i]);
        golden.steps_max = own > golden.steps_max ? own : golden.steps_max;
    }
    if (golden.words > WORDS_MAX || golden.steps_max > LEN_MAX || golden.vocab > VOCAB_MAX)
        stop("the golden data exceed this test");
    read_words(golden_tensor(file, "words", "U8"));
    golden.expected = test_alloc(log_probs->bytes);
    fovea_safetensors_close(file);
}

static struct fovea_transformer *create(const struct fovea_engine *engine)
{
    const struct fovea_transformer_options options = {
        .struct_size = sizeof options, .workers = WORKERS, .batch = BATCH, .beam = BEAM, .max_source = LEN_MAX,
        .max_target = LEN_MAX};
    struct fovea_transformer *model = NULL;
    char message[200] = "";
    if (fovea_transformer_create(engine, weights, &config, &options, &model, message, sizeof message))
        stop(message);
    return model;
}

// Words first to first + count as a padded batch.
static size_t source_batch(size_t first, size_t count, uint32_t *tokens)
{
    size_t len = 0;
    for (size_t b = 0; b < count; b++)
        len = golden.lens[first + b] > len ? golden.lens[first + b] : len;
    for (size_t b = 0; b < count; b++)
        for (size_t i = 0; i < len; i++)
            tokens[b * len + i] = i < golden.lens[first + b] ? golden.source[first + b][i] : config.pad;
    return len;
}

static size_t steps_of(size_t word)
{
    return (size_t)(golden.offsets[word + 1] - golden.offsets[word]);
}

static const float *step_of(const float *log_probs, size_t word, size_t step)
{
    return log_probs + ((size_t)golden.offsets[word] + step) * golden.vocab;
}

// The decoder's input at a step: bos, then the tokens less the last; eos where the word has ended.
static uint32_t input_of(size_t word, size_t step)
{
    if (step == 0)
        return config.bos;
    return step < steps_of(word) ? (uint32_t)golden.tokens[(size_t)golden.offsets[word] + step - 1] : config.eos;
}

// Log-probabilities of words first to first + count, all steps at once, into out (as golden.log_probs).
static void decode(struct fovea_transformer *model, size_t first, size_t count, const struct fovea_executor *executor,
                   float *out)
{
    static uint32_t source[BATCH * LEN_MAX], target[BATCH * LEN_MAX];
    static float rows[BATCH * LEN_MAX * VOCAB_MAX];
    const size_t len = source_batch(first, count, source), steps = golden.steps_max;
    for (size_t b = 0; b < count; b++)
        for (size_t t = 0; t < steps; t++)
            target[b * steps + t] = input_of(first + b, t);
    const enum fovea_status a = fovea_transformer_encode(model, count, len, source, golden.lens + first, executor);
    const enum fovea_status b = fovea_transformer_decode(model, steps, target, rows, executor);
    CHECK(!a && !b, "%s, %s", fovea_status_string(a), fovea_status_string(b));
    for (size_t w = 0; w < count; w++)
        memcpy(out + (size_t)golden.offsets[first + w] * golden.vocab, rows + w * steps * golden.vocab,
               steps_of(first + w) * golden.vocab * sizeof *out);
}

static void decode_all(struct fovea_transformer *model, size_t words, const struct fovea_executor *executor, float *out)
{
    for (size_t i = 0; i < words; i += BATCH)
        decode(model, i, words - i < BATCH ? words - i : BATCH, executor, out);
}

static void compare(const char *what, size_t words, const float *got)
{
    CHECK_SAME(golden.expected, got, (size_t)golden.offsets[words] * golden.vocab, "%s", what);
}

static void test_pytorch(void)
{
    double worst = 0;
    size_t wrong = 0;
    for (size_t w = 0; w < golden.words; w++)
        for (size_t t = 0; t < steps_of(w); t++) {
            const float *const ours = step_of(golden.expected, w, t), *const theirs = step_of(golden.log_probs, w, t);
            size_t best = 0;
            for (size_t v = 0; v < golden.vocab; v++) {
                const double off = fabs((double)ours[v] - (double)theirs[v]);
                worst = off > worst || isnan(off) ? off : worst;
                best = ours[v] > ours[best] ? v : best;
            }
            wrong += best != (size_t)golden.tokens[(size_t)golden.offsets[w] + t];
        }
    CHECK(worst <= BOUND, "log-probabilities differ from PyTorch's by %g", worst);
    CHECK(wrong == 0, "%zu of %d greedy tokens differ from PyTorch's", wrong, golden.offsets[golden.words]);
    printf("%zu words, %d steps: at most %.2g from PyTorch\n", golden.words, golden.offsets[golden.words], worst);
}

// One word alone gives the bits it has among others.
static void test_alone(const char *isa, struct fovea_transformer *model, size_t words, float *out)
{
    for (size_t w = 0; w < words; w += words / 8 + 1) {
        decode(model, w, 1, NULL, out);
        const size_t first = (size_t)golden.offsets[w] * golden.vocab, n = steps_of(w) * golden.vocab;
        CHECK(test_differ(golden.expected + first, out + first, n) == n, "%s: word %zu alone differs", isa, w);
    }
}

// Step by step with caches: the bits of the whole.
static void test_steps(const char *isa, struct fovea_transformer *model, size_t words)
{
    static uint32_t source[BATCH * LEN_MAX], inputs[BATCH];
    static float rows[BATCH * VOCAB_MAX];
    const size_t count = words < BATCH ? words : BATCH, len = source_batch(0, count, source);
    size_t wrong = fovea_transformer_encode(model, count, len, source, golden.lens, NULL) != FOVEA_OK;
    for (size_t t = 0; t < golden.steps_max; t++) {
        for (size_t b = 0; b < count; b++)
            inputs[b] = input_of(b, t);
        wrong += fovea_transformer_step(model, t, inputs, rows, NULL) != FOVEA_OK;
        for (size_t b = 0; b < count; b++)
            wrong += t < steps_of(b) && test_differ(rows + b * golden.vocab, step_of(golden.expected, b, t),
                                                    golden.vocab) != golden.vocab;
    }
    CHECK(wrong == 0, "%s: %zu cached steps differ from the whole", isa, wrong);
}

// A beam of one is greedy: PyTorch's tokens, and as score the sum of their log-probabilities.
static void test_greedy(const char *isa, struct fovea_transformer *model, size_t words)
{
    static uint32_t source[BATCH * LEN_MAX];
    struct fovea_hypothesis found[BATCH];
    for (size_t first = 0; first < words; first += BATCH) {
        const size_t count = words - first < BATCH ? words - first : BATCH, len = source_batch(first, count, source);
        const enum fovea_status status =
            fovea_transformer_search(model, count, len, source, golden.lens + first, 1, found, NULL);
        CHECK(!status, "%s: %s", isa, fovea_status_string(status));
        for (size_t b = 0; b < count && !status; b++) {
            const size_t w = first + b, steps = steps_of(w);
            const int32_t *const tokens = golden.tokens + golden.offsets[w];
            int same = found[b].len + 1 == steps;
            float score = 0;
            for (size_t t = 0; t < steps; t++) {
                score += step_of(golden.expected, w, t)[tokens[t]];
                same = same && (t + 1 == steps || found[b].tokens[t] == (uint32_t)tokens[t]);
            }
            CHECK(same, "%s: greedy search of word %zu differs from PyTorch's", isa, w);
            CHECK(!same || found[b].score == score, "%s: score %a, expected %a", isa, (double)found[b].score,
                  (double)score);
        }
    }
}

// A beam of five: the first call keeps what it found, the others compare.
static void test_beam(const char *isa, struct fovea_transformer *model, size_t words, int keep)
{
    static uint32_t source[BATCH * LEN_MAX];
    struct fovea_hypothesis found[BATCH];
    for (size_t first = 0; first < words; first += BATCH) {
        const size_t count = words - first < BATCH ? words - first : BATCH, len = source_batch(first, count, source);
        const enum fovea_status status =
            fovea_transformer_search(model, count, len, source, golden.lens + first, BEAM, found, NULL);
        CHECK(!status, "%s: %s", isa, fovea_status_string(status));
        for (size_t b = 0; b < count && !status; b++) {
            struct fovea_hypothesis *const best = &golden.best[first + b];
            if (keep) {
                *best = found[b];
                best->tokens = golden.best_tokens[first + b];
                memcpy(golden.best_tokens[first + b], found[b].tokens, found[b].len * sizeof *found[b].tokens);
            }
            CHECK(found[b].len == best->len && test_differ(&found[b].score, &best->score, 1) == 1 &&
                      memcmp(found[b].tokens, best->tokens, best->len * sizeof *best->tokens) == 0,
                  "%s: beam search of word %zu: score %a of %zu tokens, expected %a of %zu", isa, first + b,
                  (double)found[b].score, found[b].len, (double)best->score, best->len);
        }
    }
}

// The first engine's results are what all others must give.
static void test_isa(const struct fovea_engine *engine, const char *isa, size_t words, int first, float *out)
{
    struct fovea_transformer *const model = create(engine);
    decode_all(model, words, NULL, first ? golden.expected : out);
    if (first)
        test_pytorch();
    else
        compare(isa, words, out);
    test_alone(isa, model, words, out);
    test_steps(isa, model, words);
    test_greedy(isa, model, words);
    test_beam(isa, model, words, first);
    fovea_transformer_destroy(model);
}

static void test_threads(const struct fovea_engine *engine, float *out)
{
    struct fovea_transformer *const model = create(engine);
    struct test_threads threads;
    test_threads_init(&threads, WORKERS, 5);
    const size_t words = golden.words < BATCH ? golden.words : BATCH;
    decode_all(model, words, &threads.executor, out);
    compare("shuffled threads", words, out);
    fovea_transformer_destroy(model);
}

int main(int argc, char **argv)
{
    if (argc != 2)
        stop("usage: test_model_g2p FOLDER");
    const int small = getenv("FOVEA_TEST_SMALL") != NULL;
    char message[300] = "";
    weights = open_file(argv[1], "g2p.safetensors");
    if (fovea_transformer_config_from(weights, &config, message, sizeof message))
        stop(message);
    read_golden(argv[1], small ? 24 : SIZE_MAX);
    float *const out = test_alloc((size_t)golden.offsets[golden.words] * golden.vocab * sizeof *out);

    struct fovea_engine *engines[TEST_ISAS];
    test_engines(engines);
    int first = 1;
    for (int i = TEST_ISAS - 1; i >= 0; i--) {
        if (!engines[i])
            continue;
        // The scalar path is some 20 times slower and gets a few words.
        test_isa(engines[i], test_isas[i], i || first ? golden.words : golden.words / 10 + 1, first, out);
        if (first)
            test_threads(engines[i], out);
        first = 0;
    }
    test_engines_free(engines);
    free(out);
    fovea_safetensors_close(weights);
    return test_done();
}
