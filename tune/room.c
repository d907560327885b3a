// SPDX-License-Identifier: Apache-2.0
// tune/room.c - memory that grows and never shrinks.
#include "tune/room.h"

#include "bench/memory.h"

#include <string.h>

static bool grow(void **memory, size_t *bytes, size_t wanted)
{
    if (*memory && wanted <= *bytes)
        return true;
    void *const more = bench_alloc(wanted);
    if (!more)
        return false;
    bench_free(*memory, *bytes);
    *memory = more;
    *bytes = wanted;
    return true;
}

bool tune_room_grow(struct tune_room *room, const struct fovea_work *work)
{
    return grow(&room->shared, &room->shared_bytes, work->shared_bytes) &&
           grow(&room->scratch, &room->scratch_bytes, work->scratch_bytes);
}

void tune_room_spoil(const struct tune_room *room)
{
    memset(room->shared, 0xff, room->shared_bytes);
    memset(room->scratch, 0xff, room->scratch_bytes);
}

void tune_room_free(struct tune_room *room)
{
    bench_free(room->shared, room->shared_bytes);
    bench_free(room->scratch, room->scratch_bytes);
    *room = (struct tune_room){0};
}
