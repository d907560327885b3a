// SPDX-License-Identifier: Apache-2.0
// tests/support/memory.h - memory between inaccessible pages: one byte read or written outside it is a crash.
#ifndef FOVEA_TESTS_SUPPORT_MEMORY_H
#define FOVEA_TESTS_SUPPORT_MEMORY_H

#include <stddef.h>

enum test_side {
    TEST_HIGH, ///< ends at the upper inaccessible page; 64-byte aligned where the size is a multiple of 64
    TEST_LOW,  ///< begins behind the lower one, so it is page aligned
};

/// Memory filled with bytes 0xff: as floats, NaNs. Nothing can fail in a test: it exits.
void *test_memory(size_t bytes, enum test_side side);
float *test_floats(size_t n, enum test_side side);
/// Makes the whole pages within n floats inaccessible.
void test_hide(const float *first, size_t n);
/// Frees all memory given out.
void test_memory_reset(void);

#endif
