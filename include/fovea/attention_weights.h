// SPDX-License-Identifier: Apache-2.0
// fovea/attention_weights.h - the weights of an attention call, made from its log-sum-exp in a second pass: for maps of
// attention, head importance, and caches that evict keys by the attention they get.
//
// fovea_attention keeps no weights. This pass computes its scores again, to the same bits, and from the LSE that it
// returned the weights exp(score - LSE): nothing of the first pass changes. Sums over queries need no Lq x Lk memory.
#ifndef FOVEA_ATTENTION_WEIGHTS_H
#define FOVEA_ATTENTION_WEIGHTS_H

#include "fovea/attention.h"

#ifdef __cplusplus
extern "C" {
#endif

/// What is returned of a query and a key.
enum fovea_attention_returned {
    FOVEA_RETURN_WEIGHTS = 0, ///< exp(score - LSE): 0 where the query does not see the key, and where the LSE is -inf
    FOVEA_RETURN_SCORES = 1, ///< what softmax takes: scaled, capped, biased; -inf where the query does not see the key,
                             ///< and of heads that do not live
};

/// One call. At least one output is asked for; none overlaps another or an input.
struct fovea_attention_weights_args {
    /// The call of fovea_attention; out is not used. For weights its lse is an input: what that call wrote, or what a
    /// fovea_attention_state_finish wrote that saw these keys among others.
    const struct fovea_attention_args *call;
    enum fovea_attention_returned returned; ///< SCORES: neither dropped, averaged nor summed
    uint32_t dropped;                       ///< 1: weights after dropout, as the call draws it; 0: before
    uint32_t average;                       ///< 1: weights are means over the heads
    /// NULL, or weights[b * batch + h * head + i * row + j - kv_begin] for every query i and key j of the call; the
    /// head stride is ignored where weights are averaged. Ragged: weights[h * head + (q_starts[b] + i) * row + j -
    /// kv_begin], and with kv_starts only for the keys of entry b. No two rows, of kv_len - kv_begin each, overlap.
    float *weights;
    struct fovea_strides strides; ///< of weights
    /// NULL, or (batch, H, kv_len - kv_begin) dense: each key's weights over the queries. With kv_starts those of entry
    /// b, (H, its keys), begin at element kv_starts[b] * H.
    float *key_sums;
    float *head_sums; ///< NULL, or (batch, H): each head's sum of key_sums, which must be asked for too
};

/// Runs on an executor (NULL: in this thread). plan is that of the call; scratch as its fovea_work says, for each
/// worker; no shared memory. A task is a chunk of 128 keys of one head, or of all where they are averaged. Errors:
/// those of fovea_attention, NULL (no lse, no output, head_sums alone), ENUM, VALUE (scores dropped, averaged or
/// summed), STRIDE and OVERFLOW (weights).
///
/// With D, C and R as at fovea_attention and u = 2^-24, a weight w of score s is, to first order, within
/// w (2 D + (142 + 4 C + 3 R) u + 3 u |s - LSE| + 2 u |LSE|) of the exact one. Sums over n are n u worse, relatively.
FOVEA_API enum fovea_status fovea_attention_weights(const void *plan, const struct fovea_attention_weights_args *args,
                                                    void *scratch, const struct fovea_executor *executor);

#ifdef __cplusplus
}
#endif

#endif
