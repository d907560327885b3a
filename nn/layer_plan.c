// SPDX-License-Identifier: Apache-2.0
// nn/layer_plan.c - plans an encoder or decoder layer: its steps as data, its parts, its memory.
#include "nn/layer.h"
#include "ops/pack.h"

#include <stddef.h>
#include <stdio.h>

// A decoder layer's steps without dropout; a layer without cross-attention leaves out those of it. Attention may write
// where its queries and keys are, as nobody reads them again.
enum { STEPS_MAX = 13 };
static const struct {
    int count;
    struct layer_step step[STEPS_MAX];
} orders[] = {
    [FOVEA_NORM_POST] = {7,
                         {{LAYER_SELF, LAYER_X, LAYER_T, LAYER_X},
                          {LAYER_NORM1, LAYER_T, LAYER_Y, LAYER_X},
                          {LAYER_CROSS, LAYER_Y, LAYER_T, LAYER_Y},
                          {LAYER_NORM2, LAYER_T, LAYER_Y, LAYER_X},
                          {LAYER_UP, LAYER_Y, LAYER_H, LAYER_X},
                          {LAYER_DOWN, LAYER_H, LAYER_T, LAYER_Y},
                          {LAYER_NORM3, LAYER_T, LAYER_Y, LAYER_X}}},
    [FOVEA_NORM_PRE] = {7,
                        {{LAYER_NORM1, LAYER_X, LAYER_T, LAYER_X},
                         {LAYER_SELF, LAYER_T, LAYER_Y, LAYER_X},
                         {LAYER_NORM2, LAYER_Y, LAYER_T, LAYER_X},
                         {LAYER_CROSS, LAYER_T, LAYER_Y, LAYER_Y},
                         {LAYER_NORM3, LAYER_Y, LAYER_T, LAYER_X},
                         {LAYER_UP, LAYER_T, LAYER_H, LAYER_X},
                         {LAYER_DOWN, LAYER_H, LAYER_Y, LAYER_Y}}},
    [FOVEA_NORM_SANDWICH] = {13,
                             {{LAYER_NORM1, LAYER_X, LAYER_T, LAYER_X},
                              {LAYER_SELF, LAYER_T, LAYER_T, LAYER_X},
                              {LAYER_NORM1_OUT, LAYER_T, LAYER_T, LAYER_X},
                              {LAYER_ADD1, LAYER_T, LAYER_Y, LAYER_X},
                              {LAYER_NORM2, LAYER_Y, LAYER_T, LAYER_X},
                              {LAYER_CROSS, LAYER_T, LAYER_T, LAYER_X},
                              {LAYER_NORM2_OUT, LAYER_T, LAYER_T, LAYER_X},
                              {LAYER_ADD2, LAYER_T, LAYER_Y, LAYER_Y},
                              {LAYER_NORM3, LAYER_Y, LAYER_T, LAYER_X},
                              {LAYER_UP, LAYER_T, LAYER_H, LAYER_X},
                              {LAYER_DOWN, LAYER_H, LAYER_T, LAYER_X},
                              {LAYER_NORM3_OUT, LAYER_T, LAYER_T, LAYER_X},
                              {LAYER_ADD3, LAYER_T, LAYER_Y, LAYER_Y}}},
};

static bool of_cross(enum layer_part part)
{
    return part == LAYER_CROSS || part == LAYER_NORM2 || part == LAYER_NORM2_OUT || part == LAYER_ADD2;
}

size_t fovea_layer_plan_size(void)
{
    return fovea_round_up(sizeof(struct layer_plan), FOVEA_ALIGNMENT);
}

static enum fovea_status plan_attention(const struct fovea_part_of *layer, const struct fovea_layer_desc *desc,
                                        bool cross, struct mha_plan *plan)
{
    char whole[80];
    snprintf(whole, sizeof whole, "%s: %s", layer->whole, cross ? "cross_attention" : "self_attention");
    const struct fovea_part_of of = {layer->engine, whole, layer->why};
    struct fovea_mha_desc mha;
    FOVEA_TRY(fovea_mha_desc_init(&mha, sizeof mha));
    mha.keys = !desc->cached ? FOVEA_MHA_PROJECT : cross ? FOVEA_MHA_CACHED : FOVEA_MHA_APPEND;
    // Beams that share a memory are rows of one cross-attention: (batch, len) is (batch / beams, beams * len).
    mha.batch = cross ? desc->batch / desc->beams : desc->batch;
    mha.heads = desc->heads;
    mha.kv_heads = desc->kv_heads;
    mha.new_len = mha.keys == FOVEA_MHA_APPEND ? desc->len : 0;
    mha.page_keys = cross ? 0 : desc->page_keys;
    mha.rows = cross && !desc->cached ? 0 : desc->rows; // the keys of a memory are no rows of x
    FOVEA_REQUIRE(fovea_mul(desc->len, cross ? desc->beams : 1, &mha.q_len) && mha.q_len <= UINT32_MAX,
                  FOVEA_ERR_OVERFLOW, of.why, "%s: len %zu x beams %zu overflow", of.whole, desc->len, desc->beams);
    mha.kv_len = cross ? desc->memory_len : desc->cached ? desc->kv_len : desc->len;
    mha.qk_dim = desc->qk_dim;
    mha.v_dim = desc->v_dim;
    mha.weight_type = desc->weight_type;
    mha.kv_type = desc->kv_type;
    mha.query_width = mha.out_width = desc->width;
    mha.key_width = mha.value_width = cross && desc->memory_width ? desc->memory_width : desc->width;
    mha.causal = fovea_layer_is_causal(desc) && !cross;
    mha.kv_len_kind = mha.causal ? FOVEA_KV_LEN_ALL : FOVEA_KV_LEN_BATCH;
    if (!cross) {
        mha.window_left = desc->window_left;
        mha.window_right = desc->window_right;
        mha.softcap = desc->softcap;
        mha.scale = desc->scale;
        mha.qk_norm = desc->qk_norm;
        mha.qk_norm_eps = desc->eps;
    }
    mha.rotary_dim = cross ? 0 : desc->rotary_dim;
    mha.rotary_adjacent = desc->rotary_adjacent;
    mha.rotary_positions = desc->rotary_positions;
    mha.dropout = desc->dropout;
    if (desc->norm != FOVEA_NORM_SANDWICH) { // which adds and drops behind another norm
        mha.residual = 1;
        mha.out_dropout = desc->dropout;
    }
    return fovea_mha_make(&of, &mha, cross ? &fovea_layer_cross_words : &fovea_layer_self_words, plan);
}

static enum fovea_status plan_ffn(const struct fovea_part_of *of, const struct fovea_layer_desc *desc, size_t rows,
                                  struct layer_plan *plan)
{
    struct fovea_gemm_desc up = FOVEA_GEMM_DESC_INIT, down = FOVEA_GEMM_DESC_INIT;
    up.b_packed = down.b_packed = 1;
    up.b_type = down.b_type = desc->weight_type;
    up.m = down.m = rows;
    up.k = up.lda = down.n = down.ldc = down.ldr = desc->width;
    up.ldc = down.k = down.lda = desc->ffn;
    FOVEA_REQUIRE(fovea_mul(desc->ffn, desc->gated ? 2 : 1, &up.n), FOVEA_ERR_OVERFLOW, of->why,
                  "%s: a gated ffn of %zu overflows", of->whole, desc->ffn);
    up.activation = desc->activation;
    up.gated = desc->gated;
    down.residual = desc->dropout == 0 && desc->norm != FOVEA_NORM_SANDWICH;
    FOVEA_TRY(fovea_part_gemm(of, "up: ", &up, &plan->up));
    return fovea_part_gemm(of, "down: ", &down, &plan->down);
}

static enum fovea_status plan_drop(const struct fovea_part_of *of, const struct fovea_layer_desc *desc, size_t rows,
                                   enum fovea_rowwise_op op, size_t width, struct fovea_rowwise_layout *plan)
{
    struct fovea_rowwise_desc drop = FOVEA_ROWWISE_DESC_INIT;
    drop.op = op;
    drop.rows = rows;
    drop.cols = drop.ldx = drop.ldx2 = drop.ldy = width;
    drop.dropout = desc->dropout;
    return fovea_part_rowwise(of, "dropout: ", &drop, plan);
}

static enum fovea_status plan_norm(const struct fovea_part_of *of, const struct fovea_layer_desc *desc, size_t rows,
                                   struct fovea_rowwise_layout *plan)
{
    struct fovea_rowwise_desc norm = FOVEA_ROWWISE_DESC_INIT;
    norm.op = desc->norm_kind == FOVEA_NORM_RMS ? FOVEA_ROWWISE_RMSNORM : FOVEA_ROWWISE_LAYERNORM;
    norm.rows = rows;
    norm.cols = norm.ldx = norm.ldx2 = norm.ldy = desc->width;
    norm.eps = desc->eps;
    return fovea_part_rowwise(of, "norm: ", &norm, plan);
}

// The operator and the plan of each part.
static const struct {
    const struct fovea_operator *op;
    size_t plan;
} parts[LAYER_PARTS] = {
    [LAYER_SELF] = {&fovea_composite_operator, offsetof(struct layer_plan, self)},
    [LAYER_CROSS] = {&fovea_composite_operator, offsetof(struct layer_plan, cross)},
    [LAYER_NORM1] = {&fovea_rowwise_operator, offsetof(struct layer_plan, norm)},
    [LAYER_NORM2] = {&fovea_rowwise_operator, offsetof(struct layer_plan, norm)},
    [LAYER_NORM3] = {&fovea_rowwise_operator, offsetof(struct layer_plan, norm)},
    [LAYER_NORM1_OUT] = {&fovea_rowwise_operator, offsetof(struct layer_plan, norm)},
    [LAYER_NORM2_OUT] = {&fovea_rowwise_operator, offsetof(struct layer_plan, norm)},
    [LAYER_NORM3_OUT] = {&fovea_rowwise_operator, offsetof(struct layer_plan, norm)},
    [LAYER_UP] = {&fovea_gemm_operator, offsetof(struct layer_plan, up)},
    [LAYER_DOWN] = {&fovea_gemm_operator, offsetof(struct layer_plan, down)},
    [LAYER_DROP_UP] = {&fovea_rowwise_operator, offsetof(struct layer_plan, drop_up)},
    [LAYER_ADD1] = {&fovea_rowwise_operator, offsetof(struct layer_plan, add)},
    [LAYER_ADD2] = {&fovea_rowwise_operator, offsetof(struct layer_plan, add)},
    [LAYER_ADD3] = {&fovea_rowwise_operator, offsetof(struct layer_plan, add)},
};

static enum fovea_status add_step(const struct fovea_part_of *of, struct layer_plan *plan, struct layer_step step)
{
    plan->step[plan->composite.parts] = step;
    FOVEA_REQUIRE(!fovea_composite_stage(&plan->composite, 1, &parts[step.part].op, &parts[step.part].plan),
                  FOVEA_ERR_OVERFLOW, of->why, "%s: shared memory overflows", of->whole);
    return FOVEA_OK;
}

// Adds a step of the FFN and its dropout. What comes down goes by way of T, which holds nothing else then.
static enum fovea_status add_dropped(const struct fovea_part_of *of, struct layer_plan *plan, struct layer_step step)
{
    if (step.part == LAYER_UP) {
        FOVEA_TRY(add_step(of, plan, step));
        return add_step(of, plan, (struct layer_step){LAYER_DROP_UP, LAYER_H, LAYER_H, LAYER_X});
    }
    FOVEA_TRY(add_step(of, plan, (struct layer_step){LAYER_DOWN, step.in, LAYER_T, LAYER_X}));
    return add_step(of, plan, (struct layer_step){LAYER_ADD3, LAYER_T, step.out, step.residual});
}

enum fovea_status fovea_layer_make(const struct fovea_part_of *of, const struct fovea_layer_desc *desc,
                                   struct layer_plan *plan)
{
    FOVEA_REQUIRE(of->engine, FOVEA_ERR_NULL, of->why, "%s: engine is NULL", of->whole);
    FOVEA_TRY(fovea_layer_desc_check(desc, of->whole, of->why));
    plan->desc = *desc;
    const size_t rows = fovea_most_rows(desc->batch, desc->len, desc->rows);
    size_t t_bytes, h_bytes, own;
    FOVEA_REQUIRE(fovea_extent(rows, desc->width, desc->width, &t_bytes) &&
                      fovea_extent(rows, desc->ffn, desc->ffn, &h_bytes) && fovea_add(t_bytes, h_bytes, &own) &&
                      fovea_add(own, 2 * FOVEA_ALIGNMENT, &own),
                  FOVEA_ERR_OVERFLOW, of->why, "%s: an activation's size overflows", of->whole);
    plan->t = 0;
    plan->h = fovea_round_up(t_bytes, FOVEA_ALIGNMENT);

    FOVEA_TRY(plan_attention(of, desc, false, &plan->self));
    if (desc->decoder)
        FOVEA_TRY(plan_attention(of, desc, true, &plan->cross));
    FOVEA_TRY(plan_norm(of, desc, rows, &plan->norm));
    FOVEA_TRY(plan_ffn(of, desc, rows, plan));
    FOVEA_TRY(plan_drop(of, desc, rows, FOVEA_ROWWISE_DROPOUT, desc->ffn, &plan->drop_up));
    FOVEA_TRY(plan_drop(of, desc, rows, FOVEA_ROWWISE_DROPOUT_ADD, desc->width, &plan->add));

    fovea_composite_begin(&plan->composite, FOVEA_PLAN_LAYER, fovea_layer_part_args, own);
    for (int i = 0; i < orders[desc->norm].count; i++) {
        const struct layer_step *const step = &orders[desc->norm].step[i];
        if (!desc->decoder && of_cross(step->part))
            continue;
        const bool drops_down = step->part == LAYER_DOWN && desc->norm != FOVEA_NORM_SANDWICH;
        const bool dropped = desc->dropout != 0 && (step->part == LAYER_UP || drops_down);
        FOVEA_TRY(dropped ? add_dropped(of, plan, *step) : add_step(of, plan, *step));
    }
    return FOVEA_OK;
}

enum fovea_status fovea_layer_plan(const struct fovea_engine *engine, const struct fovea_layer_desc *desc, void *plan)
{
    FOVEA_CHECK(plan, FOVEA_ERR_NULL);
    FOVEA_CHECK(fovea_aligned(plan), FOVEA_ERR_ALIGN);
    struct layer_plan made; // so that a failure writes nothing
    FOVEA_TRY(fovea_layer_make(&(struct fovea_part_of){engine, "layer", NULL}, desc, &made));
    *(struct layer_plan *)plan = made;
    return FOVEA_OK;
}
