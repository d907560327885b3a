// SPDX-License-Identifier: Apache-2.0
// nn/mha_plan.c - plans multi-head attention: validates, lays out memory, plans the four projections and attention.
#include "nn/mha.h"

#include <math.h>
#include <stddef.h>

// The operator and the plan of each part.
static const struct {
    const struct fovea_operator *op;
    size_t plan;
} parts[MHA_PARTS] = {
    [MHA_Q] = {&fovea_gemm_operator, offsetof(struct mha_plan, projection[0])},
    [MHA_K] = {&fovea_gemm_operator, offsetof(struct mha_plan, projection[1])},
    [MHA_V] = {&fovea_gemm_operator, offsetof(struct mha_plan, projection[2])},
    [MHA_ROTATE_Q] = {&fovea_rowwise_operator, offsetof(struct mha_plan, rotate[0])},
    [MHA_ROTATE_K] = {&fovea_rowwise_operator, offsetof(struct mha_plan, rotate[1])},
    [MHA_APPEND_KV] = {&fovea_mha_append_operator, offsetof(struct mha_plan, append)},
    [MHA_ATTENTION] = {&fovea_attention_operator, offsetof(struct mha_plan, attention)},
    [MHA_WEIGHTS] = {&fovea_attention_weights_operator, offsetof(struct mha_plan, returned)},
    [MHA_O] = {&fovea_gemm_operator, offsetof(struct mha_plan, projection[3])},
    [MHA_DROP] = {&fovea_rowwise_operator, offsetof(struct mha_plan, drop)},
};

size_t fovea_mha_plan_size(void)
{
    return fovea_round_up(sizeof(struct mha_plan), FOVEA_ALIGNMENT);
}

enum fovea_status fovea_mha_desc_init(struct fovea_mha_desc *desc, size_t size)
{
    FOVEA_CHECK(desc, FOVEA_ERR_NULL);
    FOVEA_CHECK(size == sizeof *desc, FOVEA_ERR_STRUCT);
    *desc = (struct fovea_mha_desc){.struct_size = sizeof *desc,
                                    .scale = FOVEA_SCALE_DEFAULT,
                                    .window_left = FOVEA_WINDOW_ALL,
                                    .window_right = FOVEA_WINDOW_ALL};
    return FOVEA_OK;
}

static enum fovea_status check_desc(const struct fovea_mha_desc *desc, const struct fovea_why *why)
{
    FOVEA_REQUIRE(desc, FOVEA_ERR_NULL, why, "mha: no descriptor");
    FOVEA_REQUIRE(desc->struct_size == sizeof *desc, FOVEA_ERR_STRUCT, why, "mha: struct_size %u is not %zu",
                  desc->struct_size, sizeof *desc);
    FOVEA_REQUIRE(desc->keys <= FOVEA_MHA_CACHED, FOVEA_ERR_ENUM, why, "mha: keys is %u, not within 0 to %d",
                  (unsigned)desc->keys, FOVEA_MHA_CACHED);
    FOVEA_REQUIRE(desc->batch <= UINT32_MAX / 4, FOVEA_ERR_OVERFLOW, why, "mha: a batch of %zu", desc->batch);
    FOVEA_REQUIRE(desc->heads >= 1, FOVEA_ERR_SHAPE, why, "mha: no heads");
    FOVEA_REQUIRE(desc->kv_heads == 0 || desc->heads % desc->kv_heads == 0, FOVEA_ERR_SHAPE, why,
                  "mha: %zu heads are no multiple of %zu key heads", desc->heads, desc->kv_heads);
    FOVEA_REQUIRE(desc->query_width && desc->out_width, FOVEA_ERR_SHAPE, why, "mha: a width is 0");
    FOVEA_REQUIRE(desc->keys == FOVEA_MHA_CACHED || (desc->key_width && desc->value_width), FOVEA_ERR_SHAPE, why,
                  "mha: key_width or value_width is 0");
    FOVEA_REQUIRE(desc->keys != FOVEA_MHA_APPEND || desc->new_len <= desc->kv_len, FOVEA_ERR_SHAPE, why,
                  "mha: new_len %zu exceeds the cache's capacity %zu", desc->new_len, desc->kv_len);
    FOVEA_REQUIRE(desc->causal <= 1 && desc->mask <= FOVEA_MASK_BITS && desc->residual <= 1, FOVEA_ERR_ENUM, why,
                  "mha: causal %u or residual %u is neither 0 nor 1, or mask %u is not within 0 to %d", desc->causal,
                  desc->residual, (unsigned)desc->mask, FOVEA_MASK_BITS);
    FOVEA_REQUIRE(desc->need_weights <= 1 && desc->rotary_adjacent <= 1, FOVEA_ERR_ENUM, why,
                  "mha: need_weights %u or rotary_adjacent %u is neither 0 nor 1", desc->need_weights,
                  desc->rotary_adjacent);
    return FOVEA_OK;
}

// Bytes of batch x len x width floats, as whole cache lines.
static bool activation_bytes(const struct fovea_mha_desc *desc, size_t len, size_t width, size_t *bytes)
{
    size_t n = desc->batch;
    if (!fovea_mul(n, len, &n) || !fovea_mul(n, width, &n) || !fovea_mul(n, sizeof(float), &n) ||
        !fovea_add(n, FOVEA_ALIGNMENT, bytes)) {
        return false;
    }
    *bytes = fovea_round_up(n, FOVEA_ALIGNMENT);
    return true;
}

// New keys a call projects, at most.
static size_t projected_len(const struct fovea_mha_desc *desc)
{
    return desc->keys == FOVEA_MHA_PROJECT ? desc->kv_len : desc->keys == FOVEA_MHA_APPEND ? desc->new_len : 0;
}

static enum fovea_status layout(struct mha_plan *plan, size_t *bytes, const struct fovea_why *why)
{
    const struct fovea_mha_desc *const desc = &plan->desc;
    const size_t len = projected_len(desc);
    const struct {
        size_t *at, len, heads, dim;
    } activations[] = {{&plan->q, desc->q_len, desc->heads, desc->qk_dim},
                       {&plan->k, len, plan->kv_heads, desc->qk_dim},
                       {&plan->v, len, plan->kv_heads, desc->v_dim},
                       {&plan->o, desc->q_len, desc->heads, desc->v_dim},
                       {&plan->y, desc->out_dropout != 0 ? desc->q_len : 0, 1, desc->out_width},
                       {&plan->lse, desc->need_weights ? desc->q_len : 0, desc->heads, 1}};
    *bytes = 0;
    for (size_t i = 0; i < sizeof activations / sizeof *activations; i++) {
        size_t width, own;
        *activations[i].at = *bytes;
        FOVEA_REQUIRE(fovea_mul(activations[i].heads, activations[i].dim, &width) &&
                          activation_bytes(desc, activations[i].len, width, &own) && fovea_add(*bytes, own, bytes),
                      FOVEA_ERR_OVERFLOW, why, "mha: an activation's size overflows");
    }
    return FOVEA_OK;
}

// One projection: rows = batch x len.
static enum fovea_status plan_linear(const struct fovea_engine *engine, struct mha_plan *plan, enum mha_part part,
                                     size_t len, size_t inputs, size_t outputs, const struct fovea_why *why)
{
    static const char *const names[] = {"q", "k", "v"};
    struct fovea_gemm_desc gemm = FOVEA_GEMM_DESC_INIT;
    gemm.b_packed = 1;
    gemm.k = gemm.lda = inputs;
    gemm.n = gemm.ldc = gemm.ldr = outputs;
    gemm.residual = part == MHA_O && plan->desc.residual && plan->desc.out_dropout == 0;
    FOVEA_REQUIRE(fovea_mul(plan->desc.batch, len, &gemm.m), FOVEA_ERR_OVERFLOW, why, "mha: batch x length overflows");
    const enum fovea_status status = fovea_gemm_plan(engine, &gemm, (char *)plan + parts[part].plan);
    FOVEA_REQUIRE(!status, status, why, "mha: projection %s [%zu, %zu] for %zu rows: %s",
                  part == MHA_O ? "o" : names[part], outputs, inputs, gemm.m, fovea_status_string(status));
    return FOVEA_OK;
}

// Strides of a view (L, heads, dim) that a projection writes.
static struct fovea_strides projected(size_t heads, size_t len, size_t dim)
{
    return (struct fovea_strides){len * heads * dim, dim, heads * dim};
}

static enum fovea_status plan_attention(const struct fovea_engine *engine, struct mha_plan *plan,
                                        const struct fovea_why *why)
{
    const struct fovea_mha_desc *const desc = &plan->desc;
    struct fovea_attention_desc attention;
    FOVEA_TRY(fovea_attention_desc_init(&attention, sizeof attention));
    attention.causal = desc->causal;
    attention.batch = desc->batch;
    attention.heads = desc->heads;
    attention.kv_heads = plan->kv_heads;
    attention.q_len = desc->q_len;
    attention.kv_len = desc->kv_len;
    attention.qk_dim = desc->qk_dim;
    attention.v_dim = desc->v_dim;
    attention.scoring = desc->scoring;
    attention.scale = desc->scale;
    attention.softcap = desc->softcap;
    attention.dropout = desc->dropout;
    attention.window_left = desc->window_left;
    attention.window_right = desc->window_right;
    attention.q = projected(desc->heads, desc->q_len, desc->qk_dim);
    attention.out = projected(desc->heads, desc->q_len, desc->v_dim);
    if (desc->keys == FOVEA_MHA_PROJECT) {
        attention.k = projected(plan->kv_heads, desc->kv_len, desc->qk_dim);
        attention.v = projected(plan->kv_heads, desc->kv_len, desc->v_dim);
    } else {
        const struct fovea_kv_cache cache = {.struct_size = sizeof cache,
                                             .batch = desc->batch,
                                             .kv_heads = plan->kv_heads,
                                             .capacity = desc->kv_len,
                                             .qk_dim = desc->qk_dim,
                                             .v_dim = desc->v_dim};
        attention.k_layout = FOVEA_K_PANELS;
        FOVEA_REQUIRE(fovea_kv_cache_strides(&cache, &attention.k, &attention.v) == FOVEA_OK, FOVEA_ERR_OVERFLOW, why,
                      "mha: a cache of %zu keys does not fit in memory", desc->kv_len);
    }
    attention.kv_len_kind = desc->kv_len_kind;
    attention.mask = desc->mask;
    attention.mask_batch = desc->mask_batch;
    attention.mask_head = desc->mask_head;
    attention.mask_row = desc->mask_row;
    attention.mask_key = desc->mask_key;
    attention.bias = desc->bias;
    attention.bias_batch = desc->bias_batch;
    attention.bias_head = desc->bias_head;
    attention.bias_row = desc->bias_row;
    attention.bias_key = desc->bias_key;
    const enum fovea_status status = fovea_attention_plan(engine, &attention, &plan->attention);
    if (status && why && why->text)
        fovea_explain_attention(engine, &attention, why->text, why->size);
    return status;
}

// Rotary positions of what is projected for `heads` heads, batch x len rows.
static enum fovea_status plan_rotate(const struct fovea_engine *engine, struct mha_plan *plan, enum mha_part part,
                                     size_t heads, size_t len, const struct fovea_why *why)
{
    const struct fovea_mha_desc *const desc = &plan->desc;
    struct fovea_rowwise_desc rotate = FOVEA_ROWWISE_DESC_INIT;
    rotate.op = FOVEA_ROWWISE_ROTARY;
    rotate.rows = desc->batch * len; // that do not overflow: layout() has seen them
    rotate.heads = heads;
    rotate.cols = rotate.ldx = rotate.ldy = heads * desc->qk_dim;
    rotate.rotary_dim = desc->rotary_dim;
    rotate.rotary_adjacent = desc->rotary_adjacent;
    rotate.rotary_positions = desc->rotary_positions;
    const enum fovea_status status = fovea_rowwise_plan(engine, &rotate, (char *)plan + parts[part].plan);
    if (status && why && why->text)
        fovea_explain_rowwise(engine, &rotate, why->text, why->size);
    return status;
}

// A second pass of attention, of so many tasks.
static enum fovea_status plan_returned(struct mha_plan *plan, const struct fovea_why *why)
{
    const struct fovea_mha_desc *const desc = &plan->desc;
    size_t tasks;
    FOVEA_REQUIRE(fovea_mul(desc->batch, desc->heads, &tasks) &&
                      fovea_mul(tasks, fovea_ceil_div(desc->kv_len, FOVEA_CHUNK), &tasks) && tasks <= UINT32_MAX,
                  FOVEA_ERR_OVERFLOW, why, "mha: returned weights take more tasks than 32 bits count");
    plan->returned = (struct fovea_work){.scratch_bytes = plan->attention.work.scratch_bytes, .phases = 1};
    return FOVEA_OK;
}

// Dropout of the output projection, and the residual behind it.
static enum fovea_status plan_drop(const struct fovea_engine *engine, struct mha_plan *plan,
                                   const struct fovea_why *why)
{
    struct fovea_rowwise_desc drop = FOVEA_ROWWISE_DESC_INIT;
    drop.op = plan->desc.residual ? FOVEA_ROWWISE_DROPOUT_ADD : FOVEA_ROWWISE_DROPOUT;
    drop.cols = drop.ldx = drop.ldx2 = drop.ldy = plan->desc.out_width;
    drop.dropout = plan->desc.out_dropout;
    FOVEA_REQUIRE(fovea_mul(plan->desc.batch, plan->desc.q_len, &drop.rows), FOVEA_ERR_OVERFLOW, why,
                  "mha: batch x length overflows");
    const enum fovea_status status = fovea_rowwise_plan(engine, &drop, &plan->drop);
    if (status && why && why->text)
        fovea_explain_rowwise(engine, &drop, why->text, why->size);
    return status;
}

// Appends a stage of `count` parts, which stand one behind another in enum mha_part.
static enum fovea_status stage(struct mha_plan *plan, enum mha_part first, uint32_t count)
{
    const struct fovea_operator *ops[FOVEA_JOBS_MAX];
    size_t plans[FOVEA_JOBS_MAX];
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t part = (uint32_t)first + i;
        plan->part_of[plan->composite.parts + i] = (uint8_t)part;
        ops[i] = parts[part].op;
        plans[i] = parts[part].plan;
    }
    return fovea_composite_stage(&plan->composite, count, ops, plans);
}

enum fovea_status fovea_mha_plan_why(const struct fovea_engine *engine, const struct fovea_mha_desc *desc, void *out,
                                     const struct fovea_why *why)
{
    FOVEA_REQUIRE(engine && out, FOVEA_ERR_NULL, why, "mha: engine or plan is NULL");
    FOVEA_TRY(check_desc(desc, why));
    struct mha_plan *const plan = out;
    size_t own;
    plan->desc = *desc;
    plan->kv_heads = desc->kv_heads != 0 ? desc->kv_heads : desc->heads;
    FOVEA_TRY(layout(plan, &own, why));
    const size_t len = projected_len(desc);
    FOVEA_TRY(plan_attention(engine, plan, why));
    FOVEA_TRY(plan_linear(engine, plan, MHA_Q, desc->q_len, desc->query_width, desc->heads * desc->qk_dim, why));
    if (desc->keys != FOVEA_MHA_CACHED) {
        FOVEA_TRY(plan_linear(engine, plan, MHA_K, len, desc->key_width, plan->kv_heads * desc->qk_dim, why));
        FOVEA_TRY(plan_linear(engine, plan, MHA_V, len, desc->value_width, plan->kv_heads * desc->v_dim, why));
    }
    FOVEA_TRY(plan_linear(engine, plan, MHA_O, desc->q_len, desc->heads * desc->v_dim, desc->out_width, why));
    if (desc->out_dropout != 0)
        FOVEA_TRY(plan_drop(engine, plan, why));
    if (desc->need_weights)
        FOVEA_TRY(plan_returned(plan, why));
    if (desc->rotary_dim) {
        FOVEA_TRY(plan_rotate(engine, plan, MHA_ROTATE_Q, desc->heads, desc->q_len, why));
        FOVEA_TRY(plan_rotate(engine, plan, MHA_ROTATE_K, plan->kv_heads, len, why));
    }
    plan->append.work = (struct fovea_work){.phases = 1};
    plan->append.kernels = fovea_engine_kernels(engine);

    const bool projects = desc->keys != FOVEA_MHA_CACHED, turns = desc->rotary_dim != 0;
    const struct {
        enum mha_part first;
        uint32_t count; // 0: there is no such stage
    } stages[] = {
        {MHA_Q, projects ? 3 : 1},
        {MHA_ROTATE_Q, turns ? 1 + projects : 0},
        {MHA_APPEND_KV, desc->keys == FOVEA_MHA_APPEND},
        {MHA_ATTENTION, 1},
        {MHA_WEIGHTS, desc->need_weights},
        {MHA_O, 1},
        {MHA_DROP, desc->out_dropout != 0},
    };
    fovea_composite_begin(&plan->composite, FOVEA_PLAN_MHA, fovea_mha_part_args, own);
    for (size_t i = 0; i < sizeof stages / sizeof *stages; i++)
        FOVEA_TRY(stages[i].count != 0 ? stage(plan, stages[i].first, stages[i].count) : FOVEA_OK);
    return FOVEA_OK;
}

enum fovea_status fovea_mha_plan(const struct fovea_engine *engine, const struct fovea_mha_desc *desc, void *plan)
{
    FOVEA_CHECK(plan, FOVEA_ERR_NULL);
    FOVEA_CHECK(fovea_aligned(plan), FOVEA_ERR_ALIGN);
    struct mha_plan made; // so that a failure writes nothing
    FOVEA_TRY(fovea_mha_plan_why(engine, desc, &made, NULL));
    *(struct mha_plan *)plan = made;
    return FOVEA_OK;
}

enum fovea_status fovea_explain_mha(const struct fovea_engine *engine, const struct fovea_mha_desc *desc, char *text,
                                    size_t text_size)
{
    static const char *const names[] = {"projected", "appended to a cache", "from a cache"};
    const struct fovea_why why = {text, text_size};
    struct mha_plan plan;
    FOVEA_TRY(fovea_mha_plan_why(engine, desc, &plan, &why));
    const struct fovea_work *const work = &plan.composite.work;
    fovea_say(&why,
              "mha: batch %zu, %zu heads on %zu, q %zu x kv %zu, d %zu/%zu, %s%skeys %s, %u phases, shared %zu B, "
              "scratch %zu B",
              desc->batch, desc->heads, plan.kv_heads, desc->q_len, desc->kv_len, desc->qk_dim, desc->v_dim,
              desc->scoring == FOVEA_SCORING_ADDITIVE ? "additive, " : "", desc->rotary_dim != 0 ? "rotary, " : "",
              names[desc->keys], work->phases, work->shared_bytes, work->scratch_bytes);
    return FOVEA_OK;
}
