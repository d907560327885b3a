// SPDX-License-Identifier: Apache-2.0
// tests/check/peak.c - the FMA peak of an ISA's registers, for `check --bench`.
#include "tests/check/program.h"

#include <string.h>

// Twelve independent chains: at least latency x ports (5 x 2, 4 x 2, 4 x 2) on everything these tests meet.
#define TWELVE(X) X("2") X("3") X("4") X("5") X("6") X("7") X("8") X("9") X("10") X("11") X("12") X("13")

static void fma_loop(const char *isa, size_t steps)
{
#if defined(__x86_64__)
#define YMM(i) "vfmadd231ps %%ymm0, %%ymm1, %%ymm" i "\n\t"
#define ZMM(i) "vfmadd231ps %%zmm0, %%zmm1, %%zmm" i "\n\t"
#define ZERO(i) "vxorps %%xmm" i ", %%xmm" i ", %%xmm" i "\n\t"
#define LOOP(X) ZERO("0") ZERO("1") TWELVE(ZERO) "1:\n\t" TWELVE(X) "dec %0\n\tjnz 1b\n\tvzeroupper"
#define XMMS                                                                                                           \
    "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12", "xmm13"
    if (strcmp(isa, "avx512") == 0)
        __asm__ volatile(LOOP(ZMM) : "+r"(steps) : : XMMS, "cc");
    else
        __asm__ volatile(LOOP(YMM) : "+r"(steps) : : XMMS, "cc");
#elif defined(__aarch64__)
#define VEC(i) "fmla v" i ".4s, v0.4s, v1.4s\n\t"
    (void)isa;
    __asm__ volatile("1:\n\t" TWELVE(VEC) "subs %0, %0, #1\n\tb.ne 1b"
                     : "+r"(steps)
                     :
                     : "v0", "v1", "v2", "v3", "v4", "v5", "v6", "v7", "v8", "v9", "v10", "v11", "v12", "v13", "cc");
#else
    (void)isa;
    (void)steps;
#endif
}

double check_fma_peak(const char *isa)
{
    static const struct {
        const char *isa;
        double lanes;
    } widths[] = {{"avx2", 8}, {"avx512", 16}, {"neon", 4}};
    const size_t steps = 200000;
    for (size_t i = 0; i < sizeof widths / sizeof widths[0]; i++) {
        if (strcmp(isa, widths[i].isa) != 0)
            continue;
        double best = 1e9;
        for (size_t round = 0; round < 5; round++) {
            const double start = check_seconds();
            fma_loop(isa, steps);
            const double time = check_seconds() - start;
            best = time < best ? time : best;
        }
        return 2 * 12 * widths[i].lanes * (double)steps / best;
    }
    return 0;
}
