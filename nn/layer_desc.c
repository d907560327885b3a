// SPDX-License-Identifier: Apache-2.0
// nn/layer_desc.c - the descriptor of a layer: its defaults, its checks, and its plan in words.
#include "nn/layer.h"
#include "ops/pack.h"

#include <math.h>

enum fovea_status fovea_layer_desc_init(struct fovea_layer_desc *desc, size_t size)
{
    FOVEA_CHECK(desc, FOVEA_ERR_NULL);
    FOVEA_CHECK(size == sizeof *desc, FOVEA_ERR_STRUCT);
    *desc = (struct fovea_layer_desc){.struct_size = sizeof *desc,
                                      .eps = 1e-5f,
                                      .beams = 1,
                                      .window_left = FOVEA_WINDOW_ALL,
                                      .window_right = FOVEA_WINDOW_ALL,
                                      .scale = FOVEA_SCALE_DEFAULT};
    return FOVEA_OK;
}

enum fovea_status fovea_layer_desc_check(const struct fovea_layer_desc *desc, const char *whole,
                                         const struct fovea_why *why)
{
    FOVEA_REQUIRE(desc, FOVEA_ERR_NULL, why, "%s: desc is NULL", whole);
    FOVEA_REQUIRE(desc->struct_size == sizeof *desc, FOVEA_ERR_STRUCT, why, "%s: struct_size is %u, not %zu", whole,
                  desc->struct_size, sizeof *desc);
    const struct fovea_size flags[] = {{"decoder", desc->decoder},
                                       {"causal", desc->causal},
                                       {"cached", desc->cached},
                                       {"norm_kind", (unsigned)desc->norm_kind},
                                       {"gated", desc->gated},
                                       {"qk_norm", desc->qk_norm},
                                       {"rotary_adjacent", desc->rotary_adjacent}};
    FOVEA_TRY(fovea_check_flags(flags, FOVEA_COUNT(flags), whole, why));
    const struct fovea_limit enums[] = {{"norm", (unsigned)desc->norm, FOVEA_NORM_SANDWICH},
                                        {"weight_type", (unsigned)desc->weight_type, FOVEA_S8},
                                        {"kv_type", (unsigned)desc->kv_type, FOVEA_F16},
                                        {"activation", (unsigned)desc->activation, FOVEA_ACTIVATION_SILU}};
    FOVEA_TRY(fovea_check_enums(enums, FOVEA_COUNT(enums), whole, why));
    FOVEA_REQUIRE(!desc->decoder || !desc->causal, FOVEA_ERR_VALUE, why,
                  "%s: a decoder is causal by itself: causal is for a layer without cross-attention", whole);
    const struct fovea_limit of_memory[] = {
        {"memory_len", desc->memory_len, 0}, {"memory_width", desc->memory_width, 0}, {"beams", desc->beams, 1}};
    for (size_t i = 0; i < FOVEA_COUNT(of_memory) && !desc->decoder; i++)
        FOVEA_REQUIRE(of_memory[i].value <= of_memory[i].most, FOVEA_ERR_VALUE, why,
                      "%s: %s is %zu, but the layer has no cross-attention", whole, of_memory[i].name,
                      of_memory[i].value);
    FOVEA_REQUIRE(desc->cached || desc->page_keys == 0, FOVEA_ERR_VALUE, why,
                  "%s: page_keys is %zu, but the layer is not cached", whole, desc->page_keys);
    FOVEA_REQUIRE(desc->cached || desc->kv_type == FOVEA_F32, FOVEA_ERR_VALUE, why,
                  "%s: kv_type is %s, but the layer is not cached", whole, fovea_type_names[desc->kv_type]);
    FOVEA_REQUIRE(!fovea_layer_is_causal(desc) || desc->window_right == FOVEA_WINDOW_ALL, FOVEA_ERR_VALUE, why,
                  "%s: window_right is %zu, but the layer is causal", whole, desc->window_right);
    FOVEA_REQUIRE(!desc->cached || fovea_layer_is_causal(desc), FOVEA_ERR_VALUE, why,
                  "%s: only a decoder or a causal layer has caches", whole);
    const struct fovea_size sizes[] = {{"width", desc->width}, {"ffn", desc->ffn}, {"beams", desc->beams}};
    const struct fovea_size *const zero = fovea_find_zero(sizes, FOVEA_COUNT(sizes));
    FOVEA_REQUIRE(!zero, FOVEA_ERR_SHAPE, why, "%s: %s is 0", whole, zero->name);
    FOVEA_REQUIRE(desc->batch % desc->beams == 0, FOVEA_ERR_SHAPE, why, "%s: beams %zu do not divide batch %zu", whole,
                  desc->beams, desc->batch);
    FOVEA_TRY(fovea_heads_check(desc->heads, desc->kv_heads, desc->qk_dim, desc->v_dim, whole, why));
    const struct fovea_size lengths[] = {{"len", desc->len},
                                         {"kv_len", desc->cached ? desc->kv_len : 0},
                                         {"memory_len", desc->decoder ? desc->memory_len : 0}};
    FOVEA_TRY(fovea_check_within(lengths, FOVEA_COUNT(lengths), 0, UINT32_MAX, FOVEA_ERR_OVERFLOW, whole, why));
    FOVEA_REQUIRE(!desc->cached || desc->len <= desc->kv_len, FOVEA_ERR_SHAPE, why,
                  "%s: len %zu is more than kv_len %zu, the capacity of self_cache", whole, desc->len, desc->kv_len);
    FOVEA_TRY(fovea_eps_check(desc->eps, "eps", whole, why));
    FOVEA_TRY(fovea_attention_check_scores(desc->scale, desc->softcap, whole, why));
    FOVEA_TRY(fovea_dropout_check(desc->dropout, "dropout", whole, why));
    return fovea_rotary_check(desc->rotary_dim, desc->qk_dim, desc->rotary_positions,
                              desc->cached ? desc->kv_len : desc->len, whole, why);
}

enum fovea_status fovea_explain_layer(const struct fovea_engine *engine, const struct fovea_layer_desc *desc,
                                      char *text, size_t text_size)
{
    static const char *const places[] = {"post", "pre", "sandwich"};
    const struct fovea_why why = {text, text_size};
    struct layer_plan plan;
    FOVEA_TRY(fovea_layer_make(&(struct fovea_part_of){engine, "layer", &why}, desc, &plan));
    const struct fovea_work *const work = &plan.composite.work;
    const size_t memory_width = desc->memory_width != 0 ? desc->memory_width : desc->width;
    const struct fovea_asked asked[] = {
        {desc->cached, "kv_len", (double)desc->kv_len},
        {desc->page_keys != 0, "in pages of", (double)desc->page_keys},
        {desc->kv_type == FOVEA_BF16, "k and v of bf16", NAN},
        {desc->kv_type == FOVEA_F16, "k and v of f16", NAN},
        {desc->rows != 0, "rows", (double)desc->rows},
        {desc->decoder, "memory_len", (double)desc->memory_len},
        {desc->decoder && memory_width != desc->width, "memory_width", (double)memory_width},
        {desc->decoder && desc->beams != 1, "beams", (double)desc->beams},
        {desc->window_left != FOVEA_WINDOW_ALL, "window_left", (double)desc->window_left},
        {desc->window_right != FOVEA_WINDOW_ALL, "window_right", (double)desc->window_right},
        {desc->softcap != 0, "softcap", (double)desc->softcap},
        {desc->scale != FOVEA_SCALE_DEFAULT, "scale", (double)desc->scale},
        {desc->qk_norm, "qk_norm", NAN},
        {desc->rotary_dim != 0, "rotary", (double)desc->rotary_dim},
        {desc->rotary_dim != 0 && desc->rotary_adjacent, "adjacent pairs", NAN},
        {desc->weight_type == FOVEA_BF16, "bf16 weights", NAN},
        {desc->weight_type == FOVEA_F16, "f16 weights", NAN},
        {desc->weight_type == FOVEA_S8, "s8 weights", NAN},
        {true, desc->gated ? "gated ffn" : "ffn", (double)desc->ffn},
        {true, fovea_activation_names[desc->activation], NAN},
        {desc->eps != 1e-5f, "eps", (double)desc->eps},
        {desc->dropout != 0, "dropout", (double)desc->dropout},
    };
    const struct fovea_size sizes[] = {{"batch", desc->batch}, {"len", desc->len}};
    fovea_say(&why, "layer: %s-%s %s%s, %zu x %zu x %zu, heads %zu/%zu, dims %zu and %zu", places[desc->norm],
              desc->norm_kind == FOVEA_NORM_RMS ? "RMSNorm" : "LayerNorm",
              desc->decoder  ? "decoder"
              : desc->causal ? "causal"
                             : "encoder",
              desc->cached ? " with caches" : "", desc->batch, desc->len, desc->width, desc->heads, plan.self.kv_heads,
              desc->qk_dim, desc->v_dim);
    fovea_say_asked(&why, asked, FOVEA_COUNT(asked));
    fovea_say_more(&why, ", %u phases, shared_bytes %zu, scratch_bytes %zu", work->phases, work->shared_bytes,
                   work->scratch_bytes);
    fovea_say_nothing(&why, sizes, FOVEA_COUNT(sizes));
    return FOVEA_OK;
}
