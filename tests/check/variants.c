// SPDX-License-Identifier: Apache-2.0
// tests/check/variants.c - the registers as a table.
#include "tests/check/check.h"

#include <string.h>

const struct check_variant check_variants[] = {
#define FOVEA_KERNEL(family_, slot_, stem, isa_, facts)                                                                \
    {.slot = #slot_,                                                                                                   \
     .isa = #isa_,                                                                                                     \
     .name = #stem "_" #isa_,                                                                                          \
     .family = &check_family_##family_,                                                                                \
     .required = FOVEA_REQUIRES_##isa_,                                                                                \
     .run.family_ = fovea_##stem##_##isa_,                                                                             \
     FOVEA_FACTS facts},
#include "kernels/registers.def"
#undef FOVEA_KERNEL
};
const size_t check_variants_count = sizeof check_variants / sizeof check_variants[0];

const struct check_variant *check_scalar(const char *slot)
{
    for (size_t i = 0; i < check_variants_count; i++) {
        if (strcmp(check_variants[i].slot, slot) == 0 && strcmp(check_variants[i].isa, "scalar") == 0)
            return &check_variants[i];
    }
    return NULL;
}
