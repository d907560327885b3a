// SPDX-License-Identifier: Apache-2.0
// tests/unit/gemm_packing.c - a B that is packed by what reads it first: natural rows by the first tile of each strip
// (which tiles are told to, and where the others read), transposed ones by the first rows of C; and the bits of C, in
// blocks of k, chunks of rows, groups of strips, and calls of fewer rows than the plan's.
#include "fovea/fovea.h"
#include "ops/gemm.h"
#include "tests/support/engines.h"
#include "tests/support/test.h"

#include <math.h>
#include <string.h>

enum { ROWS = 300, COLUMNS = 150, DEPTH = 290, LD = COLUMNS + 3 };

static float a[ROWS * DEPTH], b[DEPTH * LD], c[ROWS * COLUMNS], want[ROWS * COLUMNS];
static _Alignas(FOVEA_ALIGNMENT) float shared[1 << 18], scratch[1 << 18];

static fovea_gemm_fn *original;
static size_t packing, reading;                      // calls that pack, and other calls over what they have packed
static const float *room[COLUMNS / FOVEA_PANEL + 1]; // where each panel was packed last

static size_t panel_of(const struct fovea_gemm_tile *tile)
{
    return (size_t)(tile->c - c) % COLUMNS / FOVEA_PANEL;
}

/// Tiles that pack read natural rows and whole panels; the others read what they have packed.
static void record(const struct fovea_gemm_tile *tile)
{
    const size_t panel = panel_of(tile);
    if (tile->packed != NULL) {
        const bool natural = tile->b_k == LD && tile->b >= b && tile->b < b + sizeof b / sizeof b[0];
        CHECK(natural && tile->a_k == 1 && tile->n % FOVEA_PANEL == 0 && tile->more == 0 && tile->ahead == NULL,
              "a call that packs: b_k %td a_k %td n %zu more %zu", tile->b_k, tile->a_k, tile->n, tile->more);
        room[panel] = tile->packed;
        packing++;
    } else if (room[panel] != NULL) {
        CHECK(tile->b == room[panel] && tile->b_k == FOVEA_PANEL, "panel %zu is not read where it was packed", panel);
        reading++;
    }
    original(tile);
}

static void define(bool turned)
{
    for (size_t i = 0; i < ROWS; i++)
        for (size_t j = 0; j < COLUMNS; j++) {
            float sum = 0;
            for (size_t p = 0; p < DEPTH; p++)
                sum = fmaf(turned ? a[p * ROWS + i] : a[i * DEPTH + p], b[p * LD + j], sum);
            want[i * COLUMNS + j] = sum;
        }
}

/// Blocks of 97 steps, chunks of 100 rows, groups of two strips.
static void run(const struct fovea_engine *engine, const char *isa, bool turned, size_t rows)
{
    static _Alignas(FOVEA_ALIGNMENT) struct fovea_gemm_layout plan;
    struct fovea_gemm_desc desc = FOVEA_GEMM_DESC_INIT;
    desc.m = ROWS, desc.n = desc.ldc = COLUMNS, desc.k = DEPTH, desc.ldb = LD;
    desc.lda = turned ? ROWS : DEPTH, desc.trans_a = turned ? FOVEA_TRANS : FOVEA_NO_TRANS;
    CHECK(fovea_gemm_plan(engine, &desc, &plan) == FOVEA_OK, "plan");
    const bool packs = plan.kernel->packs;
    struct fovea_gemm_kernel recorder = *plan.kernel;
    original = recorder.run;
    recorder.run = record;
    plan.kernel = &recorder;
    plan.chunk = 100;
    CHECK(plan.work.shared_bytes <= sizeof shared && plan.work.scratch_bytes <= sizeof scratch, "work");
    packing = reading = 0;
    memset(room, 0, sizeof room);
    memset(c, 0x7f, sizeof c);
    const struct fovea_gemm_args args = {.a = a, .b = b, .c = c, .m = rows};
    CHECK(fovea_gemm(&plan, &args, shared, scratch, NULL) == FOVEA_OK, "gemm");
    CHECK(memcmp(c, want, rows * COLUMNS * sizeof(float)) == 0, "%s, %zu rows%s: other bits", isa, rows,
          turned ? ", A transposed" : "");
    CHECK((packing != 0) == packs && (reading != 0) == packs, "%s: %zu calls pack, %zu read it", isa, packing, reading);
}

static float other[ROWS * COLUMNS], residual[ROWS * COLUMNS], bias[COLUMNS];
static _Alignas(FOVEA_ALIGNMENT) char blob[(COLUMNS + FOVEA_PANEL) * DEPTH * sizeof(float) + 4096];

/// The same product over a transposed B, and over a blob of it.
static void compare(const struct fovea_engine *engine, const char *isa, struct fovea_gemm_desc desc, size_t rows)
{
    static _Alignas(FOVEA_ALIGNMENT) struct fovea_gemm_layout plan;
    const float *const from = desc.beta != 0 ? residual : NULL;
    for (int packed = 0; packed < 2; packed++) {
        float *const to = packed ? other : c;
        desc.b_packed = (uint32_t)packed;
        CHECK(fovea_gemm_plan(engine, &desc, &plan) == FOVEA_OK, "plan");
        CHECK(plan.work.shared_bytes <= sizeof shared && plan.work.scratch_bytes <= sizeof scratch, "work");
        CHECK((plan.first_rows != 0) == (!packed && plan.kernels->gemm_bt.packs && plan.blocks.count == 1),
              "%s, packed %d: %zu first rows", isa, packed, plan.first_rows);
        memset(scratch, 0x7f, sizeof scratch);
        memset(shared, 0x7f, sizeof shared);
        for (size_t i = 0; i < ROWS * COLUMNS; i++)
            to[i] = from ? from[i] : NAN;
        const struct fovea_gemm_args args = {.a = a,
                                             .b = packed ? (const void *)blob : b,
                                             .c = to,
                                             .bias = desc.activation != FOVEA_ACTIVATION_NONE ? bias : NULL,
                                             .residual = desc.residual ? residual : NULL,
                                             .m = rows};
        CHECK(fovea_gemm(&plan, &args, shared, scratch, NULL) == FOVEA_OK, "gemm");
    }
    CHECK(memcmp(c, other, rows * desc.ldc * sizeof(float)) == 0,
          "%s, %zu rows, A transposed %d, beta %g, gated %u, act %d: other bits", isa, rows, (int)desc.trans_a,
          (double)desc.beta, (unsigned)desc.gated, (int)desc.activation);
}

static void test_transposed(const struct fovea_engine *engine, const char *isa)
{
    CHECK(fovea_pack(engine, FOVEA_TRANS, DEPTH, COLUMNS, b, DEPTH, blob, sizeof blob) == FOVEA_OK, "pack");
    static const size_t rows[] = {7, 16, 17, 40, 257, ROWS};
    for (int steps = 0; steps < 2; steps++) { // all of k, and blocks
        for (size_t i = 0; i < FOVEA_GEMM_CLASSES; i++) {
            struct fovea_gemm_tuning *const t = &test_tuning(engine)->gemm[i];
            t->kc = steps ? 100 : 1000, t->pass_rows = steps ? 0 : ROWS, t->bt_rows = 0;
        }
        for (int kind = 0; kind < 12; kind++) {
            struct fovea_gemm_desc desc = FOVEA_GEMM_DESC_INIT;
            desc.m = ROWS, desc.n = COLUMNS, desc.k = desc.ldb = DEPTH, desc.trans_b = FOVEA_TRANS;
            desc.trans_a = kind % 2 ? FOVEA_TRANS : FOVEA_NO_TRANS, desc.lda = kind % 2 ? ROWS : DEPTH;
            desc.beta = kind / 2 == 1 ? 0.5f : 0;
            desc.gated = kind / 2 == 2;
            desc.activation = kind / 2 == 3   ? FOVEA_ACTIVATION_GELU
                              : kind / 2 >= 4 ? FOVEA_ACTIVATION_RELU
                                              : FOVEA_ACTIVATION_NONE;
            desc.residual = kind / 2 == 5;
            desc.ldc = desc.ldr = desc.gated ? COLUMNS / 2 : COLUMNS;
            for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
                compare(engine, isa, desc, rows[i]);
        }
    }
}

static void test_all(const struct fovea_engine *engine, const char *isa)
{
    for (size_t i = 0; i < FOVEA_GEMM_CLASSES; i++) {
        struct fovea_gemm_tuning *const t = &test_tuning(engine)->gemm[i];
        t->direct = t->along = 0, t->thin_rows = 0, t->bn_rows = t->bn_alias = 0, t->follow_rows = 0;
        t->pack_rows = t->alias_rows = 20, t->kc = t->alias_kc = 100, t->nc = 96, t->turned_steps = 0;
    }
    for (int turned = 0; turned < 2; turned++) {
        define(turned != 0);
        for (int passes = 0; passes < 2; passes++) { // all rows over one group after another, or all of B is kept
            for (size_t i = 0; i < FOVEA_GEMM_CLASSES; i++)
                test_tuning(engine)->gemm[i].pass_rows = passes ? ROWS : 0;
            run(engine, isa, turned != 0, 40);
            run(engine, isa, turned != 0, 257);
            run(engine, isa, turned != 0, ROWS);
        }
    }
    test_transposed(engine, isa);
}

int main(void)
{
    for (size_t i = 0; i < sizeof a / sizeof a[0]; i++)
        a[i] = (float)((int)(i * 7919 % 1009) - 504) / 256;
    for (size_t i = 0; i < sizeof b / sizeof b[0]; i++)
        b[i] = (float)((int)(i * 6007 % 997) - 498) / 256;
    for (size_t i = 0; i < ROWS * COLUMNS; i++)
        residual[i] = (float)((int)(i * 5003 % 991) - 495) / 256;
    for (size_t i = 0; i < COLUMNS; i++)
        bias[i] = (float)i / 64 - 1;
    test_each_engine(test_all);
    return test_done();
}
