// SPDX-License-Identifier: Apache-2.0
// kernels/avx2/transpose_f32.c - the transpose of a rows x cols block.
#include "kernels/avx2/transpose.h"
#include "kernels/common/transpose_f32.inc"
