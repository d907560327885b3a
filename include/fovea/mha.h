// SPDX-License-Identifier: Apache-2.0
// fovea/mha.h - multi-head attention with its four projections:
//     out = concat_h(attention(x W_q^T + b_q, y W_k^T + b_k, z W_v^T + b_v)) W_o^T + b_o  (+ residual)
//
// Letters: B batch, H heads, Lq queries, Lk keys, d qk_dim and dv v_dim of one head. Activations are (B, L, width) with
// unit stride inside a row. Weights are packed once by fovea_pack (trans FOVEA_TRANS of a Linear's [out, in]).
#ifndef FOVEA_MHA_H
#define FOVEA_MHA_H

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

struct fovea_mha_weights {
    struct fovea_linear q; ///< [H * d, query_width]
    struct fovea_linear k; ///< [H * d, key_width]
    struct fovea_linear v; ///< [H * dv, value_width]
    struct fovea_linear o; ///< [out_width, H * dv]
};

/// Where the keys and values of a call come from.
enum fovea_mha_keys {
    FOVEA_MHA_PROJECT = 0, ///< args.key and args.value are projected and used for this call
    FOVEA_MHA_APPEND = 1,  ///< they are projected and appended to args.cache at args.position; queries see the cache
    FOVEA_MHA_CACHED = 2,  ///< queries see the cache as it is (cross-attention whose keys were projected once)
};

struct fovea_mha_desc {
    uint32_t struct_size; ///< sizeof(struct fovea_mha_desc)
    enum fovea_mha_keys keys;
    size_t batch, heads;
    size_t q_len, kv_len; ///< capacities; with a cache kv_len is the cache's capacity
    size_t new_len;       ///< APPEND: most new keys of a call (q_len may be 0: only fill the cache)
    size_t qk_dim, v_dim; ///< of one head, 1 to 512
    size_t query_width, key_width, value_width, out_width;
    float scale;     ///< default FOVEA_SCALE_DEFAULT; finite
    uint32_t causal; ///< 1: key j visible to query i iff j <= i + position
    enum fovea_kv_len kv_len_kind;
    enum fovea_mask mask; ///< as in fovea_attention_desc
    uint32_t residual;    ///< 1: args.residual (B, Lq, out_width) is added to the output
    float dropout;        ///< of the attention weights, default 0; 0 <= p < 1
    float out_dropout;    ///< of the output before the residual is added, default 0; 0 <= p < 1
    size_t mask_batch, mask_head, mask_row, mask_key;
};
FOVEA_API enum fovea_status fovea_mha_desc_init(struct fovea_mha_desc *desc, size_t size);

struct fovea_mha_args {
    const struct fovea_mha_weights *weights;
    const float *query, *key, *value; ///< (B, Lq, query_width), (B, L, key_width), (B, L, value_width), dense
    const float *residual;
    float *out;           ///< (B, Lq, out_width) dense; may be the residual
    size_t batch;         ///< at most the plan's
    size_t q_len, kv_len; ///< of this call. PROJECT: rows of key; APPEND: new rows; CACHED: keys in the cache
    size_t position;      ///< APPEND: keys already in the cache, the absolute position of the first new one.
                          ///< Causal: the absolute position of query 0
    const struct fovea_kv_cache *cache;
    const uint32_t *kv_lens;
    const uint8_t *mask;
    // Training: weights are drawn as fovea_attention does under seed + site, outputs as FOVEA_ROWWISE_DROPOUT does at
    // this site, element (0, 0, 0) of out being number 0.
    uint64_t seed;
    uint32_t site;
    uint32_t eval; ///< 1: no dropout in this call: the bits of a plan without
};

/// As fovea/gemm.h.
FOVEA_API size_t fovea_mha_plan_size(void);
FOVEA_API enum fovea_status fovea_mha_plan(const struct fovea_engine *engine, const struct fovea_mha_desc *desc,
                                           void *plan);
FOVEA_API enum fovea_status fovea_explain_mha(const struct fovea_engine *engine, const struct fovea_mha_desc *desc,
                                              char *text, size_t text_size);
FOVEA_API enum fovea_status fovea_mha(const void *plan, const struct fovea_mha_args *args, void *shared, void *scratch,
                                      const struct fovea_executor *executor);
FOVEA_API uint32_t fovea_mha_tasks(const void *plan, const struct fovea_mha_args *args, uint32_t phase);
FOVEA_API enum fovea_status fovea_mha_task(const void *plan, const struct fovea_mha_args *args, void *shared,
                                           void *scratch, uint32_t phase, uint32_t task);
FOVEA_API enum fovea_status fovea_mha_once(const struct fovea_engine *engine, const struct fovea_mha_desc *desc,
                                           const struct fovea_mha_args *args);

#ifdef __cplusplus
}
#endif

#endif
