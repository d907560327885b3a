// SPDX-License-Identifier: Apache-2.0
// dispatch/adopt.h - applies a tuning profile to an engine that is being created.
#ifndef FOVEA_DISPATCH_ADOPT_H
#define FOVEA_DISPATCH_ADOPT_H

#include "dispatch/profile.h"

/// Looks for a profile in the file `wanted` ("none" or "": nowhere; NULL: in the places of this process), and copies
/// the first valid one, with the quarantine of all of them, to *out, or zeros if there is none. *found says which. In
/// either case text says in one line what was found and why it is ignored. Errors: MEMORY.
enum fovea_status fovea_profile_look(const char *wanted, const struct fovea_profile_key *key, struct fovea_profile *out,
                                     bool *found, char *text, size_t text_size);

/// Adds to a profile's quarantine.
void fovea_profile_ban(struct fovea_profile *profile, const uint8_t *quarantine);

/// To be called before the registers are resolved: marks what is quarantined, and the slot variants that the profile
/// prefers.
void fovea_profile_choose(const struct fovea_profile *profile, struct fovea_choice *choice);
/// To be called after that: sets the numbers and micro-kernels of the classes, except for classes whose kernel may not
/// be used now.
void fovea_profile_apply(const struct fovea_profile *profile, const struct fovea_choice *choice,
                         struct fovea_kernels *kernels);

/// Creates an engine with this profile, whoever wrote it and wherever it was made. Its quarantine and choices apply as
/// far as this CPU can run them; cache sizes are its own, unless 0. With NULL the same as fovea_engine_create.
enum fovea_status fovea_engine_create_with(const struct fovea_engine_options *options,
                                           const struct fovea_profile *profile, struct fovea_engine **out);
/// A copy of an engine that differs in one class (for the tuner's candidates). NULL if there is no memory.
struct fovea_engine *fovea_engine_copy_with(const struct fovea_engine *engine, uint32_t class,
                                            const struct fovea_tuned *tuned);
/// A copy of an engine without a profile whose defaults are those of an L2 of so many bytes. NULL if there is no
/// memory.
struct fovea_engine *fovea_engine_copy_of_l2(const struct fovea_engine *engine, uint32_t bytes);
/// A copy of an engine without a profile whose quarantine also has the variants for which banned[variant] is not 0:
/// each slot has the next best one. NULL if there is no memory.
struct fovea_engine *fovea_engine_copy_without(const struct fovea_engine *engine, const uint8_t *banned);
/// What may be chosen in an engine, and what was chosen.
const struct fovea_choice *fovea_engine_choice(const struct fovea_engine *engine);

#endif
