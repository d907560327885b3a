// SPDX-License-Identifier: Apache-2.0
// history/page_data.h - the book as the page's script reads it: JSON with columns of numbers packed into base64.
#ifndef FOVEA_HISTORY_PAGE_DATA_H
#define FOVEA_HISTORY_PAGE_DATA_H

#include "history/page_model.h"

/// Writes the JSON, with no "<" in it. False: no memory.
///
/// A column of numbers is a base64 string of bytes. Every number is the difference to the one before it (the first: to
/// 0) in units of the column's step, made unsigned (2d, or -2d - 1 for d < 0), seven bits a byte, low ones first, the
/// top bit set but in the last byte. A median with its band takes some five characters so.
///
///   runs     {count, time: column of seconds, facts: [{name, values: [text], of: column of indices}]}
///            the first facts are commit, branch and machine; -1 is a run without that fact
///   axes     [column of run indices]
///   metrics  [{name, label, kind, unit, better}]
///   series   [{metric, axis, step, value, low, high, disturbed, changes, peers}], where low and high are columns
///            of the distances below and above the value in PAGE_BAND_STEPS steps, or are missing where no run has
///            repetitions
///            disturbed: column of the places of points that are not judged; missing where there are none
///            changes: [[at, before, after, effect, low, high, confidence, worse, note or null]]
///            peers: [[name, figure]]
///   machines, branches: [name]
///   rows     [{benchmark, machine, branch, first, count, shown}]: of the series, in the order of the table
enum { PAGE_BAND_STEPS = 4 };
bool page_write_data(FILE *file, const struct page *page);

/// Its first part, "runs". False: no memory.
bool page_write_runs(FILE *file, const struct history_book *book);

#endif
