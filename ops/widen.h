// SPDX-License-Identifier: Apache-2.0
// ops/widen.h - elements of any type as f32.
#ifndef FOVEA_OPS_WIDEN_H
#define FOVEA_OPS_WIDEN_H

#include "fovea/type.h"
#include "kernels/table.h"

/// The kernel that widens elements of a 16-bit type.
static inline const struct fovea_widen_kernel *fovea_widen_of(const struct fovea_kernels *kernels, enum fovea_type type)
{
    return type == FOVEA_BF16 ? &kernels->widen_bf16 : &kernels->widen_f16;
}

/// The kernel that decodes over K and V of this type; of 16-bit elements only over K in panels.
static inline const struct fovea_decode_kernel *fovea_decode_of(const struct fovea_kernels *kernels,
                                                                enum fovea_type type)
{
    return type == FOVEA_F32    ? &kernels->attention_decode
           : type == FOVEA_BF16 ? &kernels->attention_decode_bf16
                                : &kernels->attention_decode_f16;
}

/// to[i] = from[i] as f32, which is exact, for i < n. Both are aligned to their elements, and do not overlap.
void fovea_widen(const struct fovea_kernels *kernels, enum fovea_type type, size_t n, const void *from, float *to);

#endif
