// SPDX-License-Identifier: Apache-2.0
// kernels/neon/exp2_f32.c - 2^x for each element, on NEON.
#include "kernels/neon/vec.h"
#include "kernels/common/exp2_f32.inc"
