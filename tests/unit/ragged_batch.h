// SPDX-License-Identifier: Apache-2.0
// tests/unit/ragged_batch.h - random ragged batches, causal at their ends: keys ragged too, in a cache or in pages.
#ifndef FOVEA_TESTS_UNIT_RAGGED_BATCH_H
#define FOVEA_TESTS_UNIT_RAGGED_BATCH_H

#include "fovea/kv_cache.h"

enum { FEW = 6, ENTRIES = 20, KV_HEADS = 2, HEADS = 4, D = 24, DV = 20 };
enum keys { RAGGED, CACHED, PAGED };

struct batch {
    enum keys keys;
    uint32_t k_rows; ///< of the cache and the pages
    size_t entries;  ///< FEW, or so many that tasks look for theirs by landmarks
    uint32_t q_starts[ENTRIES + 1], kv_starts[ENTRIES + 1], kv_lens[ENTRIES];
    int64_t offsets[ENTRIES];
    size_t q_most, kv_most;
    float *q, *k, *v; ///< (rows, heads, dim)
    struct fovea_kv_cache cache;
    struct fovea_kv_pages pool;
    uint32_t *table;
    size_t table_row;
};

/// Draws a batch; a function of seed alone. Memory is that of tests/support/memory.h.
void ragged_draw(struct batch *t, uint64_t seed);
/// A plan of so many entries, keys in rows.
struct fovea_attention_desc ragged_describe(const struct batch *t, size_t batch);
/// All entries in one call, its outputs missing, and the keys of its plan.
struct fovea_attention_args ragged_call(const struct batch *t, struct fovea_attention_desc *d);
/// Entry b alone, its keys in rows.
struct fovea_attention_args ragged_entry(const struct batch *t, size_t b);

#endif
