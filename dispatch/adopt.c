// SPDX-License-Identifier: Apache-2.0
// dispatch/adopt.c - finds the profile of an engine and applies it.
#include "dispatch/adopt.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// Working memory of the search, too large for a thread's stack.
struct search {
    struct fovea_profile_place places[FOVEA_PROFILE_PLACES];
    char text[FOVEA_PROFILE_BYTES_MAX];
    struct fovea_profile other;
};

static void say(char *text, size_t size, const char *format, ...) __attribute__((format(printf, 3, 4)));
static void say(char *text, size_t size, const char *format, ...)
{
    const size_t used = strlen(text);
    va_list args;
    va_start(args, format);
    vsnprintf(text + used, size - used, format, args);
    va_end(args);
}

static uint32_t classes_of(const struct fovea_profile *profile)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < FOVEA_TUNED_CLASSES; i++)
        count += profile->has[i];
    return count;
}

void fovea_profile_ban(struct fovea_profile *profile, const uint8_t *quarantine)
{
    for (uint32_t i = 0; i < FOVEA_VARIANTS; i++) {
        profile->quarantine[i] = profile->quarantine[i] ? profile->quarantine[i] : quarantine[i];
    }
}

// The choices of the first profile, and what is in quarantine in any: what root found to be wrong is so for all.
enum fovea_status fovea_profile_look(const char *wanted, const struct fovea_profile_key *key, struct fovea_profile *out,
                                     bool *found, char *text, size_t text_size)
{
    struct search *const search = calloc(1, sizeof *search);
    uint32_t count = 0;
    char why[FOVEA_PROFILE_WHY];
    *text = '\0';
    *found = false;
    if (!search)
        return FOVEA_ERR_MEMORY;
    if (!wanted)
        count = fovea_profile_places(search->places);
    else if (strcmp(wanted, "none") != 0)
        count = fovea_profile_place(&search->places[0], false, wanted, "");
    for (uint32_t i = 0; i < count; i++) {
        const struct fovea_profile_place *const place = &search->places[i];
        const enum fovea_profile_found has =
            fovea_profile_read(place, key, search->text, *found ? &search->other : out, why);
        if (*found) {
            if (has == FOVEA_PROFILE_GOOD)
                fovea_profile_ban(out, search->other.quarantine);
            continue;
        }
        *found = has == FOVEA_PROFILE_GOOD;
        if (*found)
            say(text, text_size, "%s (level %s, %u class%s tuned)", place->path, fovea_profile_levels[out->level],
                classes_of(out), classes_of(out) == 1 ? "" : "es");
        else if (has == FOVEA_PROFILE_REFUSED || count == 1)
            say(text, text_size, "%.300s ignored: %s; ", place->path, why);
    }
    if (!*found) {
        memset(out, 0, sizeof *out);
        say(text, text_size, "%s", "none, the defaults for these caches");
    }
    free(search);
    return FOVEA_OK;
}

void fovea_profile_choose(const struct fovea_profile *profile, struct fovea_choice *choice)
{
    for (uint32_t i = 0; i < FOVEA_VARIANTS; i++)
        choice->quarantined[i] = profile->quarantine[i] != 0;
    for (uint32_t class = 0; class < FOVEA_TUNED_CLASSES; class ++)
        if (fovea_class(class).kind == FOVEA_TUNED_SLOT && profile->has[class] && profile->isa == choice->allowed)
            choice->tuned[profile->tuned[class].kernel] = 1;
}

// Whether the profile may still choose this micro-kernel, given the pinned variants.
static bool may_use(const struct fovea_choice *choice, int32_t kernel)
{
    // Not even if it is the pinned one: a pinned variant comes with the defaults.
    return fovea_variant_is_usable(choice, kernel) && !fovea_slot_is_pinned(choice, fovea_variant_facts[kernel].slot);
}

void fovea_profile_apply(const struct fovea_profile *profile, const struct fovea_choice *choice,
                         struct fovea_kernels *kernels)
{
    for (uint32_t class = 0; class < FOVEA_TUNED_CLASSES; class ++) {
        const int32_t kernel = profile->tuned[class].kernel;
        if (fovea_class(class).kind != FOVEA_TUNED_SLOT && profile->has[class] && profile->isa == choice->allowed &&
            (kernel < 0 || may_use(choice, kernel)))
            fovea_tuned_set(kernels, class, &profile->tuned[class]);
    }
}
