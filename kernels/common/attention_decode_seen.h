// SPDX-License-Identifier: Apache-2.0
// kernels/common/attention_decode_seen.h - which keys of a chunk are loaded, and by which rows they are seen.
//
// Part of attention_decode_chunk.h.
#ifndef FOVEA_KERNELS_COMMON_ATTENTION_DECODE_SEEN_H
#define FOVEA_KERNELS_COMMON_ATTENTION_DECODE_SEEN_H

#include "kernels/common/attention.h"

enum { DECODE_ROWS = 16, DECODE_GROUPS = FOVEA_CHUNK / FOVEA_PANEL };

/// Whether the first word of seen stands for all keys, which are then not examined one by one.
static inline int decode_plain(const struct fovea_attention_chunk *chunk)
{
    return !chunk->visible && !chunk->bias && !chunk->additive && !chunk->state.spread;
}

/// Marks the keys to load: those that some row sees; in a panelled K whole groups of 16.
static void decode_loads(const struct fovea_attention_chunk *chunk, const uint64_t *seen, uint64_t load[FOVEA_CHUNK])
{
    for (size_t j = 0; j < chunk->keys; j += FOVEA_PANEL) {
        const size_t keys = attention_min(FOVEA_PANEL, chunk->keys - j);
        const uint64_t any = attention_any(seen + j, keys);
        for (size_t i = j; i < j + keys; i++) {
            load[i] = chunk->k_row == 0 ? any : seen[i];
        }
    }
}

/// Bit i: row r sees key i, of at most 16. common: the rows that see all keys of the chunk.
static inline uint32_t decode_bits(const uint64_t *seen, size_t keys, size_t r, uint64_t common)
{
    uint32_t bits = 0;
    if (common >> r & 1) {
        return (1u << keys) - 1;
    }
    for (size_t i = 0; i < keys; i++) {
        bits |= (uint32_t)(seen[i] >> r & 1) << i;
    }
    return bits;
}

#endif
