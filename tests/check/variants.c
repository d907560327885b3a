// SPDX-License-Identifier: Apache-2.0
// tests/check/variants.c - the registers as a table.
#include "tests/check/check.h"

#include <string.h>

const struct check_variant check_variants[] = {
#define FOVEA_KERNEL(family, slot, stem, isa, mr, nr)                                                                  \
    {#slot,                                                                                                            \
     #isa,                                                                                                             \
     #stem "_" #isa,                                                                                                   \
     &check_family_##family,                                                                                           \
     FOVEA_REQUIRES_##isa,                                                                                             \
     mr,                                                                                                               \
     nr,                                                                                                               \
     {.family = fovea_##stem##_##isa}},
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
