// SPDX-License-Identifier: Apache-2.0
// tests/unit/mha_append.c - multi-head attention fills its cache in pieces of some panels: any position and length,
// on any threads, in elements of any type, leaves what fovea_kv_append would; and a long prompt is work for many
// workers.
//
// Projections are identities, so that what is appended is known exactly.
#include "fovea/fovea.h"
#include "tests/support/engines.h"
#include "tests/support/keys.h"
#include "tests/support/memory.h"
#include "tests/support/operator.h"
#include "tests/support/test.h"
#include "tests/support/weights.h"

#include <stdbool.h>
#include <stdlib.h>

enum { B = 2, HEADS = 2, QK = 48, V = 80, CAPACITY = 700, MANY = 64 };
enum { KEY = HEADS * QK, VALUE = HEADS * V };

static struct fovea_linear identity(const struct fovea_engine *engine, size_t width)
{
    float *const w = test_floats(width * width, TEST_HIGH);
    for (size_t i = 0; i < width * width; i++)
        w[i] = i % (width + 1) == 0;
    return (struct fovea_linear){test_packed(engine, w, width, width), NULL};
}

// Under an emulator each case runs one way, and by the scalar path every other case.
static bool left_out(const char *isa, size_t number, int way)
{
    return getenv("FOVEA_TEST_SMALL") != NULL &&
           (number % TEST_WAYS != (size_t)way || (number % 2 != 0 && strcmp(isa, test_isas[0]) == 0));
}

// Full of other keys.
static struct fovea_kv_cache cache_of(enum fovea_type type, uint64_t *rng)
{
    const struct fovea_kv_cache c = test_typed_cache(type, B, HEADS, CAPACITY, QK, V);
    for (size_t b = 0; b < B; b++)
        test_fill_cache(&c, b, CAPACITY, rng);
    return c;
}

static struct fovea_mha_desc describe(void)
{
    struct fovea_mha_desc d;
    fovea_mha_desc_init(&d, sizeof d);
    d.keys = FOVEA_MHA_APPEND;
    d.batch = B, d.heads = d.kv_heads = HEADS, d.kv_len = d.new_len = CAPACITY;
    d.qk_dim = QK, d.v_dim = V, d.key_width = KEY, d.value_width = VALUE;
    d.query_width = d.out_width = 1;
    return d;
}

static void test_filling(const struct fovea_engine *engine, const char *isa)
{
    // The first position of each sequence, and how many keys are new: also as many as fill pieces of 128, and 15 away.
    static const size_t places[][3] = {{0, 0, CAPACITY}, {5, 5, 400},     {16, 16, 256}, {15, 15, 1},
                                       {100, 100, 27},   {319, 319, 381}, {7, 7, 0},     {16, 15, 384},
                                       {0, 316, 384},    {699, 4, 1},     {31, 300, 385}};
    struct fovea_mha_desc d = describe();
    for (size_t i = 0; i < sizeof places / sizeof *places; i++)
        for (int way = 0; way < TEST_WAYS; way++) {
            if (left_out(isa, i, way))
                continue;
            uint64_t rng = i + 1;
            d.kv_type = (enum fovea_type)((i + (size_t)way) % 3);
            const struct fovea_kv_cache got = cache_of(d.kv_type, &rng), want = test_copy_cache(&got);
            const struct fovea_mha_weights w = {.k = identity(engine, KEY), .v = identity(engine, VALUE)};
            const size_t *const positions = places[i], len = places[i][B];
            const float *const key = test_some(B * len * KEY, 1, &rng), *const value =
                                                                            test_some(B * len * VALUE, 1, &rng);
            struct fovea_mha_args args = {
                .weights = &w, .key = key, .value = value, .batch = B, .kv_len = len, .cache = &got};
            args.positions = way == TEST_SERIAL || positions[0] != positions[1] ? positions : NULL;
            args.position = args.positions ? 0 : positions[0];
            CHECK(!test_run(&test_mha, engine, &d, &args, (enum test_way)way, i), "mha");
            for (size_t b = 0; b < B; b++)
                CHECK(!fovea_kv_append(&want, b, positions[b], len, key + b * len * KEY,
                                       (struct fovea_strides){0, QK, KEY}, value + b * len * VALUE,
                                       (struct fovea_strides){0, V, VALUE}),
                      "append");
            char what[80];
            snprintf(what, sizeof what, "%s, %s: %zu keys at %zu and %zu", isa, test_way_names[way], len, positions[0],
                     positions[1]);
            test_same_caches(&want, &got, what);
            test_memory_reset();
        }
}

// Keys of several sequences in a call without queries, some of them none: what fovea_kv_append would leave, and in
// pages fovea_kv_pages_append.
static void test_ragged(const struct fovea_engine *engine, const char *isa)
{
    static const size_t places[][B] = {{0, 0}, {5, 699}, {316, 15}}, lens[][B] = {{CAPACITY, 1}, {0, 1}, {384, 27}};
    struct fovea_mha_desc d = describe();
    d.rows = CAPACITY + 1;
    for (size_t i = 0; i < sizeof places / sizeof *places; i++)
        for (int way = 0; way < TEST_WAYS; way++) {
            if (left_out(isa, i, way))
                continue;
            uint64_t rng = i + 1;
            d.kv_type = (enum fovea_type)((i + (size_t)way) % 3);
            const struct fovea_kv_cache got = cache_of(d.kv_type, &rng), want = test_copy_cache(&got);
            const struct test_pages pages = test_in_pages(&got, 32), want_pages = test_in_pages(&got, 32);
            const uint32_t starts[B + 1] = {0, (uint32_t)lens[i][0], (uint32_t)(lens[i][0] + lens[i][1])};
            const struct fovea_mha_weights w = {.k = identity(engine, KEY), .v = identity(engine, VALUE)};
            struct fovea_mha_args args = {.weights = &w, .batch = B, .starts = starts, .positions = places[i]};
            args.key = test_some(starts[B] * (size_t)KEY, 1, &rng);
            args.value = test_some(starts[B] * (size_t)VALUE, 1, &rng);
            args.kv_len = lens[i][0] > lens[i][1] ? lens[i][0] : lens[i][1];
            args.cache = &got;
            d.page_keys = 0;
            CHECK(!test_run(&test_mha, engine, &d, &args, (enum test_way)way, i), "into a cache");
            args.cache = NULL, args.pool = &pages.pool, args.pages = pages.table, args.pages_batch = pages.of_sequence;
            d.page_keys = pages.pool.page_keys;
            CHECK(!test_run(&test_mha, engine, &d, &args, (enum test_way)way, i), "into pages");
            for (size_t b = 0; b < B; b++) {
                const uint32_t *const table = pages.table + b * pages.of_sequence;
                const float *const key = args.key + starts[b] * KEY, *const value = args.value + starts[b] * VALUE;
                const struct fovea_strides ks = {0, QK, KEY}, vs = {0, V, VALUE};
                const size_t at = places[i][b], len = lens[i][b];
                CHECK(!fovea_kv_append(&want, b, at, len, key, ks, value, vs), "append");
                CHECK(!fovea_kv_pages_append(&want_pages.pool, table, at, len, key, ks, value, vs), "append to pages");
            }
            char what[80];
            snprintf(what, sizeof what, "%s, %s: ragged case %zu", isa, test_way_names[way], i);
            test_same_caches(&want, &got, what);
            test_same_pages(&want_pages, &pages, what);
            test_memory_reset();
        }
}

// Keys that are turned by their positions: as in a call with queries.
static void test_turned(const struct fovea_engine *engine, const char *isa)
{
    static const uint32_t starts[B + 1] = {0, 40, 41};
    static const size_t positions[B] = {300, 7};
    uint64_t rng = 5, more = 6;
    const struct fovea_kv_cache got = cache_of(FOVEA_F32, &rng), want = test_copy_cache(&got);
    struct fovea_mha_desc d = describe();
    d.q_len = CAPACITY, d.rows = 41;
    d.rotary_dim = QK, d.rotary_positions = CAPACITY;
    const struct fovea_mha_weights w = {.q = test_linear(engine, 1, HEADS * QK, true, &more),
                                        .k = identity(engine, KEY),
                                        .v = identity(engine, VALUE),
                                        .o = test_linear(engine, HEADS * V, 1, true, &more)};
    struct fovea_mha_args args = {.weights = &w, .batch = B, .kv_len = 40, .starts = starts, .positions = positions};
    args.key = test_some(41 * KEY, 1, &more), args.value = test_some(41 * VALUE, 1, &more);
    args.rotary_cos = test_some(CAPACITY * QK / 2, 1, &more), args.rotary_sin = test_some(CAPACITY * QK / 2, 1, &more);
    args.cache = &got;
    CHECK(!test_run(&test_mha, engine, &d, &args, TEST_SERIAL, 1), "without queries");
    args.cache = &want, args.q_len = 40;
    args.query = test_some(41, 1, &more), args.out = test_floats(41, TEST_HIGH);
    CHECK(!test_run(&test_mha, engine, &d, &args, TEST_SERIAL, 1), "with queries");
    test_same_caches(&want, &got, isa);
    test_memory_reset();
}

// Of an engine for many workers: of each phase that has work at all no task has more than a quarter of it.
static void test_tasks(void)
{
    const struct fovea_engine_options options = {.struct_size = sizeof options, .workers = MANY};
    struct fovea_engine *engine = NULL;
    CHECK(!fovea_engine_create(&options, &engine), "engine");
    struct fovea_mha_desc d = describe();
    d.batch = 1;
    const struct fovea_work *const plan = test_plan(&test_mha, engine, &d, 1).plan;
    uint64_t rng = 1;
    const struct fovea_kv_cache cache = cache_of(FOVEA_F32, &rng);
    const struct fovea_mha_weights w = {.k = identity(engine, KEY), .v = identity(engine, VALUE)};
    const struct fovea_mha_args args = {.weights = &w,
                                        .key = test_some(CAPACITY * KEY, 1, &rng),
                                        .value = test_some(CAPACITY * VALUE, 1, &rng),
                                        .batch = 1,
                                        .kv_len = CAPACITY,
                                        .cache = &cache};
    for (uint32_t phase = 0; phase < plan->phases; phase++) {
        const uint32_t tasks = fovea_mha_tasks(plan, &args, phase);
        CHECK(tasks == 0 || tasks >= 4, "phase %u is %u tasks", (unsigned)phase, (unsigned)tasks);
    }
    d.batch = ((size_t)1 << 30) - 1; // of one key each
    d.kv_len = d.new_len = 1;
    char text[FOVEA_EXPLAIN_BYTES];
    CHECK(fovea_explain_mha(engine, &d, text, sizeof text) == FOVEA_ERR_OVERFLOW && strstr(text, "more tasks"), "%s",
          text);
    test_memory_reset();
    fovea_engine_destroy(engine);
}

int main(void)
{
    test_each_engine(test_filling);
    test_each_engine(test_ragged);
    test_each_engine(test_turned);
    test_tasks();
    return test_done();
}
