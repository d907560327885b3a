// SPDX-License-Identifier: Apache-2.0
// tests/unit/attention.c - the attention operator: float64 within a derived bound, and the scalar engine's bits on
// every ISA, for any sizes, layouts, masks and their compositions, threads, order of tasks and capacity.
#include "tests/support/engines.h"
#include "tests/support/memory.h"
#include "tests/support/operator.h"
#include "tests/support/test.h"
#include "tests/unit/attention_case.h"

// The others fetch ahead however small a call is, which as it is few calls here are large enough for.
static struct fovea_engine *engines[TEST_ISAS], *fetching[TEST_ISAS];

struct result {
    float *out, *lse;
    float *entropy, *largest, *top; ///< top: bits of the keys
};

static struct result run(struct attention_case *c, const struct fovea_engine *engine, enum test_way way)
{
    const enum test_side side = way == TEST_THREADS ? TEST_LOW : TEST_HIGH;
    const size_t rows = c->desc.statistics ? c->args.batch * c->desc.heads * c->args.q_len : 0;
    const struct result r = {test_floats(c->out_floats, side), test_floats(c->lse_floats, side),
                             test_floats(rows, side), test_floats(rows, side), test_floats(rows, side)};
    if (c->desc.statistics) {
        c->args.entropy = r.entropy;
        c->args.max_weight = r.largest;
        c->args.max_key = (uint32_t *)(void *)r.top;
    }
    memcpy(r.out, c->out_before, c->out_floats * sizeof *r.out);
    c->args.out = r.out;
    c->args.lse = c->lse_floats ? r.lse : NULL;
    const enum fovea_status status = test_run(&test_attention, engine, &c->desc, &c->args, way, c->rng.state);
    CHECK(status == FOVEA_OK, "%s: %s", c->text, fovea_status_string(status));
    return r;
}

static bool far(float got, struct check_exact e)
{
    return isinf(e.value) ? (double)got != e.value : !(fabs((double)got - e.value) <= e.bound);
}

// A row with its LSE. Returns how many elements are farther from float64 than the bound.
static size_t wrong_in_row(const struct attention_case *c, const struct result *r, size_t row)
{
    struct check_exact out[512], lse;
    const size_t i = row % c->args.q_len, h = row / c->args.q_len % c->desc.heads,
                 b = row / c->args.q_len / c->desc.heads;
    const float *const got = r->out + b * c->out.batch + h * c->out.head + i * c->out.row;
    attention_exact(c, b, h, i, out, &lse);
    size_t wrong = c->lse_floats && far(r->lse[row], lse);
    if (c->desc.statistics) {
        uint32_t key;
        memcpy(&key, r->top + row, sizeof key);
        const struct attention_exact_statistics e = attention_exact_statistics(c, b, h, i, key);
        wrong += far(r->entropy[row], e.entropy) + far(r->largest[row], e.largest);
        wrong += !(e.at_key >= e.largest.value - 2 * e.largest.bound);
        wrong += (key == UINT32_MAX) == e.seen;
    }
    for (size_t p = 0; p < c->desc.v_dim; p++) {
        wrong += far(got[p], out[p]);
        wrong += isinf(lse.value) && signbit(got[p]); // +0 where no key is seen
    }
    return wrong;
}

static void compare_oracle(const struct attention_case *c, const struct result *r)
{
    const size_t rows = c->args.batch * c->desc.heads * c->args.q_len;
    size_t wrong = 0, first = rows;
    for (size_t row = 0; row < rows; row += 1 + rows / 20) {
        const size_t in_row = wrong_in_row(c, r, row);
        first = in_row != 0 && wrong == 0 ? row : first;
        wrong += in_row;
    }
    CHECK(wrong == 0, "%s: %zu elements are farther from float64 than the bound, the first in row %zu", c->text, wrong,
          first);
}

// Whatever is no element of a row of out must be as it was.
static void check_gaps(const struct attention_case *c, const struct result *r)
{
    float *const rest = test_floats(c->out_floats, TEST_HIGH);
    memcpy(rest, r->out, c->out_floats * sizeof *rest);
    for (size_t b = 0; b < c->args.batch; b++)
        for (size_t h = 0; h < c->desc.heads; h++)
            for (size_t i = 0; i < c->args.q_len; i++) {
                const size_t at = b * c->out.batch + h * c->out.head + i * c->out.row;
                memcpy(rest + at, c->out_before + at, c->desc.v_dim * sizeof *rest);
            }
    CHECK(memcmp(rest, c->out_before, c->out_floats * sizeof *rest) == 0, "%s: memory between rows was written",
          c->text);
}

static void run_case(uint64_t number, size_t work)
{
    struct attention_case c;
    attention_draw(&c, number, number % 4 != 0, work);
    const struct result expected = run(&c, engines[0], TEST_SERIAL);
    check_gaps(&c, &expected);
    if (c.exact)
        compare_oracle(&c, &expected);
    for (int i = 0; i < TEST_ISAS; i++) {
        if (!engines[i])
            continue;
        const enum test_way ways[] = {TEST_SERIAL, number % 4 < 2 ? TEST_THREADS : TEST_TASKS};
        for (size_t w = i == 0 ? 1 : 0; w < 2; w++) {
            const struct result got = run(&c, w == 0 ? fetching[i] : engines[i], ways[w]);
            const size_t rows = c.desc.statistics ? c.args.batch * c.desc.heads * c.args.q_len : 0;
            char what[640];
            snprintf(what, sizeof what, "%s: %s %s", c.text, test_isas[i], test_way_names[ways[w]]);
            CHECK_SAME(expected.out, got.out, c.out_floats, "%s", what);
            CHECK_SAME(expected.lse, got.lse, c.lse_floats, "%s", what);
            CHECK_SAME(expected.entropy, got.entropy, rows, "%s", what);
            CHECK_SAME(expected.largest, got.largest, rows, "%s", what);
            CHECK_SAME(expected.top, got.top, rows, "%s", what);
        }
    }
    test_memory_reset();
}

static void test_once(void)
{
    struct attention_case c;
    attention_draw(&c, 7, true, 100000);
    const struct result expected = run(&c, engines[0], TEST_SERIAL);
    float *const out = test_floats(c.out_floats, TEST_HIGH);
    memcpy(out, c.out_before, c.out_floats * sizeof *out);
    c.args.out = out;
    CHECK(fovea_attention_once(engines[0], &c.desc, &c.args) == FOVEA_OK, "%s", c.text);
    CHECK(c.out_floats > 0 && test_differ(expected.out, out, c.out_floats) == c.out_floats, "%s: once", c.text);
    test_memory_reset();
}

// Behind the last key begins nothing, and rows are written all the same, in prefill and in decoding: also where the end
// of the chunk of kv_begin is beyond SIZE_MAX. (A window's first key that was subtracted below 0 is such a number.)
static void begin_behind(const struct fovea_engine *engine, size_t rows, size_t begin)
{
    enum { HEADS = 2, KEYS = 64, DIM = 16, ROW = HEADS * DIM };
    struct fovea_attention_desc desc;
    CHECK(!fovea_attention_desc_init(&desc, sizeof desc), "desc");
    desc.batch = 1;
    desc.heads = HEADS;
    desc.q_len = rows;
    desc.kv_len = KEYS;
    desc.qk_dim = desc.v_dim = DIM;
    desc.q = desc.k = desc.v = desc.out = (struct fovea_strides){KEYS * ROW, DIM, ROW};
    const float *const in = test_floats(KEYS * ROW, TEST_HIGH);
    float *const out = test_floats(rows * ROW, TEST_HIGH), *const lse = test_floats(rows * HEADS, TEST_HIGH);
    const struct fovea_attention_args args = {.q = in,
                                              .k = in,
                                              .v = in,
                                              .out = out,
                                              .lse = lse,
                                              .batch = 1,
                                              .q_len = rows,
                                              .kv_len = KEYS,
                                              .kv_begin = begin};
    CHECK(!fovea_attention_once(engine, &desc, &args), "%zu rows, kv_begin %zu", rows, begin);
    size_t zeros = 0, none = 0;
    for (size_t i = 0; i < rows * ROW; i++)
        zeros += out[i] == 0;
    for (size_t i = 0; i < rows * HEADS; i++)
        none += lse[i] == -INFINITY;
    CHECK(zeros == rows * ROW && none == rows * HEADS, "%zu rows, kv_begin %zu: %zu zeros, %zu rows that see no key",
          rows, begin, zeros, none);
    test_memory_reset();
}

static void test_begins(void)
{
    static const size_t begins[] = {64, 192, (size_t)1 << 32, SIZE_MAX - 127, SIZE_MAX - 15};
    for (int i = 0; i < TEST_ISAS; i++)
        for (size_t b = 0; engines[i] && b < sizeof begins / sizeof *begins; b++)
            for (size_t rows = 1; rows < 64; rows += 13)
                begin_behind(engines[i], rows, begins[b]);
}

// Everything is fetched, and what is copied by default, or read beside something else, is not, and the other way round.
static void other_way(struct fovea_attention_tuning *t)
{
    t->near = t->near_tiles = 1;
    t->copy_k = t->copy_k > 2 ? 2 : 17;
    t->copy_v = t->copy_v > 1 ? 1 : 17;
    t->beside = t->beside == 2 ? 0 : 2;
}

int main(void)
{
    const bool small = getenv("FOVEA_TEST_SMALL") != NULL;
    test_engines(engines);
    for (int i = 0; i < TEST_ISAS; i++) {
        fetching[i] = test_engine(test_isas[i], NULL);
        for (int j = 0; j < FOVEA_ATTENTION_CLASSES && fetching[i]; j++)
            other_way(&test_tuning(fetching[i])->attention[j]);
    }
    uint64_t number = 1;
    for (int i = 0; i < (small ? 200 : 800); i++)
        run_case(number++, 500000);
    for (int i = 0; i < (small ? 4 : 40); i++)
        run_case(number++, 10000000);
    test_once();
    test_begins();
    test_engines_free(engines);
    test_engines_free(fetching);
    return test_done();
}
