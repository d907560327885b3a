// SPDX-License-Identifier: Apache-2.0
// fovea/mha.h - multi-head attention with its four projections:
//     out = concat_h(attention(x W_q^T + b_q, y W_k^T + b_k, z W_v^T + b_v)) W_o^T + b_o  (+ residual)
//
// Notation: B is the batch, H the heads, Hkv the key heads, Lq the queries, Lk the keys, d and dv the qk_dim and v_dim
// of one head. Activations are (B, L, width) with unit stride inside a row. Weights are packed once by fovea_pack or
// fovea_pack_typed (with FOVEA_TRANS for a Linear's [out, in]).
//
// A row of out depends only on its query and on the keys and values it sees, not on the other rows of the call: a
// sequence computed whole, in pieces or token by token with a cache has identical bits, unless outputs are dropped. (A
// cache of 16-bit elements has rounded keys and values: all of these then append to such a cache.) A query that sees no
// key gives b_o (+ residual).
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

/// q, o and q_norm are not read in a call without queries, k, v and k_norm not in one without new keys.
struct fovea_mha_weights {
    struct fovea_linear q; ///< [H * d, query_width]
    struct fovea_linear k; ///< [Hkv * d, key_width]
    struct fovea_linear v; ///< [Hkv * dv, value_width]
    struct fovea_linear o; ///< [out_width, H * dv]
    /// With qk_norm: the gammas of queries and of keys, d elements each, which all heads share. Either may be NULL: no
    /// gamma, as if all were 1. Without qk_norm both are NULL.
    const float *q_norm, *k_norm;
};

/// Where the keys and values of a call come from.
enum fovea_mha_keys {
    FOVEA_MHA_PROJECT = 0, ///< args.key and args.value are projected and used for this call only
    FOVEA_MHA_APPEND = 1,  ///< args.key and args.value are projected and appended to args.cache at args.position;
                           ///< queries see the cache
    FOVEA_MHA_CACHED = 2,  ///< queries see the cache as it is (cross-attention whose keys were projected once)
};

/// A problem at its capacity; the lengths and pointers of a call are in fovea_mha_args. batch and lengths may be 0;
/// batch is below 2^30, lengths are below 2^32. heads, dims and widths are at least 1, except key_width and value_width
/// with CACHED, which are ignored.
struct fovea_mha_desc {
    uint32_t struct_size; ///< sizeof(struct fovea_mha_desc)
    enum fovea_mha_keys keys;
    size_t batch, heads;
    size_t kv_heads;      ///< a divisor of heads (grouped queries); 0, the default: equal to heads
    size_t q_len, kv_len; ///< q_len: the most queries of a call. kv_len: the most keys of a call with PROJECT, else
                          ///< exactly the cache's capacity
    size_t new_len;       ///< APPEND: the most new keys of a call, at most kv_len (q_len may be 0, to only fill the
                          ///< cache); otherwise 0, the default
    size_t page_keys; ///< APPEND, CACHED: 0, the default: keys are in args.cache. Otherwise they are in args.pool, in
                      ///< pages of this many keys: 16, 32, 64, 128 or 256. kv_len is then the most keys of a
                      ///< sequence.
    size_t rows;      ///< The most rows of query, and with PROJECT and APPEND of key, of a call, over all sequences;
                      ///< 0, the default: batch times the most of a sequence. For ragged batches: a plan may allow
                      ///< many sequences and long sequences without memory for many long sequences. More than the
                      ///< default means the default.
    size_t qk_dim, v_dim; ///< of one head, 1 to 512
    size_t query_width, key_width, value_width, out_width;
    enum fovea_scoring scoring;    ///< default FOVEA_SCORING_DOT
    float scale;                   ///< default FOVEA_SCALE_DEFAULT; finite
    float softcap;                 ///< default 0: none; as in fovea_attention_desc
    uint32_t causal;               ///< 1: key j is visible to query i only if j <= i + position
    size_t window_left;            ///< and only if j >= i + position - window_left; default FOVEA_WINDOW_ALL
    size_t window_right;           ///< and only if j <= i + position + window_right; default FOVEA_WINDOW_ALL
    enum fovea_kv_len kv_len_kind; ///< default FOVEA_KV_LEN_ALL
    enum fovea_mask mask;          ///< default FOVEA_MASK_NONE; mask and its strides as in fovea_attention_desc
    uint32_t residual;             ///< 1: args.residual (B, Lq, out_width) is added to the output
    float dropout;                 ///< dropout of the attention weights, default 0; 0 <= p < 1
    float out_dropout;             ///< dropout of the output before the residual is added, default 0; 0 <= p < 1
    size_t mask_batch, mask_head, mask_row, mask_key;
    uint32_t bias; ///< 1: args.bias is added to the scores; it and its strides as in fovea_attention_desc
    size_t bias_batch, bias_head, bias_row, bias_key;
    uint32_t need_weights; ///< 1: a call may ask for args.attn_weights
    uint32_t qk_norm;      ///< 1: RMSNorm of the queries and of the projected keys, each head by itself, before rotary
                           ///< positions: x / sqrt(mean of x^2 + eps) * gamma, as in Qwen 3 and Gemma 3 (where gamma is
                           ///< 1 + what is stored). Keys in a cache were normed when they were appended.
    float qk_norm_eps;     ///< default 1e-6; finite, at least 0
    // Rotary positions of the queries and of the projected keys, as in FOVEA_ROWWISE_ROTARY; default 0: none.
    size_t rotary_dim;        ///< elements of each head to rotate: even, at most qk_dim
    uint32_t rotary_adjacent; ///< 1: adjacent elements form a pair
    size_t rotary_positions;  ///< rows of args.rotary_cos and rotary_sin: at least q_len and, unless CACHED, kv_len

    enum fovea_type weight_type; ///< of the elements of all four weights' blobs; default FOVEA_F32. Blobs of 16-bit
                                 ///< elements are made by fovea_pack_typed, of integers by fovea_pack_s8 or
                                 ///< fovea_pack_scaled_s8; the result has the bits of the same numbers as f32
    enum fovea_type kv_type; ///< APPEND, CACHED: of the elements of the cache or the pool; default FOVEA_F32. Keys and
                             ///< values are rounded to it once, when they are appended (see fovea/kv_cache.h); the
                             ///< result has the bits of the same numbers as f32. With PROJECT FOVEA_F32
};
/// Sets the defaults: FOVEA_MHA_PROJECT, scale 1/sqrt(d), unbounded windows, qk_norm_eps 1e-6, everything else 0. size
/// is sizeof(*desc). Always start with this call: a zeroed descriptor has scale 0 and windows of one key. Errors: NULL,
/// STRUCT.
FOVEA_API enum fovea_status fovea_mha_desc_init(struct fovea_mha_desc *desc, size_t size);

/// Arguments of one call. Without queries, query, residual and out may be NULL; without new keys (and with CACHED), key
/// and value may be NULL.
struct fovea_mha_args {
    const struct fovea_mha_weights *weights;
    const float *query, *key, *value; ///< (B, q_len, query_width), (B, kv_len, key_width and value_width), dense
    const float *residual;            ///< (B, q_len, out_width) dense; required if the descriptor asks for it
    float *out;                       ///< (B, q_len, out_width) dense; may be the residual, and must overlap nothing
                                      ///< else
    size_t batch;                     ///< at most the plan's; 0 computes nothing, returns OK, and all pointers may be
                                      ///< NULL
    size_t q_len, kv_len;             ///< of this call. kv_len with PROJECT: rows of key and value; with APPEND: new
                                      ///< keys; with CACHED: keys in the cache
    size_t position; ///< Absolute position of query 0, for causal order and dropout. With APPEND also the position of
                     ///< the first new key, that is the number of keys already in the cache.
    /// NULL, or one per batch entry, replacing position, which must then be 0: sequences of different lengths in one
    /// call. Each has the bits of a call of its own with its position, unless something is dropped (which depends on
    /// its number in the batch). With APPEND a sequence has positions[b] + kv_len keys; none beyond them is read.
    const size_t *positions;
    /// NULL, or a ragged batch, for example prompts beside single tokens: batch + 1 ascending numbers from 0 on.
    /// Sequence b is the rows from starts[b] to before starts[b + 1] of query, residual and out and, unless CACHED, of
    /// key and value, and may have none (starts[b] equals starts[b + 1]). It has at most q_len of them, and kv_len
    /// equals q_len (unless CACHED). With q_len 0 they are rows of key and value alone, at most kv_len of a sequence:
    /// APPEND then only fills the cache or pages. With APPEND positions are required. Not together with attn_weights.
    /// Each sequence has the bits of a call of its own, as above; dropped outputs depend on the rows before it, too.
    const uint32_t *starts;
    const struct fovea_kv_cache *cache; ///< APPEND, CACHED without page_keys: kv_len, heads, dims and type as planned,
                                        ///< batch at least this call's
    const struct fovea_kv_pages *pool;  ///< with page_keys: page_keys, heads, dims and type as planned
    /// With page_keys: key j of sequence b is in page pages[b * pages_batch + j / page_keys]. Sequences may share pages
    /// that no call appends to. Only entries of appended keys are checked. A page in which no query sees a key, for
    /// example left of the window, is not read, nor is its entry: it may be given back. With several sequences,
    /// pages_batch is at least the number of pages of each that is appended to.
    const uint32_t *pages;
    size_t pages_batch;
    const uint32_t *kv_lens; ///< Indexed as kv_len_kind says, with the q_len of this call; with starts the lengths of
                             ///< the rows of sequence b begin at kv_lens[starts[b]]. Each is clamped to the number of
                             ///< keys, with a cache those of its sequence.
    const uint8_t *mask;     ///< Required if the descriptor asks for it. Key 0 is the first key of the cache, row 0 the
                             ///< first query of its sequence in this call.
    const float *bias;       ///< likewise
    /// With rotary_dim: (rotary_positions, rotary_dim / 2) dense. Query i of each sequence has position position + i.
    /// Key j of the call has position j or, if it is appended, position + j. That position is its sequence's.
    const float *rotary_cos, *rotary_sin;
    const float *additive; ///< FOVEA_SCORING_ADDITIVE: (H, d) dense
    const float *slopes;   ///< NULL, or ALiBi: H slopes, as in fovea_attention_args
    const float *sinks;    ///< NULL, or H logits; -inf means no sink
    /// NULL, or live_count head numbers below H, ascending. The other heads are pruned: the result has the bits it
    /// would have with zeros as their output. Their projections are computed all the same.
    const uint32_t *live_heads;
    size_t live_count; ///< 0 without live_heads
    /// NULL or, if the descriptor has need_weights, the softmax weight of each key: (B, H, q_len, keys) dense, or with
    /// average_weights (B, q_len, keys), the means over the heads. The keys are those of this call and, with a cache,
    /// all before them; with positions as many as in the longest sequence. 0 where a query does not see a key, and for
    /// pruned heads. Must overlap nothing.
    float *attn_weights;
    uint32_t average_weights; ///< 1: means over the heads
    uint32_t dropped_weights; ///< 1: weights after dropout; 0: before
    // Training: attention weights are dropped as fovea_attention does under seed + site, outputs as
    // FOVEA_ROWWISE_DROPOUT does at this site, element (0, 0, 0) of out having number 0. A sequence in pieces therefore
    // drops the same weights as when computed at once, but not the same outputs. Seeds of different steps must be
    // further apart than sites are, as seed + site of two calls may otherwise be equal.
    uint64_t seed;
    uint32_t site;
    uint32_t eval; ///< 1: no dropout in this call; the bits are those of a plan without dropout
};

/// Size of a plan in bytes. A plan begins with its struct fovea_work, must be 64-byte aligned, and may be copied to
/// another aligned place.
FOVEA_API size_t fovea_mha_plan_size(void);
/// Validates the descriptor and fills plan. The engine must outlive it. Shared memory holds the projections at
/// capacity, 4 B (d + dv) (H q_len + Hkv projected keys) bytes, where `rows` limits B times a length; with out_dropout
/// 4 B q_len out_width more; with need_weights 4 B H q_len more; plus what attention, with the same `rows`, and the
/// products need. A plan is never written again: several calls may use it at once, each with its own shared and scratch
/// and, if it appends, its own cache. Errors: NULL, STRUCT, ENUM, SHAPE, OVERFLOW, VALUE (scale, softcap, dropout,
/// out_dropout, qk_norm_eps, page_keys, kv_type with PROJECT, new_len without APPEND), ALIGN (plan).
FOVEA_API enum fovea_status fovea_mha_plan(const struct fovea_engine *engine, const struct fovea_mha_desc *desc,
                                           void *plan);
/// Writes one line that says what a plan would do, or why there is none. Returns what fovea_mha_plan would. The line is
/// truncated to text_size, for which FOVEA_EXPLAIN_BYTES is enough; text may be NULL.
FOVEA_API enum fovea_status fovea_explain_mha(const struct fovea_engine *engine, const struct fovea_mha_desc *desc,
                                              char *text, size_t text_size);
/// Writes one line that says what is wrong with a call, or what it would compute. Returns what fovea_mha would, except
/// that memory and executor are not checked.
FOVEA_API enum fovea_status fovea_explain_mha_call(const void *plan, const struct fovea_mha_args *args, char *text,
                                                   size_t text_size);
/// Runs a plan on an executor (NULL: in the calling thread). The plan's fovea_work gives the sizes of shared and
/// scratch. After an error neither out nor the cache or pool has been written. Only the header of a packed blob is
/// checked; see fovea_pack_check for all of it.
/// Errors: NULL, SHAPE (a size above the plan's, a cache of other sizes, a position + kv_len above its capacity,
/// positions beyond rotary_positions, a live head >= H, starts that do not ascend, a page that the pool does not have),
/// STRUCT (cache, pool, not a plan of mha), UNSUPPORTED (a cache or pool with K in rows; starts and attn_weights), ENUM
/// (its k_rows or type; average_weights, dropped_weights, eval), OVERFLOW (cache, pool), ALIGN (shared, scratch,
/// blobs), FORMAT (not a blob of the required shape and type, a cache or pool of another type), VALUE (no workers;
/// live_heads that do not ascend; a position beside positions; a cache, pool, mask, bias, lengths, weights or a
/// residual that the descriptor did not ask for; average_weights or dropped_weights without attn_weights; q_norm or
/// k_norm without qk_norm).
///
/// Accuracy: there is no bound for the operator as a whole. Against exact arithmetic on its own, rounded inputs, each
/// product has the bound of fovea_gemm (docs/numerics.md, section 2) and attention that of fovea_attention.
FOVEA_API enum fovea_status fovea_mha(const void *plan, const struct fovea_mha_args *args, void *shared, void *scratch,
                                      const struct fovea_executor *executor);
/// The same, task by task. The tasks of a phase may run in any order and on any threads, each with its own scratch.
/// fovea_mha_tasks gives their number, 0 if args are invalid. fovea_mha_task returns SHAPE for a task that does not
/// exist. Each of these calls validates all sequences anew (Zen 4: 256 in 2 us), which fovea_mha does once.
FOVEA_API uint32_t fovea_mha_tasks(const void *plan, const struct fovea_mha_args *args, uint32_t phase);
FOVEA_API enum fovea_status fovea_mha_task(const void *plan, const struct fovea_mha_args *args, void *shared,
                                           void *scratch, uint32_t phase, uint32_t task);
/// Plans, allocates, runs in the calling thread, frees. Errors: also MEMORY.
FOVEA_API enum fovea_status fovea_mha_once(const struct fovea_engine *engine, const struct fovea_mha_desc *desc,
                                           const struct fovea_mha_args *args);

#ifdef __cplusplus
}
#endif

#endif
