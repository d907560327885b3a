// SPDX-License-Identifier: Apache-2.0
// ops/check.h - validation: statuses with a reason, sizes that do not overflow, alignment.
//
// Arguments are checked once, where they enter the library. Everything below that point returns void.
#ifndef FOVEA_OPS_CHECK_H
#define FOVEA_OPS_CHECK_H

#include "fovea/status.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { FOVEA_ALIGNMENT = 64 }; ///< alignment of plans, blobs, shared and scratch memory: a cache line, a zmm register

/// Where a reason is written. If text or the pointer to this struct is NULL, none is written.
struct fovea_why {
    char *text;
    size_t size;
};

/// Writes one line, truncated to fit and always terminated. Control characters become question marks.
__attribute__((format(printf, 2, 3))) void fovea_say(const struct fovea_why *why, const char *format, ...);
/// The same behind what the line has already.
__attribute__((format(printf, 2, 3))) void fovea_say_more(const struct fovea_why *why, const char *format, ...);

/// Returns status from the calling function unless cond holds.
#define FOVEA_CHECK(cond, status)                                                                                      \
    do {                                                                                                               \
        if (!(cond)) {                                                                                                 \
            return (status);                                                                                           \
        }                                                                                                              \
    } while (0)

/// The same with a reason: FOVEA_REQUIRE(ldb >= n, FOVEA_ERR_STRIDE, why, "gemm: ldb %zu is below n %zu", ldb, n)
#define FOVEA_REQUIRE(cond, status, why, ...)                                                                          \
    do {                                                                                                               \
        if (!(cond)) {                                                                                                 \
            fovea_say((why), __VA_ARGS__);                                                                             \
            return (status);                                                                                           \
        }                                                                                                              \
    } while (0)

/// Returns a failure to the caller.
#define FOVEA_TRY(call)                                                                                                \
    do {                                                                                                               \
        const enum fovea_status fovea_try_status = (call);                                                             \
        if (fovea_try_status != FOVEA_OK) {                                                                            \
            return fovea_try_status;                                                                                   \
        }                                                                                                              \
    } while (0)

/// *out = a * b, a + b; false where that does not fit in ptrdiff_t (no object is larger, and strides are ptrdiff_t).
static inline bool fovea_mul(size_t a, size_t b, size_t *out)
{
    return !__builtin_mul_overflow(a, b, out) && *out <= (size_t)PTRDIFF_MAX;
}

static inline bool fovea_add(size_t a, size_t b, size_t *out)
{
    return !__builtin_add_overflow(a, b, out) && *out <= (size_t)PTRDIFF_MAX;
}

/// a * b, or SIZE_MAX where that does not fit.
static inline size_t fovea_product(size_t a, size_t b)
{
    size_t c = 0;
    return fovea_mul(a, b, &c) ? c : SIZE_MAX;
}

/// *bytes = the bytes from the first float to the end of the last one of a rows x cols matrix with leading dimension ld
/// >= cols; 0 if empty. False if that does not fit.
bool fovea_extent(size_t rows, size_t cols, size_t ld, size_t *bytes);

static inline bool fovea_aligned(const void *pointer)
{
    return (uintptr_t)pointer % FOVEA_ALIGNMENT == 0;
}

static inline size_t fovea_min(size_t a, size_t b)
{
    return a < b ? a : b;
}

/// The most rows of a call of `batch` sequences of at most len rows, which `rows` limits unless it is 0. SIZE_MAX where
/// that does not fit.
static inline size_t fovea_most_rows(size_t batch, size_t len, size_t rows)
{
    return fovea_min(fovea_product(batch, len), rows != 0 ? rows : SIZE_MAX);
}

static inline size_t fovea_max(size_t a, size_t b)
{
    return a > b ? a : b;
}

static inline size_t fovea_ceil_div(size_t value, size_t divisor)
{
    return value / divisor + (value % divisor != 0);
}

/// Rounds up to the next multiple; value must be known to be that far below SIZE_MAX.
static inline size_t fovea_round_up(size_t value, size_t multiple)
{
    return fovea_ceil_div(value, multiple) * multiple;
}

#endif
