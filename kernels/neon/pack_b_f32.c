// SPDX-License-Identifier: Apache-2.0
// kernels/neon/pack_b_f32.c - packs B, given in rows (k x n), into panels of 16 columns.
#include "kernels/neon/vec.h"
#include "kernels/common/pack_b_f32.inc"
