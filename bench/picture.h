// SPDX-License-Identifier: Apache-2.0
// bench/picture.h - what a run of a suite is remembered by, and its picture: SVG, alone or in a page.
#ifndef FOVEA_BENCH_PICTURE_H
#define FOVEA_BENCH_PICTURE_H

#include "bench/shim.h"
#include "bench/stats.h"

#include <stdio.h>

enum { SUITE_SIZES = 8 }; ///< numbers in the name of a line, at most

struct suite;
struct suite_line;

/// A line that was measured.
struct picture_row {
    const struct suite_line *line;
    char group[48];    ///< "plain nt, few rows"
    const char *shape; ///< the end of the line's name
    size_t sizes[SUITE_SIZES], order;
    bool failed, streams, batch;
    double gflops, calm;
    double peak_rate, stream_rate;  ///< flops and bytes a second of the probes beside it; NAN: none
    struct bench_interval of_limit; ///< the FMA peak, or where it streams the smaller of both limits; NAN: no probe.
                                    ///< low and high are quartiles, NAN where it streams
    struct bench_interval ratio;    ///< to the best peer; NAN where it was not raced
    double over_plain;              ///< the time with its epilogue over that without; NAN for most
    int peer;                       ///< the best
};

struct picture {
    struct picture_row *rows; ///< NULL: nobody wants a report
    size_t count;
};

/// Room for so many lines; false without memory.
bool picture_begin(struct picture *picture, size_t lines);
void picture_end(struct picture *picture);

/// Keeps what a line measured; where there is no room for it, does nothing.
void picture_add(struct picture *picture, const struct suite_line *line, const struct bench_result *result);
/// Draws all lines kept, by groups: an SVG, or (page) an HTML page that has it.
void picture_write(struct suite *suite, FILE *file, bool page);

/// The median of what `of` says of the rows, where it is a number; NAN where it is of none.
double picture_median(const struct picture *picture, double (*of)(const struct picture_row *row));

/// Text of XML: what is not printable ASCII becomes a question mark.
void picture_text(FILE *file, const char *text);
/// The CPU as it names itself and, where that says little, the numbers it goes by.
void picture_cpu(const struct suite *suite, char *text, size_t size);
/// The SVG of rows that are sorted.
void picture_svg(const struct suite *suite, FILE *file);

#endif
