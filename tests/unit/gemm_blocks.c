// SPDX-License-Identifier: Apache-2.0
// tests/unit/gemm_blocks.c - what a plan keeps in L2: nc columns of kc steps, more of them where k itself is shorter,
// and not where the profile cuts k into shorter blocks.
#include "fovea/fovea.h"
#include "ops/gemm.h"
#include "tests/support/engines.h"
#include "tests/support/test.h"

static size_t group_of(const struct fovea_engine *engine, size_t m, size_t k, struct fovea_gemm_layout *plan)
{
    struct fovea_gemm_desc desc = FOVEA_GEMM_DESC_INIT;
    desc.m = m, desc.n = desc.ldb = desc.ldc = 16000, desc.k = desc.lda = k;
    CHECK(fovea_gemm_plan(engine, &desc, plan) == FOVEA_OK, "%zux16000x%zu", m, k);
    return plan->group;
}

static void test_engine_of(const struct fovea_engine *engine, const char *isa)
{
    enum { ROWS = 100, COLUMNS = 192, LONG = 2048, SHORT = 16, BLOCK = 128 };
    static _Alignas(FOVEA_ALIGNMENT) struct fovea_gemm_layout plan;
    struct fovea_tuning *const tuning = test_tuning(engine);
    for (size_t i = 0; i < FOVEA_GEMM_CLASSES; i++) {
        struct fovea_gemm_tuning *const t = &tuning->gemm[i];
        t->kc = 1024, t->nc = COLUMNS, t->direct = t->along = 0, t->thin_rows = 0,
        t->bn_rows = t->bn_alias = t->bn_split = 0, t->pack_rows = 1 << 20;
        t->follow_rows = 0;
    }
    const size_t longs = group_of(engine, ROWS, LONG, &plan), strips = COLUMNS / plan.kernel->nr;
    CHECK(longs == strips, "%s: %zu strips of 1024 steps, not %zu", isa, longs, strips);
    const size_t shorts = group_of(engine, ROWS, SHORT, &plan);
    CHECK(shorts == 1024 / SHORT * strips, "%s: %zu strips of %d steps, not 64 times %zu", isa, shorts, SHORT, strips);
    for (size_t i = 0; i < FOVEA_GEMM_CLASSES; i++)
        tuning->gemm[i].kc = BLOCK;
    const size_t cut = group_of(engine, ROWS, LONG, &plan);
    CHECK(cut == strips, "%s: %zu strips of k blocks of %d, not %zu", isa, cut, BLOCK, strips);
}

/// A transposed A and a natural B that both fill all ways of a set of L2 are not read where they lie.
static void test_meeting(const struct fovea_engine *engine, const char *isa)
{
    static _Alignas(FOVEA_ALIGNMENT) struct fovea_gemm_layout plan;
    for (size_t i = 0; i < FOVEA_GEMM_CLASSES; i++)
        test_tuning(engine)->gemm[i].kc = 1024, test_tuning(engine)->gemm[i].direct = 1 << 14;
    struct fovea_gemm_desc desc = FOVEA_GEMM_DESC_INIT;
    desc.m = desc.n = desc.ldb = desc.ldc = desc.k = desc.lda = 512, desc.trans_a = FOVEA_TRANS;
    CHECK(fovea_gemm_plan(engine, &desc, &plan) == FOVEA_OK && plan.way != FOVEA_WAY_DIRECT, "%s: 512 tn", isa);
    desc.ldb = 528; // whole lines: broken ones may be packed
    CHECK(fovea_gemm_plan(engine, &desc, &plan) == FOVEA_OK && plan.way == FOVEA_WAY_DIRECT, "%s: 512 tn, rows of 528",
          isa);
}

static void test_both(const struct fovea_engine *engine, const char *isa)
{
    test_engine_of(engine, isa);
    test_meeting(engine, isa);
}

int main(void)
{
    test_each_engine(test_both);
    return test_done();
}
