// SPDX-License-Identifier: Apache-2.0
// fovea/mha.h - multi-head attention with its four projections:
//     out = concat_h(attention(x W_q^T + b_q, y W_k^T + b_k, z W_v^T + b_v)) W_o^T + b_o  (+ residual)
//
// Letters: B batch, H heads, Hkv key heads, Lq queries, Lk keys, d qk_dim and dv v_dim of one head. Activations are
// (B, L, width) with unit stride inside a row. Weights are packed once by fovea_pack (trans FOVEA_TRANS of a Linear's
// [out, in]).
//
// A row of out depends on its query and on the keys and values it sees, not on the other rows of the call: a sequence
// whole, in pieces or token by token with a cache has the same bits, unless outputs are dropped. A query that sees no
// key gets b_o (+ residual).
#ifndef FOVEA_MHA_H
#define FOVEA_MHA_H

#include "fovea/attention.h"
#include "fovea/gemm.h"
#include "fovea/kv_cache.h"

#ifdef __cplusplus
extern "C" {
#endif

/// One Linear: y = x W^T + b.
struct fovea_linear {
    const void *weight; ///< packed blob of W^T: k = inputs, n = outputs
    const float *bias;  ///< outputs elements, or NULL
};

/// q and o are not looked at in a call without queries, k and v in one without new keys.
struct fovea_mha_weights {
    struct fovea_linear q; ///< [H * d, query_width]
    struct fovea_linear k; ///< [Hkv * d, key_width]
    struct fovea_linear v; ///< [Hkv * dv, value_width]
    struct fovea_linear o; ///< [out_width, H * dv]
};

/// Where the keys and values of a call come from.
enum fovea_mha_keys {
    FOVEA_MHA_PROJECT = 0, ///< args.key and args.value are projected and used for this call
    FOVEA_MHA_APPEND = 1,  ///< they are projected and appended to args.cache at args.position; queries see the cache
    FOVEA_MHA_CACHED = 2,  ///< queries see the cache as it is (cross-attention whose keys were projected once)
};

/// A problem at its capacity; lengths and pointers are args. batch and lengths may be 0; heads, dims and widths are at
/// least 1, but for the key_width and value_width of CACHED, which are ignored.
struct fovea_mha_desc {
    uint32_t struct_size; ///< sizeof(struct fovea_mha_desc)
    enum fovea_mha_keys keys;
    size_t batch, heads;
    size_t kv_heads;      ///< a divisor of heads: grouped queries; 0, the default: as many as heads
    size_t q_len, kv_len; ///< the most queries of a call; PROJECT: the most keys, else exactly the cache's capacity
    size_t new_len;       ///< APPEND: most new keys of a call, at most kv_len (q_len may be 0: only fill the cache)
    size_t qk_dim, v_dim; ///< of one head, 1 to 512
    size_t query_width, key_width, value_width, out_width;
    enum fovea_scoring scoring;    ///< default FOVEA_SCORING_DOT
    float scale;                   ///< default FOVEA_SCALE_DEFAULT; finite
    float softcap;                 ///< default 0: none; as in fovea_attention_desc
    uint32_t causal;               ///< 1: key j visible to query i iff j <= i + position
    size_t window_left;            ///< and iff j >= i + position - window_left; default FOVEA_WINDOW_ALL
    size_t window_right;           ///< and iff j <= i + position + window_right; default FOVEA_WINDOW_ALL
    enum fovea_kv_len kv_len_kind; ///< default FOVEA_KV_LEN_ALL
    enum fovea_mask mask;          ///< default FOVEA_MASK_NONE; mask and its strides as in fovea_attention_desc
    uint32_t residual;             ///< 1: args.residual (B, Lq, out_width) is added to the output
    float dropout;                 ///< of the attention weights, default 0; 0 <= p < 1
    float out_dropout;             ///< of the output before the residual is added, default 0; 0 <= p < 1
    size_t mask_batch, mask_head, mask_row, mask_key;
    uint32_t bias; ///< 1: args.bias is added to the scores; it and its strides as in fovea_attention_desc
    size_t bias_batch, bias_head, bias_row, bias_key;
    uint32_t need_weights; ///< 1: args.attn_weights may be asked for
    // Rotary positions of queries and of the keys that are projected, as FOVEA_ROWWISE_ROTARY has them; default 0:
    // none.
    size_t rotary_dim;        ///< of each head, even, at most qk_dim
    uint32_t rotary_adjacent; ///< 1: adjacent elements are a pair
    size_t rotary_positions;  ///< rows of args.rotary_cos and rotary_sin
};
/// Fills in the defaults: FOVEA_MHA_PROJECT, scale 1/sqrt(d), windows without end, everything else 0. size is
/// sizeof(*desc). Begin with it: a descriptor of zeros has the scale 0 and windows of one key. Errors: NULL, STRUCT.
FOVEA_API enum fovea_status fovea_mha_desc_init(struct fovea_mha_desc *desc, size_t size);

/// One call. Without queries query, residual and out may be NULL, without new keys (and with CACHED) key and value.
struct fovea_mha_args {
    const struct fovea_mha_weights *weights;
    const float *query, *key, *value; ///< (B, q_len, query_width), (B, kv_len, key_width and value_width), dense
    const float *residual;            ///< (B, q_len, out_width) dense, where the descriptor asks for it
    float *out;                       ///< (B, q_len, out_width) dense; may be the residual and overlaps nothing else
    size_t batch;                     ///< at most the plan's; 0 computes nothing, is OK, and all pointers may be NULL
    size_t q_len, kv_len;             ///< of this call. PROJECT: rows of key and value; APPEND: new ones;
                                      ///< CACHED: keys in the cache
    size_t position; ///< absolute, of query 0, for causal order and dropout; APPEND: of the first new key, too, so many
                     ///< keys being in the cache already
    const struct fovea_kv_cache *cache; ///< APPEND, CACHED: kv_len, heads, dims as planned, batch at least this call's
    const uint32_t *kv_lens; ///< as kv_len_kind says; each is clamped to the keys there are, with a cache those in it
    const uint8_t *mask;     ///< where the descriptor asks for it; key 0 is the cache's first
    const float *bias;       ///< the same
    /// With rotary_dim: (rotary_positions, rotary_dim / 2) dense. Query i of each sequence stands at position + i; key
    /// j of a call at j or, where it is appended, at position + j.
    const float *rotary_cos, *rotary_sin;
    const float *additive; ///< FOVEA_SCORING_ADDITIVE: (H, d) dense
    const float *slopes;   ///< NULL, or ALiBi: H of them, as in fovea_attention_args
    const float *sinks;    ///< NULL, or H logits; -inf is none
    /// NULL, or live_count head numbers below H, ascending: the other heads are pruned, the bits those of zeros in
    /// their place. Their projections are computed all the same.
    const uint32_t *live_heads;
    size_t live_count; ///< 0 without live_heads
    /// NULL, or where the descriptor has need_weights what softmax gave each key: (B, H, q_len, keys) dense, or with
    /// average_weights (B, q_len, keys), the means over the heads; keys are those of this call and, of a cache, all
    /// before them. 0 where a query does not see a key, and of pruned heads. Overlaps nothing.
    float *attn_weights;
    uint32_t average_weights; ///< 1: means over the heads
    uint32_t dropped_weights; ///< 1: after dropout; 0: before
    // Training: weights are drawn as fovea_attention does under seed + site, outputs as FOVEA_ROWWISE_DROPOUT does at
    // this site, element (0, 0, 0) of out being number 0: a sequence in pieces draws its weights as it does at once,
    // but not its outputs.
    uint64_t seed;
    uint32_t site;
    uint32_t eval; ///< 1: no dropout in this call: the bits of a plan without
};

/// Bytes of a plan. A plan begins with its struct fovea_work, is 64-byte aligned and may be copied to such a place.
FOVEA_API size_t fovea_mha_plan_size(void);
/// Validates the descriptor and fills plan. The engine must outlive it. Shared memory holds what is projected at its
/// capacity, 4 B (d + dv) (H q_len + Hkv projected keys) bytes, with out_dropout 4 B q_len out_width more, with
/// need_weights 4 B H q_len, and what attention and products need. Nothing writes to a plan again: several calls may
/// use it at once, each with shared and scratch of its own, those that append with a cache of their own. Errors: NULL,
/// STRUCT, ENUM, SHAPE, OVERFLOW, VALUE (scale, softcap, dropout, out_dropout), ALIGN (plan).
FOVEA_API enum fovea_status fovea_mha_plan(const struct fovea_engine *engine, const struct fovea_mha_desc *desc,
                                           void *plan);
/// Writes one line that says what a plan would do, or why there is none; returns what fovea_mha_plan would. The line is
/// cut to text_size bytes; text may be NULL.
FOVEA_API enum fovea_status fovea_explain_mha(const struct fovea_engine *engine, const struct fovea_mha_desc *desc,
                                              char *text, size_t text_size);
/// Writes one line that says what is wrong with a call, or what it would compute; returns what fovea_mha would, but for
/// its memories and executor.
FOVEA_API enum fovea_status fovea_explain_mha_call(const void *plan, const struct fovea_mha_args *args, char *text,
                                                   size_t text_size);
/// Runs a plan on an executor (NULL: in this thread). shared and scratch as plan's fovea_work says. After an error
/// neither out nor the cache has been written. Of a blob only the header is checked, see fovea_pack_check.
/// Errors: NULL, SHAPE (a size above the plan's, a cache of other sizes, position + kv_len above its capacity,
/// positions that rotary_cos has not, a live head that there is not), STRUCT (cache, another's plan), UNSUPPORTED (a
/// cache with K in rows), ENUM (its k_rows; average_weights, dropped_weights), OVERFLOW (cache), ALIGN (memories,
/// blobs), FORMAT (a foreign blob, or of another shape), VALUE (no workers; live_heads that do not ascend; a mask,
/// bias, lengths, weights or a residual that the descriptor did not ask for).
///
/// Accuracy: no bound is stated for the whole. Each product has that of fovea_gemm (docs/numerics.md, section 2),
/// attention that of fovea_attention, against exact arithmetic on its own, rounded inputs.
FOVEA_API enum fovea_status fovea_mha(const void *plan, const struct fovea_mha_args *args, void *shared, void *scratch,
                                      const struct fovea_executor *executor);
/// The same task by task: tasks of a phase in any order, on any threads, each with a scratch of its own. The number of
/// tasks is 0 where args are wrong; a task that is not there gives SHAPE.
FOVEA_API uint32_t fovea_mha_tasks(const void *plan, const struct fovea_mha_args *args, uint32_t phase);
FOVEA_API enum fovea_status fovea_mha_task(const void *plan, const struct fovea_mha_args *args, void *shared,
                                           void *scratch, uint32_t phase, uint32_t task);
/// Plans, allocates, runs in this thread, frees. Also MEMORY.
FOVEA_API enum fovea_status fovea_mha_once(const struct fovea_engine *engine, const struct fovea_mha_desc *desc,
                                           const struct fovea_mha_args *args);

#ifdef __cplusplus
}
#endif

#endif
