// SPDX-License-Identifier: Apache-2.0
// nn/mha.h - the plan of multi-head attention, shared by its planner and its runner, and used by layers.
#ifndef FOVEA_NN_MHA_H
#define FOVEA_NN_MHA_H

#include "nn/composite.h"
#include "nn/parts.h"
#include "ops/attention_weights.h"

/// The parts, in the order they have in the composite; which of them exist depends on the descriptor.
enum mha_part {
    MHA_Q,
    MHA_K,
    MHA_V,
    MHA_NORM_Q,
    MHA_NORM_K,
    MHA_ROTATE_Q,
    MHA_ROTATE_K,
    MHA_APPEND_KV,
    MHA_ATTENTION,
    MHA_WEIGHTS,
    MHA_O,
    MHA_DROP,
    MHA_PARTS
};

/// The plan of the part that appends to the cache: one phase, no memory.
struct mha_append {
    struct fovea_work work; ///< first
    const struct fovea_engine *engine;
};

/// The composite's own shared memory holds the four activations q, k, v, o; with out_dropout the output projection; and
/// with need_weights the LSE.
struct mha_plan {
    struct fovea_composite composite; ///< first
    struct fovea_mha_desc desc;
    uint8_t part_of[MHA_PARTS]; ///< the enum mha_part of each part of the composite
    size_t kv_heads;            ///< desc's, or equal to heads
    size_t q_rows, kv_rows;     ///< the most rows of query, and of key, of a call
    size_t q, k, v, o, y, lse;  ///< offset of each activation in shared memory, in bytes
    struct mha_append append;
    struct fovea_work returned; ///< the plan of the part that returns weights: one phase, the scratch of attention
    struct {
        _Alignas(FOVEA_ALIGNMENT) struct fovea_gemm_layout plan;
    } projection[4]; ///< q, k, v, o
    _Alignas(FOVEA_ALIGNMENT) struct fovea_attention_layout attention;
    _Alignas(FOVEA_ALIGNMENT) struct fovea_rowwise_layout drop; ///< with out_dropout
    struct {
        _Alignas(FOVEA_ALIGNMENT) struct fovea_rowwise_layout plan;
    } norm[2], rotate[2]; ///< with qk_norm, and with rotary_dim: q, k
};

/// Number of rows of query of a call, of all sequences. Without queries the rows of a ragged batch are those of key.
static inline size_t fovea_mha_q_rows(const struct fovea_mha_args *args)
{
    return args->starts != NULL && args->q_len != 0 ? args->starts[args->batch] : args->batch * args->q_len;
}

/// Number of rows of keys that a call projects.
static inline size_t fovea_mha_new_rows(const struct mha_plan *plan, const struct fovea_mha_args *args)
{
    return plan->desc.keys == FOVEA_MHA_CACHED ? 0
           : args->starts != NULL              ? args->starts[args->batch]
                                               : args->batch * args->kv_len;
}

/// Number of new keys of a sequence, unless CACHED.
static inline size_t fovea_mha_news(const struct fovea_mha_args *args, size_t b)
{
    return args->starts != NULL ? args->starts[b + 1] - args->starts[b] : args->kv_len;
}

/// The most keys that queries of a sequence may see.
static inline size_t fovea_mha_seen_keys(const struct mha_plan *plan, const struct fovea_mha_args *args)
{
    if (plan->desc.keys != FOVEA_MHA_APPEND)
        return args->kv_len;
    size_t keys = args->positions == NULL ? args->position + args->kv_len : 0;
    for (size_t b = 0; args->positions != NULL && b < args->batch; b++)
        keys = fovea_max(keys, args->positions[b] + fovea_mha_news(args, b));
    return keys;
}

/// fovea_mha_part_args fills in the args of a part. The append operator writes keys and values to the cache, some
/// panels of 16 keys in each task.
fovea_part_args_fn fovea_mha_part_args;
extern const struct fovea_operator fovea_mha_append_operator;

/// Checks the weights named `part` of `whole`, for example "mha". Errors: NULL, ALIGN, FORMAT (not a packed blob of
/// that shape).
enum fovea_status fovea_linear_check(const struct fovea_linear *linear, enum fovea_type type, size_t inputs,
                                     size_t outputs, const char *whole, const char *part, const struct fovea_why *why);
/// How a reason names what an operator was called with: fovea_mha, or a layer for one of its attentions.
struct mha_words {
    const char *whole;                ///< begins the reason of a call
    const char *q_len;                ///< a field of its descriptor and of its args
    const char *query, *cache, *pool; ///< fields of its args
    const char *new_len, *capacity;   ///< fields of its descriptor: the most new keys, the most keys or the capacity
};
extern const struct mha_words fovea_mha_words;
/// The checks of fovea_mha before it runs, with a reason in `words`.
enum fovea_status fovea_mha_check(const struct mha_plan *plan, const struct fovea_mha_args *args,
                                  const struct mha_words *words, const struct fovea_why *why);
/// Checks what a descriptor says without an engine.
enum fovea_status fovea_mha_desc_check(const struct fovea_mha_desc *desc, const char *whole,
                                       const struct fovea_why *why);
/// fovea_mha_plan for a whole, with a reason in `words`.
enum fovea_status fovea_mha_make(const struct fovea_part_of *of, const struct fovea_mha_desc *desc,
                                 const struct mha_words *words, struct mha_plan *plan);

#endif
