// SPDX-License-Identifier: Apache-2.0
// ops/kv_put.h - the memory of caches of keys and values, and writing into it what is known to fit.
#ifndef FOVEA_OPS_KV_PUT_H
#define FOVEA_OPS_KV_PUT_H

#include "fovea/kv_cache.h"
#include "kernels/table.h"

/// An array of units, sequences or pages, of `keys` keys each.
struct fovea_kv_units {
    size_t count, heads, keys;
    size_t qk_dim, v_dim;
    void *k, *v;
    bool k_rows;
    enum fovea_type type;
};

/// Elements from a unit, a head and a row to the next. The row of k is 0 in panels.
void fovea_kv_strides(const struct fovea_kv_units *units, struct fovea_strides *k, struct fovea_strides *v);
/// Writes keys and values at positions [pos, pos + len) of one unit. kernels may be NULL: then without, more slowly.
void fovea_kv_put(const struct fovea_kernels *kernels, const struct fovea_kv_units *units, size_t unit, size_t pos,
                  size_t len, const float *k, const struct fovea_strides *ks, const float *v,
                  const struct fovea_strides *vs);
/// The same in the pages of a sequence.
void fovea_kv_put_pages(const struct fovea_kernels *kernels, const struct fovea_kv_units *units, const uint32_t *table,
                        size_t pos, size_t len, const float *k, const struct fovea_strides *ks, const float *v,
                        const struct fovea_strides *vs);

#endif
