// SPDX-License-Identifier: Apache-2.0
// tune/case_attention.c - attention as a case. All heads have the same operands, so the scalar path computes only one.
//
// Fewer queries than a vector of lanes are decoding: K and V that do not stay in L2 come from memory, because other
// layers' were used since the previous step. The best choice with data still in L3 would be slower then: no prefetch at
// all 0.77 times as fast (Zen 5, one query), a chunk not prefetched twice 0.59 to 0.80 (Zen 4, three and four).
#include "bench/clock.h"
#include "bench/memory.h"
#include "fovea/attention.h"
#include "ops/facts.h"
#include "tune/case.h"
#include "tune/room.h"
#include "tune/walk.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DECODING = 16 }; // number of queries from which K and V are those of the prompt that was just computed

struct attention_case {
    struct tune_case base;
    struct tune_attention_shape shape;
    float *q, *out, *want;
    struct tune_walk kv; // K and then V
    struct tune_room room;
};

struct attention_ready {
    struct attention_case *c;
    void *plan;
};

static size_t out_bytes(const struct tune_attention_shape *s)
{
    return s->heads * s->q * s->dim * sizeof(float);
}

// Elements of K, and of V; and their bytes.
static size_t k_elements(const struct tune_attention_shape *s)
{
    return s->heads * s->kv * s->dim;
}

static size_t k_bytes(const struct tune_attention_shape *s)
{
    return k_elements(s) * fovea_type_bytes(s->type);
}

static struct fovea_strides kv_strides(const struct tune_attention_shape *s)
{
    return s->tokens ? (struct fovea_strides){0, s->dim, s->heads * s->dim}
                     : (struct fovea_strides){0, s->kv * s->dim, s->dim};
}

// A head stride of 0 gives all heads the same queries.
static struct fovea_attention_desc desc_of(const struct tune_attention_shape *s)
{
    struct fovea_attention_desc d;
    fovea_attention_desc_init(&d, sizeof d);
    d.batch = 1;
    d.heads = d.kv_heads = s->heads;
    d.q_len = s->q;
    d.kv_len = s->kv;
    d.qk_dim = d.v_dim = s->dim;
    d.causal = s->causal;
    d.q = (struct fovea_strides){0, 0, s->dim};
    d.k = d.v = kv_strides(s);
    d.k_layout = s->panels ? FOVEA_K_PANELS : FOVEA_K_ROWS;
    d.kv_type = s->type;
    d.out = (struct fovea_strides){0, s->q * s->dim, s->dim};
    return d;
}

static struct fovea_attention_args args_of(const struct attention_case *c, const void *k, float *out)
{
    const struct tune_attention_shape *const s = &c->shape;
    return (struct fovea_attention_args){.q = c->q,
                                         .k = k,
                                         .v = (const char *)k + k_bytes(s),
                                         .out = out,
                                         .batch = 1,
                                         .q_len = s->q,
                                         .kv_len = s->kv,
                                         .q_offset = (int64_t)s->kv - (int64_t)s->q};
}

static void destroy(struct tune_case *base)
{
    struct attention_case *const c = (struct attention_case *)base;
    const struct tune_attention_shape *const s = &c->shape;
    bench_free(c->q, s->q * s->dim * sizeof(float));
    tune_walk_free(&c->kv);
    bench_free(c->out, out_bytes(s));
    tune_room_free(&c->room);
    free(c->want);
    free(c);
}

static void *prepare(struct tune_case *base, const struct fovea_engine *engine)
{
    struct attention_case *const c = (struct attention_case *)base;
    const struct fovea_attention_desc d = desc_of(&c->shape);
    struct attention_ready *const ready = calloc(1, sizeof *ready);
    void *const plan = aligned_alloc(64, fovea_attention_plan_size());
    if (!ready || !plan || fovea_attention_plan(engine, &d, plan) != FOVEA_OK || !tune_room_grow(&c->room, plan)) {
        free(ready);
        free(plan);
        return NULL;
    }
    *ready = (struct attention_ready){c, plan};
    return ready;
}

static void release(void *state)
{
    struct attention_ready *const ready = state;
    free(ready->plan);
    free(ready);
}

static bool plans_same(const void *a, const void *b)
{
    return fovea_attention_same(((const struct attention_ready *)a)->plan, ((const struct attention_ready *)b)->plan);
}

static double seconds(void *state, uint64_t calls, bool within)
{
    struct attention_ready *const ready = state;
    struct attention_case *const c = ready->c;
    tune_walk_begin(&c->kv, within);
    const double start = bench_seconds(1);
    for (uint64_t i = 0; i < calls; i++) {
        const struct fovea_attention_args args = args_of(c, tune_walk_next(&c->kv), c->out);
        fovea_attention(ready->plan, &args, c->room.shared, c->room.scratch, NULL);
    }
    return (bench_seconds(1) - start) / (double)calls;
}

static bool is_right(const struct attention_ready *ready, const void *kv)
{
    struct attention_case *const c = ready->c;
    const struct tune_attention_shape *const s = &c->shape;
    const struct fovea_attention_args args = args_of(c, kv, c->out);
    memset(c->out, 0xff, out_bytes(s));
    tune_room_spoil(&c->room);
    bool ok = fovea_attention(ready->plan, &args, c->room.shared, c->room.scratch, NULL) == FOVEA_OK;
    for (size_t h = 0; h < s->heads && ok; h++)
        ok = memcmp(c->out + h * s->q * s->dim, c->want, out_bytes(s) / s->heads) == 0;
    return ok;
}

static bool verify(void *state, enum tune_way way)
{
    const struct attention_ready *const ready = state;
    struct tune_walk *const kv = &ready->c->kv;
    if (way != TUNE_WITHIN)
        return is_right(ready, kv->own);
    const bool right = !tune_walk_shifts(kv) || is_right(ready, tune_walk_shift(kv, true));
    tune_walk_shift(kv, false);
    return right;
}

static void runs(const void *state, int32_t variants[TUNE_RUNS])
{
    struct fovea_attention_facts facts;
    fovea_attention_facts(((const struct attention_ready *)state)->plan, &facts);
    tune_runs_of((const char *[TUNE_RUNS]){facts.kernel, facts.blocks[1].kernel}, variants);
}

// Runs the scalar path on the first head.
static bool compute_want(struct attention_case *c)
{
    struct fovea_engine_options options = FOVEA_ENGINE_OPTIONS_INIT;
    struct fovea_engine *scalar = NULL;
    options.isa = "scalar";
    options.profile = "none";
    options.pin = options.exclude = "";
    struct fovea_attention_desc d = desc_of(&c->shape);
    d.heads = d.kv_heads = 1;
    const struct fovea_attention_args args = args_of(c, c->kv.own, c->want);
    const bool ok =
        fovea_engine_create(&options, &scalar) == FOVEA_OK && fovea_attention_once(scalar, &d, &args) == FOVEA_OK;
    fovea_engine_destroy(scalar);
    return ok;
}

static float random_of(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (float)((int64_t)(*state >> 40) - (1 << 23)) * 0x1p-23f;
}

static void fill(float *x, size_t n, uint64_t state)
{
    for (size_t i = 0; i < n; i++)
        x[i] = random_of(&state);
}

// Element i: of 16 bits one of the numbers of bfloat16 from 1/8 to 1, which as f16 are from 1.5 to 1.9.
static void set(const struct tune_attention_shape *s, void *to, size_t i, float x)
{
    if (s->type == FOVEA_F32)
        ((float *)to)[i] = x;
    else
        ((uint16_t *)to)[i] = (uint16_t)((x < 0 ? 0x8000 : 0) | (0x3E00 + (uint32_t)(fabsf(x) * 0x180)));
}

// K or V, the same for all heads.
static void fill_keys(const struct tune_attention_shape *s, bool panels, void *to, uint64_t state)
{
    const struct fovea_strides strides = kv_strides(s);
    for (size_t j = 0; j < s->kv; j++)
        for (size_t c = 0; c < s->dim; c++) {
            const float x = random_of(&state);
            const size_t at = panels ? j / FOVEA_PANEL * FOVEA_PANEL * s->dim + c * FOVEA_PANEL + j % FOVEA_PANEL
                                     : j * strides.row + c;
            for (size_t h = 0; h < s->heads; h++)
                set(s, to, h * strides.head + at, x);
        }
}

static bool make_kv(struct attention_case *c, const struct fovea_engine *engine)
{
    const struct tune_attention_shape *const s = &c->shape;
    const size_t bytes = 2 * k_bytes(s);
    if (!tune_walk_make(&c->kv, engine, bytes, s->q < DECODING && bytes > s->near, false))
        return false;
    fill_keys(s, s->panels, c->kv.own, 2);
    fill_keys(s, false, (char *)c->kv.own + k_bytes(s), 3);
    return true;
}

struct tune_case *tune_case_attention(const struct fovea_engine *engine, const struct tune_attention_shape *s)
{
    static const struct tune_case_kind kind = {destroy, prepare, release, plans_same, seconds, verify, runs};
    static const char *const types[] = {[FOVEA_F32] = "", [FOVEA_BF16] = " bf16", [FOVEA_F16] = " f16"};
    struct attention_case *const c = calloc(1, sizeof *c);
    if (!c)
        return NULL;
    c->base.kind = &kind;
    c->base.class = fovea_attention_number(fovea_heads_of(s->dim, s->dim));
    c->shape = *s;
    snprintf(c->base.name, sizeof c->base.name, "attention %zu heads %zux%zu d%zu%s%s%s%s", s->heads, s->q, s->kv,
             s->dim, s->causal ? " causal" : "", s->tokens ? " tokens" : "", s->panels ? " panels" : "",
             types[s->type]);
    c->q = bench_alloc(s->q * s->dim * sizeof(float));
    c->out = bench_alloc(out_bytes(s));
    c->want = malloc(out_bytes(s));
    bool ok = c->q && c->out && c->want && make_kv(c, engine);
    if (ok) {
        fill(c->q, s->q * s->dim, 1);
        ok = compute_want(c);
    }
    if (!ok) {
        destroy(&c->base);
        return NULL;
    }
    return &c->base;
}
