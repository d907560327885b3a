// SPDX-License-Identifier: Apache-2.0
// tests/unit/vec.c - the operations of each ISA's vec.h and vec_u32.h against their definitions: vec_ops.inc. The
// functions of SLEEF are not among them; the checks of the kernels that call them have oracles.
#include "dispatch/cpu.h"
#include "kernels/kernel.h"
#include "tests/support/test.h"

#if FOVEA_HAVE_AVX2
void test_vec_avx2(void);
#endif
#if FOVEA_HAVE_AVX512
void test_vec_avx512(void);
#endif
#if FOVEA_HAVE_NEON
void test_vec_neon(void);
#endif

int main(void)
{
    static const struct {
        const char *isa;
        uint32_t required;
        void (*test)(void);
    } isas[] = {
#if FOVEA_HAVE_AVX2
        {"avx2", FOVEA_REQUIRES_avx2, test_vec_avx2},
#endif
#if FOVEA_HAVE_AVX512
        {"avx512", FOVEA_REQUIRES_avx512, test_vec_avx512},
#endif
#if FOVEA_HAVE_NEON
        {"neon", FOVEA_REQUIRES_neon, test_vec_neon},
#endif
    };
    uint32_t ran = 0;
    for (size_t i = 0; i < sizeof isas / sizeof *isas; i++) {
        if (isas[i].required & ~fovea_cpu_probe()) {
            printf("SKIP: %s: not on this CPU\n", isas[i].isa);
            continue;
        }
        isas[i].test();
        ran++;
    }
    if (ran == 0)
        return 77;
    return test_done();
}
