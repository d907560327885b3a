// SPDX-License-Identifier: Apache-2.0
// cblas/product.c - a product of any size, with any factors, in bounded memory.
//
// What does not fit is cut along m or n, never along k: each element of C stays one chain over all of k, so where the
// cuts fall changes no bit. The last resort is the definition in straight loops: nothing fails, nothing is left out.
#include "cblas/front.h"
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
    ALIGNMENT = FOVEA_CBLAS_ALIGNMENT,
    FLOATS = ALIGNMENT / sizeof(float),
    STRIP = 64,            // columns below which cutting them further frees no memory
    TILE = 64,             // rows and columns of C that the stack holds
    STEPS_ALONE = 1 << 22, // k steps in all (about 30 us of a core) under which waking other threads does not pay
};

// Rows [i, i + m) and columns [j, j + n) of C.
static struct fovea_cblas_product piece(const struct fovea_cblas_product *p, size_t i, size_t m, size_t j, size_t n)
{
    struct fovea_cblas_product part = *p;
    part.desc.m = m;
    part.desc.n = n;
    part.a += i * (p->desc.trans_a == FOVEA_TRANS ? 1 : p->desc.lda);
    part.b += j * (p->desc.trans_b == FOVEA_TRANS ? p->desc.ldb : 1);
    part.c += (ptrdiff_t)(i * p->desc.ldc) + (ptrdiff_t)j * p->c_step;
    return part;
}

static float *element(const struct fovea_cblas_product *p, size_t i, size_t j)
{
    return p->c + (ptrdiff_t)(i * p->desc.ldc) + (ptrdiff_t)j * p->c_step;
}

// What the epilogue makes of a sum.
static void finish(const struct fovea_cblas_desc *d, float acc, float *c)
{
    const float v = d->alpha == 1 ? acc : d->alpha * acc;
    *c = d->beta == 0 ? v : fmaf(d->beta, *c, v);
}

void fovea_cblas_define(const struct fovea_cblas_product *p)
{
    const struct fovea_cblas_desc *const d = &p->desc;
    const ptrdiff_t a_row = d->trans_a == FOVEA_TRANS ? 1 : (ptrdiff_t)d->lda;
    const ptrdiff_t a_k = d->trans_a == FOVEA_TRANS ? (ptrdiff_t)d->lda : p->a_step;
    const ptrdiff_t b_k = d->trans_b == FOVEA_TRANS ? 1 : (ptrdiff_t)d->ldb;
    const ptrdiff_t b_column = d->trans_b == FOVEA_TRANS ? (ptrdiff_t)d->ldb : 1;
    for (size_t i = 0; i < d->m; i++) {
        for (size_t j = 0; j < d->n; j++) {
            const float *a = p->a + (ptrdiff_t)i * a_row, *b = p->b + (ptrdiff_t)j * b_column;
            float acc = 0;
            for (size_t k = 0; k < d->k; k++) {
                acc = fmaf(a[(ptrdiff_t)k * a_k], b[(ptrdiff_t)k * b_k], acc);
            }
            finish(d, acc, element(p, i, j));
        }
    }
}

static void gather(float *to, const float *from, ptrdiff_t step, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        to[i] = from[(ptrdiff_t)i * step];
    }
}

static void scatter(float *to, ptrdiff_t step, const float *from, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        to[(ptrdiff_t)i * step] = from[i];
    }
}

// Memory of one run, in this order.
struct room {
    size_t shared, scratch, a, c;
};

// The calling thread's buffer for it; NULL where it is too much. No part may wrap the sum.
static char *find_room(struct fovea_cblas_thread *thread, const struct room *room)
{
    const size_t most = PTRDIFF_MAX / 8;
    if (room->shared > most || room->scratch > most || room->a > most || room->c > most) {
        return NULL;
    }
    return fovea_cblas_buffer(thread, room->shared + room->scratch + room->a + room->c);
}

static size_t vector_bytes(ptrdiff_t step, size_t n)
{
    return step == 1 ? 0 : (n + FLOATS - 1) / FLOATS * ALIGNMENT;
}

// Runs the thread's plan. False where the buffer does not hold what it needs: nothing has been written then.
static bool run(const struct fovea_cblas_product *p, struct fovea_cblas_thread *thread,
                const struct fovea_executor *executor)
{
    const struct fovea_cblas_desc *const d = &p->desc;
    struct fovea_work work;
    memcpy(&work, thread->plan, sizeof work);
    const size_t workers = executor != NULL ? executor->workers : 1;
    const struct room room = {(work.shared_bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT,
                              work.scratch_bytes > PTRDIFF_MAX / workers ? SIZE_MAX : workers * work.scratch_bytes,
                              vector_bytes(p->a_step, d->k), vector_bytes(p->c_step, d->n)};
    char *const memory = find_room(thread, &room);
    if (memory == NULL) {
        return false;
    }
    float *const a = (float *)(void *)(memory + room.shared + room.scratch), *const c = a + room.a / sizeof *a;
    struct fovea_gemm_args args = {.a = p->a, .b = p->b, .c = p->c, .m = d->m};
    if (p->a_step != 1) {
        gather(a, p->a, p->a_step, d->k);
        args.a = a;
    }
    if (p->c_step != 1) {
        args.c = c;
        if (d->beta != 0) {
            gather(c, p->c, p->c_step, d->n);
        }
    }
    const bool done = fovea_gemm(thread->plan, &args, memory, memory + room.shared, executor) == FOVEA_OK;
    if (done && p->c_step != 1) {
        scatter(p->c, p->c_step, c, d->n);
    }
    return done;
}

// What the engine plans: all that d does not say is as FOVEA_GEMM_DESC_INIT has it.
static struct fovea_gemm_desc of_engine(const struct fovea_cblas_desc *d)
{
    struct fovea_gemm_desc desc = FOVEA_GEMM_DESC_INIT;
    desc.m = d->m, desc.n = d->n, desc.k = d->k;
    desc.lda = d->lda, desc.ldb = d->ldb, desc.ldc = d->ldc;
    desc.trans_a = d->trans_a, desc.trans_b = d->trans_b;
    desc.alpha = d->alpha, desc.beta = d->beta;
    return desc;
}

// The thread with a plan of d, NULL where there is none to be had. The last plan is kept: programs call with one shape
// again and again, and a plan takes as long as a product of 8 x 8 x 8.
static struct fovea_cblas_thread *planned(const struct fovea_cblas_desc *d)
{
    const struct fovea_engine *const engine = fovea_cblas_state()->engine;
    struct fovea_cblas_thread *const thread = fovea_cblas_thread();
    if (thread == NULL || memcmp(&thread->desc, d, sizeof *d) == 0) {
        return thread;
    }
    const struct fovea_gemm_desc desc = of_engine(d);
    if (engine == NULL || fovea_gemm_plan_size() > sizeof thread->plan ||
        fovea_gemm_plan(engine, &desc, thread->plan) != FOVEA_OK) { // which leaves the plan that was there
        return NULL;
    }
    thread->desc = *d;
    return thread;
}

// With the engine and in the thread's buffer, as a whole. False where that cannot be.
static bool compute(const struct fovea_cblas_product *p)
{
    const struct fovea_cblas_desc *const d = &p->desc;
    struct fovea_cblas_thread *const thread = planned(d);
    if (thread == NULL) {
        return false;
    }
    struct fovea_executor executor;
    const double steps = (double)d->m * (double)d->n * (double)d->k;
    if (steps < STEPS_ALONE || !fovea_cblas_pool_take(&executor)) {
        return run(p, thread, NULL);
    }
    const bool done = run(p, thread, &executor);
    fovea_cblas_pool_give_back();
    return done;
}

// Whole, else in halves. Packed operands are what takes memory: B's columns, and rows of an A that must be turned.
static void cut(const struct fovea_cblas_product *p)
{
    const size_t m = p->desc.m, n = p->desc.n;
    if (compute(p)) {
        return;
    }
    if (m <= TILE && n <= TILE) {
        fovea_cblas_define(p);
        return;
    }
    const bool columns = m == 1 || (n > STRIP && (n >= m || p->desc.trans_a != FOVEA_TRANS));
    const size_t half = columns ? (n / 2 + STRIP - 1) / STRIP * STRIP : m / 2;
    const struct fovea_cblas_product halves[2] = {
        columns ? piece(p, 0, m, 0, half) : piece(p, 0, half, 0, n),
        columns ? piece(p, 0, m, half, n - half) : piece(p, half, m - half, 0, n),
    };
    cut(&halves[0]);
    cut(&halves[1]);
}

// The engine takes no infinite or NaN factor: it sums tile by tile on the stack, and the factors follow here.
static void multiply_tiles(const struct fovea_cblas_product *p)
{
    float sums[TILE * TILE];
    for (size_t i = 0; i < p->desc.m; i += TILE) {
        const size_t m = p->desc.m - i < TILE ? p->desc.m - i : TILE;
        for (size_t j = 0; j < p->desc.n; j += TILE) {
            const size_t n = p->desc.n - j < TILE ? p->desc.n - j : TILE;
            struct fovea_cblas_product tile = piece(p, i, m, j, n);
            tile.desc.alpha = 1;
            tile.desc.beta = 0;
            tile.desc.ldc = TILE;
            tile.c = sums;
            tile.c_step = 1;
            cut(&tile);
            for (size_t e = 0; e < m * n; e++) {
                finish(&p->desc, sums[e / n * TILE + e % n], element(p, i + e / n, j + e % n));
            }
        }
    }
}

// C = beta C: A and B are not read, and 0 C is 0 whatever C holds.
static void scale(const struct fovea_cblas_product *p)
{
    for (size_t i = 0; i < p->desc.m; i++) {
        for (size_t j = 0; j < p->desc.n; j++) {
            float *const c = element(p, i, j);
            *c = p->desc.beta == 0 ? 0 : p->desc.beta * *c;
        }
    }
}

static void multiply(const struct fovea_cblas_product *p)
{
    const struct fovea_cblas_desc *const d = &p->desc;
    if (d->m == 0 || d->n == 0 || ((d->alpha == 0 || d->k == 0) && d->beta == 1)) {
        return;
    }
    if (d->alpha == 0 || d->k == 0) {
        scale(p);
    } else if (isfinite(d->alpha) && isfinite(d->beta)) {
        cut(p);
    } else {
        multiply_tiles(p);
    }
}

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

// In one write, which lines of other threads do not tear apart.
static void tell(const struct fovea_cblas_product *p, double seconds)
{
    const struct fovea_cblas_desc *const d = &p->desc;
    char line[240];
    snprintf(line, sizeof line, "fovea: %c%c %zux%zux%zu, lda %zu, ldb %zu, ldc %zu, alpha %g, beta %g: %.2f us\n",
             d->trans_a ? 't' : 'n', d->trans_b ? 't' : 'n', d->m, d->n, d->k, d->lda, d->ldb, d->ldc, (double)d->alpha,
             (double)d->beta, seconds * 1e6);
    if (write(STDERR_FILENO, line, strlen(line)) < 0) {
        return; // nobody is listening
    }
}

void fovea_cblas_multiply(const struct fovea_cblas_product *p)
{
    if (!fovea_cblas_state()->tells) {
        multiply(p);
        return;
    }
    const double start = now();
    multiply(p);
    tell(p, now() - start);
}
