// SPDX-License-Identifier: Apache-2.0
// dispatch/adopt.h - a tuning profile becomes part of an engine that is being made.
#ifndef FOVEA_DISPATCH_ADOPT_H
#define FOVEA_DISPATCH_ADOPT_H

#include "dispatch/profile.h"

/// Looks for a profile: in the file `wanted` ("none" or "": nowhere; NULL: in the places of this process), and copies
/// the first that is good to *out; zeros where none is. *found says which. Either way text says in one line what was
/// found and why it is ignored. Errors: MEMORY.
enum fovea_status fovea_profile_look(const char *wanted, const struct fovea_profile_key *key, struct fovea_profile *out,
                                     bool *found, char *text, size_t text_size);

/// Before the registers are resolved: what is quarantined, and the variants of slots that the profile prefers.
void fovea_profile_choose(const struct fovea_profile *profile, struct fovea_choice *choice);
/// After it: the numbers and micro-kernels of the classes, but for those whose kernel may not be used now.
void fovea_profile_apply(const struct fovea_profile *profile, const struct fovea_choice *choice,
                         struct fovea_kernels *kernels);

/// An engine with this profile, whoever wrote it and wherever it was made (its quarantine and choices as far as this
/// CPU can run them; caches as in its key, unless 0). NULL: as fovea_engine_create.
enum fovea_status fovea_engine_create_with(const struct fovea_engine_options *options,
                                           const struct fovea_profile *profile, struct fovea_engine **out);
/// The same engine but for one class (the tuner's candidates). NULL without memory.
struct fovea_engine *fovea_engine_copy_with(const struct fovea_engine *engine, uint32_t class,
                                            const struct fovea_tuned *tuned);
/// The same engine without the micro-kernels of which banned[variant] is not 0, among those that plans choose by shape;
/// what a class has stays. NULL without memory.
struct fovea_engine *fovea_engine_copy_without(const struct fovea_engine *engine, const uint8_t *banned);
/// What may be chosen in an engine, and what was.
const struct fovea_choice *fovea_engine_choice(const struct fovea_engine *engine);

#endif
