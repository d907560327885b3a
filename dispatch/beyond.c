// SPDX-License-Identifier: Apache-2.0
// dispatch/beyond.c - the five sets of numbers of dispatch/beyond.def, and which of them a machine uses.
#include "dispatch/beyond.h"
#include "kernels/kernel.h"

#include <stdbool.h>

#define ALL UINT32_MAX
#define ANY (1 << 20)

#define FOVEA_BEYOND_ARRAY(name, lengths)
#define FOVEA_BEYOND_AT FOVEA_BEYOND

enum { NARROW = 0, WIDE = 1, HASHED = 2, MESH = HASHED | WIDE, LEAN };
const struct fovea_beyond fovea_beyonds[FOVEA_BEYONDS] = {
#define FOVEA_BEYOND(member, narrow, lean, wide, hashed, mesh)                                                         \
    [NARROW].member = narrow, [LEAN].member = lean, [WIDE].member = wide, [HASHED].member = hashed,                    \
    [MESH].member = mesh,
#include "dispatch/beyond.def"
#undef FOVEA_BEYOND
};

enum {
    LINES = 0
#define FOVEA_BEYOND(member, narrow, lean, wide, hashed, mesh) +1
#include "dispatch/beyond.def"
#undef FOVEA_BEYOND
};
_Static_assert(LINES * sizeof(uint32_t) == sizeof(struct fovea_beyond), "each element of an array has a line");

const struct fovea_beyond *fovea_beyond_l2(const struct fovea_machine *machine)
{
    const uint32_t said = (machine->l3_hashed ? HASHED : 0) | (machine->wide512 ? WIDE : 0);
    const bool avx2_alone = (machine->cpu & FOVEA_CPU_AVX2) != 0 && (machine->cpu & FOVEA_CPU_AVX512) == 0;
    return &fovea_beyonds[said == NARROW && avx2_alone ? LEAN : said];
}
