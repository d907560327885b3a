// SPDX-License-Identifier: Apache-2.0
// kernels/avx512/vec_u32.h - vectors of unsigned 32-bit integers, for Philox, on AVX-512.
#ifndef FOVEA_KERNELS_AVX512_VEC_U32_H
#define FOVEA_KERNELS_AVX512_VEC_U32_H

#include "kernels/avx512/vec.h"

static inline fv_i32 fv_u32_set1(uint32_t x)
{
    return _mm512_set1_epi32((int)x);
}

static inline fv_i32 fv_u32_load(const uint32_t *p)
{
    return _mm512_loadu_si512(p);
}

static inline fv_i32 fv_u32_add(fv_i32 a, fv_i32 b)
{
    return _mm512_add_epi32(a, b);
}

static inline fv_i32 fv_u32_xor(fv_i32 a, fv_i32 b)
{
    return _mm512_xor_si512(a, b);
}

/// The low halves of a * b; *high receives the high ones. The instruction multiplies the even lanes.
static inline fv_i32 fv_u32_mul(fv_i32 a, uint32_t b, fv_i32 *high)
{
    enum { ODD = 0xAAAA };
    const fv_i32 factor = fv_u32_set1(b);
    const fv_i32 even = _mm512_mul_epu32(a, factor), odd = _mm512_mul_epu32(_mm512_srli_epi64(a, 32), factor);
    *high = _mm512_mask_blend_epi32(ODD, _mm512_srli_epi64(even, 32), odd);
    return _mm512_mask_blend_epi32(ODD, even, _mm512_slli_epi64(odd, 32));
}

/// Bit i: lane i of a is at least b.
static inline uint32_t fv_u32_at_least(fv_i32 a, uint32_t b)
{
    return _mm512_cmpge_epu32_mask(a, fv_u32_set1(b));
}

#endif
