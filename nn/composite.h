// SPDX-License-Identifier: Apache-2.0
// nn/composite.h - an operator made of operators; its phases are the phases of its parts, one after another.
//
// The parts of one stage run side by side (for example the three projections of attention), stages one after another.
// The plans of the parts follow the composite's own plan in memory, and their shared memory is laid out one after
// another in the composite's.
#ifndef FOVEA_NN_COMPOSITE_H
#define FOVEA_NN_COMPOSITE_H

#include "ops/phase.h"

enum { FOVEA_PARTS_MAX = 14, FOVEA_PHASES_MAX = 32 };

/// Fills in the args of part `part` for one call of the composite. shared is NULL if only sizes matter (when counting
/// tasks).
typedef void fovea_part_args_fn(const void *plan, const void *args, void *shared, uint32_t part,
                                struct fovea_part_args *out);

/// The head of a composite's plan; relocatable except for the code it points to.
struct fovea_composite {
    struct fovea_work work; ///< first, as in every plan
    fovea_part_args_fn *args;
    uint32_t parts;
    uint32_t depth; ///< 1, or 2 if a part is a composite: a phase has args for no more
    struct {
        const struct fovea_operator *op;
        size_t plan;   ///< bytes from the composite's plan to the part's
        size_t shared; ///< bytes from the composite's shared memory to the part's
    } part[FOVEA_PARTS_MAX];
    struct {
        uint8_t first, count; ///< parts that run side by side
        uint8_t part_phase;   ///< their phase that this is
    } phase[FOVEA_PHASES_MAX];
};

/// Starts building a composite; the first own_shared bytes of its shared memory are its own.
void fovea_composite_begin(struct fovea_composite *composite, enum fovea_plan_kind kind, fovea_part_args_fn *args,
                           size_t own_shared);
/// Adds `count` parts that run side by side. Their plans are already in place, `plans` bytes from the composite's.
/// Returns FOVEA_ERR_OVERFLOW if their memory does not fit.
enum fovea_status fovea_composite_stage(struct fovea_composite *composite, uint32_t count,
                                        const struct fovea_operator *const *ops, const size_t *plans);

extern const struct fovea_operator fovea_composite_operator;

#endif
