// SPDX-License-Identifier: Apache-2.0
// tune/space.c - the search space is what the registers say: no kernel and no number is named here.
#include "tune/space.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static const char *slot_of(uint32_t class)
{
    return fovea_tuned_classes[class].kind == FOVEA_TUNED_GEMM ? "gemm" : fovea_tuned_classes[class].name;
}

static bool usable(const struct fovea_choice *choice, const uint8_t *banned, int32_t kernel)
{
    return (fovea_variant_facts[kernel].required & ~choice->allowed) == 0 && !choice->excluded[kernel] &&
           !choice->quarantined[kernel] && !banned[kernel];
}

uint32_t tune_stages(uint32_t class)
{
    uint32_t count, last = 0;
    const struct fovea_tunable *const tunables = fovea_tunables(fovea_tuned_classes[class].kind, &count);
    for (uint32_t i = 0; i < count; i++)
        last = tunables[i].stage > last ? tunables[i].stage : last;
    return last + 1;
}

struct fovea_tuned tune_default(const struct fovea_engine *engine, uint32_t class, const uint8_t *banned)
{
    int32_t best = -1;
    for (int32_t i = 0; i < FOVEA_VARIANTS; i++)
        if (strcmp(fovea_variant_facts[i].slot, slot_of(class)) == 0 && usable(fovea_engine_choice(engine), banned, i))
            best = i;
    return fovea_tuned_default(fovea_engine_machine(engine), class, best);
}

static uint32_t kernels(const struct fovea_engine *engine, uint32_t class, const uint8_t *banned,
                        struct fovea_tuned *out)
{
    uint32_t count = 0;
    for (int32_t i = FOVEA_VARIANTS - 1; i >= 0 && count < TUNE_CANDIDATES_MAX; i--)
        if (strcmp(fovea_variant_facts[i].slot, slot_of(class)) == 0 && fovea_variant_facts[i].required != 0 &&
            usable(fovea_engine_choice(engine), banned, i))
            out[count++] = fovea_tuned_default(fovea_engine_machine(engine), class, i);
    return count;
}

// How far numbers are from those of the model, in powers of two.
static double distance(const struct fovea_tuned *tuned, const struct fovea_tuned *model, uint32_t count)
{
    double sum = 0;
    for (uint32_t i = 0; i < count; i++)
        sum += fabs(log2((tuned->values[i] + 1.0) / (model->values[i] + 1.0)));
    return sum;
}

struct ranked {
    struct fovea_tuned tuned;
    double distance;
    uint32_t order;
};

static int nearer(const void *a, const void *b)
{
    const struct ranked *const x = a, *const y = b;
    return x->distance < y->distance   ? -1
           : x->distance > y->distance ? 1
                                       : (x->order > y->order) - (x->order < y->order);
}

// Every combination of the values of a stage, and of what `from` and the model have there.
static uint32_t numbers(const struct fovea_tunable *tunables, uint32_t count, uint32_t stage,
                        const struct fovea_tuned *from, const struct fovea_tuned *model, struct ranked *out)
{
    uint32_t used = 1;
    out[0] = (struct ranked){*from, 0, 0};
    for (uint32_t i = 0; i < count; i++) {
        if (tunables[i].stage != stage)
            continue;
        const uint32_t before = used;
        for (uint32_t v = 0; v <= tunables[i].count; v++) { // the last one is the model's
            const uint32_t value = v < tunables[i].count ? tunables[i].values[v] : model->values[i];
            bool known = value == from->values[i];
            for (uint32_t w = 0; w < v && w < tunables[i].count; w++)
                known |= value == tunables[i].values[w];
            for (uint32_t j = 0; j < before && !known && used < TUNE_CANDIDATES_MAX; j++) {
                out[used] = out[j];
                out[used++].tuned.values[i] = value;
            }
        }
    }
    for (uint32_t i = 0; i < used; i++) {
        out[i].distance = distance(&out[i].tuned, model, count);
        out[i].order = i;
    }
    return used;
}

uint32_t tune_space(const struct fovea_engine *engine, uint32_t class, uint32_t stage, const struct fovea_tuned *from,
                    const uint8_t *banned, struct fovea_tuned *out)
{
    uint32_t count;
    const struct fovea_tunable *const tunables = fovea_tunables(fovea_tuned_classes[class].kind, &count);
    struct fovea_tuned all[TUNE_CANDIDATES_MAX];
    struct ranked ranked[TUNE_CANDIDATES_MAX];
    uint32_t found = 0, used = 0;
    if (stage == 0 && !fovea_tuned_has_kernel(fovea_tuned_classes[class].kind)) {
        all[found++] = tune_default(engine, class, banned);
    } else if (stage == 0) {
        found = kernels(engine, class, banned, all);
    } else {
        const struct fovea_tuned model = fovea_tuned_default(fovea_engine_machine(engine), class, from->kernel);
        found = numbers(tunables, count, stage, from, &model, ranked);
        qsort(ranked, found, sizeof *ranked, nearer);
        for (uint32_t i = 0; i < found; i++)
            all[i] = ranked[i].tuned;
    }
    for (uint32_t i = 0; i < found; i++)
        if (!fovea_tuned_same(&all[i], from))
            out[used++] = all[i];
    return used;
}
