// SPDX-License-Identifier: Apache-2.0
// kernels/neon/add_f32.c - z = x + y, on NEON.
#include "kernels/neon/vec.h"
#include "kernels/common/add_f32.inc"
