// SPDX-License-Identifier: Apache-2.0
// history/arena.c - blocks of at least 64 KiB, the newest first.
#include "history/arena.h"

#include <stdalign.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct arena_block {
    struct arena_block *next;
    size_t used, size;
    alignas(max_align_t) unsigned char bytes[];
};

void *arena_take(struct arena_block **arena, size_t bytes)
{
    enum { BLOCK = 1 << 16, GRAIN = alignof(max_align_t) };
    if (bytes > SIZE_MAX / 2)
        return NULL;
    bytes = (bytes + GRAIN - 1) / GRAIN * GRAIN;
    if (!*arena || (*arena)->size - (*arena)->used < bytes) {
        const size_t size = bytes > BLOCK ? bytes : BLOCK;
        struct arena_block *const block = calloc(1, sizeof *block + size);
        if (!block)
            return NULL;
        block->size = size;
        block->next = *arena;
        *arena = block;
    }
    void *const memory = (*arena)->bytes + (*arena)->used;
    (*arena)->used += bytes;
    return memory;
}

const char *arena_text(struct arena_block **arena, const char *text)
{
    const size_t size = strlen(text ? text : "") + 1;
    char *const copy = arena_take(arena, size);
    return copy ? memcpy(copy, text ? text : "", size) : NULL;
}

void arena_free(struct arena_block *arena)
{
    while (arena) {
        struct arena_block *const next = arena->next;
        free(arena);
        arena = next;
    }
}
