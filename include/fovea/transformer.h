// SPDX-License-Identifier: Apache-2.0
// fovea/transformer.h - the whole encoder-decoder Transformer: embeddings, positions, N layers, final linear,
// log-softmax, incremental decoding, greedy and beam search.
//
// A model is an object that owns its packed weights, caches and work memory. It allocates only when it is created. A
// model serves one call at a time, from any thread; several models may share an engine and run at the same time.
//
// Calls take an executor (NULL: the calling thread) of at most options.workers workers. Besides the errors listed with
// each function, an invalid executor gives VALUE (no workers), SHAPE (too many) or NULL (no parallel_for). After an
// error nothing has been written: the encoding, the caches and the results of the last search remain valid.
//
// Accuracy: there is no bound for a whole model; fovea/layer.h gives those of its parts. tests/model/layers.c requires
// the log-probabilities of random models to be within 4 s sqrt(k) 2^-24 of float64, where s = 2 encoder_layers + 3
// decoder_layers + 1 and k is the largest of d_model, ffn and heads x v_dim.
#ifndef FOVEA_TRANSFORMER_H
#define FOVEA_TRANSFORMER_H

#include "fovea/layer.h"
#include "fovea/safetensors.h"

#ifdef __cplusplus
extern "C" {
#endif

/// What is added to the embedding at position pos, counted from 0 in source and target.
enum fovea_positions {
    FOVEA_POSITIONS_SINUSOIDAL = 0, ///< sin and cos of pos / 10000^(2i/d), interleaved
    FOVEA_POSITIONS_LEARNED = 1,    ///< tensors source_positions.weight and target_positions.weight, with at least
                                    ///< max_source and max_target rows
    FOVEA_POSITIONS_NONE = 2,
};

/// The architecture of a model. fovea_transformer_config_from reads it from a file's metadata ("fovea.d_model", ...)
/// and tensors. Tensors have PyTorch's shapes, [outputs, inputs]. Those of a feed-forward network are ffn.up and
/// ffn.down or, if gated, ffn.gate, ffn.up and ffn.down (Hugging Face's gate_proj, up_proj, down_proj);
/// docs/architecture.md lists all names. If you fill this in by hand, set every field. encoder_layers is the only size
/// that may be 0.
struct fovea_transformer_config {
    uint32_t struct_size;             ///< sizeof(struct fovea_transformer_config)
    enum fovea_norm_place norm;       ///< FOVEA_NORM_POST or FOVEA_NORM_PRE
    enum fovea_norm_kind norm_kind;   ///< of every norm, including the final ones
    enum fovea_activation activation; ///< of the feed-forward networks
    uint32_t gated; ///< 1: feed-forward networks have a tensor ffn.gate besides ffn.up (detected from the tensors)
    enum fovea_positions positions;
    float eps;                 ///< of every norm
    uint32_t scale_embeddings; ///< 1: embeddings are multiplied by sqrt(d_model)
    uint32_t final_norm;       ///< 1: encoder.norm and decoder.norm exist (detected from the tensors)
    uint32_t pad, bos, eos;    ///< token ids: pad of the source, bos and eos of the target. pad masks nothing (lens
                               ///< do); callers may use it to fill rows
    size_t d_model, heads, qk_dim, v_dim, ffn; ///< qk_dim and v_dim of one head, 1 to 512
    size_t encoder_layers, decoder_layers;
    size_t source_vocab, target_vocab;
};
/// Reads the configuration from a file, and sets struct_size. On error config is unchanged, and message (may be NULL)
/// says in one line what is missing or wrong; on success it is "". FOVEA_EXPLAIN_BYTES are enough for it. Errors: NULL,
/// FORMAT.
FOVEA_API enum fovea_status fovea_transformer_config_from(const struct fovea_safetensors *file,
                                                          struct fovea_transformer_config *config, char *message,
                                                          size_t message_size);

/// Capacities of one model object, each at least 1, and its dropout. batch x beam is below 2^30, beam x target_vocab
/// and lengths are below 2^32.
struct fovea_transformer_options {
    uint32_t struct_size;          ///< sizeof(struct fovea_transformer_options)
    uint32_t workers;              ///< the most workers an executor may have
    size_t batch;                  ///< the most sequences of a call
    size_t beam;                   ///< the widest beam
    size_t max_source, max_target; ///< longest sequences in tokens; the target's includes bos
    float dropout;                 ///< dropout in training: of the embeddings plus positions, and in each layer of what
                                   ///< fovea_layer_desc.dropout names. 0 <= p < 1; 0: none
    uint32_t round_s8; ///< 1: the weights of Linears become 8-bit integers, as fovea_pack_s8 rounds them, whatever
                       ///< their type in the file
};

struct fovea_transformer;
/// Creates a model: packs the weights of file (names: docs/architecture.md) and makes every plan and buffer. The file
/// may be closed afterwards; the engine must outlive the model. Each tensor is F32, BF16 or F16, the weights of all
/// Linears are of the same type, and none may be unused. Linears are packed as they are, so 16 bits halve their memory,
/// or with options.round_s8 as 8 bits; all others become f32. Results have the bits of a model with the same numbers in
/// F32. message (may be NULL) receives one line, which names the tensor if one is missing or has another shape or type;
/// "" on success.
/// Errors, after which *out is unchanged: NULL, STRUCT, ENUM, SHAPE, OVERFLOW, VALUE (eps, dropout; with round_s8 an
/// element that fovea_pack_s8 refuses), FORMAT (a tensor is missing, unused, or has another shape or type), MEMORY.
FOVEA_API enum fovea_status
fovea_transformer_create(const struct fovea_engine *engine, const struct fovea_safetensors *file,
                         const struct fovea_transformer_config *config, const struct fovea_transformer_options *options,
                         struct fovea_transformer **out, char *message, size_t message_size);
/// Frees a model. NULL is allowed.
FOVEA_API void fovea_transformer_destroy(struct fovea_transformer *model);
/// The configuration the model was created with; owned by the model. NULL for NULL.
FOVEA_API const struct fovea_transformer_config *fovea_transformer_config_of(const struct fovea_transformer *model);

/// Switches training on (1) or off (0, as after creation) for later calls of fovea_transformer_encode and
/// fovea_transformer_decode. In training, dropout is determined by seed and site (fovea/layer.h): encoder layer i has
/// the sites from 4 i on, decoder layer i those from 4 (encoder_layers + i) on, and the source and target embeddings
/// the two sites after all of them. Attention weights are drawn under seed + site, so seeds of different steps must be
/// at least 4 x layers apart. Without training the bits are those of a model with dropout 0. Searches never drop, and
/// cached steps are affected only through the encoding.
/// Errors: NULL, ENUM (on).
FOVEA_API enum fovea_status fovea_transformer_train(struct fovea_transformer *model, uint32_t on, uint64_t seed);

/// Runs the encoder on batch sequences, and projects the keys and values of every cross-attention once. tokens is
/// (batch, len), of which the first lens[b] are valid (NULL: all; clamped to len). Later calls decode from this
/// encoding, with steps starting at position 0. Tokens after lens[b] are not attended to, but must still be valid token
/// ids. batch and len may be 0, and tokens is then allowed to be NULL.
/// Errors: NULL, SHAPE (batch, len), VALUE (no such token).
FOVEA_API enum fovea_status fovea_transformer_encode(struct fovea_transformer *model, size_t batch, size_t len,
                                                     const uint32_t *tokens, const uint32_t *lens,
                                                     const struct fovea_executor *executor);
/// Runs the decoder on whole prefixes: (batch, len) tokens that begin with bos, batch being that of the encoding.
/// Writes the log-probabilities of every next token, (batch, len, target_vocab). Uses no cache, so it may be called
/// between steps. With len 0, or an encoding of no sequence, nothing is written, and both pointers may be NULL.
/// Errors: NULL, SHAPE (nothing encoded, len above max_target), VALUE (no such token).
FOVEA_API enum fovea_status fovea_transformer_decode(struct fovea_transformer *model, size_t len,
                                                     const uint32_t *tokens, float *log_probs,
                                                     const struct fovea_executor *executor);
/// Runs one decoding step with the cache; the bits are those of fovea_transformer_decode. tokens holds the token of
/// each sequence (batch) at `position` (0: bos); log_probs receives the log-probabilities of the next, (batch,
/// target_vocab). Positions must follow one another from 0 to max_target - 1. Going back to an earlier one is allowed;
/// the steps after it must then be repeated.
/// Errors: NULL, SHAPE (nothing encoded, a position skipped or too large), VALUE (no such token).
FOVEA_API enum fovea_status fovea_transformer_step(struct fovea_transformer *model, size_t position,
                                                   const uint32_t *tokens, float *log_probs,
                                                   const struct fovea_executor *executor);

/// The best sequence of a search.
struct fovea_hypothesis {
    float score;            ///< sum of log-probabilities in f32, including eos if the sequence ended; not divided by
                            ///< its length
    size_t len;             ///< Number of tokens, without bos and eos. max_target: the sequence did not end. 0 with
                            ///< score -inf: every continuation was a NaN.
    const uint32_t *tokens; ///< owned by the model; valid until its next search
};
/// Encodes and searches; beam 1 is greedy search. out receives the best hypothesis of each sequence.
/// docs/architecture.md defines the beam (at each step the best `beam` of all continuations; ties: lower token, then
/// lower parent). tokens and lens are those of fovea_transformer_encode. Afterwards their encoding, made without
/// dropout, is the model's current one, and steps begin at 0.
/// Errors: those of fovea_transformer_encode, NULL (out, unless batch is 0), SHAPE (beam is 0 or above options.beam).
FOVEA_API enum fovea_status fovea_transformer_search(struct fovea_transformer *model, size_t batch, size_t len,
                                                     const uint32_t *tokens, const uint32_t *lens, size_t beam,
                                                     struct fovea_hypothesis *out,
                                                     const struct fovea_executor *executor);

#ifdef __cplusplus
}
#endif

#endif
