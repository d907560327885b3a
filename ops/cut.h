// SPDX-License-Identifier: Apache-2.0
// ops/cut.h - how a call of each operator is cut into tasks.
//
// The cut depends on the sizes and the engine's workers, never on the executor.
#ifndef FOVEA_OPS_CUT_H
#define FOVEA_OPS_CUT_H

#include "ops/check.h"

/// A length cut into `count` pieces of `size` or size + 1; the `longer` longer ones come first: 20 rows are 7 + 7 + 6.
struct fovea_cut {
    size_t count, size, longer;
};

static inline struct fovea_cut fovea_cut(size_t length, size_t most)
{
    const size_t count = fovea_ceil_div(length, most);
    return (struct fovea_cut){count, count != 0 ? length / count : 0, count != 0 ? length % count : 0};
}

/// Cuts a length into `count` pieces.
static inline struct fovea_cut fovea_pieces(size_t length, size_t count)
{
    return (struct fovea_cut){count, length / count, length % count};
}

/// The length of the longest piece, and of one.
static inline size_t fovea_cut_longest(const struct fovea_cut *cut)
{
    return cut->size + (cut->longer != 0);
}

static inline size_t fovea_cut_length(const struct fovea_cut *cut, size_t piece)
{
    return cut->size + (piece < cut->longer);
}

/// Number of pieces from one on that are as long as it.
static inline size_t fovea_cut_alike(const struct fovea_cut *cut, size_t piece)
{
    return (piece < cut->longer ? cut->longer : cut->count) - piece;
}

static inline size_t fovea_cut_begin(const struct fovea_cut *cut, size_t piece)
{
    return cut->size * piece + fovea_min(piece, cut->longer);
}

/// How a call of a GEMM cuts C: into entries of the batch, or into blocks of rows times groups of strips of each entry.
struct fovea_gemm_grid {
    struct fovea_cut batch;  ///< pieces of the batch; more than one entry long only if an entry is one block
    struct fovea_cut rows;   ///< blocks of m
    struct fovea_cut groups; ///< groups of the plan's strips; each is a task with each block of rows
    bool copy_a;             ///< a is copied to rows that do not alias, all of it in phase 0
    bool pack_b;             ///< B is packed on the way: a natural one at times, a transposed one always,
    bool share_b;            ///< all of it in phase 0; otherwise by the task that needs it
};

/// How a call of attention is cut. The rows of a key head are its group of query heads x the queries. Prefill: tiles of
/// queries of one head. A task is some tiles of a key head, over all keys; they share each chunk of its keys. Decode:
/// blocks of rows. A task is some blocks of a key head, which share its keys, over one split of these; if there are
/// several splits, a second phase merges them. Both give the same bits. With few queries a prefill tile would be mostly
/// padding; therefore the last few queries of a head, if they would be a tile of their own or add a panel to one, are a
/// block among the tiles.
struct fovea_attention_grid {
    bool prefill;
    size_t heads;     ///< key heads
    size_t rows;      ///< rows of each key head that are cut as one: q_len, a query head (prefill); group * q_len
                      ///< (decode)
    size_t most;      ///< most rows of a tile or block
    size_t few;       ///< prefill: number of last rows of a head that are a block; 0 if there is none
    size_t tiles;     ///< tiles or blocks of a key head
    size_t each;      ///< tiles, or blocks, of a task
    size_t each_most; ///< each, before tasks were made equally large
    size_t splits;    ///< decode: at least 1, as rows without keys are written, too; prefill: 1
    size_t first;     ///< batch entry of task 0; not 0 for an entry of a ragged batch
};

/// How new keys of each batch entry are cut on their way into a cache: into `pieces` of `each` keys, a multiple of 16,
/// which begin at whole panels.
struct fovea_append_grid {
    size_t pieces, each;
};

/// How a call of a row-wise operator is cut: into `lines` lines of `length` elements. A task has `lines_each` lines, or
/// one of `pieces` pieces of a line.
struct fovea_rowwise_grid {
    size_t lines, length, pieces, lines_each;
};

#endif
