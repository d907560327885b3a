// SPDX-License-Identifier: Apache-2.0
// tests/unit/vec_avx2.c - the operations of avx2.
#include "kernels/avx2/vec_u32.h"

#define TEST_VEC test_vec_avx2
#include "tests/unit/vec_ops.inc"
