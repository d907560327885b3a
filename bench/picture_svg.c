// SPDX-License-Identifier: Apache-2.0
// bench/picture_svg.c - the picture: a row for each line, in columns, groups one below the other.
//
// 189 lines are to be seen at once: 14 px a row and three columns, 1000 px wide, each row with the name of its shape,
// a dot on a scale of ratios, the ratio, and a bar with the percentage. No script and no font: it is an image in a
// README too. It has a ground of its own, so that it does not matter what page it lies on.
#include "bench/picture_line.h"
#include "bench/suite.h"

#include <math.h>
#include <string.h>

enum { WIDTH = 1000, MARGIN = 20, HEAD = 32, TOP = 178, FOOT = 34, MANY = 72 };

// Colours of libraries are of Okabe and Ito, "Color Universal Design"; the two BLAS are blue.
static const char style[] =
    "text{font:11px system-ui,-apple-system,'Segoe UI',Helvetica,Arial,sans-serif;"
    "font-variant-numeric:tabular-nums;fill:#3d465a}.ground{fill:#fff}.row{fill:transparent}.row:hover{fill:#00000010}"
    ".title{font-size:20px;font-weight:650;fill:#161b26}.by{font-size:13px}.big{font-size:25px;font-weight:600;"
    "fill:#161b26}.head{font-size:12px;font-weight:650;fill:#161b26}.muted{fill:#6a7387}.end{text-anchor:end}"
    ".mid{text-anchor:middle}.tick{font-size:10px;fill:#6a7387}.bold{font-weight:650;fill:#161b26}"
    ".grid{stroke:#e3e7ee;fill:none}.one{stroke:#161b26;stroke-width:1.4}.below{fill:#f6f1ec}.rule{stroke:#cdd3de}"
    ".peak{fill:#c3cde0;color:#7d8cab}.bound{fill:#b5dccb;color:#6aa78c}.quartiles{stroke:#3d465a;fill:none}"
    ".dot{fill:currentColor;stroke:currentColor;stroke-width:1.4}.span{stroke:currentColor;stroke-width:1.6;opacity:.6;"
    "fill:none}.hollow .dot{fill:#fff}.hollow .bar{fill:none;stroke:currentColor}.red{fill:#c0350b;font-weight:650}"
    ".cross{stroke:#c0350b;stroke-width:2;fill:none}"
    ".l0{color:#0072b2}.l1{color:#56b4e9}.l2{color:#e69f00}.l3{color:#cc79a7}.l4{color:#009e73}.l5{color:#6a7387}"
    "@media(prefers-color-scheme:dark){text{fill:#c3cad8}.ground{fill:#14171d}.title,.big,.head,.bold{fill:#f0f3f8}"
    ".muted,.tick{fill:#8e98ac}.grid{stroke:#2a303b}.one{stroke:#e3e8f2}.below{fill:#221e1d}.rule{stroke:#3a4250}"
    ".peak{fill:#3d4c69;color:#7d8cab}.bound{fill:#2d5a49;color:#6aa78c}.quartiles{stroke:#c3cad8}"
    ".hollow .dot{fill:#14171d}.red{fill:#ff8a5c}.cross{stroke:#ff8a5c}.l0{color:#4a9fe8}.l1{color:#a6dcff}"
    ".l4{color:#1fbf8f}.row:hover{fill:#ffffff14}}";

static struct picture_chart plan_chart(const struct suite *suite)
{
    enum { GAP = 26, CHARACTER = 6, BAR = 34 };
    const double number = suite->peer_count ? 34 : 52;
    struct picture_chart chart = {.suite = suite, .columns = suite->picture.count > MANY ? 3 : 2};
    size_t longest = 0;
    for (size_t i = 0; i < suite->picture.count; i++)
        longest = strlen(suite->picture.rows[i].shape) > longest ? strlen(suite->picture.rows[i].shape) : longest;
    chart.step = (double)(WIDTH - 2 * MARGIN + GAP) / chart.columns;
    chart.end = chart.step - GAP;
    chart.bar = chart.end - BAR;
    chart.value = chart.bar - 10;
    chart.right = chart.value - number;
    chart.left = fmin(CHARACTER * (double)longest + 16, chart.right - 60);
    return chart;
}

static double limit_of(const struct picture_row *row)
{
    return row->of_limit.median;
}

static double log_ratio(const struct picture_row *row)
{
    return log(row->ratio.median);
}

static double mean(const struct picture_row *rows, size_t count, double (*of)(const struct picture_row *row))
{
    double sum = 0;
    size_t counted = 0;
    for (size_t i = 0; i < count; i++)
        if (isfinite(of(&rows[i]))) {
            sum += of(&rows[i]);
            counted++;
        }
    return counted ? sum / (double)counted : NAN;
}

// The name of a group with what it comes to, and the grid for `rows` rows below it.
static void print_group(const struct picture_chart *chart, FILE *file, const struct picture_row *group, size_t count,
                        bool continued, double x, double y, size_t rows)
{
    static const double ratios[] = {0.75, 1.5, 2}, parts[] = {0, 0.25, 0.5, 0.75};
    const double geomean = exp(mean(group, count, log_ratio)), limit = mean(group, count, limit_of);
    const double top = HEAD - 4, bottom = HEAD + PICTURE_ROW * (double)rows;
    const bool race = chart->suite->peer_count != 0;
    fprintf(file, "<g transform=\"translate(%.1f %.0f)\">", x, y);
    if (race)
        fprintf(file, "<rect class=\"below\" x=\"%.1f\" y=\"%.0f\" width=\"%.1f\" height=\"%.0f\"/>", chart->left, top,
                picture_at_ratio(chart, 1) - chart->left, bottom - top);
    fprintf(file, "<path class=\"grid\" d=\"");
    for (size_t i = 0; i < (race ? sizeof ratios / sizeof *ratios : sizeof parts / sizeof *parts); i++)
        fprintf(file, "M%.1f %.0fV%.0f", race ? picture_at_ratio(chart, ratios[i]) : picture_at_part(chart, parts[i]),
                top, bottom);
    for (size_t i = 0; i < rows; i++) // what leads the eye from a name to its number
        fprintf(file, "M%.1f %.0fH%.1f", chart->left, HEAD + PICTURE_ROW * ((double)i + 0.5), chart->right);
    fprintf(file, "\"/><path class=\"one\" d=\"M%.1f %.0fV%.0f\"/>",
            race ? picture_at_ratio(chart, 1) : picture_at_part(chart, 1), top, bottom);
    fprintf(file, "<path class=\"rule\" d=\"M0 %.1fH%.1f\"/><text class=\"head\" y=\"%.0f\">%s%s</text>", top - 0.5,
            chart->end, top - 6, group->group, continued ? ", continued" : "");
    if (isfinite(geomean) && !continued)
        fprintf(file, "<text class=\"end bold\" x=\"%.1f\" y=\"%.0f\">%.2f</text>", chart->value, top - 6, geomean);
    if (isfinite(limit) && !continued)
        fprintf(file, "<text class=\"end bold\" x=\"%.1f\" y=\"%.0f\">%.0f</text>", chart->end - 3, top - 6,
                100 * limit);
    fputs("</g>\n", file);
}

// Sets the groups into columns of that height, drawing them where there is a file. Returns how many columns that took;
// 0 where they do not fit. A group that is cut keeps two rows on both sides, where it has them.
static int flow(const struct picture_chart *chart, FILE *file, double height)
{
    const struct picture_row *const rows = chart->suite->picture.rows;
    const size_t all = chart->suite->picture.count;
    double y = 0;
    int column = 0;
    for (size_t begin = 0, end; begin < all; begin = end) {
        for (end = begin + 1; end < all && strcmp(rows[end].group, rows[begin].group) == 0; end++)
            continue;
        for (size_t at = begin; at < end;) {
            const double room = (height - y - HEAD) / PICTURE_ROW;
            const size_t left = end - at, fit = room > 0 ? (size_t)room : 0;
            const size_t count = fit >= left ? left : left - fit < 2 && fit > 0 ? fit - 1 : fit;
            if (count < left && count < 2) {
                if (++column == chart->columns)
                    return 0;
                y = 0;
                continue;
            }
            const double x = MARGIN + chart->step * column;
            if (file)
                print_group(chart, file, &rows[begin], end - begin, at != begin, x, TOP + y, count);
            for (size_t i = 0; i < count && file; i++)
                picture_line(chart, file, &rows[at + i], x, TOP + y + HEAD + PICTURE_ROW * (double)i);
            y += HEAD + PICTURE_ROW * (double)count;
            at += count;
        }
    }
    return column + 1;
}

static void print_axes(const struct picture_chart *chart, FILE *file, int columns)
{
    static const double ratios[] = {0.75, 1, 1.5, 2}, parts[] = {0, 0.5, 1};
    const bool race = chart->suite->peer_count != 0;
    for (int column = 0; column < columns; column++) {
        fprintf(file, "<g transform=\"translate(%.1f %d)\"><text class=\"tick\" y=\"2\">%s</text>",
                MARGIN + chart->step * column, TOP, strrchr(chart->suite->kind->names, '/') + 1);
        for (size_t i = 0; i < (race ? sizeof ratios / sizeof *ratios : sizeof parts / sizeof *parts); i++)
            fprintf(file, "<text class=\"tick mid\" x=\"%.1f\" y=\"2\">%g%s</text>",
                    race ? picture_at_ratio(chart, ratios[i]) : picture_at_part(chart, parts[i]),
                    race ? ratios[i] : 100 * parts[i], race || i ? "" : " %");
        fprintf(file,
                "<text class=\"tick end\" x=\"%.1f\" y=\"2\">%s</text><text class=\"tick end\" x=\"%.1f\" "
                "y=\"2\">%% limit</text></g>\n",
                chart->value, race ? "ratio" : "Gflop/s", chart->end);
    }
}

static double peak_of(const struct picture_row *row)
{
    return row->peak_rate;
}

static double stream_of(const struct picture_row *row)
{
    return row->stream_rate;
}

static double of_peak(const struct picture_row *row)
{
    return row->streams ? NAN : row->of_limit.median;
}

static double of_bound(const struct picture_row *row)
{
    return row->streams ? row->of_limit.median : NAN;
}

static double print_tile(FILE *file, double x, const char *number, const char *words)
{
    fprintf(file,
            "<text class=\"big\" x=\"%.0f\" y=\"110\">%s</text><text class=\"muted\" x=\"%.0f\" y=\"127\">%s"
            "</text>\n",
            x, number, x, words);
    return x + 40 + 6 * (double)strlen(words);
}

static void print_head(const struct suite *suite, FILE *file)
{
    const double peak = picture_median(&suite->picture, peak_of), stream = picture_median(&suite->picture, stream_of),
                 part = picture_median(&suite->picture, of_peak), bound = picture_median(&suite->picture, of_bound);
    char text[128];
    double x = MARGIN;
    picture_cpu(suite, text, sizeof text);
    fprintf(file,
            "<text class=\"title\" x=\"%d\" y=\"36\">fovea bench %.*s</text>\n<text class=\"by\" x=\"%d\" y=\"57\">",
            MARGIN, (int)strcspn(suite->kind->prefix, "/"), suite->kind->prefix, MARGIN);
    picture_text(file, text);
    fprintf(file, ", %s, %u thread%s, fovea %s</text>\n<text class=\"end\" x=\"%d\" y=\"57\">", suite->isa,
            suite->options->threads, suite->options->threads > 1 ? "s" : "", fovea_version(), WIDTH - MARGIN);
    if (isfinite(peak))
        fprintf(file, "FMA peak %.1f Gflop/s", 1e-9 * peak);
    if (isfinite(stream))
        fprintf(file, "%sreads memory at %.1f GB/s", isfinite(peak) ? ", " : "", 1e-9 * stream);
    fputs("</text>\n", file);
    if (suite->raced) {
        snprintf(text, sizeof text, "%.2fx", exp(suite->log_sum / (double)suite->raced));
        x = print_tile(file, x, text, "the best peer of each line, geomean");
        snprintf(text, sizeof text, "%zu of %zu", suite->behind, suite->raced);
        x = print_tile(file, x, text, "below 0.97x, or surely below 1");
    }
    if (isfinite(part)) {
        snprintf(text, sizeof text, "%.0f %%", 100 * part);
        x = print_tile(file, x, text, "of the FMA peak, median");
    }
    if (isfinite(bound)) {
        snprintf(text, sizeof text, "%.0f %%", 100 * bound);
        print_tile(file, x, text, "of the bound where it streams, median");
    }
}

static double print_key(FILE *file, double x, const char *class, const char *mark, const char *words)
{
    fprintf(file, "<g class=\"%s\" transform=\"translate(%.0f 146)\">%s<text x=\"14\" y=\"11\">%s</text></g>\n", class,
            x, mark, words);
    return x + 34 + 6 * (double)strlen(words);
}

// Peers with how many lines each was the best of, and what marks mean.
static void print_legend(const struct suite *suite, FILE *file)
{
    static const char dot[] = "<circle class=\"dot\" cx=\"5\" cy=\"7\" r=\"3.5\"/>";
    size_t best[PICTURE_LIBRARIES] = {0};
    bool there[PICTURE_LIBRARIES] = {false}, streams = false;
    double x = MARGIN;
    for (size_t i = 0; i < suite->peer_count; i++)
        there[picture_library(suite, (int)i)] = true;
    for (size_t i = 0; i < suite->picture.count; i++) {
        streams |= suite->picture.rows[i].streams;
        if (suite->picture.rows[i].peer >= 0)
            best[picture_library(suite, suite->picture.rows[i].peer)]++;
    }
    for (int i = 0; i < PICTURE_LIBRARIES; i++) {
        char class[8], words[48];
        snprintf(class, sizeof class, "l%d", i);
        snprintf(words, sizeof words, "%s %zu", picture_libraries[i], best[i]);
        if (there[i])
            x = print_key(file, x, class, dot, words);
    }
    x = print_key(file, x, "l5", "<rect class=\"bar peak\" y=\"2\" width=\"10\" height=\"10\"/>", "% of FMA peak");
    if (streams)
        x = print_key(file, x, "l5", "<rect class=\"bar bound\" y=\"2\" width=\"10\" height=\"10\"/>",
                      "% of min(peak, memory rate)");
    print_key(file, x, "l5 hollow",
              suite->peer_count ? dot : "<rect class=\"bar peak\" y=\"2\" width=\"10\" height=\"10\"/>", "disturbed");
}

void picture_svg(const struct suite *suite, FILE *file)
{
    const struct picture_chart chart = plan_chart(suite);
    double height = HEAD + 2 * PICTURE_ROW;
    while (!flow(&chart, NULL, height))
        height += PICTURE_ROW;
    fprintf(file,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %.0f\" width=\"%d\" height=\"%.0f\" "
            "role=\"img\" aria-label=\"fovea bench\">\n<style>%s</style>\n<rect class=\"ground\" width=\"%d\" "
            "height=\"%.0f\" rx=\"6\"/>\n",
            WIDTH, TOP + height + FOOT, WIDTH, TOP + height + FOOT, style, WIDTH, TOP + height + FOOT);
    print_head(suite, file);
    print_legend(suite, file);
    print_axes(&chart, file, flow(&chart, file, height));
    fprintf(file, "<text class=\"muted\" x=\"%d\" y=\"%.0f\">%s</text>\n</svg>\n", MARGIN, TOP + height + FOOT - 12,
            suite->peer_count
                ? "Dot: ratio to the best peer, in its colour (triangle: beyond the scale); line: 95 % interval; "
                  "red: below 0.97x or an interval below 1. Bold: means of the group."
                : "Line in a bar: quartiles. Bold: means of the group.");
}
