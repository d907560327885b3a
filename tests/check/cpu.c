// SPDX-License-Identifier: Apache-2.0
// tests/check/cpu.c - the CPU as the compiler's runtime sees it: a second opinion on dispatch/; and the clock.
#include "tests/check/run.h"

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
