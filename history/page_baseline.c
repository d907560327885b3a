// SPDX-License-Identifier: Apache-2.0
// history/page_baseline.c - all branches of a book behind their baseline, as fovea history check judges them.
#include "history/page_baseline.h"
#include "history/baseline.h"

#include <string.h>

const char *page_baseline_of(const struct history_book *book)
{
    static const char *const usual[] = {"main", "master"};
    for (size_t i = 0; i < sizeof usual / sizeof *usual; i++)
        for (size_t j = 0; j < book->branch_count; j++)
            if (strcmp(book->branches[j], usual[i]) == 0)
                return usual[i];
    return NULL;
}

bool page_baseline(const struct history_book *book, const char *baseline, struct history_book *lined)
{
    *lined = *book;
    lined->memory = NULL;
    if (!baseline)
        return true;
    struct arena_block *arena = NULL;
    struct history_series *const lines = arena_take(&arena, (book->series_count + 1) * sizeof *lines);
    bool done = lines != NULL;
    for (size_t i = 0; i < book->series_count && done; i++) {
        const struct history_series *const own = &book->series[i];
        const struct history_series *const base =
            strcmp(own->branch, baseline) != 0 ? baseline_of(book, i, baseline) : NULL;
        size_t before;
        lines[i] = *own;
        if (base && own->count > 0)
            done = baseline_join(&arena, base, own, SIZE_MAX, &lines[i], &before);
    }
    lined->memory = arena;
    lined->series = lines;
    if (!done)
        page_baseline_free(lined);
    return done;
}

void page_baseline_free(struct history_book *lined)
{
    arena_free(lined->memory);
    *lined = (struct history_book){0};
}
