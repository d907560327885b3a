// SPDX-License-Identifier: Apache-2.0
// bench/layer_reference.c - a layer in float64, step by step as textbooks have it, for a few rows of its result.
//
// These rows see keys and values of all positions, which are therefore projected for their whole sequence.
#include "bench/layer_problem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

// One sequence. Rows are of `width`, keys and values of `kv` elements, hidden ones of `ffn`.
struct sequence {
    const struct layer_problem *p;
    size_t entry, kv;
    double *keys, *values;                     // (keys, kv)
    double *in, *query, *value, *mid, *hidden; // of a row: normed, its query, what attention gives, after half a layer
    double *gate, *scores;
};

// y = x W + b; W may be columns of a wider matrix.
static void linear(double *y, const double *x, const float *w, size_t stride, size_t inputs, size_t outputs,
                   const float *b)
{
    for (size_t j = 0; j < outputs; j++)
        y[j] = b ? (double)b[j] : 0;
    for (size_t i = 0; i < inputs; i++)
        for (size_t j = 0; j < outputs; j++)
            y[j] += x[i] * (double)w[i * stride + j];
}

// The columns of W_qkv from `first` on.
static void project(const struct sequence *q, double *y, size_t first, size_t outputs)
{
    const struct layer_problem *const p = q->p;
    const float *const b = layer_problem_operand(p, 0, LAYER_B_QKV);
    linear(y, q->in, layer_problem_operand(p, 0, LAYER_W_QKV) + first, p->operands[LAYER_W_QKV].cols, p->shape->width,
           outputs, b ? b + first : NULL);
}

static void norm(const struct layer_problem *p, double *y, const double *x, enum layer_operand gamma,
                 enum layer_operand beta)
{
    const size_t width = p->shape->width;
    const float *const g = layer_problem_operand(p, 0, gamma), *const b = layer_problem_operand(p, 0, beta);
    double mean = 0, squares = 0;
    for (size_t c = 0; c < width && p->kind != LAYER_DECODE_GATED; c++) // RMSNorm has no mean
        mean += x[c] / (double)width;
    for (size_t c = 0; c < width; c++)
        squares += (x[c] - mean) * (x[c] - mean);
    for (size_t c = 0; c < width; c++)
        y[c] = (x[c] - mean) / sqrt(squares / (double)width + (double)p->eps) * (double)g[c] + (b ? (double)b[c] : 0);
}

// Turns the halves of each head of a row.
static void turn(const struct layer_problem *p, double *row, size_t heads, size_t position)
{
    const size_t half = p->dim / 2;
    const float *const cosines = p->cos + position * half, *const sines = p->sin + position * half;
    for (size_t i = 0; i < heads * half; i++) {
        double *const a = row + i / half * p->dim + i % half, *const b = a + half;
        const double c = (double)cosines[i % half], s = (double)sines[i % half], old = *a;
        *a = old * c - *b * s;
        *b = *b * c + old * s;
    }
}

// The row as it enters attention.
static void enter(const struct sequence *q, size_t i)
{
    const struct layer_problem *const p = q->p;
    const float *const x = p->x + (q->entry * p->shape->len + i) * p->shape->width;
    for (size_t c = 0; c < p->shape->width; c++)
        q->in[c] = (double)x[c];
    if (p->kind != LAYER_ENCODER)
        norm(p, q->in, q->in, LAYER_GAMMA1, LAYER_BETA1);
}

static void take_cached(const struct sequence *q)
{
    const struct layer_problem *const p = q->p;
    const float *const k = layer_problem_operand(p, 0, LAYER_K_CACHE), *const v =
                                                                           layer_problem_operand(p, 0, LAYER_V_CACHE);
    for (size_t j = 0; j < p->position; j++)
        for (size_t c = 0; c < q->kv; c++) {
            const size_t head = q->entry * p->shape->kv_heads + c / p->dim;
            const size_t at = (head * p->shape->keys + j) * p->dim + c % p->dim;
            q->keys[j * q->kv + c] = (double)k[at];
            q->values[j * q->kv + c] = (double)v[at];
        }
}

static void project_all(const struct sequence *q)
{
    const struct layer_problem *const p = q->p;
    const size_t width = p->shape->width;
    take_cached(q);
    for (size_t i = 0; i < p->shape->len; i++) {
        double *const key = q->keys + (p->position + i) * q->kv;
        enter(q, i);
        project(q, key, width, q->kv);
        project(q, q->values + (p->position + i) * q->kv, width + q->kv, q->kv);
        if (p->kind == LAYER_DECODE_GATED)
            turn(p, key, p->shape->kv_heads, p->position + i);
    }
}

static void attend(const struct sequence *q, size_t h, size_t seen)
{
    const struct layer_problem *const p = q->p;
    const size_t dim = p->dim, g = h / (p->shape->heads / p->shape->kv_heads);
    double most = -INFINITY, sum = 0;
    for (size_t j = 0; j < seen; j++) {
        q->scores[j] = 0;
        for (size_t c = 0; c < dim; c++)
            q->scores[j] += q->query[h * dim + c] * q->keys[j * q->kv + g * dim + c] / sqrt((double)dim);
        most = fmax(most, q->scores[j]);
    }
    memset(q->value + h * dim, 0, dim * sizeof *q->value);
    for (size_t j = 0; j < seen; j++)
        sum += exp(q->scores[j] - most);
    for (size_t j = 0; j < seen; j++)
        for (size_t c = 0; c < dim; c++)
            q->value[h * dim + c] += exp(q->scores[j] - most) / sum * q->values[j * q->kv + g * dim + c];
}

static double activate(enum layer_kind kind, double x)
{
    if (kind == LAYER_DECODE_GATED)
        return x / (1 + exp(-x));
    if (kind == LAYER_DECODE)
        return 0.5 * x * (1 + tanh(0.7978845608028654 * (x + 0.044715 * x * x * x)));
    return 0.5 * x * (1 + erf(x * sqrt(0.5)));
}

// y += the feed-forward network of q->in.
static void feed_forward(const struct sequence *q, double *y)
{
    const struct layer_problem *const p = q->p;
    const size_t width = p->shape->width, ffn = p->shape->ffn;
    const float *const gate = layer_problem_operand(p, 0, LAYER_W_GATE);
    linear(q->hidden, q->in, layer_problem_operand(p, 0, LAYER_W_UP), ffn, width, ffn,
           layer_problem_operand(p, 0, LAYER_B_UP));
    if (gate)
        linear(q->gate, q->in, gate, ffn, width, ffn, NULL);
    for (size_t j = 0; j < ffn; j++)
        q->hidden[j] = gate ? activate(p->kind, q->gate[j]) * q->hidden[j] : activate(p->kind, q->hidden[j]);
    linear(q->value, q->hidden, layer_problem_operand(p, 0, LAYER_W_DOWN), width, ffn, width,
           layer_problem_operand(p, 0, LAYER_B_DOWN));
    for (size_t c = 0; c < width; c++)
        y[c] += q->value[c];
}

static void compute_row(const struct sequence *q, size_t i, double *y)
{
    const struct layer_problem *const p = q->p;
    const size_t width = p->shape->width;
    enter(q, i);
    project(q, q->query, 0, width);
    if (p->kind == LAYER_DECODE_GATED)
        turn(p, q->query, p->shape->heads, p->position + i);
    for (size_t h = 0; h < p->shape->heads; h++)
        attend(q, h, p->kind & LAYER_CACHED ? p->position + i + 1 : p->shape->keys);
    linear(q->mid, q->value, layer_problem_operand(p, 0, LAYER_W_OUT), width, width, width,
           layer_problem_operand(p, 0, LAYER_B_OUT));
    for (size_t c = 0; c < width; c++)
        q->mid[c] += (double)p->x[(q->entry * p->shape->len + i) * width + c];
    if (p->kind == LAYER_ENCODER)
        norm(p, q->mid, q->mid, LAYER_GAMMA1, LAYER_BETA1);
    memcpy(q->in, q->mid, width * sizeof *q->in);
    if (p->kind != LAYER_ENCODER)
        norm(p, q->in, q->mid, LAYER_GAMMA2, LAYER_BETA2);
    memcpy(y, q->mid, width * sizeof *y);
    feed_forward(q, y);
    if (p->kind == LAYER_ENCODER)
        norm(p, y, y, LAYER_GAMMA2, LAYER_BETA2);
}

bool layer_reference(const struct layer_problem *p)
{
    const struct layer_shape *const s = p->shape;
    struct sequence q = {.p = p, .entry = s->batch, .kv = s->kv_heads * p->dim};
    double *const memory = calloc(2 * s->keys * q.kv + 4 * s->width + 2 * s->ffn + s->keys, sizeof *memory);
    if (!memory)
        return false;
    q.keys = memory;
    q.values = q.keys + s->keys * q.kv;
    q.in = q.values + s->keys * q.kv;
    q.query = q.in + s->width;
    q.value = q.query + s->width;
    q.mid = q.value + s->width;
    q.hidden = q.mid + s->width;
    q.gate = q.hidden + s->ffn;
    q.scores = q.gate + s->ffn;
    for (size_t r = 0; r < LAYER_ROWS; r++) {
        const struct layer_row at = layer_problem_row(p, r);
        if (q.entry != at.entry) {
            q.entry = at.entry;
            project_all(&q);
        }
        compute_row(&q, at.row, p->expected + r * s->width);
    }
    free(memory);
    return true;
}
