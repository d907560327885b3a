// SPDX-License-Identifier: Apache-2.0
// tune/memory.c - what Linux tells about memory that is left. mmap succeeds beyond it, and touching it then ends the
// process.
#include "tune/memory.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// The number behind `name` in a file, times `unit`; SIZE_MAX if there is none, as in "max".
static size_t number_in(const char *path, const char *name, size_t unit)
{
    FILE *const file = fopen(path, "re");
    char line[128];
    size_t found = SIZE_MAX;
    while (file && found == SIZE_MAX && fgets(line, sizeof line, file)) {
        char *const begin = line + strlen(name), *end = line;
        const unsigned long long number = strncmp(line, name, strlen(name)) == 0 ? strtoull(begin, &end, 10) : 0;
        if (end > begin && number < SIZE_MAX / unit)
            found = (size_t)number * unit;
    }
    if (file)
        fclose(file);
    return found;
}

// A container sees its own group as the root of the hierarchy.
size_t tune_memory_left(void)
{
    const size_t machine = number_in("/proc/meminfo", "MemAvailable:", 1024);
    const size_t most = number_in("/sys/fs/cgroup/memory.max", "", 1);
    const size_t used = number_in("/sys/fs/cgroup/memory.current", "", 1);
    const size_t group = most == SIZE_MAX || used == SIZE_MAX ? SIZE_MAX : most > used ? most - used : 0;
    return machine < group ? machine : group;
}
