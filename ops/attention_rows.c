// SPDX-License-Identifier: Apache-2.0
// ops/attention_rows.c - the queries of a tile in the layout of its kernel, and the state of its rows.
#include "ops/attention.h"
#include <math.h>
#include <string.h>

size_t fovea_attention_queries_most(const struct fovea_attention_tile *tile)
{
    const struct fovea_kernels *const kernels = tile->plan->kernels;
    return tile->prefill ? kernels->attention_prefill.queries : kernels->attention_decode.queries;
}

struct fovea_attention_state fovea_attention_state_in(float *memory, bool prefill, size_t rows, size_t rows_most,
                                                      size_t v_dim)
{
    return (struct fovea_attention_state){
        .rows = rows,
        .v_dim = v_dim,
        .m = memory,
        .l = memory + rows_most,
        .o = memory + 2 * rows_most,
        .o_row = prefill ? 1 : (ptrdiff_t)fovea_round_up(v_dim, FOVEA_PANEL),
        .o_col = prefill ? (ptrdiff_t)rows_most : 1,
    };
}

size_t fovea_attention_state_floats(bool prefill, size_t rows, size_t rows_most, size_t v_dim)
{
    return 2 * rows_most + (prefill ? rows_most * v_dim : rows * fovea_round_up(v_dim, FOVEA_PANEL));
}

// Sixteen at a time, which compilers unroll: 5 % of the time of 4 queries and keys.
static void scale_row(const float *restrict from, size_t n, float scale, float *restrict to)
{
    const size_t whole = n - n % FOVEA_PANEL;
    for (size_t c = 0; c < whole; c += FOVEA_PANEL) {
        for (size_t i = 0; i < FOVEA_PANEL; i++) {
            to[c + i] = from[c + i] * scale;
        }
    }
    for (size_t c = whole; c < n; c++) {
        to[c] = from[c] * scale;
    }
}

void fovea_attention_queries(const struct fovea_attention_tile *tile, float *q)
{
    const struct fovea_attention_desc *const d = &tile->plan->desc;
    if (tile->prefill) {
        const size_t lanes = tile->plan->kernels->attention_prefill.queries,
                     padded = fovea_round_up(tile->rows, FOVEA_PANEL);
        tile->plan->kernels->transpose.run(tile->rows, d->qk_dim, d->scale,
                                           tile->args->q + fovea_attention_offset(tile, tile->q),
                                           (ptrdiff_t)tile->q.row, q, (ptrdiff_t)lanes);
        for (size_t c = 0; c < d->qk_dim && tile->rows < padded; c++) {
            memset(q + c * lanes + tile->rows, 0, (padded - tile->rows) * sizeof *q);
        }
        return;
    }
    size_t offsets[FOVEA_TILE_ROWS_MAX];
    fovea_attention_offsets(tile, tile->q, offsets);
    for (size_t r = 0; r < tile->rows; r++) {
        scale_row(tile->args->q + offsets[r], d->qk_dim, d->scale, q + r * d->qk_dim);
    }
}

struct fovea_attention_state fovea_attention_call_state(const struct fovea_attention_tile *tile, float *memory)
{
    const size_t rows = tile->rows, lanes = fovea_attention_queries_most(tile), v_dim = tile->plan->desc.v_dim;
    struct fovea_attention_state state = fovea_attention_state_in(memory, tile->prefill, rows, lanes, v_dim);
    if (tile->plan->statistics != 0) {
        state.spread = memory + fovea_attention_state_floats(tile->prefill, rows, lanes, v_dim);
        state.largest = state.spread + lanes;
        state.top = (uint32_t *)(void *)(state.largest + lanes);
    }
    return state;
}

void fovea_attention_begin(const struct fovea_attention_state *state)
{
    for (size_t r = 0; r < fovea_round_up(state->rows, FOVEA_PANEL); r++) {
        state->m[r] = -INFINITY;
        state->l[r] = 0.0f;
        if (state->spread != NULL) {
            state->spread[r] = 0.0f;
            state->top[r] = UINT32_MAX;
        }
    }
}

// O is one block, whose row stride is its other stride.
void fovea_attention_clear(const struct fovea_attention_state *state)
{
    const size_t pitch = (size_t)(state->o_row == 1 ? state->o_col : state->o_row);
    memset(state->o, 0, (state->o_row == 1 ? state->v_dim : state->rows) * pitch * sizeof *state->o);
    fovea_attention_begin(state);
}

void fovea_attention_finish(const struct fovea_attention_tile *tile, const struct fovea_attention_state *state)
{
    const struct fovea_attention_args *const args = tile->args;
    const size_t batch = args->q_starts != NULL ? 0 : tile->batch; // the lse of a ragged entry starts at its own rows
    const size_t head = batch * tile->plan->desc.heads + tile->kv_head * tile->plan->group;
    const size_t first = head * args->q_len + tile->first, bytes = state->rows * sizeof(float);
    tile->plan->kernels->attention_finish.run(state, args->sinks != NULL ? tile->sink : NULL,
                                              args->lse != NULL ? args->lse + first : NULL);
    if (args->entropy != NULL) {
        memcpy(args->entropy + first, state->spread, bytes);
    }
    if (args->max_weight != NULL) {
        memcpy(args->max_weight + first, state->largest, bytes);
    }
    if (args->max_key != NULL) {
        memcpy(args->max_key + first, state->top, bytes);
    }
    if (tile->prefill) {
        tile->plan->kernels->transpose.run(state->v_dim, tile->rows, 1.0f, state->o, state->o_col,
                                           args->out + fovea_attention_offset(tile, tile->out),
                                           (ptrdiff_t)tile->out.row);
        return;
    }
    size_t offsets[FOVEA_TILE_ROWS_MAX];
    fovea_attention_offsets(tile, tile->out, offsets);
    for (size_t r = 0; r < tile->rows; r++) {
        memcpy(args->out + offsets[r], state->o + (ptrdiff_t)r * state->o_row, state->v_dim * sizeof *state->o);
    }
}
