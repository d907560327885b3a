// SPDX-License-Identifier: Apache-2.0
// nn/layer.c - runs an encoder or decoder layer: the args of each of its steps.
#include "nn/layer.h"
#include "ops/once.h"

#include <math.h>

static struct fovea_mha_args self_args(const struct fovea_layer_args *args)
{
    return (struct fovea_mha_args){.weights = &args->weights->self_attention,
                                   .batch = args->batch,
                                   .q_len = args->len,
                                   .kv_len = args->len,
                                   .position = args->position,
                                   .positions = args->positions,
                                   .starts = args->starts,
                                   .cache = args->self_cache,
                                   .pool = args->self_pool,
                                   .pages = args->pages,
                                   .pages_batch = args->pages_batch,
                                   .rotary_cos = args->rotary_cos,
                                   .rotary_sin = args->rotary_sin,
                                   .slopes = args->slopes,
                                   .sinks = args->sinks,
                                   .kv_lens = args->lens,
                                   .seed = args->seed,
                                   .site = args->site,
                                   .eval = args->eval};
}

static struct fovea_mha_args cross_args(const struct fovea_layer_args *args)
{
    return (struct fovea_mha_args){.weights = &args->weights->cross_attention,
                                   .batch = args->batch / args->beams,
                                   .q_len = args->len * args->beams,
                                   .kv_len = args->memory_len,
                                   .position = args->position, // they name what is dropped
                                   .positions = args->beams == 1 ? args->positions : NULL,
                                   .starts = args->starts,
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

// The norm of a part that is one.
static const struct fovea_norm *norm_of(const struct fovea_layer_weights *weights, enum layer_part part)
{
    const struct fovea_norm *const norms[LAYER_PARTS] = {
        [LAYER_NORM1] = &weights->norm1,         [LAYER_NORM2] = &weights->norm2,
        [LAYER_NORM3] = &weights->norm3,         [LAYER_NORM1_OUT] = &weights->norm1_out,
        [LAYER_NORM2_OUT] = &weights->norm2_out, [LAYER_NORM3_OUT] = &weights->norm3_out,
    };
    return norms[part];
}

// Args of a part that drops. Its site is one of the four of a layer, in the order that struct fovea_layer_args has.
static struct fovea_rowwise_args drop_args(const struct fovea_layer_args *args, enum layer_part part, const float *in,
                                           const float *residual, float *out, size_t rows)
{
    static const uint32_t sites[LAYER_PARTS] = {
        [LAYER_ADD1] = 0, [LAYER_ADD2] = 1, [LAYER_DROP_UP] = 2, [LAYER_ADD3] = 3};
    return (struct fovea_rowwise_args){.x = in,
                                       .x2 = part == LAYER_DROP_UP ? NULL : residual,
                                       .y = out,
                                       .rows = rows,
                                       .seed = args->seed,
                                       .site = args->site + sites[part],
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
    const size_t rows = args->starts != NULL ? args->starts[args->batch] : args->batch * args->len;
    switch (step->part) {
    case LAYER_SELF:
        out->mha = self_args(args);
        out->mha.query = out->mha.key = out->mha.value = in;
        out->mha.residual = plan->self.desc.residual ? residual : NULL;
        out->mha.out = to;
        break;
    case LAYER_CROSS:
        out->mha = cross_args(args);
        out->mha.query = in;
        out->mha.key = out->mha.value = args->memory;
        out->mha.residual = plan->cross.desc.residual ? residual : NULL;
        out->mha.out = to;
        break;
    case LAYER_NORM1:
    case LAYER_NORM2:
    case LAYER_NORM3:
    case LAYER_NORM1_OUT:
    case LAYER_NORM2_OUT:
    case LAYER_NORM3_OUT:
        out->rowwise = norm_args(norm_of(w, step->part), in, to, rows);
        break;
    case LAYER_UP:
        out->gemm = (struct fovea_gemm_args){.a = in, .b = w->up.weight, .c = to, .bias = w->up.bias, .m = rows};
        break;
    case LAYER_DROP_UP:
    case LAYER_ADD1:
    case LAYER_ADD2:
    case LAYER_ADD3:
        out->rowwise = drop_args(args, step->part, in, residual, to, rows);
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

// What this kind of layer has no use for was meant for something that it does not do.
static enum fovea_status check_given(const struct fovea_layer_desc *desc, const struct fovea_layer_args *args,
                                     const struct fovea_why *why)
{
    const bool causal = desc->decoder || desc->causal;
    const char *const uncached = "the plan is not cached", *const no_cross = "the layer has no cross-attention";
    const struct {
        const char *name;
        const void *pointer;
        bool used;
        const char *reason;
    } given[] = {
        {"lens", args->lens, !causal, "the layer is causal"},
        {"memory", args->memory, desc->decoder && !desc->cached, desc->decoder ? "cross_cache has its keys" : no_cross},
        {"memory_lens", args->memory_lens, desc->decoder, no_cross},
        {"positions", args->positions, desc->cached, uncached},
        {"starts", args->starts, desc->cached || !desc->decoder,
         "a decoder without caches has a memory for each sequence"},
        {"self_cache", args->self_cache, desc->cached && desc->page_keys == 0,
         desc->cached ? "keys are in pages" : uncached},
        {"self_pool", args->self_pool, desc->page_keys != 0, "the plan has no page_keys"},
        {"pages", args->pages, desc->page_keys != 0, "the plan has no page_keys"},
        {"cross_cache", args->cross_cache, desc->cached && desc->decoder, desc->decoder ? uncached : no_cross},
        {"rotary_cos", args->rotary_cos, desc->rotary_dim != 0, "the plan has no rotary_dim"},
        {"rotary_sin", args->rotary_sin, desc->rotary_dim != 0, "the plan has no rotary_dim"},
    };
    for (size_t i = 0; i < FOVEA_COUNT(given); i++)
        FOVEA_REQUIRE(!given[i].pointer || given[i].used, FOVEA_ERR_VALUE, why, "layer: args.%s is given, but %s",
                      given[i].name, given[i].reason);
    const struct fovea_limit of_memory[] = {{"memory_len", args->memory_len, 0}, {"beams", args->beams, 1}};
    for (size_t i = 0; i < FOVEA_COUNT(of_memory) && !desc->decoder; i++)
        FOVEA_REQUIRE(of_memory[i].value <= of_memory[i].most, FOVEA_ERR_VALUE, why, "layer: args.%s is %zu, but %s",
                      of_memory[i].name, of_memory[i].value, no_cross);
    FOVEA_REQUIRE(desc->cached || args->position == 0, FOVEA_ERR_VALUE, why,
                  "layer: args.position is %zu, but %s: a call begins at 0", args->position, uncached);
    FOVEA_REQUIRE(args->eval <= 1, FOVEA_ERR_ENUM, why, "layer: args.eval is %u, neither 0 nor 1", args->eval);
    return FOVEA_OK;
}

static bool is_set(const struct fovea_norm *norm)
{
    return norm->gamma || norm->beta;
}

// Norms that this kind of layer does not have.
static enum fovea_status check_norms(const struct fovea_layer_desc *desc, const struct fovea_layer_weights *w,
                                     const struct fovea_why *why)
{
    FOVEA_REQUIRE(desc->decoder || !is_set(&w->norm2), FOVEA_ERR_VALUE, why,
                  "layer: norm2 belongs to cross-attention; the norm of the FFN is norm3");
    FOVEA_REQUIRE(desc->decoder || !is_set(&w->norm2_out), FOVEA_ERR_VALUE, why,
                  "layer: norm2_out belongs to cross-attention; that of the FFN is norm3_out");
    const struct fovea_norm *const out[] = {&w->norm1_out, &w->norm2_out, &w->norm3_out};
    for (size_t i = 0; i < FOVEA_COUNT(out) && desc->norm != FOVEA_NORM_SANDWICH; i++)
        FOVEA_REQUIRE(!is_set(out[i]), FOVEA_ERR_VALUE, why,
                      "layer: norm%zu_out is given, but the layer is not sandwich-norm", i + 1);
    const struct fovea_mha_weights *const cross = &w->cross_attention;
    FOVEA_REQUIRE(!desc->decoder || (!cross->q_norm && !cross->k_norm), FOVEA_ERR_VALUE, why,
                  "layer: cross_attention: the weights have %s, but only self-attention has qk_norm",
                  cross->q_norm ? "q_norm" : "k_norm");
    return FOVEA_OK;
}

const struct mha_words fovea_layer_self_words = {.whole = "layer: self_attention",
                                                 .q_len = "len",
                                                 .query = "x",
                                                 .cache = "self_cache",
                                                 .pool = "self_pool",
                                                 .new_len = "len",
                                                 .capacity = "kv_len"};
const struct mha_words fovea_layer_cross_words = {
    .whole = "layer: cross_attention", .q_len = "len", .query = "x", .cache = "cross_cache", .capacity = "memory_len"};

// What a decoder's call has of its memories.
static enum fovea_status check_cross(const struct layer_plan *plan, const struct fovea_layer_args *args,
                                     const struct fovea_why *why)
{
    const struct fovea_layer_desc *const desc = &plan->desc;
    FOVEA_REQUIRE_LIMITS("layer", why, {"args.memory_len", args->memory_len, desc->memory_len},
                         {"args.beams", args->beams, desc->beams});
    FOVEA_REQUIRE(args->beams != 0, FOVEA_ERR_SHAPE, why, "layer: args.beams is 0, but a decoder has 1 or more");
    FOVEA_REQUIRE(args->batch % args->beams == 0, FOVEA_ERR_SHAPE, why,
                  "layer: args.beams is %zu, which does not divide args.batch, %zu", args->beams, args->batch);
    FOVEA_REQUIRE_LIMITS("layer", why,
                         {"args.batch / args.beams", args->batch / args->beams, desc->batch / desc->beams});
    FOVEA_REQUIRE(!args->positions || args->beams == 1 || desc->dropout == 0 || args->eval, FOVEA_ERR_UNSUPPORTED, why,
                  "layer: args.positions with beams and dropout: rows of one memory have one position");
    FOVEA_REQUIRE(!args->starts || args->beams == 1, FOVEA_ERR_UNSUPPORTED, why, "layer: args.starts with %zu beams",
                  args->beams);
    FOVEA_REQUIRE(desc->cached || !args->memory_len || args->memory, FOVEA_ERR_NULL, why, "layer: args.memory is NULL");
    struct fovea_mha_args cross = cross_args(args);
    cross.kv_lens = some_lens(&plan->cross);
    cross.query = args->x;
    cross.residual = plan->cross.desc.residual ? args->x : NULL;
    cross.key = cross.value = args->memory;
    cross.out = args->y;
    return fovea_mha_check(&plan->cross, &cross, &fovea_layer_cross_words, why);
}

enum fovea_status fovea_layer_check(const struct layer_plan *plan, const struct fovea_layer_args *args,
                                    const struct fovea_why *why)
{
    FOVEA_REQUIRE_POINTERS("layer", why, {"plan", plan}, {"args", args});
    FOVEA_REQUIRE(fovea_is_plan(plan, FOVEA_PLAN_LAYER), FOVEA_ERR_STRUCT, why, "layer: the plan is not a layer plan");
    const struct fovea_layer_desc *const desc = &plan->desc;
    FOVEA_REQUIRE_LIMITS("layer", why, {"args.batch", args->batch, desc->batch}, {"args.len", args->len, desc->len});
    FOVEA_REQUIRE(args->batch == 0 || args->len != 0 || !args->starts || args->starts[args->batch] == 0,
                  FOVEA_ERR_SHAPE, why, "layer: args.starts has %u rows, but args.len is 0",
                  (unsigned)args->starts[args->batch]);
    if (empty(args))
        return FOVEA_OK;
    FOVEA_REQUIRE_POINTERS("layer", why, {"args.weights", args->weights}, {"args.x", args->x}, {"args.y", args->y});
    if (desc->cached && desc->page_keys == 0)
        FOVEA_REQUIRE_POINTERS("layer", why, {"args.self_cache", args->self_cache});
    if (desc->page_keys != 0)
        FOVEA_REQUIRE_POINTERS("layer", why, {"args.self_pool", args->self_pool}, {"args.pages", args->pages});
    if (desc->cached && desc->decoder)
        FOVEA_REQUIRE_POINTERS("layer", why, {"args.cross_cache", args->cross_cache});
    FOVEA_TRY(check_given(desc, args, why));
    FOVEA_TRY(check_norms(desc, args->weights, why));
    // The parts check their own weights and caches; anything that is not NULL stands for activations in shared memory.
    struct fovea_mha_args self = self_args(args);
    self.kv_lens = some_lens(&plan->self);
    self.query = self.key = self.value = args->x;
    self.residual = plan->self.desc.residual ? args->x : NULL;
    self.out = args->y;
    FOVEA_TRY(fovea_mha_check(&plan->self, &self, &fovea_layer_self_words, why));
    FOVEA_TRY(desc->decoder ? check_cross(plan, args, why) : FOVEA_OK);
    const size_t ffn = desc->gated ? 2 * desc->ffn : desc->ffn;
    FOVEA_TRY(fovea_linear_check(&args->weights->up, desc->weight_type, desc->width, ffn, "layer", "up", why));
    return fovea_linear_check(&args->weights->down, desc->weight_type, desc->ffn, desc->width, "layer", "down", why);
}

enum fovea_status fovea_explain_layer_call(const void *plan, const struct fovea_layer_args *args, char *text,
                                           size_t text_size)
{
    const struct fovea_why why = {text, text_size};
    FOVEA_TRY(fovea_layer_check(plan, args, &why));
    const struct fovea_asked asked[] = {
        {args->lens != NULL, "lens", NAN},
        {args->memory_lens != NULL, "memory_lens", NAN},
        {args->starts != NULL, "rows", args->starts && args->batch ? (double)args->starts[args->batch] : 0},
        {args->slopes != NULL, "ALiBi", NAN},
        {args->sinks != NULL, "sinks", NAN},
        {args->eval != 0, "no dropout", NAN},
    };
    const struct fovea_size sizes[] = {{"args.batch", args->batch}, {"args.len", args->len}};
    fovea_say(&why, "layer: batch %zu, len %zu", args->batch, args->len);
    if (((const struct layer_plan *)plan)->desc.decoder)
        fovea_say_more(&why, ", memory_len %zu", args->memory_len);
    fovea_say_positions(args->position, args->positions, args->batch, &why);
    fovea_say_asked(&why, asked, FOVEA_COUNT(asked));
    fovea_say_nothing(&why, sizes, FOVEA_COUNT(sizes));
    if (((const struct layer_plan *)plan)->desc.decoder && !empty(args) && args->memory_len == 0)
        fovea_say_more(&why, ", cross-attention sees no key: args.memory_len is 0");
    fovea_say_unchecked(&why, plan);
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
