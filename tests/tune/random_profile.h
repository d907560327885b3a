// SPDX-License-Identifier: Apache-2.0
// tests/tune/random_profile.h - any legal profile for this machine.
#ifndef FOVEA_TESTS_TUNE_RANDOM_PROFILE_H
#define FOVEA_TESTS_TUNE_RANDOM_PROFILE_H

#include "tests/support/test.h"
#include "tune/write.h"

/// A kernel of a class that the ISA bits allow; -1 where the class has none of its own.
static inline int32_t random_kernel(uint32_t class, uint32_t isa, uint64_t *random)
{
    int32_t kernels[FOVEA_VARIANTS];
    uint32_t count = 0;
    for (int32_t i = 0; i < FOVEA_VARIANTS; i++)
        if (fovea_variant_facts[i].slot == fovea_class_slot(class) && (fovea_variant_facts[i].required & ~isa) == 0)
            kernels[count++] = i;
    return count != 0 ? kernels[test_below(random, count)] : -1;
}

/// Most classes tuned with numbers of the whole legal range, most of them small.
static inline void random_profile(const struct fovea_machine *machine, uint32_t isa, uint64_t seed,
                                  struct fovea_profile *profile)
{
    memset(profile, 0, sizeof *profile);
    profile->key = fovea_profile_key(machine);
    profile->isa = isa;
    profile->level = (enum fovea_profile_level)test_below(&seed, FOVEA_LEVELS);
    profile->l2_measured_bytes = test_below(&seed, 2) != 0 ? 2 * profile->key.l2_bytes : 0;
    for (uint32_t class = 0; class < FOVEA_TUNED_CLASSES; class ++) {
        struct fovea_tuned *const tuned = &profile->tuned[class];
        uint32_t count;
        const struct fovea_tunable *const tunables = fovea_tunables(fovea_class(class).kind, &count);
        profile->has[class] = fovea_class_is_tuned(class) && test_below(&seed, 5) != 0;
        if (!profile->has[class])
            continue;
        tuned->kernel = random_kernel(class, isa, &seed);
        for (uint32_t i = 0; i < count; i++) {
            const uint32_t range = tunables[i].largest - tunables[i].smallest + 1;
            const uint32_t wide = test_below(&seed, 4) ? 300 : range;
            tuned->values[i] = tunables[i].smallest + test_below(&seed, wide < range ? wide : range);
        }
        profile->evidence[class] =
            (struct fovea_evidence){1000000 + test_below(&seed, 500000), test_below(&seed, 1u << 31),
                                    test_below(&seed, 1u << 31), test_below(&seed, 10000), test_below(&seed, 100)};
    }
}

#endif
