// SPDX-License-Identifier: Apache-2.0
// tests/unit/attention_exact.c - attention in float64 from its definition, and how far f32 may be from it.
//
// The bound is that of fovea/attention.h, with the weighted mean of |v| in place of its largest. All errors are
// relative to the exact weight p[j] = exp(s[j] - max), u = 2^-24 each rounding.
//  - A score: the scale (1/sqrt(d): 2 roundings), q * scale (1), d steps of a chain: gamma(d + 3) sum |q scale k|; the
//    bias adds u |s|, and so does ALiBi; a softcap 7 u |s| (two roundings of the argument, tanh, the product). An
//    additive score: d terms, each a tanh within 2 u, and gamma(d + 3) of them; q + k is rounded, of which x tanh'(x) <
//    1/2 passes on u / 2. A score
//    that is off by e makes its weight off by the factor exp(e).
//  - Every weight is a product of exp2's: its own, one for each later chunk of its split (alpha), one for each merge.
//    Their arguments add up to at most the range of scores and carry three roundings each (the difference, the constant
//    log2(e), the product); each exp2 is within 0.8 ulp, which is at most 1.6 u. Beyond 2^-127 a weight is nothing.
//  - A weight passes at most 128 additions of its chunk, one fma for each later chunk, two roundings for each merge.
//    So 128 + 1.6 + 2.6 for each chunk + 3.6 for each merge, merges being an eighth of the chunks: below 140 + 4
//    chunks.
// Numerator and denominator are both sums of such weights, hence the factor 2; 1 / l and O * (1 / l) add two roundings.
// The LSE is off by the error of the sum's logarithm (its relative error), 1 ulp of ln, and one addition.
// A weight below 2^-126 is only within 2^-126 of the largest: keys * 2^-126 * |v| at most.
#include "kernels/scalar/philox.h"
#include "tests/check/bounds.h"
#include "tests/unit/attention_case.h"

#include <math.h>

static bool alive(const struct fovea_attention_args *a, size_t h)
{
    bool found = !a->live_heads;
    for (size_t i = 0; a->live_heads && i < a->live_count; i++)
        found |= a->live_heads[i] == h;
    return found;
}

bool attention_case_sees(const struct attention_case *c, size_t b, size_t h, size_t i, size_t j)
{
    const struct fovea_attention_desc *const d = &c->desc;
    const struct fovea_attention_args *const a = &c->args;
    if (j >= a->kv_len || (d->kv_len_kind == FOVEA_KV_LEN_BATCH && j >= a->kv_lens[b]) ||
        (d->kv_len_kind == FOVEA_KV_LEN_BATCH_ROW && j >= a->kv_lens[b * a->q_len + i]))
        return false;
    const size_t news = a->kv_new_queries ? a->q_len : a->kv_new;
    if (a->kv_past && j >= news && j - news >= a->kv_past[b])
        return false;
    // Of at least 64 bits, and exact so.
    const long double most = 0x1p62L, asked = (long double)(a->q_offsets ? a->q_offsets[b] : a->q_offset);
    const long double away = (long double)j - (long double)i - fminl(most, fmaxl(-most, asked));
    if ((d->causal && away > 0) || (d->window_right != FOVEA_WINDOW_ALL && away > (long double)d->window_right) ||
        (d->window_left != FOVEA_WINDOW_ALL && -away > (long double)d->window_left))
        return false;
    const size_t row = b * d->mask_batch + h * d->mask_head + i * d->mask_row;
    if ((d->mask == FOVEA_MASK_BYTES && !a->mask[row + j * d->mask_key]) ||
        (d->mask == FOVEA_MASK_BITS && !(a->mask[row + j / 8] >> j % 8 & 1)))
        return false;
    if (d->segments && a->q_segments[b * a->q_len + i] != a->kv_segments[b * a->kv_len + j])
        return false;
    if (d->blocks &&
        !a->blocks[b * d->blocks_batch + h * d->blocks_head + i / d->block_rows * d->blocks_row + j / d->block_keys])
        return false;
    if (!alive(a, h))
        return false;
    return !d->bias || a->bias[b * d->bias_batch + h * d->bias_head + i * d->bias_row + j * d->bias_key] != -INFINITY;
}

struct check_exact attention_exact_score(const struct attention_case *c, size_t b, size_t h, size_t i, size_t j)
{
    const struct fovea_attention_desc *const d = &c->desc;
    const double scale = d->scale == FOVEA_SCALE_DEFAULT ? 1 / sqrt((double)d->qk_dim) : (double)d->scale;
    const float *const q = c->args.q + b * c->q.batch + h * c->q.head + i * c->q.row;
    const float *const k = (const float *)c->args.k + b * c->k.batch + h / (d->heads / d->kv_heads) * c->k.head;
    const bool additive = d->scoring == FOVEA_SCORING_ADDITIVE;
    double s = 0, magnitude = 0, weights = 0;
    for (size_t p = 0; p < d->qk_dim; p++) {
        const size_t at = d->k_layout == FOVEA_K_ROWS ? j * c->k.row + p : j / 16 * 16 * d->qk_dim + p * 16 + j % 16;
        const double w = additive ? (double)c->args.additive[h * d->qk_dim + p] : 0;
        const double product = additive ? w * tanh((double)q[p] + (double)k[at]) : scale * (double)q[p] * (double)k[at];
        s += product;
        magnitude += fabs(product);
        weights += fabs(w);
    }
    double error = check_gamma((double)d->qk_dim + 3) * magnitude + 0.5 * CHECK_U * weights;
    if (d->softcap != 0) {
        s = (double)d->softcap * tanh(s / (double)d->softcap);
        error += 7 * CHECK_U * fabs(s);
    }
    if (d->bias) {
        s += (double)c->args.bias[b * d->bias_batch + h * d->bias_head + i * d->bias_row + j * d->bias_key];
        error += CHECK_U * fabs(s);
    }
    if (c->args.slopes) {
        const double position = (double)i + (double)(c->args.q_offsets ? c->args.q_offsets[b] : c->args.q_offset);
        s -= (double)c->args.slopes[h] * fabs((double)j - position);
        error += CHECK_U * fabs(s);
    }
    return (struct check_exact){s, error};
}

// What dropout makes of a weight: a factor.
static double kept(const struct attention_case *c, size_t b, size_t h, size_t i, size_t j)
{
    const struct fovea_attention_args *const a = &c->args;
    const double p = (double)c->desc.dropout;
    const uint64_t position = i + (uint64_t)(a->q_offsets ? a->q_offsets[b] : a->q_offset);
    const uint32_t counter[] = {(uint32_t)j / 4, (uint32_t)position, (uint32_t)h, (uint32_t)b};
    const uint32_t key[] = {(uint32_t)a->seed, (uint32_t)(a->seed >> 32)};
    uint32_t words[4];
    if (p == 0 || a->eval)
        return 1;
    scalar_philox(counter, key, words);
    return words[j % 4] < (uint32_t)(p * 0x1p32) ? 0 : 1 / (1 - p);
}

static double sink_of(const struct attention_case *c, size_t h)
{
    return c->args.sinks && alive(&c->args, h) ? (double)c->args.sinks[h] : -INFINITY;
}

// How far a weight may be off, relative to it: see the head of this file.
static double relative_error(const struct attention_case *c, double score_error, double max, double low)
{
    const double chunks = (double)(c->args.kv_len / 128 + 1), spread = fmin((max - low) / log(2), 127);
    return score_error + CHECK_U * (140 + 4 * chunks + 3 * spread);
}

// The entropy is -sum w ln w = ln(l) + sum w (max - s): its error is that of the weights, each times |ln w| + 1.
struct attention_exact_statistics attention_exact_statistics(const struct attention_case *c, size_t b, size_t h,
                                                             size_t i, uint32_t key)
{
    const double sink = sink_of(c, h);
    double max = sink, low = isinf(sink) ? INFINITY : sink, error = 0, sum = 0, top = -INFINITY, mean = 0;
    struct attention_exact_statistics e = {.seen = false};
    for (int pass = 0; pass < 2; pass++) {
        for (size_t j = 0; j < c->args.kv_len; j++) {
            if (!attention_case_sees(c, b, h, i, j))
                continue;
            const struct check_exact s = attention_exact_score(c, b, h, i, j);
            e.seen = true;
            if (pass == 0) {
                max = fmax(max, s.value);
                top = fmax(top, s.value);
                low = fmin(low, s.value);
                error = fmax(error, s.bound);
                continue;
            }
            sum += exp(s.value - max);
            mean += exp(s.value - max) * (max - s.value);
            e.at_key = j == key ? exp(s.value - max) : e.at_key;
        }
    }
    if (!isinf(sink)) {
        sum += exp(sink - max);
        mean += exp(sink - max) * (max - sink);
    }
    if (sum > 0) {
        const double relative = 2.2 * expm1(2 * relative_error(c, error, max, low)) + 16 * CHECK_U;
        e.entropy.value = log(sum) + mean / sum;
        e.entropy.bound = relative * (1 + e.entropy.value) + (double)c->args.kv_len * 0x1p-118;
        e.largest.value = exp(top - max) / sum;
        e.largest.bound = relative * e.largest.value + 0x1p-120;
        e.at_key /= sum;
    }
    return e;
}

static double largest(const float *x, size_t n)
{
    double most = 0;
    for (size_t i = 0; i < n; i++)
        most = fabs((double)x[i]) > most ? fabs((double)x[i]) : most;
    return most;
}

void attention_exact(const struct attention_case *c, size_t b, size_t h, size_t i, struct check_exact *out,
                     struct check_exact *lse)
{
    const struct fovea_attention_desc *const d = &c->desc;
    const float *const v =
        (const float *)c->args.v + b * c->v.batch + (d->heads ? h / (d->heads / d->kv_heads) : 0) * c->v.head;
    double max = -INFINITY, low = INFINITY, error = 0, sum = 0;
    double weight[512] = {0}, most = 0; // of |v|
    size_t keys = 0;
    for (size_t p = 0; p < d->v_dim; p++)
        out[p] = (struct check_exact){0, 0};
    *lse = (struct check_exact){-INFINITY, 0};
    for (size_t j = 0; j < c->args.kv_len; j++) {
        if (!attention_case_sees(c, b, h, i, j))
            continue;
        const struct check_exact s = attention_exact_score(c, b, h, i, j);
        const double before = max;
        keys++;
        low = fmin(low, s.value);
        max = fmax(max, s.value);
        error = fmax(error, s.bound);
        const double keep = exp(before - max), p_j = exp(s.value - max), factor = kept(c, b, h, i, j);
        sum = sum * keep + p_j;
        for (size_t p = 0; p < d->v_dim; p++) {
            const double value = factor * (double)v[j * c->v.row + p];
            out[p].value = out[p].value * keep + p_j * value;
            weight[p] = weight[p] * keep + p_j * fabs(value);
        }
        most = fmax(most, largest(v + j * c->v.row, d->v_dim));
    }
    const double sink = sink_of(c, h);
    if (!isinf(sink)) { // one more logit, whose value is 0
        const double before = max;
        max = fmax(max, sink);
        low = fmin(low, sink);
        sum = sum * exp(before - max) + exp(sink - max);
        for (size_t p = 0; p < d->v_dim; p++) {
            out[p].value *= exp(before - max);
            weight[p] *= exp(before - max);
        }
        keys++;
    }
    if (keys == 0)
        return;
    const double relative = relative_error(c, error, max, low);
    const double tiny = (double)keys * 0x1p-126 * (1 + most);
    for (size_t p = 0; p < d->v_dim; p++) {
        out[p].value /= sum;
        out[p].bound = 1.01 * expm1(2 * relative + 4 * CHECK_U) * weight[p] / sum + tiny;
    }
    lse->value = max + log(sum);
    lse->bound = 1.01 * (expm1(relative) + CHECK_U * (2 * fabs(log(sum)) + fabs(lse->value))) + tiny;
}
