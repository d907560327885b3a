// SPDX-License-Identifier: Apache-2.0
// fovea/engine.h - what this machine can do: kernels resolved once, immutable, shared by all threads.
#ifndef FOVEA_ENGINE_H
#define FOVEA_ENGINE_H

#include "fovea/status.h"

#ifdef __cplusplus
extern "C" {
#endif

struct fovea_engine;

/// Block sizes of a GEMM; 0 takes the default of this machine. No value changes a bit of any result. Where k is shorter
/// than kc and than 1024, mc and nc grow as it shrinks: what stays in a cache is a number of steps times them.
struct fovea_tiling {
    uint32_t kc; ///< k steps of a block
    uint32_t mc; ///< rows of A that pass a group of columns of B
    uint32_t nc; ///< columns of B of a group, in whole tiles: they stay in L2 while the rows pass
};

/// All fields may be zero (but struct_size). The strings and structs are read during the call only; an empty string is
/// none, whatever the environment says.
struct fovea_engine_options {
    uint32_t struct_size; ///< sizeof(struct fovea_engine_options)
    /// Threads that will share a call at most, 1 where there is no executor: attention and GEMM make tasks enough for
    /// them, or fewer and larger ones, which read keys, A and B less often; a GEMM of few rows over an unpacked B cuts
    /// its columns for them. 0: the processors that are online, whatever affinity or cgroups allow (a thread that
    /// OpenMP has bound sees one core); in a container of a few processors of a large machine say how many. It changes
    /// speed and scratch, never a bit.
    uint32_t workers;
    /// "scalar", "avx2", "avx512" or "neon": no kernel above it is used. NULL: the environment's FOVEA_ISA, else the
    /// best.
    const char *isa;
    /// Names of kernel variants, comma-separated: "gemm_f32_9x48_avx512,...". NULL: the environment's FOVEA_PIN, else
    /// none.
    const char *pin;
    /// Names of kernel variants that are never used (scalar ones cannot be excluded). NULL: the environment's
    /// FOVEA_EXCLUDE, else none. `fovea verify` names the variants that differ from the scalar path, if any.
    const char *exclude;
    const struct fovea_tiling *tiling; ///< NULL: that of the tuning profile, else defaults from the measured caches
    /// NULL, or where one line that explains a failure is written, "" without one. After STRUCT it is as it was: in a
    /// struct of another size nothing is believed, not where this points either.
    char *message;
    size_t message_size; ///< bytes of message
    /// The tuning profile: a file that `fovea tune` wrote, or "none". NULL: the file that FOVEA_PROFILE names, else the
    /// first good one of $XDG_CONFIG_HOME/fovea/profile (or $HOME/.config), /var/lib/fovea/profile, /etc/fovea/profile.
    /// One that is damaged, made for another machine or not there is ignored, which fovea_engine_profile tells. It
    /// changes speed, never a bit.
    const char *profile;
    /// The caches where the machine does not tell the truth: "32K,1M,32M", as docs/tuning.md has it. NULL: the
    /// environment's FOVEA_CACHES, else what is found. It changes speed, never a bit.
    const char *caches;
};
#define FOVEA_ENGINE_OPTIONS_INIT                                                                                      \
    {                                                                                                                  \
        sizeof(struct fovea_engine_options), 0, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL                            \
    }

/// Makes an engine: probes the CPU and its caches, reads the tuning profile, resolves every kernel. options may be
/// NULL. The engine is immutable, may be used by any number of threads, survives fork, and must outlive the plans made
/// with it. After a failure *out is what it was.
/// Errors: NULL, STRUCT, CONFIG (unknown ISA or variant, caches that are none), UNSUPPORTED (an ISA or variant this CPU
/// lacks), VALUE (tiling), MEMORY.
FOVEA_API enum fovea_status fovea_engine_create(const struct fovea_engine_options *options, struct fovea_engine **out);
/// Frees an engine. NULL is legal.
FOVEA_API void fovea_engine_destroy(struct fovea_engine *engine);

/// Facts about the machine, as found.
struct fovea_machine {
    char brand[64];                         ///< as the CPU names itself; "" where it does not
    char features[128];                     ///< feature clusters found, space-separated: "avx2 avx512 vnni"
    uint32_t cpu;                           ///< the same as bits, for the library's own tests
    uint32_t l1d_bytes, l2_bytes, l3_bytes; ///< data caches of one core; l3 shared. Never 0 but for l3
    uint32_t l1d_ways, l2_ways, l3_ways;    ///< 1 where nothing tells, of l3 0 where there is none
    uint32_t l3_hashed; ///< 1: L3 is in slices that addresses are hashed over, as all of Intel's are (the vendor's
                        ///< name tells); 0: it is not, or nothing tells
    uint32_t wide512;   ///< 1: a core that computes 512 bits at once, whether AVX-512 is there or, as on Alder Lake, is
                        ///< switched off, as far as CPUID tells (AMD's FP512; where there is none, or a guest does not
                        ///< see it, AVX-512 with AVX-VNNI; Intel's AVX-VNNI alone); 0: in two halves, or nothing tells
    char cache_source[16]; ///< "sysfs", "cpuid", "default", or the setting: "options.caches", "FOVEA_CACHES"
    uint32_t processors;   ///< in use by this system, at least 1
};
/// The machine this engine was made on.
FOVEA_API const struct fovea_machine *fovea_engine_machine(const struct fovea_engine *engine);

/// In one line, the tuning profile in use, or that there is none, and which were ignored and why. NULL for NULL.
FOVEA_API const char *fovea_engine_profile(const struct fovea_engine *engine);

/// One kernel slot of an engine and, per variant, what became of it.
struct fovea_variant {
    const char *slot; ///< "gemm"
    const char *name; ///< "gemm_f32_6x64_avx512"
    const char *isa;  ///< "avx512"
    const char *why;  ///< "chosen", or why not: "this CPU lacks it", "above the ISA cap", ...
    uint32_t chosen;  ///< 1 for the variant in use, one in each slot
    uint32_t also;    ///< 1 for one in use beside it: a GEMM micro-kernel for the shapes that suit it, or
                      ///< that a profile gives to some
};
/// The number of compiled variants, and facts about variant `index` (0-based, in register order). Errors: NULL,
/// SHAPE (no such variant).
FOVEA_API uint32_t fovea_engine_variants(const struct fovea_engine *engine);
FOVEA_API enum fovea_status fovea_engine_variant(const struct fovea_engine *engine, uint32_t index,
                                                 struct fovea_variant *out);

/// Asks the system for huge pages below the whole pages of [memory, memory + bytes): packed weights, key caches, work
/// memory. A hint, which changes no byte; read-only and mapped memory is legal. It serves best before the memory is
/// first written (later the system may take minutes to move it), and memory that begins and ends on a huge page (2 MiB
/// on x86) is covered whole. Measured: 3 to 7 % less time for a GEMM of 1 to 16 rows whose packed B comes from memory.
/// OK: the system has taken the hint (it may still lack free huge pages). UNSUPPORTED: it has no huge pages, or none
/// for this memory. Errors: NULL, OVERFLOW (memory that wraps around).
FOVEA_API enum fovea_status fovea_advise_huge_pages(const void *memory, size_t bytes);

#ifdef __cplusplus
}
#endif

#endif
