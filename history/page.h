// SPDX-License-Identifier: Apache-2.0
// history/page.h - one self-contained HTML page of a book: no network, readable without JavaScript.
#ifndef FOVEA_HISTORY_PAGE_H
#define FOVEA_HISTORY_PAGE_H

#include "history/history.h"

#include <stdio.h>

struct page_options {
    const char *title; ///< NULL: "Performance history"
    const char
        *commit_url;      ///< what a commit's name is appended to for a link ("https://host/project/commit/"), or NULL
    const char *baseline; ///< branches are shown and judged behind its runs; NULL: main or master
    int64_t now;          ///< seconds since 1970 UTC: when the page is made
};

/// Writes the page. The book should have been read with repetitions, or no point has a band. False: no memory. Errors
/// of the file are left for the caller to find (ferror).
bool page_write(FILE *file, const struct history_book *book, const struct page_options *options);

#endif
