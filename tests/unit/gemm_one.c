// SPDX-License-Identifier: Apache-2.0
// tests/unit/gemm_one.c - one row over a far, transposed B: where rows of B alias in few sets of L1, the row is read
// from a copy in other sets, wherever B begins; the chain's bits; and nothing past the scratch.
#include "fovea/fovea.h"
#include "ops/gemm_ways.h"
#include "tests/support/engines.h"
#include "tests/support/test.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

enum { ROWS = 8, COLUMNS = 37, DEPTH = 520, LD_MOST = 1040, PLACES = 1100 };

static _Alignas(FOVEA_ALIGNMENT) float a[ROWS * DEPTH], b[PLACES + COLUMNS * LD_MOST], scratch[1 << 16];
static float c[ROWS * COLUMNS];

/// Where a copy of A's row begins in scratch, in floats; SIZE_MAX: there is none.
static size_t copy_of(size_t k)
{
    for (size_t i = 0; i + k <= sizeof scratch / sizeof *scratch; i++)
        if (memcmp(scratch + i, a, k * sizeof *a) == 0)
            return i;
    return SIZE_MAX;
}

/// Returns whether the row is moved.
static bool multiply(const struct fovea_engine *engine, const char *isa, size_t m, size_t k, size_t ldb, size_t place)
{
    static _Alignas(FOVEA_ALIGNMENT) struct fovea_gemm_layout plan;
    struct fovea_gemm_desc desc = FOVEA_GEMM_DESC_INIT;
    desc.m = m, desc.n = desc.ldc = COLUMNS, desc.k = desc.lda = k, desc.ldb = ldb, desc.trans_b = FOVEA_TRANS;
    CHECK(fovea_gemm_plan(engine, &desc, &plan) == FOVEA_OK, "plan");
    CHECK(plan.work.scratch_bytes <= sizeof scratch && plan.work.shared_bytes == 0, "work");
    const float *const from = b + place;
    const struct fovea_gemm_args args = {.a = a, .b = from, .c = c, .m = 1};
    memset(scratch, 0x7f, sizeof scratch);
    CHECK(fovea_gemm(&plan, &args, NULL, scratch, NULL) == FOVEA_OK, "gemm");
    size_t past = 0, wrong = 0;
    for (size_t i = plan.work.scratch_bytes; i < sizeof scratch; i++)
        past += ((const char *)scratch)[i] != 0x7f;
    for (size_t j = 0; j < COLUMNS; j++) {
        float sum = 0;
        for (size_t p = 0; p < k; p++)
            sum = fmaf(a[p], from[j * ldb + p], sum);
        wrong += memcmp(&sum, c + j, sizeof sum) != 0;
    }
    CHECK(past == 0 && wrong == 0, "%s, m %zu, k %zu, ldb %zu, place %zu: %zu bytes past the scratch, %zu wrong", isa,
          m, k, ldb, place, past, wrong);
    const size_t copy = copy_of(k), way = FOVEA_L1_WAY;
    const bool moves = ldb % (way / 2) == 0 && fovea_gemm_fetches(&plan);
    CHECK((copy != SIZE_MAX) == moves, "%s, k %zu, ldb %zu: copied %d", isa, k, ldb, copy != SIZE_MAX);
    const size_t apart = ((uintptr_t)(scratch + copy) - (uintptr_t)from) / sizeof *a % way;
    CHECK(!moves || apart == 3 * way / 4, "%s, k %zu, ldb %zu, place %zu: %zu floats apart", isa, k, ldb, place, apart);
    return moves;
}

static void test_engine_of(const struct fovea_engine *engine, const char *isa)
{
    static const size_t depths[] = {100, 512, DEPTH}, lds[] = {1024, LD_MOST, 1536 / 3, 777},
                        places[] = {0, 1, 16, 300, 1023, PLACES};
    size_t moved = 0;
    test_tuning(engine)->cache.near = 1; // KiB
    for (size_t i = 0; i < FOVEA_GEMM_CLASSES; i++) {
        struct fovea_gemm_tuning *const t = &test_tuning(engine)->gemm[i];
        t->direct = 0, t->bt_rows = ROWS, t->fetch_k = 1 << 20;
    }
    for (size_t m = 1; m <= ROWS; m += ROWS - 1)
        for (size_t k = 0; k < sizeof depths / sizeof *depths; k++)
            for (size_t l = 0; l < sizeof lds / sizeof *lds; l++)
                for (size_t i = 0; i < sizeof places / sizeof *places && depths[k] <= lds[l]; i++)
                    moved += multiply(engine, isa, m, depths[k], lds[l], places[i]);
    CHECK((moved != 0) == (fovea_engine_kernels(engine)->gemm_bt.ahead != 0), "%s: %zu rows moved", isa, moved);
}

int main(void)
{
    test_plain_environment();
    for (size_t i = 0; i < ROWS * DEPTH; i++)
        a[i] = (float)((int)(i * 7919 % 1009) - 504) / 256;
    for (size_t i = 0; i < sizeof b / sizeof *b; i++)
        b[i] = (float)((int)(i * 6007 % 997) - 498) / 256;
    test_each_engine(test_engine_of);
    return test_done();
}
