// SPDX-License-Identifier: Apache-2.0
// kernels/neon/narrow_f16_f32.c - f32 as half precision elements, on NEON.
#include "kernels/neon/vec.h"
#include "kernels/common/narrow_f16_f32.inc"
