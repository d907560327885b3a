// SPDX-License-Identifier: Apache-2.0
// ops/gemm_memory.c - the work memory of a GEMM plan that is otherwise complete, and where what lies in it.
#include "ops/gemm_tasks.h"
#include "ops/gemm_ways.h"

// One thread with several k blocks keeps the sums of all of C in acc if they are at most this large, the work memory of
// a few k blocks of B. Larger products run task by task, with a small acc.
enum { WHOLE_ACC_KIB = 4 << 10 };

// *total += lines * length floats, in bytes.
static bool add_floats(size_t lines, size_t length, size_t *total)
{
    size_t bytes = 0;
    return fovea_mul(lines, length, &bytes) && fovea_mul(bytes, sizeof(float), &bytes) &&
           fovea_add(*total, bytes, total);
}

enum fovea_status fovea_gemm_measure(struct fovea_gemm_layout *plan, const struct fovea_why *why)
{
    const struct fovea_gemm_desc *const d = &plan->desc;
    const struct fovea_gemm_grid *const grid = &plan->grid;
    const bool alone = d->batch == 1;
    const bool in_strips = plan->k != 0 && d->n != 0 && fovea_gemm_has_strips(plan);
    size_t shared = 0, tasks = 0, scratch = 0;
    bool fits = !(grid->copy_a && alone) || add_floats(d->m, fovea_gemm_pitch(plan->k), &shared);
    plan->b_offset = shared / sizeof(float);
    fits = fits && (!grid->share_b || add_floats(fovea_gemm_panels(d->n) * FOVEA_PANEL, plan->k, &shared));
    const bool prepares = shared != 0;
    const double all_of_c = (double)d->m * (double)(fovea_gemm_panels(d->n) * FOVEA_PANEL);
    plan->c_offset = shared / sizeof(float);
    plan->c_room = plan->detour && plan->blocks.count > 1 && !fovea_is_far(WHOLE_ACC_KIB, all_of_c);
    fits = fits && (!plan->c_room || add_floats(d->m, fovea_gemm_panels(d->n) * FOVEA_PANEL, &shared));
    // Fewer rows make other tasks, but never more than rows x strips; preparing has at most one task per panel.
    fits = fits && fovea_mul(d->batch, fovea_ceil_div(d->m, plan->mr), &tasks) &&
           fovea_mul(tasks, plan->strips.count, &tasks);
    FOVEA_REQUIRE(fits, FOVEA_ERR_OVERFLOW, why, "gemm: packed operands do not fit in memory");
    const uint32_t tasks_most = UINT32_MAX / 8; // a composite adds up the tasks of several operators
    FOVEA_REQUIRE(tasks <= tasks_most && fovea_gemm_panels(d->m) <= tasks_most && fovea_gemm_panels(d->n) <= tasks_most,
                  FOVEA_ERR_OVERFLOW, why, "gemm: more tasks than 32 bits count");
    size_t acc = 0;
    if (plan->way == FOVEA_WAY_FLIP) {
        fits = fovea_gemm_flip_scratch(plan, &acc);
    } else {
        const size_t most = fovea_min(plan->own_rows, fovea_gemm_step_rows(plan->kernels)); // of plans of its calls
        acc = fovea_max(fovea_gemm_acc(plan), fovea_gemm_step_accs(plan, most));
    }
    plan->a_room = fovea_round_up(acc, FOVEA_PANEL);
    scratch = plan->a_room * sizeof(float);
    fits = fits && (!(grid->copy_a && !alone) || add_floats(plan->chunk, fovea_gemm_pitch(plan->kc), &scratch));
    plan->b_room = scratch / sizeof(float);
    const size_t few = fovea_min(d->m, plan->once_rows);
    const bool turns = in_strips && (d->b_packed ? few > 1 : d->trans_b == FOVEA_TRANS); // A, for few rows of C
    const bool packs = in_strips && !d->b_packed && d->m > plan->once_rows &&
                       (d->trans_b == FOVEA_TRANS || grid->pack_b || (d->n % FOVEA_PANEL != 0 && plan->edge == 0));
    if (turns || packs) {
        size_t strips = 0;
        fits = fits && fovea_mul(packs ? plan->group * fovea_gemm_columns(plan) : 0, plan->kc, &strips) &&
               add_floats(FOVEA_PANEL, fovea_ceil_div(fovea_max(strips, turns ? few * plan->k : 0), FOVEA_PANEL),
                          &scratch) &&
               (!fovea_gemm_moves_a(plan, 1) || add_floats(1, FOVEA_L1_WAY, &scratch));
    }
    plan->first_room = scratch / sizeof(float);
    fits = fits && (plan->first_rows == 0 || add_floats(FOVEA_PANEL, plan->kc, &scratch));
    FOVEA_REQUIRE(fits, FOVEA_ERR_OVERFLOW, why, "gemm: work memory does not fit");
    plan->work = (struct fovea_work){shared, scratch, prepares ? 2 : 1, FOVEA_PLAN_GEMM};
    return FOVEA_OK;
}
