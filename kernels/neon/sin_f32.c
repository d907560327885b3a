// SPDX-License-Identifier: Apache-2.0
// kernels/neon/sin_f32.c - sin for each element, on NEON.
#include "kernels/neon/vec.h"
#include "kernels/common/sin_f32.inc"
