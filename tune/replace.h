// SPDX-License-Identifier: Apache-2.0
// tune/replace.h - a file written beside its place and then put there.
#ifndef FOVEA_TUNE_REPLACE_H
#define FOVEA_TUNE_REPLACE_H

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>

/// Fills a file; false without memory. What the stream remembers of its errors is found without it.
typedef bool replace_fill(FILE *file, const void *arg);

/// Where a file of that path is put: links to files are followed, and stay links. 0; or the errno of why none can be,
/// REPLACE_NO_FILE where a device or a pipe is there: a rename would take its place, and root's may rename over
/// /dev/null.
int replace_place(const char *path, char place[PATH_MAX]);
enum { REPLACE_NO_FILE = -1 };

/// Whether replace_file could put a file there; 0, or the errno. Leaves nothing behind.
int replace_possible(const char *place);

/// Writes a new file beside `place` and renames it: who reads meanwhile, or after a crash, sees the old file or the new
/// one, and a failure leaves the old one; Ctrl-C, SIGTERM and a closed terminal leave nothing else. mode: its rights;
/// 0: those of the old file, else of any new one. 0, or the errno.
int replace_file(const char *place, mode_t mode, replace_fill *fill, const void *arg);

/// Calls fill and flushes; 0, or the errno of what went wrong.
int replace_filled(FILE *file, replace_fill *fill, const void *arg);

/// Whether two paths are of one file, be it there or not.
bool replace_same(const char *a, const char *b);

#endif
