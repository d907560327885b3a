// SPDX-License-Identifier: Apache-2.0
// tests/unit/rotary.c - rotary positions: the bits of three roundings on every ISA, for any heads, strides, positions,
// part of a head, in place, any threads and order of tasks; what is wrong is refused.
#include "fovea/fovea.h"
#include "tests/support/engines.h"
#include "tests/support/memory.h"
#include "tests/support/operator.h"
#include "tests/support/test.h"
#include "tests/support/weights.h"

#include <stdbool.h>

static struct fovea_engine *engines[TEST_ISAS];
static uint64_t rng = 5;

static float *some(size_t n)
{
    return test_some(n, 1, &rng);
}

// Sums and differences of floats are rounded but once so: twice as many bits and two more are enough.
static float rounded(double x)
{
    return (float)x;
}

static float turned(float a, float cosine, float b, float sine)
{
    return rounded((double)rounded((double)a * (double)cosine) + (double)rounded((double)b * (double)sine));
}

// What a call should leave in y, whose gaps it should not touch.
static void expect(const struct fovea_rowwise_desc *d, const struct fovea_rowwise_args *a, float *y)
{
    const size_t dim = d->cols / d->heads, pairs = d->rotary_dim / 2;
    for (size_t r = 0; r < a->rows; r++) {
        size_t sequence = a->len ? r / a->len : 0, begin = sequence * a->len;
        while (a->starts && a->starts[sequence + 1] <= r)
            begin = a->starts[++sequence];
        const size_t start = a->positions ? a->positions[sequence] : a->position;
        const size_t position = a->row_positions ? a->row_positions[r] : start + (r - begin);
        for (size_t h = 0; h < d->heads; h++) {
            const float *const x = a->x + r * d->ldx + h * dim;
            float *const to = y + r * d->ldy + h * dim;
            for (size_t i = d->rotary_dim; i < dim; i++)
                to[i] = x[i];
            for (size_t i = 0; i < pairs; i++) {
                const size_t first = d->rotary_adjacent ? 2 * i : i, second = first + (d->rotary_adjacent ? 1 : pairs);
                const float cosine = a->cos[position * pairs + i], sine = a->sin[position * pairs + i];
                const float one = x[first], other = x[second];
                to[first] = turned(one, cosine, -other, sine);
                to[second] = turned(other, cosine, one, sine);
            }
        }
    }
}

static void test_draw(int number)
{
    struct fovea_rowwise_desc d = FOVEA_ROWWISE_DESC_INIT;
    d.op = FOVEA_ROWWISE_ROTARY;
    d.heads = 1 + test_below(&rng, 5);
    const size_t dim = 1 + test_below(&rng, number % 8 == 0 ? 300 : 80);
    d.rotary_dim = test_below(&rng, 3) == 0 ? 2 * test_below(&rng, (uint32_t)dim / 2 + 1) : dim / 2 * 2;
    d.rotary_adjacent = test_below(&rng, 2);
    d.rotary_positions = 1 + test_below(&rng, 60);
    d.cols = d.heads * dim;
    d.rows = 1 + test_below(&rng, number % 16 == 0 ? 700 : 40);
    d.ldx = d.cols + test_below(&rng, 9), d.ldy = d.cols + test_below(&rng, 9);
    const bool in_place = test_below(&rng, 2);
    d.ldy = in_place ? d.ldx : d.ldy;
    struct fovea_rowwise_args a = {.rows = d.rows};
    a.cos = some(d.rotary_positions * d.rotary_dim / 2), a.sin = some(d.rotary_positions * d.rotary_dim / 2);
    if (test_below(&rng, 2)) {
        uint32_t *const positions = test_memory(d.rows * sizeof *positions, TEST_HIGH);
        for (size_t r = 0; r < d.rows; r++)
            positions[r] = test_below(&rng, (uint32_t)d.rotary_positions);
        a.row_positions = positions;
    } else {
        a.len = 1 + test_below(&rng, (uint32_t)d.rotary_positions);
        a.position = test_below(&rng, (uint32_t)(d.rotary_positions - a.len) + 1);
        const size_t sequences = (d.rows + a.len - 1) / a.len;
        size_t *const positions = test_memory(sequences * sizeof *positions, TEST_HIGH);
        for (size_t s = 0; s < sequences; s++)
            positions[s] = test_below(&rng, (uint32_t)(d.rotary_positions - a.len) + 1);
        a.positions = test_below(&rng, 2) ? positions : NULL;
        if (test_below(&rng, 2)) { // of at most len rows each, so at least as many sequences
            uint32_t *const rows = test_memory((d.rows + sequences + 1) * sizeof *rows, TEST_HIGH);
            size_t *const each = test_memory((d.rows + sequences) * sizeof *each, TEST_HIGH);
            for (rows[0] = 0; rows[a.sequences] < d.rows; a.sequences++) {
                const uint32_t left = (uint32_t)d.rows - rows[a.sequences];
                const uint32_t most = a.sequences < sequences ? test_below(&rng, (uint32_t)a.len + 1) : (uint32_t)a.len;
                each[a.sequences] = test_below(&rng, (uint32_t)(d.rotary_positions - a.len) + 1);
                rows[a.sequences + 1] = rows[a.sequences] + (most < left ? most : left);
            }
            a.starts = rows, a.positions = a.positions ? each : NULL, a.len = 0;
        }
        a.position = a.positions ? 0 : a.position;
    }
    const size_t in = (d.rows - 1) * d.ldx + d.cols, out = (d.rows - 1) * d.ldy + d.cols;
    const float *const x = some(in), *const before = in_place ? x : some(out);
    float *const expected = test_floats(out, TEST_HIGH);
    memcpy(expected, before, out * sizeof *expected);
    a.x = x;
    expect(&d, &a, expected);
    for (int e = 0; e < TEST_ISAS; e++)
        for (int way = 0; way < TEST_WAYS && engines[e]; way++) {
            float *const y = test_floats(out, TEST_HIGH);
            memcpy(y, before, out * sizeof *y);
            a.x = in_place ? y : x;
            a.y = y;
            CHECK(!test_run(&test_rowwise, engines[e], &d, &a, (enum test_way)way, 9), "rotary");
            CHECK_SAME(expected, y, out, "%s, draw %d", test_isas[e], number);
        }
    test_memory_reset();
}

static void test_refused(void)
{
    enum { ROWS = 4, HEADS = 2, DIM = 6, POSITIONS = 5 };
    struct fovea_rowwise_desc good = FOVEA_ROWWISE_DESC_INIT;
    good.op = FOVEA_ROWWISE_ROTARY;
    good.rows = ROWS, good.heads = HEADS, good.rotary_dim = DIM, good.rotary_positions = POSITIONS;
    good.cols = good.ldx = good.ldy = HEADS * DIM;
    float x[ROWS * HEADS * DIM] = {0};
    const float table[POSITIONS * DIM / 2] = {0};
    const struct fovea_rowwise_args args = {.x = x, .y = x, .rows = ROWS, .cos = table, .sin = table, .len = ROWS};
    static const uint32_t there[ROWS] = {0, 1, POSITIONS - 1, 2}, beyond[ROWS] = {0, 1, POSITIONS, 2};
    static const size_t positions[] = {2, 3, 4}, second[] = {0, 4}, huge[] = {0, SIZE_MAX};
    struct fovea_rowwise_desc d;
    struct fovea_rowwise_args a;
#define REFUSED(change, status)                                                                                        \
    d = good, a = args, change;                                                                                        \
    CHECK(fovea_rowwise_once(engines[0], &d, &a) == (status), #change);
    REFUSED(a.rows = ROWS, FOVEA_OK)
    REFUSED(d.heads = 0, FOVEA_ERR_SHAPE)
    REFUSED(d.heads = 5, FOVEA_ERR_SHAPE)
    REFUSED(d.rotary_dim = 5, FOVEA_ERR_SHAPE)
    REFUSED(d.rotary_dim = DIM + 2, FOVEA_ERR_SHAPE)
    REFUSED(d.rotary_adjacent = 2, FOVEA_ERR_ENUM)
    REFUSED(d.rotary_positions = SIZE_MAX / 2, FOVEA_ERR_OVERFLOW)
    REFUSED(a.cos = NULL, FOVEA_ERR_NULL)
    REFUSED(a.sin = NULL, FOVEA_ERR_NULL)
    REFUSED(a.len = 0, FOVEA_ERR_SHAPE)
    REFUSED(a.position = 1, FOVEA_OK)
    REFUSED(a.position = 2, FOVEA_ERR_SHAPE)
    REFUSED(a.position = SIZE_MAX, FOVEA_ERR_SHAPE)
    REFUSED(a.row_positions = there, FOVEA_OK)
    REFUSED(a.row_positions = beyond, FOVEA_ERR_SHAPE)
    REFUSED((a.row_positions = there, a.position = 1), FOVEA_ERR_VALUE)
    REFUSED((a.row_positions = there, a.positions = positions), FOVEA_ERR_VALUE)
    REFUSED((a.positions = positions, a.len = 2), FOVEA_OK)
    REFUSED((a.positions = positions, a.len = 2, a.position = 9), FOVEA_ERR_VALUE)
    REFUSED((a.positions = positions, a.len = 3), FOVEA_OK) // the last sequence has one row
    REFUSED((a.positions = positions, a.len = 0), FOVEA_ERR_SHAPE)
    REFUSED((a.positions = second, a.len = 2), FOVEA_ERR_SHAPE)
    REFUSED((a.positions = huge, a.len = 2), FOVEA_ERR_SHAPE)
    static const uint32_t starts[] = {0, 1, 1, ROWS}, late[] = {1, 2, 3, ROWS}, few[] = {0, 1, 2, ROWS - 1};
    static const uint32_t back[] = {0, 3, 2, ROWS};
    REFUSED((a.starts = starts, a.sequences = 3, a.len = 0), FOVEA_OK)
    REFUSED((a.starts = starts, a.sequences = 3, a.row_positions = there), FOVEA_ERR_VALUE)
    REFUSED((a.starts = starts, a.sequences = 3, a.positions = positions), FOVEA_ERR_SHAPE) // 3 rows from 4 on
    REFUSED((a.starts = late, a.sequences = 3), FOVEA_ERR_SHAPE)
    REFUSED((a.starts = few, a.sequences = 3), FOVEA_ERR_SHAPE)
    REFUSED((a.starts = back, a.sequences = 3), FOVEA_ERR_SHAPE)
#undef REFUSED
}

int main(void)
{
    const int draws = getenv("FOVEA_TEST_SMALL") != NULL ? 30 : 400;
    test_engines(engines);
    for (int i = 0; i < draws; i++)
        test_draw(i);
    test_refused();
    test_engines_free(engines);
    return test_done();
}
