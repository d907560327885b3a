// SPDX-License-Identifier: Apache-2.0
// nn/transformer.h - the Transformer object: its plans, and one block of memory for all they use.
#ifndef FOVEA_NN_TRANSFORMER_H
#define FOVEA_NN_TRANSFORMER_H

#include "fovea/transformer.h"
#include "nn/layer.h"

/// Hands out 64-byte aligned pieces of one block. If base is NULL it only adds up sizes, so that the same code measures
/// and lays out. After an overflow `failed` stays 1.
struct arena {
    char *base;
    size_t used;
    int failed;
};
/// Takes count x bytes; NULL while measuring.
void *fovea_arena_take(struct arena *arena, size_t count, size_t bytes);

/// Self-attention caches of all decoder layers: one for the current step, one into which beams are reordered.
enum { CACHE_NOW, CACHE_NEXT, CACHES };

struct search;

struct fovea_transformer {
    const struct fovea_engine *engine;
    struct fovea_transformer_config config;
    struct fovea_transformer_options options;
    size_t rows; ///< the most rows of d_model that any call works on

    // Weights: those of Linears packed as weight_type, that of the file or FOVEA_S8, all others as f32.
    enum fovea_type file_type, weight_type;
    struct fovea_layer_weights *encoder, *decoder;
    struct fovea_norm encoder_norm, decoder_norm;
    struct fovea_linear output;
    float *source_embedding, *target_embedding;
    float *source_positions, *target_positions; ///< max_source and max_target rows; NULL without positions

    // Plans: one per kind of work; all layers share them.
    struct layer_plan encode_layer, decode_layer, step_layer;
    struct mha_plan fill_cross; ///< projects the encoder's output into a cross-attention cache
    _Alignas(FOVEA_ALIGNMENT) struct fovea_rowwise_layout norm;
    _Alignas(FOVEA_ALIGNMENT) struct fovea_rowwise_layout drop; ///< of embeddings
    _Alignas(FOVEA_ALIGNMENT) struct fovea_rowwise_layout log_softmax;
    _Alignas(FOVEA_ALIGNMENT) struct fovea_gemm_layout to_vocab;

    uint32_t train; ///< 1: encoding and decoding apply dropout, by seed
    uint64_t seed;

    // State between calls: the encoding.
    size_t batch, source_len;
    int encoded;          ///< 1 after an encoding that succeeded
    size_t next_position; ///< number of cached steps done, which is the number of keys in the self-attention caches
    uint32_t *source_lens;
    float *memory;                                           ///< the encoder's output, (batch, source_len, d_model)
    struct fovea_kv_cache *cross_cache, *self_cache[CACHES]; ///< one for each decoder layer

    float *x;         ///< activations, rows x d_model
    float *log_probs; ///< of a search step, batch * beam x target_vocab
    struct search *search;
    char *shared, *scratch;
    char *block; ///< one allocation, in which all that is pointed to above lies
};

/// The type of the elements of all Linears' weights in a file.
enum fovea_status fovea_transformer_type(const struct fovea_safetensors *file, enum fovea_type *type,
                                         const struct fovea_why *why);
/// Places every weight in the arena; if file is not NULL, also copies and packs it.
enum fovea_status fovea_transformer_load(struct fovea_transformer *model, const struct fovea_safetensors *file,
                                         struct arena *arena, const struct fovea_why *why);
/// Lays out the search's own memory.
void fovea_search_layout(struct fovea_transformer *model, struct arena *arena);
/// One cached step of batch * beams sequences: log-probabilities of each (batch * beams, target_vocab).
enum fovea_status fovea_transformer_step_rows(struct fovea_transformer *model, size_t beams, size_t position,
                                              const uint32_t *tokens, float *log_probs,
                                              const struct fovea_executor *executor);

#endif
