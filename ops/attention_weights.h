// SPDX-License-Identifier: Apache-2.0
// ops/attention_weights.h - the second pass of attention, which returns weights, as an operator.
#ifndef FOVEA_OPS_ATTENTION_WEIGHTS_H
#define FOVEA_OPS_ATTENTION_WEIGHTS_H

#include "fovea/attention_weights.h"
#include "ops/attention.h"

/// The pass of a call: the args of its operator.
struct fovea_attention_pass {
    const struct fovea_attention_layout *plan;
    const struct fovea_attention_weights_args *args;
    const struct fovea_attention_args *call;
    size_t first;               ///< number of the call's first entry; not 0 for an entry of a ragged batch
    size_t begin, keys;         ///< the first key, and their number
    size_t first_chunk, chunks; ///< the chunks of keys that these lie in
    size_t heads_each, heads;   ///< heads per task; number of tasks for a chunk of keys of an entry
};

/// The pass of a call; it refers to args and what they point to.
struct fovea_attention_pass fovea_attention_pass(const struct fovea_attention_layout *plan,
                                                 const struct fovea_attention_weights_args *args);

/// Phase 0 computes weights and their sums over queries. Phase 1 sums these, if the plan, a struct fovea_work with the
/// scratch of attention's plan, has it.
extern const struct fovea_operator fovea_attention_weights_operator;

#endif
