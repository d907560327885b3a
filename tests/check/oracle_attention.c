// SPDX-License-Identifier: Apache-2.0
// tests/check/oracle_attention.c - float64 softmax(q k + bias) v of one query row, key by key, and its bounds.
//
// The sums are kept relative to the running maximum; in float64 the order of keys is of no consequence.
#include "tests/check/bounds.h"
#include "tests/check/oracle.h"

#include <math.h>

void oracle_attention_key(struct oracle_attention *row, const float *k, ptrdiff_t k_step,
                          const struct oracle_terms *terms, const float *v)
{
    if (isinf(terms->bias))
        return;
    double s = 0, magnitude = 0, slope = 0;
    for (size_t c = 0; c < row->qk_dim; c++) {
        const double a = (double)row->q[c], b = (double)k[(ptrdiff_t)c * k_step];
        const double product = row->additive ? (double)row->additive[c] * tanh(a + b) : a * b;
        s += product;
        magnitude += fabs(product);
        // q + k is rounded, which x tanh'(x) < 1/2 of its relative error passes on; tanh is within an ulp of its
        // result.
        slope += row->additive ? fabs((double)row->additive[c]) : 0;
    }
    double error = check_gamma((double)row->qk_dim) * magnitude;
    error += CHECK_U * (0.5 * slope + 2 * CHECK_TANH_ULP * (row->additive ? magnitude : 0));
    if (terms->softcap != 0) { // tanh' <= 1; two roundings of its argument and one of the product, and tanh itself
        s = terms->softcap * tanh(s / terms->softcap);
        error += (3 + 2 * CHECK_TANH_ULP) * CHECK_U * fabs(s) + 2 * CHECK_U * fabs(s);
    }
    s += terms->bias;
    error += CHECK_U * fabs(s);
    s += terms->fall;
    error += CHECK_U * fabs(s);
    row->score_error = fmax(row->score_error, error);
    row->low = row->keys == 0 ? s : fmin(row->low, s);
    row->keys++;
    const double max = fmax(row->max, s);
    const double keep = exp(row->max - max), p = exp(s - max); // exp(-inf) = 0 for the first key
    row->sum = row->sum * keep + p;
    for (size_t c = 0; c < row->v_dim; c++) {
        row->value[c] = row->value[c] * keep + p * terms->kept * (double)v[c];
        row->weight[c] = row->weight[c] * keep + p * terms->kept * fabs((double)v[c]);
    }
    row->max = max;
}

/// The relative error of a weight p by the end, and so of any sum of weights. The exponents of p and of the alphas that
/// follow it add up to at most the range of scores, three roundings each; every chunk is one more exp2 and two more
/// roundings (few cases have more than 8 partial chunks).
static double weight_error(const struct oracle_attention *row)
{
    const double chunks = (double)row->keys / FOVEA_CHUNK + 8;
    return row->score_error + CHECK_U * (3 * (row->max - row->low) + 2 * CHECK_EXP2_ULP * (1 + chunks)) +
           check_gamma((double)row->keys + 2 * chunks);
}

struct check_exact oracle_attention_out(const struct oracle_attention *row, size_t c)
{
    if (row->keys == 0)
        return (struct check_exact){0, 0};
    const double scale = row->weight[c] / row->sum;
    return (struct check_exact){row->value[c] / row->sum, 2.02 * weight_error(row) * scale + 0x1p-120};
}

struct check_exact oracle_attention_lse(const struct oracle_attention *row)
{
    if (row->keys == 0)
        return (struct check_exact){-INFINITY, 0};
    const double ln = log(row->sum), lse = row->max + ln;
    return (struct check_exact){lse, 1.01 * (weight_error(row) + CHECK_U * (2 * fabs(ln) + fabs(lse)))};
}
