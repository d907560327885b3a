// SPDX-License-Identifier: Apache-2.0
// dispatch/resolve.c - registers -> table: the best supported line of each slot, then the lines pinned by name.
#include "dispatch/resolve.h"

const struct fovea_variant_facts fovea_variant_facts[FOVEA_VARIANTS] = {
#define FOVEA_KERNEL(family, slot, stem, isa, mr, nr) {#slot, #stem "_" #isa, #isa, FOVEA_REQUIRES_##isa},
#include "kernels/registers.def"
#undef FOVEA_KERNEL
};

// Where each slot's chosen variant is noted while the registers are walked.
struct slots {
#define FOVEA_SLOT(family, slot) int slot;
#include "kernels/slots.def"
#undef FOVEA_SLOT
};

static int supported(const struct fovea_choice *choice, int variant)
{
    return (fovea_variant_facts[variant].required & ~choice->allowed) == 0 && !choice->excluded[variant];
}

void fovea_resolve(struct fovea_choice *choice, struct fovea_kernels *kernels)
{
    struct slots at = {0};
    for (int pins = 0; pins <= 1; pins++) {
#define FOVEA_KERNEL(family, slot, stem, isa, mr, nr)                                                                  \
    if (pins ? choice->pinned[FOVEA_VARIANT_##stem##_##isa] : supported(choice, FOVEA_VARIANT_##stem##_##isa)) {       \
        kernels->slot = (struct fovea_##family##_kernel){#stem "_" #isa, FOVEA_REQUIRES_##isa, mr, nr,                 \
                                                         fovea_##stem##_##isa};                                        \
        at.slot = FOVEA_VARIANT_##stem##_##isa;                                                                        \
    }
#include "kernels/registers.def"
#undef FOVEA_KERNEL
    }
#define FOVEA_SLOT(family, slot) choice->chosen[at.slot] = 1;
#include "kernels/slots.def"
#undef FOVEA_SLOT
}
