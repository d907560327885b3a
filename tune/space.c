// SPDX-License-Identifier: Apache-2.0
// tune/space.c - the search space is what the registers say: no kernel and no number is named here.
#include "tune/space.h"
#include "tune/cache.h"

#include <math.h>
#include <stdlib.h>

static bool usable(const struct fovea_choice *choice, const uint8_t *banned, int32_t kernel)
{
    return fovea_variant_is_usable(choice, kernel) && !banned[kernel];
}

uint32_t tune_stages(uint32_t class)
{
    uint32_t count, last = 0;
    const struct fovea_tunable *const tunables = fovea_tunables(fovea_class(class).kind, &count);
    for (uint32_t i = 0; i < count; i++)
        last = tunables[i].stage > last ? tunables[i].stage : last;
    return last + 1;
}

struct fovea_tuned tune_default(const struct fovea_engine *engine, uint32_t class, const uint8_t *banned)
{
    const struct fovea_choice *const choice = fovea_engine_choice(engine);
    int32_t best = -1;
    for (int32_t i = 0; i < FOVEA_VARIANTS; i++)
        if (fovea_variant_facts[i].slot == fovea_class_slot(class) && usable(choice, banned, i) &&
            (best < 0 || choice->preferred[i] >= choice->preferred[best]))
            best = i;
    return fovea_tuned_default(fovea_engine_machine(engine), class, best);
}

bool tune_has_choice(const struct fovea_engine *engine, uint32_t class)
{
    uint32_t count = 0;
    for (int32_t i = 0; i < FOVEA_VARIANTS; i++)
        count += fovea_variant_facts[i].slot == fovea_class_slot(class) && fovea_variant_facts[i].required != 0 &&
                 fovea_variant_is_usable(fovea_engine_choice(engine), i);
    return count > 1;
}

// The machines that the model is evaluated for: as the engine assumes it and, if less of the L2 is left to it, as that.
enum { MACHINES = 2 };
enum { COMBINATIONS = 512 }; // of a stage's numbers: more than any stage has, of which the nearest are kept
static uint32_t machines(const struct fovea_engine *engine, size_t l2, struct fovea_machine out[MACHINES])
{
    const struct fovea_machine *const said = fovea_engine_machine(engine);
    for (uint32_t i = 0; i < MACHINES; i++)
        out[i] = *said;
    out[1].l2_bytes = (uint32_t)l2;
    return l2 != 0 && l2 < tune_measured_most() && l2 <= said->l2_bytes / 2 ? 2 : 1;
}

// The numbers of `to`, replaced by those of `from` that differ from the defaults of from's own kernel.
static void carry_over(const struct fovea_machine *machine, uint32_t class, const struct fovea_tuned *from,
                       struct fovea_tuned *to)
{
    uint32_t count;
    fovea_tunables(fovea_class(class).kind, &count);
    const struct fovea_tuned model = fovea_tuned_default(machine, class, from->kernel);
    for (uint32_t i = 0; i < count; i++)
        if (from->values[i] != model.values[i])
            to->values[i] = from->values[i];
}

// Whether a kernel of a slot takes tiles of all sizes that the default takes, and can be told to be quiet for as many
// rows. What it may gain in its problems, most slots have one, more rows would lose, or those from memory: that problem
// stays in L2, and is not told to be quiet.
static bool replaces(uint32_t class, int32_t kernel, int32_t model)
{
    const struct fovea_variant_facts *const a = &fovea_variant_facts[kernel], *const b = &fovea_variant_facts[model];
    return fovea_class(class).kind != FOVEA_TUNED_SLOT ||
           (a->mr >= b->mr && a->queries >= b->queries && a->quiet_rows >= b->quiet_rows);
}

// Each kernel with its own numbers, and with numbers that were found to be better with another kernel: on a machine
// that misreports its caches, the best kernel with the resulting wrong kc lost to any with the right one.
static uint32_t kernels(const struct fovea_engine *engine, uint32_t class, const struct fovea_tuned *from,
                        const uint8_t *banned, size_t l2, struct fovea_tuned *out)
{
    struct fovea_machine of[MACHINES];
    const uint32_t asked = machines(engine, l2, of);
    const int32_t model = tune_default(engine, class, banned).kernel;
    uint32_t count = 0;
    for (int32_t i = FOVEA_VARIANTS - 1; i >= 0; i--)
        for (uint32_t m = 0; m < asked && count + 2 <= TUNE_CANDIDATES_MAX; m++)
            if (fovea_variant_facts[i].slot == fovea_class_slot(class) && fovea_variant_facts[i].required != 0 &&
                usable(fovea_engine_choice(engine), banned, i) && replaces(class, i, model)) {
                out[count++] = fovea_tuned_default(&of[m], class, i);
                out[count] = out[count - 1];
                carry_over(&of[m], class, from, &out[count++]);
            }
    return count;
}

// The distance of numbers from the model's, in powers of two.
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

// All combinations of the values of a stage, including those of `from` and of the models.
static uint32_t numbers(const struct fovea_tunable *tunables, uint32_t count, uint32_t stage,
                        const struct fovea_tuned *from, const struct fovea_tuned *models, uint32_t model_count,
                        struct ranked *out)
{
    uint32_t used = 1;
    out[0] = (struct ranked){*from, 0, 0};
    for (uint32_t i = 0; i < count; i++) {
        if (tunables[i].stage != stage)
            continue;
        const uint32_t before = used;
        uint32_t values[TUNE_CANDIDATES_MAX + MACHINES], value_count = 0;
        for (uint32_t v = 0; v < tunables[i].count; v++)
            values[value_count++] = tunables[i].values[v];
        for (uint32_t m = 0; m < model_count; m++)
            values[value_count++] = models[m].values[i];
        for (uint32_t v = 0; v < value_count; v++) {
            const uint32_t value = values[v];
            bool known = value == from->values[i];
            for (uint32_t w = 0; w < v; w++)
                known |= value == values[w];
            for (uint32_t j = 0; j < before && !known && used < COMBINATIONS; j++) {
                out[used] = out[j];
                out[used++].tuned.values[i] = value;
            }
        }
    }
    for (uint32_t i = 0; i < used; i++) {
        out[i].distance = distance(&out[i].tuned, &models[model_count - 1], count);
        out[i].order = i;
    }
    return used;
}

uint32_t tune_space(const struct fovea_engine *engine, uint32_t class, uint32_t stage, const struct fovea_tuned *from,
                    const uint8_t *banned, size_t l2, struct fovea_tuned *out)
{
    uint32_t count;
    const struct fovea_tunable *const tunables = fovea_tunables(fovea_class(class).kind, &count);
    struct fovea_tuned all[TUNE_CANDIDATES_MAX];
    struct ranked ranked[COMBINATIONS];
    uint32_t found = 0, used = 0;
    if (stage == 0 && fovea_class_slot(class) == FOVEA_SLOTS) {
        all[found++] = tune_default(engine, class, banned);
    } else if (stage == 0) {
        found = kernels(engine, class, from, banned, l2, all);
    } else {
        struct fovea_machine of[MACHINES];
        struct fovea_tuned models[MACHINES];
        const uint32_t asked = machines(engine, l2, of);
        for (uint32_t m = 0; m < asked; m++)
            models[m] = fovea_tuned_default(&of[m], class, from->kernel);
        found = numbers(tunables, count, stage, from, models, asked, ranked);
        qsort(ranked, found, sizeof *ranked, nearer);
        found = found < TUNE_CANDIDATES_MAX ? found : TUNE_CANDIDATES_MAX;
        for (uint32_t i = 0; i < found; i++)
            all[i] = ranked[i].tuned;
    }
    for (uint32_t i = 0; i < found; i++) {
        bool known = fovea_tuned_same(&all[i], from);
        for (uint32_t j = 0; j < used; j++)
            known |= fovea_tuned_same(&all[i], &out[j]);
        if (!known)
            out[used++] = all[i];
    }
    return used;
}
