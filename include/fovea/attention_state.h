// SPDX-License-Identifier: Apache-2.0
// fovea/attention_state.h - attention whose keys come in pieces: streamed from disk, sharded over processes, shared
// between requests.
//
// A state is what some queries have seen so far: for each row the largest score, the sum of the weights relative to it,
// and the weighted sum of the values. States are made from nothing, take blocks of keys, take one another, and end as
// output and log-sum-exp:
//
//     fovea_attention_state_init(plan, batch, q_len, 2, state);
//     for (each block of keys)
//         fovea_attention_state_accumulate(plan, &block, state, scratch, NULL);
//     fovea_attention_state_finish(plan, state, &result, scratch, NULL);
//
// Bits. Keys come in splits of 1024, at absolute positions, and a state keeps its last splits apart. Accumulating in
// ascending order, in blocks bounded at multiples of 128, gives the bits of one call of fovea_attention; so does
// merging, in ascending order, states bounded at multiples of 1024 of which all but the first span at most `parts`
// splits. Any other grouping or order is within the error bound of fovea_attention, taking each state for a chunk. A
// block that no row sees and a state that has seen nothing add nothing to a result; they are splits like others.
//
// Memory. A state is 64-byte aligned memory of fovea_attention_state_size bytes without addresses, little-endian like
// the machine: it may be copied, stored, mapped, or sent to a process on any other instruction set.
#ifndef FOVEA_ATTENTION_STATE_H
#define FOVEA_ATTENTION_STATE_H

#include "fovea/attention.h"

#ifdef __cplusplus
extern "C" {
#endif

/// Bytes of a state of batch x q_len queries of every head of the plan, each at most the plan's, or of a ragged batch:
/// batch is 1 then and q_len all its queries, q_starts[batch]; at most the plan's batch x q_len.
/// 64 + 4 * parts * batch * heads * q_len * (v_dim + 2). parts, 2 to 65535, is how many splits of 1024 keys it keeps
/// apart; 2 is enough for streaming, and for merging states of at most 2 splits. Errors: NULL, STRUCT (another's plan),
/// SHAPE, VALUE (parts), OVERFLOW.
FOVEA_API enum fovea_status fovea_attention_state_size(const void *plan, size_t batch, size_t q_len, size_t parts,
                                                       size_t *bytes);
/// Makes state that of queries which have seen nothing; of its memory it writes the first 64 bytes. Errors: those of
/// fovea_attention_state_size, ALIGN.
FOVEA_API enum fovea_status fovea_attention_state_init(const void *plan, size_t batch, size_t q_len, size_t parts,
                                                       void *state);
/// Adds keys [args->kv_begin, args->kv_len) to what the queries have seen; out, lse and statistics are not used. batch
/// and q_len are the state's; of a ragged batch q_starts[batch] is the state's q_len, whose batch is 1. The same plan
/// and queries, but for k, v, kv_begin and kv_len, give the bits above. scratch as the plan's fovea_work says, for each
/// worker; no shared memory. Sinks wait for the end. Tasks are tiles of queries, each over all keys of the block; of a
/// ragged batch, which begins at q_starts[0] = 0, entry after entry. Errors: those of fovea_attention, FORMAT (no
/// state), SHAPE (other queries, heads or v_dim than the state's).
FOVEA_API enum fovea_status fovea_attention_state_accumulate(const void *plan, const struct fovea_attention_args *args,
                                                             void *state, void *scratch,
                                                             const struct fovea_executor *executor);
/// into = what both have seen, `from` behind `into`; from stays as it is. Errors: NULL, STRUCT, ALIGN, FORMAT, SHAPE
/// (of one another or the plan; parts may differ), VALUE (they overlap, no workers).
FOVEA_API enum fovea_status fovea_attention_state_merge(const void *plan, void *into, const void *from, void *scratch,
                                                        const struct fovea_executor *executor);
/// Writes args->out and, where it is not NULL, args->lse; of the other args batch, q_len, q_starts, batch_strides,
/// sinks and live_heads count; q_starts are those of each accumulate, and so are the live heads, for they only say
/// which sinks count. The state stays as it is and may take more keys. A row that has seen nothing gives 0, and its
/// sink or -inf as its LSE. Errors: as fovea_attention_state_merge, STRIDE and OVERFLOW (batch_strides, or all rows of
/// a ragged batch).
FOVEA_API enum fovea_status fovea_attention_state_finish(const void *plan, const void *state,
                                                         const struct fovea_attention_args *args, void *scratch,
                                                         const struct fovea_executor *executor);

#ifdef __cplusplus
}
#endif

#endif
