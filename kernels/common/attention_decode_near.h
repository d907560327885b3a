// SPDX-License-Identifier: Apache-2.0
// kernels/common/attention_decode_near.h - few rows from L2: P V of a chunk and Q K^T of the next one in one loop.
//
// Each element of O is one chain of FMAs. One row over V of 64 columns has four vectors of them, so it waits for its
// own sums half of the time. The scores of the next chunk do not depend on it, and where K is in rows they are limited
// by shuffles. Emerald Rapids, beside a busy hyper-thread, against one after the other: K in rows, 512 and 1024 keys,
// heads of 32 and 64 1.08 to 1.18 times as fast, of 128 1.06 to 1.09, 256 keys 1.05 to 1.08; K in panels 1.03 to 1.12.
//
// Cores that compute 512 bits in two halves have too few FMAs in flight to need several groups of keys side by side.
// One by one, K is read in the order of memory, which their prefetcher follows, so that a cache that is not in L2
// after all costs less. Zen 4, 512 keys of 64, in L2 and from memory: one row over panels 1.04 and 1.12 times as fast
// as eight panels side by side; against one product after the other two rows 1.12 and 1.08, three 1.10 and 1.09, four
// 1.04 and 1.15; K in rows, two rows 1.27 and, with what follows, 1.8. K in rows is prefetched into L1, 16 keys ahead,
// which beside the shuffles costs nothing, and every second line before that into L2.
//
// Part of attention_decode_beside.h, on ISAs with FV_REGISTER_ROWS.
#ifndef FOVEA_KERNELS_COMMON_ATTENTION_DECODE_NEAR_H
#define FOVEA_KERNELS_COMMON_ATTENTION_DECODE_NEAR_H

#include "kernels/common/attention_decode_near_tile.h"

typedef void near_fn(const struct fovea_decode_chunk *decode, const float *p, float *acc, float *sums, float *s_next);

#define NEAR_TILE(R, V, ROWS, T)                                                                                       \
    static void near_##R##x##V##_##ROWS(const struct fovea_decode_chunk *decode, const float *p, float *acc,           \
                                        float *sums, float *s_next)                                                    \
    {                                                                                                                  \
        _Static_assert((R) * (V) <= NEAR_SUMS && (R) * (T) <= NEAR_SCORES, "a vector for each");                       \
        near_tile(decode, p, acc, sums, s_next, R, V, ROWS, T);                                                        \
    }
// Indexed by whether K is in rows, rows - 1, and vectors of columns / 4. More rows over K in rows would spill.
#if !DECODE_HALVES
NEAR_TILE(1, 2, 0, 8)
NEAR_TILE(1, 4, 0, 8)
NEAR_TILE(1, 8, 0, 8)
NEAR_TILE(1, 2, 1, 2)
NEAR_TILE(1, 4, 1, 2)
NEAR_TILE(1, 8, 1, 1) // two groups of keys 0.95
static near_fn *const near_tiles[2][NEAR_ROWS][3] = {
    {{near_1x2_0, near_1x4_0, near_1x8_0}},
    {{near_1x2_1, near_1x4_1, near_1x8_1}},
};
#else
NEAR_TILE(1, 2, 0, 1)
NEAR_TILE(1, 4, 0, 1)
NEAR_TILE(1, 8, 0, 1)
NEAR_TILE(2, 2, 0, 1)
NEAR_TILE(2, 4, 0, 1)
NEAR_TILE(2, 8, 0, 1)
NEAR_TILE(3, 2, 0, 1)
NEAR_TILE(3, 4, 0, 1)
NEAR_TILE(4, 2, 0, 1)
NEAR_TILE(4, 4, 0, 1)
NEAR_TILE(1, 2, 1, 1)
NEAR_TILE(1, 4, 1, 1)
NEAR_TILE(1, 8, 1, 1)
NEAR_TILE(2, 2, 1, 1)
NEAR_TILE(2, 4, 1, 1)
static near_fn *const near_tiles[2][NEAR_ROWS][3] = {
    {{near_1x2_0, near_1x4_0, near_1x8_0},
     {near_2x2_0, near_2x4_0, near_2x8_0},
     {near_3x2_0, near_3x4_0},
     {near_4x2_0, near_4x4_0}},
    {{near_1x2_1, near_1x4_1, near_1x8_1}, {near_2x2_1, near_2x4_1}},
};
#endif

/// The tile that computes the next chunk's scores along with this chunk's product, or NULL: for few rows, which see all
/// keys of both, and heads of 32, 64 or 128.
static inline near_fn *near_of(const struct fovea_decode_chunk *decode)
{
    const struct fovea_attention_chunk *const chunk = &decode->chunk;
    const size_t rows = chunk->state.rows, dims = chunk->qk_dim, v_dim = chunk->state.v_dim;
    const int may = !decode->hints.far && decode->k_next && !decode->blocks && rows <= NEAR_ROWS && !chunk->visible &&
                    !chunk->bias && dims >= NEAR_DIMS && FOVEA_CHUNK % dims == 0;
    const int fits = v_dim == 2 * FV_LANES || v_dim == 4 * FV_LANES || v_dim == 8 * FV_LANES;
    return may && fits ? near_tiles[chunk->k_row != 0][rows - 1][v_dim / (4 * FV_LANES)] : NULL;
}

static inline int decode_may_beside(const struct fovea_decode_chunk *decode)
{
    return near_of(decode) != NULL;
}

/// acc = P V of a chunk, sums (if not NULL) = the sum of P, s_next = Q K^T of the next chunk.
static void decode_beside(const struct fovea_decode_chunk *decode, const float *p, float *acc, float *sums,
                          float *s_next)
{
    near_of(decode)(decode, p, acc, sums, s_next);
}

#endif
