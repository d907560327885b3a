// SPDX-License-Identifier: Apache-2.0
// kernels/gemm_contract.h - the arguments of the GEMM kernels: tiles, panels, and the epilogue.
#ifndef FOVEA_KERNELS_GEMM_CONTRACT_H
#define FOVEA_KERNELS_GEMM_CONTRACT_H

#include "kernels/panel.h"
#include <stddef.h>
#include <stdint.h>

/// How a tile of C is written after its k steps.
enum fovea_gemm_mode {
    FOVEA_GEMM_STORE,   ///< C = acc, where acc starts at +0; C is not read
    FOVEA_GEMM_ADD,     ///< C = acc, where acc starts at C: continues the chain of an earlier k block
    FOVEA_GEMM_RESCALE, ///< C = fma(C, scale[j], acc), where acc starts at +0
};

/// What is applied to the sums of a tile before they are stored: the steps of struct fovea_gemm_epilogue, restricted to
/// gated 0, no activation but ReLU, and beta 0 if mode is ADD. Exactly n elements of bias and m x n of residual are
/// read.
struct fovea_gemm_terms {
    float alpha, beta;
    const float *bias, *residual; ///< bias[j], residual[i * residual_row + j], or NULL; the residual may be C itself
    ptrdiff_t residual_row, bias_next, residual_next; ///< the last two are the distances from one tile to the next: 0
                                                      ///< and m * residual_row for tiles below one another, n or the
                                                      ///< like in both for tiles side by side
    uint32_t relu;                                    ///< 0 or 1
};

/// One register tile: C[i,j] is the chain acc = fma(A[i,p], B[p,j], acc) over k ascending steps. Strides are in
/// elements.
///
///     A[i,p] = a[i * a_row + p * a_k]                            any strides: rows, columns, packed, a K panel
///     B[p,j] = b[(j / 16) * b_panel + p * b_k + j % 16]          packed panels (b_k 16), or natural rows (b_panel 16)
///     C[i,j] = c[i * c_row + j]
///
/// Every panel of B that holds a column below n must be readable in full (16 columns), except for b_ends. Of A exactly
/// m x k elements are read, of C exactly m x n written. k may be 0. Any alignment is allowed; 64-byte aligned panels
/// are the fast case.
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
    const float *ahead;    ///< hint: memory that later steps or tiles will read, or NULL. Step p prefetches
    ptrdiff_t ahead_step;  ///< the line of ahead[p * ahead_step] and, where ahead_panel is not 0, those of
    ptrdiff_t ahead_panel; ///< ahead[p * ahead_step + j * ahead_panel] for each further panel j of the tile
    /// Number of further tiles of the same sizes, each at a + a_next, b + b_next and c + c_next of the one before:
    /// below one another in A and C (m * a_row, 0, m * c_row), or side by side in B and C (0, any, any). If there are
    /// any, mode is STORE or ADD, and ahead is NULL.
    size_t more;
    ptrdiff_t a_next, b_next, c_next;
    uint32_t near;    ///< hint: 1 if A, B and C are in L2 already, or are streamed in order
    uint32_t follows; ///< hint: 1 if B is read fastest when nothing of it is prefetched except as lead_steps says
    /// Hint, not 0 if B comes from beyond L2. Step p prefetches into L1 what step p + lead_steps reads; if ahead is not
    /// NULL, the last steps prefetch what the first steps of the next tile read, whose B begins at ahead and has the
    /// same layout of rows and panels.
    uint32_t lead_steps;
    /// Hint: 0, or, of a B of packed panels from beyond L2, how many pages ahead of what is read or, with lead_steps,
    /// of what is prefetched a line is prefetched once for each FOVEA_PAGE of a panel (with lead_steps, or of a tile of
    /// one panel).
    uint32_t touch;
    const struct fovea_gemm_terms *terms; ///< NULL, or, with STORE or ADD, the epilogue to apply
    /// If not NULL, the tile also packs what it reads of B: packed[(j / 16) * packed_panel + p * 16 + j % 16] = B[p,j].
    /// Then mode is STORE or ADD, B is natural rows, n whole panels, a_k 1, more, lead_steps and b_ends are 0, and
    /// ahead is NULL.
    float *packed;
    ptrdiff_t packed_panel;
    size_t b_ends; ///< If not 0: B is natural rows, and in its last b_ends rows (at most k) exactly n elements are
                   ///< readable; mode is STORE, ahead NULL and b_next 0. If 0, every panel is readable in full.
};
typedef void fovea_gemm_fn(const struct fovea_gemm_tile *tile);

/// Few rows of C against rows of a transposed B, read in place: C[i,j] for i < m, j < n is the chain
/// acc = fma(A[i,p], B[j,p], acc) from +0 over k ascending steps. Exactly m x k, n x k and m x n elements of A, B and C
/// are accessed.
///
///     A[i,p] = a[p * a_k + i]    B[j,p] = b[j * b_row + p]    C[i,j] = c[i * c_row + j]
///
/// A variant reads nr rows of B side by side, or more as `side` says. From memory they may stream better if they are
/// far apart.
struct fovea_gemm_bt_tile {
    size_t m, n, k; ///< 1 <= m <= mr of the variant, 1 <= n
    const float *a;
    ptrdiff_t a_k;
    const float *b;
    ptrdiff_t b_row;
    float *c;
    ptrdiff_t c_row;
    uint32_t far;     ///< hint: 1 if B comes from beyond L2, with its next rows following these in memory
    uint32_t side;    ///< hint: the most rows of B to read side by side; 8, 16 or 32
    uint32_t into_l1; ///< hint, with far: 1: prefetch the next rows into L1; 0: these rows, some lines ahead, and then
                      ///< the next ones, into L2
    uint32_t twice;   ///< hint, with far, for one row of C: prefetch each line into L2 twice, in place of into_l1, in
                      ///< segments of so many lines of each row, an even number, or 0
    uint32_t touch;   ///< hint, with far and a side of 16 and more, for one row of C: prefetch a line so many pages
                      ///< ahead of these rows, or 0
    /// If not NULL, B is packed as well, if m is above side_rows, otherwise ignored: packed[(j / 16) * packed_panel +
    /// p * 16 + j % 16] = B[j,p], in whole panels, whose columns from n on become +0. Then, if `adds` is 1, acc starts
    /// at C.
    float *packed;
    ptrdiff_t packed_panel;
    uint32_t adds;
    uint32_t stream; ///< hint, without far, if n = nr: how many lines ahead of its use each row of B is prefetched
                     ///< into L1, or 0
    uint32_t head;   ///< hint: so many steps, fewer than k, are before the first line that begins in each row of B:
                     ///< they are computed by themselves, so that no load of the others crosses lines
};
typedef void fovea_gemm_bt_fn(const struct fovea_gemm_bt_tile *tile);

/// Few rows of C against a few rows of B: C[i,j] for i < m, j < n is the chain acc = fma(A[i,p], B[p,j], acc) over k
/// ascending steps, where acc starts at +0 or, if `adds` is 1, at C. Exactly m x k, k x n and m x n elements of A, B
/// and C are accessed.
///
///     A[i,p] = a[i * a_row + p * a_k]    B[p,j] = b[p * b_row + j]    C[i,j] = c[i * c_row + j]
///
/// The rows of B are read side by side, each as a stream of its own.
struct fovea_gemm_bn_tile {
    size_t m, n, k; ///< 1 <= m <= mr of the variant, 1 <= n, 1 <= k <= FOVEA_BN_STEPS
    const float *a;
    ptrdiff_t a_row, a_k;
    const float *b;
    ptrdiff_t b_row;
    float *c;
    ptrdiff_t c_row;
    uint32_t adds;
    /// Hint: the rows to read next, also b_row apart, or b itself if there are none. NULL: nothing is to be prefetched.
    const float *ahead;
    /// Hint, with ahead: prefetch each row this many columns before their use, into L1; 0: some columns, into L2.
    size_t lead_columns;
    /// Hint, with ahead NULL, for one row of C: once for each FOVEA_PAGE of a row of B a line is prefetched that lies
    /// so many pages ahead of what is read or, past the row's end, in the row k rows further on; 0: nothing.
    uint32_t touch;
};
typedef void fovea_gemm_bn_fn(const struct fovea_gemm_bn_tile *tile);

/// Most rows of A that a kernel for the last few columns reads side by side.
enum { FOVEA_EDGE_ROWS = 48 };

/// The last few columns of C, for all of its rows: C[i,j] for i < m, j < n is the chain acc = fma(A[i,p], B[p,j], acc)
/// from +0 over k ascending steps. Exactly m x k, k x n and m x n elements of A, B and C are accessed.
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

/// Packs k x n elements of B into panels: dst[(j / 16) * dst_panel + p * 16 + j % 16] = B[p,j]; columns from n to the
/// next multiple of 16 become +0. pack_b reads B[p,j] = src[p * ld + j], pack_bt reads B[p,j] = src[j * ld + p]
/// (transposing blocks of 16 x 16 in registers). Reads exactly k x n elements.
typedef void fovea_pack_fn(size_t k, size_t n, const float *src, ptrdiff_t ld, float *dst, ptrdiff_t dst_panel);

/// dst[i] = src[i] as f32, which is exact, for i < n, a multiple of 16. Elements are bfloat16 or IEEE half precision,
/// by slot.
typedef void fovea_widen_fn(size_t n, const uint16_t *src, float *dst);
/// The reverse: dst[i] is src[i] rounded to such an element, to nearest and ties to even, for i < n. What is beyond the
/// largest finite one by half of the last place or more is infinite. A NaN keeps its sign and the upper bits of its
/// fraction, and is quiet.
typedef void fovea_narrow_fn(size_t n, const float *src, uint16_t *dst);

/// 64 steps of a panel of 8-bit integers, B[p,j] = (q[p][j] - 128) * scale[j]. A scale is positive, below 2^112, and
/// has at most 15 significant bits, so that this is exact; or it is 0, and then all q of its column are 128. So a
/// single FMA makes B[p,j] of q, converted: times the scale, less 128 times the scale (exact); or of 2^15 + q, which a
/// byte becomes when it is moved: less 32896 times the scale (exact, too).
struct fovea_s8_group {
    float scale[FOVEA_PANEL];
    uint8_t q[FOVEA_GROUP][FOVEA_PANEL];
};
/// k steps of one group as f32: dst[p * 16 + j] = (q[p * 16 + j] - 128) * scale[j] for p < k, j < 16.
typedef void fovea_widen_s8_fn(size_t k, const uint8_t *q, const float *scale, float *dst);

/// Few rows of C against panels from memory, of f32, of 16-bit elements or of 8-bit integers, by slot: C[i,j] for i <
/// m, j < n is the chain acc = fma(A[i,p], (float)B[p,j], acc) from +0 over k ascending steps. Exactly m x k elements
/// of A are read and m x n of C written; panels of B are readable in full.
///
///     A[i,p] = a[p * a_k + i]    B[p,j] = b[(j / 16) * b_panel + p * 16 + j % 16]    C[i,j] = c[i * c_row + j]
///
/// A panel of 8-bit integers is a struct fovea_s8_group after another, of which the last has as many steps as are left;
/// b and b_panel are aligned to 64 bytes.
///
/// The panels, and what follows them in memory, are prefetched.
struct fovea_gemm_few_tile {
    size_t m, n, k; ///< 1 <= m <= mr of the variant
    const float *a;
    ptrdiff_t a_k;
    const void *b;
    ptrdiff_t b_panel; ///< in elements
    float *c;
    ptrdiff_t c_row;
    /// Hint: 1: nothing is prefetched, which makes reading panels faster on some machines.
    uint32_t quiet;
    /// If not NULL, B is packed as f32, too: packed[(j / 16) * packed_panel + p * 16 + j % 16] = B[p,j], for whole
    /// panels. Only by variants that pack, and with m = mr. Then, if `adds` is 1, acc starts at C.
    float *packed;
    ptrdiff_t packed_panel;
    uint32_t adds;
};
typedef void fovea_gemm_few_fn(const struct fovea_gemm_few_tile *tile);

/// dst[c * ld_dst + r] = scale * src[r * ld_src + c] for r < rows, c < cols.
typedef void fovea_transpose_fn(size_t rows, size_t cols, float scale, const float *src, ptrdiff_t ld_src, float *dst,
                                ptrdiff_t ld_dst);

/// Activations a GEMM epilogue may apply (values are those of the public enum fovea_activation).
enum { FOVEA_ACT_NONE, FOVEA_ACT_RELU, FOVEA_ACT_GELU, FOVEA_ACT_GELU_TANH, FOVEA_ACT_TANH, FOVEA_ACT_SILU };

/// The epilogue of a GEMM on an m x n block, in this order; an absent term is no operation:
///     v = alpha * acc (alpha != 1); v = fma(beta, C, v) (beta != 0); v + bias[j]; act(v); v + residual[i,j]; C = v
/// acc may be C itself if beta = 0. residual may be C itself if acc is not.
///
/// Gated (beta = 0): acc and bias have 2n columns, in pairs of a gate g = 2j and a value u = 2j + 1:
///     v = act(alpha * acc[g] + bias[g]) * (alpha * acc[u] + bias[u]); v + residual[i,j]; C = v
/// acc and C must not overlap then.
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

#endif
