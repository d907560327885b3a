// SPDX-License-Identifier: Apache-2.0
// kernels/neon/softmax_f32.c - softmax of one row, on NEON.
#include "kernels/neon/vec.h"
#include "kernels/common/softmax_f32.inc"
