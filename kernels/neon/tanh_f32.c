// SPDX-License-Identifier: Apache-2.0
// kernels/neon/tanh_f32.c - tanh for each element, on NEON.
#include "kernels/neon/vec.h"
#include "kernels/common/tanh_f32.inc"
