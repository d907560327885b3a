// SPDX-License-Identifier: Apache-2.0
// kernels/neon/gelu_tanh_f32.c - GELU by tanh for each element, on NEON.
#include "kernels/neon/vec.h"
#include "kernels/common/gelu_tanh_f32.inc"
