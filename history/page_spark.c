// SPDX-License-Identifier: Apache-2.0
// history/page_spark.c - a series as a line of some 50 points, as SVG.
#include "history/page_table.h"

#include <math.h>

enum { WIDTH = 100, HEIGHT = 24, BINS = 50 };

// The mean of each of at most BINS groups of neighbours.
static size_t bin(const struct history_series *series, double *means)
{
    const size_t n = series->count, bins = n < BINS ? n : BINS;
    for (size_t i = 0; i < bins; i++) {
        const size_t first = i * n / bins, end = (i + 1) * n / bins;
        double sum = 0;
        for (size_t j = first; j < end; j++)
            sum += series->points[j].median;
        means[i] = sum / (double)(end - first);
    }
    return bins;
}

static void line(FILE *file, const char *state, const double *means, size_t first, size_t end, size_t bins, double low,
                 double span)
{
    if (end - first < 2)
        return;
    fprintf(file, "<polyline%s points=\"", state);
    for (size_t i = first; i < end; i++)
        fprintf(file, "%s%.4g,%.3g", i > first ? " " : "", 1 + (double)(i * (WIDTH - 2)) / (double)(bins - 1),
                HEIGHT - 2 - (means[i] - low) / span * (HEIGHT - 4));
    fputs("\"/>", file);
}

void page_write_spark(FILE *file, const struct page_series *s)
{
    double means[BINS] = {0};
    const size_t bins = bin(s->series, means);
    double low = means[0], high = means[0];
    for (size_t i = 1; i < bins; i++) {
        low = fmin(low, means[i]);
        high = fmax(high, means[i]);
    }
    const double least = 0.1 * fabs(high); // noise of a per cent shall not look like a mountain
    const double span = high - low < least ? least : high > low ? high - low : 1;
    low -= (span - (high - low)) / 2;
    const bool changed = s->status == PAGE_WORSE || s->status == PAGE_KNOWN || s->status == PAGE_BETTER;
    size_t cut = bins;
    if (changed && bins > 1) {
        cut = s->changes[s->change].at * bins / s->series->count;
        cut = cut > bins - 2 ? bins - 2 : cut; // two points make a line
    }
    fprintf(file, "<svg viewBox=\"0 0 %d %d\" width=\"%d\" height=\"%d\" aria-hidden=\"true\">", WIDTH, HEIGHT, WIDTH,
            HEIGHT);
    line(file, "", means, 0, cut < bins ? cut + 1 : bins, bins, low, span);
    line(file, " class=\"new\"", means, cut, bins, bins, low, span);
    fputs("</svg>", file);
}
