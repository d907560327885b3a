// SPDX-License-Identifier: Apache-2.0
// tests/unit/vec_avx512.c - the operations of avx512.
#include "kernels/avx512/vec_u32.h"

#define TEST_VEC test_vec_avx512
#include "tests/unit/vec_ops.inc"
