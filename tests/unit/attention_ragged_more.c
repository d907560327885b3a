// SPDX-License-Identifier: Apache-2.0
// tests/unit/attention_ragged_more.c - returned weights and states of a ragged batch are those of its entries alone.
#include "fovea/attention_state.h"
#include "fovea/attention_weights.h"
#include "tests/support/engines.h"
#include "tests/support/memory.h"
#include "tests/support/operator.h"
#include "tests/support/test.h"
#include "tests/support/threads.h"
#include "tests/unit/ragged_batch.h"

#include <stdbool.h>

enum { WORKERS = 3, SPLIT = 1024 };
enum kind { OUT, LSE, WEIGHTS, MEANS, KEY_SUMS, HEAD_SUMS, KINDS };
static const char *const kind_names[KINDS] = {"out", "lse", "weights", "means", "key sums", "head sums"};

static struct fovea_engine *engines[TEST_ISAS];
static size_t compared[KINDS]; ///< elements, in all cases

/// What a batch returns: rows (rows, HEADS, DV); each entry's (HEADS, queries); (rows, HEADS, kv_most), those of an
/// entry with fewer keys NaN behind these; (rows, kv_most); each entry's (HEADS, keys); (entries, HEADS).
struct result {
    float *of[KINDS];
};

static size_t count_of(const struct batch *t, enum kind kind)
{
    const size_t rows = t->q_starts[t->entries], keys = t->kv_most;
    const size_t counts[KINDS] = {rows * HEADS * DV,         rows * HEADS,      rows * HEADS * keys, rows * keys,
                                  t->entries * HEADS * keys, t->entries * HEADS};
    return counts[kind];
}

static struct result new_result(const struct batch *t)
{
    struct result r;
    for (int k = 0; k < KINDS; k++)
        r.of[k] = test_floats(count_of(t, (enum kind)k), TEST_HIGH);
    return r;
}

// Weights, their means over the heads and their sums.
static void weigh(const struct test_session *s, const struct fovea_attention_args *call, size_t kv_most,
                  const struct result *r, const struct fovea_executor *executor)
{
    struct fovea_attention_weights_args args = {.call = call,
                                                .weights = r->of[WEIGHTS],
                                                .strides = {0, kv_most, HEADS * kv_most},
                                                .key_sums = r->of[KEY_SUMS],
                                                .head_sums = r->of[HEAD_SUMS]};
    enum fovea_status status = fovea_attention_weights(s->plan, &args, s->scratch, executor);
    CHECK(!status, "weights: %s", fovea_status_string(status));
    args = (struct fovea_attention_weights_args){
        .call = call, .weights = r->of[MEANS], .strides = {0, 0, kv_most}, .average = 1};
    status = fovea_attention_weights(s->plan, &args, s->scratch, executor);
    CHECK(!status, "means: %s", fovea_status_string(status));
}

// Each entry alone on the scalar engine, placed where a ragged call has it.
static struct result compute_alone(const struct batch *t)
{
    const struct fovea_attention_desc d = ragged_describe(t, 1);
    const struct test_session s = test_plan(&test_attention, engines[0], &d, WORKERS);
    const struct result r = new_result(t);
    for (size_t b = 0; b < t->entries; b++) {
        const size_t first = t->q_starts[b], queries = t->q_starts[b + 1] - first, keys = t->kv_lens[b];
        const size_t hidden = t->keys == RAGGED ? 0 : t->kv_most - keys; // keys that the call has besides
        struct fovea_attention_args call = ragged_entry(t, b);
        call.out = r.of[OUT] + first * HEADS * DV;
        call.lse = r.of[LSE] + first * HEADS;
        CHECK(!fovea_attention(s.plan, &call, s.shared, s.scratch, NULL), "alone");
        const struct result one = {.of = {[WEIGHTS] = r.of[WEIGHTS] + first * HEADS * t->kv_most,
                                          [MEANS] = r.of[MEANS] + first * t->kv_most,
                                          [KEY_SUMS] = test_floats(HEADS * keys, TEST_HIGH),
                                          [HEAD_SUMS] = r.of[HEAD_SUMS] + b * HEADS}};
        weigh(&s, &call, t->kv_most, &one, NULL);
        for (size_t row = 0; row < queries * HEADS; row++)
            memset(one.of[WEIGHTS] + row * t->kv_most + keys, 0, hidden * sizeof(float));
        for (size_t row = 0; row < queries; row++)
            memset(one.of[MEANS] + row * t->kv_most + keys, 0, hidden * sizeof(float));
        for (size_t h = 0; h < HEADS; h++) {
            const size_t before = t->keys == RAGGED ? t->kv_starts[b] * (size_t)HEADS : b * HEADS * t->kv_most;
            float *const sums = r.of[KEY_SUMS] + before + h * (keys + hidden);
            memcpy(sums, one.of[KEY_SUMS] + h * keys, keys * sizeof *sums);
            memset(sums + keys, 0, hidden * sizeof *sums);
        }
    }
    return r;
}

static void compare(const struct batch *t, const struct result *expected, const struct result *got, int first, int last,
                    const char *what)
{
    for (int k = first; k <= last; k++) {
        const size_t n = count_of(t, (enum kind)k);
        CHECK_SAME(expected->of[k], got->of[k], n, "%s: keys %d: %s", what, (int)t->keys, kind_names[k]);
        compared[k] += n;
    }
}

// A state of all queries takes the keys, in a cache or pages 384 at a time, and by way of a second state from a split
// on.
static void stream(const struct batch *t, const struct test_session *s, struct fovea_attention_args call,
                   const struct result *r, const struct fovea_executor *executor)
{
    size_t bytes;
    const size_t queries = t->q_starts[t->entries], all = call.kv_len;
    CHECK(!fovea_attention_state_size(s->plan, 1, queries, 2, &bytes), "size");
    void *const states[] = {test_memory(bytes, TEST_HIGH), test_memory(bytes, TEST_HIGH)};
    CHECK(!fovea_attention_state_init(s->plan, 1, queries, 2, states[0]), "init");
    CHECK(!fovea_attention_state_init(s->plan, 1, queries, 2, states[1]), "init");
    const size_t step = t->keys == RAGGED ? all : 384;
    const float *const k = call.k, *const v = call.v;
    call.out = NULL;
    for (size_t first = 0; first < all; first = call.kv_len) {
        const size_t end = first < SPLIT && first + step > SPLIT && t->keys != RAGGED ? SPLIT : first + step;
        call.kv_begin = first;
        call.kv_len = end < all ? end : all;
        call.k = t->keys == CACHED ? k + first * D : k; // a key takes D floats in panels, too
        call.v = t->keys == CACHED ? v + first * DV : v;
        const enum fovea_status status =
            fovea_attention_state_accumulate(s->plan, &call, states[first >= SPLIT], s->scratch, executor);
        CHECK(!status, "accumulate: %s", fovea_status_string(status));
    }
    CHECK(!fovea_attention_state_merge(s->plan, states[0], states[1], s->scratch, executor), "merge");
    call.out = r->of[OUT];
    call.lse = r->of[LSE];
    call.q = call.k = call.v = NULL; // are not read
    const enum fovea_status status = fovea_attention_state_finish(s->plan, states[0], &call, s->scratch, executor);
    CHECK(!status, "finish: %s", fovea_status_string(status));
}

static void run_case(uint64_t seed)
{
    struct batch t;
    ragged_draw(&t, seed);
    const struct result expected = compute_alone(&t);
    struct fovea_attention_desc d = ragged_describe(&t, t.entries + 1);
    struct fovea_attention_args call = ragged_call(&t, &d);
    call.lse = expected.of[LSE];
    for (int e = 0; e < TEST_ISAS; e++) {
        if (!engines[e])
            continue;
        struct test_threads threads;
        test_threads_init(&threads, WORKERS, seed);
        const struct fovea_executor *const executor = seed % 2 ? &threads.executor : NULL;
        const struct test_session s = test_plan(&test_attention, engines[e], &d, WORKERS);
        const struct result got = new_result(&t);
        weigh(&s, &call, t.kv_most, &got, executor);
        stream(&t, &s, call, &got, executor);
        compare(&t, &expected, &got, OUT, HEAD_SUMS, test_isas[e]);
    }
    test_memory_reset();
}

static void test_errors(void)
{
    struct batch t;
    ragged_draw(&t, 3);
    struct fovea_attention_desc d = ragged_describe(&t, FEW);
    struct fovea_attention_args call = ragged_call(&t, &d);
    const struct test_session s = test_plan(&test_attention, engines[0], &d, WORKERS);
    const struct result r = new_result(&t);
    call.lse = r.of[LSE];
    call.out = r.of[OUT];
    // Rows of one entry where another's are.
    const struct fovea_attention_weights_args rows = {
        .call = &call, .weights = r.of[WEIGHTS], .strides = {0, t.kv_most, HEADS * t.kv_most - 1}};
    CHECK(fovea_attention_weights(s.plan, &rows, s.scratch, NULL) == FOVEA_ERR_STRIDE, "weights overlap");
    const size_t queries = t.q_starts[FEW];
    size_t bytes;
    CHECK(!fovea_attention_state_size(s.plan, 1, FEW * t.q_most, 2, &bytes), "as many as a batch can have");
    CHECK(fovea_attention_state_size(s.plan, 1, FEW * t.q_most + 1, 2, &bytes) == FOVEA_ERR_SHAPE, "more");
    CHECK(fovea_attention_state_size(s.plan, 2, t.q_most + 1, 2, &bytes) == FOVEA_ERR_SHAPE, "two entries of more");
    CHECK(!fovea_attention_state_size(s.plan, 1, queries, 2, &bytes), "size");
    void *const state = test_memory(bytes, TEST_HIGH);
#define REFUSED(call, what) CHECK((call) == FOVEA_ERR_SHAPE, what)
    CHECK(!fovea_attention_state_init(s.plan, 1, queries - 1, 2, state), "init");
    REFUSED(fovea_attention_state_accumulate(s.plan, &call, state, s.scratch, NULL), "another state");
    REFUSED(fovea_attention_state_finish(s.plan, state, &call, s.scratch, NULL), "another state's end");
    CHECK(!fovea_attention_state_init(s.plan, 1, queries, 2, state), "init");
    uint32_t starts[FEW + 1];
    memcpy(starts, t.q_starts, sizeof starts);
    call.q_starts = starts;
    starts[0] = 1;
    REFUSED(fovea_attention_state_accumulate(s.plan, &call, state, s.scratch, NULL), "a first row of nobody's");
    starts[0] = 0;
    starts[1] = (uint32_t)t.q_most + 1;
    REFUSED(fovea_attention_state_finish(s.plan, state, &call, s.scratch, NULL), "an entry of too many queries");
    call.q_starts = NULL;
    call.kv_starts = NULL;
    call.batch = 1;
    call.q_len = queries;
    CHECK(queries > t.q_most, "%zu queries", queries);
    REFUSED(fovea_attention_state_finish(s.plan, state, &call, s.scratch, NULL), "more queries than the plan's");
    test_memory_reset();
}

int main(void)
{
    const bool small = getenv("FOVEA_TEST_SMALL") != NULL;
    test_engines(engines);
    for (uint64_t seed = 1; seed <= (small ? 4 : 24); seed++)
        run_case(seed);
    for (int k = 0; k < KINDS; k++)
        CHECK(compared[k] > 0, "no %s", kind_names[k]);
    test_errors();
    test_engines_free(engines);
    return test_done();
}
