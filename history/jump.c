// SPDX-License-Identifier: Apache-2.0
// history/jump.c - a slowdown in the newest run or two, which are too few for the detector.
#include "history/history.h"
#include "history/level.h"

#include <math.h>

// One or two runs are too few for the detector. They count where they lie four to six times as far from the level as
// anything has in the runs before, and a tenth of it at least: a slowdown by half need not happen three times.
bool history_jump(const struct history_series *line, size_t begin, const struct history_test *test,
                  struct history_change *change)
{
    enum { NEW = 2, BEFORE_MIN = 8, BEFORE = 64 };
    const double least = fmax(0.1, test ? test->effect : 0);
    for (size_t fresh = 1; fresh <= NEW && line->count >= begin + BEFORE_MIN + fresh; fresh++) {
        double before[BEFORE], farthest = 0, nearest = INFINITY;
        const size_t at = line->count - fresh, count = at - begin < BEFORE ? at - begin : BEFORE;
        for (size_t i = 0; i < count; i++)
            before[i] = line->points[at - count + i].median;
        const double level = level_median(before, count);
        for (size_t i = 0; i < count; i++)
            farthest = fmax(farthest, fabs(before[i] / level - 1));
        double sum = 0;
        for (size_t i = at; i < line->count; i++) {
            const double away = (line->points[i].median / level - 1) * (double)line->better;
            nearest = fmin(nearest, -away); // the better way is no jump
            sum += line->points[i].median / (double)fresh;
        }
        const double farther = 4 + 16 / (double)count; // fewer runs have seen less of the noise
        if (!(level > 0) || !(nearest >= fmax(farther * farthest, least)))
            continue;
        const double effect = sum / level - 1;
        *change = (struct history_change){.at = at,
                                          .before = level,
                                          .after = sum,
                                          .effect = effect,
                                          .low = effect - farthest,
                                          .high = effect + farthest,
                                          .confidence = 1 - 1 / (double)(count + 1),
                                          .worse = true,
                                          .acknowledged = history_is_acknowledged(line, at)};
        return true;
    }
    return false;
}
