// SPDX-License-Identifier: Apache-2.0
// tests/unit/model.c - the defaults of every class and micro-kernel are numbers that a profile may have, on any
// machine.
#include "dispatch/resolve.h"
#include "dispatch/tuning.h"
#include "tests/support/test.h"

#include <string.h>

static void test_class(const struct fovea_machine *machine, uint32_t class, int32_t kernel)
{
    const struct fovea_tuned tuned = fovea_tuned_default(machine, class, kernel);
    uint32_t count = 0;
    const struct fovea_tunable *const tunables = fovea_tunables(fovea_tuned_classes[class].kind, &count);
    for (uint32_t i = 0; i < count; i++) {
        CHECK(tuned.values[i] >= tunables[i].smallest && tuned.values[i] <= tunables[i].largest,
              "%s, L2 %u KiB, hashed %u: %s is %u", fovea_tuned_classes[class].name, machine->l2_bytes >> 10,
              machine->l3_hashed, tunables[i].name, tuned.values[i]);
    }
}

static void test_machine(const struct fovea_machine *machine)
{
    for (uint32_t class = 0; class < FOVEA_CLASS_SLOT; class ++) {
        if (fovea_tuned_classes[class].kind != FOVEA_TUNED_GEMM) {
            test_class(machine, class, -1);
            continue;
        }
        for (int32_t i = 0; i < FOVEA_VARIANTS; i++) {
            if (strcmp(fovea_variant_facts[i].slot, "gemm") == 0) {
                test_class(machine, class, i);
            }
        }
    }
}

int main(void)
{
    for (uint32_t l2 = 4u << 10; l2 <= 1u << 30; l2 *= 2) {
        for (uint32_t hashed = 0; hashed <= 1; hashed++) {
            const struct fovea_machine machine = {
                .l1d_bytes = 32 << 10, .l2_bytes = l2, .l3_bytes = 32 << 20, .l3_hashed = hashed};
            test_machine(&machine);
        }
    }
    return test_done();
}
