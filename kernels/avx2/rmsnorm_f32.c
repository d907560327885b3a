// SPDX-License-Identifier: Apache-2.0
// kernels/avx2/rmsnorm_f32.c - RMSNorm of one row, on AVX2.
#include "kernels/avx2/vec.h"
#include "kernels/common/rmsnorm_f32.inc"
