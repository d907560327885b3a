// SPDX-License-Identifier: Apache-2.0
// tests/unit/attention_half.c - keys and values of bf16 and f16 give the bits of the same numbers as f32, in all that a
// call, returned weights and states make of them, whatever the layout, masks, evicted keys, ISA and threads. Those that
// nobody sees are NaNs.
#include "tests/unit/attention_half.h"
#include "tests/support/engines.h"
#include "tests/support/test.h"
#include "tests/unit/attention_results.h"

static struct fovea_engine *engines[TEST_ISAS];

// K or V of a case as 16 bits each. What no key has that is seen is NaN; broadcast keys are seen if one of them is.
static const uint16_t *halves_seen(const struct attention_case *c, enum fovea_type type, bool of_k)
{
    enum { NOT_A_NUMBER = 0x7FFF };
    const struct fovea_strides s = of_k ? c->k : c->v;
    const size_t n = attention_extent(c, of_k), dim = of_k ? c->desc.qk_dim : c->desc.v_dim;
    const bool panels = of_k && c->desc.k_layout == FOVEA_K_PANELS;
    const float *const x = of_k ? c->args.k : c->args.v;
    uint16_t *const halves = test_memory(n * sizeof *halves, TEST_HIGH);
    for (size_t i = 0; i < n; i++)
        halves[i] = NOT_A_NUMBER;
    for (size_t b = 0; b < c->args.batch; b++)
        for (size_t j = 0; j < c->args.kv_len; j++) {
            const size_t key = b * s.batch + (panels ? j / 16 * 16 * dim + j % 16 : j * s.row);
            if (!attention_needs(c, b, j))
                continue;
            for (size_t i = 0; i < c->desc.kv_heads * dim; i++) {
                const size_t at = key + i / dim * s.head + i % dim * (panels ? 16 : 1);
                halves[at] = half_of(type, x[at]);
            }
        }
    return halves;
}

static void run_case(uint64_t number)
{
    const enum fovea_type type = number % 2 != 0 ? FOVEA_BF16 : FOVEA_F16;
    struct attention_case c;
    attention_draw(&c, number, number % 4 < 2, 400000);
    attention_round_case(&c, type);
    struct attention_case wide = c;
    c.args.k = halves_seen(&c, type, true);
    c.args.v = halves_seen(&c, type, false);
    c.desc.kv_type = type;
    attention_evict(&wide, attention_evicted(&wide, number));
    attention_evict(&c, attention_evicted(&c, number));
    const struct attention_result expected = attention_run(&wide, engines[0], TEST_SERIAL);
    attention_on_all(&c, engines, &expected);
    test_memory_reset();
}

// Few rows over K in panels see every third key: by masks, for which a plan has room to copy such keys, or by lengths,
// for which it has none.
enum scattering { BY_LENGTHS, BY_MASK, BY_BLOCKS, BY_SEGMENTS, SCATTERINGS };

static void test_scattered(enum scattering by)
{
    enum { ROWS = 10, DIM = 24, KEYS = 16 };
    struct fovea_attention_desc d;
    uint64_t random = 1;
    uint32_t lens[ROWS], q_segments[ROWS] = {0}, kv_segments[KEYS];
    uint8_t mask[KEYS];
    float *const q = test_floats(ROWS * DIM, TEST_HIGH), *const k = test_floats(KEYS * DIM, TEST_HIGH);
    fovea_attention_desc_init(&d, sizeof d);
    d.batch = d.heads = 1, d.q_len = ROWS, d.kv_len = KEYS, d.qk_dim = d.v_dim = DIM;
    d.q.row = d.v.row = d.out.row = DIM, d.k_layout = FOVEA_K_PANELS;
    for (size_t i = 0; i < ROWS * DIM; i++)
        q[i] = test_float(&random);
    for (size_t i = 0; i < KEYS * DIM; i++)
        k[i] = test_float(&random);
    for (uint32_t i = 0; i < ROWS; i++)
        lens[i] = i % 3 == 0 ? KEYS : 0;
    for (uint32_t j = 0; j < KEYS; j++)
        kv_segments[j] = j % 3, mask[j] = j % 3 == 0;
    attention_round(FOVEA_F16, k, KEYS * DIM);
    const uint16_t *const halves = attention_halves(FOVEA_F16, k, KEYS * DIM);
    struct fovea_attention_args a = {.q = q, .batch = 1, .q_len = ROWS, .kv_len = KEYS};
    if (by == BY_LENGTHS) // a row sees its own key and the one before it, or none
        d.kv_len_kind = FOVEA_KV_LEN_BATCH_ROW, d.causal = 1, d.window_left = 1, a.kv_lens = lens;
    if (by == BY_MASK)
        d.mask = FOVEA_MASK_BYTES, d.mask_key = 1, a.mask = mask;
    if (by == BY_BLOCKS)
        d.blocks = 1, d.block_rows = ROWS, d.block_keys = 1, a.blocks = mask;
    if (by == BY_SEGMENTS)
        d.segments = 1, a.q_segments = q_segments, a.kv_segments = kv_segments;
    for (int e = 0; e < TEST_ISAS; e++) {
        float *const out = test_floats(2 * ROWS * DIM, TEST_HIGH), *const lse = test_floats(2 * ROWS, TEST_HIGH);
        for (size_t half = 0; half < 2 && engines[e]; half++) {
            d.kv_type = half ? FOVEA_F16 : FOVEA_F32;
            a.k = a.v = half ? (const void *)halves : k;
            a.out = out + half * ROWS * DIM, a.lse = lse + half * ROWS;
            CHECK(!test_run(&test_attention, engines[e], &d, &a, TEST_SERIAL, 1), "scattered");
        }
        CHECK_SAME(out, out + ROWS * DIM, ROWS * DIM, "scattered by %d, %s", by, test_isas[e]);
        CHECK_SAME(lse, lse + ROWS, ROWS, "LSE, scattered by %d, %s", by, test_isas[e]);
    }
    test_memory_reset();
}

// One query, whose chunks are read in place, or in blocks of a page, and copied in turns, while rows of V are further
// apart than they are wide. V of keys that it does not see is NaN.
static void test_turns(size_t page)
{
    enum { DIM = 24, ROW = 40, CHUNK = 128, KEYS = 5 * CHUNK, NOT_A_NUMBER = 0x7FFF };
    struct fovea_attention_desc d;
    uint64_t random = 1;
    uint8_t mask[KEYS];
    uint32_t pages[KEYS / 16];
    float *const q = test_floats(DIM, TEST_HIGH), *const k = test_floats(KEYS * DIM, TEST_HIGH);
    float *const v = test_floats(KEYS * ROW, TEST_HIGH), *const expected = test_floats(DIM, TEST_HIGH);
    fovea_attention_desc_init(&d, sizeof d);
    d.batch = d.heads = d.q_len = 1, d.kv_len = KEYS, d.qk_dim = d.v_dim = DIM, d.k_layout = FOVEA_K_PANELS;
    d.q.row = d.out.row = DIM, d.v.row = ROW, d.mask = FOVEA_MASK_BYTES, d.mask_key = 1;
    d.page_keys = page, d.k.batch = page * DIM, d.v.batch = page * ROW;
    for (size_t i = 0; i < DIM; i++)
        q[i] = test_float(&random);
    for (size_t i = 0; i < KEYS * DIM; i++)
        k[i] = test_float(&random);
    for (size_t i = 0; i < KEYS * ROW; i++)
        v[i] = test_float(&random);
    for (uint32_t j = 0; j < KEYS; j++)
        mask[j] = j / CHUNK % 2 == 0 || j % 3 == 0;
    for (uint32_t i = 0; i < KEYS / 16; i++)
        pages[i] = i;
    attention_round(FOVEA_BF16, k, KEYS * DIM);
    attention_round(FOVEA_BF16, v, KEYS * ROW);
    const uint16_t *const half_k = attention_halves(FOVEA_BF16, k, KEYS * DIM);
    uint16_t *const half_v = test_memory(KEYS * ROW * sizeof *half_v, TEST_HIGH);
    for (size_t i = 0; i < KEYS * ROW; i++)
        half_v[i] = mask[i / ROW] && i % ROW < DIM ? half_of(FOVEA_BF16, v[i]) : NOT_A_NUMBER;
    struct fovea_attention_args a = {.q = q, .mask = mask, .batch = 1, .q_len = 1, .kv_len = KEYS};
    a.pages = page != 0 ? pages : NULL, a.pages_batch = page != 0 ? KEYS / page : 0;
    a.k = k, a.v = v, a.out = expected;
    CHECK(!test_run(&test_attention, engines[0], &d, &a, TEST_SERIAL, 1), "turns, f32");
    d.kv_type = FOVEA_BF16, a.k = half_k, a.v = half_v;
    for (int e = 0; e < TEST_ISAS; e++) {
        float *const out = test_floats(DIM, TEST_HIGH);
        a.out = out;
        if (!engines[e])
            continue;
        CHECK(!test_run(&test_attention, engines[e], &d, &a, TEST_SERIAL, 1), "turns");
        CHECK_SAME(expected, out, DIM, "chunks copied in turns, pages of %zu, %s", page, test_isas[e]);
    }
    test_memory_reset();
}

int main(void)
{
    const bool small = getenv("FOVEA_TEST_SMALL") != NULL;
    test_engines(engines);
    for (uint64_t number = 90001; number <= (small ? 90080 : 90500); number++)
        run_case(number);
    for (int by = 0; by < SCATTERINGS; by++)
        test_scattered((enum scattering)by);
    for (size_t i = 0; i < 4; i++)
        test_turns((const size_t[]){0, 16, 64, 128}[i]);
    attention_compared();
    test_engines_free(engines);
    return test_done();
}
