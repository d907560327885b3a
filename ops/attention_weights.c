// SPDX-License-Identifier: Apache-2.0
// ops/attention_weights.c - a second pass over the keys that recomputes scores, and from the LSE the weights and their
// sums.
//
// A task is a chunk of keys for one head, or for all heads if weights are averaged. It processes as many queries at a
// time as the decoding kernel takes, which returns its scores. Tasks share no output element. An entry of a ragged
// batch is treated as a call of its own; each entry has as many tasks as one with all keys, so that no task has to
// search for its entry.
#include "ops/attention_weights.h"
#include <math.h>
#include <string.h>

// The phases: weights and their sums over queries, then the sums of these over keys.
enum phase { WEIGH, SUM_UP };

// A chunk of keys, and some rows of one head.
struct block {
    size_t batch, head, key, keys;
    size_t query, rows;
};

static uint32_t begin(struct fovea_job *job)
{
    const struct fovea_attention_pass *const pass = job->args;
    if (job->phase == SUM_UP) {
        return pass->args->head_sums != NULL ? (uint32_t)(pass->call->batch * pass->plan->desc.heads) : 0;
    }
    return (uint32_t)(pass->call->batch * pass->heads * pass->chunks);
}

// The index of a block's first row in the call, as in lse.
static size_t first_row(const struct fovea_attention_pass *pass, const struct block *at)
{
    return (at->batch * pass->plan->desc.heads + at->head) * pass->call->q_len + at->query;
}

// Computes scores[r * FOVEA_CHUNK + j] of a block, or the exponents of 2 of its weights. Bit r of keep[j]: dropout
// keeps the weight.
static void score(const struct fovea_attention_pass *pass, const struct block *at, float *scores, uint64_t *keep,
                  float *scratch)
{
    const struct fovea_attention_layout *const plan = pass->plan;
    const struct fovea_attention_rows rows = {.batch = pass->first + at->batch,
                                              .kv_head = at->head / plan->group,
                                              .first = at->head % plan->group * pass->call->q_len + at->query,
                                              .rows = at->rows};
    struct fovea_attention_tile tile;
    fovea_attention_tile(plan, pass->call, &rows, &tile);
    struct fovea_attention_view view;
    float *const q = scratch + plan->q_at;
    size_t known = 0;
    struct fovea_attention_dense dense = {{0}, {0}};
    fovea_attention_view(&tile, q, scratch, &view);
    view.dense = &dense;
    if (at->key < tile.end_most && fovea_attention_look(&view, at->key, fovea_min(tile.end_most, at->key + at->keys))) {
        fovea_attention_queries(&tile, q);
        view.chunk.state.rows = at->rows;
        view.chunk.state.v_dim = plan->desc.v_dim;
        view.decode.scores = scores;
        view.decode.lse = pass->args->returned != FOVEA_RETURN_WEIGHTS ? NULL : pass->call->lse + first_row(pass, at);
        view.decode_kernel->run(&view.decode);
        known = view.chunk.keys;
        if (view.chunk.keep != NULL) {
            memcpy(keep, view.keep, known * sizeof *keep);
        }
    }
    for (size_t r = 0; r < at->rows; r++) {
        for (size_t j = known; j < FOVEA_CHUNK; j++) {
            scores[r * FOVEA_CHUNK + j] = -INFINITY;
        }
    }
}

// Applies dropout to the weights of a block.
static void drop(const struct fovea_attention_pass *pass, const struct block *at, const uint64_t *keep, float *weights)
{
    for (size_t r = 0; r < at->rows; r++) {
        float *const w = weights + r * FOVEA_CHUNK;
        for (size_t j = 0; j < at->keys; j++) {
            w[j] = keep[j] >> r & 1 ? w[j] * pass->plan->keep_scale : 0.0f;
        }
    }
}

static float *output(const struct fovea_attention_pass *pass, const struct block *at, size_t r)
{
    const struct fovea_strides *const s = &pass->args->strides;
    return pass->args->weights + at->batch * s->batch + (pass->args->average ? 0 : at->head * s->head) +
           (at->query + r) * s->row + at->key - pass->begin;
}

// The location of the sums of a block's keys for one head.
static float *sums_of(const struct fovea_attention_pass *pass, const struct block *at, size_t head)
{
    return pass->args->key_sums + (at->batch * pass->plan->desc.heads + head) * pass->keys + at->key - pass->begin;
}

static void add_sums(const struct fovea_attention_pass *pass, const struct block *at, const float *weights)
{
    float *const sums = sums_of(pass, at, at->head);
    for (size_t r = 0; r < at->rows; r++) {
        for (size_t j = 0; j < at->keys; j++) {
            sums[j] += weights[r * FOVEA_CHUNK + j];
        }
    }
}

// Computes scores or weights of some queries for all heads of a task. total: room for the sum over heads.
static void run_block(const struct fovea_attention_pass *pass, struct block at, float *total, float *scratch)
{
    float *const x = scratch + pass->plan->states_at;
    const size_t first = at.head;
    const bool drops = pass->args->dropped && pass->plan->threshold != 0 && !pass->call->eval;
    const bool weighs = pass->args->returned == FOVEA_RETURN_WEIGHTS;
    const bool nothing_else = !drops && pass->args->key_sums == NULL && !pass->args->average;
    uint64_t keep[FOVEA_CHUNK] = {0};
    for (size_t h = 0; h < pass->heads_each; h++) {
        at.head = first + h;
        score(pass, &at, x, keep, scratch);
        if (weighs && nothing_else) {
            for (size_t r = 0; r < at.rows; r++) {
                pass->plan->kernels->exp2.run(at.keys, x + r * FOVEA_CHUNK, output(pass, &at, r));
            }
            return;
        }
        if (weighs) { // score() has returned exponents
            pass->plan->kernels->exp2.run(at.rows * FOVEA_CHUNK, x, x);
        }
        if (drops) {
            drop(pass, &at, keep, x);
        }
        if (pass->args->key_sums != NULL) {
            add_sums(pass, &at, x);
        }
        for (size_t i = 0; pass->args->average && i < at.rows * FOVEA_CHUNK; i++) {
            total[i] = (h == 0 ? 0.0f : total[i]) + x[i];
        }
    }
    const float share = 1.0f / (float)pass->heads_each;
    for (size_t i = 0; pass->args->average && i < at.rows * FOVEA_CHUNK; i++) {
        x[i] = total[i] * share;
    }
    for (size_t r = 0; pass->args->weights != NULL && r < at.rows; r++) {
        memcpy(output(pass, &at, r), x + r * FOVEA_CHUNK, at.keys * sizeof *x);
    }
}

// Runs a task of a call that is not ragged, or of one entry as such a call.
static void run_call(const struct fovea_attention_pass *pass, void *scratch, uint32_t phase, uint32_t task)
{
    if (phase == SUM_UP) {
        float sum = 0.0f;
        for (size_t j = 0; j < pass->keys; j++) {
            sum += pass->args->key_sums[task * pass->keys + j];
        }
        pass->args->head_sums[task] = sum;
        return;
    }
    const size_t chunk = pass->first_chunk + task % pass->chunks, entry = task / pass->chunks;
    struct block at = {.batch = entry / pass->heads, .head = entry % pass->heads};
    at.key = fovea_max(chunk * FOVEA_CHUNK, pass->begin);
    if (at.key >= pass->call->kv_len) {
        return; // only other entries have this many keys
    }
    at.keys = fovea_min((chunk + 1) * FOVEA_CHUNK, pass->call->kv_len) - at.key;
    for (size_t h = 0; pass->args->key_sums != NULL && h < pass->heads_each; h++) {
        memset(sums_of(pass, &at, at.head + h), 0, at.keys * sizeof(float));
    }
    float *const total = (float *)scratch + pass->plan->states_at + pass->plan->state_floats;
    const size_t most = pass->plan->kernels->attention_decode.queries;
    for (; at.query < pass->call->q_len; at.query += most) {
        at.rows = fovea_min(most, pass->call->q_len - at.query);
        run_block(pass, at, total, scratch);
    }
}

static size_t keys_of(const struct fovea_attention_args *call)
{
    return call->kv_len > call->kv_begin ? call->kv_len - call->kv_begin : 0;
}

// Runs a task of entry b of a ragged batch.
static void run_entry(const struct fovea_attention_pass *all, size_t b, void *scratch, uint32_t phase, uint32_t task)
{
    size_t strides[4];
    const struct fovea_attention_args call = fovea_attention_entry(all->plan, all->call, b, strides);
    const size_t heads = all->plan->desc.heads, first = all->call->q_starts[b];
    const size_t before = all->call->kv_starts != NULL ? all->call->kv_starts[b] : b * all->keys;
    struct fovea_attention_weights_args args = *all->args;
    args.weights = args.weights != NULL ? args.weights + first * args.strides.row : NULL;
    args.key_sums = args.key_sums != NULL ? args.key_sums + before * heads : NULL;
    args.head_sums = args.head_sums != NULL ? args.head_sums + b * heads : NULL;
    struct fovea_attention_pass pass = *all;
    pass.args = &args;
    pass.call = &call;
    pass.first = b;
    pass.keys = keys_of(&call);
    run_call(&pass, scratch, phase, task);
}

static void run_task(const struct fovea_job *job, void *scratch, uint32_t task)
{
    const struct fovea_attention_pass *const pass = job->args;
    if (pass->call->q_starts == NULL) {
        run_call(pass, scratch, job->phase, task);
        return;
    }
    const uint32_t each = (uint32_t)(job->phase == SUM_UP ? pass->plan->desc.heads : pass->heads * pass->chunks);
    run_entry(pass, task / each, scratch, job->phase, task % each);
}

const struct fovea_operator fovea_attention_weights_operator = {.begin = begin, .task = run_task};

struct fovea_attention_pass fovea_attention_pass(const struct fovea_attention_layout *plan,
                                                 const struct fovea_attention_weights_args *args)
{
    const struct fovea_attention_args *const call = args->call;
    const size_t heads = plan->desc.heads, keys = keys_of(call), first_chunk = call->kv_begin / FOVEA_CHUNK;
    return (struct fovea_attention_pass){.plan = plan,
                                         .args = args,
                                         .call = call,
                                         .begin = call->kv_begin,
                                         .keys = keys,
                                         .first_chunk = first_chunk,
                                         .chunks =
                                             keys == 0 ? 0 : fovea_ceil_div(call->kv_len, FOVEA_CHUNK) - first_chunk,
                                         .heads_each = args->average ? heads : 1,
                                         .heads = args->average ? heads != 0 : heads};
}

static enum fovea_status check_args(const struct fovea_attention_layout *plan,
                                    const struct fovea_attention_weights_args *args)
{
    FOVEA_CHECK(plan != NULL && args != NULL && args->call != NULL, FOVEA_ERR_NULL);
    FOVEA_TRY(fovea_attention_check(plan, args->call, NULL));
    FOVEA_CHECK(args->returned <= FOVEA_RETURN_SCORES && args->average <= 1 && args->dropped <= 1, FOVEA_ERR_ENUM);
    const bool scores = args->returned == FOVEA_RETURN_SCORES;
    FOVEA_CHECK(!scores || (!args->average && !args->dropped && args->key_sums == NULL && args->head_sums == NULL),
                FOVEA_ERR_VALUE);
    FOVEA_CHECK((args->weights != NULL || args->key_sums != NULL) &&
                    (args->head_sums == NULL || args->key_sums != NULL) && (scores || args->call->lse != NULL),
                FOVEA_ERR_NULL);
    if (args->weights == NULL || args->call->kv_begin >= args->call->kv_len) {
        return FOVEA_OK;
    }
    struct fovea_attention_desc map = fovea_attention_all_queries(plan, args->call);
    map.heads = args->average ? 1 : map.heads;
    map.v_dim = keys_of(args->call);
    map.out = args->strides;
    return fovea_attention_check_out(&map, NULL);
}

enum fovea_status fovea_attention_weights(const void *plan, const struct fovea_attention_weights_args *args,
                                          void *scratch, const struct fovea_executor *executor)
{
    FOVEA_TRY(check_args(plan, args));
    const struct fovea_attention_pass pass = fovea_attention_pass(plan, args);
    size_t tasks = 0, sums = 0; // of the two phases
    FOVEA_CHECK(fovea_mul(args->call->batch * pass.heads, pass.chunks, &tasks) && tasks <= UINT32_MAX,
                FOVEA_ERR_OVERFLOW);
    FOVEA_CHECK(fovea_mul(args->call->batch, pass.plan->desc.heads, &sums) && sums <= UINT32_MAX, FOVEA_ERR_OVERFLOW);
    const struct fovea_work work = {.scratch_bytes = pass.plan->work.scratch_bytes, .phases = 2};
    return fovea_run(&fovea_attention_weights_operator, &work, &pass, NULL, scratch, executor);
}
