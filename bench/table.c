// SPDX-License-Identifier: Apache-2.0
// bench/table.c - aligned columns, a line as soon as it is known.
#include "bench/table.h"
#include "bench/probe.h"

#include <inttypes.h>
#include <stdio.h>

enum { NAME = 48 };

void table_head(const char *cpu, const char *isa, const struct fovea_executor *executor, bool peers)
{
    bench_fma_peak(isa, executor); // the clock takes a moment to settle
    printf("%s, %s, %u thread%s, FMA peak %.1f Gflop/s now; quartiles and 95 %% intervals in brackets\n",
           *cpu ? cpu : "this CPU", isa, executor->workers, executor->workers > 1 ? "s" : "",
           bench_fma_peak(isa, executor).flops * 1e-9);
    printf("%-*s %11s %8s %6s %13s %8s %7s %10s%s\n", NAME, "name", "time", "Gflop/s", "%peak", "", "%stream", "%bound",
           "work", peers ? "   vs best peer" : "");
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

// What a call works in, beside its operands: "12 KiB".
static void write_bytes(char text[16], size_t bytes)
{
    const double kib = (double)bytes / 1024;
    snprintf(text, 16, kib < 1000 ? "%.0f KiB" : "%.1f MiB", kib < 1000 ? kib : kib / 1024);
}

void table_pace(const char *name, double gflops, const struct pace *pace, size_t work_bytes)
{
    char text[32] = "", work[16];
    printf("%-*s", NAME, name);
    print_time(pace->seconds);
    printf(" %8.2f", gflops);
    if (pace->peak.median > 0)
        snprintf(text, sizeof text, "(%.1f-%.1f)", 100 * pace->peak.low, 100 * pace->peak.high);
    printf(" %6.1f %13s", 100 * pace->peak.median, text);
    if (pace->stream > 0)
        printf(" %8.1f %7.1f", 100 * pace->stream, 100 * pace->bound);
    else
        printf(" %8s %7s", "", "");
    write_bytes(work, work_bytes);
    printf(" %10s", work);
}

void table_versus(const struct versus *versus, const char *peer)
{
    char text[32], work[16] = "";
    if (versus->work_bytes)
        write_bytes(work, versus->work_bytes);
    snprintf(text, sizeof text, "(%.2f-%.2f)", versus->ratio.low, versus->ratio.high);
    printf("   %5.2fx %-12s %s%s%s%s", versus->ratio.median, text, peer, versus->packed ? ", packed" : "",
           *work ? ", " : "", work);
}

void table_epilogue(const struct bench_interval *over_plain)
{
    printf("   %.3fx the time without (%.3f-%.3f)", over_plain->median, over_plain->low, over_plain->high);
}

void table_instructions(uint64_t instructions)
{
    if (instructions)
        printf("   %" PRIu64 " instructions", instructions);
}

void table_end(bool disturbed, double stolen, double interrupted)
{
    if (disturbed)
        printf("   [disturbed]");
    if (stolen > 0.01)
        printf("   [the host took %.0f %% of the time]", 100 * stolen);
    if (interrupted > 0.02)
        printf("   [interrupted %.0f %% of the time]", 100 * interrupted);
    putchar('\n');
}

void table_untimed(const char *name, uint64_t instructions)
{
    printf("%-*s %15" PRIu64 " instructions\n", NAME, name, instructions);
}

void table_error(const char *name, const char *what)
{
    printf("%-*s %s\n", NAME, name, what);
}
