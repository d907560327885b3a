// SPDX-License-Identifier: Apache-2.0
// nn/layer.c - runs an encoder or decoder layer: the args of each of its steps.
#include "nn/layer.h"
#include "ops/once.h"

static struct fovea_mha_args self_args(const struct layer_plan *plan, const struct fovea_layer_args *args)
{
    return (struct fovea_mha_args){.weights = &args->weights->self_attention,
                                   .batch = args->batch,
                                   .q_len = args->len,
                                   .kv_len = args->len,
                                   .position = plan->desc.cached ? args->position : 0,
                                   .cache = args->self_cache,
                                   .rotary_cos = plan->desc.rotary_dim ? args->rotary_cos : NULL,
                                   .rotary_sin = plan->desc.rotary_dim ? args->rotary_sin : NULL,
                                   .kv_lens = args->lens,
                                   .seed = args->seed,
                                   .site = args->site,
                                   .eval = args->eval};
}

static struct fovea_mha_args cross_args(const struct layer_plan *plan, const struct fovea_layer_args *args)
{
    return (struct fovea_mha_args){.weights = &args->weights->cross_attention,
                                   .batch = args->batch / args->beams,
                                   .q_len = args->len * args->beams,
                                   .kv_len = args->memory_len,
                                   .position = plan->desc.cached ? args->position : 0, // part of the dropout numbering
                                   .cache = args->cross_cache,
                                   .kv_lens = args->memory_lens,
                                   .seed = args->seed,
                                   .site = args->site + 1,
                                   .eval = args->eval};
}

static struct fovea_rowwise_args norm_args(const struct fovea_norm *norm, const float *in, float *out, size_t rows)
{
    return (struct fovea_rowwise_args){.x = in, .gamma = norm->gamma, .beta = norm->beta, .y = out, .rows = rows};
}

static struct fovea_rowwise_args drop_args(const struct fovea_layer_args *args, uint32_t site, const float *in,
                                           const float *residual, float *out, size_t rows)
{
    return (struct fovea_rowwise_args){.x = in,
                                       .x2 = residual,
                                       .y = out,
                                       .rows = rows,
                                       .seed = args->seed,
                                       .site = args->site + site,
                                       .eval = args->eval};
}

void fovea_layer_part_args(const void *composite, const void *call, void *shared, uint32_t part,
                           struct fovea_part_args *out)
{
    const struct layer_plan *const plan = composite;
    const struct fovea_layer_args *const args = call;
    const struct fovea_layer_weights *const w = args->weights;
    const struct layer_step *const step = &plan->step[part];
    char *const own = shared;
    float *const buffers[LAYER_BUFFERS] = {[LAYER_X] = NULL,
                                           [LAYER_Y] = args->y,
                                           [LAYER_T] = own ? (float *)(void *)(own + plan->t) : NULL,
                                           [LAYER_H] = own ? (float *)(void *)(own + plan->h) : NULL};
    const float *const in = step->in == LAYER_X ? args->x : buffers[step->in];
    const float *const residual = step->residual == LAYER_X ? args->x : buffers[step->residual];
    float *const to = buffers[step->out];
    const size_t rows = args->batch * args->len;
    switch (step->part) {
    case LAYER_SELF:
        out->mha = self_args(plan, args);
        out->mha.query = out->mha.key = out->mha.value = in;
        out->mha.residual = residual;
        out->mha.out = to;
        break;
    case LAYER_CROSS:
        out->mha = cross_args(plan, args);
        out->mha.query = in;
        out->mha.key = out->mha.value = args->memory;
        out->mha.residual = residual;
        out->mha.out = to;
        break;
    case LAYER_NORM1:
        out->rowwise = norm_args(&w->norm1, in, to, rows);
        break;
    case LAYER_NORM2:
        out->rowwise = norm_args(&w->norm2, in, to, rows);
        break;
    case LAYER_NORM3:
        out->rowwise = norm_args(&w->norm3, in, to, rows);
        break;
    case LAYER_UP:
        out->gemm = (struct fovea_gemm_args){.a = in, .b = w->up.weight, .c = to, .bias = w->up.bias, .m = rows};
        break;
    case LAYER_DROP_UP:
        out->rowwise = drop_args(args, 2, in, NULL, to, rows);
        break;
    case LAYER_DROP_DOWN:
        out->rowwise = drop_args(args, 3, in, residual, to, rows);
        break;
    default:
        out->gemm = (struct fovea_gemm_args){
            .a = in, .b = w->down.weight, .c = to, .bias = w->down.bias, .residual = residual, .m = rows};
        break;
    }
}

// Nothing to do: pointers may be NULL.
static int empty(const struct fovea_layer_args *args)
{
    return args->batch == 0 || args->len == 0;
}

// Default lengths where attention has lengths but a call need not give any.
static const uint32_t *some_lens(const struct mha_plan *plan)
{
    static const uint32_t lens;
    return plan->desc.kv_len_kind != FOVEA_KV_LEN_ALL ? &lens : NULL;
}

enum fovea_status fovea_layer_check(const struct layer_plan *plan, const struct fovea_layer_args *args,
                                    const struct fovea_why *why)
{
    FOVEA_REQUIRE(plan && args, FOVEA_ERR_NULL, why, "layer: plan or args is NULL");
    FOVEA_REQUIRE(fovea_is_plan(plan, FOVEA_PLAN_LAYER), FOVEA_ERR_STRUCT, why, "layer: the plan is not a layer plan");
    const struct fovea_layer_desc *const desc = &plan->desc;
    FOVEA_REQUIRE(args->batch <= desc->batch && args->len <= desc->len, FOVEA_ERR_SHAPE, why,
                  "layer: batch %zu and len %zu are more than the plan's %zu and %zu", args->batch, args->len,
                  desc->batch, desc->len);
    if (empty(args))
        return FOVEA_OK;
    FOVEA_REQUIRE(args->weights && args->x && args->y, FOVEA_ERR_NULL, why, "layer: args.weights, x or y is NULL");
    // The parts check their own weights and caches. Any pointer that is not NULL stands in for activations in shared
    // memory.
    struct fovea_mha_args self = self_args(plan, args);
    self.kv_lens = some_lens(&plan->self);
    self.query = self.key = self.value = self.residual = args->x;
    self.out = args->y;
    FOVEA_TRY(fovea_mha_check(&plan->self, &self, "layer: self_attention", why));
    if (desc->decoder) {
        FOVEA_REQUIRE(args->memory_len <= desc->memory_len, FOVEA_ERR_SHAPE, why,
                      "layer: memory_len %zu is more than the plan's %zu", args->memory_len, desc->memory_len);
        FOVEA_REQUIRE(args->beams >= 1 && args->beams <= desc->beams && args->batch % args->beams == 0, FOVEA_ERR_SHAPE,
                      why, "layer: beams is %zu of a batch of %zu: 1 to %zu, and divides it", args->beams, args->batch,
                      desc->beams);
        FOVEA_REQUIRE(desc->cached || !args->memory_len || args->memory, FOVEA_ERR_NULL, why,
                      "layer: args.memory is NULL");
        struct fovea_mha_args cross = cross_args(plan, args);
        cross.kv_lens = some_lens(&plan->cross);
        cross.query = cross.residual = args->x;
        cross.key = cross.value = args->memory;
        cross.out = args->y;
        FOVEA_TRY(fovea_mha_check(&plan->cross, &cross, "layer: cross_attention", why));
    }
    const size_t ffn = desc->gated ? 2 * desc->ffn : desc->ffn;
    FOVEA_TRY(fovea_linear_check(&args->weights->up, desc->width, ffn, "layer", "up", why));
    return fovea_linear_check(&args->weights->down, desc->ffn, desc->width, "layer", "down", why);
}

enum fovea_status fovea_explain_layer_call(const void *plan, const struct fovea_layer_args *args, char *text,
                                           size_t text_size)
{
    const struct fovea_why why = {text, text_size};
    FOVEA_TRY(fovea_layer_check(plan, args, &why));
    fovea_say(&why, "layer: batch %zu, len %zu, memory_len %zu, position %zu", args->batch, args->len, args->memory_len,
              args->position);
    return FOVEA_OK;
}

enum fovea_status fovea_layer(const void *plan, const struct fovea_layer_args *args, void *shared, void *scratch,
                              const struct fovea_executor *executor)
{
    FOVEA_TRY(fovea_layer_check(plan, args, NULL));
    if (empty(args))
        return FOVEA_OK;
    return fovea_run(&fovea_composite_operator, plan, args, shared, scratch, executor);
}

uint32_t fovea_layer_tasks(const void *plan, const struct fovea_layer_args *args, uint32_t phase)
{
    if (fovea_layer_check(plan, args, NULL) || empty(args))
        return 0;
    return fovea_count_tasks(&fovea_composite_operator, plan, args, phase);
}

enum fovea_status fovea_layer_task(const void *plan, const struct fovea_layer_args *args, void *shared, void *scratch,
                                   uint32_t phase, uint32_t task)
{
    FOVEA_TRY(fovea_layer_check(plan, args, NULL));
    FOVEA_CHECK(!empty(args), FOVEA_ERR_SHAPE);
    return fovea_run_task(&fovea_composite_operator, plan, args, shared, scratch, phase, task);
}

FOVEA_ONCE(layer)
