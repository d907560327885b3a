// SPDX-License-Identifier: Apache-2.0
// tests/unit/attention_case.c - random attention problems of every kind: sizes, layouts, values, terms.
#include "tests/support/memory.h"
#include "tests/unit/attention_draw.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

size_t attention_pick(struct check_rng *rng, const uint16_t *values, size_t count)
{
    return values[check_below(rng, count)];
}

static size_t draw_dim(struct check_rng *rng)
{
    return check_chance(rng, 4)
               ? PICK(rng, 129, 160, 256, 511, 512)
               : PICK(rng, 1, 2, 3, 7, 8, 9, 15, 16, 17, 24, 31, 32, 33, 40, 48, 64, 65, 72, 80, 96, 128);
}

// Edges of tiles (16, 48 queries), panels (16 keys), chunks (128) and splits (1024).
static size_t draw_q_len(struct check_rng *rng)
{
    return PICK(rng, 0, 1, 1, 2, 3, 5, 7, 13, 15, 16, 17, 24, 31, 47, 48, 49, 50, 63, 64, 97, 100);
}

static size_t draw_kv_len(struct check_rng *rng)
{
    return PICK(rng, 0, 1, 2, 3, 15, 16, 17, 31, 64, 100, 127, 128, 129, 200, 255, 256, 257, 1023, 1024, 1025, 2049);
}

static void draw_sizes(struct attention_case *c, size_t work)
{
    struct check_rng *const rng = &c->rng;
    struct fovea_attention_desc *const d = &c->desc;
    struct fovea_attention_args *const a = &c->args;
    // A row or two beside a tile, over several chunks; or one row of each head over few keys, which L2 holds.
    const bool beside = work >= (size_t)17 * 256 * 64 && check_chance(rng, 4), alone = check_chance(rng, 6);
    size_t need;
    do {
        a->batch = check_below(rng, 4);
        d->kv_heads = PICK(rng, 1, 1, 2, 3);
        d->heads = check_chance(rng, 2) ? 0 : d->kv_heads * PICK(rng, 1, 1, 1, 2, 3, 8, 17);
        a->q_len = draw_q_len(rng), a->kv_len = draw_kv_len(rng);
        d->qk_dim = draw_dim(rng);
        d->v_dim = check_chance(rng, 50) ? d->qk_dim : draw_dim(rng);
        if (beside) {
            a->q_len = PICK(rng, 17, 18, 50);
            a->kv_len = PICK(rng, 256, 300, 400);
            d->qk_dim = d->v_dim = 32;
        } else if (alone) {
            d->heads = d->kv_heads * PICK(rng, 1, 2, 3, 4);
            a->q_len = 1;
            a->kv_len = PICK(rng, 256, 300, 512, 600, 1024);
            d->qk_dim = PICK(rng, 8, 32, 64, 128);
            d->v_dim = PICK(rng, 32, 64, 128);
        }
        need = a->batch * d->heads * a->q_len * a->kv_len * (d->qk_dim + d->v_dim);
    } while (need > work || (need == 0 && !check_chance(rng, 8))); // few are empty
    const bool roomy = check_chance(rng, 40);
    d->batch = a->batch + (roomy ? check_below(rng, 3) : 0);
    d->q_len = a->q_len + (roomy ? check_below(rng, 30) : 0);
    d->kv_len = a->kv_len + (roomy ? check_below(rng, 200) : 0);
}

// Strides of a tensor at its capacity `len`: (B, L, H * dim) or (B, H, L, dim), with gaps.
static struct fovea_strides draw_strides(struct check_rng *rng, size_t heads, size_t len, size_t dim)
{
    const size_t gap = check_chance(rng, 40) ? check_below(rng, 9) : 0;
    struct fovea_strides s;
    if (check_chance(rng, 50)) {
        s.head = dim + (check_chance(rng, 30) ? check_below(rng, 4) : 0);
        s.row = heads * s.head + gap;
        s.batch = len * s.row + gap;
    } else {
        s.row = dim + gap;
        s.head = len * s.row + (check_chance(rng, 30) ? check_below(rng, 4) : 0);
        s.batch = heads * s.head + gap;
    }
    s.row = s.row < dim ? dim : s.row;
    return s;
}

static size_t extent(struct fovea_strides s, size_t batch, size_t heads, size_t len, size_t dim)
{
    const bool empty = batch == 0 || heads == 0 || len == 0;
    return empty ? 0 : (batch - 1) * s.batch + (heads - 1) * s.head + (len - 1) * s.row + dim;
}

float *attention_floats(struct attention_case *c, size_t n, const struct check_source *source)
{
    float *const x = test_floats(n, check_chance(&c->rng, 70) ? TEST_HIGH : TEST_LOW);
    check_fill(&c->rng, source, x, n);
    return x;
}

struct check_source attention_source(struct attention_case *c, float scale)
{
    struct check_source source = check_source(&c->rng, scale);
    if (c->exact)
        source.kind = CHECK_UNIFORM;
    return source;
}

// K in panels: whole panels, the lanes of keys past the end poisoned.
static void draw_panels(struct attention_case *c, const struct check_source *source)
{
    struct fovea_attention_desc *const d = &c->desc;
    const size_t panels = (c->args.kv_len + 15) / 16, panel = 16 * d->qk_dim, batch = c->args.batch;
    d->k_layout = FOVEA_K_PANELS;
    c->k.head = (d->kv_len + 15) / 16 * panel + (check_chance(&c->rng, 30) ? 16 : 0);
    c->k.batch = d->kv_heads * c->k.head;
    c->k.row = 0;
    const size_t n = batch == 0 ? 0 : (batch - 1) * c->k.batch + (d->kv_heads - 1) * c->k.head + panels * panel;
    float *const k = attention_floats(c, n, source);
    for (size_t b = 0; b < batch; b++)
        for (size_t h = 0; h < d->kv_heads; h++)
            for (size_t j = c->args.kv_len; j < 16 * panels; j++)
                for (size_t p = 0; p < d->qk_dim; p++)
                    check_poison(k + b * c->k.batch + h * c->k.head + j / 16 * panel + p * 16 + j % 16, 1);
    c->args.k = k;
}

// One tensor (B, L, heads of Q, K and V side by side), as a single projection writes it.
static void draw_packed_qkv(struct attention_case *c, const struct check_source *source)
{
    const struct fovea_attention_desc *const d = &c->desc;
    const size_t q = d->heads * d->qk_dim, k = d->kv_heads * d->qk_dim, row = q + k + d->kv_heads * d->v_dim;
    float *const all = attention_floats(c, c->args.batch * c->args.q_len * row, source);
    c->q = c->k = (struct fovea_strides){c->args.q_len * row, d->qk_dim, row};
    c->v = (struct fovea_strides){c->args.q_len * row, d->v_dim, row};
    c->args.q = all;
    c->args.k = all + q;
    c->args.v = all + q + k;
}

static void draw_qkv(struct attention_case *c)
{
    struct check_rng *const rng = &c->rng;
    struct fovea_attention_desc *const d = &c->desc;
    // Scores of a few units, whatever the dimension; sometimes of a hundred, where exp2 clamps.
    const struct check_source q = attention_source(c, check_chance(rng, 85) ? 6 : 150);
    const struct check_source k = attention_source(c, 1), v = attention_source(c, 1);
    const size_t batch = c->args.batch;
    if (check_chance(rng, 12) && d->kv_len == c->args.kv_len && d->q_len == c->args.q_len && d->q_len == d->kv_len &&
        d->heads && batch && d->q_len) {
        draw_packed_qkv(c, &k);
        return;
    }
    c->q = draw_strides(rng, d->heads, d->q_len, d->qk_dim);
    c->k = draw_strides(rng, d->kv_heads, d->kv_len, d->qk_dim);
    c->v = draw_strides(rng, d->kv_heads, d->kv_len, d->v_dim);
    c->q.batch = check_chance(rng, 5) ? 0 : c->q.batch; // broadcast
    c->q.head = check_chance(rng, 5) ? 0 : c->q.head;
    c->k.batch = check_chance(rng, 5) ? 0 : c->k.batch;
    c->k.head = check_chance(rng, 5) ? 0 : c->k.head;
    c->v.batch = check_chance(rng, 5) ? 0 : c->v.batch;
    c->v.head = check_chance(rng, 5) ? 0 : c->v.head;
    c->v.row = check_chance(rng, 3) ? 0 : c->v.row;
    c->args.q = attention_floats(c, extent(c->q, batch, d->heads, c->args.q_len, d->qk_dim), &q);
    c->args.v = attention_floats(c, extent(c->v, batch, d->kv_heads, c->args.kv_len, d->v_dim), &v);
    if (check_chance(rng, 50))
        draw_panels(c, &k);
    else
        c->args.k = attention_floats(c, extent(c->k, batch, d->kv_heads, c->args.kv_len, d->qk_dim), &k);
}

static void draw_out(struct attention_case *c)
{
    const struct check_source source = {CHECK_UNIFORM, 1, 0};
    const struct fovea_attention_desc *const d = &c->desc;
    c->out = draw_strides(&c->rng, d->heads, d->q_len, d->v_dim);
    c->out_floats = extent(c->out, c->args.batch, d->heads, c->args.q_len, d->v_dim);
    c->out_before = attention_floats(c, c->out_floats, &source);
    c->lse_floats = check_chance(&c->rng, 60) ? c->args.batch * d->heads * c->args.q_len : 0;
}

// Softcap, ALiBi, sinks, dropout, pruned heads.
static void draw_terms(struct attention_case *c)
{
    struct check_rng *const rng = &c->rng;
    struct fovea_attention_args *const a = &c->args;
    const size_t heads = c->desc.heads;
    c->desc.statistics = check_chance(rng, 20);
    if (check_chance(rng, 15))
        c->desc.softcap = 1 + 10 * fabsf(check_uniform(rng));
    float *const slopes = test_floats(heads, TEST_HIGH), *const sinks = test_floats(heads, TEST_HIGH);
    bool far = a->q_offset > 1000000 || a->q_offset < -1000000;
    for (size_t b = 0; b < a->batch && a->q_offsets; b++)
        far |= a->q_offsets[b] > 1000000 || a->q_offsets[b] < -1000000;
    for (size_t h = 0; h < heads; h++) {
        slopes[h] = 0.5f * check_uniform(rng);
        sinks[h] = check_chance(rng, 10) ? -INFINITY : 5 * check_uniform(rng);
    }
    a->slopes = check_chance(rng, 15) && !far ? slopes : NULL;
    a->sinks = check_chance(rng, 15) ? sinks : NULL;
    if (check_chance(rng, 15)) {
        c->desc.dropout = check_chance(rng, 20) ? 0 : 0.9f * fabsf(check_uniform(rng));
        a->seed = check_next(rng);
        a->eval = check_chance(rng, 20);
    }
    if (check_chance(rng, 10)) {
        uint32_t *const live = test_memory(heads * sizeof *live, TEST_LOW);
        for (size_t h = 0; h < heads; h++)
            if (check_chance(rng, 50))
                live[a->live_count++] = (uint32_t)h;
        a->live_heads = live;
    }
    const size_t pairs = a->batch * heads * a->q_len * a->kv_len;
    if (check_chance(rng, 12) && pairs * c->desc.qk_dim <= 1000000) { // a tanh each
        const struct check_source source = attention_source(c, 1);
        c->desc.scoring = FOVEA_SCORING_ADDITIVE;
        c->desc.scale = FOVEA_SCALE_DEFAULT;
        a->additive = attention_floats(c, heads * c->desc.qk_dim, &source);
    }
}

// Either the plan's strides are those of the call, or the call gives its own between batches.
static void place_strides(struct attention_case *c)
{
    struct fovea_attention_desc *const d = &c->desc;
    d->q = c->q, d->k = c->k, d->v = c->v, d->out = c->out;
    if (!check_chance(&c->rng, 30))
        return;
    const size_t own[] = {c->q.batch, c->k.batch, c->v.batch, c->out.batch};
    memcpy(c->batch_strides, own, sizeof own);
    c->args.batch_strides = c->batch_strides;
    d->q.batch = d->k.batch = d->v.batch = 1;
    d->out.batch *= 3;
}

void attention_draw(struct attention_case *c, uint64_t number, bool exact, size_t work)
{
    *c = (struct attention_case){.rng = {number}, .exact = exact};
    struct fovea_attention_desc *const d = &c->desc;
    fovea_attention_desc_init(d, sizeof *d);
    draw_sizes(c, work);
    static const float scales[] = {1, 0.125f, 0.3f, -0.25f, 0};
    if (check_chance(&c->rng, 30))
        d->scale = scales[check_below(&c->rng, 5)];
    draw_qkv(c);
    draw_out(c);
    attention_draw_masks(c);
    draw_terms(c);
    place_strides(c);
    snprintf(
        c->text, sizeof c->text,
        "case %llu: batch %zu/%zu, heads %zu/%zu, q %zu/%zu, kv %zu/%zu, d %zu dv %zu, scale %g, k %s, kv_lens %d, "
        "causal %u offset %lld%s window %zd %zd, segments %u, blocks %u (%zux%zu), cap %g%s%s%s, dropout %g%s, "
        "live %zu%s, mask %u (%zu %zu %zu %zu), bias %u (%zu %zu %zu %zu)%s%s",
        (unsigned long long)number, c->args.batch, d->batch, d->heads, d->kv_heads, c->args.q_len, d->q_len,
        c->args.kv_len, d->kv_len, d->qk_dim, d->v_dim, (double)d->scale, d->k_layout ? "panels" : "rows",
        (int)d->kv_len_kind, d->causal, (long long)c->args.q_offset, c->args.q_offsets ? " each" : "",
        (ptrdiff_t)d->window_left, (ptrdiff_t)d->window_right, d->segments, d->blocks, d->block_rows, d->block_keys,
        (double)d->softcap, d->scoring ? ", additive" : "", c->args.slopes ? ", slopes" : "",
        c->args.sinks ? ", sinks" : "", (double)d->dropout, c->args.eval ? " eval" : "", c->args.live_count,
        c->args.live_heads ? "" : " (all)", (unsigned)d->mask, d->mask_batch, d->mask_head, d->mask_row, d->mask_key,
        d->bias, d->bias_batch, d->bias_head, d->bias_row, d->bias_key, c->lse_floats ? ", lse" : "",
        c->args.batch_strides ? ", batch strides" : "");
}
