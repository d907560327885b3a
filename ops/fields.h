// SPDX-License-Identifier: Apache-2.0
// ops/fields.h - fields by the names the caller knows: checks that say which one is wrong, lines that list what was
// asked for.
#ifndef FOVEA_OPS_FIELDS_H
#define FOVEA_OPS_FIELDS_H

#include "fovea/executor.h"
#include "ops/check.h"

/// Elements of an array.
#define FOVEA_COUNT(array) (sizeof(array) / sizeof *(array))

/// Something that may be asked for, as a line names it; value is NAN where the name says it all.
struct fovea_asked {
    bool asked;
    const char *name;
    double value;
};
/// Appends ", name value" for each that is asked for.
void fovea_say_asked(const struct fovea_why *why, const struct fovea_asked *asked, size_t count);

/// A size, and what the caller knows it by.
struct fovea_size {
    const char *name;
    size_t value;
};
/// The first of them that is 0, or NULL.
const struct fovea_size *fovea_find_zero(const struct fovea_size *sizes, size_t count);
/// Appends that nothing is written where one of them is 0.
void fovea_say_nothing(const struct fovea_why *why, const struct fovea_size *sizes, size_t count);
/// Appends, to the line of a call in which nothing is wrong, what it cannot know of: the work memory and the executor.
void fovea_say_unchecked(const struct fovea_why *why, const struct fovea_work *work);

/// A number, and the most that it may be: the last value of an enum, or what a plan has.
struct fovea_limit {
    const char *name;
    size_t value, most;
};

/// Refuses the first of some enums that is none of 0 to `most`, with ENUM, the first of some flags that is neither 0
/// nor 1, with ENUM, and the first size outside low to high.
enum fovea_status fovea_check_enums(const struct fovea_limit *enums, size_t count, const char *whole,
                                    const struct fovea_why *why);
enum fovea_status fovea_check_flags(const struct fovea_size *flags, size_t count, const char *whole,
                                    const struct fovea_why *why);
enum fovea_status fovea_check_within(const struct fovea_size *sizes, size_t count, size_t low, size_t high,
                                     enum fovea_status status, const char *whole, const struct fovea_why *why);

/// A pointer, and what the caller knows it by.
struct fovea_pointer {
    const char *name;
    const void *pointer;
};
/// Refuses the first that is NULL. Inline, as each call of a small product comes by.
static inline enum fovea_status fovea_check_pointers(const struct fovea_pointer *pointers, size_t count,
                                                     const char *whole, const struct fovea_why *why)
{
    for (size_t i = 0; i < count; i++) {
        FOVEA_REQUIRE(pointers[i].pointer != NULL, FOVEA_ERR_NULL, why, "%s: %s is NULL", whole, pointers[i].name);
    }
    return FOVEA_OK;
}
/// Returns from the calling function unless all of {name, pointer}, ... are there.
#define FOVEA_REQUIRE_POINTERS(whole, why, ...)                                                                        \
    do {                                                                                                               \
        const struct fovea_pointer fovea_pointers[] = {__VA_ARGS__};                                                   \
        FOVEA_TRY(fovea_check_pointers(fovea_pointers, FOVEA_COUNT(fovea_pointers), (whole), (why)));                  \
    } while (0)

/// Refuses the first size that is more than the plan's: SHAPE.
static inline enum fovea_status fovea_check_limits(const struct fovea_limit *limits, size_t count, const char *whole,
                                                   const struct fovea_why *why)
{
    for (size_t i = 0; i < count; i++) {
        FOVEA_REQUIRE(limits[i].value <= limits[i].most, FOVEA_ERR_SHAPE, why,
                      "%s: %s is %zu, more than the plan's %zu", whole, limits[i].name, limits[i].value,
                      limits[i].most);
    }
    return FOVEA_OK;
}
#define FOVEA_REQUIRE_LIMITS(whole, why, ...)                                                                          \
    do {                                                                                                               \
        const struct fovea_limit fovea_limits[] = {__VA_ARGS__};                                                       \
        FOVEA_TRY(fovea_check_limits(fovea_limits, FOVEA_COUNT(fovea_limits), (whole), (why)));                        \
    } while (0)

#endif
