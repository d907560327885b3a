// SPDX-License-Identifier: Apache-2.0
// dispatch/profile.h - the tuning profile: the result of `fovea tune` on this machine, as text.
//
//     fovea-profile 1
//     library 0.1.0
//     registers 0f3c9a51d2e4b687
//     cpu Intel(R) Xeon(R) Processor @ 2.50GHz
//     signature 50657
//     features 103
//     caches 32768 1048576 37486592
//     isa 103
//     level install
//     l2 2097152
//     quarantine gemm_f32_6x64_avx512 differs
//     gemm some-far-nt gemm_f32_9x48_avx512 kc=512 ... gain=1.034000 low=1.021000 high=1.046000 p=0.000061 pairs=15
//     attention heads-64 queries=32 prefill=16 ... gain=1.020000 ...
//     cache border near=1024 gain=1.181000 ...
//     slot softmax softmax_f32_avx2 gain=1.050000 ...
//     checksum 5b0e6f6c1a2b3c4d
//
// One blank between words, lines in this order, each class once, the numbers of a class in the order of
// kernels/tuning.def. The line l2, in bytes, is only there if more was measured than the machine reports. The checksum
// is FNV-1a of all bytes before its line. A file that deviates from this, or was made for another library, CPU or
// cache, is ignored as a whole: the defaults are always correct.
#ifndef FOVEA_DISPATCH_PROFILE_H
#define FOVEA_DISPATCH_PROFILE_H

#include "dispatch/tuning.h"

#include <stdbool.h>

enum { FOVEA_PROFILE_BYTES_MAX = 1 << 15, FOVEA_PROFILE_L2_MAX = 1 << 30, FOVEA_PROFILE_WHY = 160 };

enum fovea_profile_level {
    FOVEA_LEVEL_ESTIMATE,
    FOVEA_LEVEL_QUICK,
    FOVEA_LEVEL_INSTALL,
    FOVEA_LEVEL_EXHAUSTIVE,
    FOVEA_LEVELS
};
extern const char *const fovea_profile_levels[FOVEA_LEVELS];

/// Why a variant must never be used; 0: it may be used.
enum fovea_quarantine { FOVEA_QUARANTINE_NONE, FOVEA_DIFFERS, FOVEA_CRASHES, FOVEA_HANGS, FOVEA_QUARANTINES };
extern const char *const fovea_quarantine_names[FOVEA_QUARANTINES];

/// The machine and library that a profile is valid for.
struct fovea_profile_key {
    char library[16];
    uint64_t registers; ///< hash of what can be tuned and of the existing kernels
    char cpu[64];       ///< as the CPU names itself
    uint32_t signature; ///< family, model and stepping in one number
    uint32_t features;  ///< FOVEA_CPU_* bits
    uint32_t l1d_bytes, l2_bytes, l3_bytes;
};
struct fovea_profile_key fovea_profile_key(const struct fovea_machine *machine);

/// Evidence for a choice, in millionths: the default's time divided by that of the choice, and its 95 % interval.
struct fovea_evidence {
    uint32_t gain, low, high, p;
    uint32_t pairs;
};

struct fovea_profile {
    struct fovea_profile_key key;
    uint32_t isa; ///< FOVEA_CPU_* bits that were allowed when the profile was made
    enum fovea_profile_level level;
    uint32_t l2_measured_bytes;         ///< bytes, more than the key has; 0: as the key says
    uint8_t quarantine[FOVEA_VARIANTS]; ///< values of enum fovea_quarantine
    uint8_t has[FOVEA_TUNED_CLASSES];   ///< 1: the class is tuned
    struct fovea_tuned tuned[FOVEA_TUNED_CLASSES];
    struct fovea_evidence evidence[FOVEA_TUNED_CLASSES];
};

/// Bytes of the L2 that its defaults are of; 0: its key has none.
static inline uint32_t fovea_profile_l2(const struct fovea_profile *profile)
{
    return profile->l2_measured_bytes ? profile->l2_measured_bytes : profile->key.l2_bytes;
}

/// Parses text into *out; returns whether it is a valid profile. expected: the key it must have; NULL: any CPU and
/// caches, but this library. If invalid, why says so in one line, and *out is unspecified.
bool fovea_profile_parse(const char *text, size_t size, const struct fovea_profile_key *expected,
                         struct fovea_profile *out, char why[FOVEA_PROFILE_WHY]);
/// FNV-1a, continuing from `hash` (start with FOVEA_FNV).
#define FOVEA_FNV 0xcbf29ce484222325u
uint64_t fovea_fnv(uint64_t hash, const void *bytes, size_t size);

/// A place where a profile is searched. A system place must be owned by root and writable by its owner only.
struct fovea_profile_place {
    char path[4096]; ///< "" if there is none
    bool system;
    bool too_long; ///< path is truncated
};
/// Sets place to the concatenation of folder and name; false if both are empty.
bool fovea_profile_place(struct fovea_profile_place *place, bool system, const char *folder, const char *name);
enum { FOVEA_PROFILE_PLACES = 3 };
/// The places of this process, the first valid one wins: only FOVEA_PROFILE's file if that is set (none for "none"),
/// otherwise the user's ($XDG_CONFIG_HOME/fovea/profile, $HOME/.config), /var/lib/fovea/profile, /etc/fovea/profile. A
/// program with elevated privileges only looks at the last two. Returns the number of places.
uint32_t fovea_profile_places(struct fovea_profile_place places[FOVEA_PROFILE_PLACES]);
/// What a place contains: nothing, something unusable (why says so), or a valid profile.
enum fovea_profile_found { FOVEA_PROFILE_NONE, FOVEA_PROFILE_REFUSED, FOVEA_PROFILE_GOOD };
/// Reads one place into text (FOVEA_PROFILE_BYTES_MAX) and parses it. If there is nothing, why has the system's
/// message.
enum fovea_profile_found fovea_profile_read(const struct fovea_profile_place *place,
                                            const struct fovea_profile_key *expected, char *text,
                                            struct fovea_profile *out, char why[FOVEA_PROFILE_WHY]);

#endif
