// SPDX-License-Identifier: Apache-2.0
// kernels/neon/dropout_f32.c - elementwise dropout, on NEON.
#include "kernels/neon/vec_u32.h"
#include "kernels/common/dropout_f32.inc"
