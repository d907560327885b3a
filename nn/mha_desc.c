// SPDX-License-Identifier: Apache-2.0
// nn/mha_desc.c - the descriptor of multi-head attention: its defaults, its checks, and its plan in words.
#include "nn/mha.h"
#include "ops/kv_cache.h"
#include "ops/pack.h"

#include <math.h>

enum fovea_status fovea_mha_desc_init(struct fovea_mha_desc *desc, size_t size)
{
    FOVEA_CHECK(desc, FOVEA_ERR_NULL);
    FOVEA_CHECK(size == sizeof *desc, FOVEA_ERR_STRUCT);
    *desc = (struct fovea_mha_desc){.struct_size = sizeof *desc,
                                    .scale = FOVEA_SCALE_DEFAULT,
                                    .window_left = FOVEA_WINDOW_ALL,
                                    .window_right = FOVEA_WINDOW_ALL,
                                    .qk_norm_eps = 1e-6f};
    return FOVEA_OK;
}

// The rows of rotary_cos and rotary_sin that a call of all queries and keys needs.
static size_t turned_positions(const struct fovea_mha_desc *desc)
{
    return desc->keys == FOVEA_MHA_CACHED ? desc->q_len : fovea_max(desc->q_len, desc->kv_len);
}

enum fovea_status fovea_mha_desc_check(const struct fovea_mha_desc *desc, const char *whole,
                                       const struct fovea_why *why)
{
    FOVEA_REQUIRE(desc, FOVEA_ERR_NULL, why, "%s: desc is NULL", whole);
    FOVEA_REQUIRE(desc->struct_size == sizeof *desc, FOVEA_ERR_STRUCT, why, "%s: struct_size is %u, not %zu", whole,
                  desc->struct_size, sizeof *desc);
    const struct fovea_limit enums[] = {{"keys", (unsigned)desc->keys, FOVEA_MHA_CACHED},
                                        {"weight_type", (unsigned)desc->weight_type, FOVEA_S8},
                                        {"kv_type", (unsigned)desc->kv_type, FOVEA_F16},
                                        {"mask", (unsigned)desc->mask, FOVEA_MASK_BITS}};
    FOVEA_TRY(fovea_check_enums(enums, FOVEA_COUNT(enums), whole, why));
    const struct fovea_size flags[] = {{"causal", desc->causal},
                                       {"residual", desc->residual},
                                       {"need_weights", desc->need_weights},
                                       {"qk_norm", desc->qk_norm},
                                       {"rotary_adjacent", desc->rotary_adjacent}};
    FOVEA_TRY(fovea_check_flags(flags, FOVEA_COUNT(flags), whole, why));
    FOVEA_REQUIRE(desc->batch <= UINT32_MAX / 4, FOVEA_ERR_OVERFLOW, why, "%s: batch is %zu, more than %u", whole,
                  desc->batch, (unsigned)(UINT32_MAX / 4));
    FOVEA_TRY(fovea_heads_check(desc->heads, desc->kv_heads, desc->qk_dim, desc->v_dim, whole, why));
    const struct fovea_size widths[] = {{"query_width", desc->query_width},
                                        {"out_width", desc->out_width},
                                        {"key_width", desc->key_width},
                                        {"value_width", desc->value_width}};
    const size_t count = desc->keys == FOVEA_MHA_CACHED ? 2 : 4; // without those of keys
    const struct fovea_size *const zero = fovea_find_zero(widths, count);
    FOVEA_REQUIRE(!zero, FOVEA_ERR_SHAPE, why, "%s: %s is 0", whole, zero->name);
    FOVEA_REQUIRE(desc->keys != FOVEA_MHA_PROJECT || desc->page_keys == 0, FOVEA_ERR_VALUE, why,
                  "%s: page_keys is %zu, but keys are projected, not in pages", whole, desc->page_keys);
    FOVEA_REQUIRE(desc->keys != FOVEA_MHA_PROJECT || desc->kv_type == FOVEA_F32, FOVEA_ERR_VALUE, why,
                  "%s: kv_type is %s, but keys are projected, not in a cache", whole, fovea_type_names[desc->kv_type]);
    FOVEA_REQUIRE(desc->page_keys == 0 || fovea_kv_page_fits(desc->page_keys), FOVEA_ERR_VALUE, why,
                  "%s: page_keys is %zu, not 16, 32, 64, 128 or 256", whole, desc->page_keys);
    FOVEA_REQUIRE(desc->keys == FOVEA_MHA_APPEND || desc->new_len == 0, FOVEA_ERR_VALUE, why,
                  "%s: new_len is %zu, but nothing is appended: keys is not FOVEA_MHA_APPEND", whole, desc->new_len);
    FOVEA_REQUIRE(desc->keys != FOVEA_MHA_APPEND || desc->new_len <= desc->kv_len, FOVEA_ERR_SHAPE, why,
                  "%s: new_len %zu is more than kv_len %zu, the cache's capacity", whole, desc->new_len, desc->kv_len);
    FOVEA_TRY(fovea_eps_check(desc->qk_norm_eps, "qk_norm_eps", whole, why));
    FOVEA_TRY(fovea_dropout_check(desc->dropout, "dropout", whole, why));
    FOVEA_TRY(fovea_dropout_check(desc->out_dropout, "out_dropout", whole, why));
    return fovea_rotary_check(desc->rotary_dim, desc->qk_dim, desc->rotary_positions, turned_positions(desc), whole,
                              why);
}

enum fovea_status fovea_explain_mha(const struct fovea_engine *engine, const struct fovea_mha_desc *desc, char *text,
                                    size_t text_size)
{
    static const char *const names[] = {"projected", "appended to a cache", "from a cache"};
    const struct fovea_why why = {text, text_size};
    struct mha_plan plan;
    FOVEA_TRY(fovea_mha_make(&(struct fovea_part_of){engine, "mha", &why}, desc, &fovea_mha_words, &plan));
    const struct fovea_work *const work = &plan.composite.work;
    const struct fovea_asked asked[] = {
        {desc->weight_type == FOVEA_BF16, "bf16 weights", NAN},
        {desc->weight_type == FOVEA_F16, "f16 weights", NAN},
        {desc->weight_type == FOVEA_S8, "s8 weights", NAN},
        {desc->qk_norm, "qk_norm", NAN},
        {desc->qk_norm && desc->qk_norm_eps != 1e-6f, "eps", (double)desc->qk_norm_eps},
        {desc->rotary_dim != 0, "rotary", (double)desc->rotary_dim},
        {desc->rotary_dim != 0 && desc->rotary_adjacent, "adjacent pairs", NAN},
        {desc->residual, "residual", NAN},
        {desc->out_dropout != 0, "out_dropout", (double)desc->out_dropout},
        {desc->need_weights, "need_weights", NAN},
        {desc->rows != 0, "rows", (double)desc->rows},
    };
    const struct fovea_size sizes[] = {{"batch", desc->batch},
                                       {"q_len", desc->keys == FOVEA_MHA_APPEND ? 1 : desc->q_len}};
    fovea_say(&why, "mha: batch %zu, heads %zu/%zu, %zux%zu, dims %zu and %zu", desc->batch, desc->heads, plan.kv_heads,
              desc->q_len, desc->kv_len, desc->qk_dim, desc->v_dim);
    fovea_attention_say_asked(&plan.attention.desc, &why);
    fovea_say_asked(&why, asked, FOVEA_COUNT(asked));
    fovea_say_more(&why, ", keys %s", names[desc->keys]);
    if (desc->page_keys != 0)
        fovea_say_more(&why, ", in pages of %zu", desc->page_keys);
    if (desc->kv_type != FOVEA_F32)
        fovea_say_more(&why, ", k and v of %s", fovea_type_names[desc->kv_type]);
    fovea_say_more(&why, ", %u phases, shared_bytes %zu, scratch_bytes %zu", work->phases, work->shared_bytes,
                   work->scratch_bytes);
    fovea_say_nothing(&why, sizes, FOVEA_COUNT(sizes));
    return FOVEA_OK;
}
