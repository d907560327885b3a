// SPDX-License-Identifier: Apache-2.0
// tests/model/random_model.h - a Transformer with random weights, as a safetensors file in memory.
#ifndef FOVEA_TESTS_MODEL_RANDOM_MODEL_H
#define FOVEA_TESTS_MODEL_RANDOM_MODEL_H

#include "fovea/transformer.h"

/// The weights of config, deterministic in seed. The bytes belong to the caller (free).
unsigned char *random_model(const struct fovea_transformer_config *config, uint64_t seed, size_t *size);

#endif
