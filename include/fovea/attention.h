// SPDX-License-Identifier: Apache-2.0
// fovea/attention.h - softmax(scale * Q K^T + bias, masked) V, fused: no Lq x Lk memory.
//
// Letters: B batch, H query heads, Hkv key heads (H a multiple of Hkv: grouped queries), Lq queries, Lk keys,
// d the qk_dim, dv the v_dim. A head is a stride: (B, L, H*d) as a projection writes it, (B, H, L, d), packed QKV and
// caches are all views.
#ifndef FOVEA_ATTENTION_H
#define FOVEA_ATTENTION_H

#include "fovea/engine.h"
#include "fovea/executor.h"

#ifdef __cplusplus
extern "C" {
#endif

/// Elements between batches, heads and rows. Any of them may be 0 (broadcast) for inputs.
struct fovea_strides {
    size_t batch, head, row;
};

/// How K lies in memory. V always lies in rows.
enum fovea_k_layout {
    FOVEA_K_ROWS = 0,   ///< K[b,h,j,c] = k[b*batch + h*head + j*row + c]
    FOVEA_K_PANELS = 1, ///< panels of 16 keys: k[b*batch + h*head + (j/16)*16*d + c*16 + j%16]; row is ignored.
                        ///< What fovea_kv_append writes; decoding streams it. Whole panels must be readable
};

/// Where the number of keys comes from, in fovea_attention_args.
enum fovea_kv_len {
    FOVEA_KV_LEN_ALL = 0,       ///< args.kv_len for every row
    FOVEA_KV_LEN_BATCH = 1,     ///< args.kv_lens[b]
    FOVEA_KV_LEN_BATCH_ROW = 2, ///< args.kv_lens[b * q_len + i]
};

/// An attention problem at its capacity; lengths and pointers are args. Sizes may be 0 but for d and dv.
struct fovea_attention_desc {
    uint32_t struct_size; ///< sizeof(struct fovea_attention_desc)
    uint32_t causal;      ///< 1: key j is visible to row i iff j <= i + q_offset
    size_t batch, heads, kv_heads;
    size_t q_len, kv_len;    ///< capacities: the most queries and keys of a call
    size_t qk_dim, v_dim;    ///< 1 to 512
    float scale;             ///< default NaN, meaning 1/sqrt(d); otherwise finite
    enum fovea_k_layout k_layout;
    struct fovea_strides q, k, v, out; ///< unit stride inside a row
    enum fovea_kv_len kv_len_kind;
    uint32_t mask; ///< 1: args.mask, bytes, nonzero = attend
    uint32_t bias; ///< 1: args.bias, f32, added to the score; -inf hides the key from the row
    size_t mask_batch, mask_head, mask_row, mask_key; ///< strides in elements; 0 broadcasts
    size_t bias_batch, bias_head, bias_row, bias_key;
};
/// Fills in the defaults: scale 1/sqrt(d), everything else 0. size is sizeof(*desc).
FOVEA_API enum fovea_status fovea_attention_desc_init(struct fovea_attention_desc *desc, size_t size);

/// One call. Masks compose by AND; a row that sees no key gives 0, and -inf as its LSE.
struct fovea_attention_args {
    const float *q, *k, *v;
    float *out;
    float *lse;             ///< NULL, or (B, H, Lq) dense: natural log of the sum of exp of the scores
    size_t batch, q_len, kv_len; ///< of this call, each at most the plan's
    /// NULL, or the batch strides of q, k, v and out in this call in place of the plan's: dense tensors of another length
    /// than the plan's capacity have others.
    const size_t *batch_strides;
    int64_t q_offset;       ///< causal: absolute position of row 0. 0 = top-left, kv_len - q_len = bottom-right
    const int64_t *q_offsets;  ///< NULL, or one for each batch in place of q_offset
    const uint32_t *kv_lens;   ///< as kv_len_kind says; each is clamped to kv_len
    const uint8_t *mask;
    const float *bias;
};

/// As fovea/gemm.h. Prefill scratch depends on head sizes and the query tile alone.
FOVEA_API size_t fovea_attention_plan_size(void);
FOVEA_API enum fovea_status fovea_attention_plan(const struct fovea_engine *engine,
                                                 const struct fovea_attention_desc *desc, void *plan);
FOVEA_API enum fovea_status fovea_explain_attention(const struct fovea_engine *engine,
                                                    const struct fovea_attention_desc *desc, char *text,
                                                    size_t text_size);
FOVEA_API enum fovea_status fovea_attention(const void *plan, const struct fovea_attention_args *args, void *shared,
                                            void *scratch, const struct fovea_executor *executor);
FOVEA_API uint32_t fovea_attention_tasks(const void *plan, const struct fovea_attention_args *args, uint32_t phase);
FOVEA_API enum fovea_status fovea_attention_task(const void *plan, const struct fovea_attention_args *args,
                                                 void *shared, void *scratch, uint32_t phase, uint32_t task);
FOVEA_API enum fovea_status fovea_attention_once(const struct fovea_engine *engine,
                                                 const struct fovea_attention_desc *desc,
                                                 const struct fovea_attention_args *args);

/// A cache of keys and values for one layer: K in panels of 16 keys, V in rows, for each (batch, head).
struct fovea_kv_cache {
    uint32_t struct_size;
    uint32_t reserved;
    size_t batch, kv_heads, capacity; ///< capacity in keys
    size_t qk_dim, v_dim;
    float *k; ///< batch x kv_heads x ceil(capacity / 16) * 16 * qk_dim elements
    float *v; ///< batch x kv_heads x capacity x v_dim elements
};
/// Elements of k and v for the sizes set in cache. Errors: NULL, STRUCT, OVERFLOW.
FOVEA_API enum fovea_status fovea_kv_cache_size(const struct fovea_kv_cache *cache, size_t *k_elements,
                                                size_t *v_elements);
/// Writes `len` keys and values of batch b at positions pos..pos+len-1 of the cache; k and v are (len, Hkv, d) views:
/// k[j * k_strides.row + h * k_strides.head + c]. Errors: NULL, STRUCT, SHAPE (past the capacity), STRIDE.
FOVEA_API enum fovea_status fovea_kv_append(const struct fovea_kv_cache *cache, size_t b, size_t pos, size_t len,
                                            const float *k, struct fovea_strides k_strides, const float *v,
                                            struct fovea_strides v_strides);

#ifdef __cplusplus
}
#endif

#endif
