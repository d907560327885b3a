// SPDX-License-Identifier: Apache-2.0
// tests/unit/attention_ragged.c - a ragged batch gives each entry the bits it has alone: prefilling and decoding
// entries side by side, keys ragged too, in a cache or in pages, of any type, on every ISA, in any order of tasks.
#include "tests/support/engines.h"
#include "tests/support/memory.h"
#include "tests/support/operator.h"
#include "tests/support/test.h"
#include "tests/unit/attention_half.h"
#include "tests/unit/ragged_batch.h"

#include <stdbool.h>

static struct fovea_engine *engines[TEST_ISAS];

struct result {
    float *out, *lse; // (rows, HEADS, DV); each entry's (HEADS, queries)
};

static struct result new_result(const struct batch *t)
{
    const size_t n = t->q_starts[t->entries] * HEADS;
    return (struct result){test_floats(n * DV, TEST_HIGH), test_floats(n, TEST_HIGH)};
}

// Each entry alone, its keys in rows, on the scalar engine.
static struct result compute_alone(const struct batch *t)
{
    const struct fovea_attention_desc d = ragged_describe(t, 1);
    const struct result r = new_result(t);
    for (size_t b = 0; b < t->entries; b++) {
        struct fovea_attention_args args = ragged_entry(t, b);
        args.out = r.out + t->q_starts[b] * (size_t)(HEADS * DV);
        args.lse = r.lse + t->q_starts[b] * (size_t)HEADS;
        CHECK(!test_run(&test_attention, engines[0], &d, &args, TEST_SERIAL, 1), "alone");
    }
    return r;
}

// The keys and values of a call as elements of 16 bits: what attention_round makes of them.
static void narrow_call(const struct batch *t, enum fovea_type type, struct fovea_attention_desc *d,
                        struct fovea_attention_args *args)
{
    size_t k = t->kv_starts[t->entries] * (size_t)(KV_HEADS * D),
           v = t->kv_starts[t->entries] * (size_t)(KV_HEADS * DV);
    CHECK(t->keys != CACHED || !fovea_kv_cache_size(&t->cache, &k, &v), "the size of a cache");
    CHECK(t->keys != PAGED || !fovea_kv_pages_size(&t->pool, &k, &v), "the size of pages");
    args->k = attention_halves(type, args->k, k);
    args->v = attention_halves(type, args->v, v);
    d->kv_type = type;
}

static void run_case(uint64_t seed)
{
    const enum fovea_type type = (enum fovea_type)(seed / 3 % 3);
    struct batch t;
    ragged_draw(&t, seed);
    if (type != FOVEA_F32) {
        attention_round(type, t.k, t.kv_starts[t.entries] * (size_t)(KV_HEADS * D));
        attention_round(type, t.v, t.kv_starts[t.entries] * (size_t)(KV_HEADS * DV));
    }
    const struct result expected = compute_alone(&t);
    // More landmarks than the call has, or as many.
    struct fovea_attention_desc d = ragged_describe(&t, t.entries + 1 + seed % 2 * 8);
    struct fovea_attention_args args = ragged_call(&t, &d);
    if (type != FOVEA_F32)
        narrow_call(&t, type, &d, &args);
    for (int e = 0; e < TEST_ISAS; e++) {
        if (!engines[e])
            continue;
        const enum test_way way = (enum test_way)((seed + (uint64_t)e) % TEST_WAYS);
        const struct result got = new_result(&t);
        args.out = got.out;
        args.lse = got.lse;
        d.rows = (seed + (uint64_t)e) % 2 ? t.q_starts[t.entries] : 0; // memory for these, or for any
        const enum fovea_status status = test_run(&test_attention, engines[e], &d, &args, way, seed);
        CHECK(!status, "%s", fovea_status_string(status));
        const size_t n = t.q_starts[t.entries] * HEADS;
        CHECK_SAME(expected.out, got.out, n * DV, "seed %d, keys %d, %s, %s", (int)seed, (int)t.keys, test_isas[e],
                   test_way_names[way]);
        CHECK_SAME(expected.lse, got.lse, n, "seed %d, keys %d, %s", (int)seed, (int)t.keys, test_isas[e]);
    }
    test_memory_reset();
}

static void test_errors(void)
{
    struct batch t;
    ragged_draw(&t, 3);
    const struct fovea_attention_desc d = ragged_describe(&t, FEW);
    const struct fovea_attention_args good = {.q = t.q,
                                              .k = t.k,
                                              .v = t.v,
                                              .out = new_result(&t).out,
                                              .batch = FEW,
                                              .q_len = t.q_most,
                                              .kv_len = t.kv_most,
                                              .q_starts = t.q_starts,
                                              .kv_starts = t.kv_starts};
    struct fovea_attention_args args = good;
    uint32_t starts[FEW + 1] = {0, 5, 4, 4, 4, 4, 4};
#define REFUSED(status, what) CHECK(test_run(&test_attention, engines[0], &d, &args, TEST_SERIAL, 1) == (status), what)
    args.q_starts = NULL;
    REFUSED(FOVEA_ERR_NULL, "keys alone are ragged");
    args.q_starts = starts;
    REFUSED(FOVEA_ERR_SHAPE, "descending");
    starts[1] = starts[2] = starts[3] = starts[4] = starts[5] = starts[6] = (uint32_t)t.q_most + 1;
    REFUSED(FOVEA_ERR_SHAPE, "too long");
    args = good;
    args.kv_starts = starts;
    args.kv_len = t.q_most;
    REFUSED(FOVEA_ERR_SHAPE, "too many keys");
    args = good;
    args.q_len = 0;
    REFUSED(FOVEA_ERR_SHAPE, "more queries than none");
    args.q_starts = (const uint32_t[FEW + 1]){0};
    args.k = NULL;
    REFUSED(FOVEA_OK, "no queries");
    args = good;
    args.batch_strides = (const size_t[]){SIZE_MAX, SIZE_MAX, SIZE_MAX, 1}; // of rows, which have none
    REFUSED(FOVEA_OK, "batch strides are ignored");
    for (int i = 0; i < 3; i++) { // each entry of q, k or v fits in memory, all together do not
        struct fovea_attention_desc far = d;
        struct fovea_strides *const of[] = {&far.q, &far.k, &far.v};
        const size_t rows = i == 0 ? t.q_most : t.kv_most;
        *of[i] = (struct fovea_strides){0, 0, PTRDIFF_MAX / sizeof(float) / rows};
        CHECK(test_run(&test_attention, engines[0], &far, &good, TEST_SERIAL, 1) == FOVEA_ERR_OVERFLOW, "tensor %d", i);
    }
    struct fovea_attention_desc heads = d; // each of q_most rows: those of a ragged batch pass from one to another
    heads.out = (struct fovea_strides){t.q_most * HEADS * DV, t.q_most * DV, DV};
    CHECK(test_run(&test_attention, engines[0], &heads, &good, TEST_SERIAL, 1) == FOVEA_ERR_STRIDE, "rows of out meet");
    struct fovea_attention_desc panels = d;
    panels.k_layout = FOVEA_K_PANELS;
    CHECK(test_run(&test_attention, engines[0], &panels, &good, TEST_SERIAL, 1) == FOVEA_ERR_UNSUPPORTED, "panels");
    panels.page_keys = 48;
    CHECK(test_run(&test_attention, engines[0], &panels, &good, TEST_SERIAL, 1) == FOVEA_ERR_VALUE, "pages of 48");
    panels.page_keys = 64;
    args = good;
    args.kv_starts = NULL;
    CHECK(test_run(&test_attention, engines[0], &panels, &args, TEST_SERIAL, 1) == FOVEA_ERR_NULL, "no table");
    test_memory_reset();
}

// Entries of a split each are a task each, wherever their keys begin.
static void test_counts(void)
{
    struct batch t;
    ragged_draw(&t, 4);
    struct fovea_attention_desc d = ragged_describe(&t, ENTRIES);
    d.kv_len = 600;
    uint32_t q_starts[ENTRIES + 1], kv_starts[ENTRIES + 1];
    for (uint32_t b = 0; b <= ENTRIES; b++) {
        q_starts[b] = b;
        kv_starts[b] = 600 * b;
    }
    struct fovea_attention_args args = {.q = t.q, .k = t.k, .v = t.v, .out = new_result(&t).out, .batch = ENTRIES};
    args.q_len = 1, args.kv_len = 600, args.q_starts = q_starts, args.kv_starts = kv_starts;
    const void *const plan = test_plan(&test_attention, engines[0], &d, 1).plan;
    CHECK(fovea_attention_tasks(plan, &args, 1) == ENTRIES * KV_HEADS && fovea_attention_tasks(plan, &args, 2) == 0,
          "%u tasks", (unsigned)fovea_attention_tasks(plan, &args, 1));
    test_memory_reset();
}

// A task checks the starts of its entry: one that goes wrong behind the first phase fails, the others run.
static void test_tasks(void)
{
    struct batch t;
    ragged_draw(&t, 4);
    const struct fovea_attention_desc d = ragged_describe(&t, ENTRIES);
    uint32_t q_starts[ENTRIES + 1], kv_starts[ENTRIES + 1];
    for (uint32_t b = 0; b <= ENTRIES; b++) // a task each
        q_starts[b] = kv_starts[b] = b;
    const struct fovea_attention_args args = {.q = t.q,
                                              .k = t.k,
                                              .v = t.v,
                                              .out = new_result(&t).out,
                                              .batch = ENTRIES,
                                              .q_len = 1,
                                              .kv_len = 1,
                                              .q_starts = q_starts,
                                              .kv_starts = kv_starts};
    const struct test_session s = test_plan(&test_attention, engines[0], &d, 1);
    const struct fovea_work *const plan = s.plan;
    void *const shared = s.shared, *const scratch = s.scratch;
    CHECK(plan->phases == 3 && fovea_attention_tasks(plan, &args, 0) == 1 &&
              fovea_attention_tasks(plan, &args, 1) == ENTRIES * KV_HEADS && fovea_attention_tasks(plan, &args, 2) == 0,
          "%u phases", (unsigned)plan->phases);
    CHECK(!fovea_attention_task(plan, &args, shared, scratch, 0, 0), "phase 0");
    for (int wrong = 0; wrong < 2; wrong++) {
        uint32_t *const starts = wrong == 0 ? q_starts : kv_starts;
        starts[11] = ENTRIES + 1; // entry 10 is too long, entry 11 descends; the next landmark is entry 16
        for (uint32_t task = 0; task < ENTRIES * KV_HEADS; task++) {
            const uint32_t entry = task / KV_HEADS;
            const enum fovea_status status = fovea_attention_task(plan, &args, shared, scratch, 1, task);
            CHECK((entry > 10 && entry < 16) || status == (entry == 10 ? FOVEA_ERR_SHAPE : FOVEA_OK), "task %u: %s",
                  (unsigned)task, fovea_status_string(status));
        }
        CHECK(fovea_attention_tasks(plan, &args, 1) == 0, "tasks of starts that descend");
        CHECK(fovea_attention_task(plan, &args, shared, scratch, 0, 0) == FOVEA_ERR_SHAPE, "phase 0 of them");
        starts[11] = 11;
        starts[ENTRIES] = 5; // what later entries would have lies behind the last start
        for (uint32_t task = 0; task < ENTRIES * KV_HEADS; task++)
            CHECK(fovea_attention_task(plan, &args, shared, scratch, 1, task) ==
                      (task / KV_HEADS < 5 ? FOVEA_OK : FOVEA_ERR_SHAPE),
                  "task %u behind the last start", (unsigned)task);
        starts[ENTRIES] = ENTRIES;
    }
    CHECK(fovea_attention_task(plan, &args, shared, scratch, 1, ENTRIES * KV_HEADS) == FOVEA_ERR_SHAPE, "past");
    CHECK(fovea_attention_task(plan, &args, shared, scratch, 0, 1) == FOVEA_ERR_SHAPE, "past the first");
    CHECK(fovea_attention_task(plan, &args, shared, scratch, 2, 0) == FOVEA_ERR_SHAPE, "none");
    CHECK(fovea_attention_task(plan, &args, shared, scratch, 3, 0) == FOVEA_ERR_SHAPE, "no phase");
    CHECK(fovea_attention_task(plan, &args, NULL, scratch, 1, 0) == FOVEA_ERR_NULL, "no memory");
    test_memory_reset();
}

int main(void)
{
    const bool small = getenv("FOVEA_TEST_SMALL") != NULL;
    test_engines(engines);
    for (uint64_t seed = 1; seed <= (small ? 9 : 45); seed++)
        run_case(seed);
    test_errors();
    test_counts();
    test_tasks();
    test_engines_free(engines);
    return test_done();
}
