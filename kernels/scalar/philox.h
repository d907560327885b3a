// SPDX-License-Identifier: Apache-2.0
// kernels/scalar/philox.h - Philox4x32-10, the definition of docs/numerics.md section 6.
//
// Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC 2011.
#ifndef FOVEA_KERNELS_SCALAR_PHILOX_H
#define FOVEA_KERNELS_SCALAR_PHILOX_H

#include <stdint.h>

/// The four words of `counter` under a key of two words.
static inline void scalar_philox(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4])
{
    enum { ROUNDS = 10 };
    uint32_t c[4] = {counter[0], counter[1], counter[2], counter[3]}, k[2] = {key[0], key[1]};
    for (int i = 0; i < ROUNDS; i++) {
        const uint64_t a = UINT64_C(0xD2511F53) * c[0], b = UINT64_C(0xCD9E8D57) * c[2];
        c[0] = (uint32_t)(b >> 32) ^ c[1] ^ k[0];
        c[1] = (uint32_t)b;
        c[2] = (uint32_t)(a >> 32) ^ c[3] ^ k[1];
        c[3] = (uint32_t)a;
        k[0] += UINT32_C(0x9E3779B9);
        k[1] += UINT32_C(0xBB67AE85);
    }
    for (int i = 0; i < 4; i++) {
        out[i] = c[i];
    }
}

#endif
