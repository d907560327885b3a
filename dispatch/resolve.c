// SPDX-License-Identifier: Apache-2.0
// dispatch/resolve.c - registers -> table: the best supported line of each slot, then the variants that the model, the
// profile and pins name.
#include "dispatch/resolve.h"

#include <stdbool.h>
#include <string.h>

const char *const fovea_isa_names[FOVEA_ISAS] = {
    [FOVEA_ISA_scalar] = "scalar", [FOVEA_ISA_avx2] = "avx2", [FOVEA_ISA_avx512] = "avx512", [FOVEA_ISA_neon] = "neon"};

const struct fovea_variant_facts fovea_variant_facts[FOVEA_VARIANTS] = {
#define FOVEA_KERNEL(family, slot_, stem, isa_, facts)                                                                 \
    {.slot = FOVEA_SLOT_##slot_,                                                                                       \
     .name = #stem "_" #isa_,                                                                                          \
     .isa = FOVEA_ISA_##isa_,                                                                                          \
     .required = FOVEA_REQUIRES_##isa_,                                                                                \
     FOVEA_FACTS facts},
#include "kernels/registers.def"
#undef FOVEA_KERNEL
};

bool fovea_variant_is_allowed(const struct fovea_choice *choice, int32_t variant)
{
    return (fovea_variant_facts[variant].required & ~choice->allowed) == 0 && !choice->excluded[variant];
}

bool fovea_variant_is_usable(const struct fovea_choice *choice, int32_t variant)
{
    return fovea_variant_is_allowed(choice, variant) && !choice->quarantined[variant];
}

bool fovea_slot_is_pinned(const struct fovea_choice *choice, enum fovea_slot slot)
{
    bool pinned = false;
    for (int32_t i = 0; i < FOVEA_VARIANTS; i++) {
        pinned |= choice->pinned[i] && fovea_variant_facts[i].slot == slot;
    }
    return pinned;
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
#define FOVEA_KERNEL(family, slot, stem, isa, facts)                                                                   \
    case FOVEA_VARIANT_##stem##_##isa:                                                                                 \
        kernels->slot = (struct fovea_##family##_kernel){.name = #stem "_" #isa,                                       \
                                                         .variant = variant,                                           \
                                                         .required = FOVEA_REQUIRES_##isa,                             \
                                                         .run = fovea_##stem##_##isa,                                  \
                                                         FOVEA_FACTS facts};                                           \
        break;
#include "kernels/registers.def"
#undef FOVEA_KERNEL
    default:
        break;
    }
}

struct fovea_gemm_kernel fovea_gemm_variant(int32_t variant)
{
    struct fovea_kernels kernels = {0};
    fovea_use_variant(&kernels, variant);
    return kernels.gemm;
}

int32_t fovea_slot_variant(const struct fovea_kernels *kernels, enum fovea_slot slot)
{
    const int32_t variants[] = {
#define FOVEA_SLOT(family, slot) kernels->slot.variant,
#include "kernels/slots.def"
#undef FOVEA_SLOT
    };
    return variants[slot];
}

// Lists the micro-kernels that small products may choose from; if one is pinned, only that.
static void list_gemm_tiles(const struct fovea_choice *choice, struct fovea_kernels *kernels)
{
    const int32_t chosen = kernels->gemm.variant;
    kernels->gemm_tile_count = 0;
    for (int32_t i = 0; i < FOVEA_VARIANTS; i++) {
        const struct fovea_variant_facts *const facts = &fovea_variant_facts[i];
        const bool kin = facts->slot == FOVEA_SLOT_gemm && facts->isa == fovea_variant_facts[chosen].isa;
        if (choice->pinned[chosen] ? i == chosen : kin && fovea_variant_is_usable(choice, i)) {
            kernels->gemm_tiles[kernels->gemm_tile_count++] = fovea_gemm_variant(i);
        }
    }
}

void fovea_resolve(struct fovea_choice *choice, struct fovea_kernels *kernels)
{
    enum { SUPPORTED, PREFERRED, TUNED, PINNED, PASSES };
    for (int pass = SUPPORTED; pass < PASSES; pass++) {
        for (int32_t i = 0; i < FOVEA_VARIANTS; i++) {
            const bool usable = fovea_variant_is_usable(choice, i);
            const bool takes[PASSES] = {usable, usable && choice->preferred[i], usable && choice->tuned[i],
                                        choice->pinned[i]};
            if (takes[pass]) {
                fovea_use_variant(kernels, i);
            }
        }
    }
    list_gemm_tiles(choice, kernels);
    for (enum fovea_slot slot = (enum fovea_slot)0; slot < FOVEA_SLOTS; slot++) {
        choice->chosen[fovea_slot_variant(kernels, slot)] = 1;
    }
}
