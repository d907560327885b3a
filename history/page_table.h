// SPDX-License-Identifier: Apache-2.0
// history/page_table.h - the parts of the page that need no script.
#ifndef FOVEA_HISTORY_PAGE_TABLE_H
#define FOVEA_HISTORY_PAGE_TABLE_H

#include "history/page.h"
#include "history/page_model.h"

/// How many rows are in each state.
void page_write_tiles(FILE *file, const struct page *page);
/// The rows of the overview, each with a sparkline.
void page_write_table(FILE *file, const struct page *page, const struct page_options *options);
/// All changes of series that speak, newest first, at most PAGE_CHANGES of them. False: no memory.
bool page_write_changes(FILE *file, const struct page *page, const struct page_options *options);
enum { PAGE_CHANGES = 300 };
/// The facts of the newest run of each machine.
void page_write_environment(FILE *file, const struct page *page);

/// The runs between which a change lies: "after 9be01d377, in 4f2a9c1be", with links where the options have a URL.
void page_write_commits(FILE *file, const struct page *page, const struct page_series *series, size_t at,
                        const struct page_options *options);

/// A small picture of a series, the part since its change in the colour of its state.
void page_write_spark(FILE *file, const struct page_series *series);

#endif
