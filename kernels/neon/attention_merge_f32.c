// SPDX-License-Identifier: Apache-2.0
// kernels/neon/attention_merge_f32.c - merges the attention states of two splits, on NEON.
#include "kernels/neon/vec.h"
#include "kernels/common/attention_merge_f32.inc"
