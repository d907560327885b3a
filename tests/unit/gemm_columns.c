// SPDX-License-Identifier: Apache-2.0
// tests/unit/gemm_columns.c - few columns of C, which is computed transposed: the bits of the scalar tiles of a product
// that has more columns, these among them, however A and B lie and whatever becomes of the sums.
#include "fovea/fovea.h"
#include "ops/facts.h"
#include "ops/gemm.h"
#include "tests/support/engines.h"
#include "tests/support/memory.h"
#include "tests/support/operator.h"
#include "tests/support/test.h"
#include "tests/unit/gemm_ends.h"

#include <stdbool.h>
#include <string.h>

enum { WIDE = 96, ROWS = 300, K = 800, BATCH = 2, WORKERS = 3 };

static const struct shape {
    uint16_t m, n, k;
} shapes[] = {
    {32, 1, 16},    {33, 1, 1},     {100, 1, 261}, {300, 2, 17},  {77, 2, 100},   {64, 3, 16},
    {65, 4, 33},    {200, 4, 261},  {90, 6, 40},   {300, 8, 110}, {129, 12, 261}, {300, 16, 260},
    {300, 17, 261}, {257, 40, 258}, {64, 64, 256}, {128, 32, 800}}; // the last: work worth a cut of the columns
enum layout { NN, NT, TN, TT, PACKED, TURNED_PACKED, LAYOUTS };
static const char *const layouts[LAYOUTS] = {"nn", "nt", "tn", "tt", "packed", "transposed A, packed"};

static float a[BATCH][ROWS][K], b[BATCH][K][WIDE], bias[WIDE], residual[BATCH][ROWS][WIDE], before[BATCH][ROWS][WIDE];

static void draw(float *memory, size_t count)
{
    static uint64_t random = 77;
    for (size_t i = 0; i < count; i++)
        memory[i] = test_float(&random);
}

static struct fovea_gemm_desc desc_of(const struct end *end, const struct shape *s, size_t n)
{
    struct fovea_gemm_desc d = FOVEA_GEMM_DESC_INIT;
    d.m = s->m, d.n = n, d.k = s->k;
    d.alpha = end->alpha, d.beta = end->beta, d.activation = end->activation;
    d.residual = end->residual, d.gated = end->gated;
    d.batch = BATCH;
    return d;
}

// The product with all columns, natural operands, on the scalar engine: want[BATCH][rows][WIDE].
static void run_wide(const struct fovea_engine *scalar, const struct end *end, const struct shape *s, float *want)
{
    struct fovea_gemm_desc d = desc_of(end, s, WIDE);
    d.lda = K, d.ldb = d.ldc = d.ldr = WIDE;
    d.batch_a = sizeof a[0] / sizeof(float), d.batch_b = sizeof b[0] / sizeof(float);
    d.batch_c = d.batch_r = sizeof before[0] / sizeof(float);
    memcpy(want, before, sizeof before);
    const struct fovea_gemm_args args = {.a = a[0][0],
                                         .b = b[0][0],
                                         .c = want,
                                         .bias = end->bias ? bias : NULL,
                                         .residual = !end->residual  ? NULL
                                                     : end->in_place ? want
                                                                     : residual[0][0],
                                         .m = s->m};
    CHECK(test_run(&test_gemm, scalar, &d, &args, TEST_SERIAL, 1) == FOVEA_OK, "%s wide", end->name);
}

// rows x columns of src, rows of which lie ld apart, in memory of exactly that, transposed or not, each entry behind
// the one before; *step: from one entry to the next.
static float *placed(const float *src, size_t entry, size_t ld, size_t rows, size_t columns, bool turned, size_t *step)
{
    *step = rows * columns;
    float *const memory = test_floats(BATCH * *step, TEST_HIGH);
    for (size_t e = 0; e < BATCH; e++)
        for (size_t i = 0; i < rows; i++)
            for (size_t j = 0; j < columns; j++)
                memory[e * *step + (turned ? j * rows + i : i * columns + j)] = src[e * entry + i * ld + j];
    return memory;
}

static void test_shape(const struct fovea_engine *engine, const char *isa, const struct end *end, const struct shape *s,
                       enum layout layout, size_t m, const float *want)
{
    static _Alignas(FOVEA_ALIGNMENT) struct fovea_gemm_layout plan;
    const struct fovea_kernels *const kernels = fovea_engine_kernels(engine);
    const size_t n = s->n, k = s->k, columns = end->gated ? n / 2 : n;
    const bool turned = layout == TN || layout == TT || layout == TURNED_PACKED;
    struct fovea_gemm_desc d = desc_of(end, s, n);
    d.trans_a = turned, d.trans_b = layout == NT || layout == TT, d.b_packed = layout >= PACKED;
    d.lda = turned ? s->m : k, d.ldb = d.trans_b ? k : n, d.ldc = d.ldr = columns;
    float *const of_a = placed(a[0][0], sizeof a[0] / sizeof(float), K, s->m, k, turned, &d.batch_a);
    float *of_b = placed(b[0][0], sizeof b[0] / sizeof(float), WIDE, k, n, d.trans_b, &d.batch_b);
    float *const of_residual =
        placed(residual[0][0], sizeof residual[0] / sizeof(float), WIDE, s->m, columns, false, &d.batch_r);
    if (d.b_packed) {
        size_t bytes = 0;
        CHECK(fovea_pack_size(k, n, &bytes) == FOVEA_OK, "%zux%zu", k, n);
        char *const blobs = test_memory(BATCH * bytes, TEST_HIGH);
        for (size_t e = 0; e < BATCH; e++)
            CHECK(fovea_pack(engine, FOVEA_NO_TRANS, k, n, of_b + e * d.batch_b, n, blobs + e * bytes, bytes) ==
                      FOVEA_OK,
                  "%zux%zu", k, n);
        of_b = (float *)(void *)blobs;
        d.batch_b = bytes / sizeof(float);
    }
    d.batch_c = d.batch_r;
    CHECK(fovea_gemm_plan(engine, &d, &plan) == FOVEA_OK, "%s %zux%zux%zu", isa, d.m, n, k);
    const size_t most = kernels->gemm_bt.mr >= 16 ? 6 : 4; // of AVX-512
    const bool natural = n <= most && k >= 16, few = n <= 4 && (k >= 16 || n == 1);
    const bool flips = !turned ? natural : few || (k >= 64 && m >= 64 && (n <= 12 || k >= 256));
    CHECK(plan.way != FOVEA_WAY_FLIP || plan.grid.groups.count == 1, "%s %zux%zux%zu: columns are cut", isa, d.m, n, k);
    CHECK(plan.way != FOVEA_WAY_FLIP ||
              fovea_gemm_class_of(&plan) == fovea_gemm_number(fovea_gemm_class(&kernels->tuning, n, d.m, k,
                                                                               turned ? FOVEA_FORM_NN : FOVEA_FORM_NT)),
          "%s %zux%zux%zu: the numbers of another class", isa, d.m, n, k);
    CHECK(m != s->m || (plan.way == FOVEA_WAY_FLIP) == (flips && (n <= 16 || !d.b_packed)), "%s %s %zux%zux%zu", isa,
          layouts[layout], d.m, n, k);
    // Scalar is slow, and everything is under an emulator: each way with a third of the layouts.
    const bool slow = strcmp(isa, test_isas[0]) == 0 || getenv("FOVEA_TEST_SMALL") != NULL;
    for (enum test_way way = 0; way < TEST_WAYS; way++) {
        if (slow && (layout + s->m - m) % TEST_WAYS != way)
            continue;
        float *const c = placed(before[0][0], sizeof before[0] / sizeof(float), WIDE, s->m, columns, false, &d.batch_c);
        const struct fovea_gemm_args args = {.a = of_a,
                                             .b = of_b,
                                             .c = c,
                                             .bias = end->bias ? bias : NULL,
                                             .residual = !end->residual  ? NULL
                                                         : end->in_place ? c
                                                                         : of_residual,
                                             .m = m};
        CHECK(test_run(&test_gemm, engine, &d, &args, way, 3 + m) == FOVEA_OK, "%s", end->name);
        bool same = true;
        for (size_t e = 0; e < BATCH; e++)
            for (size_t i = 0; i < s->m; i++) {
                const float *const row = i < m ? want + (e * ROWS + i) * WIDE : before[e][i];
                same = same && memcmp(c + e * d.batch_c + i * columns, row, columns * sizeof(float)) == 0;
            }
        CHECK(same, "%s, %s, %s, %zu of %zux%zux%zu, %s", isa, end->name, layouts[layout], m, d.m, n, k,
              test_way_names[way]);
    }
    test_memory_reset();
}

static void test_end(const struct fovea_engine *scalar, struct fovea_engine *engines[TEST_ISAS], const struct end *end,
                     const struct shape *s)
{
    static float want[BATCH * ROWS * WIDE];
    run_wide(scalar, end, s, want);
    test_memory_reset();
    for (int i = 0; i < TEST_ISAS; i++)
        for (enum layout layout = 0; layout < LAYOUTS && engines[i] != NULL; layout++)
            for (size_t fewer = 0; fewer < 2; fewer++) // rows than the plan has
                test_shape(engines[i], test_isas[i], end, s, layout, s->m - fewer, want);
}

int main(void)
{
    draw(a[0][0], sizeof a / sizeof(float));
    draw(b[0][0], sizeof b / sizeof(float));
    draw(bias, WIDE);
    draw(residual[0][0], sizeof residual / sizeof(float));
    draw(before[0][0], sizeof before / sizeof(float));
    struct fovea_engine *const scalar = test_engine("scalar", NULL), *engines[TEST_ISAS];
    test_engines(engines);
    for (int i = 0; i < TEST_ISAS; i++) {
        if (engines[i] != NULL) {
            test_set_workers(engines[i], WORKERS);
            test_tuning(engines[i])->cache.near = 16; // KiB: every A of 256 steps is far, and passes in several parts
        }
    }
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        for (size_t j = 0; j < sizeof shapes / sizeof *shapes; j++)
            if ((!ends[i].gated || shapes[j].n % 2 == 0) && (i == 0 || (i + j) % 3 == 0))
                test_end(scalar, engines, &ends[i], &shapes[j]);
    test_engines_free(engines);
    fovea_engine_destroy(scalar);
    return test_done();
}
