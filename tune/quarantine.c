// SPDX-License-Identifier: Apache-2.0
// tune/quarantine.c - adds kernels to the quarantine of a profile; it never removes any.
#include "tune/write.h"

#include "dispatch/adopt.h"

#include <string.h>

void tune_forget(struct fovea_profile *profile, uint32_t class)
{
    profile->has[class] = 0;
    memset(&profile->tuned[class], 0, sizeof profile->tuned[class]);
    memset(&profile->evidence[class], 0, sizeof profile->evidence[class]);
}

void tune_banish(struct fovea_profile *profile, const uint8_t *quarantine)
{
    for (uint32_t i = 0; i < FOVEA_VARIANTS; i++)
        if (quarantine[i])
            profile->quarantine[i] = quarantine[i];
    for (uint32_t class = 0; class < FOVEA_TUNED_CLASSES; class ++)
        if (profile->has[class] && profile->tuned[class].kernel >= 0 &&
            profile->quarantine[profile->tuned[class].kernel])
            tune_forget(profile, class);
}

// What is in force as long as there is no file of this path: the profile of the next place.
static bool load_next(const char *path, const struct fovea_profile_key *key, struct fovea_profile *out)
{
    static struct fovea_profile_place places[FOVEA_PROFILE_PLACES]; // static: the program has one thread
    static char text[FOVEA_PROFILE_BYTES_MAX];
    char why[FOVEA_PROFILE_WHY];
    const uint32_t count = fovea_profile_places(places);
    bool next = false, found = false;
    for (uint32_t i = 0; i < count && !found; i++) {
        found = next && fovea_profile_read(&places[i], key, text, out, why) == FOVEA_PROFILE_GOOD;
        next |= strcmp(path, places[i].path) == 0;
    }
    return found;
}

bool tune_quarantine(const char *path, bool folders, const struct fovea_engine *engine, const uint8_t *quarantine,
                     char why[FOVEA_PROFILE_WHY])
{
    static struct fovea_profile profile; // static: the program has one thread
    const struct fovea_profile_key key = fovea_profile_key(fovea_engine_machine(engine));
    if (!tune_load(path, &key, &profile, why) && !load_next(path, &key, &profile)) {
        memset(&profile, 0, sizeof profile);
        profile.key = key;
        profile.isa = fovea_engine_choice(engine)->allowed;
    }
    tune_banish(&profile, quarantine);
    return tune_save(path, folders, &profile, why);
}
