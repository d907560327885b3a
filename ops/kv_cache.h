// SPDX-License-Identifier: Apache-2.0
// ops/kv_cache.h - writing a run of keys and values into a cache whose arguments are known to be right.
#ifndef FOVEA_OPS_KV_CACHE_H
#define FOVEA_OPS_KV_CACHE_H

#include "fovea/kv_cache.h"
#include "kernels/kernel.h"

/// Keys [pos, pos + len) of batch b, as fovea_kv_append writes them, checking nothing. Whole panels of K are transposed
/// by a kernel.
void fovea_kv_write(const struct fovea_kernels *kernels, const struct fovea_kv_cache *cache, size_t b, size_t pos,
                    size_t len, const float *k, struct fovea_strides k_strides, const float *v,
                    struct fovea_strides v_strides);

#endif
