// SPDX-License-Identifier: Apache-2.0
// kernels/kernel.h - the contract between the kernels and everything above them.
//
// A kernel is arithmetic on one tile or one row. It allocates nothing, reads no global, knows no thread, checks no
// argument: its caller (ops/) has done that once. Every variant of a slot gives the same bits as the scalar variant,
// which is the definition (docs/numerics.md); NaNs count as one value.
//
// Adding a variant: one file kernels/<isa>/<stem>.c that defines fovea_<stem>_<isa>, one line in a register
// (gemm.def, attention.def, rowwise.def), one entry in cmake/files.cmake. Prototypes, the resolver and the checks all
// read the registers; a kernel that is not registered does not compile (-Werror=missing-prototypes).
#ifndef FOVEA_KERNELS_KERNEL_H
#define FOVEA_KERNELS_KERNEL_H

#include "kernels/tuning.h"

enum {
    FOVEA_PANEL = 16,         ///< columns of a packed panel: layout f32-p16, the same on every ISA
    FOVEA_BN_STEPS = 16,      ///< rows of a natural B that are read side by side, at most
    FOVEA_CHUNK = 128,        ///< keys between two rescalings of the attention state, at absolute key positions
    FOVEA_SPLIT = 1024,       ///< keys between two merges of attention states, at absolute key positions
    FOVEA_TILE_ROWS_MAX = 64, ///< queries of an attention tile: one bit each in fovea_attention_chunk.visible
};

/// CPU bits. One bit is a cluster of features (docs/kernels.md); a variant requires those of its ISA.
enum {
    FOVEA_CPU_AVX2 = 1 << 0,   ///< AVX2, FMA, F16C, and the OS saves ymm
    FOVEA_CPU_AVX512 = 1 << 1, ///< F, BW, DQ, VL, and the OS saves zmm
    FOVEA_CPU_NEON = 1 << 2,   ///< Armv8-A Advanced SIMD
    FOVEA_CPU_VNNI = 1 << 8,   ///< AVX512_VNNI
    FOVEA_CPU_BF16 = 1 << 9,   ///< AVX512_BF16, or Arm BF16
    FOVEA_CPU_DOTPROD = 1 << 10,
    FOVEA_CPU_I8MM = 1 << 11,
};
#define FOVEA_REQUIRES_scalar 0u
#define FOVEA_REQUIRES_avx2 ((uint32_t)FOVEA_CPU_AVX2)
#define FOVEA_REQUIRES_avx512 ((uint32_t)(FOVEA_CPU_AVX2 | FOVEA_CPU_AVX512))
#define FOVEA_REQUIRES_neon ((uint32_t)FOVEA_CPU_NEON)

// ---- GEMM ------------------------------------------------------------------------------------------------------

/// What becomes of a tile of C when its k steps are done.
enum fovea_gemm_mode {
    FOVEA_GEMM_STORE,   ///< C = acc, acc beginning at +0; C is not read
    FOVEA_GEMM_ADD,     ///< C = acc, acc beginning at C: the chain goes on where an earlier k block left it
    FOVEA_GEMM_RESCALE, ///< C = fma(C, scale[j], acc), acc beginning at +0
};

/// What is done to the sums of a tile before they are stored: the steps of struct fovea_gemm_epilogue, not gated, with
/// no activation but ReLU, and beta 0 where mode is ADD. Of bias and residual exactly n and m x n elements are read.
struct fovea_gemm_terms {
    float alpha, beta;
    const float *bias, *residual; ///< bias[j], residual[i * residual_row + j], or NULL; the residual may be C itself
    ptrdiff_t residual_row, bias_next, residual_next; ///< the last two from one tile to the next, as c_next
    uint32_t relu;                                    ///< 0 or 1
};
/// Whether a micro-kernel has them, by what it requires: the definition, and those of AVX-512.
#define FOVEA_TAKES_TERMS(required) ((required) == FOVEA_REQUIRES_scalar || ((required)&FOVEA_CPU_AVX512) != 0)

/// One register tile: C[i,j] over k ascending steps acc = fma(A[i,p], B[p,j], acc). Strides are in elements.
///
///     A[i,p] = a[i * a_row + p * a_k]                            any strides: rows, columns, packed, a K panel
///     B[p,j] = b[(j / 16) * b_panel + p * b_k + j % 16]          packed panels (b_k 16), or natural rows (b_panel 16)
///     C[i,j] = c[i * c_row + j]
///
/// Every panel of B that holds a column below n is readable in full (16 columns), but for b_ends; of A exactly m x k
/// elements are read and of C exactly m x n written. k = 0 is legal. Any alignment is legal; 64-byte aligned panels are
/// the fast case.
struct fovea_gemm_tile {
    size_t m, n, k; ///< 1 <= m <= mr, 1 <= n <= nr of the variant
    const float *a;
    ptrdiff_t a_row, a_k;
    const float *b;
    ptrdiff_t b_panel, b_k;
    float *c;
    ptrdiff_t c_row;
    const float *scale; ///< RESCALE only: round16(n) readable elements
    enum fovea_gemm_mode mode;
    const float *ahead;    ///< a hint: memory that later steps or tiles will read, or NULL. Step p prefetches
    ptrdiff_t ahead_step;  ///< the line of ahead[p * ahead_step] and, where ahead_panel is not 0, those of
    ptrdiff_t ahead_panel; ///< ahead[p * ahead_step + j * ahead_panel] for each further panel j of the tile
    /// So many more tiles, of the same sizes, each at a + a_next, b + b_next and c + c_next of the one before: one
    /// below another in A and C (m * a_row, 0, m * c_row), or one beside another in B and C (0, any, any). Where there
    /// are any, mode is STORE or ADD, and ahead NULL.
    size_t more;
    ptrdiff_t a_next, b_next, c_next;
    uint32_t near;    ///< a hint: 1 where A, B and C are in L2 already, or come and go in order
    uint32_t follows; ///< a hint: 1 where B comes fastest if nothing of it is prefetched but what lead says
    /// A hint: not 0 where B comes from beyond L2. Step p prefetches into L1 what step p + lead_steps reads, and the
    /// last steps what the first ones of the tile read whose B is at ahead, if that is not NULL, in rows and panels as
    /// these.
    uint32_t lead_steps;
    const struct fovea_gemm_terms *terms; ///< or NULL; for variants of FOVEA_TAKES_TERMS, mode STORE or ADD
    size_t b_ends; ///< not 0: B is natural rows, and of so many of them, at most k, the last ones, exactly n elements
                   ///< are readable; mode is STORE, ahead NULL and b_next 0. 0: every panel is readable in full
};
typedef void fovea_gemm_fn(const struct fovea_gemm_tile *tile);

/// Few rows of C against rows of B, which is read where it lies: C[i,j] for i < m, j < n is the chain over k
/// ascending steps acc = fma(A[i,p], B[j,p], acc) from +0. Of A, B and C exactly m x k, n x k and m x n elements are
/// read and written.
///
///     A[i,p] = a[p * a_k + i]    B[j,p] = b[j * b_row + p]    C[i,j] = c[i * c_row + j]
///
/// A variant reads nr rows of B side by side, or more as `side` says; from memory they may stream better when they lie
/// far apart.
struct fovea_gemm_bt_tile {
    size_t m, n, k; ///< 1 <= m <= mr of the variant, 1 <= n
    const float *a;
    ptrdiff_t a_k;
    const float *b;
    ptrdiff_t b_row;
    float *c;
    ptrdiff_t c_row;
    uint32_t far;     ///< a hint: 1 where B comes from beyond L2, its next rows after these
    uint32_t side;    ///< a hint: rows of B that should be read side by side, at most; 8, 16 or 32
    uint32_t into_l1; ///< a hint, with far: 1 where these are prefetched best into L1, 0 where into L2
    uint32_t stream;  ///< a hint, without far: lines ahead of its use that each row of B is prefetched, into L1, or 0
                      ///< (AVX-512, 16 rows; AVX2, eight)
};
typedef void fovea_gemm_bt_fn(const struct fovea_gemm_bt_tile *tile);

/// A few steps of few rows of C against rows of B: C[i,j] for i < m, j < n is the chain over k ascending steps acc =
/// fma(A[i,p], B[p,j], acc), acc beginning at +0 or, where `adds` is 1, at C. Of A, B and C exactly m x k, k x n and m
/// x n elements are read and written.
///
///     A[i,p] = a[i * a_row + p * a_k]    B[p,j] = b[p * b_row + j]    C[i,j] = c[i * c_row + j]
///
/// B's rows are read side by side, each a stream.
struct fovea_gemm_bn_tile {
    size_t m, n, k; ///< 1 <= m <= mr of the variant, 1 <= n, 1 <= k <= FOVEA_BN_STEPS
    const float *a;
    ptrdiff_t a_row, a_k;
    const float *b;
    ptrdiff_t b_row;
    float *c;
    ptrdiff_t c_row;
    uint32_t adds;
    /// A hint: rows that are read next, also b_row apart, or b itself where there are none; NULL where nothing is to be
    /// prefetched.
    const float *ahead;
    /// A hint: 0 where these are prefetched best one after another, into L2; or so many columns of each row before
    /// their use, into L1.
    size_t lead_columns;
};
typedef void fovea_gemm_bn_fn(const struct fovea_gemm_bn_tile *tile);

/// The last, few columns of C, all of its rows: C[i,j] for i < m, j < n is the chain over k ascending steps acc =
/// fma(A[i,p], B[p,j], acc) from +0. Of A, B and C exactly m x k, k x n and m x n elements are read and written.
///
///     A[i,p] = a[i * a_row + p]    B[p,j] = b[p * b_k + j]    C[i,j] = c[i * c_row + j]
///
struct fovea_gemm_edge_tile {
    size_t m, n, k; ///< 1 <= m, 1 <= n <= FOVEA_PANEL / 2
    const float *a;
    ptrdiff_t a_row;
    const float *b;
    ptrdiff_t b_k;
    float *c;
    ptrdiff_t c_row;
};
typedef void fovea_gemm_edge_fn(const struct fovea_gemm_edge_tile *tile);

/// Packs k x n elements of B into panels: dst[(j / 16) * dst_panel + p * 16 + j % 16] = B[p,j]; the columns from n to
/// the next multiple of 16 become +0. pack_b reads B[p,j] = src[p * ld + j], pack_bt reads B[p,j] = src[j * ld + p]
/// (16 x 16 blocks are transposed in registers). Reads exactly k x n elements.
typedef void fovea_pack_fn(size_t k, size_t n, const float *src, ptrdiff_t ld, float *dst, ptrdiff_t dst_panel);

/// dst[c * ld_dst + r] = scale * src[r * ld_src + c] for r < rows, c < cols.
typedef void fovea_transpose_fn(size_t rows, size_t cols, float scale, const float *src, ptrdiff_t ld_src, float *dst,
                                ptrdiff_t ld_dst);

/// Activations a GEMM epilogue may apply (values are those of the public enum fovea_activation).
enum { FOVEA_ACT_NONE, FOVEA_ACT_RELU, FOVEA_ACT_GELU, FOVEA_ACT_GELU_TANH, FOVEA_ACT_TANH, FOVEA_ACT_SILU };

/// The end of a GEMM on an m x n block, in this order, an absent term being no operation:
///     v = alpha * acc (alpha != 1); v = fma(beta, C, v) (beta != 0); v + bias[j]; act(v); v + residual[i,j]; C = v
/// acc may be C itself where beta = 0. residual may be C itself where acc is not.
///
/// Gated, beta = 0: acc and bias have 2n columns, in pairs of a gate and a value, g = 2j and u = 2j + 1:
///     v = act(alpha * acc[g] + bias[g]) * (alpha * acc[u] + bias[u]); v + residual[i,j]; C = v
/// acc and C do not overlap then.
struct fovea_gemm_epilogue {
    size_t m, n; ///< of C
    const float *acc;
    ptrdiff_t acc_row;
    float *c;
    ptrdiff_t c_row;
    float alpha, beta;
    const float *bias;     ///< n elements (gated: 2n), or NULL
    const float *residual; ///< or NULL
    ptrdiff_t residual_row;
    uint32_t act;   ///< FOVEA_ACT_*
    uint32_t gated; ///< 0 or 1
};
typedef void fovea_epilogue_fn(const struct fovea_gemm_epilogue *epilogue);

// ---- Rows ------------------------------------------------------------------------------------------------------

/// y[i] = f(x[0..n)), one row. y may be x; otherwise they do not overlap.
typedef void fovea_unary_fn(size_t n, const float *x, float *y);
/// z[i] = f(x[i], y[i]). z may be x or y.
typedef void fovea_binary_fn(size_t n, const float *x, const float *y, float *z);
/// One row of LayerNorm or RMSNorm; gamma and beta may each be NULL. y may be x.
typedef void fovea_norm_fn(size_t n, float eps, const float *x, const float *gamma, const float *beta, float *y);

/// Elementwise dropout, as docs/numerics.md section 6 names the elements.
struct fovea_dropout {
    uint32_t seed[2]; ///< low word, high word
    uint32_t site;
    uint32_t threshold; ///< an element is dropped iff its word is below
    uint64_t element;   ///< the number of x[0]
    float scale;        ///< of what is kept
};
/// y[i] = x[i] * scale, +0 where it is dropped. y may be x; otherwise they do not overlap.
typedef void fovea_dropout_fn(const struct fovea_dropout *dropout, size_t n, const float *x, float *y);

/// Rotary positions: n pairs (a, b) of a head become (a * cos[i] - b * sin[i], b * cos[i] + a * sin[i]), three
/// roundings each. Pair i is x[i] and x[n + i] or, `adjacent`, x[2 i] and x[2 i + 1]; y likewise. y may be x.
typedef void fovea_rotary_fn(size_t n, uint32_t adjacent, const float *x, const float *cos, const float *sin, float *y);

// ---- Attention -------------------------------------------------------------------------------------------------

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

// ---- Registers -------------------------------------------------------------------------------------------------

/// A variant of a family: its code, its place in the registers, counted from 0, and the facts its caller needs. mr x nr
/// is its tile, 0 where it has none.
#define FOVEA_FAMILY(family)                                                                                           \
    struct fovea_##family##_kernel {                                                                                   \
        const char *name;                                                                                              \
        int32_t variant;                                                                                               \
        uint32_t required;                                                                                             \
        uint16_t mr, nr;                                                                                               \
        fovea_##family##_fn *run;                                                                                      \
    };
FOVEA_FAMILY(gemm)
FOVEA_FAMILY(gemm_bt)
FOVEA_FAMILY(gemm_bn)
FOVEA_FAMILY(gemm_edge)
FOVEA_FAMILY(pack)
FOVEA_FAMILY(transpose)
FOVEA_FAMILY(epilogue)
FOVEA_FAMILY(unary)
FOVEA_FAMILY(binary)
FOVEA_FAMILY(norm)
FOVEA_FAMILY(dropout)
FOVEA_FAMILY(rotary)
FOVEA_FAMILY(keep)
FOVEA_FAMILY(merge)
FOVEA_FAMILY(finish)
#undef FOVEA_FAMILY

/// The same of attention, whose facts are numbers of queries.
struct fovea_attention_kernel {
    const char *name;
    int32_t variant;
    uint32_t required;
    uint16_t queries;      ///< of a tile, at most
    uint16_t l1_queries;   ///< prefill: the fewest of a tile whose prefetches go into L1 where asked to; 0: none do
    uint16_t last_queries; ///< decoding: so many last ones of a head it takes faster than one more tile of prefill does
    fovea_attention_fn *run;
};

#define FOVEA_FACTS(...) __VA_ARGS__ ///< what a line of the registers says of a variant, without its parentheses
#define FOVEA_KERNEL(family, slot, stem, isa, facts) fovea_##family##_fn fovea_##stem##_##isa;
#include "kernels/registers.def"
#undef FOVEA_KERNEL

/// The table an engine resolves once: no member is ever NULL.
struct fovea_kernels {
    uint32_t cpu;     ///< FOVEA_CPU_* bits in use
    uint32_t workers; ///< that share a call, at most; at least 1
    struct fovea_tuning tuning;
    struct fovea_gemm_kernel gemm_of[FOVEA_GEMM_CLASSES];  ///< the micro-kernel of each class; slot gemm is the default
    struct fovea_gemm_kernel gemm_tiles[FOVEA_GEMM_TILES]; ///< those of slot gemm's ISA, or the one that is pinned:
    uint32_t gemm_tile_count;                              ///< small products and few rows choose
#define FOVEA_SLOT(family, slot) struct fovea_##family##_kernel slot;
#include "kernels/slots.def"
#undef FOVEA_SLOT
};

struct fovea_engine;
/// The table of an engine (implemented in dispatch/, used by ops/).
const struct fovea_kernels *fovea_engine_kernels(const struct fovea_engine *engine);

#endif
