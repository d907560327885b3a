// SPDX-License-Identifier: Apache-2.0
// bench/picture_line.c - a row of the picture: the name of a shape, its mark on the scale, and its numbers.
#include "bench/picture_line.h"
#include "bench/suite.h"
#include "bench/versus.h"

#include <math.h>
#include <string.h>

static const double lowest = 0.7, highest = 3; // of the scale of ratios

const char *const picture_libraries[PICTURE_LIBRARIES] = {"OpenBLAS", "BLIS",         "oneDNN",
                                                          "libxsmm",  "ONNX Runtime", "other"};

double picture_at_ratio(const struct picture_chart *chart, double ratio)
{
    const double part = log(fmin(highest, fmax(lowest, ratio)) / lowest) / log(highest / lowest);
    return chart->left + part * (chart->right - chart->left);
}

double picture_at_part(const struct picture_chart *chart, double part)
{
    return chart->left + fmin(1.1, fmax(0, part)) / 1.1 * (chart->right - chart->left);
}

int picture_library(const struct suite *suite, int peer)
{
    int at = 0;
    while (at < PICTURE_LIBRARIES - 1 && !strstr(suite->peers[peer].name, picture_libraries[at]))
        at++;
    return at;
}

static void print_tooltip(const struct picture_chart *chart, FILE *file, const struct picture_row *row)
{
    fprintf(file, "<title>%s (", row->line->name);
    picture_text(file, row->line->model);
    fputs(row->failed ? "): wrong, refused, or no memory" : ")", file);
    if (isfinite(row->of_limit.median))
        fprintf(file, ": %.1f %% of %s", 100 * row->of_limit.median,
                row->streams ? "the smaller of FMA peak and read stream" : "the FMA peak");
    if (isfinite(row->of_limit.low))
        fprintf(file, " (quartiles %.1f-%.1f)", 100 * row->of_limit.low, 100 * row->of_limit.high);
    if (isfinite(row->gflops))
        fprintf(file, ", %.1f Gflop/s", row->gflops);
    if (row->peer >= 0) {
        fprintf(file, "; %.3fx the speed of ", row->ratio.median);
        picture_text(file, chart->suite->peers[row->peer].name);
        fprintf(file, " (%.3f-%.3f)", row->ratio.low, row->ratio.high);
    }
    if (isfinite(row->over_plain))
        fprintf(file, "; %.3fx the time without GELU and bias", row->over_plain);
    fputs(row->calm <= 0 ? "; disturbed</title>" : "</title>", file);
}

// A dot with its interval, or a triangle where it is beyond the scale.
static void print_dot(const struct picture_chart *chart, FILE *file, const struct picture_row *row)
{
    const double x = picture_at_ratio(chart, row->ratio.median), low = picture_at_ratio(chart, row->ratio.low),
                 high = picture_at_ratio(chart, row->ratio.high);
    if (high - low > 1)
        fprintf(file, "<path class=\"span\" d=\"M%.1f 7H%.1f\"/>", low, high);
    if (row->ratio.median > highest || row->ratio.median < lowest)
        fprintf(file, "<path class=\"dot\" d=\"M%.1f 3.5v7l%d-3.5z\"/>", x, row->ratio.median > highest ? 6 : -6);
    else
        fprintf(file, "<circle class=\"dot\" cx=\"%.1f\" cy=\"7\" r=\"2.8\"/>", x);
}

// What stands in the place of a dot.
static void print_unraced(const struct picture_chart *chart, FILE *file, const struct picture_row *row)
{
    const double x = picture_at_ratio(chart, 1) + 6;
    if (isfinite(row->over_plain))
        fprintf(file, "<text class=\"muted\" x=\"%.1f\" y=\"11\">GELU %+.1f %%</text>", x, 100 * (row->over_plain - 1));
    else
        fprintf(file, "<text class=\"muted\" x=\"%.1f\" y=\"11\">no peer has it</text>", x);
}

static void print_bar(FILE *file, const struct picture_row *row, double from, double to)
{
    fprintf(file, "<rect class=\"bar %s\" x=\"%.1f\" y=\"2\" width=\"%.1f\" height=\"10\"/>",
            row->streams ? "bound" : "peak", from, fmax(0.5, to - from));
}

static void print_race(const struct picture_chart *chart, FILE *file, const struct picture_row *row)
{
    if (row->peer >= 0) {
        print_dot(chart, file, row);
        fprintf(file, "<text class=\"end%s\" x=\"%.1f\" y=\"11\">%.2f</text>",
                versus_is_behind(&row->ratio) ? " red" : "", chart->value, row->ratio.median);
    } else {
        print_unraced(chart, file, row);
    }
    if (isfinite(row->of_limit.median))
        print_bar(file, row, chart->bar, chart->bar + (chart->end - chart->bar) * fmin(1, row->of_limit.median));
}

static void print_pace(const struct picture_chart *chart, FILE *file, const struct picture_row *row)
{
    if (isfinite(row->of_limit.median))
        print_bar(file, row, chart->left, picture_at_part(chart, row->of_limit.median));
    if (isfinite(row->of_limit.low))
        fprintf(file, "<path class=\"quartiles\" d=\"M%.1f 7H%.1f\"/>", picture_at_part(chart, row->of_limit.low),
                picture_at_part(chart, row->of_limit.high));
    fprintf(file, "<text class=\"end\" x=\"%.1f\" y=\"11\">%.*f</text>", chart->value, row->gflops < 9.95, row->gflops);
}

void picture_line(const struct picture_chart *chart, FILE *file, const struct picture_row *row, double x, double y)
{
    fprintf(file, "<g class=\"line l%d%s\" transform=\"translate(%.1f %.0f)\">",
            row->peer < 0 ? PICTURE_LIBRARIES - 1 : picture_library(chart->suite, row->peer),
            row->calm <= 0 ? " hollow" : "", x, y);
    print_tooltip(chart, file, row);
    fprintf(file, "<rect class=\"row\" x=\"-4\" width=\"%.1f\" height=\"%d\"/><text y=\"11\">%s</text>", chart->end + 8,
            PICTURE_ROW, row->shape);
    if (row->failed)
        fprintf(file,
                "<path class=\"cross\" d=\"M%.1f 4l6 6m0-6l-6 6\"/><text class=\"red\" x=\"%.1f\" y=\"11\">failed"
                "</text>",
                picture_at_ratio(chart, 1) + 6, picture_at_ratio(chart, 1) + 18);
    else
        (chart->suite->peer_count ? print_race : print_pace)(chart, file, row);
    if (isfinite(row->of_limit.median))
        fprintf(file, "<text class=\"end\" x=\"%.1f\" y=\"11\">%.0f</text>", chart->end - 3,
                100 * row->of_limit.median);
    fputs("</g>\n", file);
}
