// SPDX-License-Identifier: Apache-2.0
// kernels/neon/cos_f32.c - cos for each element, on NEON.
#include "kernels/neon/vec.h"
#include "kernels/common/cos_f32.inc"
