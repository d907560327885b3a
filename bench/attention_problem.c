// SPDX-License-Identifier: Apache-2.0
// bench/attention_problem.c - operands of attention as models have them, and a float64 reference on sampled rows.
#include "bench/attention_problem.h"
#include "bench/fill.h"
#include "bench/memory.h"

#include <math.h>
#include <string.h>

enum { PANEL = 16 };
static const float softcap = 30, slope = 0.05f, dropout = 0.1f;

// A multiple of 1/128 from -1 to 1, which all types have.
static float coarse(float x)
{
    return roundf(x * 128) / 128;
}

// Its 16 bits.
static uint16_t half_of(enum fovea_type type, float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    const uint32_t of_f16 = (bits >> 16 & 0x8000) | (((bits >> 23 & 255) - (127 - 15)) << 10) | (bits >> 13 & 1023);
    return (uint16_t)(type == FOVEA_BF16 || x == 0 ? bits >> 16 : of_f16);
}

static void *allocate(const struct attention_problem *p, size_t bytes)
{
    char *const memory = bench_alloc(bytes + p->offset);
    return memory ? memory + p->offset : NULL;
}

static void release(const struct attention_problem *p, void *memory, size_t bytes)
{
    if (memory)
        bench_free((char *)memory - p->offset, bytes + p->offset);
}

// Caches of 16-bit elements, and the same numbers as f32.
static bool halve(struct attention_problem *p)
{
    const size_t count = p->count * p->cache_floats;
    p->halves_bytes = count * sizeof *p->halves;
    p->halves = allocate(p, p->halves_bytes);
    for (size_t i = 0; p->halves && i < count; i++) {
        p->memory[i] = coarse(p->memory[i]);
        p->halves[i] = half_of(p->desc.kv_type, p->memory[i]);
    }
    return p->halves;
}

static void describe(struct attention_problem *p)
{
    const struct attention_shape *const s = p->shape;
    struct fovea_attention_desc *const d = &p->desc;
    const size_t q_row = s->heads * s->dim, k_row = s->kv_heads * s->dim;
    fovea_attention_desc_init(d, sizeof *d);
    d->batch = s->batch, d->heads = s->heads, d->kv_heads = s->kv_heads;
    d->q_len = s->q_len, d->kv_len = s->kv_len, d->qk_dim = d->v_dim = s->dim;
    d->q = d->out = (struct fovea_strides){s->q_len * q_row, s->dim, q_row};
    d->k = d->v = (struct fovea_strides){s->kv_len * k_row, s->dim, k_row};
    if (p->kind & ATTENTION_CACHED) {
        const size_t head = s->kv_len * s->dim, panels = (s->kv_len + PANEL - 1) / PANEL * PANEL * s->dim;
        d->k_layout = p->kind & (ATTENTION_DECODE_ROWS | ATTENTION_DECODE_ROWS_L2) ? FOVEA_K_ROWS : FOVEA_K_PANELS;
        const size_t k_head = d->k_layout == FOVEA_K_ROWS ? head : panels;
        d->k = (struct fovea_strides){s->kv_heads * k_head, k_head, d->k_layout == FOVEA_K_ROWS ? s->dim : 0};
        d->v = (struct fovea_strides){s->kv_heads * head, head, s->dim};
    }
    d->kv_type = p->kind == ATTENTION_DECODE_BF16  ? FOVEA_BF16
                 : p->kind == ATTENTION_DECODE_F16 ? FOVEA_F16
                                                   : FOVEA_F32;
    d->causal = (p->kind & ATTENTION_ORDERED) || (p->kind & ATTENTION_CACHED && s->q_len > 1); // speculative rows
    d->window_left = p->kind == ATTENTION_WINDOW ? ATTENTION_WINDOW_LEFT : FOVEA_WINDOW_ALL;
    d->kv_len_kind = p->kind == ATTENTION_PADDED ? FOVEA_KV_LEN_BATCH : FOVEA_KV_LEN_ALL;
    d->mask = p->kind & (ATTENTION_MASK | ATTENTION_DECODE_MASK) ? FOVEA_MASK_BYTES : FOVEA_MASK_NONE;
    d->mask_key = 1;
    d->softcap = p->kind == ATTENTION_SOFTCAP ? softcap : 0;
    d->dropout = p->kind == ATTENTION_DROPOUT ? dropout : 0;
    d->statistics = p->kind == ATTENTION_STATISTICS;
}

// Keys, slopes and the rest that lie behind the operands.
static void place_terms(struct attention_problem *p, float *at)
{
    const struct attention_shape *const s = p->shape;
    uint8_t *const mask = (uint8_t *)at;
    uint32_t *const lens = (uint32_t *)(void *)(at + s->kv_len);
    float *const slopes = at + s->kv_len + s->batch, *const statistics = slopes + s->heads;
    uint64_t random = 1;
    for (size_t j = 0; j < s->kv_len; j++) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        mask[j] = p->kind != ATTENTION_DECODE_MASK || random >> 63;
    }
    for (size_t b = 0; b < s->batch; b++)
        lens[b] = (uint32_t)(s->kv_len / 2);
    for (size_t h = 0; h < s->heads; h++)
        slopes[h] = slope;
    p->args.mask = p->desc.mask ? mask : NULL;
    p->args.kv_lens = p->desc.kv_len_kind != FOVEA_KV_LEN_ALL ? lens : NULL;
    p->args.slopes = p->kind == ATTENTION_ALIBI ? slopes : NULL;
    p->args.entropy = p->kind == ATTENTION_STATISTICS ? statistics : NULL;
}

bool attention_problem_make(struct attention_problem *p, size_t walk_bytes)
{
    const struct attention_shape *const s = p->shape;
    describe(p);
    const size_t rows = s->batch * s->heads * s->q_len, q = rows * s->dim, v = s->batch * p->desc.v.batch;
    p->v_offset = s->batch * p->desc.k.batch;
    p->cache_floats = (p->v_offset + v + PANEL - 1) / PANEL * PANEL;
    p->count = p->kind & ATTENTION_STREAMED ? walk_bytes / (p->cache_floats * sizeof(float)) + 1 : 1;
    p->memory_bytes = (p->count * p->cache_floats + 2 * q + s->kv_len + s->batch + s->heads + rows) * sizeof(float);
    p->memory = allocate(p, p->memory_bytes);
    if (!p->memory)
        return false;
    float *const queries = p->memory + p->count * p->cache_floats;
    for (size_t i = 0; i < p->count; i++)
        bench_fill(p->memory + i * p->cache_floats, p->cache_floats, 1 + i, 0, 1);
    bench_fill(queries, q, 7, 0, 1);
    p->args = (struct fovea_attention_args){.q = queries,
                                            .out = queries + q,
                                            .batch = s->batch,
                                            .q_len = s->q_len,
                                            .kv_len = s->kv_len,
                                            .q_offset = (int64_t)s->kv_len - (int64_t)s->q_len};
    place_terms(p, queries + 2 * q);
    if (p->kind & ATTENTION_HALVES && !halve(p)) {
        attention_problem_free(p);
        return false;
    }
    return true;
}

void attention_problem_free(struct attention_problem *p)
{
    release(p, p->memory, p->memory_bytes);
    release(p, p->halves, p->halves_bytes);
    p->memory = NULL;
    p->halves = NULL;
}

struct attention_keys attention_problem_keys(const struct attention_problem *p, size_t i)
{
    const size_t position = i + (size_t)p->args.q_offset, len = p->shape->kv_len;
    struct attention_keys keys = {0, p->kind == ATTENTION_PADDED ? len / 2 : len};
    if (p->desc.causal && position + 1 < keys.end)
        keys.end = position + 1;
    if (p->kind == ATTENTION_WINDOW && position > ATTENTION_WINDOW_LEFT)
        keys.first = position - ATTENTION_WINDOW_LEFT;
    return keys;
}

bool attention_problem_sees(const struct attention_problem *p, size_t i, size_t j)
{
    const struct attention_keys keys = attention_problem_keys(p, i);
    return j >= keys.first && j < keys.end && (!p->desc.mask || p->args.mask[j]);
}

float attention_problem_bias(const struct attention_problem *p, size_t i, size_t j)
{
    const float distance = (float)j - (float)(i + (size_t)p->args.q_offset);
    return p->kind == ATTENTION_ALIBI ? -slope * fabsf(distance) : 0;
}

struct race_load attention_problem_load(const struct attention_problem *p)
{
    const struct attention_shape *const s = p->shape;
    const void *const caches = p->halves ? (const void *)p->halves : p->memory;
    const size_t bytes = p->cache_floats * (p->halves ? sizeof *p->halves : sizeof *p->memory);
    double pairs = 0;
    for (size_t i = 0; i < s->q_len; i++)
        for (size_t j = 0; j < s->kv_len; j++)
            pairs += attention_problem_sees(p, i, j);
    return (struct race_load){
        .flops = 4.0 * pairs * (double)(s->batch * s->heads * s->dim),
        .stream = p->kind & ATTENTION_STREAMED ? caches : NULL,
        .stream_bytes = p->kind & ATTENTION_STREAMED ? bytes : 0,
        .stride_bytes = bytes,
        .count = p->count,
        .threads = p->threads,
    };
}

// Element c of key j of an entry and head, from the beginning of a cache.
static size_t key_at(const struct attention_problem *p, size_t b, size_t g, size_t j, size_t c)
{
    const struct fovea_attention_desc *const d = &p->desc;
    const size_t at =
        d->k_layout == FOVEA_K_ROWS ? j * d->k.row + c : j / PANEL * PANEL * d->qk_dim + c * PANEL + j % PANEL;
    return b * d->k.batch + g * d->k.head + at;
}

float *attention_problem_rows(const struct attention_problem *p)
{
    const struct attention_shape *const s = p->shape;
    float *const rows = bench_alloc(p->memory_bytes);
    for (size_t i = 0; i < p->count && rows; i++) {
        const float *const from = p->memory + i * p->cache_floats;
        float *k = rows + i * p->cache_floats, *v = k + p->v_offset;
        for (size_t row = 0; row < s->batch * s->kv_heads * s->kv_len; row++, k += s->dim, v += s->dim) {
            const size_t b = row / s->kv_len / s->kv_heads, g = row / s->kv_len % s->kv_heads, j = row % s->kv_len;
            for (size_t c = 0; c < s->dim; c++)
                k[c] = from[key_at(p, b, g, j, c)];
            memcpy(v, from + p->v_offset + b * p->desc.v.batch + g * p->desc.v.head + j * p->desc.v.row,
                   s->dim * sizeof *v);
        }
    }
    return rows;
}

// Row i of head h of entry b: the largest difference from softmax(...) V in float64.
static double row_error(const struct attention_problem *p, size_t b, size_t h, size_t i)
{
    const struct fovea_attention_desc *const d = &p->desc;
    const size_t g = h / (d->heads / d->kv_heads);
    const float *const q = p->args.q + b * d->q.batch + h * d->q.head + i * d->q.row;
    const float *const out = p->args.out + b * d->out.batch + h * d->out.head + i * d->out.row;
    const float *const v = p->memory + p->v_offset + b * d->v.batch + g * d->v.head;
    double sum = 0, worst = 0, value[FOVEA_ATTENTION_DIM_MAX] = {0};
    for (size_t j = 0; j < d->kv_len; j++) {
        double score = 0;
        for (size_t c = 0; c < d->qk_dim; c++)
            score += (double)q[c] * (double)p->memory[key_at(p, b, g, j, c)];
        score /= sqrt((double)d->qk_dim);
        if (p->kind == ATTENTION_SOFTCAP)
            score = (double)softcap * tanh(score / (double)softcap);
        score += (double)attention_problem_bias(p, i, j);
        const double weight =
            attention_problem_sees(p, i, j) ? exp(score) : 0; // scores are small: no maximum is needed
        sum += weight;
        for (size_t c = 0; c < d->v_dim; c++)
            value[c] += weight * (double)v[j * d->v.row + c];
    }
    for (size_t c = 0; c < d->v_dim; c++) {
        const double error = fabs((double)out[c] - (sum > 0 ? value[c] / sum : 0)); // a row that sees no key gives 0
        worst = isnan(error) ? INFINITY : fmax(worst, error);
    }
    return worst;
}

static double check(const void *problem)
{
    const struct attention_problem *const p = problem;
    const double allowed = 1e-5;
    const struct attention_shape *const s = p->shape;
    const size_t rows[][3] = {{0, 0, 0}, // entry, head, query
                              {s->batch - 1, s->heads - 1, s->q_len / 2},
                              {s->batch / 2, s->heads / 2, s->q_len - 1}};
    double worst = 0;
    for (size_t r = 0; r < sizeof rows / sizeof *rows && p->kind != ATTENTION_DROPOUT; r++)
        worst = fmax(worst, row_error(p, rows[r][0], rows[r][1], rows[r][2]));
    return worst <= allowed ? 0 : worst / allowed;
}

static void spoil(const void *problem)
{
    const struct attention_problem *const p = problem;
    const struct attention_shape *const s = p->shape;
    for (size_t i = 0; i < s->batch * s->heads * s->q_len * s->dim; i++)
        p->args.out[i] = NAN;
}

struct race_problem attention_problem_race(const struct attention_problem *problem)
{
    return (struct race_problem){problem, spoil, check};
}
