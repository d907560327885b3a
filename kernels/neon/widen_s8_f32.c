// SPDX-License-Identifier: Apache-2.0
// kernels/neon/widen_s8_f32.c - 8-bit integers times their scales, on NEON.
#include "kernels/neon/vec.h"
#include "kernels/common/widen_s8_f32.inc"
