// SPDX-License-Identifier: Apache-2.0
// history/page_pack.h - columns of numbers as short strings.
#ifndef FOVEA_HISTORY_PAGE_PACK_H
#define FOVEA_HISTORY_PAGE_PACK_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/// A column on its way into a file (the form is described in history/page_data.h).
struct page_pack {
    FILE *file;
    double step;
    int64_t last; ///< number before, in steps
    uint32_t bits;
    int bytes; ///< in `bits`, not yet written
};

/// Begins a column: writes the opening quote.
struct page_pack page_pack_begin(FILE *file, double step);
/// Adds a number, rounded to the next multiple of the step.
void page_pack_add(struct page_pack *pack, double value);
/// Writes what is left and the closing quote.
void page_pack_end(struct page_pack *pack);

/// A step that loses nothing one could see: two digits, a 64th of the median difference between neighbours (half of the
/// differences then take one byte), within 1e-9 and 1e-4 of the median value; 1 where all values are whole and it were
/// less. work: n doubles.
double page_pack_step(const double *values, size_t n, double *work);

#endif
