// SPDX-License-Identifier: Apache-2.0
// kernels/avx512/pack_bt_f32.c - packs B, given transposed (n x k), into panels of 16 columns.
#include "kernels/avx512/transpose.h"
#include "kernels/common/pack_bt_f32.inc"
