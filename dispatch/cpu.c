// SPDX-License-Identifier: Apache-2.0
// dispatch/cpu.c - feature bits: CPUID and XCR0 on x86, HWCAP on arm64. There is no table of models; the vendor's name
// is only used for L3 (dispatch/cache.c) and to recognise Intel's cores with AVX-512 disabled.
//
// Tables of models fail in practice: two widely installed BLAS libraries run AVX-512 machines at a half and a sixth of
// their speed because they do not know the family number.
#include "dispatch/cpu.h"
#include "kernels/kernel.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

bool fovea_cpu_is_wide(bool fp512, bool told, bool avx_vnni, bool avx512, bool intel)
{
    return fp512 || (!told && avx_vnni && (avx512 || intel));
}

uint32_t fovea_cpu_count(void)
{
    const long count = sysconf(_SC_NPROCESSORS_ONLN);
    return count < 1 ? 1 : (uint32_t)count;
}

#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>

struct cpuid {
    uint32_t eax, ebx, ecx, edx;
};

static struct cpuid cpuid(uint32_t leaf, uint32_t subleaf)
{
    struct cpuid r = {0, 0, 0, 0};
    __get_cpuid_count(leaf, subleaf, &r.eax, &r.ebx, &r.ecx, &r.edx); // leaves zeros if the leaf does not exist
    return r;
}

// XCR0: the registers that the operating system saves. Bits 1-2: xmm, ymm; 5-7: masks and zmm.
static uint32_t saved_registers(void)
{
    uint32_t low, high;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return low;
}

static bool has(uint32_t word, uint32_t bits)
{
    return (word & bits) == bits;
}

uint32_t fovea_cpu_probe(void)
{
    const struct cpuid l1 = cpuid(1, 0), l7 = cpuid(7, 0), l7_1 = cpuid(7, 1);
    if (!has(l1.ecx, bit_OSXSAVE))
        return 0;
    const uint32_t xcr0 = saved_registers();
    uint32_t cpu = 0;
    if (has(xcr0, 0x6) && has(l1.ecx, bit_FMA | bit_F16C) && has(l7.ebx, bit_AVX2))
        cpu |= FOVEA_CPU_AVX2;
    if (cpu && has(xcr0, 0xe6) && has(l7.ebx, bit_AVX512F | bit_AVX512BW | bit_AVX512DQ | bit_AVX512VL)) {
        cpu |= FOVEA_CPU_AVX512;
        if (has(l7.ecx, bit_AVX512VNNI))
            cpu |= FOVEA_CPU_VNNI;
        if (has(l7_1.eax, 1u << 5))
            cpu |= FOVEA_CPU_BF16;
    }
    return cpu;
}

void fovea_cpu_brand(char *text, size_t size)
{
    char brand[49] = "";
    if (cpuid(0x80000000u, 0).eax >= 0x80000004u)
        for (uint32_t i = 0; i < 3; i++) {
            const struct cpuid r = cpuid(0x80000002u + i, 0);
            memcpy(brand + i * sizeof r, &r, sizeof r);
        }
    for (size_t end = strlen(brand); end > 0 && brand[end - 1] == ' '; end--) // AMD pads to 48 bytes
        brand[end - 1] = '\0';
    snprintf(text, size, "%s", brand + strspn(brand, " "));
}

uint32_t fovea_cpu_signature(void)
{
    return cpuid(1, 0).eax;
}

bool fovea_cpu_wide512(void)
{
    // "Performance optimization identifiers", in AMD's manuals since Zen 5. Other vendors have no such leaf, and KVM
    // hides it from its guests (Linux 079f6889818d masks bits that were reserved then).
    enum { FP512 = 1 << 3, AVX_VNNI = 1 << 4 };
    const uint32_t identifiers = 0x8000001au;
    const bool told = cpuid(0x80000000u, 0).eax >= identifiers && cpuid(1, 0).ecx >> 31 == 0; // not a guest
    const bool fp512 = (cpuid(identifiers, 0).eax & FP512) != 0, avx_vnni = has(cpuid(7, 1).eax, AVX_VNNI);
    const bool avx512 = (fovea_cpu_probe() & FOVEA_CPU_AVX512) != 0;
    return fovea_cpu_is_wide(fp512, told, avx_vnni, avx512, fovea_cache_l3_hashed());
}

#elif defined(__aarch64__)
#include <sys/auxv.h>

// HWCAP bits by their numbers in Linux's uapi, so that old headers suffice.
enum { HWCAP_BIT_ASIMD = 1, HWCAP_BIT_ASIMDDP = 20, HWCAP2_BIT_I8MM = 13, HWCAP2_BIT_BF16 = 14 };

uint32_t fovea_cpu_probe(void)
{
    const unsigned long cap = getauxval(AT_HWCAP), cap2 = getauxval(AT_HWCAP2);
    if (!(cap >> HWCAP_BIT_ASIMD & 1))
        return 0;
    uint32_t cpu = FOVEA_CPU_NEON;
    if (cap >> HWCAP_BIT_ASIMDDP & 1)
        cpu |= FOVEA_CPU_DOTPROD;
    if (cap2 >> HWCAP2_BIT_I8MM & 1)
        cpu |= FOVEA_CPU_I8MM;
    if (cap2 >> HWCAP2_BIT_BF16 & 1)
        cpu |= FOVEA_CPU_BF16;
    return cpu;
}

void fovea_cpu_brand(char *text, size_t size)
{
    snprintf(text, size, "%s", "");
}

uint32_t fovea_cpu_signature(void)
{
    FILE *const file = fopen("/sys/devices/system/cpu/cpu0/regs/identification/midr_el1", "r");
    unsigned long long midr = 0;
    if (file) {
        if (fscanf(file, "%llx", &midr) != 1)
            midr = 0;
        fclose(file);
    }
    return (uint32_t)midr;
}

bool fovea_cpu_wide512(void)
{
    return false;
}

#else

uint32_t fovea_cpu_probe(void)
{
    return 0;
}

void fovea_cpu_brand(char *text, size_t size)
{
    snprintf(text, size, "%s", "");
}

uint32_t fovea_cpu_signature(void)
{
    return 0;
}

bool fovea_cpu_wide512(void)
{
    return false;
}
#endif
