// SPDX-License-Identifier: Apache-2.0
// fovea/transformer.h - the whole encoder-decoder Transformer: embeddings, positions, N layers, final linear,
// log-softmax, incremental decoding, greedy and beam search.
//
// A model is an object that owns its packed weights, caches and work memory; it allocates when it is made and never
// again. One model serves one call at a time; several models may share an engine.
#ifndef FOVEA_TRANSFORMER_H
#define FOVEA_TRANSFORMER_H

#include "fovea/layer.h"
#include "fovea/safetensors.h"

#ifdef __cplusplus
extern "C" {
#endif

enum fovea_positions {
    FOVEA_POSITIONS_SINUSOIDAL = 0, ///< sin and cos of pos / 10000^(2i/d), interleaved
    FOVEA_POSITIONS_LEARNED = 1,    ///< tensors source_positions.weight and target_positions.weight
    FOVEA_POSITIONS_NONE = 2,
};

/// The architecture. fovea_transformer_config_from reads it from a file's metadata ("fovea.d_model", ...) and tensors.
/// Tensors have PyTorch's shapes, [outputs, inputs]; those of a feed-forward network are ffn.up and ffn.down, gated
/// ffn.gate, ffn.up and ffn.down (Hugging Face's gate_proj, up_proj, down_proj): docs/architecture.md names all.
struct fovea_transformer_config {
    uint32_t struct_size; ///< sizeof(struct fovea_transformer_config)
    enum fovea_norm_place norm;
    enum fovea_norm_kind norm_kind; ///< of every norm, the final ones too
    enum fovea_activation activation;
    uint32_t gated; ///< 1: feed-forward networks have a tensor ffn.gate beside ffn.up (found by the tensors)
    enum fovea_positions positions;
    float eps;
    uint32_t scale_embeddings; ///< 1: embeddings are multiplied by sqrt(d_model)
    uint32_t final_norm;       ///< 1: encoder.norm and decoder.norm exist (found by the tensors)
    uint32_t pad, bos, eos;    ///< token ids
    size_t d_model, heads, qk_dim, v_dim, ffn;
    size_t encoder_layers, decoder_layers;
    size_t source_vocab, target_vocab;
};
FOVEA_API enum fovea_status fovea_transformer_config_from(const struct fovea_safetensors *file,
                                                          struct fovea_transformer_config *config, char *message,
                                                          size_t message_size);

/// Capacities of one model object.
struct fovea_transformer_options {
    uint32_t struct_size;          ///< sizeof(struct fovea_transformer_options)
    uint32_t workers;              ///< the most workers of an executor, at least 1
    size_t batch;                  ///< the most sequences of a call
    size_t beam;                   ///< the widest beam, at least 1
    size_t max_source, max_target; ///< the longest sequences, in tokens
    float dropout; ///< training: of embeddings with their positions, and in each layer what fovea_layer_desc.dropout
                   ///< names; default 0, 0 <= p < 1
};

struct fovea_transformer;
/// Packs the weights of file (names: docs/architecture.md) and makes every plan and buffer. The file may be closed
/// afterwards. message (may be NULL) names the tensor where one is missing or has another shape.
FOVEA_API enum fovea_status
fovea_transformer_create(const struct fovea_engine *engine, const struct fovea_safetensors *file,
                         const struct fovea_transformer_config *config, const struct fovea_transformer_options *options,
                         struct fovea_transformer **out, char *message, size_t message_size);
FOVEA_API void fovea_transformer_destroy(struct fovea_transformer *model);
FOVEA_API const struct fovea_transformer_config *fovea_transformer_config(const struct fovea_transformer *model);

/// Whether the encodings and whole prefixes that follow are training, on = 1, or not, as for a model just made.
/// Training drops by seed: encoder layer i has the sites (fovea/layer.h) from 4 i on, decoder layer i those from 4
/// (encoder_layers + i) on, the source's and the target's embeddings the two behind all of them. Attention weights are
/// drawn under seed + site, so seeds of different steps lie at least 4 x layers apart. Without training the bits are
/// those of a model with dropout 0; searches never drop, and cached steps only see what the encoding dropped.
/// Errors: NULL, ENUM (on).
FOVEA_API enum fovea_status fovea_transformer_train(struct fovea_transformer *model, uint32_t on, uint64_t seed);

/// Runs the encoder on batch sequences: tokens (batch, len), of which lens[b] are valid (NULL: all), and projects the
/// keys and values of every cross-attention once. What follows decodes from it.
FOVEA_API enum fovea_status fovea_transformer_encode(struct fovea_transformer *model, size_t batch, size_t len,
                                                     const uint32_t *tokens, const uint32_t *lens,
                                                     const struct fovea_executor *executor);
/// The decoder on whole prefixes, (batch, len) tokens that begin with bos: log-probabilities of every next token,
/// (batch, len, target_vocab). Uses no cache. Errors: NULL, SHAPE (nothing encoded, too long), VALUE (no such token).
FOVEA_API enum fovea_status fovea_transformer_decode(struct fovea_transformer *model, size_t len,
                                                     const uint32_t *tokens, float *log_probs,
                                                     const struct fovea_executor *executor);
/// One step with the cache, the same bits: the next token of each sequence (batch) at `position` (0: bos);
/// log-probabilities (batch, target_vocab). Positions follow one another from 0; going back to an earlier one is legal.
/// Errors: NULL, SHAPE (nothing encoded, a position skipped), VALUE (no such token).
FOVEA_API enum fovea_status fovea_transformer_step(struct fovea_transformer *model, size_t position,
                                                   const uint32_t *tokens, float *log_probs,
                                                   const struct fovea_executor *executor);

/// One finished sequence of a search.
struct fovea_hypothesis {
    float score;            ///< sum of log-probabilities, eos included
    size_t len;             ///< tokens, without bos and eos; max_target: it did not end
    const uint32_t *tokens; ///< owned by the model, until its next search
};
/// Encodes and searches: beam 1 is greedy. out gets the best hypothesis of each sequence. Definition of the beam:
/// docs/architecture.md (at each step the best `beam` of all continuations; ties: lower token, then lower parent).
FOVEA_API enum fovea_status fovea_transformer_search(struct fovea_transformer *model, size_t batch, size_t len,
                                                     const uint32_t *tokens, const uint32_t *lens, size_t beam,
                                                     struct fovea_hypothesis *out,
                                                     const struct fovea_executor *executor);

#ifdef __cplusplus
}
#endif

#endif
