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
    *composite = (struct fovea_composite){.work = {.kind = kind}, .args = args};
    composite->work.shared_bytes = fovea_round_up(own_shared, FOVEA_ALIGNMENT);
}

enum fovea_status fovea_composite_stage(struct fovea_composite *composite, uint32_t count,
                                        const struct fovea_operator *const *ops, const size_t *plans)
{
    struct fovea_work *const work = &composite->work;
    const uint32_t first = composite->parts;
    uint32_t phases = 0;
    FOVEA_CHECK(first + count <= FOVEA_PARTS_MAX, FOVEA_ERR_OVERFLOW); // no composite there is has as many, nor phases
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t part = composite->parts++;
        composite->part[part].op = ops[i];
        composite->part[part].plan = plans[i];
        composite->part[part].shared = work->shared_bytes;
        const struct fovea_work *const own = part_work(composite, part);
        FOVEA_CHECK(
            fovea_add(work->shared_bytes, fovea_round_up(own->shared_bytes, FOVEA_ALIGNMENT), &work->shared_bytes),
            FOVEA_ERR_OVERFLOW);
        work->scratch_bytes = own->scratch_bytes > work->scratch_bytes ? own->scratch_bytes : work->scratch_bytes;
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

// Walks the parts of a phase. With task = UINT32_MAX it only counts; otherwise it runs that task, which belongs to the
// first part whose tasks reach so far.
static uint32_t walk(const struct fovea_composite *composite, const void *args, void *shared, void *scratch,
                     uint32_t phase, uint32_t task)
{
    const uint32_t first = composite->phase[phase].first, part_phase = composite->phase[phase].part_phase;
    uint32_t before = 0;
    for (uint32_t part = first; part < first + composite->phase[phase].count; part++) {
        if (part_phase >= part_work(composite, part)->phases)
            continue;
        struct fovea_part_args part_args;
        composite->args(composite, args, shared, part, &part_args);
        const struct fovea_operator *const op = composite->part[part].op;
        const void *const plan = part_work(composite, part);
        const uint32_t tasks = op->tasks(plan, &part_args, part_phase);
        if (task < before + tasks) {
            op->task(plan, &part_args, (char *)shared + composite->part[part].shared, scratch, part_phase,
                     task - before);
            return 0;
        }
        before += tasks;
    }
    return before;
}

static uint32_t count_tasks(const void *plan, const void *args, uint32_t phase)
{
    return walk(plan, args, NULL, NULL, phase, UINT32_MAX);
}

static void run_task(const void *plan, const void *args, void *shared, void *scratch, uint32_t phase, uint32_t task)
{
    walk(plan, args, shared, scratch, phase, task);
}

const struct fovea_operator fovea_composite_operator = {count_tasks, run_task, NULL};
