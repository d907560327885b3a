// SPDX-License-Identifier: Apache-2.0
// dispatch/beyond.h - the five sets of numbers in dispatch/beyond.def, and which of them a machine uses.
#ifndef FOVEA_DISPATCH_BEYOND_H
#define FOVEA_DISPATCH_BEYOND_H

#include "fovea/engine.h"

struct fovea_beyond {
#define FOVEA_BEYOND(name, narrow, lean, wide, hashed, mesh) uint32_t name;
#define FOVEA_BEYOND_ARRAY(name, lengths) uint32_t name lengths;
#define FOVEA_BEYOND_AT(element, narrow, lean, wide, hashed, mesh)
#include "dispatch/beyond.def"
#undef FOVEA_BEYOND_AT
#undef FOVEA_BEYOND_ARRAY
#undef FOVEA_BEYOND
};

enum { FOVEA_BEYONDS = 5 };
extern const struct fovea_beyond fovea_beyonds[FOVEA_BEYONDS];
/// The set of a machine.
const struct fovea_beyond *fovea_beyond_l2(const struct fovea_machine *machine);

#endif
