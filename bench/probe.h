// SPDX-License-Identifier: Apache-2.0
// bench/probe.h - the denominators: what this machine can do at this moment, measured beside what it did.
#ifndef FOVEA_BENCH_PROBE_H
#define FOVEA_BENCH_PROBE_H

#include "fovea/executor.h"

#include <stddef.h>

/// Flops a second of independent multiply-adds in the widest registers of an ISA, all workers at once.
struct bench_peak {
    double flops; ///< of multiply-adds alone: the peak. 0 where there is no probe for the ISA
    double mixed; ///< of as many with a load to every second one, as in a micro-kernel: equal, while the core is ours
};
/// Measures both, in about 100 us. isa is "scalar", "avx2", "avx512" or "neon".
struct bench_peak bench_fma_peak(const char *isa, const struct fovea_executor *executor);

/// The share of this thread's CPU time, 0 to 1, that goes to interruptions of more than some 5 us: what a system, or a
/// hypervisor for its guest, does at ticks. The probe of the peak takes 10 us and meets none; a call that takes longer
/// than the time between two of them cannot reach more than what is left of the peak. Measured in at most 6 ms.
double bench_interrupted(const char *isa);

/// Bytes a second at which `bytes` bytes are read once, in parts by all workers.
double bench_read_stream(const void *memory, size_t bytes, const struct fovea_executor *executor);

#endif
