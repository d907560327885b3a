// SPDX-License-Identifier: Apache-2.0
// tests/support/test.h - the few lines every test program shares: checks that count, random numbers, float bits.
#ifndef FOVEA_TESTS_SUPPORT_TEST_H
#define FOVEA_TESTS_SUPPORT_TEST_H

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// Of all files of a program together: weak definitions are merged.
__attribute__((weak)) int test_passed, test_failed;

/// Counts a check; a failure says where and, by the printf-like rest, what.
#define CHECK(cond, ...)                                                                                               \
    do {                                                                                                               \
        if (cond) {                                                                                                    \
            test_passed++;                                                                                             \
        } else {                                                                                                       \
            test_failed++;                                                                                             \
            fprintf(stderr, "FAIL %s:%d: %s: ", __FILE__, __LINE__, #cond);                                            \
            fprintf(stderr, __VA_ARGS__);                                                                              \
            fputc('\n', stderr);                                                                                       \
        }                                                                                                              \
    } while (0)

/// Ends main: the closing line, and the exit status.
static inline int test_done(void)
{
    printf("%d passed, %d failed\n", test_passed, test_failed);
    return test_failed != 0 || test_passed == 0;
}

/// splitmix64 (Steele, Lea, Flood 2014).
static inline uint64_t test_random(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

static inline uint32_t test_below(uint64_t *state, uint32_t n)
{
    return (uint32_t)(test_random(state) % n);
}

/// The numbers below count in a random order (Fisher-Yates, inside out).
static inline void test_shuffle(uint32_t *order, uint32_t count, uint64_t *state)
{
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t j = test_below(state, i + 1);
        order[i] = order[j];
        order[j] = i;
    }
}

/// In [-1, 1), exact in f32.
static inline float test_float(uint64_t *state)
{
    return (float)((int64_t)(test_random(state) >> 40) - (1 << 23)) / (float)(1 << 23);
}

/// The same bits, all NaNs counting as one value. Returns the first index that differs, or n.
static inline size_t test_differ(const float *a, const float *b, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (memcmp(&a[i], &b[i], sizeof a[i]) != 0 && !(isnan(a[i]) && isnan(b[i])))
            return i;
    return n;
}

/// That n floats have the same bits, by test_differ. A failure says which differs first and, by the printf-like rest,
/// whose they are.
#define CHECK_SAME(expected, got, n, ...)                                                                              \
    do {                                                                                                               \
        const float *const expected_ = (expected), *const got_ = (got);                                                \
        const size_t n_ = (n), at_ = test_differ(expected_, got_, n_);                                                 \
        if (at_ == n_) {                                                                                               \
            test_passed++;                                                                                             \
        } else {                                                                                                       \
            test_failed++;                                                                                             \
            fprintf(stderr, "FAIL %s:%d: %s: ", __FILE__, __LINE__, #got);                                             \
            fprintf(stderr, __VA_ARGS__);                                                                              \
            fprintf(stderr, ": element %zu of %zu is %a, expected %a\n", at_, n_, (double)got_[at_],                   \
                    (double)expected_[at_]);                                                                           \
        }                                                                                                              \
    } while (0)

/// FNV-1a of floats' bits, to compare machines with one another.
static inline uint64_t test_hash(const float *x, size_t n)
{
    uint64_t hash = 0xcbf29ce484222325u;
    for (size_t i = 0; i < n * sizeof *x; i++)
        hash = (hash ^ ((const unsigned char *)x)[i]) * 0x100000001b3u;
    return hash;
}

/// An allocation that cannot fail in a test.
static inline void *test_alloc(size_t bytes)
{
    void *const p = aligned_alloc(64, (bytes + 127) / 64 * 64);
    if (!p) {
        fprintf(stderr, "FAIL no memory for %zu bytes\n", bytes);
        exit(1);
    }
    return p;
}

#endif
