// SPDX-License-Identifier: Apache-2.0
// tests/unit/gemm_packing.c - natural rows that the first tile of each strip packs as it reads them: which tiles are
// told to, where the others read, and the bits of C, in blocks of k, chunks of rows, groups of strips or of one, and
// calls of fewer rows than the plan's, down to so few that a transposed A is read in place.
#include "fovea/fovea.h"
#include "ops/gemm.h"
#include "tests/support/engines.h"
#include "tests/support/test.h"

#include <math.h>
#include <string.h>

enum { ROWS = 300, COLUMNS = 150, WHOLE = 144, DEPTH = 290, LD = COLUMNS + 3 };

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

/// Blocks of 97 steps, chunks of 100 rows. Without a next group to prefetch, a strip's tiles share a call, but for the
/// one that packs: the last of whole panels, in groups of one.
static void run(const struct fovea_engine *engine, const char *isa, bool turned, size_t rows, size_t columns)
{
    static _Alignas(FOVEA_ALIGNMENT) struct fovea_gemm_layout plan;
    struct fovea_gemm_desc desc = FOVEA_GEMM_DESC_INIT;
    desc.m = ROWS, desc.n = columns, desc.ldc = COLUMNS, desc.k = DEPTH, desc.ldb = LD;
    desc.lda = turned ? ROWS : DEPTH, desc.trans_a = turned ? FOVEA_TRANS : FOVEA_NO_TRANS;
    CHECK(fovea_gemm_plan(engine, &desc, &plan) == FOVEA_OK, "plan");
    const bool packs = plan.kernel->packs && !(turned && rows <= 2 * plan.kernel->mr);
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
    size_t other = 0;
    for (size_t i = 0; i < rows; i++)
        other += memcmp(c + i * COLUMNS, want + i * COLUMNS, columns * sizeof(float)) != 0;
    CHECK(other == 0, "%s, %zu rows%s: %zu have other bits", isa, rows, turned ? ", A transposed" : "", other);
    CHECK((packing != 0) == packs && (reading != 0) == packs, "%s, %zu rows: %zu calls pack, %zu read it", isa, rows,
          packing, reading);
    CHECK(packing <= plan.blocks.count * plan.strips.count, "%s, %zu rows: %zu calls pack, some again", isa, rows,
          packing);
}

static void test_all(const struct fovea_engine *engine, const char *isa)
{
    for (size_t i = 0; i < FOVEA_GEMM_CLASSES; i++) {
        struct fovea_gemm_tuning *const t = &test_tuning(engine)->gemm[i];
        t->direct = t->along = 0, t->thin_rows = 0, t->bn_rows = t->bn_alias = t->bn_split = 0, t->follow_rows = 0;
        t->pack_rows = t->alias_rows = 15, t->kc = t->alias_kc = 100, t->turned_steps = 0;
    }
    for (int turned = 0; turned < 2; turned++) {
        define(turned != 0);
        for (int passes = 0; passes < 2; passes++) { // all rows over one group after another, or all of B is kept
            static const size_t rows[] = {15, 40, 257, ROWS};
            for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
                for (size_t i = 0; i < FOVEA_GEMM_CLASSES; i++)
                    test_tuning(engine)->gemm[i].pass_rows = passes ? ROWS : 0, test_tuning(engine)->gemm[i].nc = 96;
                run(engine, isa, turned != 0, rows[r], COLUMNS);
                for (size_t i = 0; i < FOVEA_GEMM_CLASSES; i++)
                    test_tuning(engine)->gemm[i].nc = 1;
                run(engine, isa, turned != 0, rows[r], WHOLE);
            }
        }
    }
}

int main(void)
{
    for (size_t i = 0; i < sizeof a / sizeof a[0]; i++)
        a[i] = (float)((int)(i * 7919 % 1009) - 504) / 256;
    for (size_t i = 0; i < sizeof b / sizeof b[0]; i++)
        b[i] = (float)((int)(i * 6007 % 997) - 498) / 256;
    test_each_engine(test_all);
    return test_done();
}
