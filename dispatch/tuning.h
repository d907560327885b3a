// SPDX-License-Identifier: Apache-2.0
// dispatch/tuning.h - what may be tuned, as data: names of classes, numbers of a class, and their defaults.
//
// A number of a class is what the last of these says that has it:
//     dispatch/model.c     the model, from the caches, the micro-kernel, and the machine's set of dispatch/beyond.c
//     dispatch/adopt.c     the tuning profile
//     dispatch/engine.c    options.tiling, which holds for all classes
// kernels/tuning.def has the bounds of every number, and which values the tuner tries besides those of the model.
#ifndef FOVEA_DISPATCH_TUNING_H
#define FOVEA_DISPATCH_TUNING_H

#include "dispatch/cpu.h"
#include "dispatch/resolve.h"

/// What a class is called, by its number (kernels/classes.h).
struct fovea_class_names {
    const char *of;   ///< "gemm", "attention", "cache", "slot"
    const char *name; ///< "some-far-nt", "heads-64", "border", "softmax"
};
extern const struct fovea_class_names fovea_class_names[FOVEA_TUNED_CLASSES];

/// The numbers of an operator's classes: kernels/tuning.def.
struct fovea_tunable {
    const char *name, *purpose;
    uint32_t stage, smallest, largest;
    const uint32_t *values; ///< worth trying
    uint32_t count;
};
enum { FOVEA_TUNABLES_MAX = 32 };
/// *count of them; of slots none.
const struct fovea_tunable *fovea_tunables(enum fovea_tuned_operator kind, uint32_t *count);

/// What is chosen for a class.
struct fovea_tuned {
    int32_t kernel;                      ///< of enum fovea_variant_index; -1 where the class has no kernel of its own
    uint32_t values[FOVEA_TUNABLES_MAX]; ///< in the order of fovea_tunables; behind them 0
};

/// The default of a class by the model, given the kernel (ignored where the class has none).
struct fovea_tuned fovea_tuned_default(const struct fovea_machine *machine, uint32_t class, int32_t kernel);
/// What a table has for a class, and replacing it.
struct fovea_tuned fovea_tuned_get(const struct fovea_kernels *kernels, uint32_t class);
void fovea_tuned_set(struct fovea_kernels *kernels, uint32_t class, const struct fovea_tuned *tuned);
/// The same choice.
bool fovea_tuned_same(const struct fovea_tuned *a, const struct fovea_tuned *b);

/// All classes of a resolved table by the model: the micro-kernel of slot gemm everywhere.
void fovea_tuning_defaults(const struct fovea_machine *machine, struct fovea_kernels *kernels);

#endif
