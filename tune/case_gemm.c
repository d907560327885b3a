// SPDX-License-Identifier: Apache-2.0
// tune/case_gemm.c - a GEMM as a case.
//
// Rows of A repeat every 13, columns of B every 131. Both are primes larger than every tile, so each element of C
// equals one of 13 x 131, which the scalar path computes in milliseconds, and all of C is compared with these.
#include "bench/clock.h"
#include "bench/memory.h"
#include "fovea/gemm.h"
#include "ops/facts.h"
#include "tune/case.h"
#include "tune/room.h"
#include "tune/walk.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 13, COLUMNS = 131 };

struct gemm_case {
    struct tune_case base;
    struct tune_shape shape;
    float *a, *c, *want;
    struct tune_walk b; // a matrix or a blob
    struct tune_room room;
};

struct gemm_ready {
    struct gemm_case *c;
    void *plan;
};

static size_t min_size(size_t a, size_t b)
{
    return a < b ? a : b;
}

// In [-1, 1), the same everywhere.
static float value(size_t i, size_t j)
{
    const uint64_t mixed = (i * 0x9e3779b97f4a7c15u ^ (j + 1) * 0xbf58476d1ce4e5b9u) * 0x94d049bb133111ebu;
    return (float)((int64_t)(mixed >> 40) - (1 << 23)) * 0x1p-23f;
}

static struct fovea_gemm_desc desc_of(const struct tune_shape *s, bool packed)
{
    struct fovea_gemm_desc d = FOVEA_GEMM_DESC_INIT;
    d.m = s->m;
    d.n = d.ldc = s->n;
    d.k = d.lda = s->k;
    d.b_packed = packed;
    d.b_type = s->type;
    d.trans_b = s->form == FOVEA_FORM_NT ? FOVEA_TRANS : FOVEA_NO_TRANS;
    d.ldb = s->form == FOVEA_FORM_NT ? s->k : s->n;
    return d;
}

static void destroy(struct tune_case *base)
{
    struct gemm_case *const c = (struct gemm_case *)base;
    bench_free(c->a, c->shape.m * c->shape.k * sizeof(float));
    tune_walk_free(&c->b);
    bench_free(c->c, c->shape.m * c->shape.n * sizeof(float));
    tune_room_free(&c->room);
    free(c->want);
    free(c);
}

static void fill_b(const struct tune_shape *s, float *b)
{
    float columns[COLUMNS];
    if (s->form == FOVEA_FORM_NT) {
        for (size_t j = 0; j < s->n; j++)
            for (size_t p = 0; p < s->k; p++)
                b[j * s->k + p] = value(p, j % COLUMNS);
        return;
    }
    for (size_t p = 0; p < s->k; p++) {
        for (size_t j = 0; j < COLUMNS; j++)
            columns[j] = value(p, j);
        for (size_t j = 0; j < s->n; j++)
            b[p * s->n + j] = columns[j % COLUMNS];
    }
}

// The first n columns of a natural B as a blob.
static bool pack(const struct fovea_engine *engine, const struct tune_shape *s, size_t n, const float *b, void *blob,
                 size_t bytes)
{
    return (s->type == FOVEA_S8 ? fovea_pack_s8(engine, FOVEA_F32, FOVEA_NO_TRANS, s->k, n, b, s->n, blob, bytes)
                                : fovea_pack(engine, FOVEA_NO_TRANS, s->k, n, b, s->n, blob, bytes)) == FOVEA_OK;
}

// Runs the scalar path on the rows and columns that repeat.
static bool compute_want(struct gemm_case *c, const float *b)
{
    struct fovea_engine_options options = FOVEA_ENGINE_OPTIONS_INIT;
    struct fovea_engine *scalar = NULL;
    options.isa = "scalar";
    options.profile = "none";
    options.pin = options.exclude = "";
    const bool rounds = c->shape.type != FOVEA_F32; // as packing does
    struct fovea_gemm_desc d = desc_of(&c->shape, rounds);
    d.m = min_size(d.m, ROWS);
    d.n = min_size(d.n, COLUMNS);
    d.ldc = COLUMNS;
    size_t bytes = 0;
    bool ok = fovea_engine_create(&options, &scalar) == FOVEA_OK &&
              fovea_pack_size_typed(c->shape.type, d.k, d.n, &bytes) == FOVEA_OK;
    void *const blob = ok && rounds ? bench_alloc(bytes) : NULL;
    const struct fovea_gemm_args args = {.a = c->a, .b = rounds ? blob : b, .c = c->want, .m = d.m};
    ok = ok && (!rounds || (blob && pack(scalar, &c->shape, d.n, b, blob, bytes))) &&
         fovea_gemm_once(scalar, &d, &args) == FOVEA_OK;
    bench_free(blob, bytes);
    fovea_engine_destroy(scalar);
    return ok;
}

// B in its form.
static bool make_b(struct gemm_case *c, const struct fovea_engine *engine)
{
    const struct tune_shape *const s = &c->shape;
    const size_t natural = s->n * s->k * sizeof(float);
    const bool packed = s->form == FOVEA_FORM_PACKED;
    size_t bytes = natural;
    if (packed && fovea_pack_size_typed(s->type, s->k, s->n, &bytes) != FOVEA_OK)
        return false;
    struct fovea_tuning tuning = fovea_engine_kernels(engine)->tuning;
    tuning.cache.near = s->near ? (uint32_t)(s->near >> 10) : tuning.cache.near;
    // With so few rows a far B is a weight, which comes from memory. (When this applied to 16 rows only, classes of 17
    // to 32 rows found theirs in L3: Granite Rapids, 24x3072x768 natural, strips were 1.09x there, 0.43x from memory.)
    const enum fovea_gemm_form form = s->type != FOVEA_F32 ? FOVEA_FORM_NT : s->form; // as plans count it
    const bool far = s->m <= FOVEA_SEVERAL_ROWS && fovea_gemm_far(&tuning, s->m, s->n, s->k, form);
    if (!tune_walk_make(&c->b, engine, bytes, far, packed))
        return false;
    float *const source = packed ? bench_alloc(natural) : c->b.own;
    bool ok = source != NULL;
    if (ok) {
        fill_b(s, source);
        ok = compute_want(c, source) && (!packed || pack(engine, s, s->n, source, c->b.own, bytes));
    }
    if (source != c->b.own)
        bench_free(source, natural);
    return ok;
}

static void *prepare(struct tune_case *base, const struct fovea_engine *engine)
{
    struct gemm_case *const c = (struct gemm_case *)base;
    const struct fovea_gemm_desc d = desc_of(&c->shape, c->shape.form == FOVEA_FORM_PACKED);
    struct gemm_ready *const ready = calloc(1, sizeof *ready);
    void *const plan = aligned_alloc(64, fovea_gemm_plan_size());
    if (!ready || !plan || fovea_gemm_plan(engine, &d, plan) != FOVEA_OK || !tune_room_grow(&c->room, plan)) {
        free(ready);
        free(plan);
        return NULL;
    }
    *ready = (struct gemm_ready){c, plan};
    return ready;
}

static void release(void *state)
{
    struct gemm_ready *const ready = state;
    free(ready->plan);
    free(ready);
}

static bool plans_same(const void *a, const void *b)
{
    return fovea_gemm_same(((const struct gemm_ready *)a)->plan, ((const struct gemm_ready *)b)->plan);
}

static struct fovea_gemm_args args_of(struct gemm_case *c, const void *b)
{
    return (struct fovea_gemm_args){.a = c->a, .b = b, .c = c->c, .m = c->shape.m};
}

static double seconds(void *state, uint64_t calls, bool within)
{
    struct gemm_ready *const ready = state;
    struct gemm_case *const c = ready->c;
    tune_walk_begin(&c->b, within);
    const double start = bench_seconds(1);
    for (uint64_t i = 0; i < calls; i++) {
        const struct fovea_gemm_args args = args_of(c, tune_walk_next(&c->b));
        fovea_gemm(ready->plan, &args, c->room.shared, c->room.scratch, NULL);
    }
    return (bench_seconds(1) - start) / (double)calls;
}

static bool same(const struct gemm_case *c)
{
    for (size_t i = 0; i < c->shape.m; i++)
        for (size_t j = 0; j < c->shape.n; j += COLUMNS) {
            const size_t columns = min_size(COLUMNS, c->shape.n - j);
            if (memcmp(c->c + i * c->shape.n + j, c->want + i % ROWS * COLUMNS, columns * sizeof(float)) != 0)
                return false;
        }
    return true;
}

static void spoil(struct gemm_case *c)
{
    for (size_t i = 0; i < c->shape.m * c->shape.n; i++)
        c->c[i] = NAN;
    tune_room_spoil(&c->room);
}

static bool whole_is_right(const struct gemm_ready *ready, const void *b)
{
    struct gemm_case *const c = ready->c;
    const struct fovea_gemm_args args = args_of(c, b);
    spoil(c);
    return fovea_gemm(ready->plan, &args, c->room.shared, c->room.scratch, NULL) == FOVEA_OK && same(c);
}

static bool verify(void *state, enum tune_way way)
{
    struct gemm_ready *const ready = state;
    struct gemm_case *const c = ready->c;
    if (way == TUNE_WITHIN) {
        const bool right = !tune_walk_shifts(&c->b) || whole_is_right(ready, tune_walk_shift(&c->b, true));
        tune_walk_shift(&c->b, false);
        return right;
    }
    bool ok = whole_is_right(ready, c->b.own);
    if (!ok || way == TUNE_WHOLE)
        return ok;
    const struct fovea_gemm_args args = args_of(c, c->b.own);
    spoil(c);
    const struct fovea_work *const work = ready->plan;
    for (uint32_t phase = 0; phase < work->phases && ok; phase++)
        for (uint32_t task = fovea_gemm_tasks(ready->plan, &args, phase); task > 0 && ok; task--)
            ok = fovea_gemm_task(ready->plan, &args, c->room.shared, c->room.scratch, phase, task - 1) == FOVEA_OK;
    return ok && same(c);
}

static void runs(const void *state, int32_t variants[TUNE_RUNS])
{
    struct fovea_gemm_facts facts;
    fovea_gemm_facts(((const struct gemm_ready *)state)->plan, &facts);
    tune_runs_of((const char *[TUNE_RUNS]){facts.kernel, facts.edge, facts.first}, variants);
}

struct tune_case *tune_case_gemm(const struct fovea_engine *engine, const struct tune_shape *shape)
{
    static const struct tune_case_kind kind = {destroy, prepare, release, plans_same, seconds, verify, runs};
    static const char *const forms[] = {"packed", "nn", "nt"};
    struct gemm_case *const c = calloc(1, sizeof *c);
    if (!c)
        return NULL;
    c->base.kind = &kind;
    c->shape = *shape;
    const struct fovea_tuning *const tuning = &fovea_engine_kernels(engine)->tuning;
    c->base.class = fovea_gemm_number(fovea_gemm_class(tuning, shape->m, shape->n, shape->k, shape->form));
    snprintf(c->base.name, sizeof c->base.name, "gemm %zux%zux%zu %s%s", shape->m, shape->n, shape->k,
             forms[shape->form], shape->type == FOVEA_S8 ? " s8" : "");
    c->a = bench_alloc(shape->m * shape->k * sizeof(float));
    c->c = bench_alloc(shape->m * shape->n * sizeof(float));
    c->want = calloc(ROWS * COLUMNS, sizeof(float));
    for (size_t i = 0; c->a && i < shape->m; i++)
        for (size_t p = 0; p < shape->k; p++)
            c->a[i * shape->k + p] = value(i % ROWS + 1000, p);
    if (!c->a || !c->c || !c->want || !make_b(c, engine)) {
        destroy(&c->base);
        return NULL;
    }
    return &c->base;
}
