// SPDX-License-Identifier: Apache-2.0
// bench/layer_problem.c - weights, activations and caches of layers, and how much work they are.
#include "bench/layer_problem.h"
#include "bench/fill.h"
#include "bench/memory.h"

#include <math.h>
#include <string.h>

// Floats of a line; and more layers than any shape but those of tests needs, which peers have a session each for.
enum { LINE = 16, LAYERS_MAX = 256 };

static size_t lines(size_t floats)
{
    return (floats + LINE - 1) / LINE * LINE;
}

static void operand(struct layer_problem *p, enum layer_operand which, bool has, size_t rows, size_t cols)
{
    if (!has)
        return;
    p->operands[which].rows = rows;
    p->operands[which].cols = cols;
    p->operands[which].at = p->layer_floats;
    p->layer_floats += lines(rows * cols);
}

static void describe(struct layer_problem *p)
{
    const struct layer_shape *const s = p->shape;
    const bool gated = p->kind == LAYER_DECODE_GATED, cached = p->kind & LAYER_CACHED;
    p->dim = s->width / s->heads;
    p->position = s->keys - s->len;
    p->eps = 1e-5f;
    const size_t qkv = (s->heads + 2 * s->kv_heads) * p->dim, cache = s->batch * s->kv_heads * s->keys;
    operand(p, LAYER_W_QKV, true, s->width, qkv);
    operand(p, LAYER_W_OUT, true, s->width, s->width);
    operand(p, LAYER_W_GATE, gated, s->width, s->ffn);
    operand(p, LAYER_W_UP, true, s->width, s->ffn);
    operand(p, LAYER_W_DOWN, true, s->ffn, s->width);
    operand(p, LAYER_B_QKV, !gated, 1, qkv);
    operand(p, LAYER_B_OUT, !gated, 1, s->width);
    operand(p, LAYER_B_UP, !gated, 1, s->ffn);
    operand(p, LAYER_B_DOWN, !gated, 1, s->width);
    operand(p, LAYER_GAMMA1, true, 1, s->width);
    operand(p, LAYER_BETA1, !gated, 1, s->width);
    operand(p, LAYER_GAMMA2, true, 1, s->width);
    operand(p, LAYER_BETA2, !gated, 1, s->width);
    operand(p, LAYER_K_CACHE, cached, cache, p->dim);
    operand(p, LAYER_V_CACHE, cached, cache, p->dim);
}

// Clears what bf16 has no bits for.
static void shorten(float *values, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        uint32_t bits;
        memcpy(&bits, &values[i], sizeof bits);
        bits &= 0xFFFF0000;
        memcpy(&values[i], &bits, sizeof bits);
    }
}

// Makes numbers of a matrix of weights such that are 8-bit integers times scales, which are powers of 2: of each group
// of rows that share one, the first has the largest integers.
static void coarsen(float *values, size_t rows, size_t cols, float most)
{
    enum { GROUP = 64, MOST = 127 };
    const float scale = exp2f(floorf(log2f(most / MOST)));
    for (size_t i = 0; i < rows * cols; i++) {
        const float q = fmaxf(fminf(roundf(values[i] / scale), MOST), -MOST);
        values[i] = scale * (i / cols % GROUP == 0 ? copysignf(MOST, values[i]) : q);
    }
}

// The type of the elements of an operand.
static enum fovea_type type_of(const struct layer_problem *p, unsigned operand)
{
    return operand <= LAYER_W_DOWN ? p->type : operand >= LAYER_K_CACHE ? p->cache_type : FOVEA_F32;
}

// Weights keep the variance of what they multiply, as trained ones do about; biases and norms are near 0 and 1.
static void fill_layer(const struct layer_problem *p, size_t layer)
{
    static const float near = 0.1f;
    for (unsigned i = 0; i < LAYER_OPERANDS; i++) {
        float *const values = layer_problem_operand(p, layer, i);
        const size_t rows = p->operands[i].rows;
        const bool weights = i <= LAYER_W_DOWN, cache = i >= LAYER_K_CACHE;
        const float scale = weights ? sqrtf(3 / (float)rows) : cache ? 1 : near;
        const float centre = i == LAYER_GAMMA1 || i == LAYER_GAMMA2 ? 1 : 0;
        if (values)
            bench_fill(values, rows * p->operands[i].cols, 1 + i + layer * LAYER_OPERANDS, centre, scale);
        if (values && type_of(p, i) == FOVEA_BF16)
            shorten(values, rows * p->operands[i].cols);
        if (values && type_of(p, i) == FOVEA_S8)
            coarsen(values, rows, p->operands[i].cols, scale);
    }
}

static void fill_positions(const struct layer_problem *p)
{
    const size_t half = p->dim / 2;
    for (size_t i = 0; i < p->shape->keys * half; i++) {
        const double angle = (double)(i / half) * pow(10000, -(double)(i % half) / (double)half);
        p->cos[i] = (float)cos(angle);
        p->sin[i] = (float)sin(angle);
    }
}

// Bytes that a call reads of a layer.
static size_t bytes_of(const struct layer_problem *p)
{
    size_t bytes = 0;
    for (unsigned i = 0; i < LAYER_OPERANDS; i++)
        bytes += p->operands[i].rows * p->operands[i].cols * fovea_type_bytes(type_of(p, i));
    return bytes;
}

bool layer_problem_make(struct layer_problem *p, size_t walk_bytes)
{
    const struct layer_shape *const s = p->shape;
    p->cache_type = p->type == FOVEA_F32 ? FOVEA_F32 : FOVEA_BF16;
    describe(p);
    const size_t layer_bytes = p->layer_floats * sizeof(float), rows = s->batch * s->len;
    const size_t x = lines(rows * s->width), positions = lines(s->keys * (p->dim / 2));
    p->count = rows <= LAYER_STREAM_ROWS ? walk_bytes / bytes_of(p) + 1 : 1;
    if (p->count > LAYERS_MAX)
        p->count = LAYERS_MAX;
    p->memory_bytes =
        p->count * layer_bytes + (2 * x + 2 * positions) * sizeof(float) + LAYER_ROWS * s->width * sizeof *p->expected;
    p->memory = bench_alloc(p->memory_bytes);
    if (!p->memory)
        return false;
    p->x = p->memory + p->count * p->layer_floats;
    p->y = p->x + x;
    p->cos = p->y + x;
    p->sin = p->cos + positions;
    p->expected = (double *)(void *)(p->sin + positions);
    for (size_t i = 0; i < p->count; i++)
        fill_layer(p, i);
    bench_fill(p->x, rows * s->width, 7, 0, 1);
    fill_positions(p);
    if (layer_reference(p))
        return true;
    layer_problem_free(p);
    return false;
}

void layer_problem_free(struct layer_problem *p)
{
    bench_free(p->memory, p->memory_bytes);
    p->memory = NULL;
}

float *layer_problem_operand(const struct layer_problem *p, size_t layer, enum layer_operand which)
{
    return p->operands[which].rows ? p->memory + layer * p->layer_floats + p->operands[which].at : NULL;
}

static double products(const struct layer_problem *p)
{
    double elements = 0;
    for (unsigned i = LAYER_W_QKV; i <= LAYER_W_DOWN; i++)
        elements += (double)p->operands[i].rows * (double)p->operands[i].cols;
    return elements;
}

struct race_load layer_problem_load(const struct layer_problem *p)
{
    const struct layer_shape *const s = p->shape;
    const bool streams = s->batch * s->len <= LAYER_STREAM_ROWS;
    double pairs = 0;
    for (size_t i = 0; i < s->len; i++)
        pairs += (double)(p->kind & LAYER_CACHED ? p->position + i + 1 : s->keys);
    return (struct race_load){
        .flops = 2.0 * (double)(s->batch * s->len) * products(p) + 4.0 * pairs * (double)(s->batch * s->width),
        .stream = streams ? (const char *)p->memory : NULL,
        .stream_bytes = streams ? bytes_of(p) : 0,
        .stride_bytes = p->layer_floats * sizeof(float),
        .count = p->count,
        .threads = p->threads,
    };
}

struct layer_row layer_problem_row(const struct layer_problem *p, size_t number)
{
    const size_t batch = p->shape->batch, len = p->shape->len;
    const struct layer_row rows[LAYER_ROWS] = {{0, 0}, {batch / 2, len / 2}, {batch - 1, len - 1}};
    return rows[number];
}

static double check(const void *problem)
{
    const struct layer_problem *const p = problem;
    const double allowed = p->type != FOVEA_F32
                               ? 1e-3
                               : 5e-5; // found: 8e-6 at a width of 2048; GELU by tanh in place of erf would be 3e-4
    double worst = 0;
    for (size_t r = 0; r < LAYER_ROWS; r++) {
        const struct layer_row at = layer_problem_row(p, r);
        const float *const y = p->y + (at.entry * p->shape->len + at.row) * p->shape->width;
        for (size_t c = 0; c < p->shape->width; c++) {
            const double error = fabs((double)y[c] - p->expected[r * p->shape->width + c]);
            worst = isnan(error) ? INFINITY : fmax(worst, error);
        }
    }
    return worst <= allowed ? 0 : worst / allowed;
}

static void spoil(const void *problem)
{
    const struct layer_problem *const p = problem;
    for (size_t i = 0; i < p->shape->batch * p->shape->len * p->shape->width; i++)
        p->y[i] = NAN;
}

struct race_problem layer_problem_race(const struct layer_problem *problem)
{
    return (struct race_problem){problem, spoil, check};
}
