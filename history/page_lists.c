// SPDX-License-Identifier: Apache-2.0
// history/page_lists.c - the list of changes and the table of environments.
#include "history/page_table.h"

#include <stdlib.h>
#include <string.h>

struct entry {
    size_t run; // the first of the new level
    const struct page_series *series;
    size_t change;
};

// Newest first; the changes of one run beside one another, in the order of the series.
static int newest_first(const void *left, const void *right)
{
    const struct entry *const a = left, *const b = right;
    if (a->run != b->run)
        return a->run > b->run ? -1 : 1;
    return a->series != b->series ? (a->series < b->series ? -1 : 1) : 0;
}

static void cell(FILE *file, const char *class, const char *text)
{
    fprintf(file, "<td class=\"%s\">", class);
    page_html(file, text);
    fputs("</td>", file);
}

static const char *state_of(const struct entry *entry)
{
    const struct history_change *const c = &entry->series->changes[entry->change];
    return !c->worse ? "better" : c->acknowledged ? "known" : "worse";
}

enum { COLUMNS = 8 };

static void write_entry(FILE *file, const struct page *page, const struct entry *entry)
{
    const struct page_series *const s = entry->series;
    const struct history_change *const c = &s->changes[entry->change];
    char text[PAGE_TEXT], high[PAGE_TEXT];
    fprintf(file, "<tr class=\"%s\" data-row=\"%zu\" data-series=\"%td\"><th scope=\"row\">", state_of(entry), s->row,
            s - page->series);
    page_html(file, s->series->benchmark);
    fputs("</th>", file);
    cell(file, "", s->metric.label);
    cell(file, "num change", page_effect(text, c->effect));
    fprintf(file, "<td class=\"num\">%s to ", page_effect(text, c->low));
    fprintf(file, "%s</td>", page_effect(high, c->high));
    cell(file, "num", page_figure(text, s->metric.kind, s->series->unit, c->before));
    cell(file, "num", page_figure(text, s->metric.kind, s->series->unit, c->after));
    cell(file, "num", page_confidence(text, c->confidence));
    cell(file, "note", page_note(s, c->at));
    fputs("</tr>\n", file);
}

// The head of the changes of one run: when, between which commits, where, how many.
static void write_head(FILE *file, const struct page *page, const struct entry *entries, size_t count,
                       const struct page_options *options)
{
    const struct page_series *const s = entries->series;
    size_t worse = 0;
    char date[PAGE_TEXT];
    for (size_t i = 0; i < count; i++)
        worse += entries[i].series->changes[entries[i].change].worse;
    fprintf(file, "<tr class=\"head\" data-row=\"%zu\"><th scope=\"rowgroup\" colspan=\"%d\"><b>%s</b> ", s->row,
            COLUMNS, page_date(date, page->book->runs[entries->run].time));
    page_write_commits(file, page, s, s->changes[entries->change].at, options);
    fputs(" <small>", file);
    page_html(file, s->series->machine);
    fputs(", ", file);
    page_html(file, s->series->branch);
    fprintf(file, "; %zu worse, %zu better</small></th></tr>\n", worse, count - worse);
}

static void write_groups(FILE *file, const struct page *page, const struct entry *entries, size_t count,
                         const struct page_options *options)
{
    static const char *const heads[COLUMNS] = {"Benchmark", "Metric", "Change", "95 % interval",
                                               "Before",    "After",  "Sure",   "Acknowledged"};
    fputs("<table class=\"list\" id=\"change-list\"><thead><tr>", file);
    for (size_t i = 0; i < COLUMNS; i++)
        fprintf(file, "<th scope=\"col\"%s>%s</th>", i >= 2 && i < COLUMNS - 1 ? " class=\"num\"" : "", heads[i]);
    fputs("</tr></thead><tbody>\n", file);
    for (size_t first = 0, end; first < count; first = end) {
        for (end = first + 1; end < count && entries[end].run == entries[first].run;)
            end++;
        write_head(file, page, entries + first, end - first, options);
        for (size_t i = first; i < end; i++)
            write_entry(file, page, &entries[i]);
    }
    fputs("</tbody></table>\n", file);
}

bool page_write_changes(FILE *file, const struct page *page, const struct page_options *options)
{
    size_t count = 0;
    for (size_t i = 0; i < page->book->series_count; i++)
        count += page->series[i].change_count;
    struct entry *const entries = malloc((count + 1) * sizeof *entries);
    if (!entries)
        return false;
    count = 0;
    for (size_t i = 0; i < page->book->series_count; i++) {
        const struct page_series *const s = &page->series[i];
        for (size_t j = 0; page_speaks(page, s) && j < s->change_count; j++)
            if (page_owns(s, &s->changes[j]))
                entries[count++] = (struct entry){s->series->points[s->changes[j].at].run, s, j};
    }
    qsort(entries, count, sizeof *entries, newest_first);
    if (count)
        write_groups(file, page, entries, count < PAGE_CHANGES ? count : PAGE_CHANGES, options);
    else
        fputs("<p>None was found.</p>\n", file);
    if (count > PAGE_CHANGES)
        fprintf(file, "<p>The newest %d of %zu.</p>\n", PAGE_CHANGES, count);
    free(entries);
    return true;
}

static const struct history_run *newest_of(const struct history_book *book, const char *machine)
{
    size_t i = book->run_count;
    while (i-- > 0 && strcmp(book->runs[i].machine, machine) != 0)
        continue;
    return &book->runs[i]; // a machine is listed because it has runs
}

static void write_fact(FILE *file, const struct history_book *book, const char *name)
{
    fputs("<tr><th scope=\"row\">", file);
    page_html(file, name);
    fputs("</th>", file);
    for (size_t i = 0; i < book->machine_count; i++) {
        const char *const value = page_fact(newest_of(book, book->machines[i]), name);
        cell(file, "", value ? value : "");
    }
    fputs("</tr>\n", file);
}

// Facts in the order of the machines: those of the first, then what only later ones have.
void page_write_environment(FILE *file, const struct page *page)
{
    const struct history_book *const book = page->book;
    char date[PAGE_TEXT];
    if (!book->run_count) {
        fputs("<p>No runs yet.</p>\n", file);
        return;
    }
    fputs("<table class=\"list facts\"><thead><tr><th scope=\"col\">Fact</th>", file);
    for (size_t i = 0; i < book->machine_count; i++) {
        fputs("<th scope=\"col\">", file);
        page_html(file, book->machines[i]);
        fprintf(file, " <small>%s</small></th>", page_date(date, newest_of(book, book->machines[i])->time));
    }
    fputs("</tr></thead><tbody>\n", file);
    for (size_t i = 0; i < book->machine_count; i++) {
        const struct history_run *const run = newest_of(book, book->machines[i]);
        for (size_t j = 0; j < run->fact_count; j++) {
            size_t first = 0;
            while (first < i && !page_fact(newest_of(book, book->machines[first]), run->facts[j].name))
                first++;
            if (first == i)
                write_fact(file, book, run->facts[j].name);
        }
    }
    fputs("</tbody></table>\n", file);
}
