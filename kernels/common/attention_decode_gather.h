// SPDX-License-Identifier: Apache-2.0
// kernels/common/attention_decode_gather.h - copies the rows of K and of V that some row sees next to one another.
//
// Without a copy each run of keys is a tile of its own (for V per 16 columns), which costs more if the runs are short.
// Keys hidden at random, half of them, a copy of V: Zen 3 1.3 times as fast, Zen 5 1.3 to 1.55. K in rows, Zen 5: a
// copy of it 2.5 and 3 times (one row and four), 95 % hidden 2.3, 20 % 1.8 and 1.9; 10 and 5 % hidden, runs of 10 and
// 20 keys, 1.0 to 1.07 and 1.1 to 1.2, for V 0.95 and 0.86 to 0.93.
//
// Part of attention_decode_f32.inc.
#ifndef FOVEA_KERNELS_COMMON_ATTENTION_DECODE_GATHER_H
#define FOVEA_KERNELS_COMMON_ATTENTION_DECODE_GATHER_H

#include "kernels/common/attention_decode_fetch.h"

/// Average keys per run below which K and V are copied.
enum { DECODE_RUN_K = 24, DECODE_RUN_V = 8 };

/// The keys that some row sees, in ascending order.
struct decode_seen {
    size_t count, runs;
    uint8_t key[FOVEA_CHUNK];
};

static inline void decode_list(const uint64_t *seen, size_t keys, struct decode_seen *list)
{
    list->count = list->runs = 0;
    for (size_t j = 0; j < keys; j++) {
        list->key[list->count] = (uint8_t)j;
        list->count += seen[j] != 0;
        list->runs += seen[j] != 0 && (j == 0 || seen[j - 1] == 0);
    }
}

/// Whether the list consists of several runs with fewer than `run` keys on average.
static inline int decode_scattered(const struct decode_seen *list, size_t run)
{
    return list->runs > 1 && list->count < run * list->runs;
}

/// Copies their rows, of `columns` elements (a multiple of 16), to dense; `of` selects K or V. asks: each row is
/// prefetched some rows before it is copied.
static inline __attribute__((always_inline)) void
decode_gather(const struct fovea_decode_chunk *decode, const struct decode_seen *list,
              const float *of(const struct fovea_decode_chunk *, size_t), size_t columns, int asks, float *dense)
{
    enum { AHEAD = 12 };
    for (size_t i = 0; i < list->count; i++, dense += columns) {
        const float *const from = of(decode, list->key[i]);
        if (asks && i + AHEAD < list->count) {
            decode_fetch(decode, of(decode, list->key[i + AHEAD]), 0, 1, columns);
        }
        for (size_t c = 0; c < columns; c += FV_LANES) {
            fv_store(dense + c, fv_load(from + c));
        }
    }
}

#endif
