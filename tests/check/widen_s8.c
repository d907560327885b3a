// SPDX-License-Identifier: Apache-2.0
// tests/check/widen_s8.c - cases of the kernels that widen 8-bit integers with scales: every bit is known.
#include "tests/check/s8.h"

#include <string.h>

static void run_widen_s8(struct check_case *c)
{
    struct check_rng *const rng = &c->rng;
    const size_t k = check_below(rng, FOVEA_GROUP + 1);
    check_describe(c, " k %zu", k);
    struct check_buffer *const q = check_buffer(c, "q", k * FOVEA_PANEL / 4);
    struct check_buffer *const scale = check_buffer(c, "scale", FOVEA_PANEL);
    uint8_t drawn[FOVEA_GROUP * FOVEA_PANEL] = {0};
    s8_fill(rng, k, check_chance(rng, 50), drawn, scale->data);
    if (k != 0)
        memcpy(q->data, drawn, k * FOVEA_PANEL);
    struct check_buffer *const want = check_buffer(c, "dst", k * FOVEA_PANEL), *const got = check_twin(c, want);
    check_seal();
    check_enter(c, c->scalar);
    c->scalar->run.widen_s8(k, (const uint8_t *)q->data, scale->data, want->data);
    check_leave(c);
    check_enter(c, c->variant);
    c->variant->run.widen_s8(k, (const uint8_t *)q->data, scale->data, got->data);
    check_leave(c);
    check_sealed(c);
    check_outputs(c, want, got, (struct check_view){k != 0, k * FOVEA_PANEL, k * FOVEA_PANEL, 0});
    for (size_t i = 0; i < k * FOVEA_PANEL && !c->failed; i++) { // a product of 8 and 15 bits is exact in f64
        const float expected = (float)((drawn[i] - 128.0) * (double)scale->data[i % FOVEA_PANEL]);
        if (!check_same(got->data[i], expected))
            check_fail(c, "element %zu, %u: expected %a, got %a", i, drawn[i], expected, got->data[i]);
    }
}

static double bench_widen_s8(struct check_case *c, size_t calls)
{
    enum { k = FOVEA_GROUP, n = k * FOVEA_PANEL };
    struct check_buffer *const q = check_buffer(c, "q", n / 4), *const dst = check_buffer(c, "dst", n);
    struct check_buffer *const scale = check_buffer(c, "scale", FOVEA_PANEL);
    memset(q->data, 128, n);
    memset(scale->data, 0, FOVEA_PANEL * sizeof(float));
    c->started = check_seconds();
    for (size_t i = 0; i < calls; i++)
        c->variant->run.widen_s8(k, (const uint8_t *)q->data, scale->data, dst->data);
    return -(double)n;
}

const struct check_family check_family_widen_s8 = {1000, run_widen_s8, bench_widen_s8};
