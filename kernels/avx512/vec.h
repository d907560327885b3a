// SPDX-License-Identifier: Apache-2.0
// kernels/avx512/vec.h - the vector operations used by kernels/common, on AVX-512 (F, BW, DQ, VL).
//
// Every function is a few instructions at most and rounds once, to nearest-even. Lane i of a vector is element i in
// memory. A mask is a k register.
#ifndef FOVEA_KERNELS_AVX512_VEC_H
#define FOVEA_KERNELS_AVX512_VEC_H

#if !defined(__AVX512F__) || !defined(__AVX512BW__) || !defined(__AVX512DQ__) || !defined(__AVX512VL__) ||             \
    !defined(__FMA__)
#error "compile with -mavx512f -mavx512bw -mavx512dq -mavx512vl -mavx2 -mfma -mf16c"
#endif

#include "kernels/kernel.h"

#include <immintrin.h>
#include <sleef.h>

#define FV_LANES 16
#define FV_VECS (16 / FV_LANES)
#define FV_REGISTERS 32
#define FV_NAME(stem) fovea_##stem##_avx512

typedef __m512 fv_f32;
typedef __m512i fv_i32;
typedef __mmask16 fv_mask;

// ---- Memory ----------------------------------------------------------------------------------------------------

static inline fv_f32 fv_load(const float *p)
{
    return _mm512_loadu_ps(p);
}

static inline fv_f32 fv_load_bf16(const uint16_t *p)
{
    return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(_mm256_loadu_si256((const __m256i *)p)), 16));
}

static inline fv_f32 fv_load_f16(const uint16_t *p)
{
    return _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)p));
}

/// 2^15 + p[i] for the elements from `column` on: each byte becomes bits 8 to 15 of such a number, by one operation.
static inline fv_f32 fv_load_raised(const uint8_t *p, int column)
{
    const fv_i32 bytes = _mm512_broadcast_i32x4(_mm_loadu_si128((const __m128i *)(p + column)));
    const fv_i32 from = _mm512_slli_epi32(_mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15), 8);
    const __mmask64 second = 0x2222222222222222;
    return _mm512_castsi512_ps(_mm512_mask_shuffle_epi8(_mm512_set1_epi32(0x47000000), second, bytes, from));
}

/// The same as fv_load by two loads.
static inline fv_f32 fv_load_halves(const float *p)
{
    fv_f32 x;
    __asm__("vmovups %1, %t0\n\tvinsertf32x8 $1, %2, %0, %0" // which compilers make one load of
            : "=&v"(x)
            : "m"(*(const __m256_u *)(const void *)p), "m"(*(const __m256_u *)(const void *)(p + 8)));
    return x;
}

/// p[i], converted: two operations.
static inline fv_f32 fv_load_u8(const uint8_t *p)
{
    return _mm512_cvtepi32_ps(_mm512_cvtepu8_epi32(_mm_loadu_si128((const __m128i *)p)));
}

static inline void fv_store(float *p, fv_f32 v)
{
    _mm512_storeu_ps(p, v);
}

/// As bfloat16, rounded to nearest-even: the upper half of the sum of the bits and of one less than half of what is cut
/// off, or half where the last place that stays is odd. A NaN is cut, and quiet. (vcvtneps2bf16 of AVX512_BF16 takes
/// denormals for zeros.)
static inline void fv_store_bf16(uint16_t *p, fv_f32 v)
{
    enum { HALF = 0x8000, LAST = 0x10000, QUIET = 0x400000 };
    const fv_i32 bits = _mm512_castps_si512(v);
    const fv_i32 upper = _mm512_setr_epi32(0x30001, 0x70005, 0xB0009, 0xF000D, 0x130011, 0x170015, 0x1B0019, 0x1F001D,
                                           0, 0, 0, 0, 0, 0, 0, 0); // words 1, 3, 5 and so on to 31
    fv_i32 sum = _mm512_add_epi32(bits, _mm512_set1_epi32(HALF - 1));
    sum = _mm512_mask_add_epi32(sum, _mm512_test_epi32_mask(bits, _mm512_set1_epi32(LAST)), bits,
                                _mm512_set1_epi32(HALF));
    sum = _mm512_mask_or_epi32(sum, _mm512_cmp_ps_mask(v, v, _CMP_UNORD_Q), bits, _mm512_set1_epi32(QUIET));
    _mm256_storeu_si256((__m256i *)p, _mm512_castsi512_si256(_mm512_permutexvar_epi16(upper, sum)));
}

static inline void fv_store_f16(uint16_t *p, fv_f32 v)
{
    _mm256_storeu_si256((__m256i *)p, _mm512_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT));
}

/// The mask of the first n lanes, 0 <= n <= FV_LANES.
static inline fv_mask fv_mask_first(size_t n)
{
    return (fv_mask)((1u << n) - 1);
}

/// Reads n elements and nothing else (masked lanes do not fault); the other lanes are +0.
static inline fv_f32 fv_load_tail(const float *p, size_t n)
{
    return _mm512_maskz_loadu_ps(fv_mask_first(n), p);
}

static inline void fv_store_tail(float *p, fv_f32 v, size_t n)
{
    _mm512_mask_storeu_ps(p, fv_mask_first(n), v);
}

static inline fv_f32 fv_set1(float x)
{
    return _mm512_set1_ps(x);
}

static inline fv_f32 fv_zero(void)
{
    return _mm512_setzero_ps();
}

/// Splits pairs: of the elements of a, then b, those at even places and those at odd ones.
static inline void fv_deinterleave(fv_f32 a, fv_f32 b, fv_f32 *even, fv_f32 *odd)
{
    const fv_i32 places = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
    *even = _mm512_permutex2var_ps(a, places, b);
    *odd = _mm512_permutex2var_ps(a, _mm512_add_epi32(places, _mm512_set1_epi32(1)), b);
}

/// The reverse: the pairs of even[0], odd[0] and so on.
static inline void fv_interleave(fv_f32 even, fv_f32 odd, fv_f32 *a, fv_f32 *b)
{
    const fv_i32 places = _mm512_setr_epi32(0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
    *a = _mm512_permutex2var_ps(even, places, odd);
    *b = _mm512_permutex2var_ps(even, _mm512_add_epi32(places, _mm512_set1_epi32(8)), odd);
}

// ---- Arithmetic ------------------------------------------------------------------------------------------------

static inline fv_f32 fv_add(fv_f32 a, fv_f32 b)
{
    return _mm512_add_ps(a, b);
}

static inline fv_f32 fv_sub(fv_f32 a, fv_f32 b)
{
    return _mm512_sub_ps(a, b);
}

static inline fv_f32 fv_mul(fv_f32 a, fv_f32 b)
{
    return _mm512_mul_ps(a, b);
}

static inline fv_f32 fv_div(fv_f32 a, fv_f32 b)
{
    return _mm512_div_ps(a, b);
}

static inline fv_f32 fv_sqrt(fv_f32 x)
{
    return _mm512_sqrt_ps(x);
}

/// a > b ? a : b, so b if either is a NaN or both are zeros: vmaxps is defined so, with a latency below the 4 to 8
/// cycles of compare and select.
static inline fv_f32 fv_max(fv_f32 a, fv_f32 b)
{
    return _mm512_max_ps(a, b);
}

/// a < b ? a : b, so b if either is a NaN.
static inline fv_f32 fv_min(fv_f32 a, fv_f32 b)
{
    return _mm512_min_ps(a, b);
}

/// The largest lane. Either none is a NaN, or all are; then one of them. (clang assumes that _mm512_reduce_max_ps sees
/// no NaN.)
static inline float fv_largest(fv_f32 v)
{
    const __m256 eight = _mm256_max_ps(_mm512_castps512_ps256(v), _mm512_extractf32x8_ps(v, 1));
    const __m128 four = _mm_max_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
    const __m128 two = _mm_max_ps(four, _mm_movehl_ps(four, four));
    return _mm_cvtss_f32(_mm_max_ss(two, _mm_movehdup_ps(two)));
}

/// a * b + c, rounded once.
static inline fv_f32 fv_fma(fv_f32 a, fv_f32 b, fv_f32 c)
{
    return _mm512_fmadd_ps(a, b, c);
}

// ---- Masks: comparisons are ordered, so false where either side is NaN ---------------------------------------------

static inline fv_mask fv_gt(fv_f32 a, fv_f32 b)
{
    return _mm512_cmp_ps_mask(a, b, _CMP_GT_OQ);
}

static inline fv_mask fv_lt(fv_f32 a, fv_f32 b)
{
    return _mm512_cmp_ps_mask(a, b, _CMP_LT_OQ);
}

/// !(a < b), so true if either is a NaN.
static inline fv_mask fv_not_lt(fv_f32 a, fv_f32 b)
{
    return _mm512_cmp_ps_mask(a, b, _CMP_NLT_UQ);
}

static inline fv_mask fv_eq(fv_f32 a, fv_f32 b)
{
    return _mm512_cmp_ps_mask(a, b, _CMP_EQ_OQ);
}

/// Bit i becomes lane i; bits past the lanes are ignored.
static inline fv_mask fv_mask_bits(uint32_t bits)
{
    return (fv_mask)bits;
}

/// The inverse: lane i becomes bit i.
static inline uint32_t fv_bits(fv_mask mask)
{
    return mask;
}

static inline fv_mask fv_mask_and(fv_mask a, fv_mask b)
{
    return (fv_mask)(a & b);
}

/// mask ? a : b, lane by lane.
static inline fv_f32 fv_select(fv_mask mask, fv_f32 a, fv_f32 b)
{
    return _mm512_mask_blend_ps(mask, b, a);
}

/// mask ? a * b + c : c. One instruction, which gcc does not generate from fv_select(mask, fv_fma(a, b, c), c).
static inline fv_f32 fv_fma_masked(fv_mask mask, fv_f32 a, fv_f32 b, fv_f32 c)
{
    return _mm512_mask3_fmadd_ps(a, b, c, mask);
}

/// x < border ? c : a - b; the subtraction selects, too.
static inline fv_f32 fv_sub_from(fv_f32 x, float border, fv_f32 a, fv_f32 b, fv_f32 c)
{
    return _mm512_mask_sub_ps(c, fv_not_lt(x, fv_set1(border)), a, b);
}

// ---- Bits of the format ------------------------------------------------------------------------------------------

static inline fv_f32 fv_abs(fv_f32 x)
{
    return _mm512_andnot_ps(_mm512_set1_ps(-0.0f), x);
}

static inline fv_f32 fv_copysign(fv_f32 magnitude, fv_f32 sign)
{
    enum { FIRST_SELECTS = 0xCA }; // truth table of first ? second : third
    return _mm512_castsi512_ps(_mm512_ternarylogic_epi32(_mm512_castps_si512(_mm512_set1_ps(-0.0f)),
                                                         _mm512_castps_si512(sign), _mm512_castps_si512(magnitude),
                                                         FIRST_SELECTS));
}

/// Nearest integer, ties to even; INT32_MIN for a NaN and on overflow.
static inline fv_i32 fv_to_int(fv_f32 x)
{
    return _mm512_cvtps_epi32(x);
}

/// x - i for i = fv_to_int(x), |x| < 2^31 or NaN: one instruction that does not need i.
static inline fv_f32 fv_sub_int(fv_f32 x, fv_i32 i)
{
    enum { NEAREST_EVEN = 8 };
    (void)i;
    return _mm512_reduce_ps(x, NEAREST_EVEN);
}

/// Adds i to the exponent field of p: an integer addition of i * 2^23 to its bits, wrapping.
static inline fv_f32 fv_add_exponent(fv_f32 p, fv_i32 i)
{
    return _mm512_castsi512_ps(_mm512_add_epi32(_mm512_castps_si512(p), _mm512_slli_epi32(i, 23)));
}

/// p * 2^i, which must be a normal number or NaN, for i = fv_to_int(x), r = x - i.
static inline fv_f32 fv_scale(fv_f32 p, fv_f32 x, fv_f32 r)
{
    return _mm512_scalef_ps(p, _mm512_sub_ps(x, r));
}

// ---- Functions: SLEEF's deterministic forms, the same bits on every ISA --------------------------------------------

static inline fv_f32 fv_tanh(fv_f32 x)
{
    return Sleef_finz_tanhf16_u10avx512f(x);
}

static inline fv_f32 fv_sin(fv_f32 x)
{
    return Sleef_finz_sinf16_u10avx512f(x);
}

static inline fv_f32 fv_cos(fv_f32 x)
{
    return Sleef_finz_cosf16_u10avx512f(x);
}

static inline fv_f32 fv_ln(fv_f32 x)
{
    return Sleef_finz_logf16_u10avx512f(x);
}

#include "kernels/common/vec_x86.h"

#endif
