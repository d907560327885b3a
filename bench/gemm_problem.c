// SPDX-License-Identifier: Apache-2.0
// bench/gemm_problem.c - operands of a product, and its float64 reference on sampled rows.
#include "bench/gemm_problem.h"
#include "bench/fill.h"
#include "bench/memory.h"

#include <math.h>
#include <stdint.h>

enum { ALIGNMENT = 64 };

static size_t floats_of(size_t count)
{
    const size_t line = ALIGNMENT / sizeof(float);
    return (count + line - 1) / line * line;
}

// Multiples of 1/64, which are numbers of 16 bits, too. Of 8 bits they are if one of each group of steps is 127/64, so
// that its scale is 1/64. (Groups are of 64 steps here, of 32 elsewhere.)
static void coarsen(const struct gemm_problem *p, float *values)
{
    enum { GROUP = 32, MOST = 127 };
    for (size_t i = 0; i < p->batch * p->k * p->n; i++) {
        const size_t step = p->trans_b ? i % p->k : i / p->n % p->k;
        values[i] = p->type == FOVEA_S8 && step % GROUP == 0 ? MOST / 64.0f : roundf(values[i] * 64) / 64;
    }
}

// Whether B comes from memory: few rows of weights, which are not as small as a few pages. Copies of a B of one line,
// millions of them, took half a minute to make.
static bool walks(const struct gemm_problem *p)
{
    enum { LEAST_BYTES = 1 << 16 };
    return p->m <= GEMM_DECODE_ROWS && p->batch * p->k * p->n * sizeof(float) >= LEAST_BYTES;
}

bool gemm_problem_make(struct gemm_problem *p, size_t walk_bytes)
{
    const size_t a = floats_of(p->batch * p->m * p->k), c = floats_of(p->batch * p->m * p->n);
    const size_t bias = floats_of(p->n), b = p->batch * p->k * p->n;
    p->b_stride = floats_of(b);
    p->b_count = walks(p) ? walk_bytes / (p->b_stride * sizeof(float)) + 1 : 1;
    p->memory_bytes = (a + c + bias + p->b_count * p->b_stride) * sizeof(float) + p->offset;
    p->memory = bench_alloc(p->memory_bytes);
    if (!p->memory)
        return false;
    p->b = (float *)p->memory + p->offset / sizeof(float); // first, where huge pages begin
    p->a = p->b + p->b_count * p->b_stride;
    p->c = p->a + a;
    p->bias = p->c + c;
    bench_fill(p->a, p->batch * p->m * p->k, 1, 0, 1);
    bench_fill(p->bias, p->n, 2, 0, 1);
    for (size_t i = 0; i < p->b_count; i++) {
        bench_fill(p->b + i * p->b_stride, b, 3 + i, 0, 1);
        if (p->type != FOVEA_F32)
            coarsen(p, p->b + i * p->b_stride);
    }
    return true;
}

void gemm_problem_free(struct gemm_problem *p)
{
    bench_free(p->memory, p->memory_bytes);
    p->memory = NULL;
}

static void spoil(const void *problem)
{
    const struct gemm_problem *const p = problem;
    for (size_t i = 0; i < p->batch * p->m * p->n; i++)
        p->c[i] = NAN;
}

// Bytes of B as it is read.
static size_t bytes_of(const struct gemm_problem *p)
{
    size_t blob = 0;
    const bool sized = p->type == FOVEA_S8 && fovea_pack_size_typed(p->type, p->k, p->n, &blob) == FOVEA_OK;
    return sized ? blob : p->batch * p->k * p->n * fovea_type_bytes(p->type);
}

struct race_load gemm_problem_load(const struct gemm_problem *p)
{
    const bool decoding = walks(p);
    return (struct race_load){
        .flops = 2.0 * (double)p->batch * (double)p->m * (double)p->n * (double)p->k,
        .stream = decoding ? (const char *)p->b : NULL,
        .stream_bytes = decoding ? bytes_of(p) : 0,
        .stride_bytes = p->b_stride * sizeof *p->b,
        .count = p->b_count,
        .threads = p->threads,
    };
}

// The error of one element of an entry of the batch, in units of what is allowed.
static double error_at(const struct gemm_problem *p, size_t entry, size_t i, size_t j)
{
    const float *const matrix_a = p->a + entry * p->m * p->k, *const matrix_b = p->b + entry * p->k * p->n;
    const double unit = 0x1p-24;
    double sum = 0, magnitude = 0;
    for (size_t l = 0; l < p->k; l++) {
        const double a = (double)(p->trans_a ? matrix_a[l * p->m + i] : matrix_a[i * p->k + l]);
        const double b = (double)(p->trans_b ? matrix_b[j * p->k + l] : matrix_b[l * p->n + j]);
        sum += a * b;
        magnitude += fabs(a * b);
    }
    double allowed = (double)(p->k + 1) * unit * magnitude;
    if (p->gelu) { // its slope is at most 1.13, the bias rounds once, and its own error is within 4 u of its argument
        sum += (double)p->bias[j];
        allowed = 1.13 * (allowed + unit * fabs(sum)) + 4 * unit * fabs(sum) + unit;
        sum = 0.5 * sum * (1 + erf(sum * sqrt(0.5)));
    }
    const double error = fabs((double)p->c[(entry * p->m + i) * p->n + j] - sum);
    return error <= allowed ? 0 : isfinite(error) ? error / allowed : INFINITY;
}

static double check_row(const struct gemm_problem *p, size_t entry, size_t i)
{
    enum { COLUMNS = 256, LAST = 64 };
    const size_t sampled = p->n < COLUMNS ? p->n : COLUMNS, last = p->n < LAST ? p->n : LAST;
    double worst = 0;
    for (size_t s = 0; s < sampled; s++)
        worst = fmax(worst, error_at(p, entry, i, s * p->n / sampled));
    for (size_t j = p->n - last; j < p->n; j++)
        worst = fmax(worst, error_at(p, entry, i, j));
    return worst;
}

static double check(const void *problem)
{
    const struct gemm_problem *const p = problem;
    const size_t rows[] = {0, p->m / 3, p->m / 2, p->m - 1}; // of every part that threads and tiles make
    double worst = 0;
    for (size_t entry = 0; entry < p->batch; entry++)
        for (size_t r = 0; r < sizeof rows / sizeof *rows; r++)
            if (r == 0 || rows[r] != rows[r - 1])
                worst = fmax(worst, check_row(p, entry, rows[r]));
    return worst;
}

struct race_problem gemm_problem_race(const struct gemm_problem *problem)
{
    return (struct race_problem){problem, spoil, check};
}
