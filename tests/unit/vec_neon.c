// SPDX-License-Identifier: Apache-2.0
// tests/unit/vec_neon.c - the operations of neon.
#include "kernels/neon/vec_u32.h"

#define TEST_VEC test_vec_neon
#include "tests/unit/vec_ops.inc"
