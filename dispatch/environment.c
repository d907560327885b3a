// SPDX-License-Identifier: Apache-2.0
// dispatch/environment.c - reads a variable, but in no program with raised rights.
#include "dispatch/environment.h"

#include <stdlib.h>
#include <sys/auxv.h>

const char *fovea_environment(const char *name)
{
    return getauxval(AT_SECURE) ? NULL : getenv(name);
}
