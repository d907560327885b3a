// SPDX-License-Identifier: Apache-2.0
// ops/fields.c - the parts of ops/fields.h that are not worth inlining.
#include "ops/fields.h"
#include <math.h>

void fovea_say_asked(const struct fovea_why *why, const struct fovea_asked *asked, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const double value = asked[i].value;
        if (asked[i].asked && isnan(value)) {
            fovea_say_more(why, ", %s", asked[i].name);
        } else if (asked[i].asked) { // %g alone would round sizes
            fovea_say_more(why, value == floor(value) && value < 1e15 ? ", %s %.0f" : ", %s %g", asked[i].name, value);
        }
    }
}

const struct fovea_size *fovea_find_zero(const struct fovea_size *sizes, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (sizes[i].value == 0) {
            return &sizes[i];
        }
    }
    return NULL;
}

void fovea_say_nothing(const struct fovea_why *why, const struct fovea_size *sizes, size_t count)
{
    const struct fovea_size *const zero = fovea_find_zero(sizes, count);
    if (zero != NULL) {
        fovea_say_more(why, ", nothing is written: %s is 0", zero->name);
    }
}

void fovea_say_unchecked(const struct fovea_why *why, const struct fovea_work *work)
{
    fovea_say_more(
        why, "; not checked: overlaps, shared of %zu bytes and scratch of %zu a worker, both aligned, the executor",
        work->shared_bytes, work->scratch_bytes);
}

enum fovea_status fovea_check_enums(const struct fovea_limit *enums, size_t count, const char *whole,
                                    const struct fovea_why *why)
{
    for (size_t i = 0; i < count; i++) {
        const size_t value = enums[i].value, most = enums[i].most;
        FOVEA_REQUIRE(value <= 1 || most != 1, FOVEA_ERR_ENUM, why, "%s: %s is %zu, neither 0 nor 1", whole,
                      enums[i].name, value);
        FOVEA_REQUIRE(value <= most, FOVEA_ERR_ENUM, why, "%s: %s is %zu, not within 0 to %zu", whole, enums[i].name,
                      value, most);
    }
    return FOVEA_OK;
}

enum fovea_status fovea_check_flags(const struct fovea_size *flags, size_t count, const char *whole,
                                    const struct fovea_why *why)
{
    for (size_t i = 0; i < count; i++) {
        const struct fovea_limit flag = {flags[i].name, flags[i].value, 1};
        FOVEA_TRY(fovea_check_enums(&flag, 1, whole, why));
    }
    return FOVEA_OK;
}

enum fovea_status fovea_check_within(const struct fovea_size *sizes, size_t count, size_t low, size_t high,
                                     enum fovea_status status, const char *whole, const struct fovea_why *why)
{
    for (size_t i = 0; i < count; i++) {
        FOVEA_REQUIRE(sizes[i].value >= low && sizes[i].value <= high, status, why,
                      "%s: %s is %zu, not within %zu to %zu", whole, sizes[i].name, sizes[i].value, low, high);
    }
    return FOVEA_OK;
}
