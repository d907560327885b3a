// SPDX-License-Identifier: Apache-2.0
// tune/write.h - writing profiles as text, and their location on disk.
#ifndef FOVEA_TUNE_WRITE_H
#define FOVEA_TUNE_WRITE_H

#include "dispatch/profile.h"

#include <stdbool.h>

/// Writes the text of a profile and returns its length, less than FOVEA_PROFILE_BYTES_MAX.
size_t tune_write(const struct fovea_profile *profile, char text[FOVEA_PROFILE_BYTES_MAX]);

/// Whether tune_save could write there; to be called before the minute that tuning takes. Leaves nothing behind.
/// folders: missing folders may be created. Returns false with why.
bool tune_can_save(const char *path, bool folders, char why[FOVEA_PROFILE_WHY]);
/// Replaces the file at path atomically: a concurrent reader sees the old or the new one, and so does a reader after a
/// crash. A link to a file stays a link, and that file is replaced; what is no file (a device, a pipe) is not, nor is a
/// file that has something and does not begin as a profile does.
/// folders: create missing folders. Returns false with why, the old file untouched.
bool tune_save(const char *path, bool folders, const struct fovea_profile *profile, char why[FOVEA_PROFILE_WHY]);

/// Reads a profile of this library, made for the machine of that key (NULL: any machine). Returns false with why;
/// *profile is then unspecified.
bool tune_load(const char *path, const struct fovea_profile_key *expected, struct fovea_profile *profile,
               char why[FOVEA_PROFILE_WHY]);

/// Resets a class to the default.
void tune_forget(struct fovea_profile *profile, uint32_t class);
/// Adds to the quarantine of a profile (an enum fovea_quarantine per variant; 0: nothing to add); classes that used
/// such a kernel are reset to the default.
void tune_banish(struct fovea_profile *profile, const uint8_t *quarantine);
/// The same in a file; if there is none for this machine, it is created with nothing else in it.
bool tune_quarantine(const char *path, bool folders, const struct fovea_engine *engine, const uint8_t *quarantine,
                     char why[FOVEA_PROFILE_WHY]);

/// Where `fovea tune` writes: /var/lib/fovea/profile, or FOVEA_PROFILE, or the user's place. False if there is none
/// (path is then empty), or if it is below a HOME that does not exist: folders are made below HOME, never HOME itself.
bool tune_destination(bool system, char *path, size_t size);

#endif
