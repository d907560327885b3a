// SPDX-License-Identifier: Apache-2.0
// fovea/type.h - the types of elements. Arithmetic is always that of f32; packed weights, and caches of keys and
// values, may lie in memory as 16 bits, packed weights also as 8.
#ifndef FOVEA_TYPE_H
#define FOVEA_TYPE_H

#include <stddef.h>

enum fovea_type {
    FOVEA_F32 = 0,
    FOVEA_BF16 = 1, ///< bfloat16: the upper 16 bits of an f32
    FOVEA_F16 = 2,  ///< IEEE 754 binary16
    /// Of packed weights alone: an integer of 8 bits times the scale, an f32, that each 64 steps of k of a column share
    FOVEA_S8 = 3,
};

/// Bytes of an element, of FOVEA_S8 without the scales.
static inline size_t fovea_type_bytes(enum fovea_type type)
{
    return type == FOVEA_F32 ? 4 : type == FOVEA_S8 ? 1 : 2;
}

#endif
