// SPDX-License-Identifier: Apache-2.0
// kernels/neon/silu_f32.c - SiLU for each element, on NEON.
#include "kernels/neon/vec.h"
#include "kernels/common/silu_f32.inc"
