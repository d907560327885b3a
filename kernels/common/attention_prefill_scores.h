// SPDX-License-Identifier: Apache-2.0
// kernels/common/attention_prefill_scores.h - S^T of a chunk: the product, and the terms that modify a score.
//
// Part of attention_prefill_f32.inc, after FV_GEMM is defined.
#ifndef FOVEA_KERNELS_COMMON_ATTENTION_PREFILL_SCORES_H
#define FOVEA_KERNELS_COMMON_ATTENTION_PREFILL_SCORES_H

#include "kernels/common/attention.h"
#include "kernels/common/attention_additive.h"
#include "kernels/common/attention_product.h"
#include "kernels/common/unroll.h"
#include "kernels/fault.h"

/// The lanes from `lane` on of a key's bits.
static inline uint32_t prefill_lanes(uint64_t bits, size_t lane)
{
    return (uint32_t)(bits >> lane) & ((1u << FV_LANES) - 1);
}

/// FV_GEMM on rows [first, t->m) of A, a tile's height at a time, and panels [panel, end) of 16 queries. The tile is
/// modified rather than copied: loads from a fresh copy would wait for its stores.
static inline void prefill_gemm(const struct attention_product *t, size_t first, size_t panel, size_t end,
                                enum attention_mode mode)
{
    struct fovea_gemm_tile tile = {
        .k = t->k,
        .a_row = t->a_row,
        .a_k = t->a_k,
        .b_panel = FOVEA_PANEL,
        .b_k = ATTENTION_ROWS,
        .c_row = ATTENTION_ROWS,
        .mode = mode == ATTENTION_RAISE ? FOVEA_GEMM_STORE : (enum fovea_gemm_mode)mode,
    };
    for (; first < t->m; first += tile.m) {
        tile.m = attention_min(FV_GEMM_MR, t->m - first);
        tile.a = attention_row(t, first);
        for (size_t at = panel * FOVEA_PANEL; at < end * FOVEA_PANEL; at += tile.n) {
            tile.n = attention_min(FV_GEMM_NR, end * FOVEA_PANEL - at);
            tile.b = t->b + at;
            tile.c = t->c + first * ATTENTION_ROWS + at;
            tile.scale = t->scale + at;
            FV_GEMM(&tile);
        }
    }
}

/// All rows and the vectors [first, end) of queries: whole register tiles where possible, the rest by FV_GEMM, which
/// takes whole panels.
static inline __attribute__((always_inline)) void prefill_product(const struct attention_product *t, size_t first,
                                                                  size_t end, enum attention_mode mode)
{
    size_t done = 0;
#ifdef FV_TILE_ROWS
    struct attention_product whole = *t;
    whole.m = done = t->m / FV_TILE_ROWS * FV_TILE_ROWS;
    attention_tile(&whole, first, end, mode);
#endif
    if (done < t->m) {
        prefill_gemm(t, done, first / FV_VECS, (end + FV_VECS - 1) / FV_VECS, mode);
        if (mode == ATTENTION_RAISE) {
            attention_raise(t, done, first * FV_LANES, t->m - done, end - first);
        }
    }
}

/// Vectors [first, end) of the tile.
struct prefill_vectors {
    size_t first, end;
};

/// The vectors that contain some of these rows, of which there is at least one.
static inline struct prefill_vectors prefill_vectors(uint64_t rows)
{
    struct prefill_vectors vectors = {0, 0};
    for (; prefill_lanes(rows, 0) == 0; rows >>= FV_LANES) {
        vectors.first++;
    }
    for (vectors.end = vectors.first; rows != 0; rows >>= FV_LANES) {
        vectors.end++;
    }
    return vectors;
}

/// All vectors of a tile.
static inline struct prefill_vectors prefill_all_vectors(const struct fovea_attention_chunk *chunk)
{
    return (struct prefill_vectors){0, (chunk->state.rows + FV_LANES - 1) / FV_LANES};
}

/// S^T = K Q^T for keys [first, end) and some vectors of queries; raises their maxima `most`.
static void prefill_score(const struct fovea_prefill_chunk *prefill, size_t first, size_t end,
                          struct prefill_vectors vectors, float *s, float *most)
{
    const struct fovea_attention_chunk *const chunk = &prefill->chunk;
    struct attention_product t = {
        .k = chunk->qk_dim, .b = chunk->q, .scale = most, .most = most, .fetch = prefill->fetch}; // no scale is read
    if (chunk->k_row != 0) {
        t.m = end - first;
        t.a = chunk->k + (ptrdiff_t)first * chunk->k_row;
        t.a_row = chunk->k_row;
        t.a_k = 1;
        t.a_group = ATTENTION_GROUP * chunk->k_row;
        t.c = s + first * ATTENTION_ROWS;
        prefill_product(&t, vectors.first, vectors.end, ATTENTION_RAISE);
        return;
    }
    for (; first < end; first += t.m) { // a product does not extend over two panels of keys
        t.m = attention_min(end - first, FOVEA_PANEL - first % FOVEA_PANEL);
        t.a = chunk->k + first / FOVEA_PANEL * FOVEA_PANEL * chunk->qk_dim + first % FOVEA_PANEL;
        t.near = 1;
        t.a_row = 1;
        t.a_k = FOVEA_PANEL;
        t.a_group = ATTENTION_GROUP;
        t.c = s + first * ATTENTION_ROWS;
        prefill_product(&t, vectors.first, vectors.end, ATTENTION_RAISE);
    }
}

/// The vectors that see some of the keys [from, *to): as many groups of `group` keys, up to `end`, as are seen by the
/// same vectors. (With each group of eight separate, causal calls of 77 to 512 tokens took 0.5 to 2 % longer.)
static struct prefill_vectors prefill_alike(const uint64_t *seen, size_t from, size_t end, size_t group, size_t *to)
{
    struct prefill_vectors vectors = {0, 0};
    *to = from;
    for (size_t j = from, next; j < end; j = next) {
        next = attention_min(end, j - j % group + group);
        const struct prefill_vectors more = prefill_vectors(attention_any(seen + j, next - j));
        if (j != from && (more.first != vectors.first || more.end != vectors.end)) {
            break;
        }
        vectors = more;
        *to = next;
    }
    return vectors;
}

/// S^T of the keys that some row sees; all rows see the first `whole`. If these do not fill their last group, its keys
/// are computed along with the rest of the group: separately, 1 and 7 keys of a causal tile, they took 2 % of its time.
/// The keys before them raise `most`; returns the number of these.
static size_t prefill_scores(const struct fovea_prefill_chunk *prefill, const uint64_t *seen, size_t whole, float *s,
                             float *most)
{
    const struct fovea_attention_chunk *const chunk = &prefill->chunk;
    whole -= whole == chunk->keys ? 0 : whole % ATTENTION_GROUP;
    if (whole != 0) {
        prefill_score(prefill, 0, whole, prefill_all_vectors(chunk), s, most);
    }
    float others[ATTENTION_ROWS] = {0}; // includes hidden scores
    for (size_t j = whole, end; j < chunk->keys; j = end) {
        end = attention_run(seen, chunk->keys, j, 0);
        for (size_t from = j, to; from < end && seen[j] != 0; from = to) {
            const struct prefill_vectors vectors = prefill_alike(seen, from, end, ATTENTION_GROUP, &to);
            prefill_score(prefill, from, to, vectors, s, others);
        }
    }
    return whole;
}

/// The same for additive scores, key by key.
static void prefill_additive(const struct fovea_attention_chunk *chunk, const uint64_t *seen, float *s)
{
    const int panels = chunk->k_row == 0;
    for (size_t j = 0; j < chunk->keys; j++) {
        const float *const key = panels ? chunk->k + j / FOVEA_PANEL * FOVEA_PANEL * chunk->qk_dim + j % FOVEA_PANEL
                                        : chunk->k + (ptrdiff_t)j * chunk->k_row;
        for (size_t r = 0; r < chunk->state.rows; r += FOVEA_PANEL) {
            if ((seen[j] >> r & 0xFFFF) != 0) {
                attention_additive(chunk->qk_dim, chunk->q + r, ATTENTION_ROWS, key, panels ? FOVEA_PANEL : 1,
                                   chunk->additive[0], s + j * ATTENTION_ROWS + r, FOVEA_PANEL);
            }
        }
    }
}

/// Applies the softcap to the scores.
static void prefill_cap(const struct fovea_attention_chunk *chunk, const uint64_t *seen, float *s)
{
    for (size_t j = 0; j < chunk->keys; j++) {
        for (size_t lane = 0; lane < chunk->state.rows && seen[j] != 0; lane += FV_LANES) {
            float *const at = s + j * ATTENTION_ROWS + lane;
            fv_store(at, attention_cap(chunk, fv_load(at)));
        }
    }
}

/// Applies ALiBi: scores fall with the distance of their keys.
static void prefill_fall(const struct fovea_attention_chunk *chunk, const uint64_t *seen, float *s)
{
    for (size_t lane = 0; lane < chunk->state.rows; lane += FV_LANES) {
        const fv_f32 fall = fv_load(chunk->falls + lane), position = fv_load(chunk->positions + lane);
        for (size_t j = 0; j < chunk->keys; j++) {
            if (seen[j] != 0) {
                float *const at = s + j * ATTENTION_ROWS + lane;
                fv_store(at, attention_fall(fall, fv_set1((float)chunk->key + (float)j), position, fv_load(at)));
            }
        }
    }
}

/// Applies dropout: drops weights, and scales those that are kept.
static void prefill_drop(const struct fovea_attention_chunk *chunk, const uint64_t *seen, float *p)
{
    for (size_t j = 0; j < chunk->keys; j++) {
        for (size_t lane = 0; lane < chunk->state.rows && seen[j] != 0; lane += FV_LANES) {
            float *const at = p + j * ATTENTION_ROWS + lane;
            const fv_mask keep = fv_mask_bits((uint32_t)(chunk->keep[j] >> lane));
            fv_store(at, attention_drop(keep, fv_load(at), chunk->keep_scale));
        }
    }
}

/// Adds the biases, and clears the bits of seen where a bias is -inf. Blocks of 16 rows of biases are transposed.
static void prefill_bias(const struct fovea_attention_chunk *chunk, uint64_t *seen, float *s)
{
    float rows[FOVEA_PANEL][FOVEA_PANEL], lanes[FOVEA_PANEL][FOVEA_PANEL];
    for (size_t j = 0; j < chunk->keys; j += FOVEA_PANEL) {
        const size_t keys = attention_min(FOVEA_PANEL, chunk->keys - j);
        for (size_t r = 0; r < chunk->state.rows; r += FOVEA_PANEL) {
            for (size_t i = 0; i < FOVEA_PANEL; i++) { // the last row stands in for missing ones
                attention_bias(chunk, attention_min(r + i, chunk->state.rows - 1), j, keys, rows[i]);
            }
            FV_NAME(transpose_f32)(FOVEA_PANEL, keys, 1.0f, rows[0], FOVEA_PANEL, lanes[0], FOVEA_PANEL);
            for (size_t i = 0; i < keys; i++) {
                const uint32_t hidden = attention_add_bias(s + (j + i) * ATTENTION_ROWS + r, lanes[i]);
                seen[j + i] &= ~((uint64_t)hidden << r);
            }
        }
    }
}

#endif
