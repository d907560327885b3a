// SPDX-License-Identifier: Apache-2.0
// dispatch/settings.h - what the caller's options, or else the environment, say of an engine.
//
// Each function fails with one line in options->message, which must be there.
#ifndef FOVEA_DISPATCH_SETTINGS_H
#define FOVEA_DISPATCH_SETTINGS_H

#include "dispatch/resolve.h"
#include "fovea/engine.h"

/// Writes the line, and returns the status.
enum fovea_status fovea_engine_fail(const struct fovea_engine_options *options, enum fovea_status status,
                                    const char *format, ...) __attribute__((format(printf, 3, 4)));

/// The caches of this machine, or those that are given. Errors: CONFIG.
enum fovea_status fovea_engine_caches(const struct fovea_engine_options *options, struct fovea_machine *machine);
/// Takes from the CPU's bits in choice->allowed those above the ISA cap. Errors: UNSUPPORTED, CONFIG.
enum fovea_status fovea_engine_cap(const struct fovea_engine_options *options, const struct fovea_machine *machine,
                                   struct fovea_choice *choice);
/// Marks the variants that are pinned and excluded by name. Errors: UNSUPPORTED, CONFIG.
enum fovea_status fovea_engine_pin(const struct fovea_engine_options *options, struct fovea_choice *choice);

#endif
