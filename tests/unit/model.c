// SPDX-License-Identifier: Apache-2.0
// tests/unit/model.c - the defaults of every class and micro-kernel are numbers that a profile may have, on any
// machine.
#include "dispatch/cpu.h"
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

// What CPUID says of L3, or a person, decides what is prefetched.
static void test_hashed(void)
{
    static const struct {
        const char *text;
        int taken;
        uint32_t hashed, fetch_k; // of some-far-nt
    } cases[] = {{"32K,1M,32M,hashed", 1, 1, 640},
                 {"32K,1M,32M,plain", 1, 0, 1 << 20},
                 {"32K,1M,32M,", 0, 0, 0},
                 {"32K,1M,32M,mesh", 0, 0, 0},
                 {"32K,1M,32M,plain,", 0, 0, 0}};
    uint32_t count = 0, fetch_k = 0;
    const struct fovea_tunable *const tunables = fovea_tunables(FOVEA_TUNED_GEMM, &count);
    while (strcmp(tunables[fetch_k].name, "fetch_k") != 0) {
        fetch_k++;
    }
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct fovea_machine machine = {.l3_hashed = 2};
        const int taken = fovea_cache_from_text(cases[i].text, &machine);
        CHECK(taken == cases[i].taken && (!taken || machine.l3_hashed == cases[i].hashed), "%s", cases[i].text);
        const struct fovea_tuned tuned =
            taken ? fovea_tuned_default(&machine, 17, fovea_variant_find("gemm_f32_4x16_scalar", 20))
                  : (struct fovea_tuned){0};
        CHECK(!taken || tuned.values[fetch_k] == cases[i].fetch_k, "%s: %u", cases[i].text, tuned.values[fetch_k]);
    }
    struct fovea_machine machine = {.l3_hashed = 1};
    CHECK(fovea_cache_from_text("32K,1M", &machine) && machine.l3_hashed == 1, "as it was");
}

int main(void)
{
    test_hashed();
    for (uint32_t l2 = 4u << 10; l2 <= 1u << 30; l2 *= 2) {
        for (uint32_t hashed = 0; hashed <= 1; hashed++) {
            const struct fovea_machine machine = {
                .l1d_bytes = 32 << 10, .l2_bytes = l2, .l3_bytes = 32 << 20, .l3_hashed = hashed};
            test_machine(&machine);
        }
    }
    return test_done();
}
