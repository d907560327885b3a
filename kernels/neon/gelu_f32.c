// SPDX-License-Identifier: Apache-2.0
// kernels/neon/gelu_f32.c - GELU by erf for each element, on NEON.
#include "kernels/neon/vec.h"
#include "kernels/common/gelu_f32.inc"
