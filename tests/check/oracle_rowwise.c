// SPDX-License-Identifier: Apache-2.0
// tests/check/oracle_rowwise.c - float64 activations, softmax, norms, with bounds counted in roundings.
#include "tests/check/bounds.h"
#include "tests/check/oracle.h"

#include <math.h>
#include <string.h>

/// One unit in the last place of f32 at y.
static double ulp(double y)
{
    const double magnitude = fmax(fabs(y), 0x1p-126);
    return ldexp(1, ilogb(magnitude) - 23);
}

static struct check_exact exact_exp2(double x)
{
    if (x >= 128)
        return (struct check_exact){INFINITY, 0};
    if (x <= -127)
        return (struct check_exact){0, 0};
    const double y = exp2(x);
    return (struct check_exact){y, x < -126 ? CHECK_EXP2_LOW : CHECK_EXP2_ULP * ulp(y)};
}

static struct check_exact exact_relu(double x)
{
    return (struct check_exact){x < 0 ? 0 : x, 0};
}

static struct check_exact exact_tanh(double x)
{
    const double y = tanh(x);
    return (struct check_exact){y, CHECK_TANH_ULP * ulp(y)};
}

static struct check_exact exact_sin(double x)
{
    const double y = sin(x);
    return (struct check_exact){y, CHECK_SIN_ULP * ulp(y)};
}

static struct check_exact exact_cos(double x)
{
    const double y = cos(x);
    return (struct check_exact){y, CHECK_SIN_ULP * ulp(y)};
}

static struct check_exact exact_gelu(double x)
{
    const double h = 0.5 * x, y = h * erfc(-x * 0.70710678118654752440);
    return (struct check_exact){y, CHECK_GELU_ULP * ulp(x)};
}

static struct check_exact exact_gelu_tanh(double x)
{
    const double h = 0.5 * x, y = h * (1 + tanh(0.79788456080286535588 * (x + 0.044715 * x * x * x)));
    return (struct check_exact){y, CHECK_GELU_ULP * ulp(x)};
}

static struct check_exact exact_silu(double x)
{
    const double y = x / (1 + exp(-x));
    const double below = x < CHECK_SILU_END ? CHECK_SILU_LOW : 0;
    return (struct check_exact){y, (CHECK_SILU_ULP - CHECK_SILU_ULP_PER_X * fmin(x, 0)) * ulp(y) + below};
}

struct check_exact oracle_activation(uint32_t act, double x)
{
    switch (act) {
    case FOVEA_ACT_RELU:
        return exact_relu(x);
    case FOVEA_ACT_GELU:
        return exact_gelu(x);
    case FOVEA_ACT_GELU_TANH:
        return exact_gelu_tanh(x);
    case FOVEA_ACT_TANH:
        return exact_tanh(x);
    case FOVEA_ACT_SILU:
        return exact_silu(x);
    default:
        return (struct check_exact){x, 0};
    }
}

/// Additions between an element and the end of a row sum: its virtual lane, then the tree.
static double sum_depth(size_t n)
{
    return (double)((n + 15) / 16) + 4;
}

struct exact_row {
    double max, sum, error; ///< sum of exp(x - max), and its relative error in f32
};

static struct exact_row exact_row(size_t n, const float *x)
{
    struct exact_row row = {-INFINITY, 0, 0};
    double low = INFINITY;
    for (size_t j = 0; j < n; j++) {
        row.max = x[j] > row.max ? x[j] : row.max; // fmax and fmin here crash gcc 12.2 for aarch64 at -O3
        low = x[j] < low ? x[j] : low;
    }
    for (size_t j = 0; j < n; j++)
        row.sum += exp(x[j] - row.max);
    // exp2's argument (x - m) log2(e) carries three roundings of its size: the difference, the constant, the product.
    row.error = CHECK_U * (3 * (row.max - low) + 2 * CHECK_EXP2_ULP + sum_depth(n));
    return row;
}

static struct check_exact exact_softmax(size_t n, const float *x, size_t i)
{
    const struct exact_row row = exact_row(n, x);
    const double y = exp(x[i] - row.max) / row.sum;
    const double own = CHECK_U * (3 * (row.max - x[i]) + 2 * CHECK_EXP2_ULP);
    return (struct check_exact){y, 1.01 * y * (own + row.error + 2 * CHECK_U) + 0x1p-126}; // 1/l and the product
}

static struct check_exact exact_log_softmax(size_t n, const float *x, size_t i)
{
    const struct exact_row row = exact_row(n, x);
    const double d = x[i] - row.max, ln = log(row.sum), y = d - ln;
    return (struct check_exact){y,
                                1.01 * (CHECK_U * (fabs(d) + fabs(y)) + row.error + CHECK_LN_ULP * ulp(ln)) + 0x1p-126};
}

struct check_exact oracle_unary(const char *slot, size_t n, const float *x, size_t i)
{
    static const struct {
        const char *slot;
        struct check_exact (*exact)(double x);
    } functions[] = {
        {"exp2", exact_exp2},           {"relu", exact_relu}, {"tanh", exact_tanh}, {"gelu", exact_gelu},
        {"gelu_tanh", exact_gelu_tanh}, {"silu", exact_silu}, {"sin", exact_sin},   {"cos", exact_cos},
    };
    for (size_t f = 0; f < sizeof functions / sizeof functions[0]; f++) {
        if (strcmp(slot, functions[f].slot) == 0)
            return functions[f].exact(x[i]);
    }
    if (strcmp(slot, "softmax") == 0)
        return exact_softmax(n, x, i);
    if (strcmp(slot, "log_softmax") == 0)
        return exact_log_softmax(n, x, i);
    return (struct check_exact){0, -1};
}

void oracle_norm(const char *slot, size_t n, float eps, const float *x, const float *gamma, const float *beta,
                 struct check_exact *y)
{
    double mean = 0, magnitude = 0, var = 0;
    for (size_t j = 0; j < n && strcmp(slot, "rmsnorm") != 0; j++) { // which has no mean
        mean += x[j] / (double)n;
        magnitude += fabs(x[j]) / (double)n;
    }
    for (size_t j = 0; j < n; j++)
        var += (x[j] - mean) * (x[j] - mean) / (double)n;
    const double rstd = 1 / sqrt(var + eps);
    const double mean_error = CHECK_U * (sum_depth(n) + 1) * magnitude;
    // The variance's own sum and division, and what the errors of d = x - mean do to the sum of its squares.
    const double var_error = CHECK_U * (sum_depth(n) + 3) * var + 2 * mean_error * sqrt(var) + mean_error * mean_error;
    const double rstd_error = 0.5 * var_error / (var + eps) + 2.5 * CHECK_U; // relative: add (halved), sqrt, division
    for (size_t j = 0; j < n; j++) {
        const double d = x[j] - mean, yhat = d * rstd;
        const double g = gamma ? gamma[j] : 1, b = beta ? beta[j] : 0;
        const double error = (mean_error + CHECK_U * fabs(d)) * rstd + fabs(yhat) * (rstd_error + CHECK_U);
        y[j].value = yhat * g + b;
        y[j].bound = 1.01 * (fabs(g) * error + CHECK_U * fabs(y[j].value)) + 0x1p-126;
    }
}
