// SPDX-License-Identifier: Apache-2.0
// history/page_runs.c - the runs in the page's JSON: commits, branches, machines and every fact, as columns.
#include "history/page_data.h"
#include "history/page_pack.h"

#include <stdlib.h>
#include <string.h>

// The facts of all runs, each a column: its different values, and which of them a run has.
struct columns {
    const struct history_book *book;
    const char **values; // room for one of every run
    size_t count;        // different ones so far
};

static const char *commit_of(const struct history_run *run, const char *name)
{
    (void)name;
    return run->commit;
}

static const char *branch_of(const struct history_run *run, const char *name)
{
    (void)name;
    return run->branch;
}

static const char *machine_of(const struct history_run *run, const char *name)
{
    (void)name;
    return run->machine;
}

// Newest first: the value of the run before is mostly that of this one.
static int index_of(struct columns *columns, const char *value)
{
    if (!value)
        return -1;
    for (size_t i = columns->count; i-- > 0;)
        if (strcmp(columns->values[i], value) == 0)
            return (int)i;
    columns->values[columns->count] = value;
    return (int)columns->count++;
}

static void write_fact(FILE *file, struct columns *columns, const char *name,
                       const char *value_of(const struct history_run *, const char *))
{
    const struct history_book *const book = columns->book;
    columns->count = 0;
    fputs("{\"name\":", file);
    page_json(file, name);
    fputs(",\"of\":", file);
    struct page_pack pack = page_pack_begin(file, 1);
    for (size_t i = 0; i < book->run_count; i++)
        page_pack_add(&pack, index_of(columns, value_of(&book->runs[i], name)));
    page_pack_end(&pack);
    fputs(",\"values\":[", file);
    for (size_t i = 0; i < columns->count; i++) {
        fputs(i ? "," : "", file);
        page_json(file, columns->values[i]);
    }
    fputs("]}", file);
}

// True where an earlier run, or an earlier fact of this one, has the name already.
static bool seen(const struct history_book *book, size_t run, const char *name)
{
    for (size_t i = run; i-- > 0;) // mostly the run before has it
        if (page_fact(&book->runs[i], name))
            return true;
    return false;
}

bool page_write_runs(FILE *file, const struct history_book *book)
{
    struct columns columns = {.book = book, .values = malloc((book->run_count + 1) * sizeof *columns.values)};
    if (!columns.values)
        return false;
    fprintf(file, "\"runs\":{\"count\":%zu,\"time\":", book->run_count);
    struct page_pack pack = page_pack_begin(file, 1);
    for (size_t i = 0; i < book->run_count; i++)
        page_pack_add(&pack, (double)book->runs[i].time);
    page_pack_end(&pack);
    fputs(",\"facts\":[", file);
    write_fact(file, &columns, "commit", commit_of);
    fputc(',', file);
    write_fact(file, &columns, "branch", branch_of);
    fputc(',', file);
    write_fact(file, &columns, "machine", machine_of);
    for (size_t i = 0; i < book->run_count; i++)
        for (size_t j = 0; j < book->runs[i].fact_count; j++)
            if (!seen(book, i, book->runs[i].facts[j].name)) {
                fputs(",\n", file);
                write_fact(file, &columns, book->runs[i].facts[j].name, page_fact);
            }
    fputs("]}", file);
    free(columns.values);
    return true;
}
