// SPDX-License-Identifier: Apache-2.0
// tests/page/make.c - writes a page of a made-up history, and what it is made of to stdout.
#include "history/page.h"
#include "tests/page/book.h"

#include <stdlib.h>
#include <string.h>

// A line for each series: its names and the medians of its points.
static void print(const struct history_book *book)
{
    for (size_t i = 0; i < book->series_count; i++) {
        const struct history_series *const s = &book->series[i];
        printf("%s\t%s\t%s\t%s", s->benchmark, s->metric, s->machine, s->branch);
        for (size_t j = 0; j < s->count; j++)
            printf("\t%.9g", s->points[j].median);
        putchar('\n');
    }
}

int main(int argc, char **argv)
{
    if (argc < 6) {
        fprintf(stderr, "usage: make FILE BENCHMARKS RUNS MACHINES BRANCHES [rich] [nasty] [storm]\n");
        return 2;
    }
    struct page_book_shape shape = {.benchmarks = strtoul(argv[2], NULL, 10),
                                    .runs = strtoul(argv[3], NULL, 10),
                                    .machines = strtoul(argv[4], NULL, 10),
                                    .branches = strtoul(argv[5], NULL, 10)};
    for (int i = 6; i < argc; i++)
        *(strcmp(argv[i], "rich") == 0    ? &shape.rich
          : strcmp(argv[i], "nasty") == 0 ? &shape.nasty
                                          : &shape.storm) = true;
    struct history_book book;
    FILE *const file = fopen(argv[1], "w");
    if (!file || !page_book_make(&book, &shape))
        return 1;
    const struct page_options options = {.now = 1767225600,
                                         .title = shape.nasty ? "a < b & \"c\" </title>" : NULL,
                                         .commit_url = "https://example.org/fovea/commit/"};
    const bool ok = page_write(file, &book, &options);
    print(&book);
    page_book_free(&book);
    return fclose(file) != 0 || !ok;
}
