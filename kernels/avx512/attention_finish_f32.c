// SPDX-License-Identifier: Apache-2.0
// kernels/avx512/attention_finish_f32.c - divides an attention state by its sum and takes the log-sum-exp, on AVX-512.
#include "kernels/avx512/vec.h"
#include "kernels/common/attention_finish_f32.inc"
