// SPDX-License-Identifier: Apache-2.0
// kernels/avx2/pack_b_f32.c - packs B, given in rows (k x n), into panels of 16 columns.
#include "kernels/avx2/vec.h"
#include "kernels/common/pack_b_f32.inc"
