// SPDX-License-Identifier: Apache-2.0
// kernels/avx2/attention_merge_f32.c - merges the attention states of two splits, on AVX2.
#include "kernels/avx2/vec.h"
#include "kernels/common/attention_merge_f32.inc"
