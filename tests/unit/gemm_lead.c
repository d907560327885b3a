// SPDX-License-Identifier: Apache-2.0
// tests/unit/gemm_lead.c - what the micro-kernel is told to prefetch of a B that passes once: all of it some lines
// ahead, packed as well as in natural rows, however a packed one was made; nothing of a copy that has just been packed.
#include "fovea/fovea.h"
#include "ops/gemm.h"
#include "tests/support/engines.h"
#include "tests/support/test.h"

enum { ROWS = 3, COLUMNS = 500, DEPTH = 200, LEAD = 96, TOUCH = 5, CALLS = COLUMNS / FOVEA_PANEL + 1 };

static struct fovea_gemm_tile calls[CALLS];
static size_t count;

static void record(const struct fovea_gemm_tile *tile)
{
    if (count < CALLS)
        calls[count] = *tile;
    count++;
}

static size_t blocks, group;

static bool ignores; // whether the micro-kernel says that it follows no hint

/// Runs the product with a micro-kernel that computes nothing.
static void run(const struct fovea_engine *engine, bool packed, enum fovea_transpose trans_b)
{
    static _Alignas(FOVEA_ALIGNMENT) struct fovea_gemm_layout plan;
    static _Alignas(FOVEA_ALIGNMENT) float a[ROWS * DEPTH], b[COLUMNS * DEPTH], c[ROWS * COLUMNS];
    static _Alignas(FOVEA_ALIGNMENT) float shared[2 * COLUMNS * DEPTH], scratch[2 * COLUMNS * DEPTH];
    static _Alignas(FOVEA_ALIGNMENT) char blob[sizeof b + (1 << 16)];
    const bool trans = trans_b == FOVEA_TRANS;
    struct fovea_gemm_desc desc = FOVEA_GEMM_DESC_INIT;
    desc.m = ROWS, desc.n = desc.ldc = COLUMNS, desc.k = desc.lda = DEPTH, desc.ldb = trans ? DEPTH : COLUMNS;
    desc.b_packed = packed, desc.trans_b = trans_b;
    CHECK(!packed || fovea_pack(engine, trans_b, DEPTH, COLUMNS, b, desc.ldb, blob, sizeof blob) == FOVEA_OK, "pack");
    CHECK(fovea_gemm_plan(engine, &desc, &plan) == FOVEA_OK, "plan");
    CHECK(plan.work.shared_bytes <= sizeof shared && plan.work.scratch_bytes <= sizeof scratch, "work");
    struct fovea_gemm_kernel recorder = *plan.kernel;
    recorder.run = record;
    recorder.ahead = recorder.lead = recorder.touch = !ignores;
    plan.kernel = &recorder;
    const struct fovea_gemm_args args = {.a = a, .b = packed ? (const void *)blob : b, .c = c, .m = ROWS};
    count = 0;
    blocks = plan.blocks.count, group = plan.group;
    CHECK(fovea_gemm(&plan, &args, shared, scratch, NULL) == FOVEA_OK && count != 0 && count <= CALLS, "%zu calls",
          count);
}

/// Each tile is led, and leads to the next. Pages of a blob are touched as well.
static void check_led(const char *isa, const char *text, bool blob)
{
    for (size_t i = 0; i < count && i < CALLS; i++) {
        const struct fovea_gemm_tile *const t = &calls[i], *const next = i + 1 < CALLS ? t + 1 : t;
        const size_t panels = (t->n + FOVEA_PANEL - 1) / FOVEA_PANEL;
        CHECK(t->lead_steps == LEAD / panels, "%s, %s, call %zu of %zu panels: %u steps", isa, text, i, panels,
              (unsigned)t->lead_steps);
        const bool whole = next->n % FOVEA_PANEL == 0 || t->b_k == FOVEA_PANEL; // of natural rows the others are packed
        CHECK(i + 1 == count || !whole || t->ahead == next->b, "%s, %s, call %zu does not lead to the next", isa, text,
              i);
        CHECK(i + 1 != count || t->ahead == NULL, "%s, %s: the last call leads to nothing", isa, text);
        CHECK(t->touch == (t->b_k == FOVEA_PANEL && blob ? TOUCH : 0), "%s, %s, call %zu touches %u pages ahead", isa,
              text, i, (unsigned)t->touch);
    }
}

static void test_engine_of(const struct fovea_engine *engine, const char *isa)
{
    for (size_t i = 0; i < FOVEA_GEMM_CLASSES; i++) {
        struct fovea_gemm_tuning *const t = &test_tuning(engine)->gemm[i];
        t->kc = 1024, t->direct = t->along = 0, t->thin_rows = 0, t->bn_rows = t->bn_alias = t->bn_split = 0,
        t->bt_rows = 0, t->blob_rows = 0, t->pack_rows = 1 << 20;
        t->follow_rows = ROWS, t->lead = LEAD, t->touch = TOUCH;
    }
    run(engine, true, FOVEA_NO_TRANS);
    check_led(isa, "packed from rows", true);
    run(engine, true, FOVEA_TRANS);
    check_led(isa, "packed from rows of the transpose", true);
    run(engine, false, FOVEA_NO_TRANS);
    check_led(isa, "natural rows", false);
    run(engine, false, FOVEA_TRANS);
    for (size_t i = 0; i < count && i < CALLS; i++)
        CHECK(calls[i].lead_steps == 0 && calls[i].touch == 0, "%s, packed on the way: call %zu is led", isa, i);
}

/// Of a packed B whose rows are alone nothing is prefetched but pages by a tile of one panel, in one block and one
/// group, whichever tile takes it.
static void test_alone(const struct fovea_engine *engine, const char *isa)
{
    for (size_t i = 0; i < FOVEA_GEMM_CLASSES; i++) {
        struct fovea_gemm_tuning *const t = &test_tuning(engine)->gemm[i];
        t->alone = ROWS, t->kc = DEPTH / 2;
    }
    for (int follows = 0; follows < 2; follows++) {
        for (size_t i = 0; i < FOVEA_GEMM_CLASSES; i++)
            test_tuning(engine)->gemm[i].follow_rows = follows ? ROWS : 0;
        run(engine, true, FOVEA_NO_TRANS);
        CHECK(blocks == 1 && group * calls[0].n >= COLUMNS, "%s, follows %d: %zu blocks, groups of %zu strips", isa,
              follows, blocks, group);
        for (size_t i = 0; i < count && i < CALLS; i++) {
            CHECK(calls[i].follows && calls[i].lead_steps == 0 && calls[i].ahead == NULL, "%s, alone, call %zu: %u, %u",
                  isa, i, (unsigned)calls[i].follows, (unsigned)calls[i].lead_steps);
            CHECK(calls[i].touch == (calls[0].n <= FOVEA_PANEL ? TOUCH : 0), "%s, alone, call %zu of %zu columns: %u",
                  isa, i, calls[i].n, (unsigned)calls[i].touch);
        }
    }
}

/// A hint that the micro-kernel ignores is not given: then more tiles are one call.
static void test_ignored(const struct fovea_engine *engine, const char *isa)
{
    for (size_t i = 0; i < FOVEA_GEMM_CLASSES; i++)
        test_tuning(engine)->gemm[i].alone = 0, test_tuning(engine)->gemm[i].kc = 1024;
    ignores = true;
    for (int follows = 0; follows < 2; follows++) {
        for (size_t i = 0; i < FOVEA_GEMM_CLASSES; i++)
            test_tuning(engine)->gemm[i].follow_rows = follows ? ROWS : 0;
        run(engine, true, FOVEA_NO_TRANS);
        for (size_t i = 0; i < count && i < CALLS; i++)
            CHECK(calls[i].lead_steps == 0 && calls[i].touch == 0 && calls[i].ahead == NULL, "%s, ignored, call %zu",
                  isa, i);
    }
    ignores = false;
}

static void test_all(const struct fovea_engine *engine, const char *isa)
{
    test_engine_of(engine, isa);
    test_alone(engine, isa);
    test_ignored(engine, isa);
}

int main(void)
{
    test_each_engine(test_all);
    return test_done();
}
