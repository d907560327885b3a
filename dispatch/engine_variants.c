// SPDX-License-Identifier: Apache-2.0
// dispatch/engine_variants.c - what an engine says of each compiled kernel: in use, or why not.
#include "dispatch/adopt.h"

#include <stdbool.h>

uint32_t fovea_engine_variants(const struct fovea_engine *engine)
{
    (void)engine;
    return FOVEA_VARIANTS;
}

static bool is_also_in_use(const struct fovea_engine *engine, int32_t variant)
{
    const struct fovea_kernels *const kernels = fovea_engine_kernels(engine);
    bool found = false;
    for (uint32_t i = 0; i < kernels->gemm_tile_count; i++) {
        found |= kernels->gemm_tiles[i].variant == variant;
    }
    for (uint32_t i = 0; i < FOVEA_GEMM_CLASSES; i++) { // a profile may give a class a kernel that is not in gemm_tiles
        found |= kernels->gemm_of[i].variant == variant;
    }
    return found && !fovea_engine_choice(engine)->chosen[variant];
}

enum fovea_status fovea_engine_variant(const struct fovea_engine *engine, uint32_t index, struct fovea_variant *out)
{
    if (!engine || !out)
        return FOVEA_ERR_NULL;
    if (index >= FOVEA_VARIANTS)
        return FOVEA_ERR_SHAPE;
    const struct fovea_choice *const choice = fovea_engine_choice(engine);
    const struct fovea_variant_facts *const facts = &fovea_variant_facts[index];
    const bool chosen = choice->chosen[index];
    const bool also = is_also_in_use(engine, (int32_t)index);
    const char *const why = chosen && choice->pinned[index]      ? "chosen: pinned by name"
                            : chosen && choice->tuned[index]     ? "chosen: by the tuning profile"
                            : chosen                             ? "chosen"
                            : also                               ? "in use, too, for shapes that suit it"
                            : choice->excluded[index]            ? "excluded by name"
                            : choice->quarantined[index]         ? "quarantined: it failed when this machine was tuned"
                            : facts->required & ~choice->cpu     ? "this CPU lacks it"
                            : facts->required & ~choice->allowed ? "above the ISA cap"
                            : fovea_slot_is_pinned(choice, facts->slot) ? "another variant is pinned"
                                                                        : "another variant is better";
    const char *const slot = fovea_class_names[fovea_slot_number(facts->slot)].name;
    *out = (struct fovea_variant){slot, facts->name, fovea_isa_names[facts->isa], why, (uint32_t)chosen, also};
    return FOVEA_OK;
}
