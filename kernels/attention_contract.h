// SPDX-License-Identifier: Apache-2.0
// kernels/attention_contract.h - what the kernels of attention take: a chunk of keys, states, their ends.
#ifndef FOVEA_KERNELS_ATTENTION_CONTRACT_H
#define FOVEA_KERNELS_ATTENTION_CONTRACT_H

#include "kernels/panel.h"
#include <stddef.h>
#include <stdint.h>

/// The running state of `rows` queries: O[r,c] = o[r * o_row + c * o_col], one of the two strides being 1.
/// An empty state has m = -inf, l = 0, O = 0. The arrays m and l, and O along its unit stride, are readable and
/// writable up to the next multiple of 16; what lies in that padding means nothing.
struct fovea_attention_state {
    size_t rows, v_dim;
    float *m, *l, *o;
    ptrdiff_t o_row, o_col;
    /// NULL, or statistics, as m and l: the sum of p x, x being the exponents of the weights p in powers of 2 (an empty
    /// state has 0), and the first key whose score is m (UINT32_MAX: none). Finishing makes the entropy of spread, and
    /// writes the largest weight.
    float *spread;
    uint32_t *top;
    float *largest;
};

/// Memory that a worker will use next, each pointer standing for FOVEA_FETCH_LINES cache lines: a hint. A kernel of
/// prefill prefetches pointer after pointer, evenly beside its arithmetic, and takes them off the list.
struct fovea_fetch_list {
    const float *const *next;
    size_t count;
    uint32_t into_l1; ///< 1: into L1, for kernels that do that; 0: into L2
};
enum { FOVEA_FETCH_LINES = 4 };

enum { FOVEA_COPY_KEYS = FOVEA_CHUNK + 2 }; ///< 8 columns of so many floats are a line more than 4 KiB

/// Keys and values of a chunk, copied by a kernel of prefill to where it reads them best, for this tile and those that
/// come by next: what lies there is its business. The caller clears done when the chunk changes.
struct fovea_attention_copy {
    float *k; ///< [8][qk_dim][16], or NULL: K is read where it lies
    float *v; ///< [v_dim rounded up to a multiple of 8][FOVEA_COPY_KEYS], or NULL: V is
    uint64_t k_done[FOVEA_CHUNK / 64], v_done[FOVEA_CHUNK / 64]; ///< bit j: key j has been copied
};

/// K and V of a chunk in blocks of 16 keys, key j being key j % 16 of block j / 16; those of which no key is loaded may
/// be NULL. And hints: those of the chunk that comes next, whole and dense, or NULL.
struct fovea_attention_blocks {
    const float *k[FOVEA_CHUNK / FOVEA_PANEL], *v[FOVEA_CHUNK / FOVEA_PANEL];
    const float *k_ahead[FOVEA_CHUNK / FOVEA_PANEL], *v_ahead[FOVEA_CHUNK / FOVEA_PANEL];
};

/// Where decoding prefetches to, and in which order: as what comes next lies, or a line of each of several parts of it
/// beside one another. Values of `decode_into` of kernels/tuning.def.
enum fovea_into { FOVEA_INTO_L2, FOVEA_INTO_L1, FOVEA_INTO_L2_PARTS };

/// One chunk of at most FOVEA_CHUNK keys against one tile of queries: scores, softmax step, times V.
///
/// prefill (lanes are queries): q is transposed, q[c * queries + r], as many as the variant takes, and readable up to
/// the next multiple of 16; state.o_row = 1, state.o_col = queries. decode (lanes are keys, then columns of V): q has
/// rows, q[r * q_row + c]; state.o_col = 1 and state.o_row >= round16(v_dim).
/// q is already multiplied by the scale. Keys are those of the chunk, counted from 0; only keys that some row sees
/// are loaded (whole 16-key groups of a panelled K where one of them is seen).
struct fovea_attention_chunk {
    size_t keys, qk_dim; ///< 1 <= keys <= FOVEA_CHUNK
    const float *q;
    ptrdiff_t q_row; ///< decode only
    const float *k;  ///< rows: k[j * k_row + c]; panels (k_row = 0): k[(j / 16) * 16 * qk_dim + c * 16 + j % 16]
    ptrdiff_t k_row;
    const float *v; ///< v[j * v_row + c]
    ptrdiff_t v_row;
    /// decode only, without additive scores. NULL, or where K and V lie in place of k, v, k_ahead and v_ahead.
    const struct fovea_attention_blocks *blocks;
    uint32_t far;     ///< a hint for decode: 1 where K and V come from beyond L2
    uint32_t again;   ///< and 1 where the next of its rows of K, and V of more than two rows, are asked for once more
    uint32_t whole;   ///< and 1 where all of a chunk is, its K and then its V
    uint32_t into;    ///< and where to what is asked for is best prefetched: enum fovea_into
    uint32_t beside;  ///< and 1 where one or two rows read V beside the next K, and nothing is asked for (AVX2)
    const float *k_ahead; ///< a hint for decode: K of the chunk that comes next, whole and dense, or NULL
    const float *v_ahead; ///< and its V, or NULL
    /// decode only. NULL; or K, laid out like this, of the next call's chunk, whole as this one and seen by all rows:
    /// the kernel may make its scores now, keep them in scratch and set *begun, with which the next call finds them.
    /// NULL where there are blocks.
    const float *k_next;
    uint32_t *begun;                   ///< decode only: not NULL where k_next is not; 0 before the first chunk
    struct fovea_attention_copy *copy; ///< prefill only: or NULL, K and V are read where they lie
    struct fovea_fetch_list *fetch;    ///< prefill only: a hint, or NULL
    /// NULL; or additive scores in place of products: for each row a pointer to qk_dim weights w, the sum of
    /// w[c] * tanh(q[c] + k[c]). Rows of prefill have the same: additive[0].
    const float *const *additive;
    const uint64_t *visible;  ///< NULL: every row sees every key; or keys words, bit r: row r sees key j
    float softcap;            ///< 0: none; s = softcap * tanh(s * cap_inverse), before the bias
    float cap_inverse;        ///< 1 / softcap
    const float *const *bias; ///< NULL, or for each row a pointer to the chunk's first bias; -inf hides the key
    ptrdiff_t bias_key;       ///< elements between the biases of adjacent keys
    /// NULL, or ALiBi, after the bias: s = fma(falls[r], |key + j - positions[r]|, s). Both are readable up to the next
    /// multiple of 16 rows.
    const float *falls, *positions;
    uint32_t key;         ///< position of the chunk's first key
    float keep_scale;     ///< with keep: what a kept weight is multiplied by; a dropped one becomes +0
    const uint64_t *keep; ///< NULL: no dropout; or keys words, bit r: row r keeps its weight for key j
    struct fovea_attention_state state;
    /// 1: nothing has been seen yet, the state is an empty one but for o, which is not set: it becomes what would be
    /// added to it, or +0 in rows that see no key. Not read where `scores` is not NULL.
    uint32_t fresh;
    /// decode only. NULL, or S[r,j] = scores[r * FOVEA_CHUNK + j] becomes the score, -inf where row r does not see key
    /// j and for j from keys to the next multiple of 16; v and the state are not touched then.
    float *scores;
    /// With scores: NULL, or S becomes the exponent of 2 that makes a weight, (S[r,j] - lse[r]) * log2(e), -inf where S
    /// or lse[r] is.
    const float *lse;
    float *scratch; ///< fovea_attention_scratch(qk_dim, v_dim) elements, 64-byte aligned
};
typedef void fovea_attention_fn(const struct fovea_attention_chunk *chunk);

/// Weights of a chunk, as dropout names them: docs/numerics.md section 6.
struct fovea_attention_keep {
    uint32_t seed[2];             ///< low word, high word
    uint32_t batch, key;          ///< of the first key: a multiple of 4
    size_t rows, keys;            ///< 1 <= rows <= FOVEA_TILE_ROWS_MAX, 1 <= keys <= FOVEA_CHUNK
    const uint32_t *query, *head; ///< of each row, readable up to the next multiple of 16
    uint32_t threshold;           ///< a weight is dropped iff its word is below
};
/// keep[j] of keys words: bit r is set iff row r keeps the weight of key j; other bits are 0.
typedef void fovea_keep_fn(const struct fovea_attention_keep *weights, uint64_t *keep);

/// into = merge(into, from), from being the state of later keys. from is left unspecified.
typedef void fovea_merge_fn(const struct fovea_attention_state *into, const struct fovea_attention_state *from);
/// The end of the softmax. sinks (NULL: none) has a logit for each row, merged as the last state: m = the sink, l = 1,
/// O = 0, or as no state where it is -inf. Then O = O * (1 / l), +0 where it is zero or l = 0; lse[r] = m + ln(l), -inf
/// where l = 0 (lse may be NULL). sinks are readable up to the next multiple of 16 rows.
typedef void fovea_finish_fn(const struct fovea_attention_state *state, const float *sinks, float *lse);

/// Elements of scratch a chunk needs, for any variant: S [128][64] (decode: S [16][128], the last panel of V [128][16],
/// 4096 transposed elements, S of the next chunk [2][128], K, then V, of the keys that are seen [128][v_dim]),
/// transposed keys [64][qk_dim], the new part of O [64][round16(v_dim)], alpha [64].
static inline size_t fovea_attention_scratch(size_t qk_dim, size_t v_dim)
{
    const size_t v_round = (v_dim + FOVEA_PANEL - 1) / FOVEA_PANEL * FOVEA_PANEL;
    return (size_t)FOVEA_TILE_ROWS_MAX * (FOVEA_CHUNK + qk_dim + 3 * v_round + 1);
}

#endif
