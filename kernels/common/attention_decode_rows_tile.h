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

/// R rows by 16 keys. PARTIAL: by fewer. Only 16 keys prefetch.
static inline __attribute__((always_inline)) void
decode_register_tile(const struct fovea_decode_chunk *decode, const struct decode_register_keys *of, int R, int PARTIAL)
{
    const struct fovea_attention_chunk *const chunk = &decode->chunk;
    const float *const q = chunk->q + (FOVEA_FAULT_IS(DECODE_HALF_IS_FIRST) ? 0 : (ptrdiff_t)of->row * decode->q_row);
    const size_t parts = decode_parts(decode), asked = FOVEA_PANEL * FOVEA_LINE / parts;
    const int keys = PARTIAL ? (int)of->keys : FOVEA_PANEL;
    const int last = keys - 1 - (PARTIAL && keys > 1 && FOVEA_FAULT_IS(DECODE_PARTIAL_SHORT));
    const float *ahead = PARTIAL ? NULL : of->ahead;
    fv_f32 sums[FV_REGISTER_ROWS];
    FV_UNROLL
    for (int r = 0; r < R; r++) {
        sums[r] = fv_zero();
    }
    for (size_t c = 0; c < chunk->qk_dim; c += FOVEA_LINE) {
        if (ahead) {
            decode_fetch(decode, ahead, of->part, parts, asked);
            ahead += asked;
        }
        fv_register_rows(of->k + c, chunk->k_row, last, q + c, decode->q_row, 1, sums, R);
    }
    FV_UNROLL
    for (int r = 0; r < R; r++) {
        float *const s = of->s + (of->row + (size_t)r) * FOVEA_CHUNK;
        if (PARTIAL && !FOVEA_FAULT_IS(DECODE_STORES_PAST_KEYS)) {
            fv_store_tail(s, sums[r], of->keys);
        } else {
            fv_store(s, sums[r]);
        }
    }
}

typedef void decode_register_fn(const struct fovea_decode_chunk *decode, const struct decode_register_keys *of);

#define DECODE_REGISTER_TILE(NAME, R, PARTIAL)                                                                         \
    static void NAME(const struct fovea_decode_chunk *decode, const struct decode_register_keys *of)                   \
    {                                                                                                                  \
        decode_register_tile(decode, of, R, PARTIAL);                                                                  \
    }
#define DECODE_REGISTER_TILES(R)                                                                                       \
    DECODE_REGISTER_TILE(decode_register_##R, R, 0)                                                                    \
    DECODE_REGISTER_TILE(decode_partial_##R, R, 1)
FV_EACH_ROW(FV_REGISTER_ROWS, DECODE_REGISTER_TILES)

enum {
    DECODE_RUN_GROUPS = DECODE_HALVES ? 1 : 2, ///< groups of 16 keys side by side
    DECODE_RUN_KEYS = DECODE_RUN_GROUPS * FOVEA_PANEL,
};

/// A run of keys from k on, against all queries.
struct decode_run_keys {
    const float *k;
    size_t keys;        ///< a multiple of DECODE_RUN_KEYS
    const float *next;  ///< NULL, or K of the keys behind these
    size_t more;        ///< and how many there are
    const float *pages; ///< NULL, or the next K, whose pages are to be prefetched
    float *s;
};

/// R rows by a run. A step takes a line of the keys of one group, or half a line of those of two.
static inline __attribute__((always_inline)) void decode_run(const struct fovea_decode_chunk *decode,
                                                             const struct decode_run_keys *of, int R)
{
    const struct fovea_attention_chunk *const chunk = &decode->chunk;
    // Local copies, which stores of scores cannot change: three rows of halves 0.95 without.
    const ptrdiff_t k_row = chunk->k_row, q_row = decode->q_row, group = FOVEA_PANEL * k_row;
    const size_t dims = chunk->qk_dim;
    const float *const q = chunk->q, *k = of->k;
    const int asks = DECODE_HALVES || R > 1; // one row of pairs, in L2, 0.9 with prefetches
    // Of decode_fetch_next: halves prefetch all lines 16 keys further on into L2, too.
    enum { DIMS = FOVEA_LINE / DECODE_RUN_GROUPS, EVERY = DECODE_HALVES ? 1 : 0, FURTHER = FOVEA_PANEL };
    for (size_t j = 0; j < of->keys; j += DECODE_RUN_KEYS, k += DECODE_RUN_GROUPS * group) {
        const int ends = j + DECODE_RUN_KEYS >= of->keys;
        const float *const next = !asks ? NULL : ends ? of->next : k + DECODE_RUN_GROUPS * group;
        const float *const second = DECODE_HALVES || (ends && of->more <= FOVEA_PANEL) ? NULL : next;
        fv_f32 sums[DECODE_RUN_GROUPS][FV_REGISTER_ROWS];
        FV_UNROLL
        for (int i = 0; i < DECODE_RUN_GROUPS * R; i++) {
            sums[i / R][i % R] = fv_zero();
        }
        decode_touch(of->pages, j * dims, (j + DECODE_RUN_KEYS) * dims);
        for (size_t c = 0; c < dims; c += DIMS) {
            // Zen 4: 0.96 where gcc puts the prefetches behind the loop.
            if (__builtin_expect(next != NULL, 1)) {
                decode_fetch_next(next, k_row, dims, c, DIMS, EVERY, FURTHER);
            }
#if DECODE_HALVES
            (void)second;
            fv_register_rows(k + c, k_row, FOVEA_PANEL - 1, q + c, q_row, 1, sums[0], R);
#else
            if (__builtin_expect(second != NULL, 1)) {
                decode_fetch_next(second + group, k_row, dims, c, DIMS, EVERY, FURTHER);
            }
            const size_t from = FOVEA_FAULT_IS(DECODE_PAIR_HALF_AGAIN) ? c / FOVEA_LINE * FOVEA_LINE : c;
            const float *const groups[2] = {k + from, k + from + (FOVEA_FAULT_IS(DECODE_PAIR_IS_FIRST) ? 0 : group)};
            fv_register_pair(groups, k_row, q + from, q_row, 1, sums, R);
#endif
        }
        FV_UNROLL
        for (int i = 0; i < DECODE_RUN_GROUPS * R; i++) {
            float *const s = of->s + i % R * FOVEA_CHUNK + i / R * FOVEA_PANEL;
            fv_store(s + (FOVEA_FAULT_IS(DECODE_RUN_IS_FIRST) ? 0 : j), sums[i / R][i % R]);
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
