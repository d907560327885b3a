// SPDX-License-Identifier: Apache-2.0
// kernels/avx2/vec_u32.h - vectors of unsigned 32-bit integers, for Philox, on AVX2.
#ifndef FOVEA_KERNELS_AVX2_VEC_U32_H
#define FOVEA_KERNELS_AVX2_VEC_U32_H

#include "kernels/avx2/vec.h"

static inline fv_i32 fv_u32_set1(uint32_t x)
{
    return _mm256_set1_epi32((int)x);
}

static inline fv_i32 fv_u32_load(const uint32_t *p)
{
    return _mm256_loadu_si256((const __m256i *)(const void *)p);
}

static inline fv_i32 fv_u32_add(fv_i32 a, fv_i32 b)
{
    return _mm256_add_epi32(a, b);
}

static inline fv_i32 fv_u32_xor(fv_i32 a, fv_i32 b)
{
    return _mm256_xor_si256(a, b);
}

/// The low halves of a * b; *high receives the high ones. The instruction multiplies the even lanes.
static inline fv_i32 fv_u32_mul(fv_i32 a, uint32_t b, fv_i32 *high)
{
    enum { ODD = 0xAA };
    const fv_i32 factor = fv_u32_set1(b);
    const fv_i32 even = _mm256_mul_epu32(a, factor), odd = _mm256_mul_epu32(_mm256_srli_epi64(a, 32), factor);
    *high = _mm256_blend_epi32(_mm256_srli_epi64(even, 32), odd, ODD);
    return _mm256_blend_epi32(even, _mm256_slli_epi64(odd, 32), ODD);
}

/// Bit i: lane i of a is at least b.
static inline uint32_t fv_u32_at_least(fv_i32 a, uint32_t b)
{
    const fv_i32 most = _mm256_max_epu32(a, fv_u32_set1(b));
    return (uint32_t)_mm256_movemask_ps(_mm256_castsi256_ps(_mm256_cmpeq_epi32(most, a)));
}

#endif
