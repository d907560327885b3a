// SPDX-License-Identifier: Apache-2.0
// fovea/transformer.h - the whole encoder-decoder Transformer: embeddings, positions, N layers, final linear,
// log-softmax, incremental decoding, greedy and beam search.
//
// A model is an object that owns its packed weights, caches and work memory; it allocates when it is made and never
// again. One model serves one call at a time, from any thread; several models may share an engine, and work at once.
//
// Calls take an executor (NULL: this thread) of at most options.workers workers; beside the errors named below a wrong
// one gives VALUE (no workers), SHAPE (more) or NULL (no parallel_for). After an error nothing has been written: what
// was encoded, the caches and the results of the last search stand.
//
// Accuracy: no bound is stated for a whole model; of its parts fovea/layer.h tells. tests/model/layers.c holds the
// log-probabilities of random models to 4 s sqrt(k) 2^-24 from float64, s = 2 encoder_layers + 3 decoder_layers + 1, k
// the largest of d_model, ffn and heads x v_dim.
#ifndef FOVEA_TRANSFORMER_H
#define FOVEA_TRANSFORMER_H

#include "fovea/layer.h"
#include "fovea/safetensors.h"

#ifdef __cplusplus
extern "C" {
#endif

/// What is added to the embeddings of position pos, which counts from 0 in source and target.
enum fovea_positions {
    FOVEA_POSITIONS_SINUSOIDAL = 0, ///< sin and cos of pos / 10000^(2i/d), interleaved
    FOVEA_POSITIONS_LEARNED = 1,    ///< tensors source_positions.weight and target_positions.weight, of at least
                                    ///< max_source and max_target rows
    FOVEA_POSITIONS_NONE = 2,
};

/// The architecture. fovea_transformer_config_from reads it from a file's metadata ("fovea.d_model", ...) and tensors.
/// Tensors have PyTorch's shapes, [outputs, inputs]; those of a feed-forward network are ffn.up and ffn.down, gated
/// ffn.gate, ffn.up and ffn.down (Hugging Face's gate_proj, up_proj, down_proj): docs/architecture.md names all. Who
/// fills it in by hand sets every field; of the sizes encoder_layers alone may be 0.
struct fovea_transformer_config {
    uint32_t struct_size; ///< sizeof(struct fovea_transformer_config)
    enum fovea_norm_place norm;
    enum fovea_norm_kind norm_kind;   ///< of every norm, the final ones too
    enum fovea_activation activation; ///< of the feed-forward networks
    uint32_t gated; ///< 1: feed-forward networks have a tensor ffn.gate beside ffn.up (found by the tensors)
    enum fovea_positions positions;
    float eps;                 ///< of every norm
    uint32_t scale_embeddings; ///< 1: embeddings are multiplied by sqrt(d_model)
    uint32_t final_norm;       ///< 1: encoder.norm and decoder.norm exist (found by the tensors)
    uint32_t pad, bos, eos;    ///< token ids: pad of the source, bos and eos of the target. pad masks nothing, lens do:
                               ///< it is what callers may fill rows with
    size_t d_model, heads, qk_dim, v_dim, ffn; ///< qk_dim and v_dim of one head, 1 to 512
    size_t encoder_layers, decoder_layers;
    size_t source_vocab, target_vocab;
};
/// Reads it, struct_size too; after an error config is as it was. message (may be NULL) then says in one line what is
/// missing or wrong. Errors: NULL, FORMAT.
FOVEA_API enum fovea_status fovea_transformer_config_from(const struct fovea_safetensors *file,
                                                          struct fovea_transformer_config *config, char *message,
                                                          size_t message_size);

/// Capacities of one model object, each at least 1, and its dropout.
struct fovea_transformer_options {
    uint32_t struct_size;          ///< sizeof(struct fovea_transformer_options)
    uint32_t workers;              ///< the most workers of an executor
    size_t batch;                  ///< the most sequences of a call
    size_t beam;                   ///< the widest beam
    size_t max_source, max_target; ///< the longest sequences, in tokens, the target's with bos
    float dropout; ///< training: of embeddings with their positions, and in each layer what fovea_layer_desc.dropout
                   ///< names; 0 <= p < 1, 0: none
};

struct fovea_transformer;
/// Packs the weights of file (names: docs/architecture.md) and makes every plan and buffer. The file may be closed
/// afterwards; the engine must outlive the model. Tensors are F32, and none may be left over. message (may be NULL)
/// gets one line after an error: it names the tensor where one is missing or has another shape.
/// Errors: NULL, STRUCT, ENUM, SHAPE, OVERFLOW, VALUE (eps, dropout), FORMAT (a tensor that is missing, left over, or
/// of another shape or type), MEMORY.
FOVEA_API enum fovea_status
fovea_transformer_create(const struct fovea_engine *engine, const struct fovea_safetensors *file,
                         const struct fovea_transformer_config *config, const struct fovea_transformer_options *options,
                         struct fovea_transformer **out, char *message, size_t message_size);
/// Frees a model. NULL is legal.
FOVEA_API void fovea_transformer_destroy(struct fovea_transformer *model);
/// What it was made with; owned by the model. NULL for NULL.
FOVEA_API const struct fovea_transformer_config *fovea_transformer_config_of(const struct fovea_transformer *model);

/// Whether the encodings and whole prefixes that follow are training, on = 1, or not, as for a model just made.
/// Training drops by seed: encoder layer i has the sites (fovea/layer.h) from 4 i on, decoder layer i those from 4
/// (encoder_layers + i) on, the source's and the target's embeddings the two behind all of them. Attention weights are
/// drawn under seed + site, so seeds of different steps lie at least 4 x layers apart. Without training the bits are
/// those of a model with dropout 0; searches never drop, and cached steps only see what the encoding dropped.
/// Errors: NULL, ENUM (on).
FOVEA_API enum fovea_status fovea_transformer_train(struct fovea_transformer *model, uint32_t on, uint64_t seed);

/// Runs the encoder on batch sequences: tokens (batch, len), of which lens[b] are valid (NULL: all; clamped to len),
/// and projects the keys and values of every cross-attention once. What follows decodes from it, steps from position 0
/// on. Tokens behind lens[b] are seen by none, but must be tokens, too. batch and len may be 0, and tokens then NULL.
/// Errors: NULL, SHAPE (batch, len), VALUE (no such token).
FOVEA_API enum fovea_status fovea_transformer_encode(struct fovea_transformer *model, size_t batch, size_t len,
                                                     const uint32_t *tokens, const uint32_t *lens,
                                                     const struct fovea_executor *executor);
/// The decoder on whole prefixes, (batch, len) tokens that begin with bos: log-probabilities of every next token,
/// (batch, len, target_vocab), batch being that of the encoding. Uses no cache, so it may be called between steps. len
/// 0 writes nothing, and both pointers may be NULL.
/// Errors: NULL, SHAPE (nothing encoded, len above max_target), VALUE (no such token).
FOVEA_API enum fovea_status fovea_transformer_decode(struct fovea_transformer *model, size_t len,
                                                     const uint32_t *tokens, float *log_probs,
                                                     const struct fovea_executor *executor);
/// One step with the cache, the same bits: the next token of each sequence (batch) at `position` (0: bos);
/// log-probabilities (batch, target_vocab). Positions follow one another from 0 to max_target - 1; going back to an
/// earlier one is legal, and what was behind it is to be done again.
/// Errors: NULL, SHAPE (nothing encoded, a position skipped or too large), VALUE (no such token).
FOVEA_API enum fovea_status fovea_transformer_step(struct fovea_transformer *model, size_t position,
                                                   const uint32_t *tokens, float *log_probs,
                                                   const struct fovea_executor *executor);

/// The best sequence of a search.
struct fovea_hypothesis {
    float score;            ///< sum of log-probabilities in f32, eos included where it ended; not divided by its length
    size_t len;             ///< tokens, without bos and eos; max_target: it did not end. 0, the score being -inf,
                            ///< where every continuation is a NaN
    const uint32_t *tokens; ///< owned by the model, until its next search
};
/// Encodes and searches: beam 1 is greedy. out gets the best hypothesis of each sequence. Definition of the beam:
/// docs/architecture.md (at each step the best `beam` of all continuations; ties: lower token, then lower parent).
/// tokens and lens are those of fovea_transformer_encode; their encoding, without dropout, is there afterwards, and
/// steps begin at 0.
/// Errors: those of fovea_transformer_encode, NULL (out, unless batch is 0), SHAPE (beam: 0 or above options.beam).
FOVEA_API enum fovea_status fovea_transformer_search(struct fovea_transformer *model, size_t batch, size_t len,
                                                     const uint32_t *tokens, const uint32_t *lens, size_t beam,
                                                     struct fovea_hypothesis *out,
                                                     const struct fovea_executor *executor);

#ifdef __cplusplus
}
#endif

#endif
