// SPDX-License-Identifier: Apache-2.0
// kernels/neon/rotary_f32.c - rotary positions, on NEON.
#include "kernels/neon/vec.h"
#include "kernels/common/rotary_f32.inc"
