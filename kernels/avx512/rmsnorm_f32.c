// SPDX-License-Identifier: Apache-2.0
// kernels/avx512/rmsnorm_f32.c - RMSNorm of one row, on AVX-512.
#include "kernels/avx512/vec.h"
#include "kernels/common/rmsnorm_f32.inc"
