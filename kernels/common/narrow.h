// SPDX-License-Identifier: Apache-2.0
// kernels/common/narrow.h - f32 as elements of 16 bits: the one loop of both types. Included after an ISA's vec.h.
#ifndef FOVEA_KERNELS_COMMON_NARROW_H
#define FOVEA_KERNELS_COMMON_NARROW_H

#include "kernels/fault.h"
#include <string.h>

/// Stores a vector, each lane rounded to nearest, ties to even.
typedef void fv_store_narrow(uint16_t *p, fv_f32 v);

/// Neither reads nor writes beyond n elements. The least normal number of the type is there for a fault alone.
static inline __attribute__((always_inline)) void fv_narrow(size_t n, const float *src, uint16_t *dst,
                                                            fv_store_narrow *store, float least_normal)
{
    size_t i = 0;
    for (; i + FV_LANES <= n; i += FV_LANES) {
        fv_f32 v = fv_load(src + i);
        if (FOVEA_FAULT_IS(NARROW_TIES_AWAY)) {
            v = fv_mul(v, fv_set1(0x1.000002p+0f));
        }
        if (FOVEA_FAULT_IS(NARROW_FLUSHES)) {
            v = fv_select(fv_lt(fv_abs(v), fv_set1(least_normal)), fv_zero(), v);
        }
        store(dst + i, v);
    }
    if (i < n) {
        uint16_t last[FV_LANES];
        store(last, fv_load_tail(src + i, n - i));
        memcpy(dst + i, last, (FOVEA_FAULT_IS(NARROW_STORES_PAST_N) ? FV_LANES : n - i) * sizeof *last);
    }
}

#endif
