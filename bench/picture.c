// SPDX-License-Identifier: Apache-2.0
// bench/picture.c - the lines of a run kept, sorted into groups, and their picture put into a page.
#include "bench/picture.h"
#include "bench/suite.h"
#include "dispatch/profile.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

bool picture_begin(struct picture *picture, size_t lines)
{
    *picture = (struct picture){.rows = calloc(lines, sizeof *picture->rows)};
    return picture->rows != NULL;
}

void picture_end(struct picture *picture)
{
    free(picture->rows);
    *picture = (struct picture){.rows = NULL};
}

// What the JSON has under that name; NAN where it has not.
static double counter(const struct bench_result *result, const char *name)
{
    for (uint32_t i = 0; i < result->counter_count; i++)
        if (strcmp(result->counters[i].name, name) == 0)
            return result->counters[i].value;
    return NAN;
}

// "gemm/f32/plain/nt/12x128x128x64" is of the group "plain nt, batches". Few rows of a product, or of a layer, are a
// group of their own because their limit is another one. A kind of attention either streams or does not.
static void name_group(struct picture_row *row, const struct suite_kind *kind)
{
    const char *const way = row->line->name + strlen(kind->prefix), *const end = strrchr(way, '/');
    const bool product = kind->event == PEER_GEMM, few_rows = row->streams && kind->event != PEER_ATTENTION;
    row->shape = end + 1;
    row->batch = suite_read_sizes(row->shape, product ? 'x' : ',', row->sizes) == 4 && product;
    snprintf(row->group, sizeof row->group, "%.*s%s%s", (int)(end - way), way, row->batch ? ", batches" : "",
             few_rows ? ", few rows" : "");
    for (char *slash = strchr(row->group, '/'); slash; slash = strchr(slash, '/'))
        *slash = ' ';
}

void picture_add(struct picture *picture, const struct suite_line *line, const struct bench_result *result)
{
    if (!picture->rows)
        return;
    struct picture_row *const row = &picture->rows[picture->count];
    const double peak = counter(result, "of_peak"), bound = counter(result, "of_bound"), peer = counter(result, "peer");
    *row = (struct picture_row){
        .line = line,
        .order = picture->count++,
        .failed = result->error != NULL,
        .streams = !isnan(bound),
        .gflops = counter(result, "gflops"),
        .calm = counter(result, "calm"),
        .peak_rate = 1e9 * counter(result, "gflops") / peak,
        .stream_rate = line->suite->stream_rate,
        .of_limit = {counter(result, "of_peak_q1"), peak, counter(result, "of_peak_q3")},
        .ratio = {counter(result, "vs_best_peer_low"), counter(result, "vs_best_peer"),
                  counter(result, "vs_best_peer_high")},
        .over_plain = counter(result, "over_plain"),
        .peer = isnan(peer) ? -1 : (int)peer,
    };
    if (row->streams)
        row->of_limit = (struct bench_interval){NAN, bound, NAN};
    name_group(row, line->suite->kind);
}

double picture_median(const struct picture *picture, double (*of)(const struct picture_row *row))
{
    double *const values = malloc(picture->count * sizeof *values);
    size_t count = 0;
    for (size_t i = 0; i < picture->count && values; i++) {
        const double value = of(&picture->rows[i]);
        if (isfinite(value))
            values[count++] = value;
    }
    const double median = count ? bench_quantile(values, count, 0.5) : NAN;
    free(values);
    return median;
}

// Of groups the ways in the order of the suite's table, those that stream behind all others; in them by size.
static int by_group(const void *left, const void *right)
{
    const struct picture_row *const a = left, *const b = right;
    if (a->streams != b->streams)
        return a->streams ? 1 : -1;
    if (a->line->way != b->line->way)
        return (const char *)a->line->way < (const char *)b->line->way ? -1 : 1;
    if (a->batch != b->batch)
        return a->batch ? 1 : -1;
    for (size_t i = 0; i < sizeof a->sizes / sizeof *a->sizes; i++)
        if (a->sizes[i] != b->sizes[i])
            return a->sizes[i] < b->sizes[i] ? -1 : 1;
    return a->order < b->order ? -1 : 1;
}

void picture_text(FILE *file, const char *text)
{
    for (; *text; text++)
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
        default:
            fputc(*text >= ' ' && *text <= '~' ? *text : '?', file);
        }
}

void picture_cpu(const struct suite *suite, char *text, size_t size)
{
    const struct fovea_machine *const machine = fovea_engine_machine(suite->engine);
    const uint32_t cpu = fovea_profile_key(machine).signature; // on x86 what CPUID has in leaf 1
    if (*machine->brand == '\0' && cpu)                        // of Arm the implementer, part and revision
        snprintf(text, size, "a CPU of MIDR %08x", cpu);
    else if (cpu == 0 || strpbrk(machine->brand, "0123456789"))
        snprintf(text, size, "%s", *machine->brand ? machine->brand : "this CPU");
    else
        snprintf(text, size, "%s (family %u, model %u)", machine->brand,
                 (cpu >> 8 & 15) + ((cpu >> 8 & 15) == 15 ? cpu >> 20 & 255 : 0), (cpu >> 4 & 15) | (cpu >> 12 & 240));
}

static const char page_head[] =
    "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"/><meta name=\"viewport\" "
    "content=\"width=device-width\"/><title>fovea bench</title>\n<style>"
    "body{font:15px/1.5 system-ui,sans-serif;margin:2em auto;max-width:1000px;padding:0 1em;color:#1d2433;"
    "background:#fff}h1{font-size:1.4em;margin:0 0 .4em}p{max-width:52em}svg{width:100%;height:auto}"
    "@media(prefers-color-scheme:dark){body{background:#14171d;color:#dfe4ee}}</style></head>\n";

static void write_words(const struct suite *suite, FILE *file)
{
    fprintf(file,
            "<h1>How near fovea comes to what this machine can do</h1>\n<p>Each row is a line of <code>fovea bench "
            "%.*s</code>: a shape, in a group of those that are computed alike. ",
            (int)strcspn(suite->kind->prefix, "/"), suite->kind->prefix);
    if (suite->peer_count)
        fputs("Its dot is how many times faster fovea was than the best of all peers, right of 1 being faster, with "
              "the 95&#160;% interval as a thin line and the colour of that peer; the scale is logarithmic, and a "
              "triangle "
              "lies beyond it. A number in red is below 0.97 or has an interval that ends below 1. The bar at the "
              "right",
              file);
    else
        fputs("Its bar, with quartiles as a thin line,", file);
    fputs(" is the part of the FMA peak that it reached, measured beside it in the same process; where weights or keys "
          "come from memory, of the smaller of that peak and of the rate at which this machine reads them. The name "
          "of a group has the geometric mean of its ratios and the mean of its percentages. A hollow mark was "
          "disturbed by a "
          "neighbour on the core: measure that line again. Each row tells all of it as a tooltip.</p>\n",
          file);
}

void picture_write(struct suite *suite, FILE *file, bool page)
{
    if (suite->picture.count == 0)
        return;
    qsort(suite->picture.rows, suite->picture.count, sizeof *suite->picture.rows, by_group);
    if (page) {
        fprintf(file, "%s<body>\n", page_head);
        write_words(suite, file);
    }
    picture_svg(suite, file);
    if (page)
        fputs("</body></html>\n", file);
}
