// SPDX-License-Identifier: Apache-2.0
// tests/unit/attention_ragged_rows.c - a plan that bounds the queries of all entries together: the bits of one that
// does not, in the memory of so many, and a call of more is refused.
#include "fovea/attention_state.h"
#include "fovea/attention_weights.h"
#include "tests/support/engines.h"
#include "tests/support/keys.h"
#include "tests/support/weights.h"
#include "tests/unit/refuse.h"

enum { B = 11, HEADS = 6, KV_HEADS = 2, D = 8, DV = 12, KEYS = 2500, LONGEST = 50, SPLITS = 3, STATE = DV + 2 };
// Queries of the entries: prompts first, last and between, empty entries, and single tokens alone. Their keys take one
// to three splits.
static const uint32_t lens[][B] = {{1, 1, 40, 0, 3, 11, 1, 50, 2, 1, 5},
                                   {50, 50, 50, 50, 1, 1, 0, 0, 11, 2, 9},
                                   {0, 2, 11, 11, 11, 11, 11, 11, 11, 1, 48},
                                   {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1},
                                   {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 7}};
static const uint32_t keys[B] = {2500, 1, 1025, 1024, 2049, 0, 300, 1500, 2500, 1023, 2500};
enum { ORDERS = sizeof lens / sizeof *lens };
enum kind { CAUSAL, WINDOW, PRUNED, STATISTICS, KINDS };
static const char *const names[KINDS] = {"causal", "in a window", "pruned", "with statistics"};

static struct fovea_engine *engines[TEST_ISAS];
static bool small; // under an emulator: fewer cases

struct batch {
    struct fovea_attention_desc desc;
    struct fovea_attention_args args;
    uint32_t q_starts[B + 1], kv_starts[B + 1];
    int64_t offsets[B];
    size_t rows; // of all entries
};

// Entries with these queries, the first of them in row `first`.
static void draw(const uint32_t of[B], uint32_t first, enum kind kind, struct batch *t)
{
    static const uint32_t live[] = {0, 1, 5};
    uint64_t random = first + 1;
    *t = (struct batch){.q_starts = {first}};
    for (size_t b = 0; b < B; b++) {
        t->q_starts[b + 1] = t->q_starts[b] + of[b];
        t->kv_starts[b + 1] = t->kv_starts[b] + keys[b];
        t->offsets[b] = (int64_t)keys[b] - (int64_t)of[b];
    }
    t->rows = t->q_starts[B] - first;
    struct fovea_attention_desc *const d = &t->desc;
    CHECK(!fovea_attention_desc_init(d, sizeof *d), "init");
    d->causal = 1, d->statistics = kind == STATISTICS;
    d->window_left = kind == WINDOW ? 700 : FOVEA_WINDOW_ALL;
    d->batch = B, d->heads = HEADS, d->kv_heads = KV_HEADS;
    d->q_len = LONGEST, d->kv_len = KEYS, d->qk_dim = D, d->v_dim = DV;
    d->q = (struct fovea_strides){LONGEST * HEADS * D, D, HEADS * D};
    d->k = (struct fovea_strides){KEYS * KV_HEADS * D, D, KV_HEADS * D};
    d->v = (struct fovea_strides){KEYS * KV_HEADS * DV, DV, KV_HEADS * DV};
    d->out = (struct fovea_strides){LONGEST * HEADS * DV, DV, HEADS * DV};
    t->args = (struct fovea_attention_args){.q = test_some(t->q_starts[B] * (size_t)(HEADS * D), 3, &random),
                                            .k = test_some(t->kv_starts[B] * (size_t)(KV_HEADS * D), 1, &random),
                                            .v = test_some(t->kv_starts[B] * (size_t)(KV_HEADS * DV), 1, &random),
                                            .batch = B,
                                            .q_len = LONGEST,
                                            .kv_len = KEYS,
                                            .q_starts = t->q_starts,
                                            .kv_starts = t->kv_starts,
                                            .q_offsets = t->offsets,
                                            .sinks = kind == STATISTICS ? test_some(HEADS, 1, &random) : NULL,
                                            .live_heads = kind == PRUNED ? live : NULL,
                                            .live_count = kind == PRUNED ? 3 : 0};
}

// All that a call returns, in one array.
static size_t floats_of(const struct batch *t)
{
    return t->q_starts[B] * (size_t)(HEADS * (DV + 4));
}

static void return_to(const struct batch *t, float *to, struct fovea_attention_args *a)
{
    const size_t n = t->q_starts[B] * (size_t)HEADS;
    a->out = to;
    a->lse = to + n * DV;
    if (t->desc.statistics) {
        a->entropy = a->lse + n, a->max_weight = a->lse + 2 * n;
        a->max_key = (uint32_t *)(void *)(a->lse + 3 * n);
    }
}

static float *run(const struct batch *t, const struct fovea_engine *engine, size_t rows, enum test_way way)
{
    struct fovea_attention_desc d = t->desc;
    struct fovea_attention_args a = t->args;
    float *const got = test_floats(floats_of(t), TEST_HIGH);
    d.rows = rows;
    return_to(t, got, &a);
    const enum fovea_status status = test_run(&test_attention, engine, &d, &a, way, 5);
    CHECK(!status, "%zu rows: %s", rows, fovea_status_string(status));
    return got;
}

static void test_bits(size_t order, uint32_t first, enum kind kind)
{
    struct batch t;
    draw(lens[order], first, kind, &t);
    const float *const expected = run(&t, engines[0], 0, TEST_SERIAL);
    for (int e = 0; e < TEST_ISAS; e++) {
        if (!engines[e])
            continue;
        const enum test_way way = (enum test_way)((order + (size_t)kind + (size_t)e) % TEST_WAYS);
        const float *const got = run(&t, engines[e], t.rows, way);
        CHECK_SAME(expected, got, floats_of(&t), "order %zu from row %u, %s, %s, %s", order, (unsigned)first,
                   names[kind], test_isas[e], test_way_names[way]);
    }
    test_memory_reset();
}

// As many states as all entries have when they decode, or as the rows that there are.
static void test_memory_of_rows(const struct fovea_engine *engine, const char *isa)
{
    struct batch t;
    draw(lens[0], 0, CAUSAL, &t);
    const size_t few = test_tuning(engine)->attention[0].prefill_rows - 1, all = B * few;
    const size_t rows[] = {0, 1, 5, all - 1, all, all + 1, B * LONGEST, SIZE_MAX};
    struct fovea_work *const plan = test_memory(fovea_attention_plan_size(), TEST_HIGH);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        t.desc.rows = rows[i];
        CHECK(!fovea_attention_plan(engine, &t.desc, plan), "plan of %zu rows", rows[i]);
        const size_t most = rows[i] != 0 && rows[i] < all ? rows[i] : all, landmark = 2 * sizeof(uint32_t);
        const size_t want = (most * HEADS * SPLITS * STATE * sizeof(float) + landmark + 63) / 64 * 64;
        CHECK(plan->shared_bytes == want, "%s, %zu rows: %zu bytes, not %zu", isa, rows[i], plan->shared_bytes, want);
    }
    t.desc.kv_len = 1024;
    CHECK(!fovea_attention_plan(engine, &t.desc, plan) && plan->shared_bytes == 64, "one split");
    // Tasks are counted like that, too.
    char text[FOVEA_EXPLAIN_BYTES];
    struct fovea_attention_desc huge = t.desc;
    huge.batch = 1 << 20, huge.kv_len = UINT32_MAX;
    huge.k.batch = huge.v.batch = 0;
    huge.rows = 0;
    CHECK(fovea_explain_attention(engine, &huge, text, sizeof text) == FOVEA_ERR_OVERFLOW &&
              strcmp(text, "attention: batch, heads, q_len and kv_len make more tasks than 32 bits count") == 0,
          "%s", text);
    huge.rows = 64;
    CHECK(fovea_explain_attention(engine, &huge, text, sizeof text) == FOVEA_OK && strstr(text, ", rows 64,"), "%s",
          text);
    test_memory_reset();
}

// A state of more rows, and a call of more that it is to take.
static void test_state_errors(const struct fovea_attention_args *call, const void *plan, void *scratch)
{
    size_t bytes = 0;
    CHECK(fovea_attention_state_size(plan, 1, 8, 2, &bytes) == FOVEA_ERR_SHAPE, "ragged");
    CHECK(fovea_attention_state_size(plan, 2, 4, 2, &bytes) == FOVEA_ERR_SHAPE, "2 x 4");
    CHECK(!fovea_attention_state_size(plan, 2, 3, 2, &bytes) && !fovea_attention_state_size(plan, 1, 7, 2, &bytes),
          "fewer");
    CHECK(bytes % 64 == 0, "%zu bytes, which aligned_alloc would refuse", bytes);
    void *const state = test_memory(bytes, TEST_HIGH);
    CHECK(!fovea_attention_state_init(plan, 1, 7, 2, state), "init");
    CHECK(fovea_attention_state_accumulate(plan, call, state, scratch, NULL) == FOVEA_ERR_SHAPE, "accumulate");
    CHECK(fovea_attention_state_finish(plan, state, call, scratch, NULL) == FOVEA_ERR_SHAPE, "finish");
    float sums[1];
    struct fovea_attention_args seen = *call;
    seen.lse = seen.out;
    const struct fovea_attention_weights_args weights = {.call = &seen, .key_sums = sums};
    CHECK(fovea_attention_weights(plan, &weights, scratch, NULL) == FOVEA_ERR_SHAPE, "weights");
}

static void test_errors(void)
{
    struct batch t, more;
    draw(lens[4], 0, CAUSAL, &t); // the last entry has 7
    more = t;
    more.q_starts[B] = 8;
    t.desc.rows = 7;
    const size_t n = 8 * HEADS * DV;
    struct fovea_attention_args args = t.args, wrong;
    args.q = test_floats(B * LONGEST * HEADS * D, TEST_HIGH);
    args.out = test_floats(n, TEST_HIGH);
    const struct refuse r = refuse_begin(&test_attention, engines[0], &t.desc, &args, args.out, n);
    BAD_ARGS_TOLD(wrong.q_starts = more.q_starts, FOVEA_ERR_SHAPE,
                  "attention: args.q_starts gives 8 rows, more than the plan's rows, 7");
    BAD_ARGS_TOLD((wrong.q_starts = wrong.kv_starts = NULL, wrong.q_len = 1), FOVEA_ERR_SHAPE,
                  "attention: args.batch and q_len give 11 rows, more than the plan's rows, 7");
    BAD_ARGS_TOLD((wrong.q_starts = wrong.kv_starts = NULL, wrong.q_len = 4, wrong.batch = 2), FOVEA_ERR_SHAPE,
                  "attention: args.batch and q_len give 8 rows, more than the plan's rows, 7");
    wrong = args, wrong.q_starts = more.q_starts;
    test_state_errors(&wrong, r.plan, r.scratch);
    CHECK(refuse_clean(args.out, n * sizeof *args.out), "states and weights write out");
    wrong = args, wrong.q_starts = wrong.kv_starts = NULL, wrong.q_len = 7, wrong.batch = 1;
    CHECK(!fovea_attention(r.plan, &wrong, r.shared, r.scratch, NULL), "as many as there may be");
    test_memory_reset();
}

// Whatever becomes of the starts once there are tasks, a task of an entry that lies before the first row, or behind as
// many as the plan has, is refused; the others stay within their memory.
static void test_tasks(const struct fovea_engine *engine, const char *isa)
{
    struct batch t;
    draw(lens[3], 1, CAUSAL, &t); // one row more in q and out
    t.q_starts[0] = 0;
    for (uint32_t b = 1; b <= B; b++)
        t.q_starts[b] = b;
    t.desc.rows = B;
    t.args.out = test_floats((B + 1) * HEADS * DV, TEST_HIGH);
    const struct test_session s = test_plan(&test_attention, engine, &t.desc, 1);
    const uint32_t tasks = fovea_attention_tasks(s.plan, &t.args, 1);
    CHECK(s.plan->phases == 3 && tasks != 0 && !fovea_attention_task(s.plan, &t.args, s.shared, s.scratch, 0, 0), "%s",
          isa);
    for (uint32_t first = 0; first <= B; first += first < 2 ? 1 : small ? 9 : 3)
        for (uint32_t end = 0; end <= B + 1; end += end < 9 ? 9 : 1) {
            uint32_t refused = 0;
            t.q_starts[0] = first, t.q_starts[B] = end;
            for (uint32_t task = 0; task < tasks; task++)
                refused += fovea_attention_task(s.plan, &t.args, s.shared, s.scratch, 1, task) == FOVEA_ERR_SHAPE;
            CHECK(first >= end || end - first > B ? refused == tasks : (refused != 0) == (first > 1 || end < B),
                  "%s, rows %u to %u: %u of %u tasks", isa, (unsigned)first, (unsigned)end, (unsigned)refused,
                  (unsigned)tasks);
        }
    test_memory_reset();
}

// Multi-head attention has the bound of its plan: with a cache of several splits.
static void test_mha_rows(void)
{
    enum { WIDTH = 16 };
    uint64_t random = 3;
    struct fovea_mha_desc d;
    CHECK(!fovea_mha_desc_init(&d, sizeof d), "init");
    d.keys = FOVEA_MHA_CACHED, d.causal = 1, d.kv_len_kind = FOVEA_KV_LEN_BATCH;
    d.batch = B, d.heads = HEADS, d.kv_heads = KV_HEADS, d.q_len = LONGEST, d.kv_len = KEYS, d.qk_dim = D, d.v_dim = DV;
    d.query_width = d.out_width = WIDTH;
    const struct fovea_kv_cache cache = test_cache(B, KV_HEADS, KEYS, D, DV);
    for (size_t b = 0; b < B; b++)
        test_fill_cache(&cache, b, keys[b], &random);
    const struct fovea_mha_weights weights = {.q = test_linear(engines[0], WIDTH, HEADS * D, true, &random),
                                              .o = test_linear(engines[0], HEADS * DV, WIDTH, true, &random)};
    struct batch t;
    draw(lens[0], 0, CAUSAL, &t);
    size_t positions[B];
    for (size_t b = 0; b < B; b++)
        positions[b] = keys[b] > lens[0][b] ? keys[b] - lens[0][b] : 0;
    struct fovea_mha_args a = {.weights = &weights, .query = test_some(t.rows * WIDTH, 1, &random)};
    a.batch = B, a.q_len = LONGEST, a.kv_len = KEYS, a.cache = &cache, a.kv_lens = keys;
    a.starts = t.q_starts, a.positions = positions;
    float *const expected = a.out = test_floats(t.rows * WIDTH, TEST_HIGH);
    CHECK(!test_run(&test_mha, engines[0], &d, &a, TEST_SERIAL, 1), "as many rows as fit");
    d.rows = t.rows;
    for (int e = 0; e < TEST_ISAS; e++)
        for (int way = small ? TEST_WAYS - 1 : 0; way < TEST_WAYS && engines[e]; way++) {
            a.out = test_floats(t.rows * WIDTH, TEST_HIGH);
            CHECK(!test_run(&test_mha, engines[e], &d, &a, (enum test_way)way, 7), "mha");
            CHECK_SAME(expected, a.out, t.rows * WIDTH, "mha: %s, %s", test_isas[e], test_way_names[way]);
        }
    size_t bytes[2];
    for (size_t i = 0; i < 2; i++) {
        d.rows = (i + 1) * 32;
        bytes[i] = test_plan(&test_mha, engines[0], &d, 1).plan->shared_bytes;
    }
    const size_t want = 32 * sizeof(float) * HEADS * (D + DV + SPLITS * STATE);
    CHECK(bytes[1] - bytes[0] == want, "%zu bytes for 32 rows, not %zu", bytes[1] - bytes[0], want);
    test_memory_reset();
}

int main(void)
{
    small = getenv("FOVEA_TEST_SMALL") != NULL;
    test_engines(engines);
    for (size_t order = 0; order < ORDERS; order++)
        for (size_t kind = small ? order % KINDS : order % 2; kind < KINDS; kind += small ? KINDS : 2)
            test_bits(order, order % 3 ? 3 : 0, (enum kind)kind);
    test_bits(0, LONGEST, CAUSAL);
    test_each_engine(test_memory_of_rows);
    test_errors();
    test_each_engine(test_tasks);
    test_mha_rows();
    test_engines_free(engines);
    return test_done();
}
