// SPDX-License-Identifier: Apache-2.0
// kernels/common/attention_prefill_partial.h - O^T of a chunk in which rows see different keys.
//
// Part of attention_prefill_f32.inc.
#ifndef FOVEA_KERNELS_COMMON_ATTENTION_PREFILL_PARTIAL_H
#define FOVEA_KERNELS_COMMON_ATTENTION_PREFILL_PARTIAL_H

#include "kernels/common/attention_prefill_values.h"

/// Columns of V per pass over the keys: 8 accumulators on AVX-512, 8 on AVX2, 16 on NEON, in addition to the weights
/// and masks of a panel.
enum { PREFILL_COLUMNS = FV_VECS == 1 ? 8 : 4 };

/// acc += V^T P^T over keys [j, end), where each lane adds only those it sees: `columns` columns, one panel of queries.
static inline __attribute__((always_inline)) void prefill_masked_block(const uint64_t *seen, size_t j, size_t end,
                                                                       size_t panel, const float *v, ptrdiff_t v_row,
                                                                       const float *p, float *acc, size_t columns)
{
    fv_f32 sum[PREFILL_COLUMNS][FV_VECS];
    for (size_t c = 0; c < columns; c++) {
        for (size_t i = 0; i < FV_VECS; i++) {
            sum[c][i] = fv_load(acc + c * ATTENTION_ROWS + i * FV_LANES);
        }
    }
    for (; j < end; j++) {
        const uint32_t bits = (uint32_t)(seen[j] >> (panel * FOVEA_PANEL)) & 0xFFFF;
        if (bits == 0 && !FOVEA_FAULT_IS(PREFILL_LOADS_HIDDEN_V)) {
            continue;
        }
        for (size_t i = 0; i < FV_VECS; i++) {
            const fv_f32 weight = fv_load(p + j * ATTENTION_ROWS + i * FV_LANES);
            const fv_mask mask = fv_mask_bits(bits >> (i * FV_LANES));
            for (size_t c = 0; c < columns; c++) {
                const fv_f32 value = fv_set1(v[(ptrdiff_t)j * v_row + (ptrdiff_t)c]);
                sum[c][i] = FOVEA_FAULT_IS(PREFILL_HIDDEN_IS_ZERO)
                                ? fv_fma(fv_select(mask, weight, fv_zero()), value, sum[c][i])
                                : fv_fma_masked(mask, weight, value, sum[c][i]);
            }
        }
    }
    for (size_t c = 0; c < columns; c++) {
        for (size_t i = 0; i < FV_VECS; i++) {
            fv_store(acc + c * ATTENTION_ROWS + i * FV_LANES, sum[c][i]);
        }
    }
}

/// The same for all columns and panels.
static void prefill_masked(const struct fovea_attention_state *state, const struct prefill_v *v, const uint64_t *seen,
                           size_t j, size_t end, const float *p, float *acc)
{
    const size_t v_dim = state->v_dim;
    for (size_t r = 0; r < state->rows; r += FOVEA_PANEL) {
        size_t c = 0;
        for (; c + PREFILL_COLUMNS <= v_dim; c += PREFILL_COLUMNS) {
            prefill_masked_block(seen, j, end, r / FOVEA_PANEL, prefill_v_at(v, 0, c), v->row, p + r,
                                 acc + c * ATTENTION_ROWS + r, PREFILL_COLUMNS);
        }
        for (; c < v_dim; c++) {
            prefill_masked_block(seen, j, end, r / FOVEA_PANEL, prefill_v_at(v, 0, c), v->row, p + r,
                                 acc + c * ATTENTION_ROWS + r, 1);
        }
    }
}

/// O^T = fma(O^T, alpha, acc) for rows that saw a key.
static void prefill_update(const struct fovea_attention_state *state, uint64_t any, const float *alpha,
                           const float *acc)
{
    for (size_t lane = 0; lane < state->rows; lane += FV_LANES) {
        const fv_mask mask = fv_mask_bits(prefill_lanes(any, lane));
        const fv_f32 shrink = FOVEA_FAULT_IS(PREFILL_O_NO_ALPHA) ? fv_set1(1.0f) : fv_load(alpha + lane);
        for (size_t c = 0; c < state->v_dim; c++) {
            float *const at = state->o + c * ATTENTION_ROWS + lane;
            const fv_f32 o = fv_load(at);
            fv_store(at, fv_select(mask, fv_fma(o, shrink, fv_load(acc + c * ATTENTION_ROWS + lane)), o));
        }
    }
}

/// Sets O^T to +0 in rows that saw no key.
static void prefill_blind(const struct fovea_attention_state *state, uint64_t any)
{
    for (size_t lane = 0; lane < state->rows && any != attention_all(state->rows); lane += FV_LANES) {
        const fv_mask mask = fv_mask_bits(prefill_lanes(any, lane));
        for (size_t c = 0; c < state->v_dim; c++) {
            float *const at = state->o + c * ATTENTION_ROWS + lane;
            fv_store(at, fv_select(mask, fv_load(at), fv_zero()));
        }
    }
}

/// Sets the weights of hidden keys to +0, in keys that only some rows see. Returns whether there are any such keys.
static int prefill_hide(const struct fovea_attention_chunk *chunk, const uint64_t *seen, float *p)
{
    const size_t rows = chunk->state.rows;
    const uint64_t all = attention_all(rows);
    int some = 0;
    for (size_t j = 0; j < chunk->keys; j++) {
        if (seen[j] != 0 && seen[j] != all) {
            some = 1;
            for (size_t lane = 0; lane < rows; lane += FV_LANES) {
                float *const at = p + j * ATTENTION_ROWS + lane;
                fv_store(at, fv_select(fv_mask_bits(prefill_lanes(seen[j], lane)), fv_load(at), fv_zero()));
            }
        }
    }
    return some;
}

/// Whether acc, computed with weight +0 for hidden keys, equals the result without them: fma(+0, v, x) is x unless v is
/// infinite or NaN, which leaves a NaN. It may change the sign of a zero, which reaches no result (docs/numerics.md).
///
/// Columns are checked side by side: one chain of masks takes 5 cycles per column, 1,000 of a tile's 11,000 to 30,000.
static int prefill_stands(const struct fovea_attention_state *state, uint64_t any, const float *acc)
{
    enum { CHAINS = 8 };
    uint32_t bad = 0;
    for (size_t lane = 0; lane < state->rows; lane += FV_LANES) {
        fv_mask good[CHAINS];
        FV_UNROLL
        for (size_t i = 0; i < CHAINS; i++) {
            good[i] = fv_mask_bits(~0u);
        }
        for (size_t c = 0; c < state->v_dim; c += CHAINS) {
            FV_UNROLL
            for (size_t i = 0; i < CHAINS; i++) { // the last column stands in for missing ones
                const fv_f32 sum = fv_load(acc + attention_min(c + i, state->v_dim - 1) * ATTENTION_ROWS + lane);
                good[i] = fv_mask_and(good[i], fv_eq(sum, sum));
            }
        }
        FV_UNROLL
        for (size_t i = 1; i < CHAINS; i++) {
            good[0] = fv_mask_and(good[0], good[i]);
        }
        bad |= prefill_lanes(any, lane) & ~fv_bits(good[0]);
    }
    return bad == 0;
}

static void prefill_clear(const struct fovea_attention_state *state, float *acc)
{
    for (size_t c = 0; c < state->v_dim; c++) {
        for (size_t lane = 0; lane < state->rows; lane += FV_LANES) {
            fv_store(acc + c * ATTENTION_ROWS + lane, fv_zero());
        }
    }
}

/// acc = V^T P^T over the keys that some row sees, in ascending order; +0 if there is none. Each group of 16 keys is
/// computed only for the vectors that see some of them; computed for all vectors, causal calls of 77, 128 and 1024
/// tokens took 5, 4 and 1 % longer.
static void prefill_collect(const struct fovea_attention_chunk *chunk, const struct prefill_v *v, const uint64_t *seen,
                            const float *p, float *acc)
{
    const struct prefill_vectors all = prefill_all_vectors(chunk);
    int begun = 0;
    for (size_t j = 0, end; j < chunk->keys; j = end) {
        end = attention_run(seen, chunk->keys, j, 0);
        for (size_t from = j, to; from < end && seen[j] != 0; from = to) {
            struct prefill_vectors vectors = prefill_alike(seen, from, end, FOVEA_PANEL, &to);
            vectors.first += FOVEA_FAULT_IS(PREFILL_PANELS_SHORT) && vectors.end - vectors.first > 1;
            if (!begun && vectors.first == all.first && vectors.end == all.end) {
                prefill_store(chunk, v, from, to, vectors, p, acc);
            } else {
                if (!begun) {
                    prefill_clear(&chunk->state, acc);
                }
                prefill_add(chunk, v, from, to, vectors, p, acc);
            }
            begun = 1;
        }
    }
    if (!begun) {
        prefill_clear(&chunk->state, acc);
    }
}

/// O^T if rows see different keys; acc is O^T itself if that is fresh, otherwise what is added to it. The micro-kernel,
/// in which a hidden key has weight +0, is four times as fast as masks, which are only used if its result would differ.
static void prefill_partial(const struct fovea_attention_chunk *chunk, const struct prefill_v *v, const uint64_t *seen,
                            float *p, const float *alpha, float *acc)
{
    const struct fovea_attention_state *const state = &chunk->state;
    const uint64_t all = attention_all(state->rows), any = attention_any(seen, chunk->keys);
    const int some = prefill_hide(chunk, seen, p);
    prefill_collect(chunk, v, seen, p, acc);
    if (some && !prefill_stands(state, any, acc)) {
        prefill_clear(state, acc);
        for (size_t j = 0, end; j < chunk->keys; j = end) {
            end = attention_run(seen, chunk->keys, j, all);
            if (seen[j] == all) {
                prefill_add(chunk, v, j, end, prefill_all_vectors(chunk), p, acc);
            } else {
                prefill_masked(state, v, seen, j, end, p, acc);
            }
        }
    }
    if (chunk->fresh) {
        prefill_blind(state, FOVEA_FAULT_IS(PREFILL_FRESH_KEEPS) ? all : any);
    } else {
        prefill_update(state, any, alpha, acc);
    }
}

#endif
