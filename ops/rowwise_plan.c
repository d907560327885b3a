// SPDX-License-Identifier: Apache-2.0
// ops/rowwise_plan.c - a row-wise descriptor: its defaults, its checks, its kernel, and what is wrong with it.
#include "ops/rowwise.h"
#include <math.h>

enum fovea_status fovea_rowwise_desc_init(struct fovea_rowwise_desc *desc, size_t size)
{
    static const struct fovea_rowwise_desc defaults = FOVEA_ROWWISE_DESC_INIT;
    FOVEA_CHECK(desc != NULL, FOVEA_ERR_NULL);
    FOVEA_CHECK(size == sizeof *desc, FOVEA_ERR_STRUCT);
    *desc = defaults;
    return FOVEA_OK;
}

static const struct fovea_unary_kernel *unary_kernel(const struct fovea_kernels *kernels, enum fovea_rowwise_op op)
{
    const struct fovea_unary_kernel *const of[FOVEA_ROWWISE_ROTARY + 1] = {
        [FOVEA_ROWWISE_SOFTMAX] = &kernels->softmax,
        [FOVEA_ROWWISE_LOG_SOFTMAX] = &kernels->log_softmax,
        [FOVEA_ROWWISE_RELU] = &kernels->relu,
        [FOVEA_ROWWISE_GELU] = &kernels->gelu,
        [FOVEA_ROWWISE_GELU_TANH] = &kernels->gelu_tanh,
        [FOVEA_ROWWISE_TANH] = &kernels->tanh,
        [FOVEA_ROWWISE_EXP2] = &kernels->exp2,
        [FOVEA_ROWWISE_SIN] = &kernels->sin,
        [FOVEA_ROWWISE_COS] = &kernels->cos,
        [FOVEA_ROWWISE_SILU] = &kernels->silu,
    };
    return of[op];
}

static const struct fovea_norm_kernel *norm_kernel(const struct fovea_kernels *kernels, enum fovea_rowwise_op op)
{
    return op == FOVEA_ROWWISE_LAYERNORM ? &kernels->layernorm : op == FOVEA_ROWWISE_RMSNORM ? &kernels->rmsnorm : NULL;
}

static enum fovea_status check_matrix(const char *name, const struct fovea_rowwise_desc *d, size_t ld,
                                      const struct fovea_why *why)
{
    size_t bytes = 0;
    FOVEA_REQUIRE(ld >= d->cols, FOVEA_ERR_STRIDE, why, "rowwise: %s %zu is smaller than cols %zu", name, ld, d->cols);
    FOVEA_REQUIRE(fovea_extent(d->rows, d->cols, ld, &bytes), FOVEA_ERR_OVERFLOW, why,
                  "rowwise: %zu rows with %s %zu do not fit in memory", d->rows, name, ld);
    return FOVEA_OK;
}

static enum fovea_status check_rotary(const struct fovea_rowwise_desc *d, const struct fovea_why *why)
{
    size_t n = 0;
    FOVEA_REQUIRE(d->heads >= 1 && d->cols % d->heads == 0, FOVEA_ERR_SHAPE, why,
                  "rowwise: cols %zu are no multiple of heads %zu", d->cols, d->heads);
    FOVEA_REQUIRE(d->rotary_dim <= d->cols / d->heads && d->rotary_dim % 2 == 0, FOVEA_ERR_SHAPE, why,
                  "rowwise: rotary_dim %zu is odd or more than the %zu of a head", d->rotary_dim, d->cols / d->heads);
    FOVEA_REQUIRE(d->rotary_adjacent <= 1, FOVEA_ERR_ENUM, why, "rowwise: rotary_adjacent is %u, neither 0 nor 1",
                  (unsigned)d->rotary_adjacent);
    FOVEA_REQUIRE(fovea_mul(d->rotary_positions, d->rotary_dim, &n) && fovea_mul(n, sizeof(float), &n),
                  FOVEA_ERR_OVERFLOW, why, "rowwise: %zu positions do not fit in memory", d->rotary_positions);
    return FOVEA_OK;
}

enum fovea_status fovea_rowwise_make(const struct fovea_engine *engine, const struct fovea_rowwise_desc *desc,
                                     struct fovea_rowwise_layout *plan, const struct fovea_why *why)
{
    FOVEA_REQUIRE_POINTERS("rowwise", why, {"engine", engine}, {"desc", desc});
    FOVEA_REQUIRE(desc->struct_size == sizeof *desc, FOVEA_ERR_STRUCT, why, "rowwise: struct_size is %u, not %zu",
                  (unsigned)desc->struct_size, sizeof *desc);
    FOVEA_REQUIRE(desc->op <= FOVEA_ROWWISE_ROTARY, FOVEA_ERR_ENUM, why, "rowwise: op is %u, not within 0 to %d",
                  (unsigned)desc->op, FOVEA_ROWWISE_ROTARY);
    FOVEA_TRY(check_matrix("ldx", desc, desc->ldx, why));
    FOVEA_TRY(check_matrix("ldy", desc, desc->ldy, why));
    if (fovea_rowwise_has_x2(desc->op)) {
        FOVEA_TRY(check_matrix("ldx2", desc, desc->ldx2, why));
    }
    FOVEA_REQUIRE(!fovea_rowwise_is_norm(desc->op) || (isfinite(desc->eps) && desc->eps >= 0), FOVEA_ERR_VALUE, why,
                  "rowwise: eps is %g, negative or not finite", (double)desc->eps);
    FOVEA_REQUIRE(!fovea_rowwise_is_dropout(desc->op) || (desc->dropout >= 0 && desc->dropout < 1), FOVEA_ERR_VALUE,
                  why, "rowwise: dropout is %g, not at least 0 and below 1", (double)desc->dropout);
    if (desc->op == FOVEA_ROWWISE_ROTARY) {
        FOVEA_TRY(check_rotary(desc, why));
    }
    FOVEA_REQUIRE(fovea_rowwise_count(desc) <= UINT32_MAX, FOVEA_ERR_OVERFLOW, why,
                  "rowwise: more tasks than 32 bits count");
    const struct fovea_kernels *const kernels = fovea_engine_kernels(engine);
    *plan = (struct fovea_rowwise_layout){
        .work = {.phases = 1, .kind = FOVEA_PLAN_ROWWISE},
        .kernels = kernels,
        .unary = unary_kernel(kernels, desc->op),
        .norm = norm_kernel(kernels, desc->op),
        .desc = *desc,
    };
    if (fovea_rowwise_is_dropout(desc->op)) {
        plan->dropout.threshold = (uint32_t)((double)desc->dropout * 0x1p32);
        plan->dropout.scale = 1.0f / (1.0f - desc->dropout);
    }
    return FOVEA_OK;
}

size_t fovea_rowwise_plan_size(void)
{
    return fovea_round_up(sizeof(struct fovea_rowwise_layout), FOVEA_ALIGNMENT);
}

enum fovea_status fovea_rowwise_plan(const struct fovea_engine *engine, const struct fovea_rowwise_desc *desc,
                                     void *plan)
{
    FOVEA_CHECK(plan != NULL, FOVEA_ERR_NULL);
    FOVEA_CHECK(fovea_aligned(plan), FOVEA_ERR_ALIGN);
    struct fovea_rowwise_layout made;
    FOVEA_TRY(fovea_rowwise_make(engine, desc, &made, NULL));
    *(struct fovea_rowwise_layout *)plan = made;
    return FOVEA_OK;
}

enum fovea_status fovea_explain_rowwise(const struct fovea_engine *engine, const struct fovea_rowwise_desc *desc,
                                        char *text, size_t text_size)
{
    const struct fovea_why why = {text, text_size};
    struct fovea_rowwise_layout plan;
    FOVEA_TRY(fovea_rowwise_make(engine, desc, &plan, &why));
    const char *const kernel = plan.unary != NULL                   ? plan.unary->name
                               : plan.norm != NULL                  ? plan.norm->name
                               : fovea_rowwise_is_dropout(desc->op) ? plan.kernels->dropout.name
                               : desc->op == FOVEA_ROWWISE_ROTARY   ? plan.kernels->rotary.name
                                                                    : plan.kernels->add.name;
    const size_t tasks = fovea_rowwise_count(desc);
    const bool rotary = desc->op == FOVEA_ROWWISE_ROTARY;
    const struct fovea_asked asked[] = {
        {fovea_rowwise_is_norm(desc->op) && desc->eps != 1e-5f, "eps", (double)desc->eps},
        {fovea_rowwise_is_dropout(desc->op), "dropout", (double)desc->dropout},
        {rotary, "heads", (double)desc->heads},
        {rotary, "rotary", (double)desc->rotary_dim},
        {rotary && desc->rotary_adjacent != 0, "adjacent pairs", NAN},
    };
    const struct fovea_size sizes[] = {{"rows", desc->rows}, {"cols", desc->cols}};
    fovea_say(&why, "rowwise: %zux%zu f32", desc->rows, desc->cols);
    fovea_say_asked(&why, asked, FOVEA_COUNT(asked));
    fovea_say_more(&why, ", kernel %s, %zu task%s, no memory", kernel, tasks, tasks == 1 ? "" : "s");
    fovea_say_nothing(&why, sizes, FOVEA_COUNT(sizes));
    return FOVEA_OK;
}
