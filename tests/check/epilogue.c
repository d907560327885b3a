// SPDX-License-Identifier: Apache-2.0
// tests/check/epilogue.c - cases of the GEMM epilogue: all terms present and absent, all activations, gated or not,
// legal aliasing.
#include "tests/check/check.h"
#include "tests/check/oracle.h"

/// How the operands alias: what kernels/kernel.h allows.
enum aliasing { ALL_APART, ACC_IS_C, RESIDUAL_IS_C };

static float draw_factor(struct check_rng *rng)
{
    static const float factors[] = {1, 1, 0, -1, 0.5f, -0.0f};
    return check_chance(rng, 70) ? factors[check_below(rng, sizeof factors / sizeof factors[0])]
                                 : 2 * check_uniform(rng);
}

/// rows x cols elements with a stride that is drawn, too.
static struct check_buffer *make(struct check_case *c, const char *name, const struct check_source *values, size_t rows,
                                 size_t cols, ptrdiff_t *stride)
{
    *stride = (ptrdiff_t)(cols + (check_chance(&c->rng, 60) ? check_below(&c->rng, 20) : 0));
    struct check_buffer *const b = check_buffer(c, name, rows * cols == 0 ? 0 : (rows - 1) * (size_t)*stride + cols);
    if (b->count != 0)
        check_fill_rows(c, b, values, rows, cols, (size_t)*stride);
    return b;
}

static void call(struct check_case *c, const struct check_variant *who, struct fovea_gemm_epilogue e,
                 enum aliasing aliasing, float *out)
{
    e.c = out;
    if (aliasing == ACC_IS_C)
        e.acc = out;
    if (aliasing == RESIDUAL_IS_C)
        e.residual = out;
    check_enter(c, who);
    who->run.epilogue(&e);
    check_leave(c);
}

static void compare_oracle(struct check_case *c, const struct fovea_gemm_epilogue *e, const float *before,
                           const float *got)
{
    for (size_t i = 0; i < e->m; i++) {
        for (size_t j = 0; j < e->n; j++) {
            const struct check_exact x = oracle_epilogue(e, before[i * (size_t)e->c_row + j], i, j);
            check_bound(c, "C", i, j, got[i * (size_t)e->c_row + j], x.value, x.bound);
        }
    }
}

static void run_case(struct check_case *c)
{
    struct check_rng *const rng = &c->rng;
    const struct check_source values = check_source(rng, 3);
    struct fovea_gemm_epilogue e = {.m = check_size(rng, 9), .n = check_size(rng, 140), .alpha = draw_factor(rng)};
    e.gated = check_chance(rng, 40);
    const size_t acc_n = e.gated ? 2 * e.n : e.n;
    static const enum aliasing legal[] = {ALL_APART, RESIDUAL_IS_C, ACC_IS_C};
    const enum aliasing aliasing = legal[check_below(rng, e.gated ? 2 : 3)];
    e.beta = aliasing != ACC_IS_C && !e.gated && check_chance(rng, 50) ? draw_factor(rng) : 0;
    e.act = (uint32_t)check_below(rng, FOVEA_ACT_SILU + 1);
    const bool has_bias = check_chance(rng, 60), has_residual = aliasing == RESIDUAL_IS_C || check_chance(rng, 50);
    check_describe(c, " m %zu n %zu alpha %a beta %a act %u%s bias %d residual %d aliasing %d values %d", e.m, e.n,
                   (double)e.alpha, (double)e.beta, e.act, e.gated ? " gated" : "", has_bias, has_residual,
                   (int)aliasing, (int)values.kind);
    struct check_buffer *const acc = make(c, "acc", &values, e.m, acc_n, &e.acc_row);
    struct check_buffer *const residual = make(c, "residual", &values, e.m, e.n, &e.residual_row);
    struct check_buffer *const bias = check_buffer(c, "bias", acc_n);
    check_fill(rng, &values, bias->data, acc_n);
    struct check_buffer *const want = make(c, "C", &values, e.m, e.n, &e.c_row);
    const bool reads_c = e.beta != 0 || aliasing != ALL_APART;
    if (!reads_c)
        check_poison(want->data, want->count); // and must not show
    e.acc = acc->data;
    e.bias = has_bias ? bias->data : NULL;
    e.residual = has_residual ? residual->data : NULL;
    if (aliasing == ACC_IS_C)
        e.acc_row = e.c_row;
    if (aliasing == RESIDUAL_IS_C)
        e.residual_row = e.c_row;
    struct check_buffer *const before = check_twin(c, want), *const got = check_twin(c, want);
    check_seal();
    call(c, c->scalar, e, aliasing, want->data);
    call(c, c->variant, e, aliasing, got->data);
    check_sealed(c);
    check_outputs(c, want, got, (struct check_view){want->count == 0 ? 0 : e.m, e.n, (size_t)e.c_row, 0});
    if (aliasing == ACC_IS_C)
        e.acc = before->data;
    if (aliasing == RESIDUAL_IS_C)
        e.residual = before->data;
    if (values.kind == CHECK_UNIFORM)
        compare_oracle(c, &e, before->data, got->data);
}

/// Bias and exact gelu, in place: the first half of a feed-forward layer.
static double bench(struct check_case *c, size_t calls)
{
    const struct check_source values = {CHECK_UNIFORM, 3, 0};
    struct check_buffer *const x = check_buffer(c, "C", 16 * 256), *const bias = check_buffer(c, "bias", 256);
    check_fill(&c->rng, &values, x->data, x->count);
    check_fill(&c->rng, &values, bias->data, bias->count);
    const struct fovea_gemm_epilogue e = {.m = 16,
                                          .n = 256,
                                          .acc = x->data,
                                          .acc_row = 256,
                                          .c = x->data,
                                          .c_row = 256,
                                          .alpha = 1,
                                          .bias = bias->data,
                                          .act = FOVEA_ACT_GELU};
    c->started = check_seconds();
    for (size_t i = 0; i < calls; i++)
        c->variant->run.epilogue(&e);
    return -16.0 * 256.0;
}

const struct check_family check_family_epilogue = {1500, run_case, bench};
