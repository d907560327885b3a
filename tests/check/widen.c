// SPDX-License-Identifier: Apache-2.0
// tests/check/widen.c - cases of the kernels that widen 16-bit elements: every bit is known, from the format alone.
#include "tests/check/check.h"
#include "tests/check/half.h"

#include <string.h>

enum { LONGEST = 400 };

static void run_widen(struct check_case *c)
{
    struct check_rng *const rng = &c->rng;
    const enum fovea_type type = strcmp(c->variant->slot, "widen_bf16") == 0 ? FOVEA_BF16 : FOVEA_F16;
    const size_t n = check_below(rng, LONGEST / FOVEA_PANEL) * FOVEA_PANEL;
    check_describe(c, " n %zu", n);
    struct check_buffer *const src = check_buffer(c, "src", n / 2);
    // Any bits; one case of four has consecutive ones, so that all kinds of numbers are met in all lanes.
    const bool in_order = check_chance(rng, 25);
    uint16_t element[LONGEST], first = (uint16_t)check_next(rng);
    for (size_t i = 0; i < n; i++)
        element[i] = in_order ? (uint16_t)(first + i) : (uint16_t)check_next(rng);
    if (n != 0)
        memcpy(src->data, element, n * sizeof element[0]);
    struct check_buffer *const want = check_buffer(c, "dst", n), *const got = check_twin(c, want);
    check_seal();
    check_enter(c, c->scalar);
    c->scalar->run.widen(n, (const uint16_t *)(const void *)src->data, want->data);
    check_leave(c);
    check_enter(c, c->variant);
    c->variant->run.widen(n, (const uint16_t *)(const void *)src->data, got->data);
    check_leave(c);
    check_sealed(c);
    check_outputs(c, want, got, (struct check_view){n != 0, n, n, 0});
    for (size_t i = 0; i < n && !c->failed; i++) {
        const float expected = half_value(type, element[i]);
        if (!check_same(got->data[i], expected))
            check_fail(c, "element %zu, %#x: expected %a, got %a", i, element[i], expected, got->data[i]);
    }
}

static double bench_widen(struct check_case *c, size_t calls)
{
    enum { n = 4096 };
    struct check_buffer *const src = check_buffer(c, "src", n / 2), *const dst = check_buffer(c, "dst", n);
    memset(src->data, 0, n * sizeof(uint16_t));
    c->started = check_seconds();
    for (size_t i = 0; i < calls; i++)
        c->variant->run.widen(n, (const uint16_t *)(const void *)src->data, dst->data);
    return -(double)n;
}

const struct check_family check_family_widen = {1000, run_widen, bench_widen};
