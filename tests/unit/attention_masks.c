// SPDX-License-Identifier: Apache-2.0
// tests/unit/attention_masks.c - random masks of an attention problem: ends, windows, segments, blocks, masks, bias.
#include "tests/support/memory.h"
#include "tests/unit/attention_draw.h"

#include <math.h>

// A window that ends among the keys of queries that stand `away` from them; or, mostly where that is as far as a call
// takes them for, one whose ends a sum of 64 bits does not hold.
static size_t draw_window(struct check_rng *rng, int64_t away, size_t keys, bool furthest)
{
    const size_t near = check_below(rng, keys + 3) + (away > 0 ? (size_t)away : 0);
    if (check_chance(rng, furthest ? 60 : 5))
        return (SIZE_MAX >> check_below(rng, 4)) + check_below(rng, 2);
    return check_chance(rng, 40) ? FOVEA_WINDOW_ALL : near;
}

static void draw_ends(struct attention_case *c)
{
    struct check_rng *const rng = &c->rng;
    struct fovea_attention_args *const a = &c->args;
    c->desc.kv_len_kind = (enum fovea_kv_len)(check_chance(rng, 40) ? check_below(rng, 3) : FOVEA_KV_LEN_ALL);
    if (c->desc.kv_len_kind != FOVEA_KV_LEN_ALL) {
        const size_t n = a->batch * (c->desc.kv_len_kind == FOVEA_KV_LEN_BATCH ? 1 : a->q_len);
        uint32_t *const lens = test_memory(n * sizeof *lens, TEST_HIGH);
        for (size_t i = 0; i < n; i++)
            lens[i] = check_chance(rng, 10)   ? UINT32_MAX
                      : check_chance(rng, 15) ? 0
                                              : (uint32_t)check_below(rng, a->kv_len + 2);
        a->kv_lens = lens;
    }
    c->desc.causal = check_chance(rng, 40);
    const int64_t end = (int64_t)a->kv_len - (int64_t)a->q_len, far = INT64_C(1) << 33;
    const int64_t offsets[] = {0, 0, end, end, end / 2, -1, -3, -40, 1000000, far, -far, INT64_MAX, INT64_MIN};
    int64_t *const each = test_memory(a->batch * sizeof *each, TEST_HIGH);
    size_t *const past = test_memory(a->batch * sizeof *past, TEST_HIGH);
    a->q_offset = offsets[check_below(rng, sizeof offsets / sizeof *offsets)];
    for (size_t b = 0; b < a->batch; b++)
        each[b] = offsets[check_below(rng, sizeof offsets / sizeof *offsets)],
        past[b] = check_chance(rng, 10) ? SIZE_MAX : check_below(rng, a->kv_len + 2);
    a->q_offsets = check_chance(rng, 30) ? each : NULL;
    a->kv_past = check_chance(rng, 20) ? past : NULL, a->kv_new = check_below(rng, 21) - 1;
    a->kv_new_queries = check_chance(rng, 30);
    if (check_chance(rng, 30)) {
        const int64_t most = INT64_C(1) << 62, at = a->q_offset;
        const bool furthest = at == INT64_MAX || at == INT64_MIN;
        const int64_t away = furthest ? (at > 0 ? most : -most) : at == far || at == -far ? at : 0;
        c->desc.window_left = draw_window(rng, away, a->kv_len, furthest);
        c->desc.window_right = draw_window(rng, -away, a->kv_len, furthest);
    }
}

// Dense strides over (B, H, rows, keys), some of them 0. Returns the elements of the tensor. key NULL: its stride is 1.
static size_t draw_broadcast(struct attention_case *c, size_t rows, size_t keys, size_t *batch, size_t *head,
                             size_t *row, size_t *key)
{
    const size_t sizes[] = {keys, rows, c->desc.heads, c->args.batch};
    size_t one, *const strides[] = {key ? key : &one, row, head, batch};
    size_t n = 1, last = 0;
    for (size_t i = 0; i < 4; i++) {
        const bool broadcast = check_chance(&c->rng, i == 0 ? 4 : 40) && strides[i] != &one;
        *strides[i] = broadcast ? 0 : n + (i == 0 && key ? check_chance(&c->rng, 10) : 0);
        if (sizes[i] == 0)
            return 0;
        last += (sizes[i] - 1) * *strides[i];
        n = last + 1;
    }
    return n;
}

// n bytes in runs, some of them 0; the others any, or all ones.
static const uint8_t *draw_bytes(struct attention_case *c, size_t n, size_t longest, bool ones)
{
    struct check_rng *const rng = &c->rng;
    uint8_t *const bytes = test_memory(n, TEST_HIGH), attend = 0;
    const size_t run = check_chance(rng, 50) ? 1 : 1 + check_below(rng, longest);
    const unsigned percent = (unsigned)check_below(rng, 101);
    const bool noise = ones && check_chance(rng, 50);
    for (size_t i = 0; i < n; i++) {
        if (i % run == 0)
            attend = (uint8_t)(!check_chance(rng, percent) ? 0 : ones ? 255 : 1u << check_below(rng, 8));
        bytes[i] = noise ? attend & (uint8_t)check_next(rng) : attend;
    }
    return bytes;
}

static void draw_segments(struct attention_case *c)
{
    struct check_rng *const rng = &c->rng;
    const size_t lens[] = {c->args.q_len, c->args.kv_len};
    const bool sorted = check_chance(rng, 60);
    const uint32_t kinds = 1 + (uint32_t)check_below(rng, 5), first = check_chance(rng, 20) ? UINT32_MAX - kinds : 0;
    const size_t run = 1 + check_below(rng, 200);
    uint32_t *ids[2];
    for (int which = 0; which < 2; which++) {
        ids[which] = test_memory(c->args.batch * lens[which] * sizeof **ids, TEST_HIGH);
        for (size_t b = 0; b < c->args.batch; b++) {
            uint32_t id = (uint32_t)check_below(rng, kinds);
            for (size_t i = 0; i < lens[which]; i++) {
                if (i % run == 0)
                    id = sorted ? (uint32_t)(i * kinds / lens[which]) : (uint32_t)check_below(rng, kinds);
                ids[which][b * lens[which] + i] = first + id;
            }
        }
    }
    c->desc.segments = 1, c->args.q_segments = ids[0], c->args.kv_segments = ids[1];
}

static void draw_blocks(struct attention_case *c)
{
    struct fovea_attention_desc *const d = &c->desc;
    d->blocks = 1;
    d->block_rows = PICK(&c->rng, 1, 3, 16, 48, 64);
    d->block_keys = PICK(&c->rng, 1, 7, 16, 64, 100, 128, 500);
    const size_t rows = (c->args.q_len + d->block_rows - 1) / d->block_rows;
    const size_t keys = (c->args.kv_len + d->block_keys - 1) / d->block_keys;
    const size_t n = draw_broadcast(c, rows, keys, &d->blocks_batch, &d->blocks_head, &d->blocks_row, NULL);
    c->args.blocks = draw_bytes(c, n, 4, false);
}

static void draw_mask(struct attention_case *c)
{
    struct check_rng *const rng = &c->rng;
    struct fovea_attention_desc *const d = &c->desc;
    d->mask = (enum fovea_mask)(check_chance(rng, 40) ? check_below(rng, 3) : FOVEA_MASK_NONE);
    if (d->mask) {
        const bool bits = d->mask == FOVEA_MASK_BITS;
        const size_t keys = bits ? (c->args.kv_len + 7) / 8 : c->args.kv_len;
        const size_t n = draw_broadcast(c, c->args.q_len, keys, &d->mask_batch, &d->mask_head, &d->mask_row,
                                        bits ? NULL : &d->mask_key);
        c->args.mask = draw_bytes(c, n, bits ? 40 : 300, bits); // runs hide whole chunks
    }
    if (check_chance(rng, 15))
        draw_segments(c);
    if (check_chance(rng, 15))
        draw_blocks(c);
    d->bias = check_chance(rng, 35);
    if (d->bias) {
        const struct check_source source = attention_source(c, 5);
        const size_t n =
            draw_broadcast(c, c->args.q_len, c->args.kv_len, &d->bias_batch, &d->bias_head, &d->bias_row, &d->bias_key);
        float *const bias = attention_floats(c, n, &source);
        const unsigned percent = check_chance(rng, 50) ? (unsigned)check_below(rng, 101) : 0;
        for (size_t i = 0; i < n; i++)
            bias[i] = check_chance(rng, percent) ? -INFINITY : bias[i];
        c->args.bias = bias;
    }
}

void attention_draw_masks(struct attention_case *c)
{
    draw_ends(c);
    draw_mask(c);
}
