// SPDX-License-Identifier: Apache-2.0
// tests/golden/attention.c - the terms of attention's scores beside PyTorch: one by one, and all at once; many rows in
// one call, and a few.
#include "tests/golden/golden.h"

enum { OFFSET = 70, SEGMENT = 40, BLOCK_ROWS = 8, BLOCK_KEYS = 32, ROWS_MAX = 64, KEYS_MAX = 256 };

// What a case has beside q, k and v.
enum { CAP = 1, FALL = 2, SINK = 4, WINDOW = 8, SEGMENTS = 16, BLOCKS = 32, ALL = 63 };

static struct fovea_attention_desc describe(unsigned has)
{
    const struct fovea_tensor *const q = tensor("terms.q"), *const k = tensor("terms.k"), *const v = tensor("terms.v");
    struct fovea_attention_desc d;
    fovea_attention_desc_init(&d, sizeof d);
    d.batch = 1, d.heads = d.kv_heads = q->shape[1], d.q_len = q->shape[2], d.kv_len = k->shape[2];
    d.qk_dim = q->shape[3], d.v_dim = v->shape[3];
    d.q = dense(q), d.k = dense(k), d.v = dense(v), d.out = dense(tensor("terms.softcap"));
    d.softcap = has & CAP ? 3 : 0;
    if (has & WINDOW)
        d.window_left = 20, d.window_right = 5;
    d.segments = (has & SEGMENTS) != 0;
    d.blocks = (has & BLOCKS) != 0;
    d.block_rows = BLOCK_ROWS, d.block_keys = BLOCK_KEYS;
    d.blocks_row = (d.kv_len + BLOCK_KEYS - 1) / BLOCK_KEYS;
    return d;
}

// rows: queries of one call.
static void term_case(const char *name, unsigned has, size_t rows)
{
    static uint32_t segments[KEYS_MAX];
    static uint8_t blocks[ROWS_MAX];
    const struct fovea_attention_desc d = describe(has);
    char lse_name[64];
    snprintf(lse_name, sizeof lse_name, "%s.lse", name);
    const struct fovea_tensor *const y = tensor(name), *const lse = tensor(lse_name);
    float *const out = test_alloc(y->bytes), *const sums = test_alloc(lse->bytes);
    for (size_t j = 0; j < d.kv_len; j++)
        segments[j] = (uint32_t)(j / SEGMENT);
    for (size_t first = 0; first < d.q_len; first += rows) {
        const size_t n = d.q_len - first < rows ? d.q_len - first : rows;
        float part[ROWS_MAX];
        for (size_t i = 0; i < n; i++) // a map of rows of one row each: a call may begin anywhere
            for (size_t j = 0; j < d.blocks_row; j++)
                blocks[j + (i / BLOCK_ROWS) * d.blocks_row] = (j + (first + i) / BLOCK_ROWS) % 2 == 0;
        const struct fovea_attention_args args = {.q = floats("terms.q") + first * d.q.row,
                                                  .k = floats("terms.k"),
                                                  .v = floats("terms.v"),
                                                  .out = out + first * d.out.row,
                                                  .lse = part,
                                                  .batch = 1,
                                                  .q_len = n,
                                                  .kv_len = d.kv_len,
                                                  .q_offset = (int64_t)(OFFSET + first),
                                                  .blocks = d.blocks ? blocks : NULL,
                                                  .q_segments = d.segments ? segments + OFFSET + first : NULL,
                                                  .kv_segments = d.segments ? segments : NULL,
                                                  .slopes = has & FALL ? floats("terms.slopes") : NULL,
                                                  .sinks = has & SINK ? floats("terms.logits") : NULL};
        CHECK(!fovea_attention_once(engine, &d, &args), "%s", name);
        for (size_t h = 0; h < d.heads; h++)
            memcpy(sums + h * d.q_len + first, part + h * n, n * sizeof *part);
    }
    compare(name, rows < d.q_len ? " in pieces" : "", FOVEA_OK, out, OPERATOR);
    compare(lse_name, rows < d.q_len ? " in pieces" : "", FOVEA_OK, sums, OPERATOR);
    free(out);
    free(sums);
}

static void test_all(void)
{
    static const struct {
        const char *name;
        unsigned has;
    } cases[] = {{"terms.softcap", CAP},   {"terms.alibi", FALL},        {"terms.sinks", SINK},
                 {"terms.window", WINDOW}, {"terms.segments", SEGMENTS}, {"terms.blocks", BLOCKS},
                 {"terms.all", ALL}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        term_case(cases[i].name, cases[i].has, 20); // lanes are queries
        term_case(cases[i].name, cases[i].has, 4);  // lanes are keys; 4 divides a block of rows
    }
}

int main(void)
{
    return golden_main(test_all);
}
