// SPDX-License-Identifier: Apache-2.0
// dispatch/cpu.h - what dispatch/ finds out about the processor.
#ifndef FOVEA_DISPATCH_CPU_H
#define FOVEA_DISPATCH_CPU_H

#include "fovea/engine.h"
#include "kernels/kernel.h"

/// FOVEA_CPU_* bits this processor has and this operating system saves.
uint32_t fovea_cpu_probe(void);
/// The processor's own name, "" where it tells none.
void fovea_cpu_brand(char *text, size_t size);

/// Family, model and stepping in one number: leaf 1 of CPUID, the MIDR of Arm; 0 where neither is there.
uint32_t fovea_cpu_signature(void);

/// Processors the system has in use, at least 1.
uint32_t fovea_cpu_count(void);

/// Fills the cache fields of machine: sysfs, then CPUID, then the documented default. Never sysconf, which reports
/// 384 MB of L3 on some virtual machines where sysfs and CPUID say 32.
void fovea_cache_probe(struct fovea_machine *machine);
/// One source at a time, true if it knew at least L1d and L2; root is "/sys/devices/system/cpu/cpu0/cache".
bool fovea_cache_from_sysfs(const char *root, struct fovea_machine *machine);
bool fovea_cache_from_cpuid(struct fovea_machine *machine);
/// What AMD's first leaves tell of sizes: ecx of 0x80000005, ecx and edx of 0x80000006.
bool fovea_cache_from_registers(uint32_t l1d, uint32_t l2, uint32_t l3, struct fovea_machine *machine);
/// l3_hashed and wide512, which only CPUID tells.
bool fovea_cache_l3_hashed(void);
bool fovea_cpu_wide512(void);
/// wide512 by what CPUID says: FP512; or, where its leaf is not there or hidden from a guest (not told), AVX-VNNI,
/// which came after AVX-512 in two halves, beside AVX-512. Or alone, of Intel's: Alder Lake's core is that of Sapphire
/// Rapids with AVX-512 switched off.
bool fovea_cpu_is_wide(bool fp512, bool told, bool avx_vnni, bool avx512, bool intel);
/// What a person says, "32K,1M,32M" (L3 may be missing), for machines that do not tell; ",hashed", ",wide", ",mesh" or
/// ",plain" behind L3 says which core it belongs to: l3_hashed, wide512, both or neither is 1. False for what is
/// nothing of that.
bool fovea_cache_from_text(const char *text, struct fovea_machine *machine);

#endif
