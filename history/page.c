// SPDX-License-Identifier: Apache-2.0
// history/page.c - fills the template: {{name}} becomes what the table below says.
#include "history/page.h"
#include "history/page_assets.h"
#include "history/page_baseline.h"
#include "history/page_data.h"
#include "history/page_table.h"
#include "fovea/engine.h"

#include <string.h>

struct filling {
    FILE *file;
    const struct page *page;
    const struct page_options *options;
};

static bool fill_policy(const struct filling *f)
{
    // Nothing is loaded; style and script are those whose hashes stand here, so injected ones would not run.
    fprintf(
        f->file,
        "default-src 'none'; script-src '%s' '%s'; style-src '%s'; img-src data:; base-uri 'none'; form-action 'none'",
        page_early_hash, page_script_hash, page_style_hash);
    return true;
}

static bool fill_commits(const struct filling *f)
{
    page_html(f->file, f->options->commit_url ? f->options->commit_url : "");
    return true;
}

static bool fill_title(const struct filling *f)
{
    page_html(f->file, f->options->title ? f->options->title : "Performance history");
    return true;
}

static bool fill_meta(const struct filling *f)
{
    const struct history_book *const book = f->page->book;
    char first[PAGE_TEXT], last[PAGE_TEXT];
    if (!book->run_count) {
        fputs("No runs yet: fovea bench --history, or fovea history import", f->file);
        return true;
    }
    fprintf(f->file, "%zu benchmark%s, %zu run%s, %s", f->page->row_count, f->page->row_count == 1 ? "" : "s",
            book->run_count, book->run_count == 1 ? "" : "s", page_date(first, book->runs[0].time));
    page_date(last, book->runs[book->run_count - 1].time);
    if (strcmp(first, last) != 0)
        fprintf(f->file, " to %s", last);
    size_t disturbed = 0, points = 0;
    for (size_t i = 0; i < book->series_count; i++)
        if (page_speaks(f->page, &f->page->series[i])) {
            disturbed += f->page->series[i].series->disturbed_count;
            points += f->page->series[i].count;
        }
    if (disturbed)
        fprintf(f->file, "; %zu of %zu points disturbed", disturbed, points);
    return true;
}

static bool fill_tiles(const struct filling *f)
{
    page_write_tiles(f->file, f->page);
    return true;
}

static bool fill_rows(const struct filling *f)
{
    page_write_table(f->file, f->page, f->options);
    return true;
}

static bool fill_changes(const struct filling *f)
{
    return page_write_changes(f->file, f->page, f->options);
}

static bool fill_environment(const struct filling *f)
{
    page_write_environment(f->file, f->page);
    return true;
}

static bool fill_footer(const struct filling *f)
{
    char date[PAGE_TEXT];
    fprintf(f->file, "Made by fovea %s, %s. ", fovea_version(), page_date(date, f->options->now));
    if (*page_uplot != '\0')
        fprintf(f->file, "Charts by uPlot %s.", page_uplot);
    else
        fputs("<strong>Plain charts: this fovea was built without uPlot.</strong>", f->file);
    return true;
}

static bool fill_data(const struct filling *f)
{
    return page_write_data(f->file, f->page);
}

static bool write_asset(FILE *file, const unsigned char *bytes, size_t size)
{
    fwrite(bytes, 1, size, file); // its caller asks ferror
    return true;
}

static bool fill_style(const struct filling *f)
{
    return write_asset(f->file, page_style, page_style_size);
}

static bool fill_early(const struct filling *f)
{
    return write_asset(f->file, page_early, page_early_size);
}

static bool fill_script(const struct filling *f)
{
    return write_asset(f->file, page_script, page_script_size);
}

static const struct {
    const char *name;
    bool (*fill)(const struct filling *);
} fillings[] = {
    {"commits", fill_commits}, {"policy", fill_policy},
    {"title", fill_title},     {"meta", fill_meta},
    {"tiles", fill_tiles},     {"rows", fill_rows},
    {"changes", fill_changes}, {"data", fill_data},
    {"footer", fill_footer},   {"environment", fill_environment},
    {"style", fill_style},     {"script", fill_script},
    {"early", fill_early},
};

static bool fill(const struct filling *f, const char *name, size_t length)
{
    for (size_t i = 0; i < sizeof fillings / sizeof *fillings; i++)
        if (strlen(fillings[i].name) == length && memcmp(fillings[i].name, name, length) == 0)
            return fillings[i].fill(f);
    return false; // a name that the template has and this table has not
}

static const char *find(const char *from, const char *end, const char *mark)
{
    while (end - from >= 2 && memcmp(from, mark, 2) != 0)
        from++;
    return end - from >= 2 ? from : NULL;
}

bool page_write(FILE *file, const struct history_book *book, const struct page_options *options)
{
    struct page page;
    struct history_book lined;
    if (!page_baseline(book, options->baseline ? options->baseline : page_baseline_of(book), &lined))
        return false;
    if (!page_make(&page, &lined)) {
        page_baseline_free(&lined);
        return false;
    }
    const struct filling filling = {file, &page, options};
    const char *from = (const char *)page_template;
    const char *const end = from + page_template_size;
    bool ok = true;
    for (const char *open; ok && (open = find(from, end, "{{"));) {
        const char *const close = find(open, end, "}}");
        fwrite(from, 1, (size_t)(open - from), file);
        ok = close && fill(&filling, open + 2, (size_t)(close - open - 2));
        from = close ? close + 2 : end;
    }
    fwrite(from, 1, (size_t)(end - from), file);
    page_free(&page);
    page_baseline_free(&lined);
    return ok;
}
