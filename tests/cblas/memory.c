// SPDX-License-Identifier: Apache-2.0
// tests/cblas/memory.c - no allocation once a thread's buffer is there, buffers of bounded size, and the same bits
// where little memory is to be had, or none.
//
// The program's aligned_alloc takes the place of libc's, for the library too.
#include "tests/cblas/call.h"
#include "tests/support/memory.h"
#include "tests/support/test.h"
#include <pthread.h>

static size_t allowed = SIZE_MAX, largest;
static int allocations;

FOVEA_API void *aligned_alloc(size_t alignment, size_t size);
void *aligned_alloc(size_t alignment, size_t size)
{
    allocations++;
    largest = size > largest ? size : largest;
    void *p = NULL;
    return size > allowed || posix_memalign(&p, alignment, size) != 0 ? NULL : p;
}

struct limited {
    const struct call *call;
    size_t bytes;
};

// In a thread of its own, which has no buffer yet.
static void *run_limited(void *arg)
{
    const struct limited *const limited = arg;
    allowed = limited->bytes;
    call_run(limited->call);
    allowed = SIZE_MAX;
    return NULL;
}

static void check_limited(const struct call *call, const struct fovea_engine *engine, size_t bytes)
{
    float *const expected = call_expect(call, engine);
    float *const before = test_alloc(call->c_floats * sizeof *before);
    memcpy(before, call->c, call->c_floats * sizeof *before);
    struct limited limited = {call, bytes};
    pthread_t id;
    CHECK(pthread_create(&id, NULL, run_limited, &limited) == 0, "no thread");
    pthread_join(id, NULL);
    CHECK_SAME(expected, call->c, call->c_floats, "%s of %d x %d x %d in %zu bytes", call->vector ? "gemv" : "gemm",
               call->m, call->n, call->k, bytes);
    memcpy(call->c, before, call->c_floats * sizeof *before);
    free(before);
    free(expected);
}

static void little(const struct fovea_engine *engine)
{
    static const size_t bytes[] = {0, 1 << 16, 1 << 17, 1 << 18, 1 << 20, SIZE_MAX};
    for (uint64_t i = 0; i < 12; i++) {
        uint64_t seed = i;
        const bool vector = i % 4 == 3;
        const int m = 1 + (int)test_below(&seed, vector ? 5000 : 600), n = 1 + (int)test_below(&seed, 600);
        struct call call = call_of_size(&seed, vector, m, vector ? 1 : n, 1 + (int)test_below(&seed, 700));
        call_factors(&call, &seed, false);
        for (size_t j = 0; j < sizeof bytes / sizeof *bytes; j++)
            check_limited(&call, engine, bytes[j]);
        test_memory_reset();
    }
}

static void steady(void)
{
    allocations = 0;
    uint64_t seed = 1;
    const struct call one = call_of_size(&seed, false, 300, 200, 100), two = call_of_size(&seed, true, 300, 1, 200);
    call_run(&one);
    call_run(&two);
    CHECK(allocations != 0, "the library's aligned_alloc is not this program's");
    allocations = 0;
    for (int i = 0; i < 10; i++) {
        call_run(&one);
        call_run(&two);
    }
    CHECK(allocations == 0, "%d allocations", allocations);
    test_memory_reset();
}

// A B that takes 92 MiB when it is packed as a whole, and an A of 92 MiB that has to be turned.
static void bounded(const struct fovea_engine *engine)
{
    const int many = 1200, few = 500, k = 20000;
    float *const large = test_alloc((size_t)many * (size_t)k * sizeof(float));
    float *const small = test_alloc((size_t)few * (size_t)k * sizeof(float));
    uint64_t seed = 5;
    for (size_t i = 0; i < (size_t)many * (size_t)k; i++)
        large[i] = test_float(&seed);
    for (size_t i = 0; i < (size_t)few * (size_t)k; i++)
        small[i] = test_float(&seed);
    const size_t c_floats = (size_t)many * (size_t)few;
    float *const c = test_alloc(c_floats * sizeof *c);
    for (int side = 0; side < 2; side++) {
        const struct call call = {.function = CALL_CBLAS,
                                  .row_major = true,
                                  .trans_a = side,
                                  .m = side ? many : few,
                                  .n = side ? few : many,
                                  .k = k,
                                  .lda = side ? many : k,
                                  .ldb = side ? few : many,
                                  .ldc = side ? few : many,
                                  .alpha = 1,
                                  .a = side ? large : small,
                                  .b = side ? small : large,
                                  .c = c,
                                  .c_floats = c_floats};
        float *const expected = call_expect(&call, engine);
        largest = 0;
        call_run(&call);
        CHECK_SAME(expected, c, c_floats, "side %d", side);
        CHECK(largest <= (size_t)64 << 20, "a buffer of %zu bytes", largest);
        free(expected);
    }
    free(large);
    free(small);
    free(c);
}

int main(void)
{
    struct fovea_engine *const engine = call_engine();
    steady();
    little(engine);
    if (getenv("FOVEA_TEST_SMALL") == NULL)
        bounded(engine);
    fovea_engine_destroy(engine);
    return test_done();
}
