// SPDX-License-Identifier: Apache-2.0
// fovea/layer.h - one encoder or decoder layer, or one of a decoder-only stack: attention, feed-forward network,
// residuals, norms.
//
//     post-norm: x = norm1(x + self(x));  [x = norm2(x + cross(x, memory));]  x = norm3(x + ffn(x))
//     pre-norm:  x = x + self(norm1(x));  [x = x + cross(norm2(x), memory);]  x = x + ffn(norm3(x))
//     ffn(x) = act(x W_up^T + b_up) W_down^T + b_down
//     gated: ffn(x) = (act(x W_gate^T + b_gate) * (x W_up^T + b_up)) W_down^T + b_down    (SwiGLU: silu, GEGLU: gelu)
//
// Only a decoder layer has the part in brackets (and norm2). The norms are LayerNorm or RMSNorm; the scale of scores is
// 1/sqrt(qk_dim). A row of y depends on its own row of x and on those it attends to: a sequence whole, in pieces or
// token by token with caches has the same bits, unless something is dropped.
#ifndef FOVEA_LAYER_H
#define FOVEA_LAYER_H

#include "fovea/mha.h"

#ifdef __cplusplus
extern "C" {
#endif

enum fovea_norm_place {
    FOVEA_NORM_POST = 0, ///< as in "Attention Is All You Need"
    FOVEA_NORM_PRE = 1,
};

enum fovea_norm_kind {
    FOVEA_NORM_LAYER = 0, ///< LayerNorm: (x - mean) / sqrt(variance + eps) * gamma + beta
    FOVEA_NORM_RMS = 1,   ///< RMSNorm: x / sqrt(mean of x^2 + eps) * gamma + beta
};

struct fovea_norm {
    const float *gamma, *beta; ///< width elements; either may be NULL
};

/// Blobs are those of fovea_pack, as in fovea/mha.h. What a layer has no use for is not looked at: cross_attention and
/// norm2 of all but decoders, k and v of the cross_attention of a cached decoder.
struct fovea_layer_weights {
    struct fovea_mha_weights self_attention, cross_attention; ///< cross: decoder only
    struct fovea_norm norm1, norm2, norm3;                    ///< norm2: decoder only
    struct fovea_linear up;   ///< width to ffn; gated: width to 2 ffn, the gate's output j in column 2j and up's in
                              ///< 2j + 1: fovea_pack_gated; the bias is interleaved likewise
    struct fovea_linear down; ///< ffn to width
};

/// A layer at its capacity; lengths and pointers are args. batch and lengths may be 0; width, ffn, heads, qk_dim and
/// v_dim are at least 1.
struct fovea_layer_desc {
    uint32_t struct_size;             ///< sizeof(struct fovea_layer_desc)
    uint32_t decoder;                 ///< 1: causal self-attention, then cross-attention to args.memory
    uint32_t causal;                  ///< 1: causal self-attention, not of a decoder: a layer of a decoder-only stack
    enum fovea_norm_place norm;       ///< default FOVEA_NORM_POST
    enum fovea_norm_kind norm_kind;   ///< default LayerNorm
    enum fovea_activation activation; ///< of the FFN, default none
    uint32_t gated;                   ///< 1: the FFN is gated
    float eps;                        ///< of the norms, default 1e-5; finite, at least 0
    uint32_t cached; ///< decoder, causal: self-attention appends to args.self_cache, a decoder's cross-attention reads
                     ///< args.cross_cache
    size_t batch, len, memory_len; ///< the most sequences and positions of a call, and rows of a memory; cached:
                                   ///< memory_len is exactly the capacity of cross_cache
    size_t kv_len;                 ///< cached: exactly the capacity of self_cache, at least len
    size_t beams;                  ///< decoder: the most sequences that share one memory (default 1); divides batch.
                                   ///< A call has at most batch / beams memories
    size_t width;                  ///< d_model
    size_t memory_width;           ///< of args.memory, 0: width
    size_t heads, qk_dim, v_dim;   ///< dims of one head, 1 to 512
    size_t kv_heads;               ///< a divisor of heads: grouped queries; 0, the default: as many as heads
    size_t ffn;                    ///< inner width
    // Rotary positions of self-attention, as in fovea_mha_desc; default 0: none.
    size_t rotary_dim;
    uint32_t rotary_adjacent;
    size_t rotary_positions;
    float dropout; ///< training: of attention weights, of the FFN's activations, and of what each
                   ///< sublayer adds to its residual; default 0, 0 <= p < 1
};
/// Fills in the defaults: eps 1e-5, beams 1, everything else 0: an encoder, post-norm. size is sizeof(*desc). Errors:
/// NULL, STRUCT.
FOVEA_API enum fovea_status fovea_layer_desc_init(struct fovea_layer_desc *desc, size_t size);

/// One call. What the kind of layer has no use for is ignored.
struct fovea_layer_args {
    const struct fovea_layer_weights *weights;
    const float *x;      ///< (batch, len, width) dense
    float *y;            ///< the same; may be x and overlaps nothing else
    const float *memory; ///< decoder, not cached: (batch / beams, memory_len, memory_width) dense. NULL is legal where
                         ///< memory_len is 0
    size_t batch, len, memory_len; ///< at most the plan's. batch or len 0 computes nothing, is OK, and all pointers may
                                   ///< be NULL. memory_len, cached the keys in cross_cache, 0: cross-attention adds
                                   ///< its b_o alone
    size_t beams;         ///< decoder: sequences b * beams ... b * beams + beams - 1 see memory b; at least 1, divides
                          ///< batch
    size_t position;      ///< cached: keys already in self_cache, the position of the first row of x
    const uint32_t *lens; ///< encoder, not causal: positions of each sequence that others see, or NULL for all; clamped
                          ///< to len. Rows behind them are computed, too
    const uint32_t *memory_lens; ///< decoder: the same for each memory, or NULL
    /// Cached, with the plan's key heads and dims. self_cache: kv_len keys for at least batch sequences; self-attention
    /// appends len keys at position. cross_cache: memory_len of the plan for at least batch / beams memories; a
    /// fovea_mha filled it (FOVEA_MHA_APPEND at position 0, no queries, the weights of cross_attention).
    const struct fovea_kv_cache *self_cache, *cross_cache;
    const float *rotary_cos, *rotary_sin; ///< with rotary_dim, as in fovea_mha_args
    // Training: what is dropped follows from seed and from the sites: self-attention has `site`, cross-attention the
    // next, the FFN's activations and its output the two after it. Layers of a model take sites 4 apart.
    uint64_t seed;
    uint32_t site;
    uint32_t eval; ///< 1: no dropout in this call: the bits of a plan without
};

/// Bytes of a plan. A plan begins with its struct fovea_work, is 64-byte aligned and may be copied to such a place.
FOVEA_API size_t fovea_layer_plan_size(void);
/// Validates the descriptor and fills plan. The engine must outlive it. Shared memory holds 4 batch len (width + ffn)
/// bytes, and what its attentions (see fovea_mha_plan) and products need. Nothing writes to a plan again: one serves
/// all layers of its shape, and several calls at once, each with shared and scratch of its own, cached ones with a
/// self_cache of their own.
/// Errors: NULL, STRUCT, ENUM, SHAPE, OVERFLOW, VALUE (eps, dropout, a decoder that is causal besides), ALIGN (plan).
FOVEA_API enum fovea_status fovea_layer_plan(const struct fovea_engine *engine, const struct fovea_layer_desc *desc,
                                             void *plan);
/// Writes one line that says what a plan would do, or why there is none; returns what fovea_layer_plan would. The line
/// is cut to text_size bytes; text may be NULL.
FOVEA_API enum fovea_status fovea_explain_layer(const struct fovea_engine *engine, const struct fovea_layer_desc *desc,
                                                char *text, size_t text_size);
/// Writes one line that says what is wrong with a call, or what it would compute; returns what fovea_layer would, but
/// for its memories and executor.
FOVEA_API enum fovea_status fovea_explain_layer_call(const void *plan, const struct fovea_layer_args *args, char *text,
                                                     size_t text_size);
/// Runs a plan on an executor (NULL: in this thread). shared and scratch as plan's fovea_work says. After an error
/// neither y nor self_cache has been written. Of a blob only the header is checked, see fovea_pack_check.
/// Errors: NULL, SHAPE (a size above the plan's, more memories than batch / beams of the plan, beams, a cache of other
/// sizes, position + len above its capacity or rotary_positions), STRUCT (caches, another's plan), ALIGN (memories,
/// blobs), FORMAT (a foreign blob, or of another shape), VALUE (no workers).
///
/// Accuracy: no bound is stated for the whole. Each product has that of fovea_gemm (docs/numerics.md, section 2), each
/// activation that of section 5, attention that of fovea_attention, against exact arithmetic on its own, rounded
/// inputs; of norms section 4 has the operations, and no bound.
FOVEA_API enum fovea_status fovea_layer(const void *plan, const struct fovea_layer_args *args, void *shared,
                                        void *scratch, const struct fovea_executor *executor);
/// The same task by task: tasks of a phase in any order, on any threads, each with a scratch of its own. The number of
/// tasks is 0 where args are wrong; a task that is not there gives SHAPE.
FOVEA_API uint32_t fovea_layer_tasks(const void *plan, const struct fovea_layer_args *args, uint32_t phase);
FOVEA_API enum fovea_status fovea_layer_task(const void *plan, const struct fovea_layer_args *args, void *shared,
                                             void *scratch, uint32_t phase, uint32_t task);
/// Plans, allocates, runs in this thread, frees. Also MEMORY.
FOVEA_API enum fovea_status fovea_layer_once(const struct fovea_engine *engine, const struct fovea_layer_desc *desc,
                                             const struct fovea_layer_args *args);

#ifdef __cplusplus
}
#endif

#endif
