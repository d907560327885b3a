// SPDX-License-Identifier: Apache-2.0
// tests/unit/attention_ways.c - tiles that begin and end in other chunks and splits than their task, and blocks of rows
// that share keys: the scalar engine's bits, which goes tile by tile, with and without keys before kv_begin.
#include "fovea/attention.h"
#include "tests/check/check.h"
#include "tests/support/engines.h"
#include "tests/support/memory.h"
#include "tests/support/operator.h"
#include "tests/support/test.h"

enum { DIM = 48 };

static struct fovea_engine *engines[TEST_ISAS], *far[TEST_ISAS];

struct shape {
    size_t heads, kv_heads, queries, keys, kv_begin, window;
    int64_t offset;
    uint32_t causal;
};

static const struct shape shapes[] = {
    // The first tiles see keys of split 0, the last ones none of it.
    {2, 2, 400, 2200, 0, 100, 900, 1},
    {2, 2, 400, 2200, 784, 100, 900, 1},
    {1, 1, 300, 1500, 1040, 60, 1100, 1},
    {1, 1, 300, 1500, 0, SIZE_MAX, 1200, 1},
    // Tiles that see nothing, before and among others.
    {2, 1, 200, 256, 0, SIZE_MAX, -100, 1},
    {2, 1, 120, 400, 144, 20, 100, 1},
    // Two and five blocks, of one split and of several, of which the last rows see more, or other, keys.
    {16, 2, 4, 300, 0, SIZE_MAX, 296, 1},
    {16, 2, 9, 2200, 0, SIZE_MAX, 2191, 1},
    {16, 2, 9, 2200, 1104, 300, 2100, 1},
    {8, 1, 10, 1300, 0, SIZE_MAX, 0, 0},
    {8, 1, 10, 1300, 0, 40, 1000, 1},
};

static void fill(struct check_rng *rng, float *x, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        x[i] = check_uniform(rng);
    }
}

static float *run(const struct shape *s, const struct fovea_engine *engine, enum test_way way, struct check_rng rng)
{
    struct fovea_attention_desc d;
    fovea_attention_desc_init(&d, sizeof d);
    const size_t rows = s->keys - s->kv_begin;
    d.batch = 1;
    d.heads = s->heads;
    d.kv_heads = s->kv_heads;
    d.q_len = s->queries;
    d.kv_len = s->keys;
    d.qk_dim = d.v_dim = DIM;
    d.causal = s->causal;
    d.window_left = s->window == SIZE_MAX ? FOVEA_WINDOW_ALL : s->window;
    d.q = d.out = (struct fovea_strides){0, DIM, s->heads * DIM};
    d.k = d.v = (struct fovea_strides){0, DIM, s->kv_heads * DIM};
    const size_t floats = s->heads * s->queries * DIM, kv = s->kv_heads * rows * DIM;
    float *const q = test_floats(floats, TEST_HIGH), *const k = test_floats(kv, TEST_HIGH),
                 *const v = test_floats(kv, TEST_LOW), *const out = test_floats(floats, TEST_HIGH);
    fill(&rng, q, floats);
    fill(&rng, k, kv);
    fill(&rng, v, kv);
    const struct fovea_attention_args args = {.q = q,
                                              .k = k,
                                              .v = v,
                                              .out = out,
                                              .batch = 1,
                                              .q_len = s->queries,
                                              .kv_len = s->keys,
                                              .kv_begin = s->kv_begin,
                                              .q_offset = s->offset};
    const enum fovea_status status = test_run(&test_attention, engine, &d, &args, way, 1);
    CHECK(status == FOVEA_OK, "%zux%zu: %s", s->queries, s->keys, fovea_status_string(status));
    return out;
}

int main(void)
{
    test_engines(engines);
    for (int i = 0; i < TEST_ISAS; i++) {
        far[i] = test_engine(test_isas[i], NULL);
        for (int j = 0; j < FOVEA_ATTENTION_CLASSES && far[i]; j++) {
            struct fovea_attention_tuning *const t = &test_tuning(far[i])->attention[j];
            t->near = t->near_tiles = 1;
        }
    }
    for (size_t c = 0; c < sizeof shapes / sizeof *shapes; c++) {
        const struct shape *const s = &shapes[c];
        const struct check_rng rng = {.state = c + 1};
        const float *const expected = run(s, engines[0], TEST_SERIAL, rng);
        const size_t floats = s->heads * s->queries * DIM;
        for (int i = 0; i < TEST_ISAS; i++) {
            for (int w = 0; w < 2 * TEST_WAYS && engines[i]; w++) {
                if (i == 0 && w != 2 * TEST_THREADS && w != 2 * TEST_TASKS + 1)
                    continue; // scalar is slow: each way once, and in one thread it is what is expected
                const float *const got = run(s, w % 2 == 0 ? far[i] : engines[i], (enum test_way)(w / 2), rng);
                CHECK_SAME(expected, got, floats, "case %zu: %s %s", c, test_isas[i], test_way_names[w / 2]);
            }
        }
        test_memory_reset();
    }
    test_engines_free(engines);
    test_engines_free(far);
    return test_done();
}
