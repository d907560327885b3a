// SPDX-License-Identifier: Apache-2.0
// tests/check/bench.c - a first look at speed: ns of a call, and % of the FMA peak measured beside it. Not a test.
#include "tests/check/run.h"

#include <stdio.h>

static double measure(const struct check_variant *v, const struct check_options *options, size_t calls, double *work)
{
    struct check_case c = {.variant = v, .scalar = check_scalar(v->slot), .seed = options->seed};
    double best = 1e9;
    for (size_t round = 0; round < 5; round++) {
        // The set-up is timed with the calls; a second measurement with one call takes it off again.
        double time[2];
        for (size_t i = 0; i < 2; i++) {
            const double start = check_seconds();
            *work = v->family->bench(&c, i == 0 ? 1 + calls : 1);
            time[i] = check_seconds() - start;
            check_buffers_reset();
        }
        const double one = (time[0] - time[1]) / (double)calls;
        best = one < best ? one : best;
    }
    return best;
}

void check_bench(const struct check_options *options, uint32_t cpu)
{
    printf("%-32s %12s %16s\n", "variant", "ns a call", "rate");
    for (size_t i = 0; i < check_variants_count; i++) {
        const struct check_variant *const v = &check_variants[i];
        if (!check_selected(options, v) || (v->required & ~cpu) != 0)
            continue;
        double work = 0;
        size_t calls = 16;
        double one = measure(v, options, calls, &work);
        calls = one > 0 && one < 2e-3 ? (size_t)(5e-3 / one) : calls; // 5 ms a round
        one = measure(v, options, calls, &work);
        printf("%-32s %12.0f ", v->name, one * 1e9);
        const double peak = work > 0 ? check_fma_peak(v->isa) : 0;
        if (work < 0)
            printf("%9.2f G elem/s\n", -work / one * 1e-9);
        else if (peak > 0)
            printf("%9.1f %% of peak\n", 100 * work / one / peak);
        else
            printf("%9.2f Gflop/s\n", work / one * 1e-9);
    }
}
