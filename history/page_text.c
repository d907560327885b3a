// SPDX-License-Identifier: Apache-2.0
// history/page_text.c - metrics by name, figures in words, escaping.
#include "history/page_text.h"

#include <math.h>
#include <string.h>
#include <time.h>

static const struct {
    const char *name;
    struct page_metric metric;
} known[] = {
    {"real_time", {"Time", PAGE_TIME, 0, true, 1}},
    {"cpu_time", {"CPU time", PAGE_TIME, 1, false, 0}},
    {"instructions", {"Instructions", PAGE_COUNT, 2, true, 0}},
    {"of_peak", {"% of peak", PAGE_FRACTION, 3, true, -1}},
    {"of_stream", {"% of stream", PAGE_FRACTION, 4, false, -1}},
    {"of_bound", {"% of bound", PAGE_FRACTION, 5, false, -1}},
    {"gflops", {"Gflop/s", PAGE_NUMBER, 6, false, -1}},
    {"vs_best_peer", {"Against the best peer", PAGE_NUMBER, 7, false, 0}},
    {"over_plain", {"Over the plain product", PAGE_NUMBER, 8, false, 0}},
    {"of_peak_q1", {"% of peak, quartile 1", PAGE_FRACTION, 20, false, 0}},
    {"of_peak_q3", {"% of peak, quartile 3", PAGE_FRACTION, 21, false, 0}},
    {"calm", {"Calm samples", PAGE_FRACTION, 22, false, 0}},
    {"stolen", {"Stolen by the host", PAGE_FRACTION, 23, false, 0}},
    {"interrupted", {"Interrupted", PAGE_FRACTION, 24, false, 0}},
};

struct page_metric page_metric(const char *name, const char *unit)
{
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcmp(name, known[i].name) == 0)
            return known[i].metric;
    return (struct page_metric){name, strcmp(unit, "s") == 0 ? PAGE_TIME : PAGE_NUMBER, 10, false, 0};
}

// Four significant digits without an exponent, for 1 <= |value| < 10000.
static int four_digits(char *text, double value, const char *unit)
{
    const double size = fabs(value);
    const int digits = size < 9.9995 ? 3 : size < 99.995 ? 2 : size < 999.95 ? 1 : 0;
    return snprintf(text, PAGE_TEXT, "%.*f%s%s", digits, value, *unit ? " " : "", unit);
}

static void thousands(char text[PAGE_TEXT], double value)
{
    char digits[PAGE_TEXT];
    const int length = snprintf(digits, sizeof digits, "%.0f", value);
    char *out = text;
    for (int i = 0; i < length; i++) {
        *out++ = digits[i];
        if ((length - i - 1) % 3 == 0 && i + 1 < length && digits[i] != '-')
            *out++ = ',';
    }
    *out = '\0';
}

const char *page_figure(char text[PAGE_TEXT], enum page_kind kind, const char *unit, double value)
{
    static const struct {
        double low, scale;
        const char *unit;
    } times[] = {{0.9995, 1, "s"}, {0.9995e-3, 1e3, "ms"}, {0.9995e-6, 1e6, "\302\265s"}, {0, 1e9, "ns"}};
    const double size = fabs(value);
    if (kind == PAGE_TIME) {
        size_t i = 0;
        while (size < times[i].low)
            i++;
        four_digits(text, value * times[i].scale, times[i].unit);
    } else if (kind == PAGE_FRACTION) {
        snprintf(text, PAGE_TEXT, "%.1f %%", value * 100);
    } else if (kind == PAGE_COUNT && size < 1e15) {
        thousands(text, value);
    } else if (size >= 1 && size < 9999.5) {
        four_digits(text, value, unit);
    } else {
        snprintf(text, PAGE_TEXT, "%.4g%s%.20s", value, *unit ? " " : "", unit);
    }
    return text;
}

const char *page_effect(char text[PAGE_TEXT], double effect)
{
    const double percent = fabs(effect * 100);
    const char *const sign = percent < 0.05 ? "" : effect < 0 ? "\342\210\222" : "+";
    snprintf(text, PAGE_TEXT, "%s%.*f %%", sign, percent < 99.95 ? 1 : 0, percent);
    return text;
}

const char *page_confidence(char text[PAGE_TEXT], double confidence)
{
    if (confidence > 0.999)
        snprintf(text, PAGE_TEXT, "> 99.9 %%");
    else
        snprintf(text, PAGE_TEXT, "%.1f %%", floor(confidence * 1000) / 10);
    return text;
}

const char *page_date(char text[PAGE_TEXT], int64_t seconds)
{
    const time_t time = (time_t)seconds;
    struct tm utc;
    if (!gmtime_r(&time, &utc) || !strftime(text, PAGE_TEXT, "%Y-%m-%d", &utc))
        strcpy(text, "?");
    return text;
}

size_t page_commit_width(const char *commit)
{
    enum { HASH = 40, SHORT = 9 };
    const size_t length = strlen(commit);
    return length >= HASH && strspn(commit, "0123456789abcdef") == length ? SHORT : length;
}

void page_html(FILE *file, const char *text)
{
    page_html_part(file, text, strlen(text));
}

void page_html_part(FILE *file, const char *text, size_t length)
{
    for (const char *const end = text + length; text < end; text++)
        switch (*text) {
        case '&':
            fputs("&amp;", file);
            break;
        case '<':
            fputs("&lt;", file);
            break;
        case '>':
            fputs("&gt;", file);
            break;
        case '"':
            fputs("&quot;", file);
            break;
        case '\'':
            fputs("&#39;", file);
            break;
        default:
            fputc(*text, file);
        }
}

void page_json(FILE *file, const char *text)
{
    fputc('"', file);
    for (const unsigned char *c = (const unsigned char *)text; *c; c++)
        if (*c == '"' || *c == '\\')
            fprintf(file, "\\%c", *c);
        else if (*c < 0x20 || *c == '<') // "</script" and "<!--" would end or hide what follows
            fprintf(file, "\\u%04x", *c);
        else
            fputc(*c, file);
    fputc('"', file);
}
