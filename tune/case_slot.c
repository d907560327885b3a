// SPDX-License-Identifier: Apache-2.0
// tune/case_slot.c - a slot's variants as candidates: verified and timed with what tests/check knows about their
// family.
#include "tests/check/run.h"
#include "tune/case.h"

#include <stdio.h>
#include <stdlib.h>

enum { CASES = 40 };

struct slot_ready {
    const struct check_variant *variant; // check_variants has the order of the registers
};

static void destroy(struct tune_case *c)
{
    free(c);
}

static void *prepare(struct tune_case *c, const struct fovea_engine *engine)
{
    struct slot_ready *const ready = malloc(sizeof *ready);
    if (ready)
        ready->variant = &check_variants[fovea_slot_variant(fovea_engine_kernels(engine), fovea_class(c->class).slot)];
    return ready;
}

static void release(void *ready)
{
    free(ready);
}

static bool same(const void *a, const void *b)
{
    return ((const struct slot_ready *)a)->variant == ((const struct slot_ready *)b)->variant;
}

static double seconds(void *state, uint64_t calls, bool within)
{
    (void)within;
    const struct slot_ready *const ready = state;
    struct check_case c = {.variant = ready->variant};
    ready->variant->family->bench(&c, calls);
    const double time = (check_seconds() - c.started) / (double)calls;
    check_buffers_reset();
    return time;
}

static bool verify(void *state, enum tune_way way)
{
    (void)way;
    const struct slot_ready *const ready = state;
    const struct check_options options = {.seed = 2, .cases = CASES, .has_cases = true};
    bool ok = true;
    for (uint64_t i = 0; i < CASES && ok; i++)
        ok = check_run_case(ready->variant, &options, i, true);
    return ok;
}

static void runs(const void *ready, int32_t variants[TUNE_RUNS])
{
    variants[0] = (int32_t)(((const struct slot_ready *)ready)->variant - check_variants);
    variants[1] = variants[2] = -1;
}

struct tune_case *tune_case_slot(uint32_t class)
{
    static const struct tune_case_kind kind = {destroy, prepare, release, same, seconds, verify, runs};
    struct tune_case *const c = calloc(1, sizeof *c);
    if (c) {
        c->kind = &kind;
        c->class = class;
        snprintf(c->name, sizeof c->name, "slot %s", fovea_class_names[class].name);
    }
    return c;
}
