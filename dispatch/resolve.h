// SPDX-License-Identifier: Apache-2.0
// dispatch/resolve.h - turns the registers of kernels into the table of one engine.
#ifndef FOVEA_DISPATCH_RESOLVE_H
#define FOVEA_DISPATCH_RESOLVE_H

#include "kernels/table.h"

#include <stdbool.h>

/// An index for each compiled variant, in register order.
enum fovea_variant_index {
#define FOVEA_KERNEL(family, slot, stem, isa, facts) FOVEA_VARIANT_##stem##_##isa,
#include "kernels/registers.def"
#undef FOVEA_KERNEL
    FOVEA_VARIANTS
};

/// All ISAs that fovea knows, whether compiled in or not.
enum fovea_isa { FOVEA_ISA_scalar, FOVEA_ISA_avx2, FOVEA_ISA_avx512, FOVEA_ISA_neon, FOVEA_ISAS };

extern const char *const fovea_isa_names[FOVEA_ISAS];

/// The facts that the registers state about a variant.
struct fovea_variant_facts {
    enum fovea_slot slot;
    const char *name;
    enum fovea_isa isa;
    uint32_t required;
    uint16_t mr, nr, masks, ahead, packs, lead, touch, side_rows, quiet_rows;
    uint16_t queries, l1_queries, fetches, copies, last_queries, beside_rows, near_rows, busy_rows; ///< attention only
};
extern const struct fovea_variant_facts fovea_variant_facts[FOVEA_VARIANTS];

/// The variant with this name, or -1.
int32_t fovea_variant_find(const char *name, size_t length);
/// Puts a variant into its slot of a table.
void fovea_use_variant(struct fovea_kernels *kernels, int32_t variant);
/// A variant of slot gemm, in the form a table has.
struct fovea_gemm_kernel fovea_gemm_variant(int32_t variant);
/// The variant in a slot of a table.
int32_t fovea_slot_variant(const struct fovea_kernels *kernels, enum fovea_slot slot);

/// What may be chosen, and what was chosen.
struct fovea_choice {
    uint32_t cpu;                        ///< bits of this CPU
    uint32_t allowed;                    ///< bits that may be used
    uint8_t pinned[FOVEA_VARIANTS];      ///< 1: pinned by name
    uint8_t preferred[FOVEA_VARIANTS];   ///< 1: the model prefers it to the last line of its slot
    uint8_t tuned[FOVEA_VARIANTS];       ///< 1: the tuning profile prefers it
    uint8_t excluded[FOVEA_VARIANTS];    ///< 1: excluded by name
    uint8_t quarantined[FOVEA_VARIANTS]; ///< 1: excluded because the tuning profile found it wrong
    uint8_t chosen[FOVEA_VARIANTS];      ///< output: 1 for the chosen variants
};

/// Whether a variant is within the allowed ISA and not excluded; and whether it is also not quarantined, so that it may
/// be chosen.
bool fovea_variant_is_allowed(const struct fovea_choice *choice, int32_t variant);
bool fovea_variant_is_usable(const struct fovea_choice *choice, int32_t variant);
/// Whether a slot has a pinned variant.
bool fovea_slot_is_pinned(const struct fovea_choice *choice, enum fovea_slot slot);

/// Fills the table: the last line of each slot that `allowed` supports, overridden by variants that the model prefers,
/// then by those that the profile prefers, then by pinned ones. Every slot has a scalar line, so no entry stays NULL.
void fovea_resolve(struct fovea_choice *choice, struct fovea_kernels *kernels);

#endif
