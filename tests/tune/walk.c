// SPDX-License-Identifier: Apache-2.0
// tests/tune/walk.c - operands that come from memory: a prime number of places, headers where they belong and gone when
// their owner is, an area that grows under walks that have places in it; and all cases of a class or
// none.
#include "tests/support/engines.h"
#include "tests/support/test.h"
#include "tune/cache.h"
#include "tune/measure.h"
#include "tune/memory.h"
#include "tune/space.h"
#include "tune/walk.h"

#include <string.h>

static bool is_prime(size_t n)
{
    for (size_t d = 2; d * d <= n; d++)
        if (n % d == 0)
            return false;
    return n > 1;
}

static void test_places(const struct fovea_engine *engine)
{
    struct tune_walk small, large, near;
    CHECK(tune_walk_make(&small, engine, 1 << 20, true, true), "a MiB with a header");
    CHECK(small.count > 100 && is_prime(small.count), "%zu places", small.count);
    memset(small.own, 0x7f, 1 << 20);
    tune_walk_begin(&small, false);
    const char *first = NULL;
    for (size_t i = 0; i < small.count; i++) {
        const char *const place = tune_walk_next(&small);
        float number;
        memcpy(&number, place + 64, sizeof number);
        CHECK(memcmp(place, small.own, 64) == 0 && number >= -1 && number < 1, "place %zu", i);
        CHECK(place != first, "place %zu is the first one again", i);
        first = first ? first : place;
    }
    CHECK(tune_walk_next(&small) == first, "the first place comes again");
    CHECK(tune_walk_make(&near, engine, 12345, false, false) && near.count == 0, "an operand that stays");
    CHECK(tune_walk_next(&near) == near.own && tune_walk_next(&near) == near.own, "and is the only one");
    CHECK(tune_walk_make(&large, engine, (size_t)1 << 31, true, false) && large.count == 0, "more than a walk");
    tune_walk_free(&large);
    tune_walk_free(&near);
    const float *const place = (const float *)(const void *)first;
    tune_walk_free(&small);
    for (size_t i = 0; i < 16; i++)
        CHECK(place[i] >= -1 && place[i] < 1, "number %zu is the header of a walk that is gone", i);
    tune_walk_end();
}

// Matrices begin within a line in the samples that ask for it, all of a sample alike; headers never do.
static void test_within(const struct fovea_engine *engine, bool header)
{
    enum { SAMPLES = 24 };
    struct tune_walk walk;
    CHECK(tune_walk_make(&walk, engine, 1 << 20, true, header), "a MiB");
    for (size_t i = 0; i < SAMPLES; i++) {
        const bool within = i % 3 == 1;
        tune_walk_begin(&walk, within);
        const size_t at = (uintptr_t)tune_walk_next(&walk) % 64, next = (uintptr_t)tune_walk_next(&walk) % 64;
        CHECK(at == (within && !header ? 16 : 0) && next == at,
              "header %d, sample %zu: %zu and %zu bytes within a line", header, i, at, next);
    }
    tune_walk_free(&walk);
    tune_walk_end();
}

static const struct fovea_gemm_class near_packed = {FOVEA_SOME, false, FOVEA_FORM_PACKED};

// All cases of a class or none, where only some of them find their memory, or the time to make it.
static void test_cases(const struct fovea_engine *engine)
{
    const struct tune_end never = {.deadline = INFINITY}, past = {.deadline = 0};
    struct tune_case *cases[TUNE_CASES_MAX];
    const uint32_t heads = fovea_attention_number(FOVEA_HEADS_64), some = fovea_gemm_number(near_packed);
    CHECK(tune_cases(engine, 0, 4, &past, cases, NULL) == 0, "no time");
    tune_walk_allow(1e-9);
    for (int form = 0; form < FOVEA_FORMS; form++) {
        const struct fovea_gemm_class few_far = {FOVEA_FEW, true, (enum fovea_gemm_form)form};
        CHECK(tune_cases(engine, fovea_gemm_number(few_far), 4, &never, cases, NULL) == 0, "few rows without a far B");
    }
    CHECK(tune_cases(engine, heads, 1, &never, cases, NULL) == 0, "heads without what comes from memory");
    const uint32_t near = tune_cases(engine, some, 4, &never, cases, NULL);
    CHECK(near > 1, "%u cases that stay in cache", near);
    tune_cases_destroy(cases, near);
    tune_walk_allow(INFINITY);
    const uint32_t all = tune_cases(engine, heads, 1, &never, cases, NULL);
    CHECK(all > 4, "%u cases of heads", all);
    tune_cases_destroy(cases, all);
    tune_walk_end();
}

int main(void)
{
    const size_t left = tune_memory_left();
    CHECK(left > (size_t)64 << 20 && (left == SIZE_MAX || left < (size_t)1 << 50), "%zu bytes are left", left);
    setenv("FOVEA_CACHES", "16K,256K,4M", 1);
    struct fovea_engine *const engine = test_engine(NULL, NULL);
    test_places(engine);
    test_within(engine, true);
    test_within(engine, false);
    test_cases(engine);
    fovea_engine_destroy(engine);
    return test_done();
}
