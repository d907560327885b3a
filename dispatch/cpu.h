// SPDX-License-Identifier: Apache-2.0
// dispatch/cpu.h - detection of the processor and its caches.
#ifndef FOVEA_DISPATCH_CPU_H
#define FOVEA_DISPATCH_CPU_H

#include "fovea/engine.h"

#include <stdbool.h>

/// FOVEA_CPU_* bits that this processor has and this operating system saves registers for.
uint32_t fovea_cpu_probe(void);
/// The processor's name, or "" if it reports none.
void fovea_cpu_brand(char *text, size_t size);

/// Family, model and stepping in one number: leaf 1 of CPUID, or the MIDR of Arm; 0 if there is neither.
uint32_t fovea_cpu_signature(void);

/// Number of online processors, at least 1.
uint32_t fovea_cpu_count(void);

/// Fills the cache fields of machine: sysfs, then CPUID, then the documented default. Never sysconf, which reports
/// 384 MB of L3 on some virtual machines where sysfs and CPUID say 32.
void fovea_cache_probe(struct fovea_machine *machine);
/// A single source each; true if it has at least L1d and L2. root is "/sys/devices/system/cpu/cpu0/cache".
bool fovea_cache_from_sysfs(const char *root, struct fovea_machine *machine);
bool fovea_cache_from_cpuid(struct fovea_machine *machine);
/// Sizes from AMD's first leaves: ecx of 0x80000005, ecx and edx of 0x80000006.
bool fovea_cache_from_registers(uint32_t l1d, uint32_t l2, uint32_t l3, struct fovea_machine *machine);
/// l3_hashed and wide512, which only CPUID can tell.
bool fovea_cache_l3_hashed(void);
bool fovea_cpu_wide512(void);
/// wide512 from CPUID: FP512. If its leaf is missing or hidden from a guest (not told): AVX-VNNI together with AVX-512,
/// as AVX-VNNI came after the cores that split AVX-512 in two; or, on Intel, AVX-VNNI alone, as Alder Lake's core is
/// Sapphire Rapids' with AVX-512 disabled.
bool fovea_cpu_is_wide(bool fp512, bool told, bool avx_vnni, bool avx512, bool intel);
/// Parses sizes given by the user, "32K,1M,32M" (L3 may be omitted), for machines that report wrong ones. A further
/// ",hashed", ",wide", ",mesh" or ",plain" after L3 says which kind of core it is: l3_hashed, wide512, both or neither
/// is 1. False if the text is malformed.
bool fovea_cache_from_text(const char *text, struct fovea_machine *machine);

#endif
