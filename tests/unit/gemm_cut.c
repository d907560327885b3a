// SPDX-License-Identifier: Apache-2.0
// tests/unit/gemm_cut.c - how the rows of a small product are cut into tiles: no more than a micro-kernel takes, of two
// sizes or, by at most two more tiles that have enough sums, of one.
#include "fovea/fovea.h"
#include "ops/gemm_ways.h"
#include "tests/support/engines.h"
#include "tests/support/test.h"

#include <stdlib.h>
#include <string.h>

enum { ROWS = 200 };

static const struct fovea_gemm_layout *plan_of(const struct fovea_engine *engine, size_t m, size_t n)
{
    static _Alignas(FOVEA_ALIGNMENT) struct fovea_gemm_layout plan;
    struct fovea_gemm_desc desc = FOVEA_GEMM_DESC_INIT;
    desc.m = m, desc.n = desc.ldb = desc.ldc = n, desc.k = desc.lda = 40;
    CHECK(fovea_gemm_plan(engine, &desc, &plan) == FOVEA_OK, "plan");
    return &plan;
}

static void test(const struct fovea_engine *engine, const char *isa)
{
    for (size_t m = 1; m <= ROWS; m++) {
        for (size_t n = 16; n <= 80; n += 16) {
            const struct fovea_gemm_layout *const plan = plan_of(engine, m, n);
            const struct fovea_cut *const tiles = &plan->tiles;
            const size_t least = (m + plan->mr - 1) / plan->mr;
            CHECK(tiles->count * tiles->size + tiles->longer == m && tiles->longer < tiles->count, "%zu rows", m);
            CHECK(fovea_cut_longest(tiles) <= plan->mr && tiles->count <= least + 2, "%zu rows, %zu tiles", m,
                  tiles->count);
            CHECK(tiles->count == least || (tiles->longer == 0 && plan->way == FOVEA_WAY_DIRECT),
                  "%zu rows: more tiles, but of two sizes", m);
        }
    }
    static const struct {
        size_t m, n, count;
    } cases[] = {{32, 32, 4}, // not 11 + 11 + 10
                 {25, 48, 5}, // not 9 + 8 + 8
                 {20, 48, 4}, // not 7 + 7 + 6
                 {25, 80, 5}, // by strips of three and two panels
                 {21, 16, 2}, // three of seven would be too few sums
                 {25, 16, 2}, // no number of tiles near it divides it
                 {47, 48, 6}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases && strcmp(isa, "avx512") == 0; i++) {
        const struct fovea_gemm_layout *const plan = plan_of(engine, cases[i].m, cases[i].n);
        CHECK(plan->way == FOVEA_WAY_DIRECT && plan->tiles.count == cases[i].count, "%zux%zu: %zu tiles", cases[i].m,
              cases[i].n, plan->tiles.count);
    }
}

int main(void)
{
    setenv("FOVEA_CACHES", "32K,1M,32M,plain", 1);
    test_each_engine(test);
    return test_done();
}
