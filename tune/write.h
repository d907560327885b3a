// SPDX-License-Identifier: Apache-2.0
// tune/write.h - profiles as text, and their place on disk.
#ifndef FOVEA_TUNE_WRITE_H
#define FOVEA_TUNE_WRITE_H

#include "dispatch/profile.h"

#include <stdbool.h>

/// Writes the text of a profile and returns its length, less than FOVEA_PROFILE_BYTES_MAX.
size_t tune_write(const struct fovea_profile *profile, char text[FOVEA_PROFILE_BYTES_MAX]);

/// Whether tune_save could write there, to be asked before the minute that a profile takes. folders: those that are
/// missing are made. Returns false with why.
bool tune_can_save(const char *path, bool folders, char why[FOVEA_PROFILE_WHY]);
/// Replaces the file at path as a whole: whoever reads it meanwhile sees the old or the new one, and after a crash one
/// of them is there. Returns false with why, the old file untouched.
bool tune_save(const char *path, const struct fovea_profile *profile, char why[FOVEA_PROFILE_WHY]);

/// Reads a profile of this library, made for the machine of that key; NULL: on any machine. Returns false with why;
/// *profile is then unspecified.
bool tune_load(const char *path, const struct fovea_profile_key *expected, struct fovea_profile *profile,
               char why[FOVEA_PROFILE_WHY]);

/// A class falls back to the default.
void tune_forget(struct fovea_profile *profile, uint32_t class);
/// Adds to the quarantine of a profile (of enum fovea_quarantine, for each variant; 0: nothing to add); classes that
/// had such a kernel fall back to the default.
void tune_banish(struct fovea_profile *profile, const uint8_t *quarantine);
/// The same in a file; where there is none for this machine it is made, with nothing else in it.
bool tune_quarantine(const char *path, const struct fovea_engine *engine, const uint8_t *quarantine,
                     char why[FOVEA_PROFILE_WHY]);

/// Where `fovea tune` writes: /var/lib/fovea/profile, or FOVEA_PROFILE, or the user's place. False where there is none.
bool tune_destination(bool system, char *path, size_t size);

#endif
