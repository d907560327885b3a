// SPDX-License-Identifier: Apache-2.0
// tests/check/bench.c - a first look at speed: ns of a call, and % of the FMA peak measured beside it. Not a test.
#include "tests/check/program.h"

#include <stdio.h>

/// Seconds of a call: the best of some rounds.
static double measure(const struct check_variant *v, size_t calls, double *work)
{
    double best = 1e9;
    for (size_t round = 0; round < 5; round++) {
        struct check_case c = {.variant = v};
        *work = v->family->bench(&c, calls);
        const double time = (check_seconds() - c.started) / (double)calls;
        best = time < best ? time : best;
        check_buffers_reset();
    }
    return best;
}

void check_bench(const struct check_options *options, uint32_t cpu)
{
    printf("%-39s %12s %16s\n", "variant", "ns a call", "rate");
    for (size_t i = 0; i < check_variants_count; i++) {
        const struct check_variant *const v = &check_variants[i];
        if (!check_selected(options, v) || (v->required & ~cpu) != 0)
            continue;
        double work = 0;
        const double first = measure(v, 1, &work), round = 5e-3;
        const double one = measure(v, first < round ? (size_t)(round / first) : 1, &work);
        printf("%-39s %12.0f ", v->name, one * 1e9);
        const double peak = work > 0 ? check_fma_peak(v->isa) : 0;
        if (work < 0)
            printf("%9.2f G elem/s\n", -work / one * 1e-9);
        else if (peak > 0)
            printf("%9.1f %% of peak\n", 100 * work / one / peak);
        else
            printf("%9.2f Gflop/s\n", work / one * 1e-9);
    }
}
