// SPDX-License-Identifier: Apache-2.0
// kernels/neon/widen_f16_f32.c - half precision elements as f32, on NEON.
#include "kernels/neon/vec.h"
#include "kernels/common/widen_f16_f32.inc"
