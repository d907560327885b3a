// SPDX-License-Identifier: Apache-2.0
// kernels/avx512/attention_merge_f32.c - merges the attention states of two splits, on AVX-512.
#include "kernels/avx512/vec.h"
#include "kernels/common/attention_merge_f32.inc"
