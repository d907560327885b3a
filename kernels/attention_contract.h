// SPDX-License-Identifier: Apache-2.0
// kernels/attention_contract.h - the arguments of the attention kernels: chunks of keys, states, the end of the
// softmax.
#ifndef FOVEA_KERNELS_ATTENTION_CONTRACT_H
#define FOVEA_KERNELS_ATTENTION_CONTRACT_H

#include "kernels/panel.h"
#include <stddef.h>
#include <stdint.h>

/// The running state of `rows` queries: O[r,c] = o[r * o_row + c * o_col], where one of the two strides is 1. An empty
/// state has m = -inf, l = 0, O = 0. m and l, and O along its unit stride, must be readable and writable up to the next
/// multiple of 16; the contents of that padding are arbitrary.
struct fovea_attention_state {
    size_t rows, v_dim;
    float *m, *l, *o;
    ptrdiff_t o_row, o_col;
    /// NULL, or statistics, padded like m and l. spread is the sum of p x, where x is the exponent of the weight p as a
    /// power of 2 (an empty state has 0). top is the first key whose score is m (UINT32_MAX: none). The finish kernel
    /// replaces spread by the entropy and writes the largest weight to largest.
    float *spread;
    uint32_t *top;
    float *largest;
};

/// One chunk of at most FOVEA_CHUNK keys against one tile of queries: scores, softmax step, product with V. Both
/// kernels take this, as part of a struct of their own. q is already multiplied by the scale. Keys are counted from the
/// start of the chunk. Only keys that some row sees are loaded (in a panelled K whole 16-key groups of which one key is
/// seen).
struct fovea_attention_chunk {
    size_t keys, qk_dim; ///< 1 <= keys <= FOVEA_CHUNK
    const float *q;      ///< in the kernel's layout
    const float *k;      ///< rows: k[j * k_row + c]; panels (k_row = 0): k[(j / 16) * 16 * qk_dim + c * 16 + j % 16]
    ptrdiff_t k_row;
    const float *v; ///< v[j * v_row + c]
    ptrdiff_t v_row;
    /// NULL, or additive scores in place of products: for each row a pointer to qk_dim weights w; the score is the sum
    /// of w[c] * tanh(q[c] + k[c]). In prefill all rows share additive[0].
    const float *const *additive;
    const uint64_t *visible;  ///< NULL: every row sees every key. Otherwise one word per key, bit r: row r sees key j.
    float softcap;            ///< 0: none; s = softcap * tanh(s * cap_inverse), before the bias
    float cap_inverse;        ///< 1 / softcap
    const float *const *bias; ///< NULL, or for each row a pointer to the bias of the chunk's first key; -inf hides the
                              ///< key
    ptrdiff_t bias_key;       ///< elements between the biases of adjacent keys
    /// NULL, or ALiBi, applied after the bias: s = fma(falls[r], |key + j - positions[r]|, s). Both must be readable up
    /// to the next multiple of 16 rows.
    const float *falls, *positions;
    uint32_t key;         ///< position of the chunk's first key
    float keep_scale;     ///< with keep: factor for a kept weight; a dropped one becomes +0
    const uint64_t *keep; ///< NULL: no dropout. Otherwise one word per key, bit r: row r keeps its weight for key j.
    struct fovea_attention_state state;
    /// 1: the rows have seen nothing yet. The state is empty, except that o is not initialised: the kernel sets it to
    /// what it would otherwise add, or to +0 in rows that see no key.
    uint32_t fresh;
    float *scratch; ///< fovea_attention_scratch(qk_dim, v_dim) elements, 64-byte aligned
};

// ---- Prefill: lanes are queries ----------------------------------------------------------------------------------

/// A prefetch hint: memory that a worker will use next, each pointer standing for FOVEA_FETCH_LINES cache lines. The
/// kernel prefetches one pointer after another, spread evenly over its arithmetic, and removes them from the list.
struct fovea_fetch_list {
    const void *const *next;
    size_t count;
    uint32_t into_l1; ///< 1: into L1, in kernels that support it; 0: into L2
};
enum { FOVEA_FETCH_LINES = 4 };

enum { FOVEA_COPY_KEYS = FOVEA_CHUNK + 2 }; ///< 8 columns of this many floats are 4 KiB plus one cache line

/// Scratch in which the kernel repacks the chunk's K and V once, so that the task's other tiles reuse it. The layout is
/// private to the kernel. The caller clears k_done and v_done when the chunk changes.
struct fovea_attention_copy {
    float *k; ///< [8][qk_dim][16], or NULL: K is read in place
    float *v; ///< [v_dim rounded up to a multiple of 8][FOVEA_COPY_KEYS], or NULL: V is read in place
    uint64_t k_done[FOVEA_CHUNK / 64], v_done[FOVEA_CHUNK / 64]; ///< bit j: key j has been copied
};

/// chunk.q is transposed, q[c * queries + r], with as many queries as the variant takes, and readable up to the next
/// multiple of 16; chunk.state.o_row = 1, chunk.state.o_col = queries.
struct fovea_prefill_chunk {
    struct fovea_attention_chunk chunk;
    struct fovea_attention_copy *copy; ///< NULL: K and V are read in place
    struct fovea_fetch_list *fetch;    ///< NULL, or a prefetch hint
};
typedef void fovea_prefill_fn(const struct fovea_prefill_chunk *prefill);

// ---- Decode: lanes are keys, then columns of V -------------------------------------------------------------------

/// K and V of a chunk in blocks of 16 keys: key j is key j % 16 of block j / 16. A block may be NULL if none of its
/// keys is loaded. k_ahead and v_ahead are prefetch hints: the blocks of the next chunk, whole and dense, or NULL.
struct fovea_attention_blocks {
    const void *k[FOVEA_CHUNK / FOVEA_PANEL], *v[FOVEA_CHUNK / FOVEA_PANEL];
    const void *k_ahead[FOVEA_CHUNK / FOVEA_PANEL], *v_ahead[FOVEA_CHUNK / FOVEA_PANEL];
};

/// Where decoding prefetches to, and in which order: FOVEA_INTO_L2 and _L1 follow the order in memory;
/// FOVEA_INTO_L2_PARTS takes one line in turn from each of several parts of what comes next. Values of `decode_into` in
/// kernels/tuning.def.
enum fovea_into { FOVEA_INTO_L2, FOVEA_INTO_L1, FOVEA_INTO_L2_PARTS };

/// The most rows for which decoding over K in panels waits for what it reads; with more, multiplying takes longer.
enum { FOVEA_DECODE_FEW = 2 };

/// Where K and V come from, and what to prefetch. No result depends on it.
struct fovea_decode_hints {
    uint32_t far; ///< 1: K and V come from beyond L2; 0: they are taken to be in L2, no more is prefetched than costs
                  ///< nothing there, and in_case to beside are ignored
    uint32_t in_case; ///< 1: far is a precaution, as they may be in L2: the tiles are those for L2
    uint32_t again;   ///< 1: prefetch the next rows of K a second time just before use, and also V if the tile has more
                      ///< than two rows
    uint32_t whole;   ///< 1: prefetch all of K of the chunk once more just before use, and then all of its V
    uint32_t into;    ///< where to prefetch to, an enum fovea_into
    uint32_t beside;  ///< 1: for one or two rows read V of this chunk interleaved with the next chunk's K, and prefetch
                      ///< nothing (AVX2)
    const void *k_ahead; ///< K of the next chunk, whole and dense, to prefetch; or NULL
    const void *v_ahead; ///< the same for its V
};

/// chunk.q is in rows, q[r * q_row + c]; chunk.state.o_col = 1 and chunk.state.o_row >= round16(v_dim).
struct fovea_decode_chunk {
    struct fovea_attention_chunk chunk;
    /// The kernels attention_decode_bf16 and _f16, with neither additive scores nor k_next: K in panels (chunk.k_row =
    /// 0) and V, in place of chunk.k and chunk.v.
    const uint16_t *k_half, *v_half;
    ptrdiff_t q_row;
    /// NULL, or, without additive scores, the location of K and V, replacing those of chunk and of hints.
    const struct fovea_attention_blocks *blocks;
    struct fovea_decode_hints hints;
    /// NULL, or K of the next call's chunk, in the layout of k; that chunk is whole like this one, and all rows see all
    /// of it. The kernel may compute its scores now, keep them in scratch and set *begun, so that the next call uses
    /// them; or prefetch it. Must be NULL if blocks is not.
    const float *k_next;
    uint32_t *begun; ///< must not be NULL if k_next is not; 0 before the first chunk
    /// If not NULL, the kernel only writes the scores, S[r,j] = scores[r * FOVEA_CHUNK + j], with -inf where row r does
    /// not see key j and for j from keys to the next multiple of 16. v and the state are not touched then.
    float *scores;
    /// With scores: NULL, or S becomes the exponent of 2 of the weight, (S[r,j] - lse[r]) * log2(e); -inf where S or
    /// lse[r] is -inf.
    const float *lse;
};
typedef void fovea_decode_fn(const struct fovea_decode_chunk *decode);

// ---- Dropout, merging and the end of the softmax -----------------------------------------------------------------

/// The weights of a chunk, numbered as dropout does: docs/numerics.md section 6.
struct fovea_attention_keep {
    uint32_t seed[2];             ///< low word, high word
    uint32_t batch, key;          ///< key is that of the first key, a multiple of 4
    size_t rows, keys;            ///< 1 <= rows <= FOVEA_TILE_ROWS_MAX, 1 <= keys <= FOVEA_CHUNK
    const uint32_t *query, *head; ///< one per row, readable up to the next multiple of 16
    uint32_t threshold;           ///< a weight is dropped iff its Philox word is below this
};
/// Writes keep[0..keys): bit r of keep[j] is set iff row r keeps the weight of key j; other bits are 0.
typedef void fovea_keep_fn(const struct fovea_attention_keep *weights, uint64_t *keep);

/// into = merge(into, from), where from is the state of later keys. from is unspecified afterwards.
typedef void fovea_merge_fn(const struct fovea_attention_state *into, const struct fovea_attention_state *from);
/// The end of the softmax. sinks (NULL: none) has one logit per row, merged as the last state, m = the sink, l = 1, O =
/// 0; a sink of -inf is not merged. Then O = O * (1 / l), with +0 where it is zero or l = 0; lse[r] = m + ln(l), or
/// -inf where l = 0 (lse may be NULL). sinks must be readable up to the next multiple of 16 rows.
typedef void fovea_finish_fn(const struct fovea_attention_state *state, const float *sinks, float *lse);

/// Elements of scratch that a chunk needs, for any variant. Prefill: S [128][64]. Decode: S [16][128], the last panel
/// of V [128][16], 4096 transposed elements, S of the next chunk [4][128], K, then V, of the keys that are seen
/// [128][v_dim]. Both: transposed keys [64][qk_dim], the new part of O [64][round16(v_dim)], alpha [64].
static inline size_t fovea_attention_scratch(size_t qk_dim, size_t v_dim)
{
    const size_t v_round = (v_dim + FOVEA_PANEL - 1) / FOVEA_PANEL * FOVEA_PANEL;
    return (size_t)FOVEA_TILE_ROWS_MAX * (FOVEA_CHUNK + qk_dim + 3 * v_round + 1);
}

#endif
