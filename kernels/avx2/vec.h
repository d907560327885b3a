// SPDX-License-Identifier: Apache-2.0
// kernels/avx2/vec.h - the vector operations used by kernels/common, on AVX2 with FMA and F16C.
//
// Every function is a few instructions at most and rounds once, to nearest-even. Lane i of a vector is element i in
// memory. A mask is a vector whose lanes are all ones or all zeros.
#ifndef FOVEA_KERNELS_AVX2_VEC_H
#define FOVEA_KERNELS_AVX2_VEC_H

#if !defined(__AVX2__) || !defined(__FMA__) || !defined(__F16C__)
#error "compile with -mavx2 -mfma -mf16c"
#endif

#include "kernels/kernel.h"

#include <immintrin.h>
#include <sleef.h>

#define FV_LANES 8
#define FV_VECS (16 / FV_LANES)
#define FV_REGISTERS 16
#define FV_NAME(stem) fovea_##stem##_avx2

typedef __m256 fv_f32;
typedef __m256i fv_i32;
typedef __m256 fv_mask;

// ---- Memory ----------------------------------------------------------------------------------------------------

static inline fv_f32 fv_load(const float *p)
{
    return _mm256_loadu_ps(p);
}

static inline fv_f32 fv_load_bf16(const uint16_t *p)
{
    return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(_mm_loadu_si128((const __m128i *)p)), 16));
}

static inline fv_f32 fv_load_f16(const uint16_t *p)
{
    return _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)p));
}

/// 2^15 + p[i] for the elements from `column` on: each byte becomes bits 8 to 15 of such a number.
static inline fv_f32 fv_load_raised(const uint8_t *p, int column)
{
    enum { NONE = -1 }; // zero
    const fv_i32 bytes = _mm256_broadcastq_epi64(_mm_loadl_epi64((const __m128i *)(p + column)));
    const fv_i32 from =
        _mm256_setr_epi8(NONE, 0, NONE, NONE, NONE, 1, NONE, NONE, NONE, 2, NONE, NONE, NONE, 3, NONE, NONE, //
                         NONE, 4, NONE, NONE, NONE, 5, NONE, NONE, NONE, 6, NONE, NONE, NONE, 7, NONE, NONE);
    return _mm256_castsi256_ps(_mm256_or_si256(_mm256_shuffle_epi8(bytes, from), _mm256_set1_epi32(0x47000000)));
}

static inline void fv_store(float *p, fv_f32 v)
{
    _mm256_storeu_ps(p, v);
}

/// As bfloat16, rounded to nearest-even: the upper half of the sum of the bits and of one less than half of what is cut
/// off, or half where the last place that stays is odd. A NaN is cut, and quiet.
static inline void fv_store_bf16(uint16_t *p, fv_f32 v)
{
    enum { QUIET = 0x40, LOWER_HALVES = 0xD8 };
    const fv_i32 bits = _mm256_castps_si256(v), upper = _mm256_srli_epi32(bits, 16);
    const fv_i32 carry = _mm256_add_epi32(_mm256_and_si256(upper, _mm256_set1_epi32(1)), _mm256_set1_epi32(0x7FFF));
    const fv_i32 rounded = _mm256_srli_epi32(_mm256_add_epi32(bits, carry), 16);
    const fv_i32 nan = _mm256_castps_si256(_mm256_cmp_ps(v, v, _CMP_UNORD_Q));
    const fv_i32 halves = _mm256_blendv_epi8(rounded, _mm256_or_si256(upper, _mm256_set1_epi32(QUIET)), nan);
    const fv_i32 packed = _mm256_permute4x64_epi64(_mm256_packus_epi32(halves, halves), LOWER_HALVES);
    _mm_storeu_si128((__m128i *)p, _mm256_castsi256_si128(packed));
}

static inline void fv_store_f16(uint16_t *p, fv_f32 v)
{
    _mm_storeu_si128((__m128i *)p, _mm256_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT));
}

/// The first n lanes, 0 <= n <= FV_LANES, as the integer mask that vmaskmovps takes.
static inline fv_i32 fv_mask_first(size_t n)
{
    return _mm256_cmpgt_epi32(_mm256_set1_epi32((int)n), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}

/// Reads n elements and nothing else (masked lanes do not fault); the other lanes are +0.
static inline fv_f32 fv_load_tail(const float *p, size_t n)
{
    return _mm256_maskload_ps(p, fv_mask_first(n));
}

/// By halves, because a masked store takes tens of cycles on AMD cores before Zen 5 (there it is faster: row-wise
/// operators on rows of 7 to 77 elements, by halves 0.90 to 0.99).
static inline void fv_store_tail(float *p, fv_f32 v, size_t n)
{
    if (n >= FV_LANES) {
        fv_store(p, v);
        return;
    }
    __m128 rest = _mm256_castps256_ps128(v);
    if (n & 4) {
        _mm_storeu_ps(p, rest);
        rest = _mm256_extractf128_ps(v, 1);
        p += 4;
    }
    if (n & 2) {
        _mm_storel_pi((__m64 *)p, rest);
        rest = _mm_movehl_ps(rest, rest);
        p += 2;
    }
    if (n & 1) {
        _mm_store_ss(p, rest);
    }
}

static inline fv_f32 fv_set1(float x)
{
    return _mm256_set1_ps(x);
}

static inline fv_f32 fv_zero(void)
{
    return _mm256_setzero_ps();
}

/// Splits pairs: of the elements of a, then b, those at even places and those at odd ones.
static inline void fv_deinterleave(fv_f32 a, fv_f32 b, fv_f32 *even, fv_f32 *odd)
{
    enum { EVEN = 0x88, ODD = 0xDD, HALVES = 0xD8 }; // 0 2 0 2, 1 3 1 3 of each half; then the inner quarters swapped
    const __m256d e = _mm256_castps_pd(_mm256_shuffle_ps(a, b, EVEN)),
                  o = _mm256_castps_pd(_mm256_shuffle_ps(a, b, ODD));
    *even = _mm256_castpd_ps(_mm256_permute4x64_pd(e, HALVES));
    *odd = _mm256_castpd_ps(_mm256_permute4x64_pd(o, HALVES));
}

/// The reverse: the pairs of even[0], odd[0] and so on.
static inline void fv_interleave(fv_f32 even, fv_f32 odd, fv_f32 *a, fv_f32 *b)
{
    enum { LOW = 0x20, HIGH = 0x31 };
    const fv_f32 low = _mm256_unpacklo_ps(even, odd), high = _mm256_unpackhi_ps(even, odd);
    *a = _mm256_permute2f128_ps(low, high, LOW);
    *b = _mm256_permute2f128_ps(low, high, HIGH);
}

// ---- Arithmetic ------------------------------------------------------------------------------------------------

static inline fv_f32 fv_add(fv_f32 a, fv_f32 b)
{
    return _mm256_add_ps(a, b);
}

static inline fv_f32 fv_sub(fv_f32 a, fv_f32 b)
{
    return _mm256_sub_ps(a, b);
}

static inline fv_f32 fv_mul(fv_f32 a, fv_f32 b)
{
    return _mm256_mul_ps(a, b);
}

static inline fv_f32 fv_div(fv_f32 a, fv_f32 b)
{
    return _mm256_div_ps(a, b);
}

static inline fv_f32 fv_sqrt(fv_f32 x)
{
    return _mm256_sqrt_ps(x);
}

/// a > b ? a : b, so b if either is a NaN or both are zeros: vmaxps is defined so, with a latency below the 4 to 8
/// cycles of compare and select.
static inline fv_f32 fv_max(fv_f32 a, fv_f32 b)
{
    return _mm256_max_ps(a, b);
}

/// a < b ? a : b, so b if either is a NaN.
static inline fv_f32 fv_min(fv_f32 a, fv_f32 b)
{
    return _mm256_min_ps(a, b);
}

/// The largest lane. Either none is a NaN, or all are; then one of them.
static inline float fv_largest(fv_f32 v)
{
    const __m128 four = _mm_max_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
    const __m128 two = _mm_max_ps(four, _mm_movehl_ps(four, four));
    return _mm_cvtss_f32(_mm_max_ss(two, _mm_movehdup_ps(two)));
}

/// a * b + c, rounded once.
static inline fv_f32 fv_fma(fv_f32 a, fv_f32 b, fv_f32 c)
{
    return _mm256_fmadd_ps(a, b, c);
}

// ---- Masks: comparisons are ordered, so false where either side is NaN ---------------------------------------------

static inline fv_mask fv_gt(fv_f32 a, fv_f32 b)
{
    return _mm256_cmp_ps(a, b, _CMP_GT_OQ);
}

static inline fv_mask fv_lt(fv_f32 a, fv_f32 b)
{
    return _mm256_cmp_ps(a, b, _CMP_LT_OQ);
}

/// !(a < b), so true if either is a NaN.
static inline fv_mask fv_not_lt(fv_f32 a, fv_f32 b)
{
    return _mm256_cmp_ps(a, b, _CMP_NLT_UQ);
}

static inline fv_mask fv_eq(fv_f32 a, fv_f32 b)
{
    return _mm256_cmp_ps(a, b, _CMP_EQ_OQ);
}

/// Bit i becomes lane i; bits past the lanes are ignored.
static inline fv_mask fv_mask_bits(uint32_t bits)
{
    const fv_i32 bit = _mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128);
    return _mm256_castsi256_ps(_mm256_cmpeq_epi32(_mm256_and_si256(_mm256_set1_epi32((int)bits), bit), bit));
}

/// The inverse: lane i becomes bit i.
static inline uint32_t fv_bits(fv_mask mask)
{
    return (uint32_t)_mm256_movemask_ps(mask);
}

static inline fv_mask fv_mask_and(fv_mask a, fv_mask b)
{
    return _mm256_and_ps(a, b);
}

/// mask ? a : b, lane by lane.
static inline fv_f32 fv_select(fv_mask mask, fv_f32 a, fv_f32 b)
{
    return _mm256_blendv_ps(b, a, mask);
}

/// mask ? a * b + c : c
static inline fv_f32 fv_fma_masked(fv_mask mask, fv_f32 a, fv_f32 b, fv_f32 c)
{
    return fv_select(mask, fv_fma(a, b, c), c);
}

/// x < border ? c : a - b
static inline fv_f32 fv_sub_from(fv_f32 x, float border, fv_f32 a, fv_f32 b, fv_f32 c)
{
    return fv_select(fv_not_lt(x, fv_set1(border)), fv_sub(a, b), c);
}

// ---- Bits of the format ------------------------------------------------------------------------------------------

static inline fv_f32 fv_abs(fv_f32 x)
{
    return _mm256_andnot_ps(_mm256_set1_ps(-0.0f), x);
}

static inline fv_f32 fv_copysign(fv_f32 magnitude, fv_f32 sign)
{
    const fv_f32 sign_bit = _mm256_set1_ps(-0.0f);
    return _mm256_or_ps(_mm256_andnot_ps(sign_bit, magnitude), _mm256_and_ps(sign_bit, sign));
}

/// Nearest integer, ties to even; INT32_MIN for a NaN and on overflow.
static inline fv_i32 fv_to_int(fv_f32 x)
{
    return _mm256_cvtps_epi32(x);
}

/// x - i for i = fv_to_int(x), |x| < 2^31 or NaN.
static inline fv_f32 fv_sub_int(fv_f32 x, fv_i32 i)
{
    return fv_sub(x, _mm256_cvtepi32_ps(i));
}

/// Adds i to the exponent field of p: an integer addition of i * 2^23 to its bits, wrapping.
static inline fv_f32 fv_add_exponent(fv_f32 p, fv_i32 i)
{
    return _mm256_castsi256_ps(_mm256_add_epi32(_mm256_castps_si256(p), _mm256_slli_epi32(i, 23)));
}

/// p * 2^i, which must be a normal number or NaN, for i = fv_to_int(x), r = x - i.
static inline fv_f32 fv_scale(fv_f32 p, fv_f32 x, fv_f32 r)
{
    (void)r;
    return fv_add_exponent(p, fv_to_int(x));
}

// ---- Functions: SLEEF's deterministic forms, the same bits on every ISA --------------------------------------------

static inline fv_f32 fv_tanh(fv_f32 x)
{
    return Sleef_finz_tanhf8_u10avx2(x);
}

static inline fv_f32 fv_sin(fv_f32 x)
{
    return Sleef_finz_sinf8_u10avx2(x);
}

static inline fv_f32 fv_cos(fv_f32 x)
{
    return Sleef_finz_cosf8_u10avx2(x);
}

static inline fv_f32 fv_ln(fv_f32 x)
{
    return Sleef_finz_logf8_u10avx2(x);
}

#include "kernels/common/vec_x86.h"

#endif
