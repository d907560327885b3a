// SPDX-License-Identifier: Apache-2.0
// fovea/attention_weights.h - the weights of an attention call, computed from its log-sum-exp in a second pass. For
// attention maps, head importance, and caches that evict keys by the attention they receive.
//
// fovea_attention keeps no weights. This pass recomputes its scores, to the same bits, and turns them into weights
// exp(score - LSE) with the LSE which that call returned. The first call's results are unchanged. Sums over queries
// need no Lq x Lk memory.
//
// There is no task-by-task form, only an executor. fovea_mha with need_weights runs this pass as tasks of its own.
#ifndef FOVEA_ATTENTION_WEIGHTS_H
#define FOVEA_ATTENTION_WEIGHTS_H

#include "fovea/attention.h"

#ifdef __cplusplus
extern "C" {
#endif

/// What is returned for a query and a key.
enum fovea_attention_returned {
    FOVEA_RETURN_WEIGHTS = 0, ///< exp(score - LSE); 0 where the query does not see the key, and where the LSE is -inf
    FOVEA_RETURN_SCORES = 1,  ///< the input of the softmax: scaled, capped, biased. -inf where the query does not see
                              ///< the key, and for heads that are not live
};

/// Arguments of one call. At least one output must be given. An output overlaps no other output and no input.
struct fovea_attention_weights_args {
    /// The arguments of the fovea_attention call; out is not used. For weights its lse is an input: what that call
    /// wrote, or what a fovea_attention_state_finish wrote whose state had seen these keys among others.
    const struct fovea_attention_args *call;
    enum fovea_attention_returned returned; ///< SCORES cannot be combined with dropped, average, key_sums or head_sums
    uint32_t dropped;                       ///< 1: weights after the dropout of that call; 0: before
    uint32_t average;                       ///< 1: weights are means over the heads
    /// NULL, or weights[b * batch + h * head + i * row + j - kv_begin] for every query i and key j of the call; the
    /// head stride is ignored if weights are averaged. Ragged: weights[h * head + (q_starts[b] + i) * row + j -
    /// kv_begin]; with kv_starts only the keys of entry b are written. Rows have kv_len - kv_begin elements, and no two
    /// of them may overlap.
    float *weights;
    struct fovea_strides strides; ///< of weights
    /// NULL, or (batch, H, kv_len - kv_begin) dense: the sum of each key's weights over the queries. With kv_starts the
    /// sums of entry b, (H, its keys), begin at element kv_starts[b] * H.
    float *key_sums;
    float *head_sums; ///< NULL, or (batch, H): each head's sum of key_sums, which must then be given too
};

/// Runs on an executor (NULL: in the calling thread). plan is the plan of the call. scratch is as its fovea_work says,
/// for each worker; there is no shared memory. A task is a chunk of 128 keys of one head, or of all heads if they are
/// averaged.
/// Errors: those of fovea_attention, NULL (no lse, no output, head_sums without key_sums), ENUM, VALUE (scores dropped,
/// averaged or summed), STRIDE and OVERFLOW (weights), OVERFLOW (more batch x H than 32 bits count).
///
/// With D, C and R as at fovea_attention and u = 2^-24, a weight w of a score s is, to first order, within w (2 D +
/// (142 + 4 C + 3 R) u + 3 u |s - LSE| + 2 u |LSE|) of the exact one. A sum of n weights has a relative error larger by
/// n u.
FOVEA_API enum fovea_status fovea_attention_weights(const void *plan, const struct fovea_attention_weights_args *args,
                                                    void *scratch, const struct fovea_executor *executor);

#ifdef __cplusplus
}
#endif

#endif
