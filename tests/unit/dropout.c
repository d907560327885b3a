// SPDX-License-Identifier: Apache-2.0
// tests/unit/dropout.c - elementwise dropout draws by the number of an element alone: any strides, pieces, threads and
// ISA give what Philox says of it, one element at a time; and without dropout it is x, or the addition.
#include "fovea/rowwise.h"
#include "kernels/scalar/philox.h"
#include "tests/check/check.h"
#include "tests/support/engines.h"
#include "tests/support/memory.h"
#include "tests/support/operator.h"
#include "tests/support/test.h"

static struct fovea_engine *engines[TEST_ISAS];

struct problem {
    struct fovea_rowwise_desc desc;
    struct fovea_rowwise_args args;
    float *x, *x2;
    size_t extent; // of y
    char text[160];
};

static void draw(struct problem *p, uint64_t seed)
{
    static const float shares[] = {0.1f, 0.5f, 0.999f, 0x1p-20f};
    struct check_rng rng = {seed};
    const struct check_source source = check_source(&rng, 2);
    *p = (struct problem){.desc = FOVEA_ROWWISE_DESC_INIT};
    struct fovea_rowwise_desc *const d = &p->desc;
    d->op = check_chance(&rng, 50) ? FOVEA_ROWWISE_DROPOUT : FOVEA_ROWWISE_DROPOUT_ADD;
    p->args.rows = d->rows = 1 + check_below(&rng, 20);
    d->cols = check_chance(&rng, 20) ? 17000 + check_below(&rng, 9) : 1 + check_below(&rng, 200);
    d->dropout = check_chance(&rng, 20) ? 0 : shares[check_below(&rng, 4)];
    d->ldx = d->cols + check_below(&rng, 3) * check_below(&rng, 9);
    d->ldx2 = d->cols + check_below(&rng, 3) * check_below(&rng, 9);
    d->ldy = d->cols + check_below(&rng, 3) * check_below(&rng, 9);
    p->extent = (d->rows - 1) * d->ldy + d->cols;
    p->x = test_floats((d->rows - 1) * d->ldx + d->cols, TEST_HIGH);
    p->x2 = test_floats((d->rows - 1) * d->ldx2 + d->cols, TEST_HIGH);
    check_fill(&rng, &source, p->x, (d->rows - 1) * d->ldx + d->cols);
    check_fill(&rng, &source, p->x2, (d->rows - 1) * d->ldx2 + d->cols);
    p->args.x = p->x;
    p->args.x2 = d->op == FOVEA_ROWWISE_DROPOUT_ADD ? p->x2 : NULL;
    p->args.seed = check_next(&rng);
    p->args.site = (uint32_t)check_next(&rng);
    p->args.eval = check_chance(&rng, 20);
    p->args.element = check_chance(&rng, 50) ? 0 : check_next(&rng) >> check_below(&rng, 60);
    snprintf(p->text, sizeof p->text, "seed %llu: op %d, %zu x %zu, ld %zu %zu %zu, p %g%s", (unsigned long long)seed,
             (int)d->op, d->rows, d->cols, d->ldx, d->ldx2, d->ldy, (double)d->dropout, p->args.eval ? ", eval" : "");
}

static float expected(const struct problem *p, size_t r, size_t c)
{
    const struct fovea_rowwise_desc *const d = &p->desc;
    const uint64_t element = p->args.element + r * d->cols + c;
    const uint32_t key[] = {(uint32_t)p->args.seed, (uint32_t)(p->args.seed >> 32)};
    const uint32_t counter[] = {(uint32_t)(element / 4), (uint32_t)(element >> 34), p->args.site, UINT32_MAX};
    uint32_t words[4];
    scalar_philox(counter, key, words);
    float v = p->x[r * d->ldx + c];
    if (d->dropout > 0 && !p->args.eval)
        v = words[element % 4] < (uint32_t)((double)d->dropout * 0x1p32) ? 0 : v * (1.0f / (1.0f - d->dropout));
    return d->op == FOVEA_ROWWISE_DROPOUT_ADD ? v + p->x2[r * d->ldx2 + c] : v;
}

static size_t wrong_elements(const struct problem *p, const float *y)
{
    size_t wrong = 0;
    for (size_t r = 0; r < p->desc.rows; r++)
        for (size_t c = 0; c < p->desc.cols; c++) {
            const float want = expected(p, r, c);
            wrong += test_differ(&want, &y[r * p->desc.ldy + c], 1) == 0;
        }
    return wrong;
}

static void run_case(uint64_t seed)
{
    struct problem p;
    draw(&p, seed);
    for (int e = 0; e < TEST_ISAS; e++) {
        if (!engines[e])
            continue;
        p.args.y = test_floats(p.extent, TEST_HIGH);
        CHECK(!test_run(&test_rowwise, engines[e], &p.desc, &p.args, (enum test_way)(seed % TEST_WAYS), seed), "%s",
              p.text);
        CHECK(wrong_elements(&p, p.args.y) == 0, "%s, %s: %zu elements differ", p.text, test_isas[e],
              wrong_elements(&p, p.args.y));
        // Row by row, with the number of the row's first element.
        float *const y = test_floats(p.extent, TEST_LOW);
        for (size_t r = 0; r < p.desc.rows; r++) {
            struct fovea_rowwise_args row = p.args;
            row.rows = 1;
            row.x += r * p.desc.ldx;
            row.x2 = row.x2 ? row.x2 + r * p.desc.ldx2 : NULL;
            row.y = y + r * p.desc.ldy;
            row.element += r * p.desc.cols;
            CHECK(!fovea_rowwise_once(engines[e], &p.desc, &row), "%s", p.text);
        }
        CHECK(wrong_elements(&p, y) == 0, "%s, %s: row by row", p.text, test_isas[e]);
    }
    test_memory_reset();
}

static void test_errors(void)
{
    struct fovea_rowwise_desc d = FOVEA_ROWWISE_DESC_INIT;
    float x[4] = {1, 2, 3, 4};
    struct fovea_rowwise_args a = {.x = x, .y = x, .rows = 1};
    d.rows = 1, d.cols = d.ldx = d.ldx2 = d.ldy = 4;
    d.op = FOVEA_ROWWISE_DROPOUT_ADD;
    CHECK(fovea_rowwise_once(engines[0], &d, &a) == FOVEA_ERR_NULL, "no x2");
    d.ldx2 = 3;
    CHECK(fovea_rowwise_once(engines[0], &d, &a) == FOVEA_ERR_STRIDE, "ldx2");
    d.op = FOVEA_ROWWISE_DROPOUT;
    static const float bad[] = {1, -0.5f, 2, NAN};
    for (size_t i = 0; i < 4; i++) {
        d.dropout = bad[i];
        CHECK(fovea_rowwise_once(engines[0], &d, &a) == FOVEA_ERR_VALUE, "dropout %g", (double)bad[i]);
    }
    d.op = (enum fovea_rowwise_op)(FOVEA_ROWWISE_ROTARY + 1);
    CHECK(fovea_rowwise_once(engines[0], &d, &a) == FOVEA_ERR_ENUM, "no such operator");
    CHECK(x[0] == 1 && x[3] == 4, "written");
}

int main(void)
{
    const bool small = getenv("FOVEA_TEST_SMALL") != NULL;
    test_engines(engines);
    for (uint64_t seed = 1; seed <= (small ? 30 : 150); seed++)
        run_case(seed);
    test_errors();
    test_engines_free(engines);
    return test_done();
}
