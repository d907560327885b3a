// SPDX-License-Identifier: Apache-2.0
// fovea/layer.h - one layer of an encoder, a decoder or a decoder-only stack: attention, feed-forward network (FFN),
// residuals, norms.
//
//     post-norm: x = norm1(x + self(x));  [x = norm2(x + cross(x, memory));]  x = norm3(x + ffn(x))
//     pre-norm:  x = x + self(norm1(x));  [x = x + cross(norm2(x), memory);]  x = x + ffn(norm3(x))
//     sandwich:  x = x + norm1_out(self(norm1(x)));  [x = x + norm2_out(cross(norm2(x), memory));]
//                x = x + norm3_out(ffn(norm3(x)))
//     ffn(x) = act(x W_up^T + b_up) W_down^T + b_down
//     gated: ffn(x) = (act(x W_gate^T + b_gate) * (x W_up^T + b_up)) W_down^T + b_down    (SwiGLU: silu, GEGLU: gelu)
//
// Only a decoder layer has the part in brackets (and its norms). Norms are LayerNorm or RMSNorm. A row of y depends
// only on its own row of x and on the rows it attends to: a sequence computed whole, in pieces or token by token with
// caches has identical bits, unless something is dropped. (Caches of 16-bit elements have rounded keys and values: all
// of these then use such caches.)
#ifndef FOVEA_LAYER_H
#define FOVEA_LAYER_H

#include "fovea/mha.h"

#ifdef __cplusplus
extern "C" {
#endif

enum fovea_norm_place {
    FOVEA_NORM_POST = 0, ///< as in "Attention Is All You Need"
    FOVEA_NORM_PRE = 1,
    FOVEA_NORM_SANDWICH = 2, ///< before each part and, by norms of their own, after it, as in Gemma 2 and 3
};

enum fovea_norm_kind {
    FOVEA_NORM_LAYER = 0, ///< LayerNorm: (x - mean) / sqrt(variance + eps) * gamma + beta
    FOVEA_NORM_RMS = 1,   ///< RMSNorm: x / sqrt(mean of x^2 + eps) * gamma + beta
};

struct fovea_norm {
    const float *gamma, *beta; ///< width elements each; either may be NULL
};

/// The blobs are made by fovea_pack, as in fovea/mha.h, or by its relatives with weight_type. The norm of the FFN is
/// norm3 in every kind of layer: the "norm2" of an encoder layer in PyTorch, and in model files, goes there. norm2
/// belongs to cross-attention; a layer without cross-attention refuses a norm2 that is set. In Llama norm1 is
/// input_layernorm and norm3 post_attention_layernorm; up is made of gate_proj and up_proj, and down is down_proj. In
/// Gemma 2 and 3 norm1 is input_layernorm, norm1_out post_attention_layernorm, norm3 pre_feedforward_layernorm and
/// norm3_out post_feedforward_layernorm; their gammas are 1 + what is stored. Weights that a layer does not use are not
/// read: cross_attention except in decoders, and its k and v in a cached decoder. With qk_norm the gammas of queries
/// and keys are those of self_attention; a cross_attention that has some is refused.
struct fovea_layer_weights {
    struct fovea_mha_weights self_attention, cross_attention; ///< cross: decoder only
    struct fovea_norm norm1, norm2, norm3; ///< after or before self-attention; cross-attention (decoder only); the FFN
    /// With FOVEA_NORM_SANDWICH the norms of what these give. Otherwise none may be set.
    struct fovea_norm norm1_out, norm2_out, norm3_out;
    struct fovea_linear up;   ///< width to ffn. Gated: width to 2 ffn, with the gate's output j in column 2j and up's
                              ///< in 2j + 1 (see fovea_pack_gated); the bias is interleaved in the same way.
    struct fovea_linear down; ///< ffn to width
};

/// A layer at its capacity; the lengths and pointers of a call are in fovea_layer_args. batch and lengths may be 0;
/// batch is below 2^30, lengths, and len x beams, are below 2^32. width, ffn, heads, qk_dim and v_dim are at least 1.
struct fovea_layer_desc {
    uint32_t struct_size;             ///< sizeof(struct fovea_layer_desc)
    uint32_t decoder;                 ///< 1: causal self-attention, then cross-attention to args.memory
    uint32_t causal;                  ///< 1: causal self-attention only: a layer of a decoder-only stack. Not together
                                      ///< with decoder
    enum fovea_norm_place norm;       ///< default FOVEA_NORM_POST
    enum fovea_norm_kind norm_kind;   ///< default LayerNorm
    enum fovea_activation activation; ///< activation of the FFN, default none
    uint32_t gated;                   ///< 1: the FFN is gated
    float eps;                        ///< eps of all norms, default 1e-5; finite, at least 0
    uint32_t cached; ///< 1 (decoder or causal only): self-attention appends to args.self_cache, and a decoder's
                     ///< cross-attention reads args.cross_cache
    size_t batch, len, memory_len; ///< The most sequences and positions of a call, and, in a decoder, the most rows of
                                   ///< a memory. If cached, memory_len is exactly the capacity of cross_cache. Without
                                   ///< cross-attention memory_len is 0.
    size_t kv_len;               ///< if cached: exactly the capacity of self_cache or, with page_keys, the most keys of
                                 ///< a sequence; at least len
    size_t page_keys;            ///< if cached: 0, the default: self-attention has its keys in args.self_cache.
                                 ///< Otherwise in pages of this many keys of args.self_pool, as in fovea_mha_desc.
    size_t rows;                 ///< The most rows of x of a call; 0, the default: batch x len. For ragged batches.
                                 ///< More than the default means the default.
    size_t beams;                ///< Decoder: the most sequences that share one memory (default 1); divides batch. A
                                 ///< call has at most batch / beams memories. Without cross-attention 1
    size_t width;                ///< d_model
    size_t memory_width;         ///< Decoder: width of args.memory; 0, the default: the same as width. Without
                                 ///< cross-attention 0
    size_t heads, qk_dim, v_dim; ///< qk_dim and v_dim of one head, 1 to 512
    size_t kv_heads;             ///< a divisor of heads (grouped queries); 0, the default: equal to heads
    size_t ffn;                  ///< inner width of the FFN
    // Self-attention: which keys a query sees, and how it scores them, as in fovea_mha_desc. Cross-attention has no
    // window, softcap or qk_norm, and the default scale.
    size_t window_left;  ///< default FOVEA_WINDOW_ALL. Of causal models with a sliding_window of W keys: W - 1
    size_t window_right; ///< Encoder, not causal: default FOVEA_WINDOW_ALL. A causal layer takes no other value, as its
                         ///< queries see nothing on their right.
    float softcap;       ///< default 0: none
    float scale;         ///< default FOVEA_SCALE_DEFAULT, 1/sqrt(qk_dim); finite
    uint32_t qk_norm;    ///< 1: RMSNorm of each head's queries and keys, with `eps`; default 0
    // Rotary positions of self-attention, as in fovea_mha_desc; default 0: none.
    size_t rotary_dim;
    uint32_t rotary_adjacent;
    size_t rotary_positions; ///< at least len; if cached, at least kv_len

    enum fovea_type weight_type; ///< of the elements of all weights' blobs, as in fovea_mha_desc; default FOVEA_F32
    enum fovea_type kv_type;     ///< if cached: of the elements of self_cache or self_pool, and of cross_cache, as in
                                 ///< fovea_mha_desc; default FOVEA_F32
    float dropout; ///< dropout in training: of attention weights, of the FFN's activations, and of what each sublayer
                   ///< adds to its residual. 0 <= p < 1, default 0
};
/// Sets the defaults: eps 1e-5, beams 1, scale 1/sqrt(qk_dim), unbounded windows, everything else 0, which is a
/// post-norm encoder. size is sizeof(*desc). Always start with this call: a zeroed descriptor has scale 0 and windows
/// of one key. Errors: NULL, STRUCT.
FOVEA_API enum fovea_status fovea_layer_desc_init(struct fovea_layer_desc *desc, size_t size);

/// Arguments of one call. A pointer, a position or a size of memories that the kind of layer does not use is refused,
/// because it would silently be ignored.
struct fovea_layer_args {
    const struct fovea_layer_weights *weights;
    const float *x;      ///< (batch, len, width) dense
    float *y;            ///< same shape; may be x, and must overlap nothing else
    const float *memory; ///< Decoder, not cached: (batch / beams, memory_len, memory_width) dense. May be NULL if
                         ///< memory_len is 0.
    size_t batch, len, memory_len; ///< At most the plan's. If batch or len is 0 nothing is computed, the result is OK,
                                   ///< and all pointers may be NULL; starts must then have no rows. If memory_len (if
                                   ///< cached, the number of keys in cross_cache) is 0, cross-attention adds only its
                                   ///< b_o. Without cross-attention memory_len is 0.
    size_t beams; ///< Decoder: sequences b * beams ... b * beams + beams - 1 attend to memory b. At least 1,
                  ///< divides batch. Without cross-attention 0 or 1
    /// NULL, or a ragged batch, for example prompts beside single tokens: batch + 1 ascending numbers from 0 on.
    /// Sequence b is the rows from starts[b] to before starts[b + 1] of x and y, at most len. It may have none
    /// (starts[b] equals starts[b + 1]). If cached, positions are required. Not in decoders that are not cached, nor
    /// with beams above 1. Dropped outputs depend on the rows before a sequence.
    const uint32_t *starts;
    size_t position; ///< if cached: number of keys already in self_cache or pages, which is the position of the first
                     ///< row of x; otherwise 0
    const size_t *positions; ///< if cached: NULL, or one per sequence, replacing position, as in fovea_mha_args; not
                             ///< together with both beams above 1 and dropout
    const uint32_t *lens;    ///< Encoder, not causal: how many positions of each sequence are valid as keys, clamped to
                             ///< len; NULL: all. Rows after them are computed, too.
    const uint32_t *memory_lens; ///< decoder: the same for each memory, or NULL
    /// If cached: caches with the plan's key heads, dims and kv_type. self_cache holds kv_len keys for at least batch
    /// sequences; self-attention appends len keys to it at position or positions. cross_cache holds the plan's
    /// memory_len keys for at least batch / beams memories; fill it with fovea_mha (FOVEA_MHA_APPEND at position 0, no
    /// queries, the weights of cross_attention). With starts one such call fills it from memories of different lengths.
    const struct fovea_kv_cache *self_cache, *cross_cache;
    const struct fovea_kv_pages *self_pool; ///< with page_keys, in place of self_cache; pages as in fovea_mha_args
    const uint32_t *pages;
    size_t pages_batch;
    const float *rotary_cos, *rotary_sin; ///< with rotary_dim, as in fovea_mha_args
    const float *slopes, *sinks; ///< of self-attention: NULL, or ALiBi, and NULL, or sinks: one for each head, as in
                                 ///< fovea_mha_args
    // Training: what is dropped is determined by seed and by a site number for each dropout. Self-attention has `site`,
    // cross-attention site + 1, the FFN's activations site + 2 and its output site + 3. Give the layers of a model
    // sites 4 apart. Attention weights are drawn under seed + site: seeds of different steps must be at least as far
    // apart as a model has sites, or layers of one step drop what others dropped in another.
    uint64_t seed;
    uint32_t site;
    uint32_t eval; ///< 1: no dropout in this call; the bits are those of a plan without dropout
};

/// Size of a plan in bytes. A plan begins with its struct fovea_work, must be 64-byte aligned, and may be copied to
/// another aligned place.
FOVEA_API size_t fovea_layer_plan_size(void);
/// Validates the descriptor and fills plan. The engine must outlive it. Shared memory holds 4 rows (width + ffn)
/// bytes, plus what its attentions (see fovea_mha_plan) and products need. A plan is never written again: it serves all
/// layers of its shape, and several calls at once, each with its own shared and scratch and, if cached, its own
/// self_cache.
/// Errors: NULL, STRUCT, ENUM, SHAPE, OVERFLOW, VALUE (eps, dropout, scale, softcap; page_keys, kv_type without
/// caches; caches without causal order; memory_len, memory_width, beams above 1 without cross-attention; window_right
/// of a causal layer; decoder and causal both set), ALIGN (plan).
FOVEA_API enum fovea_status fovea_layer_plan(const struct fovea_engine *engine, const struct fovea_layer_desc *desc,
                                             void *plan);
/// Writes one line that says what a plan would do, or why there is none. Returns what fovea_layer_plan would. The line
/// is truncated to text_size, for which FOVEA_EXPLAIN_BYTES is enough; text may be NULL.
FOVEA_API enum fovea_status fovea_explain_layer(const struct fovea_engine *engine, const struct fovea_layer_desc *desc,
                                                char *text, size_t text_size);
/// Writes one line that says what is wrong with a call, or what it would compute. Returns what fovea_layer would,
/// except that memory and executor are not checked.
FOVEA_API enum fovea_status fovea_explain_layer_call(const void *plan, const struct fovea_layer_args *args, char *text,
                                                     size_t text_size);
/// Runs a plan on an executor (NULL: in the calling thread). The plan's fovea_work gives the sizes of shared and
/// scratch. After an error neither y nor self_cache has been written. Only the header of a packed blob is checked; see
/// fovea_pack_check for all of it.
/// Errors: NULL, SHAPE (a size above the plan's, more memories than batch / beams of the plan, beams, a cache of other
/// sizes, a position + len above its capacity or rotary_positions, starts that do not ascend or have more than len rows
/// of a sequence, a page that the pool does not have), STRUCT (caches, pool, not a plan of a layer), ALIGN (shared,
/// scratch, blobs), FORMAT (not a blob of the required shape and type, a cache or pool of another type), VALUE (no
/// workers; a position beside positions; a norm2 without cross-attention, a norm1_out, norm2_out or norm3_out that the
/// layer does not have, a q_norm or k_norm without qk_norm or of cross-attention, or anything else that this kind of
/// layer does not use), UNSUPPORTED (positions with beams and dropout; starts with beams; a cache or pool with K in
/// rows), ENUM (eval; the k_rows or type of a cache or pool).
///
/// Accuracy: there is no bound for a layer as a whole. Against exact arithmetic on its own, rounded inputs, each
/// product has the bound of fovea_gemm (docs/numerics.md, section 2), each activation that of section 5, and attention
/// that of fovea_attention. For norms section 4 lists the operations, but gives no bound.
FOVEA_API enum fovea_status fovea_layer(const void *plan, const struct fovea_layer_args *args, void *shared,
                                        void *scratch, const struct fovea_executor *executor);
/// The same, task by task. The tasks of a phase may run in any order and on any threads, each with its own scratch.
/// fovea_layer_tasks gives their number, 0 if args are invalid. fovea_layer_task returns SHAPE for a task that does not
/// exist. Each of these calls validates all sequences anew (Zen 4: 256 in 2 us), which fovea_layer does once.
FOVEA_API uint32_t fovea_layer_tasks(const void *plan, const struct fovea_layer_args *args, uint32_t phase);
FOVEA_API enum fovea_status fovea_layer_task(const void *plan, const struct fovea_layer_args *args, void *shared,
                                             void *scratch, uint32_t phase, uint32_t task);
/// Plans, allocates, runs in the calling thread, frees. Errors: also MEMORY.
FOVEA_API enum fovea_status fovea_layer_once(const struct fovea_engine *engine, const struct fovea_layer_desc *desc,
                                             const struct fovea_layer_args *args);

#ifdef __cplusplus
}
#endif

#endif
