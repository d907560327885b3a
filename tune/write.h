// SPDX-License-Identifier: Apache-2.0
// tune/write.h - profiles as text, and their place on disk.
#ifndef FOVEA_TUNE_WRITE_H
#define FOVEA_TUNE_WRITE_H

#include "dispatch/profile.h"

#include <stdbool.h>

/// Writes the text of a profile and returns its length, less than FOVEA_PROFILE_BYTES_MAX.
size_t tune_write(const struct fovea_profile *profile, char text[FOVEA_PROFILE_BYTES_MAX]);

/// Replaces the file at path as a whole: whoever reads it meanwhile sees the old or the new one, and after a crash one
/// of them is there. Folders that are missing are made. Returns false with why, the old file untouched.
bool tune_save(const char *path, const struct fovea_profile *profile, char why[FOVEA_PROFILE_WHY]);

/// Reads a profile of this library made on any machine. Returns false with why.
bool tune_load(const char *path, struct fovea_profile *profile, char why[FOVEA_PROFILE_WHY]);

/// Where `fovea tune` writes: /var/lib/fovea/profile, or FOVEA_PROFILE, or the user's place. False where there is none.
bool tune_destination(bool system, char *path, size_t size);

#endif
