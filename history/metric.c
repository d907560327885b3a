// SPDX-License-Identifier: Apache-2.0
// history/metric.c - directions and units, as a table.
#include "history/metric.h"

#include <math.h>
#include <string.h>

// cpu_time is judged by nobody: of a line with manual time it is the time of everything around the measurement.
static const struct {
    const char *name;
    struct metric metric;
} metrics[] = {
    {"cpu_time", {"s", HISTORY_NEITHER, false}}, {"gflops", {"Gflop/s", HISTORY_MORE, false}},
    {"instructions", {"", HISTORY_LESS, true}},  {"of_bound", {"", HISTORY_MORE, false}},
    {"of_peak", {"", HISTORY_MORE, false}},      {"of_stream", {"", HISTORY_MORE, false}},
    {"over_plain", {"", HISTORY_LESS, false}},   {"real_time", {"s", HISTORY_LESS, false}},
    {"vs_best_peer", {"", HISTORY_MORE, false}},
};

struct metric metric_of(const char *name)
{
    static const char rate[] = "_per_second";
    for (size_t i = 0; i < sizeof metrics / sizeof *metrics; i++)
        if (strcmp(name, metrics[i].name) == 0)
            return metrics[i].metric;
    const size_t length = strlen(name), tail = sizeof rate - 1;
    if (length > tail && strcmp(name + length - tail, rate) == 0)
        return (struct metric){"1/s", HISTORY_MORE, false};
    return (struct metric){"", HISTORY_NEITHER, false};
}

bool metric_is_figure(double value)
{
    static const double least = 1e-50, most = 1e50;
    return value == 0 || (fabs(value) >= least && fabs(value) <= most);
}
