// SPDX-License-Identifier: Apache-2.0
// kernels/neon/log_softmax_f32.c - logarithm of the softmax of one row, on NEON.
#include "kernels/neon/vec.h"
#include "kernels/common/log_softmax_f32.inc"
