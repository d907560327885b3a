// SPDX-License-Identifier: Apache-2.0
// bench/composite.h - attention as it is put together without a fused kernel: a product, a softmax, a product.
//
// Queries are taken in blocks of rows, whose scores lie in memory. A block is multiplied with the keys that any of its
// rows sees, no others; what single rows do not see of those is set to -inf. How many rows a block has, and whether a
// product is of one head or of all heads at once, is found out by trying when a problem is prepared: the fastest races.
#ifndef FOVEA_BENCH_COMPOSITE_H
#define FOVEA_BENCH_COMPOSITE_H

#include "bench/attention_problem.h"
#include "bench/contestant.h"

/// Rows [row, row + rows) of a head, and the keys [key, key + keys) that they see.
struct composite_block {
    size_t row, rows, key, keys;
};

/// How a problem is cut. A head has `rows` rows: its queries, or where few query heads share keys all queries of those.
struct composite_cut {
    const struct attention_problem *problem;
    struct fovea_strides q, k, v; ///< of rows (results lie like rows), by entry, key head, row
    size_t batch, heads;          ///< entries and key heads of a product; both 1, or all of them
    size_t rows;
    const struct composite_block *blocks;
    size_t block_count;
};

/// Operands of a block: its first row, its first key and value, and its scores, dense (batch, heads, rows, keys).
struct composite_place {
    const float *q, *k, *v;
    float *out, *scores;
};

/// Who multiplies; the state of the contestant.
struct composite_maker {
    const void *state;
    bool whole; ///< it takes all heads at once, too, and has its own threads
    /// Gets ready for the blocks of a cut, which outlives it. NULL where it cannot.
    void *(*prepare)(const void *state, const struct composite_cut *cut);
    /// scores = scale * q k^T
    void (*scores)(const void *prepared, size_t block, const struct composite_place *place);
    /// out = softmax(scores) v
    void (*values)(const void *prepared, size_t block, const struct composite_place *place);
    void (*release)(void *prepared);
};

struct contestant composite_contestant(const struct composite_maker *maker);

#endif
