// SPDX-License-Identifier: Apache-2.0
// tests/model/random_model.h - a Transformer with random weights, as a safetensors file in memory.
#ifndef FOVEA_TESTS_MODEL_RANDOM_MODEL_H
#define FOVEA_TESTS_MODEL_RANDOM_MODEL_H

#include "fovea/transformer.h"

/// Rows of learned positions in the file, where the configuration has them.
enum { RANDOM_POSITIONS = 48 };

/// Which of the biases (of Linears and norms) the file has.
enum random_biases { RANDOM_ALL, RANDOM_SOME, RANDOM_NONE };

struct random_model {
    struct fovea_transformer_config config;
    unsigned char *bytes; ///< the file
    size_t size;
    struct fovea_safetensors *file; ///< over bytes
};

/// The weights of config, deterministic in seed. Nothing can fail in a test: it exits.
void random_model_init(struct random_model *model, const struct fovea_transformer_config *config, uint64_t seed,
                       enum random_biases biases);
void random_model_free(struct random_model *model);

/// The numbers of a tensor, to change them before a Transformer is made; count (may be NULL) gets how many.
float *random_model_tensor(const struct random_model *model, const char *name, size_t *count);

/// The model as an object, or exit. options.struct_size is set here.
struct fovea_transformer *random_model_create(const struct random_model *model, const struct fovea_engine *engine,
                                              struct fovea_transformer_options options);

/// n token ids below vocab.
void random_tokens(uint32_t *tokens, size_t n, size_t vocab, uint64_t seed);

#endif
