// SPDX-License-Identifier: Apache-2.0
// tests/unit/positions_layer.c - layers with a position for each sequence: the bits of each sequence alone, in a batch
// of one with views of the caches; and sequences whose prompts differ in length, continued together by one plan, have
// the bits of each computed whole.
#include "tests/unit/layer_cases.h"

enum { B = 4, LEN = 5, ROW = LEN * WIDTH };

static void test_alone(bool decoder, enum fovea_norm_place place, bool rotary, float dropout)
{
    static const size_t positions[B] = {0, 145, 17, 127}, memories[2] = {MEMORY, MEMORY};
    static const uint32_t lens[2] = {MEMORY, 4};
    struct fovea_layer_desc d;
    struct fovea_layer_weights w;
    draw(B, decoder, place, rotary, &d, &w);
    d.dropout = dropout, d.beams = dropout != 0 ? 1 : d.beams;
    const size_t beams = d.beams;
    const struct fovea_kv_cache before = cache_of(B, CAPACITY, positions);
    const size_t all[B] = {MEMORY, MEMORY, MEMORY, MEMORY};
    const struct fovea_kv_cache cross = cache_of(B / beams, MEMORY, beams == 2 ? memories : all);
    struct fovea_layer_args a = {
        .weights = &w, .x = some(B * ROW, 1), .batch = B, .len = LEN, .beams = beams, .seed = 5, .site = 8};
    give_options(&d, &a);
    if (decoder)
        a.cross_cache = &cross, a.memory_len = MEMORY, a.memory_lens = beams == 2 ? lens : NULL;
    float *const expected = test_floats(B * ROW, TEST_HIGH);
    const struct fovea_kv_cache filled = test_copy_cache(&before);
    for (size_t b = 0; b < B; b++) {
        struct fovea_layer_args one = a;
        const struct fovea_kv_cache own = test_copy_cache(&before), view = test_view_cache(&filled, b);
        const struct fovea_kv_cache memory = test_view_cache(&cross, b / beams);
        float *const y = test_floats(B * ROW, TEST_HIGH);
        one.position = positions[b], one.y = y;
        one.self_cache = &own;
        if (dropout == 0) { // else a sequence is named by its number in the batch
            one.x += b * ROW, one.y += b * ROW, one.batch = one.beams = 1, one.self_cache = &view;
            one.cross_cache = decoder ? &memory : NULL;
            one.memory_lens = a.memory_lens ? a.memory_lens + b / beams : NULL;
        }
        CHECK(!test_run(&test_layer, engines[0], &d, &one, TEST_SERIAL, 1), "alone");
        memcpy(expected + b * ROW, y + b * ROW, ROW * sizeof *y);
    }
    a.positions = positions;
    for (int e = 0; e < TEST_ISAS; e++)
        for (int way = 0; way < TEST_WAYS && engines[e]; way++) {
            const struct fovea_kv_cache cache = test_copy_cache(&before);
            float *const y = test_floats(B * ROW, TEST_HIGH);
            a.y = y, a.self_cache = &cache;
            const enum fovea_status status = test_run(&test_layer, engines[e], &d, &a, (enum test_way)way, 3);
            CHECK(!status, "together: %s", fovea_status_string(status));
            CHECK_SAME(expected, y, B * ROW, "%s, %s", decoder ? "decoder" : "causal", test_isas[e]);
            if (dropout == 0)
                test_same_caches(&filled, &cache, test_isas[e]);
        }
    // Nothing is written where one position is too many.
    const size_t beyond[B] = {0, CAPACITY - LEN + 1, 17, 127};
    const struct fovea_kv_cache cache = test_copy_cache(&before);
    a.positions = beyond, a.y = test_floats(B * ROW, TEST_HIGH), a.self_cache = &cache;
    CHECK(test_run(&test_layer, engines[0], &d, &a, TEST_SERIAL, 1) == FOVEA_ERR_SHAPE, "beyond");
    test_same_caches(&before, &cache, "a refused call");
    test_memory_reset();
}

// Prompts one by one, then all together token by token: one plan, one memory.
static void test_session(const struct fovea_engine *engine, const char *isa)
{
    enum { STEPS = 20 };
    static const size_t prompts[B] = {1, 113, 16, 40}, nothing[B] = {0};
    struct fovea_layer_desc d;
    struct fovea_layer_weights w;
    draw(B, false, FOVEA_NORM_PRE, true, &d, &w);
    const float *const x = some(B * CAPACITY * WIDTH, 1);
    struct fovea_layer_args a = {.weights = &w, .beams = 1};
    give_options(&d, &a);
    const struct test_session s = test_plan(&test_layer, engine, &d, 1);
    size_t positions[B];
    const struct fovea_kv_cache cache = cache_of(B, CAPACITY, nothing);
    float *const whole = test_floats(B * CAPACITY * WIDTH, TEST_HIGH);
    float *const y = test_floats(CAPACITY * WIDTH, TEST_HIGH), *const in = test_floats(B * WIDTH, TEST_HIGH);
    for (size_t b = 0; b < B; b++) {
        const struct fovea_kv_cache other = cache_of(1, CAPACITY, nothing), view = test_view_cache(&cache, b);
        a.batch = 1, a.len = prompts[b] + STEPS, a.self_cache = &other;
        a.x = x + b * CAPACITY * WIDTH, a.y = whole + b * CAPACITY * WIDTH;
        CHECK(!fovea_layer(s.plan, &a, s.shared, s.scratch, NULL), "whole");
        a.len = prompts[b], a.self_cache = &view, a.y = y;
        CHECK(!fovea_layer(s.plan, &a, s.shared, s.scratch, NULL), "prompt");
        CHECK_SAME(whole + b * CAPACITY * WIDTH, y, a.len * WIDTH, "a prompt, %s", isa);
        positions[b] = prompts[b];
    }
    a.batch = B, a.len = 1, a.self_cache = &cache, a.positions = positions, a.x = in;
    for (size_t step = 0; step < STEPS; step++) {
        for (size_t b = 0; b < B; b++)
            memcpy(in + b * WIDTH, x + (b * CAPACITY + positions[b]) * WIDTH, WIDTH * sizeof *in);
        CHECK(!fovea_layer(s.plan, &a, s.shared, s.scratch, NULL), "step");
        for (size_t b = 0; b < B; b++)
            CHECK_SAME(whole + (b * CAPACITY + positions[b]++) * WIDTH, y + b * WIDTH, WIDTH, "a step, %s", isa);
    }
    test_memory_reset();
}

int main(void)
{
    test_engines(engines);
    for (int i = 0; i < 8; i++)
        test_alone(i & 1, i & 2 ? FOVEA_NORM_PRE : FOVEA_NORM_POST, i & 4, 0);
    test_alone(true, FOVEA_NORM_SANDWICH, true, 0);
    test_alone(true, FOVEA_NORM_SANDWICH, false, 0.2f);
    test_alone(false, FOVEA_NORM_PRE, true, 0.2f);
    test_alone(true, FOVEA_NORM_POST, false, 0.2f);
    for (int e = 0; e < TEST_ISAS; e++)
        if (engines[e])
            test_session(engines[e], test_isas[e]);
    test_engines_free(engines);
    return test_done();
}
