// SPDX-License-Identifier: Apache-2.0
// bench/gemm_table.c - aligned columns, a line as soon as it is known.
#include "bench/gemm_table.h"
#include "bench/probe.h"

#include <inttypes.h>
#include <stdio.h>

void gemm_table_head(const char *cpu, const char *isa, const struct fovea_executor *executor, bool peers)
{
    bench_fma_peak(isa, executor); // the clock takes a moment to settle
    printf("%s, %s, %u thread%s, FMA peak %.1f Gflop/s now; quartiles and 95 %% intervals in brackets\n",
           *cpu ? cpu : "this CPU", isa, executor->workers, executor->workers > 1 ? "s" : "",
           bench_fma_peak(isa, executor).flops * 1e-9);
    printf("%-42s %11s %8s %6s %13s %8s %7s%s\n", "name", "time", "Gflop/s", "%peak", "", "%stream", "%bound",
           peers ? "   vs best peer" : "");
}

static void print_time(double seconds)
{
    static const struct {
        double unit;
        const char *name;
    } units[] = {{1e-6, "us"}, {1e-3, "ms"}, {1, "s "}};
    const size_t i = seconds < 1e-3 ? 0 : seconds < 1 ? 1 : 2;
    printf(" %8.2f %s", seconds / units[i].unit, units[i].name);
}

void gemm_table_pace(const char *name, double gflops, const struct pace *pace)
{
    char text[32] = "";
    printf("%-42s", name);
    print_time(pace->seconds);
    printf(" %8.2f", gflops);
    if (pace->peak.median > 0)
        snprintf(text, sizeof text, "(%.1f-%.1f)", 100 * pace->peak.low, 100 * pace->peak.high);
    printf(" %6.1f %13s", 100 * pace->peak.median, text);
    if (pace->stream > 0)
        printf(" %8.1f %7.1f", 100 * pace->stream, 100 * pace->bound);
    else
        printf(" %8s %7s", "", "");
}

void gemm_table_versus(const struct versus *versus, const char *peer)
{
    char text[32];
    snprintf(text, sizeof text, "(%.2f-%.2f)", versus->ratio.low, versus->ratio.high);
    printf("   %5.2fx %-12s %s%s", versus->ratio.median, text, peer, versus->packed ? ", packed" : "");
}

void gemm_table_epilogue(const struct bench_interval *over_plain)
{
    printf("   %.3fx the time without (%.3f-%.3f)", over_plain->median, over_plain->low, over_plain->high);
}

void gemm_table_instructions(uint64_t instructions)
{
    if (instructions)
        printf("   %" PRIu64 " instructions", instructions);
}

void gemm_table_end(bool disturbed, double stolen)
{
    if (disturbed)
        printf("   [disturbed]");
    if (stolen > 0.01)
        printf("   [the host took %.0f %% of the time]", 100 * stolen);
    putchar('\n');
}

void gemm_table_untimed(const char *name, uint64_t instructions, const char *error)
{
    if (instructions)
        printf("%-42s %15" PRIu64 " instructions\n", name, instructions);
    else
        printf("%-42s %s\n", name, error);
}
