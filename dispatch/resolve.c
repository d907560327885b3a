// SPDX-License-Identifier: Apache-2.0
// dispatch/resolve.c - registers -> table: the best supported line of each slot, then the lines pinned by name.
#include "dispatch/resolve.h"

#include <string.h>

const struct fovea_variant_facts fovea_variant_facts[FOVEA_VARIANTS] = {
#define FOVEA_KERNEL(family, slot, stem, isa, mr, nr) {#slot, #stem "_" #isa, #isa, FOVEA_REQUIRES_##isa, mr, nr},
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
    return (fovea_variant_facts[variant].required & ~choice->allowed) == 0 && !choice->excluded[variant] &&
           !choice->quarantined[variant];
}

int32_t fovea_variant_find(const char *name, size_t length)
{
    for (int32_t i = 0; i < FOVEA_VARIANTS; i++)
        if (strlen(fovea_variant_facts[i].name) == length && strncmp(fovea_variant_facts[i].name, name, length) == 0)
            return i;
    return -1;
}

void fovea_use_variant(struct fovea_kernels *kernels, int32_t variant)
{
    switch (variant) {
#define FOVEA_KERNEL(family, slot, stem, isa, mr, nr)                                                                  \
    case FOVEA_VARIANT_##stem##_##isa:                                                                                 \
        kernels->slot =                                                                                                \
            (struct fovea_##family##_kernel){#stem "_" #isa, FOVEA_REQUIRES_##isa, mr, nr, fovea_##stem##_##isa};      \
        break;
#include "kernels/registers.def"
#undef FOVEA_KERNEL
    default:
        break;
    }
}

int32_t fovea_slot_variant(const struct fovea_kernels *kernels, uint32_t slot)
{
    const char *const names[] = {
#define FOVEA_SLOT(family, slot) kernels->slot.name,
#include "kernels/slots.def"
#undef FOVEA_SLOT
    };
    return fovea_variant_find(names[slot], strlen(names[slot]));
}

// The micro-kernels that small products may choose from: where one is pinned it alone.
static void list_gemm_tiles(const struct fovea_choice *choice, struct fovea_kernels *kernels)
{
    const int32_t slot = fovea_variant_find(kernels->gemm.name, strlen(kernels->gemm.name));
    kernels->gemm_tile_count = 0;
    for (int32_t i = 0; i < FOVEA_VARIANTS && kernels->gemm_tile_count < FOVEA_GEMM_TILES; i++) {
        const struct fovea_variant_facts *const facts = &fovea_variant_facts[i];
        const int kin = strcmp(facts->slot, "gemm") == 0 && strcmp(facts->isa, fovea_variant_facts[slot].isa) == 0;
        if (choice->pinned[slot] ? i == slot : kin && supported(choice, i)) {
            struct fovea_kernels other = *kernels;
            fovea_use_variant(&other, i);
            kernels->gemm_tiles[kernels->gemm_tile_count++] = other.gemm;
        }
    }
}

void fovea_resolve(struct fovea_choice *choice, struct fovea_kernels *kernels)
{
    enum { SUPPORTED, TUNED, PINNED, PASSES };
    struct slots at = {0};
    for (int pass = SUPPORTED; pass < PASSES; pass++) {
#define FOVEA_KERNEL(family, slot, stem, isa, mr, nr)                                                                  \
    if (pass == PINNED ? choice->pinned[FOVEA_VARIANT_##stem##_##isa]                                                  \
                       : supported(choice, FOVEA_VARIANT_##stem##_##isa) &&                                            \
                             (pass == SUPPORTED || choice->tuned[FOVEA_VARIANT_##stem##_##isa])) {                     \
        fovea_use_variant(kernels, FOVEA_VARIANT_##stem##_##isa);                                                      \
        at.slot = FOVEA_VARIANT_##stem##_##isa;                                                                        \
    }
#include "kernels/registers.def"
#undef FOVEA_KERNEL
    }
    list_gemm_tiles(choice, kernels);
#define FOVEA_SLOT(family, slot) choice->chosen[at.slot] = 1;
#include "kernels/slots.def"
#undef FOVEA_SLOT
}
