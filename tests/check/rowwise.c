// SPDX-License-Identifier: Apache-2.0
// tests/check/rowwise.c - cases of the row kernels: every length to 160, primes and long rows after that, in place too.
#include "tests/check/bounds.h"
#include "tests/check/check.h"
#include "tests/check/oracle.h"

#include <math.h>

enum { row_max = 1200 };

static size_t draw_length(struct check_case *c)
{
    // Case n has length n to begin with: no tail is left to chance.
    return c->index <= 160 ? (size_t)c->index : check_size(&c->rng, check_chance(&c->rng, 20) ? row_max : 300);
}

static struct check_buffer *make(struct check_case *c, const char *name, const struct check_source *values, size_t n)
{
    struct check_buffer *const b = check_buffer(c, name, n);
    check_fill(&c->rng, values, b->data, n);
    return b;
}

static float draw_scale(struct check_rng *rng)
{
    static const float scales[] = {0.01f, 1, 6, 20, 150};
    return scales[check_below(rng, sizeof scales / sizeof scales[0])];
}

static void call_unary(struct check_case *c, const struct check_variant *who, size_t n, const float *x, float *y)
{
    check_enter(c, who);
    who->run.unary(n, x, y);
    check_leave(c);
}

static void run_unary(struct check_case *c)
{
    const size_t n = draw_length(c);
    const struct check_source values = check_source(&c->rng, draw_scale(&c->rng));
    const bool in_place = check_chance(&c->rng, 40);
    check_describe(c, " n %zu values %d scale %g%s", n, (int)values.kind, (double)values.scale,
                   in_place ? " in place" : "");
    struct check_buffer *const x = make(c, "x", &values, n);
    struct check_buffer *const want = check_buffer(c, "y", n);
    struct check_buffer *const got = in_place ? check_buffer(c, "y", n) : check_twin(c, want);
    want->output = got->output = true;
    for (size_t i = 0; i < n && in_place; i++)
        want->data[i] = got->data[i] = x->data[i];
    check_seal();
    call_unary(c, c->scalar, n, in_place ? want->data : x->data, want->data);
    call_unary(c, c->variant, n, in_place ? got->data : x->data, got->data);
    check_sealed(c);
    check_outputs(c, want, got, (struct check_view){1, n, n, 0});
    if (values.kind != CHECK_UNIFORM)
        return;
    // A row function's oracle costs n: ask it about sixteen elements of a long row.
    for (size_t i = 0; i < n && !c->failed; i += n > 16 ? n / 16 : 1) {
        const struct check_exact e = oracle_unary(c->variant->slot, n, x->data, i);
        if (e.bound < 0)
            check_fail(c, "no oracle for slot %s: add it to oracle_rowwise.c", c->variant->slot);
        if (!isinf(e.value) || (double)got->data[i] != e.value)
            check_bound(c, "y", 0, i, got->data[i], e.value, e.bound);
    }
}

static void run_binary(struct check_case *c)
{
    static const char *const places[] = {"apart", "z is x", "z is y"};
    const size_t n = draw_length(c), place = check_below(&c->rng, 3);
    const struct check_source values = check_source(&c->rng, draw_scale(&c->rng));
    check_describe(c, " n %zu values %d %s", n, (int)values.kind, places[place]);
    struct check_buffer *const x = make(c, "x", &values, n), *const y = make(c, "y", &values, n);
    struct check_buffer *const want = check_buffer(c, "z", n);
    for (size_t i = 0; i < n && place != 0; i++)
        want->data[i] = place == 1 ? x->data[i] : y->data[i];
    struct check_buffer *const got = check_twin(c, want);
    const struct check_variant *const who[] = {c->scalar, c->variant};
    float *const z[] = {want->data, got->data};
    check_seal();
    for (size_t w = 0; w < 2; w++) {
        check_enter(c, who[w]);
        who[w]->run.binary(n, place == 1 ? z[w] : x->data, place == 2 ? z[w] : y->data, z[w]);
        check_leave(c);
    }
    check_sealed(c);
    check_outputs(c, want, got, (struct check_view){1, n, n, 0});
    for (size_t i = 0; i < n && values.kind == CHECK_UNIFORM; i++) {
        const double exact = (double)x->data[i] + (double)y->data[i]; // add is the one binary slot
        check_bound(c, "z", 0, i, got->data[i], exact, 0x1p-24 * fabs(exact));
    }
}

static void run_norm(struct check_case *c)
{
    static const float epsilons[] = {1e-5f, 1e-12f, 0, 1};
    struct check_rng *const rng = &c->rng;
    const size_t n = draw_length(c);
    const float eps = epsilons[check_below(rng, sizeof epsilons / sizeof epsilons[0])];
    const struct check_source values = check_source(rng, draw_scale(rng));
    const bool has_gamma = check_chance(rng, 60), has_beta = check_chance(rng, 60), in_place = check_chance(rng, 40);
    // An offset a hundred times the spread shows a variance computed in one pass.
    const float offset = values.kind == CHECK_UNIFORM && check_chance(rng, 30) ? 100 * values.scale : 0;
    check_describe(c, " n %zu eps %g values %d offset %g gamma %d beta %d%s", n, (double)eps, (int)values.kind,
                   (double)offset, has_gamma, has_beta, in_place ? " in place" : "");
    struct check_buffer *const x = make(c, "x", &values, n), *const gamma = make(c, "gamma", &values, n);
    struct check_buffer *const beta = make(c, "beta", &values, n), *const want = check_buffer(c, "y", n);
    for (size_t i = 0; i < n; i++)
        x->data[i] += offset;
    for (size_t i = 0; i < n && in_place; i++)
        want->data[i] = x->data[i];
    struct check_buffer *const got = check_twin(c, want);
    const float *const g = has_gamma ? gamma->data : NULL, *const b = has_beta ? beta->data : NULL;
    const struct check_variant *const who[] = {c->scalar, c->variant};
    float *const y[] = {want->data, got->data};
    check_seal();
    for (size_t w = 0; w < 2; w++) {
        check_enter(c, who[w]);
        who[w]->run.norm(n, eps, in_place ? y[w] : x->data, g, b, y[w]);
        check_leave(c);
    }
    check_sealed(c);
    check_outputs(c, want, got, (struct check_view){1, n, n, 0});
    if (values.kind != CHECK_UNIFORM || n < 2)
        return;
    struct check_exact exact[row_max];
    oracle_norm(c->variant->slot, n, eps, x->data, g, b, exact);
    for (size_t i = 0; i < n; i++)
        check_bound(c, "y", 0, i, got->data[i], exact[i].value, exact[i].bound);
}

static uint32_t draw_word(struct check_rng *rng)
{
    return check_chance(rng, 30) ? UINT32_MAX - (uint32_t)check_below(rng, 3) : (uint32_t)check_next(rng);
}

/// Elements of any number, and of numbers at which the words of the block's number carry.
static void run_dropout(struct check_case *c)
{
    struct check_rng *const rng = &c->rng;
    const size_t n = draw_length(c);
    const struct check_source values = check_source(rng, 3);
    const bool in_place = check_chance(rng, 40);
    // Where words of a block's number carry, and where an element's ends.
    const uint64_t edge = check_chance(rng, 30) ? 0 : (uint64_t)1 << (check_chance(rng, 50) ? 34 : 32);
    const struct fovea_dropout dropout = {
        .seed = {draw_word(rng), draw_word(rng)},
        .site = draw_word(rng),
        .threshold = check_chance(rng, 10) ? 0 : draw_word(rng),
        .element = check_chance(rng, 40) ? edge - 1 - check_below(rng, 300) : check_next(rng) >> check_below(rng, 64),
        .scale = 4.0f / 3,
    };
    check_describe(c, " n %zu values %d element %llu threshold %u%s", n, (int)values.kind,
                   (unsigned long long)dropout.element, (unsigned)dropout.threshold, in_place ? " in place" : "");
    struct check_buffer *const x = make(c, "x", &values, n), *const want = check_buffer(c, "y", n);
    for (size_t i = 0; i < n && in_place; i++)
        want->data[i] = x->data[i];
    struct check_buffer *const y[] = {want, check_twin(c, want)};
    const struct check_variant *const who[] = {c->scalar, c->variant};
    check_seal();
    for (size_t w = 0; w < 2; w++) {
        check_enter(c, who[w]);
        who[w]->run.dropout(&dropout, n, in_place ? y[w]->data : x->data, y[w]->data);
        check_leave(c);
    }
    check_sealed(c);
    check_outputs(c, y[0], y[1], (struct check_view){1, n, n, 0});
}

/// Pairs apart and adjacent; cosines and sines are any numbers.
static void run_rotary(struct check_case *c)
{
    const size_t n = draw_length(c);
    const struct check_source values = check_source(&c->rng, draw_scale(&c->rng));
    const bool in_place = check_chance(&c->rng, 40);
    const uint32_t adjacent = check_chance(&c->rng, 50);
    check_describe(c, " n %zu values %d adjacent %u%s", n, (int)values.kind, (unsigned)adjacent,
                   in_place ? " in place" : "");
    struct check_buffer *const x = make(c, "x", &values, 2 * n), *const want = check_buffer(c, "y", 2 * n);
    const float *const cosines = make(c, "cos", &values, n)->data, *const sines = make(c, "sin", &values, n)->data;
    for (size_t i = 0; i < 2 * n && in_place; i++)
        want->data[i] = x->data[i];
    struct check_buffer *const y[] = {want, check_twin(c, want)};
    const struct check_variant *const who[] = {c->scalar, c->variant};
    check_seal();
    for (size_t w = 0; w < 2; w++) {
        check_enter(c, who[w]);
        who[w]->run.rotary(n, adjacent, in_place ? y[w]->data : x->data, cosines, sines, y[w]->data);
        check_leave(c);
    }
    check_sealed(c);
    check_outputs(c, y[0], y[1], (struct check_view){1, 2 * n, 2 * n, 0});
    for (size_t i = 0; i < n && values.kind == CHECK_UNIFORM; i++) {
        const size_t first = adjacent ? 2 * i : i, second = adjacent ? 2 * i + 1 : n + i;
        const double a = (double)x->data[first], b = (double)x->data[second];
        const double cosine = (double)cosines[i], sine = (double)sines[i];
        check_bound(c, "y", 0, first, y[1]->data[first], a * cosine - b * sine,
                    2 * CHECK_U * (fabs(a * cosine) + fabs(b * sine)));
        check_bound(c, "y", 0, second, y[1]->data[second], b * cosine + a * sine,
                    2 * CHECK_U * (fabs(b * cosine) + fabs(a * sine)));
    }
}

enum { bench_n = 1024 };

static struct check_buffer *bench_row(struct check_case *c, const char *name)
{
    const struct check_source values = {CHECK_UNIFORM, 3, 0};
    return make(c, name, &values, bench_n);
}

static double bench_unary(struct check_case *c, size_t calls)
{
    const float *const x = bench_row(c, "x")->data;
    float *const y = bench_row(c, "y")->data;
    c->started = check_seconds();
    for (size_t i = 0; i < calls; i++)
        c->variant->run.unary(bench_n, x, y);
    return -(double)bench_n;
}

static double bench_binary(struct check_case *c, size_t calls)
{
    const float *const x = bench_row(c, "x")->data, *const y = bench_row(c, "y")->data;
    float *const z = bench_row(c, "z")->data;
    c->started = check_seconds();
    for (size_t i = 0; i < calls; i++)
        c->variant->run.binary(bench_n, x, y, z);
    return -(double)bench_n;
}

static double bench_norm(struct check_case *c, size_t calls)
{
    const float *const x = bench_row(c, "x")->data, *const gamma = bench_row(c, "gamma")->data;
    float *const y = bench_row(c, "y")->data;
    c->started = check_seconds();
    for (size_t i = 0; i < calls; i++)
        c->variant->run.norm(bench_n, 1e-5f, x, gamma, gamma, y);
    return -(double)bench_n;
}

static double bench_dropout(struct check_case *c, size_t calls)
{
    const struct fovea_dropout dropout = {.seed = {1, 2}, .threshold = 1u << 29, .scale = 8.0f / 7};
    const float *const x = bench_row(c, "x")->data;
    float *const y = bench_row(c, "y")->data;
    c->started = check_seconds();
    for (size_t i = 0; i < calls; i++)
        c->variant->run.dropout(&dropout, bench_n, x, y);
    return -(double)bench_n;
}

static double bench_rotary(struct check_case *c, size_t calls)
{
    const float *const x = bench_row(c, "x")->data, *const cosines = bench_row(c, "cos")->data;
    float *const y = bench_row(c, "y")->data;
    c->started = check_seconds();
    for (size_t i = 0; i < calls; i++)
        c->variant->run.rotary(bench_n / 2, 0, x, cosines, cosines, y);
    return -(double)bench_n;
}

const struct check_family check_family_unary = {1500, run_unary, bench_unary};
const struct check_family check_family_binary = {1500, run_binary, bench_binary};
const struct check_family check_family_norm = {1500, run_norm, bench_norm};
const struct check_family check_family_dropout = {1000, run_dropout, bench_dropout};
const struct check_family check_family_rotary = {1000, run_rotary, bench_rotary};
