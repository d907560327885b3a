// SPDX-License-Identifier: Apache-2.0
// ops/attention_parts.h - an attention state in memory, and some of its rows in a worker's scratch.
//
// A state is a header and up to parts_max parts. Each part is the state of one split of keys for all rows (the first
// may be several splits folded): m, l (batch, heads, q_len) and O (batch, heads, q_len, v_dim), dense. Rows of a ragged
// batch are stored entry by entry, each (heads, queries). When a split begins and all parts are in use, the second part
// is folded into the first: always from the left, in the order in which one call of fovea_attention merges.
#ifndef FOVEA_OPS_ATTENTION_PARTS_H
#define FOVEA_OPS_ATTENTION_PARTS_H

#include "ops/attention.h"

struct fovea_state_header {
    char magic[8];
    uint32_t parts_max, parts;
    uint32_t split; ///< number of the last part's split
    uint32_t reserved;
    uint64_t batch, heads, q_len, v_dim, bytes; ///< for a ragged batch, batch is 1 and q_len the number of all its
                                                ///< queries
};
_Static_assert(sizeof(struct fovea_state_header) == FOVEA_ALIGNMENT, "parts begin behind one cache line");

/// Number of rows.
static inline size_t fovea_state_count(const struct fovea_state_header *state)
{
    return (size_t)(state->batch * state->heads * state->q_len);
}

/// Part p from row `first` on: m, l and O.
struct fovea_state_part {
    float *m, *l, *o;
};
struct fovea_state_part fovea_state_part(void *state, size_t p, size_t first);

/// Some rows of a state, and two kernel states for them in scratch.
struct fovea_state_rows {
    const struct fovea_attention_layout *plan;
    void *state;
    size_t first, parts; ///< parts: number of parts in use so far; the header is updated when all rows are done
    struct fovea_attention_state a, b;
};
/// Sets up `count` rows from `first` on; there is room for `most`.
struct fovea_state_rows fovea_state_rows_in(const struct fovea_attention_layout *plan, void *state, size_t first,
                                            size_t count, size_t most, bool prefill, float *scratch);
/// Copy rows from a part to scratch, and back.
void fovea_state_load(const struct fovea_attention_layout *plan, const struct fovea_state_part *part,
                      const struct fovea_attention_state *state);
void fovea_state_store(const struct fovea_attention_layout *plan, const struct fovea_state_part *part,
                       const struct fovea_attention_state *state);
/// Appends a part after the last one. rows->a and rows->b are overwritten.
struct fovea_state_part fovea_state_push(struct fovea_state_rows *rows);

/// Updates the header after `more` parts were appended.
static inline void fovea_state_take(struct fovea_state_header *header, size_t more, uint32_t last_split)
{
    header->parts = (uint32_t)fovea_min(header->parts + more, header->parts_max);
    header->split = last_split;
}

#endif
