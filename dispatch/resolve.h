// SPDX-License-Identifier: Apache-2.0
// dispatch/resolve.h - from the registers of kernels to the table of one engine.
#ifndef FOVEA_DISPATCH_RESOLVE_H
#define FOVEA_DISPATCH_RESOLVE_H

#include "kernels/kernel.h"

#include <stdbool.h>

/// One number for each compiled variant, in register order.
enum fovea_variant_index {
#define FOVEA_KERNEL(family, slot, stem, isa, facts) FOVEA_VARIANT_##stem##_##isa,
#include "kernels/registers.def"
#undef FOVEA_KERNEL
    FOVEA_VARIANTS
};

/// Every ISA fovea knows, compiled here or not.
enum fovea_isa { FOVEA_ISA_scalar, FOVEA_ISA_avx2, FOVEA_ISA_avx512, FOVEA_ISA_neon, FOVEA_ISAS };

extern const char *const fovea_isa_names[FOVEA_ISAS];
extern const char *const fovea_slot_names[FOVEA_SLOTS];

/// What the registers say of a variant.
struct fovea_variant_facts {
    enum fovea_slot slot;
    const char *name;
    enum fovea_isa isa;
    uint32_t required;
    uint16_t mr, nr, masks;
    uint16_t queries, l1_queries, last_queries, beside_rows; ///< of attention
};
extern const struct fovea_variant_facts fovea_variant_facts[FOVEA_VARIANTS];

/// The variant that a text names, or -1.
int32_t fovea_variant_find(const char *name, size_t length);
/// Puts a variant into its slot of a table.
void fovea_use_variant(struct fovea_kernels *kernels, int32_t variant);
/// A variant of slot gemm, as a table has it.
struct fovea_gemm_kernel fovea_gemm_variant(int32_t variant);
/// The variant in a slot of a table.
int32_t fovea_slot_variant(const struct fovea_kernels *kernels, enum fovea_slot slot);

/// What may be chosen, and what was.
struct fovea_choice {
    uint32_t cpu;                   ///< bits of this CPU
    uint32_t allowed;               ///< bits that may be used
    uint8_t pinned[FOVEA_VARIANTS]; ///< 1: asked for by name
    uint8_t tuned[FOVEA_VARIANTS];  ///< 1: the tuning profile prefers it
    uint8_t excluded[FOVEA_VARIANTS]; ///< 1: never to be used
    uint8_t quarantined[FOVEA_VARIANTS]; ///< 1: the same, as the tuning profile found it wrong
    uint8_t chosen[FOVEA_VARIANTS]; ///< out
};

/// Whether a variant is within the allowed ISA and not excluded; and whether it was not found wrong either, so that it
/// may be chosen.
bool fovea_variant_is_allowed(const struct fovea_choice *choice, int32_t variant);
bool fovea_variant_is_usable(const struct fovea_choice *choice, int32_t variant);
/// Whether a slot has a pinned variant.
bool fovea_slot_is_pinned(const struct fovea_choice *choice, enum fovea_slot slot);

/// Fills the table: the last line of each slot that `allowed` supports, then those the profile prefers, then the pinned
/// ones. A slot always has its scalar line, so no member stays NULL.
void fovea_resolve(struct fovea_choice *choice, struct fovea_kernels *kernels);

#endif
