// SPDX-License-Identifier: Apache-2.0
// fovea/attention_state.h - attention whose keys come in pieces: streamed from disk, sharded over processes, shared
// between requests.
//
// A state summarises what a set of queries has seen so far: per row the largest score, the sum of the weights relative
// to it, and the weighted sum of the values. Initialise a state, accumulate blocks of keys into it, merge states, and
// finish a state to output and log-sum-exp:
//
//     fovea_attention_state_init(plan, batch, q_len, 2, state);
//     for (each block of keys, from block.kv_begin, where block.k and block.v point, to block.kv_len)
//         fovea_attention_state_accumulate(plan, &block, state, scratch, NULL);
//     fovea_attention_state_finish(plan, state, &result, scratch, NULL);
//
// Bits. Keys are grouped in splits of 1024 at absolute positions, and a state keeps its last splits apart. Results are
// bit-identical to one call of fovea_attention in two cases: blocks are accumulated in ascending order, with boundaries
// at multiples of 128; or states are merged in ascending order, with boundaries at multiples of 1024, and all but the
// first span at most `parts` splits. Any other grouping or order is within the error bound of fovea_attention, counting
// each state as a chunk. A block that no row sees and a state that has seen nothing do not change a result, but count
// as splits like any other.
//
// Memory. A state is 64-byte aligned memory of fovea_attention_state_size bytes. It holds no addresses and has the
// machine's byte order, little-endian: it may be copied, stored, mapped, or sent to a process on any other instruction
// set.
//
// Threads. Unlike fovea_attention these functions have no task-by-task form, only an executor: the header of a state is
// updated once, after all tasks of a call are done, and the entries of a ragged batch run one after another.
#ifndef FOVEA_ATTENTION_STATE_H
#define FOVEA_ATTENTION_STATE_H

#include "fovea/attention.h"

#ifdef __cplusplus
extern "C" {
#endif

/// Size in bytes of a state of batch x q_len queries of every head of the plan: 64 + 4 * parts * batch * heads * q_len
/// * (v_dim + 2), rounded up to a multiple of 64. batch and q_len are at most the plan's, and batch * q_len is at most
/// its rows. For a ragged batch pass batch 1 and, as q_len, the number of all queries, q_starts[batch], at most the
/// plan's rows. parts, 2 to 65535, is how many splits of 1024 keys the state keeps apart; 2 is enough for streaming,
/// and for merging states of at most 2 splits. Errors: NULL, STRUCT (not a plan of attention), SHAPE, VALUE (parts),
/// OVERFLOW.
FOVEA_API enum fovea_status fovea_attention_state_size(const void *plan, size_t batch, size_t q_len, size_t parts,
                                                       size_t *bytes);
/// Initialises state for queries that have seen nothing. Writes only its first 64 bytes. Errors: those of
/// fovea_attention_state_size, ALIGN.
FOVEA_API enum fovea_status fovea_attention_state_init(const void *plan, size_t batch, size_t q_len, size_t parts,
                                                       void *state);
/// Adds the keys [args->kv_begin, args->kv_len) to what the queries have seen. out, lse and statistics are not used.
/// batch and q_len must be the state's; for a ragged batch the state has batch 1 and q_len q_starts[batch], and
/// q_starts[0] is 0. The bits above require the same plan and queries in each call; only k, v, kv_begin and kv_len may
/// change. Sinks are applied by fovea_attention_state_finish. scratch is as the plan's fovea_work says, for each
/// worker; there is no shared memory. A task is a tile of queries over all keys of the block. Errors: those of
/// fovea_attention, FORMAT (not a state), SHAPE (queries, heads or v_dim differ from the state's).
FOVEA_API enum fovea_status fovea_attention_state_accumulate(const void *plan, const struct fovea_attention_args *args,
                                                             void *state, void *scratch,
                                                             const struct fovea_executor *executor);
/// into becomes what both have seen, with the keys of `from` after those of `into`; from is not changed. Errors: NULL,
/// STRUCT, ALIGN, FORMAT, SHAPE (the states do not match each other or the plan; parts may differ), VALUE (they
/// overlap, no workers).
FOVEA_API enum fovea_status fovea_attention_state_merge(const void *plan, void *into, const void *from, void *scratch,
                                                        const struct fovea_executor *executor);
/// Writes args->out and, if it is not NULL, args->lse. Of the other args only batch, q_len, q_starts, batch_strides,
/// sinks and live_heads are used. q_starts must be those of every accumulate; so must live_heads, which here only
/// select the sinks that count. The state is not changed and may take more keys. A row that has seen nothing gives 0,
/// with an LSE of its sink or -inf. Errors: as fovea_attention_state_merge, STRIDE and OVERFLOW (batch_strides, or the
/// rows of a ragged batch together).
FOVEA_API enum fovea_status fovea_attention_state_finish(const void *plan, const void *state,
                                                         const struct fovea_attention_args *args, void *scratch,
                                                         const struct fovea_executor *executor);

#ifdef __cplusplus
}
#endif

#endif
