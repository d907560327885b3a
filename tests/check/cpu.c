// SPDX-License-Identifier: Apache-2.0
// tests/check/cpu.c - the CPU as the compiler's runtime sees it: a second opinion on dispatch/, and the FMA peak.
#include "tests/check/run.h"

#include <string.h>
#include <time.h>

uint32_t check_cpu(void)
{
    uint32_t cpu = 0;
#if defined(__x86_64__)
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        cpu |= FOVEA_CPU_AVX2;
    if (cpu != 0 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
        cpu |= FOVEA_CPU_AVX512;
#elif defined(__aarch64__)
    cpu |= FOVEA_CPU_NEON; // part of the architecture
#endif
    return cpu;
}

// XGETBV of 1: what a context switch would save. Code without AVX waits for each register of which it keeps the upper
// half: on Granite Rapids a transpose that left them in use made attention of 16 tokens 1.4 times as slow.
#if defined(__x86_64__)
#include <cpuid.h>

enum { SAVED_AVX = 1 << 2, SAVED_ZMM_HIGH = 1 << 6, XGETBV_1 = 1 << 2 };

static bool in_use(void)
{
    uint32_t eax, edx;
    __asm__ volatile("xgetbv" : "=a"(eax), "=d"(edx) : "c"(1));
    return (eax & (SAVED_AVX | SAVED_ZMM_HIGH)) != 0;
}

// Emulators and some CPUs always say yes, or say so of 128 bits: these tell nothing.
bool check_upper_told(void)
{
    uint32_t eax = 0, ebx, ecx = 0, edx;
    if (check_cpu() == 0 || !__get_cpuid_count(1, 0, &eax, &ebx, &ecx, &edx) || (ecx & bit_OSXSAVE) == 0 ||
        !__get_cpuid_count(0xd, 1, &eax, &ebx, &ecx, &edx) || (eax & XGETBV_1) == 0) {
        return false;
    }
    __asm__ volatile("vzeroupper\n\tvpcmpeqd %%xmm0, %%xmm0, %%xmm0" : : : "xmm0");
    const bool clean = !in_use();
    __asm__ volatile("vperm2f128 $0, %%ymm0, %%ymm0, %%ymm0" : : : "xmm0");
    const bool used = in_use();
    __asm__ volatile("vzeroupper");
    return clean && used;
}

static bool watched;

void check_upper_watch(bool watch)
{
    watched = watch && check_upper_told();
}

bool check_upper_in_use(void)
{
    return watched && in_use();
}

void check_upper_clear(void)
{
    if (watched) {
        __asm__ volatile("vzeroupper");
    }
}
#else
bool check_upper_told(void)
{
    return false;
}

void check_upper_watch(bool watch)
{
    (void)watch;
}

bool check_upper_in_use(void)
{
    return false;
}

void check_upper_clear(void)
{
}
#endif

double check_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

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
