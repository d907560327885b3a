// SPDX-License-Identifier: Apache-2.0
// tests/check/oracle.h - the operators in float64, written from their mathematical meaning and from nothing else.
//
// Each gives the exact result (to float64) and the bound that docs/numerics.md and roundings allow a f32 kernel.
#ifndef FOVEA_TESTS_CHECK_ORACLE_H
#define FOVEA_TESTS_CHECK_ORACLE_H

#include "kernels/kernel.h"

struct check_exact {
    double value, bound;
};

/// C[i,j] of a tile, c being the C that was there before.
struct check_exact oracle_gemm(const struct fovea_gemm_tile *tile, const float *c, size_t i, size_t j);
/// C[i,j] of an epilogue, c being the C that was there before; e->acc and e->residual are as they were, too.
struct check_exact oracle_epilogue(const struct fovea_gemm_epilogue *e, float c, size_t i, size_t j);

/// Element i of the unary slot's row; slots are those of kernels/rowwise.def. bound < 0: this slot has no oracle.
struct check_exact oracle_unary(const char *slot, size_t n, const float *x, size_t i);
struct check_exact oracle_activation(uint32_t act, double x);
/// A row of the norm slot.
void oracle_norm(const char *slot, size_t n, float eps, const float *x, const float *gamma, const float *beta,
                 struct check_exact *y);

/// Keys as one query row sees them, in any number of chunks: s[j] scores and their error bounds are made here.
struct oracle_attention {
    size_t qk_dim, v_dim;
    const float *q, *additive;    ///< additive: NULL, or the weights w of the score sum of w[c] tanh(q[c] + k[c])
    double max, sum, score_error; ///< score_error: the largest bound on a visible score
    double *value, *weight;       ///< v_dim sums of p v and p |v|, p relative to max
    size_t keys;                  ///< visible so far
    double low;                   ///< the least visible score
};
/// What becomes of a score after the product, and of its weight: s = softcap * tanh(s / softcap) (softcap 0: none),
/// + bias, + fall; the value counts `kept` times.
struct oracle_terms {
    double softcap, bias, fall, kept;
};
void oracle_attention_key(struct oracle_attention *row, const float *k, ptrdiff_t k_step,
                          const struct oracle_terms *terms, const float *v);
/// Column c of the output, O / l; the bound is on O / l computed in f32 from the state.
struct check_exact oracle_attention_out(const struct oracle_attention *row, size_t c);
struct check_exact oracle_attention_lse(const struct oracle_attention *row);

#endif
