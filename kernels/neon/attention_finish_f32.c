// SPDX-License-Identifier: Apache-2.0
// kernels/neon/attention_finish_f32.c - divides an attention state by its sum and takes the log-sum-exp, on NEON.
#include "kernels/neon/vec.h"
#include "kernels/common/attention_finish_f32.inc"
