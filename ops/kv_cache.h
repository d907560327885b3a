// SPDX-License-Identifier: Apache-2.0
// ops/kv_cache.h - writing a run of keys and values into a cache whose arguments are known to be right.
#ifndef FOVEA_OPS_KV_CACHE_H
#define FOVEA_OPS_KV_CACHE_H

#include "fovea/kv_cache.h"
#include "ops/cut.h"

/// New keys and values of all batch entries: `len` of each or, of a ragged batch, rows starts[b] to starts[b + 1], at
/// most len. Those of an entry go to positions from `position` or positions[b] on, into its block of a cache or, where
/// there is a pool, into its pages. k and v are dense, (rows, heads * dim).
struct fovea_kv_news {
    const struct fovea_kv_cache *cache;
    const struct fovea_kv_pages *pool;
    const uint32_t *pages; ///< the table of entry b is from pages[b * pages_batch] on
    size_t pages_batch;
    size_t position, len;
    const size_t *positions;
    const uint32_t *starts;
    const float *k, *v;
};

/// Whether a page may have so many keys.
bool fovea_kv_page_fits(size_t keys);
/// Whether the pieces of `batch` entries with at most `len` new keys each can be counted as tasks.
bool fovea_kv_tasks_fit(size_t batch, size_t len);
/// How the news of a batch entry are cut into pieces, each a task. All entries have as many; some may be empty.
struct fovea_append_grid fovea_kv_cut(const struct fovea_kv_news *news);
/// Writes a piece of batch entry b as fovea_kv_append would, checking nothing; a kernel transposes whole panels of K.
void fovea_kv_write(const struct fovea_engine *engine, const struct fovea_kv_news *news,
                    const struct fovea_append_grid *grid, size_t b, size_t piece);

#endif
