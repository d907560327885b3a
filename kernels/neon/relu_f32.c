// SPDX-License-Identifier: Apache-2.0
// kernels/neon/relu_f32.c - relu for each element, on NEON.
#include "kernels/neon/vec.h"
#include "kernels/common/relu_f32.inc"
