// SPDX-License-Identifier: Apache-2.0
// tune/memory.h - how much memory this process may still touch.
#ifndef FOVEA_TUNE_MEMORY_H
#define FOVEA_TUNE_MEMORY_H

#include <stddef.h>

/// Bytes that are available on this machine, and to its control group (of cgroups 2) where that has a limit; SIZE_MAX
/// where nothing tells.
size_t tune_memory_left(void);

#endif
