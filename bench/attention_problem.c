// SPDX-License-Identifier: Apache-2.0
// bench/attention_problem.c - operands of attention as models have them, and a float64 reference on sampled rows.
#include "bench/attention_problem.h"
#include "bench/memory.h"

#include <math.h>
#include <string.h>

enum { PANEL = 16, WINDOW = 256, CACHED = ATTENTION_DECODE | ATTENTION_DECODE_ROWS | ATTENTION_DECODE_MASK };
enum { ORDERED = ATTENTION_CAUSAL | ATTENTION_WINDOW | ATTENTION_ALIBI };
static const float softcap = 30, slope = 0.05f, dropout = 0.1f;

static void fill(float *values, size_t count, uint64_t seed)
{
    uint64_t random = seed;
    for (size_t i = 0; i < count; i++) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        values[i] = (float)(int32_t)(random >> 32) * 0x1p-31f; // -1 to 1
    }
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
    if (p->kind & CACHED) {
        const size_t head = s->kv_len * s->dim, panels = (s->kv_len + PANEL - 1) / PANEL * PANEL * s->dim;
        d->k_layout = p->kind == ATTENTION_DECODE_ROWS ? FOVEA_K_ROWS : FOVEA_K_PANELS;
        const size_t k_head = d->k_layout == FOVEA_K_ROWS ? head : panels;
        d->k = (struct fovea_strides){s->kv_heads * k_head, k_head, d->k_layout == FOVEA_K_ROWS ? s->dim : 0};
        d->v = (struct fovea_strides){s->kv_heads * head, head, s->dim};
    }
    d->causal = (p->kind & ORDERED) != 0;
    d->window_left = p->kind == ATTENTION_WINDOW ? WINDOW : FOVEA_WINDOW_ALL;
    d->kv_len_kind = p->kind == ATTENTION_PADDED ? FOVEA_KV_LEN_BATCH : FOVEA_KV_LEN_ALL;
    d->mask = p->kind & (ATTENTION_MASK | ATTENTION_DECODE_MASK) ? FOVEA_MASK_BYTES : FOVEA_MASK_NONE;
    d->mask_key = 1;
    d->softcap = p->kind == ATTENTION_SOFTCAP ? softcap : 0;
    d->dropout = p->kind == ATTENTION_DROPOUT ? dropout : 0;
    d->statistics = p->kind == ATTENTION_STATISTICS;
}

static bool plan(struct attention_problem *p, const struct fovea_engine *engine)
{
    p->plan_bytes = fovea_attention_plan_size();
    p->plan = bench_alloc(p->plan_bytes);
    if (!p->plan || fovea_attention_plan(engine, &p->desc, p->plan) != FOVEA_OK)
        return false;
    const struct fovea_work *const work = p->plan;
    p->shared_bytes = work->shared_bytes;
    p->scratch_bytes = work->scratch_bytes * (p->executor ? p->executor->workers : 1);
    p->shared = bench_alloc(p->shared_bytes);
    p->scratch = bench_alloc(p->scratch_bytes);
    return p->shared && p->scratch;
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
    p->args.mask = mask;
    p->args.kv_lens = lens;
    p->args.slopes = p->kind == ATTENTION_ALIBI ? slopes : NULL;
    p->args.entropy = p->kind == ATTENTION_STATISTICS ? statistics : NULL;
}

bool attention_problem_make(struct attention_problem *p, const struct fovea_engine *engine, size_t llc_bytes)
{
    const struct attention_shape *const s = p->shape;
    describe(p);
    const size_t rows = s->batch * s->heads * s->q_len, q = rows * s->dim, v = s->batch * p->desc.v.batch;
    p->v_offset = s->batch * p->desc.k.batch;
    p->cache_floats = (p->v_offset + v + PANEL - 1) / PANEL * PANEL;
    p->count = p->kind & CACHED ? 2 * llc_bytes / (p->cache_floats * sizeof(float)) + 1 : 1;
    p->memory_bytes = (p->count * p->cache_floats + 2 * q + s->kv_len + s->batch + s->heads + rows) * sizeof(float);
    p->memory = bench_alloc(p->memory_bytes);
    if (!p->memory || !plan(p, engine))
        return false;
    float *const queries = p->memory + p->count * p->cache_floats;
    for (size_t i = 0; i < p->count; i++)
        fill(p->memory + i * p->cache_floats, p->cache_floats, 1 + i);
    fill(queries, q, 7);
    p->args = (struct fovea_attention_args){.q = queries,
                                            .out = queries + q,
                                            .batch = s->batch,
                                            .q_len = s->q_len,
                                            .kv_len = s->kv_len,
                                            .q_offset = (int64_t)s->kv_len - (int64_t)s->q_len};
    place_terms(p, queries + 2 * q);
    return true;
}

void attention_problem_free(struct attention_problem *p)
{
    bench_free(p->memory, p->memory_bytes);
    bench_free(p->plan, p->plan_bytes);
    bench_free(p->shared, p->shared_bytes);
    bench_free(p->scratch, p->scratch_bytes);
    p->memory = NULL;
    p->plan = p->shared = p->scratch = NULL;
}

void attention_problem_run(void *problem, size_t index)
{
    const struct attention_problem *const p = problem;
    struct fovea_attention_args args = p->args;
    args.k = p->memory + index * p->cache_floats;
    args.v = args.k + p->v_offset;
    fovea_attention(p->plan, &args, p->shared, p->scratch, p->executor);
}

static bool sees(const struct attention_problem *p, size_t i, size_t j)
{
    const int64_t position = (int64_t)i + p->args.q_offset, key = (int64_t)j;
    return (!p->desc.causal || key <= position) && (p->kind != ATTENTION_WINDOW || key >= position - WINDOW) &&
           (p->kind != ATTENTION_PADDED || j < p->shape->kv_len / 2) && (!p->desc.mask || p->args.mask[j]);
}

struct race_load attention_problem_load(const struct attention_problem *p, uint32_t threads)
{
    const struct attention_shape *const s = p->shape;
    double pairs = 0;
    for (size_t i = 0; i < s->q_len; i++)
        for (size_t j = 0; j < s->kv_len; j++)
            pairs += sees(p, i, j);
    return (struct race_load){
        .flops = 4.0 * pairs * (double)(s->batch * s->heads * s->dim),
        .stream = p->kind & CACHED ? (const char *)p->memory : NULL,
        .stream_bytes = p->kind & CACHED ? p->cache_floats * sizeof(float) : 0,
        .stride_bytes = p->cache_floats * sizeof(float),
        .count = p->count,
        .threads = threads,
    };
}

static double key_element(const struct attention_problem *p, size_t g, size_t j, size_t c)
{
    const struct fovea_attention_desc *const d = &p->desc;
    const size_t at =
        d->k_layout == FOVEA_K_ROWS ? j * d->k.row + c : j / PANEL * PANEL * d->qk_dim + c * PANEL + j % PANEL;
    return (double)p->memory[g * d->k.head + at];
}

// Row i of head h of entry 0: the largest difference from softmax(...) V in float64.
static double row_error(const struct attention_problem *p, size_t h, size_t i)
{
    enum { DIM_MAX = 512 };
    const struct fovea_attention_desc *const d = &p->desc;
    const size_t g = h / (d->heads / d->kv_heads);
    double sum = 0, worst = 0, value[DIM_MAX] = {0};
    for (size_t j = 0; j < d->kv_len; j++) {
        double score = 0;
        for (size_t c = 0; c < d->qk_dim; c++)
            score += (double)p->args.q[h * d->q.head + i * d->q.row + c] * key_element(p, g, j, c);
        score /= sqrt((double)d->qk_dim);
        if (p->kind == ATTENTION_SOFTCAP)
            score = (double)softcap * tanh(score / (double)softcap);
        if (p->kind == ATTENTION_ALIBI)
            score -= (double)slope * fabs((double)i + (double)p->args.q_offset - (double)j);
        const double weight = sees(p, i, j) ? exp(score) : 0; // scores are small: no maximum is needed
        sum += weight;
        for (size_t c = 0; c < d->v_dim; c++)
            value[c] += weight * (double)p->memory[p->v_offset + g * d->v.head + j * d->v.row + c];
    }
    for (size_t c = 0; c < d->v_dim; c++) {
        const double error = fabs((double)p->args.out[h * d->out.head + i * d->out.row + c] - value[c] / sum);
        worst = error <= worst ? worst : error; // a NaN is taken
    }
    return worst;
}

bool attention_problem_check(const struct attention_problem *p)
{
    const double allowed = 1e-5;
    const size_t rows[] = {0, p->shape->q_len / 2, p->shape->q_len - 1};
    bool right = true;
    for (size_t r = 0; r < sizeof rows / sizeof *rows && p->kind != ATTENTION_DROPOUT; r++)
        right &= row_error(p, r % p->shape->heads, rows[r]) <= allowed;
    return right;
}
