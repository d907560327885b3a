// SPDX-License-Identifier: Apache-2.0
// kernels/common/philox.h - Philox4x32-10 of a counter in each lane: docs/numerics.md section 6.
//
// Included after an ISA's vec_u32.h. Two 32 x 32 bit products per round are most of the work; the round keys are the
// same for all lanes.
#ifndef FOVEA_KERNELS_COMMON_PHILOX_H
#define FOVEA_KERNELS_COMMON_PHILOX_H

#include "kernels/common/unroll.h"
#include "kernels/fault.h"

/// c becomes the four words of the counters c under a key of two words.
static inline void fv_philox(fv_i32 c[4], const uint32_t key[2])
{
    enum { ROUNDS = 10 };
    uint32_t k[2] = {key[0], key[1]};
    FV_UNROLL
    for (int i = 0; i < (FOVEA_FAULT_IS(PHILOX_9_ROUNDS) ? ROUNDS - 1 : ROUNDS); i++) {
        fv_i32 a_high, b_high;
        const fv_i32 a_low = fv_u32_mul(c[0], UINT32_C(0xD2511F53), &a_high);
        const fv_i32 b_low = fv_u32_mul(c[2], UINT32_C(0xCD9E8D57), &b_high);
        c[0] = fv_u32_xor(fv_u32_xor(b_high, c[1]), fv_u32_set1(k[0]));
        c[1] = b_low;
        c[2] = fv_u32_xor(fv_u32_xor(a_high, c[3]), fv_u32_set1(k[1]));
        c[3] = a_low;
        k[0] += UINT32_C(0x9E3779B9);
        k[1] += UINT32_C(0xBB67AE85);
    }
}

#endif
