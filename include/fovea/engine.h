// SPDX-License-Identifier: Apache-2.0
// fovea/engine.h - what this machine can do: kernels resolved once, immutable, shared by all threads.
#ifndef FOVEA_ENGINE_H
#define FOVEA_ENGINE_H

#include "fovea/status.h"

#ifdef __cplusplus
extern "C" {
#endif

struct fovea_engine;

/// Block sizes of a GEMM; 0 means the default of this machine. No value changes a bit of any result. If k is shorter
/// than kc and than 1024, mc and nc grow as k shrinks, because what stays in a cache is the number of k steps times mc
/// or nc.
struct fovea_tiling {
    uint32_t kc; ///< k steps per block
    uint32_t mc; ///< rows of A per block, each used against a whole group of columns of B
    uint32_t nc; ///< columns of B per group, in whole tiles: they stay in L2 while the rows of A are processed
};

/// All fields except struct_size may be zero. Strings and structs are read during the call only. An empty string means
/// none, and overrides the environment.
struct fovea_engine_options {
    uint32_t struct_size; ///< sizeof(struct fovea_engine_options). A program with raised rights (set-uid) ignores the
                          ///< environment: below, it counts as empty
    /// The most threads that will share a call; 1 without an executor. Attention and GEMM create enough tasks for that
    /// many threads. With fewer threads the tasks are fewer and larger, which read keys, A and B less often. A GEMM of
    /// few rows over an unpacked B splits its columns for them. 0: the number of online processors, whatever affinity
    /// or cgroups allow (a thread that OpenMP has bound sees one core); in a container with few processors of a large
    /// machine, set the number. Changes speed and scratch size, never a bit of a result.
    uint32_t workers;
    /// "scalar", "avx2", "avx512" or "neon": the highest instruction set to use. NULL: the environment's FOVEA_ISA,
    /// else the best available.
    const char *isa;
    /// Names of kernel variants to use, with commas between them, which blanks may follow: "gemm_f32_9x48_avx512,...".
    /// NULL: the environment's FOVEA_PIN, else none.
    const char *pin;
    /// Names of kernel variants never to choose; scalar ones cannot be excluded. NULL: the environment's FOVEA_EXCLUDE,
    /// else none. `fovea verify` lists the variants that differ from the scalar path, if any. Attention's variants call
    /// GEMM tiles, packing and transposes of their ISA, and go on doing so; what is wrong there differs in them, too.
    const char *exclude;
    const struct fovea_tiling *tiling; ///< NULL: from the tuning profile, else defaults computed from the measured
                                       ///< caches
    /// NULL, or a buffer that receives one line explaining a failure, or "" on success. It is not written after STRUCT:
    /// in a struct of unknown size no field is trusted, this pointer included.
    char *message;
    size_t message_size; ///< size of message in bytes
    /// The tuning profile: a file written by `fovea tune`, or "none". NULL: the file that FOVEA_PROFILE names, else the
    /// first valid one of $XDG_CONFIG_HOME/fovea/profile (or $HOME/.config), /var/lib/fovea/profile,
    /// /etc/fovea/profile. A profile that is missing, damaged or made for another machine is ignored, which
    /// fovea_engine_profile reports. Changes speed, never a bit of a result.
    const char *profile;
    /// Cache sizes, for machines that report wrong ones: "32K,1M,32M", as in docs/tuning.md. NULL: the environment's
    /// FOVEA_CACHES, else what was detected. Changes speed, never a bit of a result.
    const char *caches;
};
#define FOVEA_ENGINE_OPTIONS_INIT                                                                                      \
    {                                                                                                                  \
        sizeof(struct fovea_engine_options), 0, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL                            \
    }
/// The same, for callers without C's macros. size is sizeof(*options). Errors: NULL, STRUCT.
FOVEA_API enum fovea_status fovea_engine_options_init(struct fovea_engine_options *options, size_t size);

/// Creates an engine: probes the CPU and its caches, reads the tuning profile, resolves every kernel. options may be
/// NULL. The engine is immutable, may be used by any number of threads, survives fork, and must outlive the plans made
/// with it. On failure *out is unchanged.
/// Errors: NULL, STRUCT, CONFIG (unknown ISA or variant, malformed caches), UNSUPPORTED (an ISA or variant this CPU
/// lacks), VALUE (tiling), MEMORY.
FOVEA_API enum fovea_status fovea_engine_create(const struct fovea_engine_options *options, struct fovea_engine **out);
/// Frees an engine. NULL is allowed.
FOVEA_API void fovea_engine_destroy(struct fovea_engine *engine);

/// The machine as detected, or as a tuning profile has measured it.
struct fovea_machine {
    char brand[64];                         ///< name the CPU reports; "" if it reports none
    char features[128];                     ///< detected feature clusters, space-separated: "avx2 avx512 vnni"
    uint32_t cpu;                           ///< the same as bits, whose meaning may change with every version
    uint32_t l1d_bytes, l2_bytes, l3_bytes; ///< data caches of one core; L3 is shared. Only l3_bytes may be 0
    uint32_t l2_reported_bytes; ///< less than l2_bytes where a tuning profile says that more was measured, otherwise
                                ///< the same
    uint32_t l1d_ways, l2_ways, l3_ways; ///< associativity; 1 if unknown, l3_ways 0 if there is no L3
    uint32_t l3_hashed; ///< 1: L3 consists of slices over which addresses are hashed, as on all of Intel's CPUs (judged
                        ///< by the vendor's name). 0: it does not, or that is unknown.
    uint32_t wide512;   ///< 1 if the core has full-width 512-bit units (even if AVX-512 is disabled, as on Alder Lake);
                        ///< 0 if it splits them in two, or if CPUID does not tell. Judged by AMD's FP512 bit; without
                        ///< it, or in a guest that does not see it, by AVX-512 with AVX-VNNI; on Intel by AVX-VNNI
                        ///< alone.
    char cache_source[16]; ///< "sysfs", "cpuid", "default", or the setting: "options.caches", "FOVEA_CACHES"
    uint32_t processors;   ///< processors online in this system, at least 1
};
/// The machine this engine was created on.
FOVEA_API const struct fovea_machine *fovea_engine_machine(const struct fovea_engine *engine);

/// One line that names the tuning profile in use, or says that there is none, and lists the ignored ones with reasons.
/// NULL for NULL.
FOVEA_API const char *fovea_engine_profile(const struct fovea_engine *engine);

/// One compiled kernel variant, and whether an engine uses it.
struct fovea_variant {
    const char *slot; ///< "gemm"
    const char *name; ///< "gemm_f32_6x64_avx512"
    const char *isa;  ///< "avx512"
    const char *why;  ///< "chosen", or why not: "this CPU lacks it", "above the ISA cap", ...
    uint32_t chosen;  ///< 1 for the variant in use; one per slot
    uint32_t also;    ///< 1 for a variant used in addition: a GEMM micro-kernel for shapes that suit it, or that a
                      ///< profile assigns to some classes
};
/// fovea_engine_variants returns the number of compiled variants. fovea_engine_variant describes variant `index`
/// (0-based, in register order). Errors: NULL, SHAPE (no such variant).
FOVEA_API uint32_t fovea_engine_variants(const struct fovea_engine *engine);
FOVEA_API enum fovea_status fovea_engine_variant(const struct fovea_engine *engine, uint32_t index,
                                                 struct fovea_variant *out);

/// Asks the system to back the whole pages of [memory, memory + bytes) with huge pages: for packed weights, key caches,
/// work memory. A hint that changes no byte; read-only and mapped memory is allowed. It works best before the memory is
/// first written (afterwards the system may take minutes to move it), and on memory that begins and ends on a huge page
/// boundary (2 MiB on x86), which is covered whole. Measured: 3 to 7 % less time for a GEMM of 1 to 16 rows whose
/// packed B comes from memory.
/// OK: the system accepted the hint (it may still lack free huge pages). UNSUPPORTED: it has no huge pages, or none for
/// this memory. Errors: NULL, OVERFLOW (the range wraps around).
FOVEA_API enum fovea_status fovea_advise_huge_pages(const void *memory, size_t bytes);

#ifdef __cplusplus
}
#endif

#endif
