// SPDX-License-Identifier: Apache-2.0
// history/arena.h - memory that is taken piece by piece and freed at once.
#ifndef FOVEA_HISTORY_ARENA_H
#define FOVEA_HISTORY_ARENA_H

#include <stddef.h>

/// Zeroed memory for any type; NULL where there is none. The arena is a pointer that begins as NULL.
struct arena_block;
void *arena_take(struct arena_block **arena, size_t bytes);
/// A copy of a text (NULL as "").
const char *arena_text(struct arena_block **arena, const char *text);
/// Frees all of it.
void arena_free(struct arena_block *arena);

#endif
