// SPDX-License-Identifier: Apache-2.0
// kernels/common/vec_x86.h - the operations of a vec.h that NEON has instructions of its own for, or needs written in
// another way, in terms of the others. Included by the vec.h of AVX2 and of AVX-512, at their end.
#ifndef FOVEA_KERNELS_COMMON_VEC_X86_H
#define FOVEA_KERNELS_COMMON_VEC_X86_H

typedef float fv_term; ///< a constant that fv_fma_term adds
typedef fv_f32 fv_one; ///< a number that fv_fma_one multiplies by

#define FV_TERM(c) (c)

/// The larger one, or b if a is a quiet NaN; b is no NaN. Of two zeros it is either.
static inline fv_f32 fv_most(fv_f32 a, fv_f32 b)
{
    return fv_max(a, b);
}

/// x < least ? least : x, so a NaN passes; least is neither a NaN nor a zero.
static inline fv_f32 fv_at_least(fv_f32 x, float least)
{
    return fv_max(fv_set1(least), x);
}

/// x > most ? most : x, likewise.
static inline fv_f32 fv_at_most(fv_f32 x, float most)
{
    return fv_min(fv_set1(most), x);
}

static inline fv_one fv_load_one(const float *p)
{
    return fv_set1(*p);
}

/// For NEON, where compilers load too early.
static inline void fv_fence(void)
{
}

/// a * b + c for a number a.
static inline fv_f32 fv_fma_one(fv_one a, fv_f32 b, fv_f32 c)
{
    return fv_fma(a, b, c);
}

/// a * b + the vector at c
static inline fv_f32 fv_fma_load(fv_f32 a, fv_f32 b, const float *c)
{
    return fv_fma(a, b, fv_load(c));
}

/// a * b + *c
static inline fv_f32 fv_fma_term(fv_f32 a, fv_f32 b, const fv_term *c)
{
    return fv_fma(a, b, fv_set1(*c));
}

/// Transposes the 4 x 4 matrix in rows x[0..3], in each 128-bit lane.
static inline void fv_transpose_256(__m256 x[4])
{
    const __m256d low01 = _mm256_castps_pd(_mm256_unpacklo_ps(x[0], x[1]));
    const __m256d high01 = _mm256_castps_pd(_mm256_unpackhi_ps(x[0], x[1]));
    const __m256d low23 = _mm256_castps_pd(_mm256_unpacklo_ps(x[2], x[3]));
    const __m256d high23 = _mm256_castps_pd(_mm256_unpackhi_ps(x[2], x[3]));
    x[0] = _mm256_castpd_ps(_mm256_unpacklo_pd(low01, low23));
    x[1] = _mm256_castpd_ps(_mm256_unpackhi_pd(low01, low23));
    x[2] = _mm256_castpd_ps(_mm256_unpacklo_pd(high01, high23));
    x[3] = _mm256_castpd_ps(_mm256_unpackhi_pd(high01, high23));
}

#endif
