// SPDX-License-Identifier: Apache-2.0
// nn/composite.c - an operator made of operators.
#include "nn/composite.h"

static const struct fovea_work *part_work(const struct fovea_composite *composite, uint32_t part)
{
    return (const struct fovea_work *)((const char *)composite + composite->part[part].plan);
}

void fovea_composite_begin(struct fovea_composite *composite, enum fovea_plan_kind kind, fovea_part_args_fn *args,
                           size_t own_shared)
{
    *composite = (struct fovea_composite){.work = {.kind = kind}, .args = args, .depth = 1};
    composite->work.shared_bytes = fovea_round_up(own_shared, FOVEA_ALIGNMENT);
}

enum fovea_status fovea_composite_stage(struct fovea_composite *composite, uint32_t count,
                                        const struct fovea_operator *const *ops, const size_t *plans)
{
    struct fovea_work *const work = &composite->work;
    const uint32_t first = composite->parts;
    uint32_t phases = 0;
    // No existing composite has as many parts, in total or side by side, or as many phases. A composite inside another
    // one is always a stage of its own.
    FOVEA_CHECK(first + count <= FOVEA_PARTS_MAX && count <= FOVEA_JOBS_MAX, FOVEA_ERR_OVERFLOW);
    for (uint32_t i = 0; i < count; i++) {
        const bool composite_part = ops[i]->parts != NULL;
        FOVEA_CHECK(!composite_part || count == 1, FOVEA_ERR_OVERFLOW);
        const uint32_t part = composite->parts++;
        composite->part[part].op = ops[i];
        composite->part[part].plan = plans[i];
        composite->part[part].shared = work->shared_bytes;
        const struct fovea_work *const own = part_work(composite, part);
        if (composite_part) {
            FOVEA_CHECK(((const struct fovea_composite *)own)->depth == 1, FOVEA_ERR_OVERFLOW);
            composite->depth = 2;
        }
        FOVEA_CHECK(
            fovea_add(work->shared_bytes, fovea_round_up(own->shared_bytes, FOVEA_ALIGNMENT), &work->shared_bytes),
            FOVEA_ERR_OVERFLOW);
        work->scratch_bytes = fovea_max(work->scratch_bytes, own->scratch_bytes);
        phases = own->phases > phases ? own->phases : phases;
    }
    FOVEA_CHECK(work->phases + phases <= FOVEA_PHASES_MAX, FOVEA_ERR_OVERFLOW);
    for (uint32_t phase = 0; phase < phases; phase++) {
        composite->phase[work->phases].first = (uint8_t)first;
        composite->phase[work->phases].count = (uint8_t)count;
        composite->phase[work->phases++].part_phase = (uint8_t)phase;
    }
    return FOVEA_OK;
}

static void *part_shared(const struct fovea_composite *composite, uint32_t part, void *shared)
{
    return shared != NULL ? (char *)shared + composite->part[part].shared : NULL;
}

static void begin_parts(const void *plan, const void *args, void *shared, uint32_t phase, struct fovea_phase *out)
{
    const struct fovea_composite *const composite = plan;
    const uint32_t first = composite->phase[phase].first, part_phase = composite->phase[phase].part_phase;
    for (uint32_t part = first; part < first + composite->phase[phase].count; part++) {
        if (part_phase >= part_work(composite, part)->phases)
            continue;
        struct fovea_part_args *const part_args = &out->part_args[out->args++];
        composite->args(composite, args, shared, part, part_args);
        fovea_begin(composite->part[part].op, part_work(composite, part), part_args,
                    part_shared(composite, part, shared), part_phase, out);
    }
}

// Runs one part after another, each in the fastest way for one thread.
static bool run_whole(const void *plan, const void *args, void *shared, void *scratch)
{
    const struct fovea_composite *const composite = plan;
    for (uint32_t part = 0; part < composite->parts; part++) {
        struct fovea_part_args part_args;
        composite->args(composite, args, shared, part, &part_args);
        fovea_run(composite->part[part].op, part_work(composite, part), &part_args,
                  part_shared(composite, part, shared), scratch, NULL); // cannot fail: its memory is part of ours
    }
    return true;
}

const struct fovea_operator fovea_composite_operator = {.whole = run_whole, .parts = begin_parts};
