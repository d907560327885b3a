// SPDX-License-Identifier: Apache-2.0
// dispatch/environment.h - the variables that a process was started with, as far as they may be believed.
#ifndef FOVEA_DISPATCH_ENVIRONMENT_H
#define FOVEA_DISPATCH_ENVIRONMENT_H

/// The value of a variable; NULL where it is not set, and in a program with more rights than whoever started it has
/// (set-uid, file capabilities), which must not do what that user's environment says.
const char *fovea_environment(const char *name);

#endif
