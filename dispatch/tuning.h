// SPDX-License-Identifier: Apache-2.0
// dispatch/tuning.h - the tunable data: names of classes, their numbers, and defaults.
//
// Sources of a class's numbers, later ones overriding earlier ones:
//     dispatch/model.c     the model, from the caches, the micro-kernel, and the machine's set in dispatch/beyond.def
//     dispatch/adopt.c     the tuning profile
//     dispatch/engine.c    options.tiling, which applies to all classes
// kernels/tuning.def has the bounds of every number, and the values that the tuner tries in addition to the model's.
#ifndef FOVEA_DISPATCH_TUNING_H
#define FOVEA_DISPATCH_TUNING_H

#include "dispatch/resolve.h"
#include "fovea/engine.h"

/// The names of a class, indexed by its number (kernels/classes.h).
struct fovea_class_names {
    const char *of;   ///< "gemm", "attention", "cache", "slot"
    const char *name; ///< "some-far-nt", "heads-64", "border", "softmax"
};
extern const struct fovea_class_names fovea_class_names[FOVEA_TUNED_CLASSES];

/// The numbers of an operator's classes: kernels/tuning.def.
struct fovea_tunable {
    const char *name;
    uint32_t stage, smallest, largest;
    const uint32_t *values; ///< values worth trying
    uint32_t count;
};
enum { FOVEA_TUNABLES_MAX = 40 };
/// Returns them, and their number in *count; slots have none.
const struct fovea_tunable *fovea_tunables(enum fovea_tuned_operator kind, uint32_t *count);

/// What is chosen for a class.
struct fovea_tuned {
    int32_t kernel;                      ///< an enum fovea_variant_index; -1 if the class has no kernel of its own
    uint32_t values[FOVEA_TUNABLES_MAX]; ///< in the order of fovea_tunables; the rest is 0
};

/// Sets preferred[v] to 1 for each variant that suits this machine better than the last line of its slot, which is what
/// other machines have.
void fovea_model_prefers(const struct fovea_machine *machine, uint8_t preferred[FOVEA_VARIANTS]);
/// The default of a class according to the model, given the kernel (ignored if the class has none).
struct fovea_tuned fovea_tuned_default(const struct fovea_machine *machine, uint32_t class, int32_t kernel);
/// Reads and replaces the choice of a class in a table.
struct fovea_tuned fovea_tuned_get(const struct fovea_kernels *kernels, uint32_t class);
void fovea_tuned_set(struct fovea_kernels *kernels, uint32_t class, const struct fovea_tuned *tuned);
/// Whether two choices are equal.
bool fovea_tuned_same(const struct fovea_tuned *a, const struct fovea_tuned *b);

/// Sets all classes of a resolved table to the model's defaults, with the micro-kernel of slot gemm everywhere.
void fovea_tuning_defaults(const struct fovea_machine *machine, struct fovea_kernels *kernels);

#endif
