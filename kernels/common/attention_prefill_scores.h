// SPDX-License-Identifier: Apache-2.0
// kernels/common/attention_prefill_scores.h - S^T of a chunk: the product, and the terms that change a score.
//
// Part of attention_prefill_f32.inc, after FV_GEMM is defined.
#ifndef FOVEA_KERNELS_COMMON_ATTENTION_PREFILL_SCORES_H
#define FOVEA_KERNELS_COMMON_ATTENTION_PREFILL_SCORES_H

#include "kernels/common/attention.h"
#include "kernels/common/attention_additive.h"
#include "kernels/common/unroll.h"
#include "kernels/fault.h"

enum { PREFILL_ROWS = 48 }; ///< queries of a tile, and the pitch of S^T, P^T and O^T

/// FV_GEMM on panels [first, end) of 16 queries, as many at once as its tile holds; b, c and scale are those of panel
/// 0. The tile is changed and not copied: loads of a copy just written would wait for the stores.
static inline void prefill_gemm(struct fovea_gemm_tile *tile, const float *b, float *c, const float *scale,
                                size_t first, size_t end)
{
    const size_t step = FV_GEMM_NR / FOVEA_PANEL;
    for (size_t panel = first; panel < end; panel += step) {
        tile->n = attention_min(step, end - panel) * FOVEA_PANEL;
        tile->b = b + (ptrdiff_t)panel * tile->b_panel;
        tile->c = c + panel * FOVEA_PANEL;
        tile->scale = scale + panel * FOVEA_PANEL;
        FV_GEMM(tile);
    }
}

/// tile->m rows and panels [first, end): whole tiles at once, the others by FV_GEMM. b, c and scale are those of panel
/// 0.
static inline __attribute__((always_inline)) void prefill_product(struct fovea_gemm_tile *tile, size_t first,
                                                                  size_t end, enum fovea_gemm_mode mode)
{
    const struct fovea_gemm_tile all = *tile;
    size_t done = 0;
#ifdef FV_TILE_ROWS
    done = all.m / FV_TILE_ROWS * FV_TILE_ROWS;
    tile->m = done;
    attention_tile(tile, first, end, mode);
#endif
    tile->mode = mode;
    for (; done < all.m; done += tile->m) {
        tile->m = attention_min(FV_GEMM_MR, all.m - done);
        tile->a = all.a + (ptrdiff_t)done * all.a_row;
        prefill_gemm(tile, all.b, all.c + (ptrdiff_t)done * all.c_row, all.scale, first, end);
    }
}

/// S^T = K Q^T for the keys that some row sees.
static void prefill_scores(const struct fovea_attention_chunk *chunk, const uint64_t *seen, float *s)
{
    const int panels = chunk->k_row == 0; // of 16 keys; a tile of the micro-kernel never crosses from one to the next
    struct fovea_gemm_tile tile = {
        .k = chunk->qk_dim,
        .a_row = panels ? 1 : chunk->k_row,
        .a_k = panels ? FOVEA_PANEL : 1,
        .b_panel = (ptrdiff_t)(FOVEA_PANEL * chunk->qk_dim),
        .b_k = FOVEA_PANEL,
        .c_row = PREFILL_ROWS,
    };
    const int full = chunk->visible == NULL;
    for (size_t j = 0, end; j < chunk->keys; j = end) {
        end = full ? chunk->keys : attention_run(seen, chunk->keys, j, 0);
        for (size_t i = j, keys; i < end && (full || seen[j] != 0); i += keys) {
            keys = attention_min(end - i, full ? FOVEA_CHUNK : FV_GEMM_MR);
            keys = attention_min(keys, panels ? FOVEA_PANEL - i % FOVEA_PANEL : FOVEA_CHUNK);
            tile.m = keys;
            tile.a = panels ? chunk->k + i / FOVEA_PANEL * FOVEA_PANEL * chunk->qk_dim + i % FOVEA_PANEL
                            : chunk->k + (ptrdiff_t)i * chunk->k_row;
            uint64_t any = full ? attention_all(chunk->state.rows) : attention_any(seen + i, keys);
            size_t first = 0, last = 0;
            for (; (any & 0xFFFF) == 0; any >>= FOVEA_PANEL) {
                first++;
            }
            for (last = first; any != 0; any >>= FOVEA_PANEL) {
                last++;
            }
            tile.b = chunk->q;
            tile.c = s + i * PREFILL_ROWS;
            tile.scale = s; // not read
            prefill_product(&tile, first, last, FOVEA_GEMM_STORE);
        }
    }
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
                attention_additive(chunk->qk_dim, chunk->q + r * chunk->qk_dim, key, panels ? FOVEA_PANEL : 1,
                                   chunk->additive[0], s + j * PREFILL_ROWS + r, FOVEA_PANEL);
            }
        }
    }
}

/// Caps the scores.
static void prefill_cap(const struct fovea_attention_chunk *chunk, const uint64_t *seen, float *s)
{
    for (size_t j = 0; j < chunk->keys; j++) {
        for (size_t lane = 0; lane < chunk->state.rows && seen[j] != 0; lane += FV_LANES) {
            float *const at = s + j * PREFILL_ROWS + lane;
            fv_store(at, attention_cap(chunk, fv_load(at)));
        }
    }
}

/// Lets the scores fall with the distance of their keys.
static void prefill_fall(const struct fovea_attention_chunk *chunk, const uint64_t *seen, float *s)
{
    for (size_t lane = 0; lane < chunk->state.rows; lane += FV_LANES) {
        const fv_f32 fall = fv_load(chunk->falls + lane), position = fv_load(chunk->positions + lane);
        for (size_t j = 0; j < chunk->keys; j++) {
            if (seen[j] != 0) {
                float *const at = s + j * PREFILL_ROWS + lane;
                fv_store(at, attention_fall(fall, fv_set1((float)chunk->key + (float)j), position, fv_load(at)));
            }
        }
    }
}

/// Drops weights, and scales those that are kept.
static void prefill_drop(const struct fovea_attention_chunk *chunk, const uint64_t *seen, float *p)
{
    for (size_t j = 0; j < chunk->keys; j++) {
        for (size_t lane = 0; lane < chunk->state.rows && seen[j] != 0; lane += FV_LANES) {
            float *const at = p + j * PREFILL_ROWS + lane;
            const fv_mask keep = fv_mask_bits((uint32_t)(chunk->keep[j] >> lane));
            fv_store(at, attention_drop(keep, fv_load(at), chunk->keep_scale));
        }
    }
}

/// Adds the biases and takes the bits of those that are -inf out of seen. Rows of 16 biases are transposed in blocks.
static void prefill_bias(const struct fovea_attention_chunk *chunk, uint64_t *seen, float *s)
{
    float rows[FOVEA_PANEL][FOVEA_PANEL], lanes[FOVEA_PANEL][FOVEA_PANEL];
    for (size_t j = 0; j < chunk->keys; j += FOVEA_PANEL) {
        const size_t keys = attention_min(FOVEA_PANEL, chunk->keys - j);
        for (size_t r = 0; r < chunk->state.rows; r += FOVEA_PANEL) {
            for (size_t i = 0; i < FOVEA_PANEL; i++) { // the last row stands in for those that are not there
                attention_bias(chunk, attention_min(r + i, chunk->state.rows - 1), j, keys, rows[i]);
            }
            FV_NAME(transpose_f32)(FOVEA_PANEL, keys, rows[0], FOVEA_PANEL, lanes[0], FOVEA_PANEL);
            for (size_t i = 0; i < keys; i++) {
                const uint32_t hidden = attention_add_bias(s + (j + i) * PREFILL_ROWS + r, lanes[i]);
                seen[j + i] &= ~((uint64_t)hidden << r);
            }
        }
    }
}

/// The lanes from `lane` on of a key's bits.
static inline uint32_t prefill_lanes(uint64_t bits, size_t lane)
{
    return (uint32_t)(bits >> lane) & ((1u << FV_LANES) - 1);
}

#endif
