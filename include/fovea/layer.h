// SPDX-License-Identifier: Apache-2.0
// fovea/layer.h - one encoder or decoder layer: attention, feed-forward network, residuals, norms.
//
//     post-norm: x = norm1(x + self(x));  [x = norm2(x + cross(x, memory));]  x = norm3(x + ffn(x))
//     pre-norm:  x = x + self(norm1(x));  [x = x + cross(norm2(x), memory);]  x = x + ffn(norm3(x))
//     ffn(x) = act(x W_up^T + b_up) W_down^T + b_down
//     gated: ffn(x) = (act(x W_gate^T + b_gate) * (x W_up^T + b_up)) W_down^T + b_down    (SwiGLU: silu, GEGLU: gelu)
//
// An encoder layer has no part in brackets (and no norm2). The norms are LayerNorm or RMSNorm.
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

struct fovea_layer_weights {
    struct fovea_mha_weights self_attention, cross_attention; ///< cross: decoder only
    struct fovea_norm norm1, norm2, norm3;                    ///< norm2: decoder only
    struct fovea_linear up;   ///< width to ffn; gated: width to 2 ffn, the gate's output j in column 2j and up's in
                              ///< 2j + 1: fovea_pack_gated; the bias is interleaved likewise
    struct fovea_linear down; ///< ffn to width
};

struct fovea_layer_desc {
    uint32_t struct_size; ///< sizeof(struct fovea_layer_desc)
    uint32_t decoder;     ///< 1: causal self-attention, then cross-attention to args.memory
    enum fovea_norm_place norm;
    enum fovea_norm_kind norm_kind;   ///< default LayerNorm
    enum fovea_activation activation; ///< of the FFN
    uint32_t gated;                   ///< 1: the FFN is gated
    float eps;                        ///< of the norms, default 1e-5
    uint32_t cached; ///< decoder: self-attention appends to args.self_cache, cross-attention reads args.cross_cache
    size_t batch, len, memory_len; ///< capacities; cached: self-attention keys at most kv_len
    size_t kv_len;                 ///< cached: capacity of self_cache
    size_t beams;                  ///< decoder: the most sequences that share one memory (default 1); divides batch.
                                   ///< A call has at most batch / beams memories
    size_t width;                  ///< d_model
    size_t memory_width;           ///< of args.memory, 0: width
    size_t heads, qk_dim, v_dim;   ///< of one head
    size_t ffn;                    ///< inner width
    float dropout;                 ///< training: of attention weights, of the FFN's activations, and of what each
                                   ///< sublayer adds to its residual; default 0, 0 <= p < 1
};
FOVEA_API enum fovea_status fovea_layer_desc_init(struct fovea_layer_desc *desc, size_t size);

struct fovea_layer_args {
    const struct fovea_layer_weights *weights;
    const float *x;      ///< (batch, len, width) dense
    float *y;            ///< the same; may be x
    const float *memory; ///< decoder, not cached: (batch / beams, memory_len, memory_width) dense
    size_t batch, len, memory_len;
    size_t beams;                ///< decoder: sequences b * beams ... b * beams + beams - 1 see memory b; at least 1
    size_t position;             ///< cached: keys already in self_cache
    const uint32_t *lens;        ///< encoder: valid positions of each batch, or NULL for all
    const uint32_t *memory_lens; ///< decoder: the same for each memory, or NULL
    const struct fovea_kv_cache *self_cache, *cross_cache;
    // Training: what is dropped follows from seed and from the sites: self-attention has `site`, cross-attention the
    // next, the FFN's activations and its output the two after it. Layers of a model take sites 4 apart.
    uint64_t seed;
    uint32_t site;
    uint32_t eval; ///< 1: no dropout in this call: the bits of a plan without
};

/// As fovea/gemm.h.
FOVEA_API size_t fovea_layer_plan_size(void);
FOVEA_API enum fovea_status fovea_layer_plan(const struct fovea_engine *engine, const struct fovea_layer_desc *desc,
                                             void *plan);
FOVEA_API enum fovea_status fovea_explain_layer(const struct fovea_engine *engine, const struct fovea_layer_desc *desc,
                                                char *text, size_t text_size);
FOVEA_API enum fovea_status fovea_layer(const void *plan, const struct fovea_layer_args *args, void *shared,
                                        void *scratch, const struct fovea_executor *executor);
FOVEA_API uint32_t fovea_layer_tasks(const void *plan, const struct fovea_layer_args *args, uint32_t phase);
FOVEA_API enum fovea_status fovea_layer_task(const void *plan, const struct fovea_layer_args *args, void *shared,
                                             void *scratch, uint32_t phase, uint32_t task);

#ifdef __cplusplus
}
#endif

#endif
