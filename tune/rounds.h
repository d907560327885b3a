// SPDX-License-Identifier: Apache-2.0
// tune/rounds.h - all classes, round after round, each with its share of the time.
#ifndef FOVEA_TUNE_ROUNDS_H
#define FOVEA_TUNE_ROUNDS_H

#include "tune/search.h"

/// What a search belongs to (its owner).
struct tune_run {
    const struct tune_options *options;
    struct tune_result *result;
    double budget;
    struct fovea_engine *moved; ///< NULL, or the engine of the search: the options' without what is in quarantine,
                                ///< maybe with another border
};

/// Searches all classes that are asked for, while there is time; what is proved stands in the result's profile.
void tune_rounds(struct tune_search *s);

#endif
