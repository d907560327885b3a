// SPDX-License-Identifier: Apache-2.0
// tests/cblas/bits.c - every function, layout, transpose, stride and factor gives the bits of fovea_gemm, and touches
// nothing outside its operands. Run with several values of FOVEA_NUM_THREADS.
#include "tests/cblas/call.h"
#include "tests/support/memory.h"
#include "tests/support/test.h"

static void draw(const struct fovea_engine *engine, int cases)
{
    for (int i = 0; i < cases; i++) {
        uint64_t seed = (uint64_t)i;
        const struct call call = call_draw(&seed, i % 8 == 0 ? 200 : 70);
        CHECK(call_right(&call, engine), "case %d", i);
        test_memory_reset();
    }
}

// Large enough for the pool, each way of laying out the operands several times.
static void large(const struct fovea_engine *engine, int cases, int size)
{
    for (int i = 0; i < cases; i++) {
        uint64_t seed = (uint64_t)i + 1000;
        const bool vector = i % 3 == 2;
        const int m = size + (int)test_below(&seed, 150), k = size + (int)test_below(&seed, 150);
        const int n = vector ? 1 : size + (int)test_below(&seed, 150);
        struct call call = call_of_size(&seed, vector, vector ? 8 * m : m, n, vector ? 8 * k : k);
        call_factors(&call, &seed, i % 6 == 0);
        CHECK(call_right(&call, engine), "case %d", i);
        test_memory_reset();
    }
}

// What is said not to be read may be anything: operands of an alpha of 0, C of a beta of 0.
static void unread(void)
{
    float c[4] = {NAN, NAN, NAN, NAN};
    cblas_sgemm(101, 111, 111, 2, 2, 3, 0, NULL, 3, NULL, 2, 0, c, 2);
    CHECK(c[0] == 0 && c[1] == 0 && c[2] == 0 && c[3] == 0, "alpha 0, beta 0");
    c[0] = c[1] = 3;
    cblas_sgemv(102, 111, 2, 2, 0, NULL, 2, NULL, 1, 2, c, 1);
    CHECK(c[0] == 6 && c[1] == 6, "alpha 0, beta 2");
    cblas_sgemm(102, 112, 112, 0, 5, 7, 1, NULL, 7, NULL, 5, 2, NULL, 1);
    cblas_sgemm(101, 111, 111, 5, 0, 7, 1, NULL, 7, NULL, 1, 2, NULL, 1);
    cblas_sgemm(101, 111, 111, 2, 2, 0, NAN, NULL, 1, NULL, 2, 1, c, 2);
    cblas_sgemv(101, 111, 0, 2, 1, NULL, 2, NULL, 1, 0, NULL, 1);
    CHECK(c[0] == 6 && c[1] == 6 && c[2] == 0, "empty products leave C");
}

int main(void)
{
    const bool small = getenv("FOVEA_TEST_SMALL") != NULL;
    struct fovea_engine *const engine = call_engine();
    CHECK(fovea_gemm_plan_size() <= FOVEA_CBLAS_PLAN_BYTES, "a plan of %zu bytes does not fit", fovea_gemm_plan_size());
    draw(engine, small ? 100 : 3000);
    large(engine, small ? 2 : 18, small ? 170 : 250);
    unread();
    fovea_engine_destroy(engine);
    return test_done();
}
