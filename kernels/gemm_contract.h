// SPDX-License-Identifier: Apache-2.0
// kernels/gemm_contract.h - what the kernels of a GEMM take: tiles, panels, and the end of a product.
#ifndef FOVEA_KERNELS_GEMM_CONTRACT_H
#define FOVEA_KERNELS_GEMM_CONTRACT_H

#include "kernels/panel.h"
#include <stddef.h>
#include <stdint.h>

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
    ptrdiff_t residual_row, bias_next, residual_next; ///< the last two from one tile to the next: below 0 and
                                                      ///< m * residual_row, beside n or the like for both
    uint32_t relu;                                    ///< 0 or 1
};

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
    const struct fovea_gemm_terms *terms; ///< or NULL; of STORE or ADD
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

#endif
