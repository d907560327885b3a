// SPDX-License-Identifier: Apache-2.0
// ops/attention_parts.c - rows of an attention state: its parts, which are folded from the left when there is no room.
#include "ops/attention_parts.h"
#include <string.h>

struct fovea_state_part fovea_state_part(void *state, size_t p, size_t first)
{
    const struct fovea_state_header *const header = state;
    const size_t rows = fovea_state_count(header), v_dim = (size_t)header->v_dim;
    float *const m = (float *)(void *)(header + 1) + p * rows * (2 + v_dim);
    return (struct fovea_state_part){m + first, m + rows + first, m + 2 * rows + first * v_dim};
}

void fovea_state_load(const struct fovea_attention_layout *plan, const struct fovea_state_part *part,
                      const struct fovea_attention_state *state)
{
    const size_t v_dim = state->v_dim;
    memcpy(state->m, part->m, state->rows * sizeof *state->m);
    memcpy(state->l, part->l, state->rows * sizeof *state->l);
    if (state->o_row == 1) {
        plan->kernels->transpose.run(state->rows, v_dim, 1.0f, part->o, (ptrdiff_t)v_dim, state->o, state->o_col);
        return;
    }
    for (size_t r = 0; r < state->rows; r++) {
        memcpy(state->o + (ptrdiff_t)r * state->o_row, part->o + r * v_dim, v_dim * sizeof *state->o);
    }
}

void fovea_state_store(const struct fovea_attention_layout *plan, const struct fovea_state_part *part,
                       const struct fovea_attention_state *state)
{
    const size_t v_dim = state->v_dim;
    memcpy(part->m, state->m, state->rows * sizeof *state->m);
    memcpy(part->l, state->l, state->rows * sizeof *state->l);
    if (state->o_row == 1) {
        plan->kernels->transpose.run(v_dim, state->rows, 1.0f, state->o, state->o_col, part->o, (ptrdiff_t)v_dim);
        return;
    }
    for (size_t r = 0; r < state->rows; r++) {
        memcpy(part->o + r * v_dim, state->o + (ptrdiff_t)r * state->o_row, v_dim * sizeof *state->o);
    }
}

struct fovea_state_rows fovea_state_rows_in(const struct fovea_attention_layout *plan, void *state, size_t first,
                                            size_t count, size_t most, bool prefill, float *scratch)
{
    const struct fovea_state_header *const header = state;
    float *const memory = scratch + plan->states_at;
    const size_t v_dim = plan->desc.v_dim;
    return (struct fovea_state_rows){
        plan,
        state,
        first,
        header->parts,
        fovea_attention_state_in(memory, prefill, count, most, v_dim),
        fovea_attention_state_in(memory + plan->state_floats, prefill, count, most, v_dim)};
}

struct fovea_state_part fovea_state_push(struct fovea_state_rows *rows)
{
    const struct fovea_state_header *const header = rows->state;
    if (rows->parts == header->parts_max) {
        struct fovea_state_part into = fovea_state_part(rows->state, 0, rows->first),
                                from = fovea_state_part(rows->state, 1, rows->first);
        fovea_state_load(rows->plan, &into, &rows->a);
        fovea_state_load(rows->plan, &from, &rows->b);
        rows->plan->kernels->attention_merge.run(&rows->a, &rows->b);
        fovea_state_store(rows->plan, &into, &rows->a);
        const size_t count = rows->a.rows, v_dim = rows->a.v_dim;
        for (size_t p = 2; p < rows->parts; p++) {
            into = from;
            from = fovea_state_part(rows->state, p, rows->first);
            memcpy(into.m, from.m, count * sizeof *into.m);
            memcpy(into.l, from.l, count * sizeof *into.l);
            memcpy(into.o, from.o, count * v_dim * sizeof *into.o);
        }
        rows->parts--;
    }
    return fovea_state_part(rows->state, rows->parts++, rows->first);
}
