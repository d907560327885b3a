// SPDX-License-Identifier: Apache-2.0
// kernels/common/attention_decode_rows_tile.h - tiles that transpose 16 natural rows of K in registers.
//
// Part of attention_decode_rows.h.
#ifndef FOVEA_KERNELS_COMMON_ATTENTION_DECODE_ROWS_TILE_H
#define FOVEA_KERNELS_COMMON_ATTENTION_DECODE_ROWS_TILE_H

#include "kernels/common/attention_decode_fetch.h"
#include "kernels/common/each_row.h"
#include "kernels/fault.h"

/// Number of parts of V that are prefetched side by side.
static inline size_t decode_parts(const struct fovea_decode_chunk *decode)
{
    return decode->hints.into == FOVEA_INTO_L2_PARTS ? 8 : 1;
}

/// Keys from k on against the queries from `row` on; the scores go to s[row * FOVEA_CHUNK].
struct decode_register_keys {
    const float *k;
    size_t keys, row;
    const float *ahead; ///< NULL, or V to prefetch: as much as these keys have, divided over decode_parts streams
    ptrdiff_t part;     ///< distance between these streams
    float *s;
};

/// R rows by T x 16 keys. PARTIAL: T is 1 and there are fewer than 16 keys. Only T = 1 with 16 keys prefetches.
static inline __attribute__((always_inline)) void decode_register_tile(const struct fovea_decode_chunk *decode,
                                                                       const struct decode_register_keys *of, int R,
                                                                       int T, int PARTIAL)
{
    const struct fovea_attention_chunk *const chunk = &decode->chunk;
    const float *const q = chunk->q + (FOVEA_FAULT_IS(DECODE_HALF_IS_FIRST) ? 0 : (ptrdiff_t)of->row * decode->q_row);
    const size_t parts = decode_parts(decode), asked = FOVEA_PANEL * FOVEA_LINE / parts;
    const int keys = PARTIAL ? (int)of->keys : FOVEA_PANEL;
    const int last = keys - 1 - (PARTIAL && keys > 1 && FOVEA_FAULT_IS(DECODE_PARTIAL_SHORT));
    const float *ahead = T == 1 && !PARTIAL ? of->ahead : NULL;
    fv_f32 sums[FV_REGISTER_ROWS];
    FV_UNROLL
    for (int r = 0; r < R * T; r++) {
        sums[r] = fv_zero();
    }
    for (size_t c = 0; c < chunk->qk_dim; c += FOVEA_LINE) {
        if (ahead) {
            decode_fetch(decode, ahead, of->part, parts, asked);
            ahead += asked;
        }
        if (T == 1) {
            fv_register_rows(of->k + c, chunk->k_row, last, q + c, decode->q_row, 1, sums, R);
            continue;
        }
        FV_UNROLL
        for (int half = 0; half < 2; half++) {
            FV_UNROLL
            for (int t = 0; t < T; t++) {
                const ptrdiff_t key = FOVEA_FAULT_IS(DECODE_PAIR_IS_FIRST) ? 0 : t * FOVEA_PANEL;
                const size_t from = c + (FOVEA_FAULT_IS(DECODE_PAIR_HALF_AGAIN) ? 0 : half * (FOVEA_LINE / 2));
                const float *k = of->k + key * chunk->k_row + from;
                __asm__("" : "+r"(k)); // or gcc keeps a pointer for each key, on the stack
                fv_register_eight(k, chunk->k_row, q + from, decode->q_row, 1, sums + t * R, R);
            }
        }
    }
    FV_UNROLL
    for (int r = 0; r < R * T; r++) {
        float *const s = of->s + (of->row + (size_t)(r % R)) * FOVEA_CHUNK + r / R * FOVEA_PANEL;
        if (PARTIAL && !FOVEA_FAULT_IS(DECODE_STORES_PAST_KEYS)) {
            fv_store_tail(s, sums[r], of->keys);
        } else {
            fv_store(s, sums[r]);
        }
    }
}

typedef void decode_register_fn(const struct fovea_decode_chunk *decode, const struct decode_register_keys *of);

#define DECODE_REGISTER_TILE(NAME, R, T, PARTIAL)                                                                      \
    static void NAME(const struct fovea_decode_chunk *decode, const struct decode_register_keys *of)                   \
    {                                                                                                                  \
        _Static_assert((R) * (T) <= FV_REGISTER_ROWS, "a sum for each");                                               \
        decode_register_tile(decode, of, R, T, PARTIAL);                                                               \
    }
#define DECODE_REGISTER_TILES(R)                                                                                       \
    DECODE_REGISTER_TILE(decode_register_##R, R, 1, 0)                                                                 \
    DECODE_REGISTER_TILE(decode_partial_##R, R, 1, 1)
FV_EACH_ROW(FV_REGISTER_ROWS, DECODE_REGISTER_TILES)
DECODE_REGISTER_TILE(decode_register_pair, 1, 2, 0)

#if DECODE_HALVES
/// A run of 16, 32, ... keys from k on, against all queries.
struct decode_run_keys {
    const float *k;
    size_t keys;
    const float *next;  ///< NULL, or K of the 16 keys behind these
    const float *pages; ///< NULL, or the next K, whose pages are to be prefetched
    float *s;
};

/// R rows by a run. Each 16 keys prefetch the next 16.
static inline __attribute__((always_inline)) void decode_run(const struct fovea_decode_chunk *decode,
                                                             const struct decode_run_keys *of, int R)
{
    const struct fovea_attention_chunk *const chunk = &decode->chunk;
    const ptrdiff_t k_row = chunk->k_row, q_row = decode->q_row;
    const size_t dims = chunk->qk_dim;
    const float *const q = chunk->q, *k = of->k;
    enum { EVERY = 1, FURTHER = FOVEA_PANEL }; // of decode_fetch_next
    for (size_t j = 0; j < of->keys; j += FOVEA_PANEL, k += FOVEA_PANEL * k_row) {
        const float *const next = j + FOVEA_PANEL < of->keys ? k + FOVEA_PANEL * k_row : of->next;
        fv_f32 sums[FV_REGISTER_ROWS];
        FV_UNROLL
        for (int r = 0; r < R; r++) {
            sums[r] = fv_zero();
        }
        decode_touch(of->pages, j * dims, (j + FOVEA_PANEL) * dims);
        for (size_t c = 0; c < dims; c += FOVEA_LINE) {
            // Zen 4: 0.96 where gcc puts the prefetches behind the loop.
            if (__builtin_expect(next != NULL, 1)) {
                decode_fetch_next(next, k_row, dims, c, FOVEA_LINE, EVERY, FURTHER);
            }
            fv_register_rows(k + c, k_row, FOVEA_PANEL - 1, q + c, q_row, 1, sums, R);
        }
        FV_UNROLL
        for (int r = 0; r < R; r++) {
            fv_store(of->s + r * FOVEA_CHUNK + (FOVEA_FAULT_IS(DECODE_RUN_IS_FIRST) ? 0 : j), sums[r]);
        }
    }
}

typedef void decode_run_fn(const struct fovea_decode_chunk *decode, const struct decode_run_keys *of);
#define DECODE_RUN(R)                                                                                                  \
    static void decode_run_##R(const struct fovea_decode_chunk *decode, const struct decode_run_keys *of)              \
    {                                                                                                                  \
        decode_run(decode, of, R);                                                                                     \
    }
FV_EACH_ROW(FV_REGISTER_ROWS, DECODE_RUN)
#endif

#endif
