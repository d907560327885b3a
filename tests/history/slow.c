// SPDX-License-Identifier: Apache-2.0
// tests/history/slow.c - the GEMM kernels, a tenth slower: the linker puts these in their place (--wrap).
#include "kernels/kernel.h"

#include <time.h>

#if defined(__x86_64__)
static uint64_t now(void)
{
    return __builtin_ia32_rdtsc();
}
#else
static uint64_t now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}
#endif

static void waste_tenth_since(uint64_t begin)
{
    const uint64_t end = now();
    while (now() - end < (end - begin) / 10)
        ;
}

#define SLOW(kernel)                                                                                                   \
    void __real_fovea_##kernel(const struct fovea_gemm_tile *tile);                                                    \
    void __wrap_fovea_##kernel(const struct fovea_gemm_tile *tile);                                                    \
    void __wrap_fovea_##kernel(const struct fovea_gemm_tile *tile)                                                     \
    {                                                                                                                  \
        const uint64_t begin = now();                                                                                  \
        __real_fovea_##kernel(tile);                                                                                   \
        waste_tenth_since(begin);                                                                                      \
    }

// Of the register those that are wrapped, the micro-kernels.
#define SLOW_gemm(kernel) SLOW(kernel)
#define SLOW_gemm_bt(kernel)
#define SLOW_gemm_bn(kernel)
#define SLOW_gemm_edge(kernel)
#define SLOW_pack_b(kernel)
#define SLOW_pack_bt(kernel)
#define SLOW_gemm_few(kernel)
#define SLOW_gemm_bf16(kernel)
#define SLOW_gemm_f16(kernel)
#define SLOW_gemm_s8(kernel)
#define SLOW_widen_bf16(kernel)
#define SLOW_widen_f16(kernel)
#define SLOW_widen_s8(kernel)
#define SLOW_narrow_bf16(kernel)
#define SLOW_narrow_f16(kernel)
#define SLOW_transpose(kernel)
#define SLOW_gemm_epilogue(kernel)
#define FOVEA_KERNEL(family, slot, stem, isa, facts) SLOW_##slot(stem##_##isa)
#include "kernels/gemm.def"
