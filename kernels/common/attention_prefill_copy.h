// SPDX-License-Identifier: Apache-2.0
// kernels/common/attention_prefill_copy.h - copies K and V of a chunk into the layout that the products read best.
//
// Natural rows are as far apart as a layer's heads are wide. O^T reads V by columns, 8 at a time: each step is on
// another page and, at the strides of real models, in one of a few sets of L1. In the copy a group of 8 columns is 4
// KiB of contiguous memory. The caller decides whether the copy pays (ops/attention_copy.c). A key is copied when a
// tile first sees it, so that hidden ones are never read.
//
// Part of attention_prefill_f32.inc.
#ifndef FOVEA_KERNELS_COMMON_ATTENTION_PREFILL_COPY_H
#define FOVEA_KERNELS_COMMON_ATTENTION_PREFILL_COPY_H

#include "kernels/common/attention.h"
#include "kernels/common/attention_product.h"

#include <string.h>

/// Elements from one group of columns to the next: one cache line more than its keys need; otherwise all groups of a
/// key would be in one set of L1.
enum { PREFILL_V_GROUP = ATTENTION_GROUP * FOVEA_COPY_KEYS };

/// The keys that some row sees and that are not copied yet, as bits; they are marked as copied.
static inline void prefill_take(const struct fovea_attention_chunk *chunk, const uint64_t *seen, uint64_t *done,
                                uint64_t *take)
{
    const int some = (chunk->visible || chunk->bias) && !FOVEA_FAULT_IS(PREFILL_LOADS_HIDDEN_V);
    for (size_t word = 0; word < FOVEA_CHUNK / 64; word++) {
        const size_t first = word * 64, keys = attention_min(64, chunk->keys > first ? chunk->keys - first : 0);
        uint64_t wanted = keys == 0 ? 0 : ~UINT64_C(0) >> (64 - keys);
        for (size_t j = 0; some && j < keys; j++) {
            wanted &= ~((uint64_t)(seen[first + j] == 0) << j);
        }
        take[word] = wanted & ~done[word];
        done[word] |= FOVEA_FAULT_IS(PREFILL_COPY_DONE_EARLY) ? ~UINT64_C(0) : wanted;
    }
}

/// Copies K to panels of 16 keys, which the first product then also reads in one stream.
static void prefill_copy_k(const struct fovea_attention_chunk *chunk, const uint64_t *seen,
                           struct fovea_attention_copy *copy)
{
    const size_t dim = chunk->qk_dim;
    uint64_t take[FOVEA_CHUNK / 64];
    prefill_take(chunk, seen, copy->k_done, take);
    for (size_t j = 0; j < chunk->keys && (take[0] | take[1]) != 0; j += FOVEA_PANEL) {
        const float *const from = chunk->k + (ptrdiff_t)j * chunk->k_row;
        float *const panel = copy->k + j * dim;
        const uint64_t keys = take[j / 64] >> j % 64 & 0xFFFF;
        if (keys == 0xFFFF) {
            FV_NAME(transpose_f32)(FOVEA_PANEL, dim, 1.0f, from, chunk->k_row, panel, FOVEA_PANEL);
            continue;
        }
        for (size_t i = 0; i < FOVEA_PANEL; i++) {
            for (size_t c = 0; c < dim && (keys >> i & 1); c++) {
                panel[c * FOVEA_PANEL + i] = from[(ptrdiff_t)i * chunk->k_row + (ptrdiff_t)c];
            }
        }
    }
}

/// Copies columns [0, whole) of `keys` keys, a constant. The reads of a key are contiguous, and so are the writes of a
/// group.
static inline __attribute__((always_inline)) void prefill_copy_keys(float *to, const float *from, ptrdiff_t row,
                                                                    size_t whole, int keys)
{
    for (size_t c = 0; c < whole; c += ATTENTION_GROUP, to += PREFILL_V_GROUP) {
        FV_UNROLL
        for (int i = 0; i < keys; i++) {
            memcpy(to + i * ATTENTION_GROUP, from + i * row + c, ATTENTION_GROUP * sizeof *to);
        }
    }
}

/// Copies V to groups of 8 columns, PREFILL_V_GROUP apart, key after key: four keys at a time, which are two lines of
/// each group (16 keys need more pointers than there are registers, and are no faster).
static void prefill_copy_v(const struct fovea_attention_chunk *chunk, const uint64_t *seen,
                           struct fovea_attention_copy *copy)
{
    enum { SIDE = 4, ALL = (1 << SIDE) - 1 };
    const size_t dim = chunk->state.v_dim, whole = dim / ATTENTION_GROUP * ATTENTION_GROUP;
    const ptrdiff_t row = chunk->v_row;
    uint64_t take[FOVEA_CHUNK / 64];
    prefill_take(chunk, seen, copy->v_done, take);
    if ((take[0] | take[1]) == 0) {
        return; // for most tiles everything has been copied already
    }
    for (size_t j = 0, keys; j < chunk->keys; j += keys) {
        const uint64_t bits = take[j / 64] >> j % 64 & ALL;
        const float *const from = chunk->v + (ptrdiff_t)j * row;
        float *const to = copy->v + j * ATTENTION_GROUP, *const rest = to + whole / ATTENTION_GROUP * PREFILL_V_GROUP;
        keys = bits == ALL && j % SIDE == 0 ? SIDE : 1;
        if (keys == SIDE) {
            prefill_copy_keys(to, from, row, whole, SIDE);
        } else if (bits & 1) {
            prefill_copy_keys(to, from, row, whole, 1);
        }
        for (size_t i = 0; i < keys && (bits & 1) != 0; i++) {
            for (size_t c = whole; c < dim; c++) {
                rest[i * ATTENTION_GROUP + c - whole] = from[(ptrdiff_t)i * row + (ptrdiff_t)c];
            }
        }
    }
}

#endif
