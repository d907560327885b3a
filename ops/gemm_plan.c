// SPDX-License-Identifier: Apache-2.0
// ops/gemm_plan.c - validates a GEMM, chooses its blocks, counts its memory and tasks.
//
// The sizes decided here change speed alone: each element of C is one chain over ascending k whatever the blocks.
#include "ops/gemm.h"
#include <math.h>

// What a task should at least do, in k steps of one element of C (where C has that much): 2^20 are about 8 us on a
// core of 130 G steps/s, far above what handing out a task costs. The end of an element is worth some 16 steps.
enum { TASK_STEPS = 1 << 20, ELEMENT_STEPS = 16 };
// Natural rows of B are read in place by fewer row tiles than this; from then on packing a strip pays.
enum { NATURAL_TILES = 3 };
// A transposed A of at most this many elements stays in the L1 cache and is read as it lies; a larger one is turned
// into rows first. On 512x768x768 and 1024x1024x1024 (AVX-512, one thread) that ran at 67 to 76 % of the speed of the
// micro-kernel alone; as it lies at 32 to 53 %; in panels of 16 rows (tiles of 6 + 5 + 5) at 57 to 66 %.
enum { NATURAL_A = 4096 };

static size_t clamp(size_t value, size_t low, size_t high)
{
    return value < low ? low : fovea_min(value, high);
}

static size_t panels_of(size_t columns)
{
    return fovea_ceil_div(columns, FOVEA_PANEL);
}

struct fovea_gemm_grid fovea_gemm_grid(const struct fovea_gemm_layout *plan, size_t m)
{
    const size_t mr = plan->kernels->gemm.mr;
    struct fovea_gemm_grid grid = {.m = m};
    if (m == 0 || plan->desc.n == 0) {
        return grid;
    }
    grid.row_blocks = fovea_ceil_div(m, plan->mc);
    grid.strips = fovea_ceil_div(panels_of(plan->desc.n), plan->nr / FOVEA_PANEL);
    const size_t rows = fovea_ceil_div(m, grid.row_blocks);
    const size_t enough = TASK_STEPS / (plan->k + ELEMENT_STEPS) / (rows * plan->nr);
    grid.groups = fovea_ceil_div(grid.strips, clamp(enough, 1, plan->nc / plan->nr));
    const bool natural = !plan->desc.b_packed && plan->k != 0;
    grid.share_b = natural && grid.row_blocks > 1;
    grid.pack_strips = plan->desc.trans_b == FOVEA_TRANS || m >= NATURAL_TILES * mr;
    return grid;
}

uint32_t fovea_gemm_count(const struct fovea_gemm_layout *plan, size_t m, uint32_t phase)
{
    const struct fovea_gemm_grid grid = fovea_gemm_grid(plan, m);
    if (phase + 1 == plan->work.phases) {
        return (uint32_t)(grid.row_blocks * grid.groups);
    }
    const size_t group = fovea_gemm_group(plan->k);
    return (uint32_t)((plan->turn_a ? fovea_ceil_div(m, group) : 0) +
                      (grid.share_b ? fovea_ceil_div(plan->desc.n, group) : 0));
}

// The sizes of one stored matrix. `name` is the letter of its leading dimension, as in lda.
static enum fovea_status check_matrix(char name, size_t rows, size_t cols, size_t ld, const struct fovea_why *why)
{
    FOVEA_REQUIRE(ld >= cols, FOVEA_ERR_STRIDE, why, "gemm: ld%c %zu is smaller than a row of %zu", name, ld, cols);
    size_t bytes = 0; // a kernel may form the addresses of a few rows that it does not read
    FOVEA_REQUIRE(fovea_mul(ld, FOVEA_PANEL * sizeof(float), &bytes) && fovea_extent(rows, cols, ld, &bytes),
                  FOVEA_ERR_OVERFLOW, why, "gemm: %zu rows with ld%c %zu do not fit in memory", rows, name, ld);
    return FOVEA_OK;
}

static enum fovea_status check_desc(const struct fovea_gemm_desc *d, const struct fovea_why *why)
{
    FOVEA_REQUIRE(d->struct_size == sizeof *d, FOVEA_ERR_STRUCT, why, "gemm: struct_size is %u, not %zu",
                  (unsigned)d->struct_size, sizeof *d);
    FOVEA_REQUIRE(d->trans_a <= FOVEA_TRANS, FOVEA_ERR_ENUM, why, "gemm: trans_a is %u", (unsigned)d->trans_a);
    FOVEA_REQUIRE(d->b_packed <= 1, FOVEA_ERR_ENUM, why, "gemm: b_packed is %u, neither 0 nor 1",
                  (unsigned)d->b_packed);
    FOVEA_REQUIRE(d->b_packed || d->trans_b <= FOVEA_TRANS, FOVEA_ERR_ENUM, why, "gemm: trans_b is %u",
                  (unsigned)d->trans_b);
    FOVEA_REQUIRE(d->activation <= FOVEA_ACTIVATION_TANH, FOVEA_ERR_ENUM, why, "gemm: activation is %u",
                  (unsigned)d->activation);
    FOVEA_REQUIRE(d->residual <= 1, FOVEA_ERR_ENUM, why, "gemm: residual is %u, neither 0 nor 1",
                  (unsigned)d->residual);
    FOVEA_REQUIRE(isfinite(d->alpha), FOVEA_ERR_VALUE, why, "gemm: alpha is not finite");
    FOVEA_REQUIRE(isfinite(d->beta), FOVEA_ERR_VALUE, why, "gemm: beta is not finite");
    if (d->trans_a == FOVEA_TRANS) {
        FOVEA_TRY(check_matrix('a', d->k, d->m, d->lda, why));
    } else {
        FOVEA_TRY(check_matrix('a', d->m, d->k, d->lda, why));
    }
    if (d->b_packed) {
        size_t bytes = 0;
        FOVEA_REQUIRE(fovea_pack_size(d->k, d->n, &bytes) == FOVEA_OK, FOVEA_ERR_OVERFLOW, why,
                      "gemm: B of %zu x %zu does not fit in memory", d->k, d->n);
    } else if (d->trans_b == FOVEA_TRANS) {
        FOVEA_TRY(check_matrix('b', d->n, d->k, d->ldb, why));
    } else {
        FOVEA_TRY(check_matrix('b', d->k, d->n, d->ldb, why));
    }
    FOVEA_TRY(check_matrix('c', d->m, d->n, d->ldc, why));
    return d->residual ? check_matrix('r', d->m, d->n, d->ldr, why) : FOVEA_OK;
}

// Bytes of `lines` lines of k floats packed in panels, added to *total.
static bool add_panels(size_t lines, size_t k, size_t *total)
{
    size_t bytes = 0;
    return fovea_add(lines, FOVEA_PANEL - 1, &bytes) &&
           fovea_mul(bytes / FOVEA_PANEL * FOVEA_PANEL * sizeof(float), k, &bytes) && fovea_add(*total, bytes, total);
}

static enum fovea_status measure_work(struct fovea_gemm_layout *plan, const struct fovea_why *why)
{
    const struct fovea_gemm_desc *const d = &plan->desc;
    const struct fovea_gemm_grid grid = fovea_gemm_grid(plan, d->m);
    size_t shared = 0, tasks = 0;
    bool fits = !plan->turn_a || add_panels(d->m, plan->k, &shared);
    plan->b_offset = shared / sizeof(float);
    fits = fits && (!grid.share_b || add_panels(d->n, plan->k, &shared));
    FOVEA_REQUIRE(fits, FOVEA_ERR_OVERFLOW, why, "gemm: packed operands do not fit in memory");
    // Fewer rows make other tasks, but never more than blocks x strips; preparing has at most one task for each panel.
    FOVEA_REQUIRE(fovea_mul(grid.row_blocks, grid.strips, &tasks) && tasks <= UINT32_MAX / 2 &&
                      panels_of(d->m) <= UINT32_MAX / 2 && panels_of(d->n) <= UINT32_MAX / 2,
                  FOVEA_ERR_OVERFLOW, why, "gemm: more tasks than 32 bits count");

    const size_t strip = d->b_packed ? 0 : plan->kc * plan->nr;
    const size_t acc_rows = plan->k <= plan->kc ? plan->kernels->gemm.mr : fovea_min(plan->mc, d->m);
    const size_t acc = plan->detour ? acc_rows * plan->nr : 0;
    plan->work = (struct fovea_work){
        .shared_bytes = shared, .scratch_bytes = (strip + acc) * sizeof(float), .phases = shared != 0 ? 2 : 1};
    return FOVEA_OK;
}

static enum fovea_status make_plan(const struct fovea_engine *engine, const struct fovea_gemm_desc *desc,
                                   struct fovea_gemm_layout *plan, const struct fovea_why *why)
{
    FOVEA_REQUIRE(engine != NULL && desc != NULL, FOVEA_ERR_NULL, why, "gemm: engine or desc is NULL");
    FOVEA_TRY(check_desc(desc, why));
    const struct fovea_kernels *const kernels = fovea_engine_kernels(engine);
    const struct fovea_blocking *const blocking = &kernels->blocking;
    const size_t k = desc->alpha == 0 ? 0 : desc->k, nr = kernels->gemm.nr;
    *plan = (struct fovea_gemm_layout){
        .kernels = kernels,
        .desc = *desc,
        .k = k,
        .kc = clamp(blocking->kc, 1, k > 1 ? k : 1),
        .mc = clamp(blocking->mc, 1, desc->m > 1 ? desc->m : 1),
        .nr = clamp(panels_of(desc->n), 1, nr / FOVEA_PANEL) * FOVEA_PANEL,
        .turn_a = desc->trans_a == FOVEA_TRANS && desc->n > nr && k != 0 && desc->m > NATURAL_A / k,
        .detour = desc->beta != 0 || desc->residual,
    };
    plan->nc = fovea_ceil_div(clamp(blocking->nc, 1, desc->n > 1 ? desc->n : 1), plan->nr) * plan->nr;
    return measure_work(plan, why);
}

size_t fovea_gemm_plan_size(void)
{
    return fovea_round_up(sizeof(struct fovea_gemm_layout), FOVEA_ALIGNMENT);
}

enum fovea_status fovea_gemm_plan(const struct fovea_engine *engine, const struct fovea_gemm_desc *desc, void *plan)
{
    FOVEA_CHECK(plan != NULL, FOVEA_ERR_NULL);
    FOVEA_CHECK(fovea_aligned(plan), FOVEA_ERR_ALIGN);
    struct fovea_gemm_layout made;
    FOVEA_TRY(make_plan(engine, desc, &made, NULL));
    *(struct fovea_gemm_layout *)plan = made;
    return FOVEA_OK;
}

enum fovea_status fovea_explain_gemm(const struct fovea_engine *engine, const struct fovea_gemm_desc *desc, char *text,
                                     size_t text_size)
{
    const struct fovea_why why = {text, text_size};
    struct fovea_gemm_layout plan;
    FOVEA_TRY(make_plan(engine, desc, &plan, &why));
    const struct fovea_gemm_grid grid = fovea_gemm_grid(&plan, desc->m);
    const char *const b = plan.k == 0        ? "A and B not read"
                          : desc->b_packed   ? "packed B"
                          : grid.share_b     ? "B packed first"
                          : grid.pack_strips ? "B packed by strips"
                                             : "B in place";
    fovea_say(
        &why, "gemm: %zux%zux%zu f32 %c%c, %s, kernel %s, kc %zu mc %zu nc %zu, %u tasks, shared %zu B, scratch %zu B",
        desc->m, desc->n, desc->k, desc->trans_a ? 't' : 'n', desc->trans_b ? 't' : 'n', b, plan.kernels->gemm.name,
        plan.kc, plan.mc, plan.nc, (unsigned)fovea_gemm_count(&plan, desc->m, plan.work.phases - 1),
        plan.work.shared_bytes, plan.work.scratch_bytes);
    return FOVEA_OK;
}
