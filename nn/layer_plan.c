// SPDX-License-Identifier: Apache-2.0
// nn/layer_plan.c - plans an encoder or decoder layer: its steps as data, its parts, its memory.
#include "nn/layer.h"

#include <math.h>
#include <stddef.h>

// A decoder layer's steps without dropout; an encoder layer leaves out LAYER_CROSS and LAYER_NORM2.
enum { STEPS = 7 };
static const struct layer_step steps[2][STEPS] = {
    [FOVEA_NORM_POST] = {{LAYER_SELF, LAYER_X, LAYER_T, LAYER_X},
                         {LAYER_NORM1, LAYER_T, LAYER_Y, LAYER_X},
                         {LAYER_CROSS, LAYER_Y, LAYER_T, LAYER_Y},
                         {LAYER_NORM2, LAYER_T, LAYER_Y, LAYER_X},
                         {LAYER_UP, LAYER_Y, LAYER_H, LAYER_X},
                         {LAYER_DOWN, LAYER_H, LAYER_T, LAYER_Y},
                         {LAYER_NORM3, LAYER_T, LAYER_Y, LAYER_X}},
    [FOVEA_NORM_PRE] = {{LAYER_NORM1, LAYER_X, LAYER_T, LAYER_X},
                        {LAYER_SELF, LAYER_T, LAYER_Y, LAYER_X},
                        {LAYER_NORM2, LAYER_Y, LAYER_T, LAYER_X},
                        {LAYER_CROSS, LAYER_T, LAYER_Y, LAYER_Y},
                        {LAYER_NORM3, LAYER_Y, LAYER_T, LAYER_X},
                        {LAYER_UP, LAYER_T, LAYER_H, LAYER_X},
                        {LAYER_DOWN, LAYER_H, LAYER_Y, LAYER_Y}},
};

size_t fovea_layer_plan_size(void)
{
    return fovea_round_up(sizeof(struct layer_plan), FOVEA_ALIGNMENT);
}

enum fovea_status fovea_layer_desc_init(struct fovea_layer_desc *desc, size_t size)
{
    FOVEA_CHECK(desc, FOVEA_ERR_NULL);
    FOVEA_CHECK(size == sizeof *desc, FOVEA_ERR_STRUCT);
    *desc = (struct fovea_layer_desc){.struct_size = sizeof *desc, .eps = 1e-5f, .beams = 1};
    return FOVEA_OK;
}

static bool is_causal(const struct fovea_layer_desc *desc)
{
    return desc->decoder || desc->causal;
}

static enum fovea_status check_desc(const struct fovea_layer_desc *desc, const struct fovea_why *why)
{
    FOVEA_REQUIRE(desc, FOVEA_ERR_NULL, why, "layer: no descriptor");
    FOVEA_REQUIRE(desc->struct_size == sizeof *desc, FOVEA_ERR_STRUCT, why, "layer: struct_size %u is not %zu",
                  desc->struct_size, sizeof *desc);
    FOVEA_REQUIRE(desc->decoder <= 1 && desc->causal <= 1 && desc->cached <= 1, FOVEA_ERR_ENUM, why,
                  "layer: decoder, causal and cached are 0 or 1");
    FOVEA_REQUIRE((unsigned)desc->norm <= FOVEA_NORM_PRE, FOVEA_ERR_ENUM, why, "layer: norm is %u, neither 0 nor 1",
                  (unsigned)desc->norm);
    FOVEA_REQUIRE((unsigned)desc->norm_kind <= FOVEA_NORM_RMS, FOVEA_ERR_ENUM, why,
                  "layer: norm_kind is %u, neither 0 nor 1", (unsigned)desc->norm_kind);
    FOVEA_REQUIRE(desc->gated <= 1, FOVEA_ERR_ENUM, why, "layer: gated is %u, neither 0 nor 1", desc->gated);
    FOVEA_REQUIRE(!desc->decoder || !desc->causal, FOVEA_ERR_VALUE, why,
                  "layer: a decoder is causal by itself: causal is for a layer without cross-attention");
    FOVEA_REQUIRE(!desc->cached || is_causal(desc), FOVEA_ERR_SHAPE, why,
                  "layer: only a decoder or a causal layer has caches");
    FOVEA_REQUIRE(desc->beams && desc->batch % desc->beams == 0, FOVEA_ERR_SHAPE, why,
                  "layer: %zu beams do not divide a batch of %zu", desc->beams, desc->batch);
    FOVEA_REQUIRE(desc->width && desc->ffn, FOVEA_ERR_SHAPE, why, "layer: width or ffn is 0");
    return FOVEA_OK;
}

static enum fovea_status plan_attention(const struct fovea_engine *engine, const struct fovea_layer_desc *desc,
                                        int cross, struct mha_plan *plan, const struct fovea_why *why)
{
    struct fovea_mha_desc mha;
    FOVEA_TRY(fovea_mha_desc_init(&mha, sizeof mha));
    mha.keys = !desc->cached ? FOVEA_MHA_PROJECT : cross ? FOVEA_MHA_CACHED : FOVEA_MHA_APPEND;
    // Beams that share a memory are rows of one cross-attention: (batch, len) is (batch / beams, beams * len).
    mha.batch = cross ? desc->batch / desc->beams : desc->batch;
    mha.heads = desc->heads;
    mha.kv_heads = desc->kv_heads;
    mha.new_len = desc->len;
    FOVEA_REQUIRE(fovea_mul(desc->len, cross ? desc->beams : 1, &mha.q_len), FOVEA_ERR_OVERFLOW, why,
                  "layer: len x beams overflows");
    mha.kv_len = cross ? desc->memory_len : desc->cached ? desc->kv_len : desc->len;
    mha.qk_dim = desc->qk_dim;
    mha.v_dim = desc->v_dim;
    mha.query_width = mha.out_width = desc->width;
    mha.key_width = mha.value_width = cross && desc->memory_width ? desc->memory_width : desc->width;
    mha.causal = is_causal(desc) && !cross;
    mha.kv_len_kind = mha.causal ? FOVEA_KV_LEN_ALL : FOVEA_KV_LEN_BATCH;
    mha.rotary_dim = cross ? 0 : desc->rotary_dim;
    mha.rotary_adjacent = desc->rotary_adjacent;
    mha.rotary_positions = desc->rotary_positions;
    mha.residual = 1;
    mha.dropout = mha.out_dropout = desc->dropout;
    return fovea_mha_plan_why(engine, &mha, plan, why);
}

static enum fovea_status plan_linear(const struct fovea_engine *engine, const struct fovea_gemm_desc *gemm, void *plan,
                                     const struct fovea_why *why)
{
    const enum fovea_status status = fovea_gemm_plan(engine, gemm, plan);
    if (status && why && why->text)
        fovea_explain_gemm(engine, gemm, why->text, why->size);
    return status;
}

static enum fovea_status plan_ffn(const struct fovea_engine *engine, const struct fovea_layer_desc *desc, size_t rows,
                                  struct layer_plan *plan, const struct fovea_why *why)
{
    struct fovea_gemm_desc up = FOVEA_GEMM_DESC_INIT, down = FOVEA_GEMM_DESC_INIT;
    up.b_packed = down.b_packed = 1;
    up.m = down.m = rows;
    up.k = up.lda = down.n = down.ldc = down.ldr = desc->width;
    up.ldc = down.k = down.lda = desc->ffn;
    FOVEA_REQUIRE(fovea_mul(desc->ffn, desc->gated ? 2 : 1, &up.n), FOVEA_ERR_OVERFLOW, why,
                  "layer: the gated FFN's width overflows");
    up.activation = desc->activation;
    up.gated = desc->gated;
    down.residual = desc->dropout == 0;
    FOVEA_TRY(plan_linear(engine, &up, &plan->up, why));
    return plan_linear(engine, &down, &plan->down, why);
}

static enum fovea_status plan_drop(const struct fovea_engine *engine, const struct fovea_layer_desc *desc, size_t rows,
                                   enum fovea_rowwise_op op, size_t width, void *plan, const struct fovea_why *why)
{
    struct fovea_rowwise_desc drop = FOVEA_ROWWISE_DESC_INIT;
    drop.op = op;
    drop.rows = rows;
    drop.cols = drop.ldx = drop.ldx2 = drop.ldy = width;
    drop.dropout = desc->dropout;
    const enum fovea_status status = fovea_rowwise_plan(engine, &drop, plan);
    if (status && why && why->text)
        fovea_explain_rowwise(engine, &drop, why->text, why->size);
    return status;
}

static enum fovea_status plan_norm(const struct fovea_engine *engine, const struct fovea_layer_desc *desc, size_t rows,
                                   void *plan, const struct fovea_why *why)
{
    struct fovea_rowwise_desc norm = FOVEA_ROWWISE_DESC_INIT;
    norm.op = desc->norm_kind == FOVEA_NORM_RMS ? FOVEA_ROWWISE_RMSNORM : FOVEA_ROWWISE_LAYERNORM;
    norm.rows = rows;
    norm.cols = norm.ldx = norm.ldx2 = norm.ldy = desc->width;
    norm.eps = desc->eps;
    const enum fovea_status status = fovea_rowwise_plan(engine, &norm, plan);
    if (status && why && why->text)
        fovea_explain_rowwise(engine, &norm, why->text, why->size);
    return status;
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
    [LAYER_UP] = {&fovea_gemm_operator, offsetof(struct layer_plan, up)},
    [LAYER_DOWN] = {&fovea_gemm_operator, offsetof(struct layer_plan, down)},
    [LAYER_DROP_UP] = {&fovea_rowwise_operator, offsetof(struct layer_plan, drop_up)},
    [LAYER_DROP_DOWN] = {&fovea_rowwise_operator, offsetof(struct layer_plan, drop_down)},
};

static enum fovea_status add_step(struct layer_plan *plan, struct layer_step step, const struct fovea_why *why)
{
    plan->step[plan->composite.parts] = step;
    FOVEA_REQUIRE(!fovea_composite_stage(&plan->composite, 1, &parts[step.part].op, &parts[step.part].plan),
                  FOVEA_ERR_OVERFLOW, why, "layer: shared memory overflows");
    return FOVEA_OK;
}

// Adds a step of the FFN and its dropout. What comes down goes by way of T, which holds nothing else then.
static enum fovea_status add_dropped(struct layer_plan *plan, struct layer_step step, const struct fovea_why *why)
{
    if (step.part == LAYER_UP) {
        FOVEA_TRY(add_step(plan, step, why));
        return add_step(plan, (struct layer_step){LAYER_DROP_UP, LAYER_H, LAYER_H, LAYER_X}, why);
    }
    FOVEA_TRY(add_step(plan, (struct layer_step){LAYER_DOWN, step.in, LAYER_T, LAYER_X}, why));
    return add_step(plan, (struct layer_step){LAYER_DROP_DOWN, LAYER_T, step.out, step.residual}, why);
}

enum fovea_status fovea_layer_plan_why(const struct fovea_engine *engine, const struct fovea_layer_desc *desc,
                                       void *out, const struct fovea_why *why)
{
    FOVEA_REQUIRE(engine && out, FOVEA_ERR_NULL, why, "layer: engine or plan is NULL");
    FOVEA_TRY(check_desc(desc, why));
    struct layer_plan *const plan = out;
    plan->desc = *desc;
    size_t rows, t_bytes, h_bytes, own;
    FOVEA_REQUIRE(fovea_mul(desc->batch, desc->len, &rows) && fovea_extent(rows, desc->width, desc->width, &t_bytes) &&
                      fovea_extent(rows, desc->ffn, desc->ffn, &h_bytes) && fovea_add(t_bytes, h_bytes, &own) &&
                      fovea_add(own, 2 * FOVEA_ALIGNMENT, &own),
                  FOVEA_ERR_OVERFLOW, why, "layer: an activation's size overflows");
    plan->t = 0;
    plan->h = fovea_round_up(t_bytes, FOVEA_ALIGNMENT);

    FOVEA_TRY(plan_attention(engine, desc, 0, &plan->self, why));
    if (desc->decoder)
        FOVEA_TRY(plan_attention(engine, desc, 1, &plan->cross, why));
    FOVEA_TRY(plan_norm(engine, desc, rows, &plan->norm, why));
    FOVEA_TRY(plan_ffn(engine, desc, rows, plan, why));
    FOVEA_TRY(plan_drop(engine, desc, rows, FOVEA_ROWWISE_DROPOUT, desc->ffn, &plan->drop_up, why));
    FOVEA_TRY(plan_drop(engine, desc, rows, FOVEA_ROWWISE_DROPOUT_ADD, desc->width, &plan->drop_down, why));

    fovea_composite_begin(&plan->composite, FOVEA_PLAN_LAYER, fovea_layer_part_args, own);
    for (int i = 0; i < STEPS; i++) {
        const struct layer_step *const step = &steps[desc->norm][i];
        if (!desc->decoder && (step->part == LAYER_CROSS || step->part == LAYER_NORM2))
            continue;
        const bool dropped = desc->dropout != 0 && (step->part == LAYER_UP || step->part == LAYER_DOWN);
        FOVEA_TRY(dropped ? add_dropped(plan, *step, why) : add_step(plan, *step, why));
    }
    return FOVEA_OK;
}

enum fovea_status fovea_layer_plan(const struct fovea_engine *engine, const struct fovea_layer_desc *desc, void *plan)
{
    FOVEA_CHECK(plan, FOVEA_ERR_NULL);
    FOVEA_CHECK(fovea_aligned(plan), FOVEA_ERR_ALIGN);
    struct layer_plan made; // so that a failure writes nothing
    FOVEA_TRY(fovea_layer_plan_why(engine, desc, &made, NULL));
    *(struct layer_plan *)plan = made;
    return FOVEA_OK;
}

enum fovea_status fovea_explain_layer(const struct fovea_engine *engine, const struct fovea_layer_desc *desc,
                                      char *text, size_t text_size)
{
    const struct fovea_why why = {text, text_size};
    struct layer_plan plan;
    FOVEA_TRY(fovea_layer_plan_why(engine, desc, &plan, &why));
    const struct fovea_work *const work = &plan.composite.work;
    fovea_say(&why,
              "layer: %s-%s %s%s, %zu x %zu x %zu, %zu heads on %zu of %zu/%zu, %s%sffn %zu, %u phases, shared %zu B, "
              "scratch %zu B",
              desc->norm == FOVEA_NORM_PRE ? "pre" : "post",
              desc->norm_kind == FOVEA_NORM_RMS ? "RMSNorm" : "LayerNorm",
              desc->decoder  ? "decoder"
              : desc->causal ? "causal"
                             : "encoder",
              desc->cached ? " with caches" : "", desc->batch, desc->len, desc->width, desc->heads, plan.self.kv_heads,
              desc->qk_dim, desc->v_dim, desc->rotary_dim != 0 ? "rotary, " : "", desc->gated ? "gated " : "",
              desc->ffn, work->phases, work->shared_bytes, work->scratch_bytes);
    return FOVEA_OK;
}
