// SPDX-License-Identifier: Apache-2.0
// tests/unit/attention_state.c - keys in pieces: accumulated in order, and merged at multiples of 1024, they give the
// bits of one call, on any ISA and on several by turns; in any other order and grouping what float64 gives, within the
// bound. Empty parts are identities, and an error leaves a state as it was.
#include "fovea/attention_state.h"
#include "tests/support/engines.h"
#include "tests/support/memory.h"
#include "tests/support/operator.h"
#include "tests/support/test.h"
#include "tests/support/threads.h"
#include "tests/unit/attention_case.h"

enum { WORKERS = 3, SPLIT = 1024, CHUNK = 128, UNIT = 16 };

static struct fovea_engine *engines[TEST_ISAS];

// The plans of a case on every engine, with memory for threads.
struct session {
    struct attention_case *c;
    struct fovea_work *plan[TEST_ISAS];
    void *scratch[TEST_ISAS];
    struct test_threads threads;
    float *lse;
    uint64_t seed;
};

static struct session begin(struct attention_case *c)
{
    struct session s = {.c = c, .lse = test_floats(c->lse_floats, TEST_HIGH), .seed = c->rng.state};
    for (int e = 0; e < TEST_ISAS; e++) {
        if (!engines[e])
            continue;
        s.plan[e] = test_memory(fovea_attention_plan_size(), TEST_HIGH);
        CHECK(!fovea_attention_plan(engines[e], &c->desc, s.plan[e]), "%s", c->text);
        s.scratch[e] = test_memory(WORKERS * s.plan[e]->scratch_bytes, TEST_HIGH);
    }
    c->args.lse = c->lse_floats ? s.lse : NULL;
    return s;
}

static int some_engine(struct session *s)
{
    int e;
    do
        e = (int)test_below(&s->seed, TEST_ISAS);
    while (!engines[e]);
    return e;
}

static const struct fovea_executor *some_executor(struct session *s)
{
    test_threads_init(&s->threads, WORKERS, test_random(&s->seed));
    return test_below(&s->seed, 2) ? &s->threads.executor : NULL;
}

static void *new_state(struct session *s, size_t parts)
{
    const int e = some_engine(s);
    size_t bytes = 0;
    CHECK(!fovea_attention_state_size(s->plan[e], s->c->args.batch, s->c->args.q_len, parts, &bytes), "size");
    void *const state = test_memory(bytes, TEST_HIGH);
    CHECK(!fovea_attention_state_init(s->plan[e], s->c->args.batch, s->c->args.q_len, parts, state), "init");
    return state;
}

// Keys [first, last) into the state, on engine e or, where it is negative, on any.
static void accumulate(struct session *s, void *state, size_t first, size_t last, int e)
{
    const struct attention_case *const c = s->c;
    struct fovea_attention_args block = c->args;
    e = e < 0 ? some_engine(s) : e;
    block.k = (const float *)block.k + first * (c->desc.k_layout == FOVEA_K_PANELS ? c->desc.qk_dim : c->k.row);
    block.v = (const float *)block.v + first * c->v.row;
    block.out = block.lse = NULL;
    block.kv_begin = first;
    block.kv_len = last;
    if (c->desc.segments) { // (batch, kv_len) of this call
        uint32_t *const ids = test_memory(block.batch * last * sizeof *ids, TEST_HIGH);
        for (size_t b = 0; b < block.batch; b++)
            memcpy(ids + b * last, c->args.kv_segments + b * c->args.kv_len, last * sizeof *ids);
        block.kv_segments = ids;
    }
    const enum fovea_status status =
        fovea_attention_state_accumulate(s->plan[e], &block, state, s->scratch[e], some_executor(s));
    CHECK(!status, "%s: keys %zu to %zu: %s", c->text, first, last, fovea_status_string(status));
}

static void merge(struct session *s, void *into, const void *from)
{
    const int e = some_engine(s);
    const enum fovea_status status =
        fovea_attention_state_merge(s->plan[e], into, from, s->scratch[e], some_executor(s));
    CHECK(!status, "%s: merge: %s", s->c->text, fovea_status_string(status));
}

static void finish(struct session *s, const void *state)
{
    const int e = some_engine(s);
    memcpy(s->c->args.out, s->c->out_before, s->c->out_floats * sizeof *s->c->out_before);
    memset(s->lse, 0xff, s->c->lse_floats * sizeof *s->lse);
    const enum fovea_status status =
        fovea_attention_state_finish(s->plan[e], state, &s->c->args, s->scratch[e], some_executor(s));
    CHECK(!status, "%s: finish: %s", s->c->text, fovea_status_string(status));
}

struct result {
    float *out, *lse;
};

static void compare(const struct session *s, const struct result *expected, const char *what)
{
    const struct attention_case *const c = s->c;
    CHECK_SAME(expected->out, c->args.out, c->out_floats, "%s: %s", c->text, what);
    CHECK_SAME(expected->lse, s->lse, c->lse_floats, "%s: %s", c->text, what);
}

// Blocks of random lengths, each a multiple of `unit` but the last.
static void stream(struct session *s, void *state, size_t first, size_t end, size_t unit, int e)
{
    for (size_t last; first < end; first = last) {
        last = first + unit * (1 + test_below(&s->seed, 2 * SPLIT / (uint32_t)unit));
        last = last < end ? last : end;
        accumulate(s, state, first, last, e);
    }
}

static void in_order(struct session *s, const struct result *expected)
{
    const size_t len = s->c->args.kv_len;
    for (int e = -1; e < TEST_ISAS; e++) {
        if (e >= 0 && !engines[e])
            continue;
        void *const state = new_state(s, 2 + test_below(&s->seed, 3));
        stream(s, state, 0, len, CHUNK, e);
        finish(s, state);
        compare(s, expected, e < 0 ? "accumulated on several ISAs" : test_isas[e]);
    }
}

// States of one to three splits each; empty ones between them.
static void sharded(struct session *s, const struct result *expected)
{
    const size_t len = s->c->args.kv_len;
    void *const total = new_state(s, 3);
    for (size_t first = 0, last; first < len; first = last) {
        last = first + SPLIT * (1 + test_below(&s->seed, 3));
        last = last < len ? last : len;
        void *const part = new_state(s, 3);
        stream(s, part, first, last, CHUNK, -1);
        if (test_below(&s->seed, 3) == 0)
            merge(s, total, new_state(s, 2));
        merge(s, total, part);
    }
    finish(s, total);
    compare(s, expected, "merged at multiples of 1024");
    finish(s, total);
    compare(s, expected, "finished twice");
}

static void check_bounds(const struct session *s)
{
    const struct attention_case *const c = s->c;
    const size_t rows = c->args.batch * c->desc.heads * c->args.q_len;
    for (size_t row = 0; row < rows; row += 1 + rows / 20) {
        struct check_exact out[512], lse;
        const size_t i = row % c->args.q_len, h = row / c->args.q_len % c->desc.heads,
                     b = row / c->args.q_len / c->desc.heads;
        const float *const got = c->args.out + b * c->out.batch + h * c->out.head + i * c->out.row;
        attention_exact(c, b, h, i, out, &lse);
        size_t wrong = 0;
        for (size_t p = 0; p < c->desc.v_dim; p++) // twice the bound: blocks are more chunks than it counts
            wrong += !(fabs((double)got[p] - out[p].value) <= 2 * out[p].bound);
        CHECK(wrong == 0, "%s: any order: row %zu is off", c->text, row);
    }
}

// Blocks cut anywhere, taken from the last to the first by states that merge as they come.
static void any_order(struct session *s)
{
    void *const state[] = {new_state(s, 2), new_state(s, 2)};
    size_t last = s->c->args.kv_len, blocks = 0;
    while (last > 0) {
        const size_t length = 1 + test_below(&s->seed, 700), first = last > length ? (last - length) / UNIT * UNIT : 0;
        accumulate(s, state[blocks++ % 2], first, last, -1);
        last = first;
    }
    merge(s, state[0], state[1]);
    finish(s, state[0]);
    check_bounds(s);
}

static void run_case(uint64_t number)
{
    struct attention_case c;
    attention_draw(&c, number, true, 3000000);
    c.lse_floats = c.args.batch * c.desc.heads * c.args.q_len;
    const struct result expected = {test_floats(c.out_floats, TEST_HIGH), test_floats(c.lse_floats, TEST_HIGH)};
    memcpy(expected.out, c.out_before, c.out_floats * sizeof *expected.out);
    c.args.out = expected.out;
    c.args.lse = c.lse_floats ? expected.lse : NULL;
    CHECK(!test_run(&test_attention, engines[0], &c.desc, &c.args, TEST_SERIAL, 1), "%s", c.text);
    c.args.out = test_floats(c.out_floats, TEST_HIGH);
    struct session s = begin(&c);
    in_order(&s, &expected);
    sharded(&s, &expected);
    any_order(&s);
    test_memory_reset();
}

// Two states in memory that is not long enough for both; where they touch they do not overlap.
static void test_overlap(const void *plan, const char *state, size_t bytes, void *scratch)
{
    char *const both = test_memory(2 * bytes, TEST_HIGH);
    for (size_t apart = 64; apart <= bytes; apart += 64) {
        memcpy(both, state, bytes);
        memcpy(both + apart, state, 64); // the header alone is enough to be refused
        const bool overlaps = apart < bytes;
        if (!overlaps)
            memcpy(both + apart, state, bytes);
        CHECK(fovea_attention_state_merge(plan, both, both + apart, scratch, NULL) ==
                  (overlaps ? FOVEA_ERR_VALUE : FOVEA_OK),
              "%zu of %zu bytes apart", apart, bytes);
        CHECK(!overlaps || fovea_attention_state_merge(plan, both + apart, both, scratch, NULL) == FOVEA_ERR_VALUE,
              "%zu of %zu bytes apart", apart, bytes);
    }
}

static void test_errors(void)
{
    struct attention_case c;
    uint64_t number = 1;
    do
        attention_draw(&c, number++, true, 100000);
    while (c.args.kv_len < 40 || c.out_floats == 0);
    c.args.out = test_floats(c.out_floats, TEST_HIGH);
    struct session s = begin(&c);
    void *const plan = s.plan[0], *const scratch = s.scratch[0];
    size_t bytes;
    const size_t batch = c.args.batch, q_len = c.args.q_len;
    CHECK(fovea_attention_state_size(plan, batch, q_len, 1, &bytes) == FOVEA_ERR_VALUE, "one part");
    CHECK(fovea_attention_state_size(plan, batch, q_len, 65536, &bytes) == FOVEA_ERR_VALUE, "too many parts");
    CHECK(fovea_attention_state_size(plan, c.desc.batch + 1, q_len, 2, &bytes) == FOVEA_ERR_SHAPE, "batch");
    CHECK(fovea_attention_state_size(NULL, batch, q_len, 2, &bytes) == FOVEA_ERR_NULL, "no plan");
    CHECK(!fovea_attention_state_size(plan, batch, q_len, 2, &bytes), "size");
    char *const state = new_state(&s, 2), *const before = test_memory(bytes, TEST_HIGH);
    accumulate(&s, state, 0, c.args.kv_len, 0);
    memcpy(before, state, bytes);
    struct fovea_attention_args args = c.args;
#define REFUSED(call, status) CHECK((call) == (status) && memcmp(before, state, bytes) == 0, "%s", c.text)
    args.kv_begin = 8;
    REFUSED(fovea_attention_state_accumulate(plan, &args, state, scratch, NULL), FOVEA_ERR_ALIGN);
    args = c.args;
    args.q_len--;
    REFUSED(fovea_attention_state_accumulate(plan, &args, state, scratch, NULL), FOVEA_ERR_SHAPE);
    args = c.args;
    args.k = NULL;
    REFUSED(fovea_attention_state_accumulate(plan, &args, state, scratch, NULL), FOVEA_ERR_NULL);
    args = c.args;
    REFUSED(fovea_attention_state_accumulate(plan, &args, state, NULL, NULL), FOVEA_ERR_NULL);
    REFUSED(fovea_attention_state_accumulate(plan, &args, state + 4, scratch, NULL), FOVEA_ERR_ALIGN);
    args.out = NULL;
    REFUSED(fovea_attention_state_finish(plan, state, &args, scratch, NULL), FOVEA_ERR_NULL);
    args = c.args, args.live_heads = NULL, args.live_count = 1;
    REFUSED(fovea_attention_state_finish(plan, state, &args, scratch, NULL), FOVEA_ERR_NULL);
    REFUSED(fovea_attention_state_merge(plan, state, state, scratch, NULL), FOVEA_ERR_VALUE);
    test_overlap(plan, state, bytes, scratch);
    char *const foreign = new_state(&s, 2);
    foreign[0] ^= 1;
    REFUSED(fovea_attention_state_merge(plan, state, foreign, scratch, NULL), FOVEA_ERR_FORMAT);
    foreign[0] ^= 1;
    struct fovea_attention_desc narrower = c.desc;
    narrower.v_dim--;
    void *const other = test_memory(fovea_attention_plan_size(), TEST_HIGH);
    CHECK(c.desc.v_dim > 1 && !fovea_attention_plan(engines[0], &narrower, other), "a plan of narrower values");
    REFUSED(fovea_attention_state_merge(other, state, foreign, scratch, NULL), FOVEA_ERR_SHAPE);
    foreign[16 + 8 + 4] ^= 1; // among the sizes
    CHECK(fovea_attention_state_merge(plan, state, foreign, scratch, NULL) != FOVEA_OK, "sizes");
    args = c.args;
    args.kv_begin = args.kv_len + 16 - args.kv_len % 16; // behind the end: nothing to do
    REFUSED(fovea_attention_state_accumulate(plan, &args, state, scratch, NULL), FOVEA_OK);
    test_memory_reset();
}

int main(void)
{
    const bool small = getenv("FOVEA_TEST_SMALL") != NULL;
    test_engines(engines);
    for (uint64_t number = 30001; number <= (small ? 30040 : 30160); number++)
        run_case(number);
    test_errors();
    test_engines_free(engines);
    return test_done();
}
