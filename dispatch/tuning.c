// SPDX-License-Identifier: Apache-2.0
// dispatch/tuning.c - the classes and their numbers.
#include "dispatch/tuning.h"

#include <string.h>

#define FORMS(name)                                                                                                    \
    {"gemm", name "-packed"}, {"gemm", name "-nn"},                                                                    \
    {                                                                                                                  \
        "gemm", name "-nt"                                                                                             \
    }
const struct fovea_class_names fovea_class_names[FOVEA_TUNED_CLASSES] = {
    // In the order of the class numbers of kernels/classes.h.
    FORMS("few-near"),         FORMS("few-far"),           FORMS("several-near"),       FORMS("several-far"),
    FORMS("some-near"),        FORMS("some-far"),          FORMS("many-near"),          FORMS("many-far"),
    {"attention", "heads-64"}, {"attention", "heads-128"}, {"attention", "heads-wide"}, {"cache", "border"},
#define FOVEA_SLOT(family, slot) {"slot", #slot},
#include "kernels/slots.def"
#undef FOVEA_SLOT
};

#define TUNABLE(stage, name, smallest, largest, ...)                                                                   \
    {#name, stage, smallest, largest, (const uint32_t[]){__VA_ARGS__}, sizeof((uint32_t[]){__VA_ARGS__}) / 4},
static const struct fovea_tunable gemm_tunables[] = {
#define FOVEA_GEMM_TUNABLE TUNABLE
#include "kernels/tuning.def"
};
static const struct fovea_tunable attention_tunables[] = {
#define FOVEA_ATTENTION_TUNABLE TUNABLE
#include "kernels/tuning.def"
};

static const struct fovea_tunable cache_tunables[] = {
#define FOVEA_CACHE_TUNABLE TUNABLE
#include "kernels/tuning.def"
};

// A struct of numbers has as many words as its table has rows, so it can be copied as an array.
_Static_assert(sizeof(struct fovea_gemm_tuning) / 4 == sizeof gemm_tunables / sizeof *gemm_tunables, "words only");
_Static_assert(sizeof(struct fovea_attention_tuning) / 4 == sizeof attention_tunables / sizeof *attention_tunables,
               "words only");
_Static_assert(sizeof(struct fovea_cache_tuning) / 4 == sizeof cache_tunables / sizeof *cache_tunables, "words only");
_Static_assert(sizeof(struct fovea_gemm_tuning) / 4 <= FOVEA_TUNABLES_MAX, "raise FOVEA_TUNABLES_MAX");

const struct fovea_tunable *fovea_tunables(enum fovea_tuned_operator kind, uint32_t *count)
{
    *count = kind == FOVEA_TUNED_GEMM        ? sizeof gemm_tunables / sizeof *gemm_tunables
             : kind == FOVEA_TUNED_ATTENTION ? sizeof attention_tunables / sizeof *attention_tunables
             : kind == FOVEA_TUNED_CACHE     ? sizeof cache_tunables / sizeof *cache_tunables
                                             : 0;
    return kind == FOVEA_TUNED_GEMM        ? gemm_tunables
           : kind == FOVEA_TUNED_ATTENTION ? attention_tunables
                                           : cache_tunables;
}

struct fovea_tuned fovea_tuned_get(const struct fovea_kernels *kernels, uint32_t class)
{
    struct fovea_tuned tuned = {.kernel = -1};
    const struct fovea_class of = fovea_class(class);
    switch (of.kind) {
    case FOVEA_TUNED_GEMM:
        tuned.kernel = kernels->gemm_of[class].variant;
        memcpy(tuned.values, &kernels->tuning.gemm[class], sizeof *kernels->tuning.gemm);
        break;
    case FOVEA_TUNED_ATTENTION:
        memcpy(tuned.values, &kernels->tuning.attention[of.heads], sizeof *kernels->tuning.attention);
        break;
    case FOVEA_TUNED_CACHE:
        memcpy(tuned.values, &kernels->tuning.cache, sizeof kernels->tuning.cache);
        break;
    case FOVEA_TUNED_SLOT:
        tuned.kernel = fovea_slot_variant(kernels, of.slot);
        break;
    }
    return tuned;
}

void fovea_tuned_set(struct fovea_kernels *kernels, uint32_t class, const struct fovea_tuned *tuned)
{
    const struct fovea_class of = fovea_class(class);
    switch (of.kind) {
    case FOVEA_TUNED_GEMM:
        kernels->gemm_of[class] = fovea_gemm_variant(tuned->kernel);
        memcpy(&kernels->tuning.gemm[class], tuned->values, sizeof *kernels->tuning.gemm);
        return;
    case FOVEA_TUNED_ATTENTION:
        memcpy(&kernels->tuning.attention[of.heads], tuned->values, sizeof *kernels->tuning.attention);
        return;
    case FOVEA_TUNED_CACHE:
        memcpy(&kernels->tuning.cache, tuned->values, sizeof kernels->tuning.cache);
        return;
    case FOVEA_TUNED_SLOT:
        fovea_use_variant(kernels, tuned->kernel);
        return;
    }
}

bool fovea_tuned_same(const struct fovea_tuned *a, const struct fovea_tuned *b)
{
    return a->kernel == b->kernel && memcmp(a->values, b->values, sizeof a->values) == 0;
}

void fovea_tuning_defaults(const struct fovea_machine *machine, struct fovea_kernels *kernels)
{
    const int32_t gemm = kernels->gemm.variant;
    for (uint32_t class = 0; class < FOVEA_TUNED_CLASSES; class ++) {
        if (fovea_class(class).kind != FOVEA_TUNED_SLOT) {
            const struct fovea_tuned tuned = fovea_tuned_default(machine, class, gemm);
            fovea_tuned_set(kernels, class, &tuned);
        }
    }
}
