// SPDX-License-Identifier: Apache-2.0
// ops/attention_parts.h - a state of attention in memory, and some of its rows in a worker's scratch.
//
// A state is a header and up to parts_max parts, each the state of one split of keys (of the first, of several splits
// folded) for all rows: m, l (batch, heads, q_len) and O (batch, heads, q_len, v_dim), dense; rows of a ragged batch
// entry by entry, each (heads, queries). A split that begins when all parts are taken folds the second part into the
// first: always from the left, as one call of fovea_attention merges.
#ifndef FOVEA_OPS_ATTENTION_PARTS_H
#define FOVEA_OPS_ATTENTION_PARTS_H

#include "ops/attention.h"

struct fovea_state_header {
    char magic[8];
    uint32_t parts_max, parts;
    uint32_t split; ///< of the last part
    uint32_t reserved;
    uint64_t batch, heads, q_len, v_dim, bytes; ///< a ragged batch: 1 and all its queries
};
_Static_assert(sizeof(struct fovea_state_header) == FOVEA_ALIGNMENT, "parts begin behind one cache line");

/// All rows.
static inline size_t fovea_state_count(const struct fovea_state_header *state)
{
    return (size_t)(state->batch * state->heads * state->q_len);
}

/// Part p of rows [first, ...): m, then l and O.
struct fovea_state_part {
    float *m, *l, *o;
};
struct fovea_state_part fovea_state_part(void *state, size_t p, size_t first);

/// Some rows of a state, and two states of them in scratch.
struct fovea_state_rows {
    const struct fovea_attention_layout *plan;
    void *state;
    size_t first, parts; ///< parts: those taken so far, which the header learns when all rows are done
    struct fovea_attention_state a, b;
};
/// `count` rows; there is room for `most`.
struct fovea_state_rows fovea_state_rows_in(const struct fovea_attention_layout *plan, void *state, size_t first,
                                            size_t count, size_t most, bool prefill, float *scratch);
/// Between a part and scratch.
void fovea_state_load(const struct fovea_attention_layout *plan, const struct fovea_state_part *part,
                      const struct fovea_attention_state *state);
void fovea_state_store(const struct fovea_attention_layout *plan, const struct fovea_state_part *part,
                       const struct fovea_attention_state *state);
/// Makes room for one more part behind the last one. rows->a and rows->b are lost.
struct fovea_state_part fovea_state_push(struct fovea_state_rows *rows);

/// What the header says once `more` parts came behind those it has.
static inline void fovea_state_take(struct fovea_state_header *header, size_t more, uint32_t last_split)
{
    header->parts = (uint32_t)fovea_min(header->parts + more, header->parts_max);
    header->split = last_split;
}

#endif
