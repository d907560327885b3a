// SPDX-License-Identifier: Apache-2.0
// ops/widen.h - elements of any type as f32.
#ifndef FOVEA_OPS_WIDEN_H
#define FOVEA_OPS_WIDEN_H

#include "fovea/gemm.h"

/// Bytes of an element.
static inline size_t fovea_type_bytes(enum fovea_type type)
{
    return type == FOVEA_F32 ? sizeof(float) : sizeof(uint16_t);
}

/// to[i] = from[i] as f32, which is exact, for i < n. Both are aligned to their elements, and do not overlap.
void fovea_widen(const struct fovea_engine *engine, enum fovea_type type, size_t n, const void *from, float *to);

#endif
