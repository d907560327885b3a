// SPDX-License-Identifier: Apache-2.0
// tests/unit/attention_compact.c - scattered keys that nobody sees: prefill puts the others side by side, and gives the
// bits that it has where it does not, as with statistics. Hidden keys are NaN. And what is not a number for some rows
// does not reach the others.
#include "tests/support/engines.h"
#include "tests/support/memory.h"
#include "tests/support/operator.h"
#include "tests/support/test.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

enum { HEADS = 4, KV_HEADS = 2, QUERIES = 70, KEYS = 300, QK = 40, V = 24, PANEL = 16, POOL = 320 };

enum pattern { EVERY_OTHER, EVERY_THIRD, FEW, RUNS, PATTERNS };

static bool sees(enum pattern pattern, size_t j)
{
    switch (pattern) {
    case EVERY_OTHER:
        return j % 2 == 1;
    case EVERY_THIRD:
        return j % 3 != 1;
    case FEW:
        return j % 37 == 5;
    default:
        return j / 11 % 2 == 0 && j != 150;
    }
}

// How keys are hidden: from all rows by bytes, bits or segments, or beside that some from some rows.
enum kind { BYTES, BITS, SEGMENTS, ROWS, KINDS };

struct problem {
    struct fovea_attention_desc desc;
    struct fovea_attention_args args;
};

static void fill(float *x, size_t n)
{
    static uint32_t state = 1;
    for (size_t i = 0; i < n; i++) {
        state = state * 1664525 + 1013904223;
        x[i] = (float)(int32_t)state * 0x1p-31f;
    }
}

// Keys as the layout has them, those that nobody sees NaN; page p of a pool is its p-th.
static float *make_keys(struct problem *p, enum pattern pattern, size_t columns, bool panels,
                        struct fovea_strides *strides)
{
    const size_t page = p->desc.page_keys != 0 ? p->desc.page_keys : POOL, pages = (KEYS + page - 1) / page;
    *strides = (struct fovea_strides){KV_HEADS * page * columns, page * columns, panels ? 0 : columns};
    float *const x = test_floats(pages * strides->batch, TEST_HIGH);
    fill(x, pages * strides->batch);
    for (size_t j = 0; j < KEYS; j++) {
        for (size_t h = 0; h < KV_HEADS && !sees(pattern, j); h++) {
            float *const head = x + j / page * strides->batch + h * strides->head;
            for (size_t c = 0; c < columns; c++) {
                const size_t at = j % page;
                head[panels ? at / PANEL * PANEL * columns + c * PANEL + at % PANEL : at * columns + c] = NAN;
            }
        }
    }
    return x;
}

static void make_mask(struct problem *p, enum pattern pattern, enum kind kind)
{
    struct fovea_attention_desc *const d = &p->desc;
    uint8_t *const mask = test_memory(QUERIES * (POOL + 1), TEST_HIGH);
    uint32_t *const keys = test_memory(KEYS * sizeof *keys, TEST_HIGH), *const queries = test_memory(
                                                                            QUERIES * sizeof *queries, TEST_HIGH);
    memset(mask, 0, QUERIES * (POOL + 1));
    memset(queries, 0, QUERIES * sizeof *queries);
    for (size_t j = 0; j < KEYS; j++) {
        keys[j] = !sees(pattern, j);
        for (size_t i = 0; i < QUERIES; i++) {
            const bool attend = sees(pattern, j) && (kind != ROWS || (i + j) % 5 != 0);
            if (kind == BITS) {
                mask[j / 8] |= (uint8_t)(attend << j % 8);
            } else {
                mask[i * KEYS + j] = (uint8_t)attend;
            }
        }
    }
    d->segments = kind == SEGMENTS;
    d->mask = kind == BITS ? FOVEA_MASK_BITS : kind == SEGMENTS ? FOVEA_MASK_NONE : FOVEA_MASK_BYTES;
    d->mask_key = 1;
    d->mask_row = kind == ROWS ? KEYS : 0;
    p->args.mask = kind == SEGMENTS ? NULL : mask;
    p->args.kv_segments = kind == SEGMENTS ? keys : NULL;
    p->args.q_segments = kind == SEGMENTS ? queries : NULL;
}

static struct problem draw(enum pattern pattern, enum kind kind, bool panels, size_t page_keys, uint32_t variant)
{
    struct problem p = {.args = {.batch = 1, .q_len = QUERIES, .kv_len = KEYS, .seed = 7, .pages_batch = POOL}};
    struct fovea_attention_desc *const d = &p.desc;
    CHECK(fovea_attention_desc_init(d, sizeof *d) == FOVEA_OK, "desc");
    d->batch = 1, d->heads = HEADS, d->kv_heads = KV_HEADS, d->q_len = QUERIES, d->kv_len = KEYS;
    d->qk_dim = QK, d->v_dim = V;
    d->q = (struct fovea_strides){0, QK, HEADS * QK};
    d->out = (struct fovea_strides){0, V, HEADS * V};
    d->k_layout = panels ? FOVEA_K_PANELS : FOVEA_K_ROWS;
    d->page_keys = page_keys;
    d->causal = variant == 1;
    d->dropout = variant == 2 ? 0.3f : 0;
    d->softcap = variant == 2 ? 5.0f : 0;
    d->scoring = variant == 3 ? FOVEA_SCORING_ADDITIVE : FOVEA_SCORING_DOT;
    p.args.q_offset = 100;
    make_mask(&p, pattern, kind);
    p.args.k = make_keys(&p, pattern, QK, panels, &d->k);
    p.args.v = make_keys(&p, pattern, V, false, &d->v);
    float *const q = test_floats(QUERIES * HEADS * QK, TEST_HIGH), *const w = test_floats(HEADS * QK, TEST_HIGH);
    uint32_t *const pages = test_memory(POOL * sizeof *pages, TEST_HIGH);
    for (uint32_t i = 0; i < POOL; i++) {
        pages[i] = i;
    }
    fill(q, QUERIES * HEADS * QK);
    fill(w, HEADS * QK);
    p.args.q = q;
    p.args.additive = variant == 3 ? w : NULL;
    p.args.pages = page_keys != 0 ? pages : NULL;
    return p;
}

static void compare(const struct fovea_engine *engine, const char *isa, struct problem p, const char *text)
{
    enum { OUT = QUERIES * HEADS * V, LSE = QUERIES * HEADS };
    float *out[2], *lse[2];
    for (uint32_t statistics = 0; statistics < 2; statistics++) {
        p.args.out = out[statistics] = test_floats(OUT, TEST_HIGH);
        p.args.lse = lse[statistics] = test_floats(LSE, TEST_HIGH);
        p.desc.statistics = statistics;
        const enum fovea_status status =
            test_run(&test_attention, engine, &p.desc, &p.args, statistics != 0 ? TEST_TASKS : TEST_SERIAL, 1);
        CHECK(status == FOVEA_OK, "%s, %s: %s", isa, text, fovea_status_string(status));
    }
    CHECK(memcmp(out[0], out[1], OUT * sizeof **out) == 0, "%s, %s: the output", isa, text);
    CHECK(memcmp(lse[0], lse[1], LSE * sizeof **lse) == 0, "%s, %s: the LSE", isa, text);
    size_t wrong = 0;
    for (size_t i = 0; i < p.args.q_len * HEADS * V; i++) {
        wrong += !isfinite(out[0][i]);
    }
    CHECK(wrong == 0, "%s, %s: a hidden key is in %zu elements", isa, text, wrong);
}

// ---- What the kernel is given ------------------------------------------------------------------------------------

static fovea_prefill_fn *spied;
static size_t keys_most, calls;

static void spy(const struct fovea_prefill_chunk *prefill)
{
    keys_most = prefill->chunk.keys > keys_most ? prefill->chunk.keys : keys_most;
    calls++;
    spied(prefill);
}

// Queries 0 to 47, a tile, see every other key from the first on, the next ones those between: each tile has a copy of
// its own. Of 50 queries the last two are a block (not by the scalar path), which is given all keys.
static void test_tiles(const struct fovea_engine *engine, const char *isa)
{
    struct fovea_kernels *const kernels = (struct fovea_kernels *)fovea_engine_kernels(engine);
    for (uint32_t few = 0; few < 2; few++) {
        struct problem p = draw(EVERY_OTHER, ROWS, false, 0, 0);
        const size_t queries = few ? 50 : QUERIES;
        p.desc.q_len = p.args.q_len = queries;
        float *const k = test_floats(KEYS * KV_HEADS * QK, TEST_HIGH), *const v =
                                                                           test_floats(KEYS * KV_HEADS * V, TEST_HIGH);
        fill(k, KEYS * KV_HEADS * QK);
        fill(v, KEYS * KV_HEADS * V);
        p.args.k = k;
        p.args.v = v;
        p.desc.k = (struct fovea_strides){0, QK, KV_HEADS * QK};
        p.desc.v = (struct fovea_strides){0, V, KV_HEADS * V};
        uint8_t *const mask = test_memory(QUERIES * KEYS, TEST_HIGH);
        for (size_t i = 0; i < QUERIES * KEYS; i++) {
            mask[i] = (i % KEYS + i / KEYS / 48) % 2 == 0;
        }
        p.args.mask = mask;
        spied = kernels->attention_prefill.run;
        keys_most = calls = 0;
        kernels->attention_prefill.run = spy;
        compare(engine, isa, p, few ? "a block" : "two tiles");
        kernels->attention_prefill.run = spied;
        CHECK(calls != 0 && keys_most == FOVEA_CHUNK, "%s: with statistics all keys", isa); // of the second call
        p.args.out = test_floats(QUERIES * HEADS * V, TEST_HIGH);
        p.args.lse = NULL;
        keys_most = calls = 0;
        kernels->attention_prefill.run = spy;
        CHECK(test_run(&test_attention, engine, &p.desc, &p.args, TEST_SERIAL, 1) == FOVEA_OK, "%s", isa);
        kernels->attention_prefill.run = spied;
        CHECK(calls != 0 && keys_most == FOVEA_CHUNK / 2, "%s: half of the keys, not %zu", isa, keys_most);
        test_memory_reset();
    }
}

// Under an emulator each pattern and kind has a third of the layouts.
static void test_isa(const struct fovea_engine *engine, const char *isa)
{
    static const size_t page_keys[] = {0, 32, 256};
    const bool small = getenv("FOVEA_TEST_SMALL") != NULL;
    for (enum pattern pattern = 0; pattern < PATTERNS; pattern++) {
        for (enum kind kind = 0; kind < KINDS; kind++) {
            for (size_t layout = 0; layout < 6; layout++) {
                const size_t number = (size_t)pattern + (size_t)kind + layout;
                if (small && number % 3 != 0) {
                    continue;
                }
                const uint32_t variant = (uint32_t)(number % 4);
                char text[80];
                snprintf(text, sizeof text, "pattern %d, kind %d, %s, pages of %zu, variant %u", (int)pattern,
                         (int)kind, layout % 2 ? "panels" : "rows", page_keys[layout / 2], (unsigned)variant);
                compare(engine, isa, draw(pattern, kind, layout % 2, page_keys[layout / 2], variant), text);
                test_memory_reset();
            }
        }
    }
}

// Keys and values that some rows see are not numbers: the others' outputs stay what they are, bit for bit.
static void test_others(const struct fovea_engine *engine, const char *isa)
{
    enum { POISONED = 33, WIDTH = 24 };
    static const float values[] = {NAN, INFINITY, -INFINITY};
    for (uint32_t i = 0; i < 12; i++) {
        const size_t queries = i % 2 ? QUERIES : 3, row = HEADS * WIDTH, kv_row = KV_HEADS * WIDTH;
        struct fovea_attention_desc d;
        CHECK(fovea_attention_desc_init(&d, sizeof d) == FOVEA_OK, "desc");
        d.batch = 1, d.heads = HEADS, d.kv_heads = KV_HEADS, d.q_len = queries, d.kv_len = KEYS;
        d.qk_dim = d.v_dim = WIDTH;
        d.q = d.out = (struct fovea_strides){0, WIDTH, row};
        d.k = d.v = (struct fovea_strides){0, WIDTH, kv_row};
        d.mask = FOVEA_MASK_BYTES;
        d.mask_row = KEYS, d.mask_key = 1;
        uint8_t *const mask = test_memory(queries * KEYS, TEST_HIGH);
        for (size_t r = 0; r < queries; r++) {
            for (size_t j = 0; j < KEYS; j++) {
                mask[r * KEYS + j] = j == POISONED ? r % 3 == 1 : (r + j) % 7 != 0;
            }
        }
        float *const q = test_floats(queries * row, TEST_HIGH), *const k = test_floats(KEYS * kv_row, TEST_HIGH),
                     *const v = test_floats(KEYS * kv_row, TEST_HIGH);
        fill(q, queries * row);
        fill(k, KEYS * kv_row);
        fill(v, KEYS * kv_row);
        float *out[2];
        for (int poisoned = 0; poisoned < 2; poisoned++) {
            for (size_t c = 0; c < kv_row && poisoned != 0; c++) {
                (i % 4 < 2 ? v : k)[POISONED * kv_row + c] = values[i / 4];
            }
            out[poisoned] = test_floats(queries * row, TEST_HIGH);
            const struct fovea_attention_args args = {.q = q,
                                                      .k = k,
                                                      .v = v,
                                                      .out = out[poisoned],
                                                      .batch = 1,
                                                      .q_len = queries,
                                                      .kv_len = KEYS,
                                                      .mask = mask};
            CHECK(test_run(&test_attention, engine, &d, &args, TEST_SERIAL, 1) == FOVEA_OK, "%s, others %u", isa, i);
        }
        for (size_t r = 0; r < queries; r++) {
            const bool same = memcmp(out[0] + r * row, out[1] + r * row, row * sizeof **out) == 0;
            CHECK(same != (r % 3 == 1), "%s, others %u: row %zu", isa, i, r);
        }
        test_memory_reset();
    }
}

int main(void)
{
    test_each_engine(test_isa);
    test_each_engine(test_tiles);
    test_each_engine(test_others);
    return test_done();
}
