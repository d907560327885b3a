// SPDX-License-Identifier: Apache-2.0
// tests/check/narrow.c - cases of the kernels that round to 16-bit elements: every bit is known, from the format alone.
// By default the cases together have every element, what lies in the middle of it and the next one, and the floats
// around that middle.
#include "tests/check/check.h"
#include "tests/check/half.h"

#include <string.h>

enum { LONGEST = 400, CASES = 1000, OF_CASE = 88, OF_ELEMENT = 4 }; // 3/4 of the cases times OF_CASE: above 2^16

// Element number e as f32, the float in the middle of it and the next, and the floats around that one.
static void around(enum fovea_type type, uint16_t e, float *x)
{
    x[0] = half_value(type, e);
    const double middle = (half_magnitude(type, e) + half_magnitude(type, (uint16_t)(e + 1))) / 2; // exact
    x[1] = copysignf((float)middle, x[0]);
    x[2] = nextafterf(x[1], 0);
    x[3] = nextafterf(x[1], x[1] < 0 ? -INFINITY : INFINITY);
}

static size_t draw_values(struct check_case *c, enum fovea_type type, float *x)
{
    const struct check_source any = {CHECK_MIXED, 1, 0}, bits = {CHECK_BITS, 1, 0};
    size_t n = 0;
    const size_t random = check_below(&c->rng, c->index % 4 == 3 ? 41 : LONGEST - OF_CASE * OF_ELEMENT);
    for (; n < random; n++)
        x[n] = check_draw(&c->rng, check_chance(&c->rng, 50) ? &any : &bits);
    const size_t first = (c->index / 4 * 3 + c->index % 4) * OF_CASE;
    for (size_t i = 0; i < OF_CASE && c->index % 4 != 3; i++, n += OF_ELEMENT)
        around(type, (uint16_t)(first + i), x + n);
    return n;
}

// Where the elements lie in a buffer of floats: they end or begin where it does.
static uint16_t *halves(const struct check_case *c, const struct check_buffer *b, size_t n)
{
    return (uint16_t *)(void *)b->data + (c->index % 2 == 0 ? n % 2 : 0);
}

static void run_narrow(struct check_case *c)
{
    const enum fovea_type type = strcmp(c->variant->slot, "narrow_bf16") == 0 ? FOVEA_BF16 : FOVEA_F16;
    float x[LONGEST];
    const size_t n = draw_values(c, type, x);
    check_describe(c, " n %zu", n);
    struct check_buffer *const src = check_buffer(c, "src", n);
    memcpy(src->data, x, n * sizeof *x);
    struct check_buffer *const right = check_buffer(c, "dst", (n + 1) / 2), *const want = check_twin(c, right),
                               *const got = check_twin(c, right);
    check_seal();
    check_enter(c, c->scalar);
    c->scalar->run.narrow(n, src->data, halves(c, want, n));
    check_leave(c);
    check_enter(c, c->variant);
    c->variant->run.narrow(n, src->data, halves(c, got, n));
    check_leave(c);
    check_sealed(c);
    const uint16_t *const scalar = halves(c, want, n), *const vector = halves(c, got, n);
    for (size_t i = 0; i < n && !c->failed; i++) {
        const uint16_t expected =
            isnan(x[i]) && isnan(half_value(type, scalar[i])) ? scalar[i] : half_nearest(type, x[i]);
        halves(c, right, n)[i] = expected;
        if (scalar[i] != expected || vector[i] != expected)
            check_fail(c, "element %zu, %a: expected %#x, scalar %#x, got %#x", i, (double)x[i], expected, scalar[i],
                       vector[i]);
    }
    const size_t bytes = (size_t)(right->high - right->low) * sizeof(float);
    if (!c->failed && memcmp(got->low, right->low, bytes) != 0)
        check_fail(c, "memory beside the elements has changed");
}

static double bench_narrow(struct check_case *c, size_t calls)
{
    enum { n = 4096 };
    struct check_buffer *const src = check_buffer(c, "src", n), *const dst = check_buffer(c, "dst", n / 2);
    memset(src->data, 0, n * sizeof(float));
    c->started = check_seconds();
    for (size_t i = 0; i < calls; i++)
        c->variant->run.narrow(n, src->data, (uint16_t *)(void *)dst->data);
    return -(double)n;
}

const struct check_family check_family_narrow = {CASES, run_narrow, bench_narrow};
