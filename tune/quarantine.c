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

bool tune_quarantine(const char *path, bool folders, const struct fovea_engine *engine, const uint8_t *quarantine,
                     char why[FOVEA_PROFILE_WHY])
{
    static struct fovea_profile profile; // static: the program has one thread
    const struct fovea_profile_key key = fovea_profile_key(fovea_engine_machine(engine));
    if (!tune_load(path, &key, &profile, why)) {
        memset(&profile, 0, sizeof profile);
        profile.key = key;
        profile.isa = fovea_engine_choice(engine)->allowed;
    }
    tune_banish(&profile, quarantine);
    return tune_save(path, folders, &profile, why);
}
