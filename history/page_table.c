// SPDX-License-Identifier: Apache-2.0
// history/page_table.c - the overview: one row for each benchmark on each machine and branch, worst first.
#include "history/page_table.h"

#include <string.h>

static const struct {
    const char *name, *mark, *words, *label;
} states[] = {
    [PAGE_WORSE] = {"worse", "\342\226\262", "slower", "Slower"},
    [PAGE_KNOWN] = {"known", "\342\226\263", "slower, acknowledged", "Known"},
    [PAGE_BETTER] = {"better", "\342\226\274", "faster", "Faster"},
    [PAGE_STEADY] = {"steady", "\302\267", "steady", "Steady"},
    [PAGE_FEW] = {"few", "?", "too few runs", "Too few"},
};
enum { STATES = sizeof states / sizeof *states };

void page_write_tiles(FILE *file, const struct page *page)
{
    size_t counts[STATES] = {0};
    for (size_t i = 0; i < page->row_count; i++)
        counts[page->rows[i].status]++;
    for (size_t i = 0; i < STATES; i++)
        fprintf(file,
                "<button type=\"button\" class=\"tile %s\" data-state=\"%s\" aria-pressed=\"false\" title=\"%s\">"
                "<b>%zu</b><span><i aria-hidden=\"true\">%s</i> %s</span></button>\n",
                states[i].name, states[i].name, states[i].words, counts[i], states[i].mark, states[i].label);
}

static void write_commit(FILE *file, const char *commit, const struct page_options *options)
{
    fputs(options->commit_url ? "<a href=\"" : "<code>", file);
    if (options->commit_url) {
        page_html(file, options->commit_url);
        page_html(file, commit);
        fputs("\"><code>", file);
    }
    page_html_part(file, commit, page_commit_width(commit));
    fputs(options->commit_url ? "</code></a>" : "</code>", file);
}

void page_write_commits(FILE *file, const struct page *page, const struct page_series *s, size_t at,
                        const struct page_options *options)
{
    const struct history_run *const runs = page->book->runs;
    const struct history_point *const points = s->series->points;
    if (at > 0) {
        fputs("<span class=\"after\">after ", file);
        write_commit(file, runs[points[at - 1].run].commit, options);
        fputs(", </span>", file);
    }
    fputs("in ", file);
    write_commit(file, runs[points[at].run].commit, options);
}

// The last part of a name tells benchmarks apart, what is before it groups them.
static void write_name(FILE *file, const char *name)
{
    const char *const slash = strrchr(name, '/');
    if (slash) {
        fputs("<span class=\"path\">", file);
        for (const char *from = name; from <= slash;) {
            const size_t length = strcspn(from, "/") + 1;
            page_html_part(file, from, length);
            fputs("<wbr>", file);
            from += length;
        }
        fputs("</span>", file);
    }
    page_html(file, slash ? slash + 1 : name);
}

static void write_change(FILE *file, const struct page *page, const struct page_row *row)
{
    const struct page_series *const s = &page->series[row->shown];
    char effect[PAGE_TEXT], sure[PAGE_TEXT];
    if (s->status == PAGE_STEADY || s->status == PAGE_FEW) {
        fputs("<td class=\"num change\"></td>", file);
        return;
    }
    fprintf(file, "<td class=\"num change\">%s<small>", page_effect(effect, s->effect));
    if (row->shown != row->first) {
        page_html(file, s->metric.label);
        fputs(", ", file);
    }
    fprintf(file, "%s sure</small></td>", page_confidence(sure, s->changes[s->change].confidence));
}

// What is missing in the row's verdict. A branch says so of its own runs and of those of the baseline before them.
static void write_disturbed(FILE *file, const struct page_series *s)
{
    const size_t count = s->series->disturbed_count;
    if (count == 0)
        return;
    fprintf(file,
            "<small class=\"disturbed\" title=\"Left out: the bench marks %s as disturbed\">\342\227\213 %zu "
            "disturbed%s</small>",
            count == 1 ? "it" : "them", count, !s->points[s->count - 1].disturbed ? "" : ", the newest too");
}

static void write_row(FILE *file, const struct page *page, size_t index, const struct page_options *options)
{
    const struct page_row *const row = &page->rows[index];
    const struct page_series *const lead = &page->series[row->first], *const s = &page->series[row->shown];
    const struct page_series *const bound = page_find(page, row, "of_bound");
    const struct page_series *const limit = bound ? bound : page_find(page, row, "of_peak");
    char now[PAGE_TEXT], of_limit[PAGE_TEXT] = "";
    fprintf(file,
            "<tr class=\"%s\" data-row=\"%zu\" data-at=\"%zu\" data-now=\"%.6g\" data-limit=\"%.4g\"><th "
            "scope=\"row\"><span class=\"mark\" role=\"img\" aria-label=\"%s\" "
            "title=\"%s\">%s</span> <span class=\"name\">",
            states[row->status].name, index, s->change_count ? page_place(s, s->changes[s->change].at) : 0, lead->level,
            limit ? limit->level : 0, states[row->status].words, states[row->status].words, states[row->status].mark);
    write_name(file, lead->series->benchmark);
    fputs("</span>", file);
    if (row->status < PAGE_STEADY) {
        const size_t at = s->changes[s->change].at, runs = s->series->count - at;
        fputs("<small>", file);
        page_write_commits(file, page, s, at, options);
        fprintf(file, ", %zu run%s so far</small>", runs, runs == 1 ? "" : "s");
    }
    write_disturbed(file, s);
    fputs("</th><td class=\"place\">", file);
    page_html(file, lead->series->machine);
    fputs("</td><td class=\"place\">", file);
    page_html(file, lead->series->branch);
    fputs("</td><td class=\"trend\">", file);
    page_write_spark(file, s);
    fputs("</td>", file);
    write_change(file, page, row);
    fputs("<td class=\"num now\">", file);
    if (lead->series->count > 0)
        page_html(file, page_figure(now, lead->metric.kind, lead->series->unit, lead->level));
    if (limit && limit->series->count > 0)
        page_figure(of_limit, PAGE_FRACTION, "", limit->level);
    fprintf(file, "</td><td class=\"num\">%s</td></tr>\n", of_limit);
}

void page_write_table(FILE *file, const struct page *page, const struct page_options *options)
{
    for (size_t i = 0; i < page->row_count; i++)
        write_row(file, page, i, options);
}
