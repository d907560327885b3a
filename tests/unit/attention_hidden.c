// SPDX-License-Identifier: Apache-2.0
// tests/unit/attention_hidden.c - masked means never loaded: keys and values that no query of their (batch, key head)
// sees are filled with NaN and infinity, then made inaccessible, and the bits stay those of the plain problem.
//
// A key hidden from some rows of a panel that others see may be loaded; it must not be used. A key hidden by a bias of
// -inf alone may be loaded.
#include "tests/support/engines.h"
#include "tests/support/memory.h"
#include "tests/support/operator.h"
#include "tests/support/test.h"
#include "tests/unit/attention_case.h"

enum { ROW = 1024, PANEL = 16 }; ///< floats of a 4 KiB page: K in rows has one for each key, V one for each or two

static struct fovea_engine *engines[TEST_ISAS];
static size_t hidden_pages;

// Where key j lies, whatever the layout: `count` floats from first on, `step` apart.
struct span {
    size_t first, count, step;
};

static struct span key_span(const struct attention_case *c, size_t b, size_t g, size_t j)
{
    const size_t head = b * c->k.batch + g * c->k.head, d = c->desc.qk_dim;
    if (c->desc.k_layout == FOVEA_K_ROWS)
        return (struct span){head + j * c->k.row, d, 1};
    return (struct span){head + j / PANEL * PANEL * d + j % PANEL, d, PANEL};
}

static struct span value_span(const struct attention_case *c, size_t b, size_t g, size_t j)
{
    return (struct span){b * c->v.batch + g * c->v.head + j * c->v.row, c->desc.v_dim, 1};
}

// Moves K (if in rows) and V to where rows have pages, and K in panels to where panels begin at pages.
static void rehouse(struct attention_case *c, float **k, float **v, size_t *k_floats, size_t *v_floats)
{
    const struct attention_case from = *c;
    struct fovea_attention_desc *const d = &c->desc;
    const size_t len = c->args.kv_len, panels = (len + PANEL - 1) / PANEL * PANEL * d->qk_dim;
    const bool rows = d->k_layout == FOVEA_K_ROWS;
    c->k.row = rows ? ROW : 0;
    c->k.head = (rows ? d->kv_len * ROW : (d->kv_len + PANEL - 1) / PANEL * PANEL * d->qk_dim + ROW - 1) / ROW * ROW;
    c->v.row = test_below(&c->rng.state, 2) ? ROW : ROW / 2; // the former is copied, the latter may not be
    c->v.head = d->kv_len * c->v.row;
    c->k.batch = d->kv_heads * c->k.head;
    c->v.batch = d->kv_heads * c->v.head;
    d->k = c->k;
    d->v = c->v;
    c->batch_strides[1] = c->k.batch;
    c->batch_strides[2] = c->v.batch;
    *k_floats = c->args.batch * c->k.batch;
    *v_floats = c->args.batch * c->v.batch;
    *k = test_floats(*k_floats, TEST_LOW);
    *v = test_floats(*v_floats, TEST_LOW);
    for (size_t b = 0; b < c->args.batch; b++)
        for (size_t g = 0; g < d->kv_heads; g++) {
            if (!rows)
                memcpy(*k + b * c->k.batch + g * c->k.head,
                       (const float *)from.args.k + b * from.k.batch + g * from.k.head, panels * sizeof **k);
            for (size_t j = 0; j < len; j++) {
                const struct span to_k = key_span(c, b, g, j), from_k = key_span(&from, b, g, j);
                const struct span to_v = value_span(c, b, g, j), from_v = value_span(&from, b, g, j);
                for (size_t p = 0; p < to_k.count && rows; p++)
                    (*k)[to_k.first + p] = ((const float *)from.args.k)[from_k.first + p];
                memcpy(*v + to_v.first, (const float *)from.args.v + from_v.first, to_v.count * sizeof **v);
            }
        }
    c->args.k = *k;
    c->args.v = *v;
}

// True if some query of any head of the group sees key j. A bias of -inf hides nothing here.
static bool needed(const struct attention_case *c, size_t b, size_t g, size_t j)
{
    struct attention_case structural = *c;
    structural.desc.bias = 0;
    const size_t group = c->desc.heads / c->desc.kv_heads;
    for (size_t h = g * group; h < (g + 1) * group; h++)
        for (size_t i = 0; i < c->args.q_len; i++)
            if (attention_case_sees(&structural, b, h, i, j))
                return true;
    return false;
}

// Fills what nobody sees with NaN and infinity, and marks what may be loaded.
static void poison(const struct attention_case *c, float *k, float *v, unsigned char *k_live, unsigned char *v_live)
{
    static const float values[] = {NAN, INFINITY, -INFINITY};
    for (size_t b = 0; b < c->args.batch; b++)
        for (size_t g = 0; g < c->desc.kv_heads; g++)
            for (size_t j = 0; j < c->args.kv_len; j++) {
                const struct span key = key_span(c, b, g, j), value = value_span(c, b, g, j);
                if (!needed(c, b, g, j)) {
                    for (size_t p = 0; p < key.count; p++)
                        k[key.first + p * key.step] = values[j % 3];
                    for (size_t p = 0; p < value.count; p++)
                        v[value.first + p] = values[j % 3];
                    continue;
                }
                const size_t first = key.step == 1 ? key.first : key.first - j % PANEL; // its whole panel
                memset(k_live + first, 1, key.count * key.step);
                memset(v_live + value.first, 1, value.count);
            }
}

// Makes every page that holds nothing live inaccessible.
static void hide(const float *x, const unsigned char *live, size_t n)
{
    for (size_t i = 0; i + ROW <= n; i += ROW) {
        if (memchr(live + i, 1, ROW) == NULL) {
            test_hide(x + i, ROW);
            hidden_pages++;
        }
    }
}

static void compare(struct attention_case *c, const char *what, const float *expected)
{
    for (int e = 0; e < TEST_ISAS; e++) {
        if (!engines[e])
            continue;
        float *const out = test_floats(c->out_floats, TEST_HIGH);
        memcpy(out, c->out_before, c->out_floats * sizeof *out);
        c->args.out = out;
        const enum fovea_status status = test_run(&test_attention, engines[e], &c->desc, &c->args, TEST_TASKS, 1);
        CHECK(!status, "%s: %s, %s: %s", c->text, what, test_isas[e], fovea_status_string(status));
        CHECK_SAME(expected, out, c->out_floats, "%s: %s, %s", c->text, what, test_isas[e]);
    }
}

static void run_case(uint64_t number)
{
    struct attention_case c;
    attention_draw(&c, number, true, 300000);
    if (c.args.batch * c.desc.kv_heads * c.desc.kv_len > 1500 || c.desc.heads == 0 || c.args.q_len == 0) {
        test_memory_reset();
        return;
    }
    float *const expected = test_floats(c.out_floats, TEST_HIGH);
    memcpy(expected, c.out_before, c.out_floats * sizeof *expected);
    c.args.out = expected;
    CHECK(!test_run(&test_attention, engines[0], &c.desc, &c.args, TEST_SERIAL, 1), "%s", c.text);
    float *k, *v;
    size_t k_floats, v_floats;
    rehouse(&c, &k, &v, &k_floats, &v_floats);
    unsigned char *const k_live = test_memory(k_floats, TEST_HIGH), *const v_live = test_memory(v_floats, TEST_HIGH);
    memset(k_live, 0, k_floats);
    memset(v_live, 0, v_floats);
    poison(&c, k, v, k_live, v_live);
    compare(&c, "hidden keys are NaN and infinite", expected);
    hide(k, k_live, k_floats);
    hide(v, v_live, v_floats);
    compare(&c, "hidden keys are inaccessible", expected);
    test_memory_reset();
}

int main(void)
{
    test_engines(engines);
    const int cases = getenv("FOVEA_TEST_SMALL") ? 120 : 500;
    for (int number = 1; number <= cases; number++)
        run_case(10000u + (uint64_t)number);
    CHECK(hidden_pages > (size_t)cases, "only %zu pages were hidden", hidden_pages);
    test_engines_free(engines);
    return test_done();
}
