// SPDX-License-Identifier: Apache-2.0
// kernels/neon/vec.h - the vector operations used by kernels/common, on Armv8-A Advanced SIMD (4 lanes, 64-bit state
// only).
//
// All arithmetic is IEEE-754 and rounds once. AArch64 is required for vdivq, vsqrtq and vcvtnq, which 32-bit NEON
// lacks, and because 32-bit NEON flushes denormals.
#ifndef FOVEA_KERNELS_NEON_VEC_H
#define FOVEA_KERNELS_NEON_VEC_H

#if !defined(__aarch64__) || !defined(__ARM_NEON)
#error "kernels/neon needs AArch64 with Advanced SIMD"
#endif

#include "kernels/kernel.h"

#include <arm_neon.h>
#include <sleef.h>

#define FV_LANES 4
#define FV_VECS (FOVEA_PANEL / FV_LANES)
#define FV_REGISTERS 32
#define FV_NAME(stem) fovea_##stem##_neon

typedef float32x4_t fv_f32;
typedef int32x4_t fv_i32;
typedef uint32x4_t fv_mask;  // all ones or all zeros in each lane
typedef float32x4_t fv_term; // a constant that fv_fma_term adds
typedef float fv_one;        // a number that fv_fma_one multiplies by: one lane of a register, which FMLA takes as well

#define FV_TERM(c)                                                                                                     \
    {                                                                                                                  \
        c, c, c, c                                                                                                     \
    }

// ---- Memory ----------------------------------------------------------------------------------------------------

static inline fv_f32 fv_set1(float x)
{
    return vdupq_n_f32(x);
}

static inline fv_f32 fv_zero(void)
{
    return vdupq_n_f32(0.0f);
}

static inline fv_f32 fv_load(const float *p)
{
    return vld1q_f32(p);
}

// By ZIP with zeros rather than by a shift, which N1 and V1 execute on half of their pipes.
static inline fv_f32 fv_load_bf16(const uint16_t *p)
{
    const uint16x8_t zero = vdupq_n_u16(0);
    return vreinterpretq_f32_u16(vzip1q_u16(zero, vcombine_u16(vld1_u16(p), vget_low_u16(zero))));
}

static inline fv_f32 fv_load_f16(const uint16_t *p)
{
    return vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16(p)));
}

/// 2^15 + p[i] for the elements from `column` on, a multiple of 4, of 16 bytes at p. Each byte becomes bits 8 to 15 of
/// such a number: two operations move 16 of them to the upper halves of 16-bit lanes, one more each four.
static inline fv_f32 fv_load_raised(const uint8_t *p, int column)
{
    const uint8x16_t zero = vdupq_n_u8(0), bytes = vld1q_u8(p);
    const uint16x8_t upper = vreinterpretq_u16_u8(column < 8 ? vzip1q_u8(zero, bytes) : vzip2q_u8(zero, bytes));
    const uint16x8_t number = vdupq_n_u16(0x4700);
    return vreinterpretq_f32_u16(column % 8 == 0 ? vzip1q_u16(upper, number) : vzip2q_u16(upper, number));
}

static inline void fv_store(float *p, fv_f32 v)
{
    vst1q_f32(p, v);
}

// As bfloat16, rounded to nearest-even: the upper half of the sum of the bits and of one less than half of what is cut
// off, or half where the last place that stays is odd. A NaN is cut, and quiet.
static inline void fv_store_bf16(uint16_t *p, fv_f32 v)
{
    const uint32x4_t bits = vreinterpretq_u32_f32(v), upper = vshrq_n_u32(bits, 16);
    const uint32x4_t carry = vaddq_u32(vandq_u32(upper, vdupq_n_u32(1)), vdupq_n_u32(0x7FFF));
    const uint32x4_t rounded = vshrq_n_u32(vaddq_u32(bits, carry), 16);
    vst1_u16(p, vmovn_u32(vbslq_u32(vceqq_f32(v, v), rounded, vorrq_u32(upper, vdupq_n_u32(0x40)))));
}

static inline void fv_store_f16(uint16_t *p, fv_f32 v)
{
    vst1_u16(p, vreinterpret_u16_f16(vcvt_f16_f32(v)));
}

// n <= FV_LANES elements; the other lanes are +0 and their memory is not touched. NEON has no masked load, so a tail is
// at most two loads, where k loops over a last vector have one in each step, and branches on n, which are the same ones
// in all steps.
static inline fv_f32 fv_load_tail(const float *p, size_t n)
{
    const fv_f32 none = vdupq_n_f32(0.0f);
    if (n >= FV_LANES) {
        return vld1q_f32(p);
    }
    if (n < 2) {
        return n == 0 ? none : vld1q_lane_f32(p, none, 0);
    }
    const fv_f32 pair = vcombine_f32(vld1_f32(p), vget_low_f32(none));
    return n == 2 ? pair : vld1q_lane_f32(p + 2, pair, 2);
}

static inline void fv_store_tail(float *p, fv_f32 v, size_t n)
{
    if (n >= FV_LANES) {
        vst1q_f32(p, v);
        return;
    }
    if (n >= 2) {
        vst1_f32(p, vget_low_f32(v));
    }
    if (n == 3) {
        vst1q_lane_f32(p + 2, v, 2);
    } else if (n == 1) {
        vst1q_lane_f32(p, v, 0);
    }
}

// Splits pairs: of the elements of a, then b, those at even places and those at odd ones.
static inline void fv_deinterleave(fv_f32 a, fv_f32 b, fv_f32 *even, fv_f32 *odd)
{
    *even = vuzp1q_f32(a, b);
    *odd = vuzp2q_f32(a, b);
}

// The reverse: the pairs of even[0], odd[0] and so on.
static inline void fv_interleave(fv_f32 even, fv_f32 odd, fv_f32 *a, fv_f32 *b)
{
    *a = vzip1q_f32(even, odd);
    *b = vzip2q_f32(even, odd);
}

// ---- Arithmetic ------------------------------------------------------------------------------------------------

static inline fv_f32 fv_add(fv_f32 a, fv_f32 b)
{
    return vaddq_f32(a, b);
}

static inline fv_f32 fv_sub(fv_f32 a, fv_f32 b)
{
    return vsubq_f32(a, b);
}

static inline fv_f32 fv_mul(fv_f32 a, fv_f32 b)
{
    return vmulq_f32(a, b);
}

static inline fv_f32 fv_div(fv_f32 a, fv_f32 b)
{
    return vdivq_f32(a, b);
}

static inline fv_f32 fv_sqrt(fv_f32 x)
{
    return vsqrtq_f32(x);
}

// a * b + c, rounded once (vmlaq rounds twice and is never right here).
static inline fv_f32 fv_fma(fv_f32 a, fv_f32 b, fv_f32 c)
{
    return vfmaq_f32(c, a, b);
}

// By LDR on a load port; a compiler's LD1R also takes a slot of an FMA pipe (clang, 6 rows, 17.0 cycles on N1).
static inline fv_one fv_load_one(const float *p)
{
    float x = *p;
    __asm__("" : "+w"(x));
    return x;
}

// A barrier that loads do not cross: gcc otherwise loads many elements before they are multiplied by, and spills sums
// (6 rows of 4 vectors, 13.0 cycles on N1 for 12.0). One for three rows keeps three elements in flight, which in-order
// cores need.
static inline void fv_fence(void)
{
    __asm__ volatile("" ::: "memory");
}

// a * b + c for a number a.
static inline fv_f32 fv_fma_one(fv_one a, fv_f32 b, fv_f32 c)
{
    return vfmaq_n_f32(c, b, a);
}

// a * b + *c. FMLA overwrites what it adds to, so a constant in a register must be copied, by an operation of an FMA
// pipe. A load takes none. The operands keep gcc from loading once and copying all the same; clang does so, and cores
// of Apple copy for nothing.
static inline fv_f32 fv_fma_term(fv_f32 a, fv_f32 b, const fv_term *c)
{
#if defined(__clang__)
    return fv_fma(a, b, *c);
#else
    fv_f32 sum;
    __asm__("ldr %q0, %1" : "=w"(sum) : "m"(*c), "w"(a), "w"(b));
    return fv_fma(a, b, sum);
#endif
}

// a * b + the vector at c, which is loaded anew likewise.
static inline fv_f32 fv_fma_load(fv_f32 a, fv_f32 b, const float *c)
{
#if defined(__clang__)
    return fv_fma(a, b, fv_load(c));
#else
    fv_f32 sum;
    __asm__("ldr %q0, %1" : "=w"(sum) : "m"(*(const float(*)[FV_LANES])c), "w"(a));
    return fv_fma(a, b, sum);
#endif
}

// x < least ? least : x, so a NaN passes; least is neither a NaN nor a zero.
static inline fv_f32 fv_at_least(fv_f32 x, float least)
{
    return vmaxq_f32(x, vdupq_n_f32(least));
}

// x > most ? most : x, likewise.
static inline fv_f32 fv_at_most(fv_f32 x, float most)
{
    return vminq_f32(x, vdupq_n_f32(most));
}

// ---- Masks -----------------------------------------------------------------------------------------------------
// Comparisons are false where an operand is NaN.

static inline fv_mask fv_gt(fv_f32 a, fv_f32 b)
{
    return vcgtq_f32(a, b);
}

static inline fv_mask fv_lt(fv_f32 a, fv_f32 b)
{
    return vcltq_f32(a, b);
}

// !(a < b), so true if either is a NaN.
static inline fv_mask fv_not_lt(fv_f32 a, fv_f32 b)
{
    return vmvnq_u32(vcltq_f32(a, b));
}

static inline fv_mask fv_eq(fv_f32 a, fv_f32 b)
{
    return vceqq_f32(a, b);
}

// Bit i of bits becomes lane i; the bits from FV_LANES on are ignored.
static inline fv_mask fv_mask_bits(uint32_t bits)
{
    static const uint32_t lane_bit[FV_LANES] = {1, 2, 4, 8};
    return vtstq_u32(vdupq_n_u32(bits), vld1q_u32(lane_bit));
}

// The inverse: lane i becomes bit i.
static inline uint32_t fv_bits(fv_mask mask)
{
    static const uint32_t lane_bit[FV_LANES] = {1, 2, 4, 8};
    return vaddvq_u32(vandq_u32(mask, vld1q_u32(lane_bit)));
}

static inline fv_mask fv_mask_and(fv_mask a, fv_mask b)
{
    return vandq_u32(a, b);
}

// mask ? a : b. clang 14 makes FMAX of fv_select(fv_lt(x, 0), 0, x), which turns -0 into +0 (LLVM 19 does not); it must
// not see that the mask is a comparison.
static inline fv_f32 fv_select(fv_mask mask, fv_f32 a, fv_f32 b)
{
#if defined(__clang__)
    __asm__("" : "+w"(mask));
#endif
    return vbslq_f32(mask, a, b);
}

// a > b ? a : b, so b if either is a NaN or both are zeros; FMAX and FMAXNM are neither.
static inline fv_f32 fv_max(fv_f32 a, fv_f32 b)
{
    return fv_select(fv_gt(a, b), a, b);
}

// The larger one, or b if a is a quiet NaN; b is no NaN. Of two zeros it is either.
static inline fv_f32 fv_most(fv_f32 a, fv_f32 b)
{
    return vmaxnmq_f32(a, b);
}

// The largest lane. Either none is a NaN, or all are; then one of them.
static inline float fv_largest(fv_f32 v)
{
    return vmaxvq_f32(v);
}

// mask ? a * b + c : c
static inline fv_f32 fv_fma_masked(fv_mask mask, fv_f32 a, fv_f32 b, fv_f32 c)
{
    return fv_select(mask, fv_fma(a, b, c), c);
}

// x < border ? c : a - b
static inline fv_f32 fv_sub_from(fv_f32 x, float border, fv_f32 a, fv_f32 b, fv_f32 c)
{
    return fv_select(fv_lt(x, fv_set1(border)), c, fv_sub(a, b));
}

// ---- Sign and exponent -----------------------------------------------------------------------------------------

static inline fv_f32 fv_abs(fv_f32 x)
{
    return vabsq_f32(x);
}

static inline fv_f32 fv_copysign(fv_f32 magnitude, fv_f32 sign)
{
    return vbslq_f32(vdupq_n_u32(0x80000000u), sign, magnitude);
}

// The nearest integer, ties to even. A NaN gives 0 here and INT_MIN on x86. That is harmless: in exp2 the polynomial
// is NaN by then (r = x - i), and fv_add_exponent adds i * 2^23 mod 2^32, which is 0 for both.
static inline fv_i32 fv_to_int(fv_f32 x)
{
    return vcvtnq_s32_f32(x);
}

// x - i for i = fv_to_int(x), |x| < 2^31 or a NaN.
static inline fv_f32 fv_sub_int(fv_f32 x, fv_i32 i)
{
    return fv_sub(x, vcvtq_f32_s32(i));
}

// p * 2^i by an integer addition to the bits of p, modulo 2^32.
static inline fv_f32 fv_add_exponent(fv_f32 p, fv_i32 i)
{
    const uint32x4_t exponent = vshlq_n_u32(vreinterpretq_u32_s32(i), 23);
    return vreinterpretq_f32_u32(vaddq_u32(vreinterpretq_u32_f32(p), exponent));
}

// p * 2^i, a normal number or a NaN, for i = fv_to_int(x), r = x - i.
static inline fv_f32 fv_scale(fv_f32 p, fv_f32 x, fv_f32 r)
{
    (void)r;
    return fv_add_exponent(p, fv_to_int(x));
}

// ---- Functions -------------------------------------------------------------------------------------------------
// SLEEF's deterministic forms: the bits of its scalar FMA forms, which the scalar kernels call.

static inline fv_f32 fv_tanh(fv_f32 x)
{
    return Sleef_finz_tanhf4_u10advsimd(x);
}

static inline fv_f32 fv_sin(fv_f32 x)
{
    return Sleef_finz_sinf4_u10advsimd(x);
}

static inline fv_f32 fv_cos(fv_f32 x)
{
    return Sleef_finz_cosf4_u10advsimd(x);
}

static inline fv_f32 fv_ln(fv_f32 x)
{
    return Sleef_finz_logf4_u10advsimd(x);
}

#endif
