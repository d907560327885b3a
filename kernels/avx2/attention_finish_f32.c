// SPDX-License-Identifier: Apache-2.0
// kernels/avx2/attention_finish_f32.c - divides an attention state by its sum and takes the log-sum-exp, on AVX2.
#include "kernels/avx2/vec.h"
#include "kernels/common/attention_finish_f32.inc"
