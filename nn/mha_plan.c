// SPDX-License-Identifier: Apache-2.0
// nn/mha_plan.c - plans multi-head attention: lays out memory, plans the four projections and attention.
#include "nn/mha.h"
#include "ops/kv_cache.h"
#include "ops/pack.h"

#include <stddef.h>

// The operator and the plan of each part.
static const struct {
    const struct fovea_operator *op;
    size_t plan;
} parts[MHA_PARTS] = {
    [MHA_Q] = {&fovea_gemm_operator, offsetof(struct mha_plan, projection[0])},
    [MHA_K] = {&fovea_gemm_operator, offsetof(struct mha_plan, projection[1])},
    [MHA_V] = {&fovea_gemm_operator, offsetof(struct mha_plan, projection[2])},
    [MHA_NORM_Q] = {&fovea_rowwise_operator, offsetof(struct mha_plan, norm[0])},
    [MHA_NORM_K] = {&fovea_rowwise_operator, offsetof(struct mha_plan, norm[1])},
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

// The most rows of a call whose sequences have at most `len` each.
static enum fovea_status most_rows(const struct fovea_part_of *of, const struct fovea_mha_desc *desc, const char *name,
                                   size_t len, size_t *rows)
{
    *rows = fovea_most_rows(desc->batch, len, desc->rows);
    FOVEA_REQUIRE(*rows != SIZE_MAX, FOVEA_ERR_OVERFLOW, of->why, "%s: batch %zu x %s %zu overflow", of->whole,
                  desc->batch, name, len);
    return FOVEA_OK;
}

// Bytes of rows x width floats, as whole cache lines.
static bool activation_bytes(size_t rows, size_t width, size_t *bytes)
{
    size_t n = rows;
    if (!fovea_mul(n, width, &n) || !fovea_mul(n, sizeof(float), &n) || !fovea_add(n, FOVEA_ALIGNMENT, bytes)) {
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

static enum fovea_status layout(const struct fovea_part_of *of, const struct mha_words *words, struct mha_plan *plan,
                                size_t *bytes)
{
    const struct fovea_mha_desc *const desc = &plan->desc;
    const char *const news = desc->keys == FOVEA_MHA_APPEND ? words->new_len : words->capacity;
    FOVEA_TRY(most_rows(of, desc, words->q_len, desc->q_len, &plan->q_rows));
    FOVEA_TRY(most_rows(of, desc, news, projected_len(desc), &plan->kv_rows));
    const struct {
        size_t *at, rows, heads, dim;
    } activations[] = {{&plan->q, plan->q_rows, desc->heads, desc->qk_dim},
                       {&plan->k, plan->kv_rows, plan->kv_heads, desc->qk_dim},
                       {&plan->v, plan->kv_rows, plan->kv_heads, desc->v_dim},
                       {&plan->o, plan->q_rows, desc->heads, desc->v_dim},
                       {&plan->y, desc->out_dropout != 0 ? plan->q_rows : 0, 1, desc->out_width},
                       {&plan->lse, desc->need_weights ? plan->q_rows : 0, desc->heads, 1}};
    *bytes = 0;
    for (size_t i = 0; i < FOVEA_COUNT(activations); i++) {
        size_t width, own;
        *activations[i].at = *bytes;
        FOVEA_REQUIRE(fovea_mul(activations[i].heads, activations[i].dim, &width) &&
                          activation_bytes(activations[i].rows, width, &own) && fovea_add(*bytes, own, bytes),
                      FOVEA_ERR_OVERFLOW, of->why, "%s: an activation's size overflows", of->whole);
    }
    return FOVEA_OK;
}

static enum fovea_status plan_linear(const struct fovea_part_of *of, struct mha_plan *plan, enum mha_part part,
                                     size_t rows, size_t inputs, size_t outputs)
{
    static const char *const names[MHA_PARTS] = {[MHA_Q] = "q: ", [MHA_K] = "k: ", [MHA_V] = "v: ", [MHA_O] = "o: "};
    struct fovea_gemm_desc gemm = FOVEA_GEMM_DESC_INIT;
    gemm.b_packed = 1;
    gemm.b_type = plan->desc.weight_type;
    gemm.m = rows;
    gemm.k = gemm.lda = inputs;
    gemm.n = gemm.ldc = gemm.ldr = outputs;
    gemm.residual = part == MHA_O && plan->desc.residual && plan->desc.out_dropout == 0;
    return fovea_part_gemm(of, names[part], &gemm, (void *)((char *)plan + parts[part].plan));
}

// Strides of a view (L, heads, dim) that a projection writes.
static struct fovea_strides projected(size_t heads, size_t len, size_t dim)
{
    return (struct fovea_strides){len * heads * dim, dim, heads * dim};
}

static enum fovea_status plan_attention(const struct fovea_part_of *of, const struct mha_words *words,
                                        struct mha_plan *plan)
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
    attention.rows = desc->rows;
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
                                             .v_dim = desc->v_dim,
                                             .type = desc->kv_type};
        const struct fovea_kv_pages pool = {.struct_size = sizeof pool,
                                            .page_keys = (uint32_t)desc->page_keys,
                                            .pages = 1,
                                            .kv_heads = plan->kv_heads,
                                            .qk_dim = desc->qk_dim,
                                            .v_dim = desc->v_dim,
                                            .type = desc->kv_type};
        attention.k_layout = FOVEA_K_PANELS;
        attention.kv_type = desc->kv_type;
        attention.page_keys = desc->page_keys;
        FOVEA_REQUIRE((desc->page_keys != 0 ? fovea_kv_pages_strides(&pool, &attention.k, &attention.v)
                                            : fovea_kv_cache_strides(&cache, &attention.k, &attention.v)) == FOVEA_OK,
                      FOVEA_ERR_OVERFLOW, of->why, "%s: a cache of %s %zu does not fit in memory", of->whole,
                      words->capacity, desc->kv_len);
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
    return fovea_part_attention(of, &attention, &plan->attention);
}

// Norms of what is projected for `heads` heads, each of which is a row of the operator.
static enum fovea_status plan_norm(const struct fovea_part_of *of, struct mha_plan *plan, enum mha_part part,
                                   size_t heads, size_t rows)
{
    struct fovea_rowwise_desc norm = FOVEA_ROWWISE_DESC_INIT;
    norm.op = FOVEA_ROWWISE_RMSNORM;
    norm.rows = rows * heads; // fits, as so many activations do
    norm.cols = norm.ldx = norm.ldy = plan->desc.qk_dim;
    norm.eps = plan->desc.qk_norm_eps;
    return fovea_part_rowwise(of, "qk_norm: ", &norm, (void *)((char *)plan + parts[part].plan));
}

// Rotary positions of what is projected for `heads` heads.
static enum fovea_status plan_rotate(const struct fovea_part_of *of, struct mha_plan *plan, enum mha_part part,
                                     size_t heads, size_t rows)
{
    const struct fovea_mha_desc *const desc = &plan->desc;
    struct fovea_rowwise_desc rotate = FOVEA_ROWWISE_DESC_INIT;
    rotate.op = FOVEA_ROWWISE_ROTARY;
    rotate.rows = rows;
    rotate.heads = heads;
    rotate.cols = rotate.ldx = rotate.ldy = heads * desc->qk_dim;
    rotate.rotary_dim = desc->rotary_dim;
    rotate.rotary_adjacent = desc->rotary_adjacent;
    rotate.rotary_positions = desc->rotary_positions;
    return fovea_part_rowwise(of, "rotary positions: ", &rotate, (void *)((char *)plan + parts[part].plan));
}

// A second pass of attention, of so many tasks.
static enum fovea_status plan_returned(const struct fovea_part_of *of, struct mha_plan *plan)
{
    const struct fovea_mha_desc *const desc = &plan->desc;
    size_t tasks;
    FOVEA_REQUIRE(fovea_mul(desc->batch, desc->heads, &tasks) &&
                      fovea_mul(tasks, fovea_ceil_div(desc->kv_len, FOVEA_CHUNK), &tasks) && tasks <= UINT32_MAX,
                  FOVEA_ERR_OVERFLOW, of->why,
                  "%s: need_weights: batch, heads and kv_len make more tasks than 32 bits count", of->whole);
    plan->returned = (struct fovea_work){.scratch_bytes = plan->attention.work.scratch_bytes, .phases = 1};
    return FOVEA_OK;
}

// Dropout of the output projection, and the residual behind it.
static enum fovea_status plan_drop(const struct fovea_part_of *of, struct mha_plan *plan)
{
    struct fovea_rowwise_desc drop = FOVEA_ROWWISE_DESC_INIT;
    drop.op = plan->desc.residual ? FOVEA_ROWWISE_DROPOUT_ADD : FOVEA_ROWWISE_DROPOUT;
    drop.cols = drop.ldx = drop.ldx2 = drop.ldy = plan->desc.out_width;
    drop.dropout = plan->desc.out_dropout;
    drop.rows = plan->q_rows;
    return fovea_part_rowwise(of, "dropout: ", &drop, &plan->drop);
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

enum fovea_status fovea_mha_make(const struct fovea_part_of *of, const struct fovea_mha_desc *desc,
                                 const struct mha_words *words, struct mha_plan *plan)
{
    FOVEA_REQUIRE(of->engine, FOVEA_ERR_NULL, of->why, "%s: engine is NULL", of->whole);
    FOVEA_TRY(fovea_mha_desc_check(desc, of->whole, of->why));
    size_t own;
    plan->desc = *desc;
    plan->kv_heads = desc->kv_heads != 0 ? desc->kv_heads : desc->heads;
    FOVEA_TRY(layout(of, words, plan, &own));
    FOVEA_TRY(plan_attention(of, words, plan));
    FOVEA_TRY(plan_linear(of, plan, MHA_Q, plan->q_rows, desc->query_width, desc->heads * desc->qk_dim));
    if (desc->keys != FOVEA_MHA_CACHED) {
        FOVEA_TRY(plan_linear(of, plan, MHA_K, plan->kv_rows, desc->key_width, plan->kv_heads * desc->qk_dim));
        FOVEA_TRY(plan_linear(of, plan, MHA_V, plan->kv_rows, desc->value_width, plan->kv_heads * desc->v_dim));
    }
    FOVEA_TRY(plan_linear(of, plan, MHA_O, plan->q_rows, desc->heads * desc->v_dim, desc->out_width));
    if (desc->out_dropout != 0)
        FOVEA_TRY(plan_drop(of, plan));
    if (desc->need_weights)
        FOVEA_TRY(plan_returned(of, plan));
    if (desc->qk_norm) {
        FOVEA_TRY(plan_norm(of, plan, MHA_NORM_Q, desc->heads, plan->q_rows));
        FOVEA_TRY(plan_norm(of, plan, MHA_NORM_K, plan->kv_heads, plan->kv_rows));
    }
    if (desc->rotary_dim) {
        FOVEA_TRY(plan_rotate(of, plan, MHA_ROTATE_Q, desc->heads, plan->q_rows));
        FOVEA_TRY(plan_rotate(of, plan, MHA_ROTATE_K, plan->kv_heads, plan->kv_rows));
    }
    FOVEA_REQUIRE(desc->keys != FOVEA_MHA_APPEND || fovea_kv_tasks_fit(desc->batch, desc->new_len), FOVEA_ERR_OVERFLOW,
                  of->why, "%s: batch and %s make more tasks than 32 bits count", of->whole, words->new_len);
    plan->append.work = (struct fovea_work){.phases = 1};
    plan->append.engine = of->engine;

    const bool projects = desc->keys != FOVEA_MHA_CACHED, turns = desc->rotary_dim != 0;
    const struct {
        enum mha_part first;
        uint32_t count; // 0: there is no such stage
    } stages[] = {
        {MHA_Q, projects ? 3 : 1},
        {MHA_NORM_Q, desc->qk_norm ? 1 + projects : 0},
        {MHA_ROTATE_Q, turns ? 1 + projects : 0},
        {MHA_APPEND_KV, desc->keys == FOVEA_MHA_APPEND},
        {MHA_ATTENTION, 1},
        {MHA_WEIGHTS, desc->need_weights},
        {MHA_O, 1},
        {MHA_DROP, desc->out_dropout != 0},
    };
    fovea_composite_begin(&plan->composite, FOVEA_PLAN_MHA, fovea_mha_part_args, own);
    for (size_t i = 0; i < FOVEA_COUNT(stages); i++)
        FOVEA_TRY(stages[i].count != 0 ? stage(plan, stages[i].first, stages[i].count) : FOVEA_OK);
    return FOVEA_OK;
}

enum fovea_status fovea_mha_plan(const struct fovea_engine *engine, const struct fovea_mha_desc *desc, void *plan)
{
    FOVEA_CHECK(plan, FOVEA_ERR_NULL);
    FOVEA_CHECK(fovea_aligned(plan), FOVEA_ERR_ALIGN);
    struct mha_plan made; // so that a failure writes nothing
    FOVEA_TRY(fovea_mha_make(&(struct fovea_part_of){engine, "mha", NULL}, desc, &fovea_mha_words, &made));
    *(struct mha_plan *)plan = made;
    return FOVEA_OK;
}
