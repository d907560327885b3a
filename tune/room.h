// SPDX-License-Identifier: Apache-2.0
// tune/room.h - the work memory of a case: shared by all its candidates, grown to the largest need.
#ifndef FOVEA_TUNE_ROOM_H
#define FOVEA_TUNE_ROOM_H

#include "fovea/executor.h"

#include <stdbool.h>

/// Initially zero.
struct tune_room {
    void *shared, *scratch;
    size_t shared_bytes, scratch_bytes;
};

/// Makes room for a plan. False if there is no memory; the existing room then remains.
bool tune_room_grow(struct tune_room *room, const struct fovea_work *work);
/// Sets every byte to 0xff, so that nothing a candidate left behind can make the next one right.
void tune_room_spoil(const struct tune_room *room);
void tune_room_free(struct tune_room *room);

#endif
