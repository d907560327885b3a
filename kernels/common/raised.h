// SPDX-License-Identifier: Apache-2.0
// kernels/common/raised.h - 8-bit integers with scales as f32. Included after an ISA's vec.h.
//
// Converting an integer and multiplying it by its scale are two operations besides widening a byte. A byte that is
// moved to bits 8 to 15 of the float 2^15 is a float without a conversion, 2^15 + q, and one FMA makes (q - 128) *
// scale of it: (2^15 + q) * scale - (2^15 + 128) * scale, where the subtrahend is exact, as scales have 15 bits and
// 2^15 + 128 has nine. Emerald Rapids, AVX-512, one row from memory: 1.12.
// Zen 4 takes longer to move bytes under a mask than to convert them, on ports that FMAs do not use (gemm_s8_f32_cvt).
#ifndef FOVEA_KERNELS_COMMON_RAISED_H
#define FOVEA_KERNELS_COMMON_RAISED_H

#include "kernels/fault.h"

/// What a raised zero is worth, to be subtracted.
static inline fv_f32 raised_zero(fv_f32 scale)
{
    return fv_mul(scale, fv_set1(FOVEA_FAULT_IS(S8_ZERO_POINT) ? -32895.0f : -32896.0f));
}

#endif
