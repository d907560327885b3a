// SPDX-License-Identifier: Apache-2.0
// kernels/neon/rmsnorm_f32.c - RMSNorm of one row, on NEON.
#include "kernels/neon/vec.h"
#include "kernels/common/rmsnorm_f32.inc"
