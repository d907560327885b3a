// SPDX-License-Identifier: Apache-2.0
// tune/rounds.h - searches all classes, round after round, each with its share of the time.
#ifndef FOVEA_TUNE_ROUNDS_H
#define FOVEA_TUNE_ROUNDS_H

#include "tune/search.h"

/// The owner of a search.
struct tune_run {
    const struct tune_options *options;
    struct tune_result *result;
    double budget;
    struct fovea_engine *owned;  ///< NULL, or the engine of the search: that of the options with the measured L2,
                                 ///< without the quarantined kernels, and possibly with another border
    struct fovea_profile before; ///< what was proved before the border moved for the first time since all GEMM classes
                                 ///< were searched; moved: it has
    bool moved;
};

/// Goes on with another engine, which then belongs to the run; NULL: with the one there is.
void tune_move(struct tune_search *s, struct fovea_engine *engine);

/// Searches all requested classes while there is time; what is proved is in the result's profile.
void tune_rounds(struct tune_search *s);

#endif
