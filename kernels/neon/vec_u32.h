// SPDX-License-Identifier: Apache-2.0
// kernels/neon/vec_u32.h - vectors of unsigned 32-bit integers, for Philox, on NEON.
#ifndef FOVEA_KERNELS_NEON_VEC_U32_H
#define FOVEA_KERNELS_NEON_VEC_U32_H

#include "kernels/neon/vec.h"

static inline fv_i32 fv_u32_set1(uint32_t x)
{
    return vreinterpretq_s32_u32(vdupq_n_u32(x));
}

static inline fv_i32 fv_u32_load(const uint32_t *p)
{
    return vreinterpretq_s32_u32(vld1q_u32(p));
}

static inline fv_i32 fv_u32_add(fv_i32 a, fv_i32 b)
{
    return vaddq_s32(a, b);
}

static inline fv_i32 fv_u32_xor(fv_i32 a, fv_i32 b)
{
    return veorq_s32(a, b);
}

/// The low halves of a * b; *high receives the high ones.
static inline fv_i32 fv_u32_mul(fv_i32 a, uint32_t b, fv_i32 *high)
{
    const uint32x4_t x = vreinterpretq_u32_s32(a), factor = vdupq_n_u32(b);
    const uint32x4_t first = vreinterpretq_u32_u64(vmull_u32(vget_low_u32(x), vget_low_u32(factor)));
    const uint32x4_t last = vreinterpretq_u32_u64(vmull_high_u32(x, factor));
    *high = vreinterpretq_s32_u32(vuzp2q_u32(first, last));
    return vreinterpretq_s32_u32(vuzp1q_u32(first, last));
}

/// Bit i: lane i of a is at least b.
static inline uint32_t fv_u32_at_least(fv_i32 a, uint32_t b)
{
    return fv_bits(vcgeq_u32(vreinterpretq_u32_s32(a), vdupq_n_u32(b)));
}

#endif
