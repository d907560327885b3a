// SPDX-License-Identifier: Apache-2.0
// kernels/neon/attention_keep_f32.c - which weights of a chunk dropout keeps, on NEON.
#include "kernels/neon/vec_u32.h"
#include "kernels/common/attention_keep_f32.inc"
