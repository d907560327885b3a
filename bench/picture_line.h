// SPDX-License-Identifier: Apache-2.0
// bench/picture_line.h - a row of the picture of a report, and the scale that its mark is on.
#ifndef FOVEA_BENCH_PICTURE_LINE_H
#define FOVEA_BENCH_PICTURE_LINE_H

#include "bench/picture.h"

enum { PICTURE_ROW = 14, PICTURE_LIBRARIES = 6 };

/// Where things are in a column, from its left end.
struct picture_chart {
    const struct suite *suite;
    int columns;
    double step;        ///< from column to column
    double left, right; ///< the scale: of ratios in a race, else of parts of a limit
    double value;       ///< where the number beside it ends
    double bar;         ///< of what is reached of the limit, in a race: from here to the end, behind the number
    double end;
};

double picture_at_ratio(const struct picture_chart *chart, double ratio);
double picture_at_part(const struct picture_chart *chart, double part);

/// Libraries have a colour each, class l0, l1 ..., whatever their version and kernels; the last is all others.
extern const char *const picture_libraries[PICTURE_LIBRARIES];
int picture_library(const struct suite *suite, int peer);

/// Draws a row with its upper left corner there.
void picture_line(const struct picture_chart *chart, FILE *file, const struct picture_row *row, double x, double y);

#endif
