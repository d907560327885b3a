// SPDX-License-Identifier: Apache-2.0
// kernels/common/bytes.h - 8-bit integers with scales as f32. Included after an ISA's vec.h.
//
// One FMA makes (q - 128) * scale of a float that is q and a constant: (constant + q) * scale - (constant + 128) *
// scale. Two ways to such a float:
//
// A byte that is moved to bits 8 to 15 of the float 2^15 is one without a conversion, 2^15 + q. The subtrahend is
// exact, as scales have 15 bits and 2^15 + 128 has nine. Emerald Rapids, AVX-512, one row from memory: 1.12.
//
// Zen 4 takes longer to move bytes under a mask than to convert them, on ports that FMAs do not use. With FV_HALVES
// they are converted, and the constant is 0. (widen_s8, which stores, gains at most 1 %.)
#ifndef FOVEA_KERNELS_COMMON_BYTES_H
#define FOVEA_KERNELS_COMMON_BYTES_H

#include "kernels/fault.h"

/// The constant and p[column] to p[column + FV_LANES - 1].
static inline fv_f32 bytes_load(const uint8_t *p, int column)
{
#ifdef FV_HALVES
    return fv_load_u8(p + column);
#else
    return fv_load_raised(p, column);
#endif
}

/// What a byte of 128 is worth, to be subtracted.
static inline fv_f32 bytes_zero(fv_f32 scale)
{
#ifdef FV_HALVES
    return fv_mul(scale, fv_set1(FOVEA_FAULT_IS(S8_ZERO_POINT) ? -127.0f : -128.0f));
#else
    return fv_mul(scale, fv_set1(FOVEA_FAULT_IS(S8_ZERO_POINT) ? -32895.0f : -32896.0f));
#endif
}

#endif
