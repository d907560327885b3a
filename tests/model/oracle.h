// SPDX-License-Identifier: Apache-2.0
// tests/model/oracle.h - a Transformer in float64, naive loops written from fovea/layer.h and fovea/transformer.h.
//
// One sequence at a time, every key looked at, nothing shared with the library. Weights are the file's f32 numbers.
#ifndef FOVEA_TESTS_MODEL_ORACLE_H
#define FOVEA_TESTS_MODEL_ORACLE_H

#include "fovea/transformer.h"

/// y = x W^T + b: weight [outputs, inputs]; bias may be NULL.
struct oracle_linear {
    const float *weight, *bias;
    size_t inputs, outputs;
};

struct oracle_layer {
    struct oracle_linear self[4], cross[4]; ///< q, k, v, o; cross: decoder only
    const float *slopes, *sinks;            ///< of self-attention: one for each head, or NULL
    const float *q_norm, *k_norm;           ///< with qk_norm: gammas of queries and keys
    struct fovea_norm norm[3], norm_out[3]; ///< [1]: decoder only; norm_out: sandwich-norm
    struct oracle_linear gate, up, down; ///< gate: where the FFN is gated
};

/// What a layer needs to know besides its weights: those fields of the descriptor.
void oracle_run_layer(const struct fovea_layer_desc *desc, const struct oracle_layer *layer, size_t len, size_t valid,
                      const double *memory, size_t memory_len, double *x);

/// Log-probabilities (target_len, target_vocab) of every next token of one sequence; of source `valid` tokens are seen.
void oracle_log_probs(const struct fovea_transformer_config *config, const struct fovea_safetensors *file, size_t len,
                      size_t valid, const uint32_t *source, size_t target_len, const uint32_t *target, double *out);

#endif
