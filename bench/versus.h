// SPDX-License-Identifier: Apache-2.0
// bench/versus.h - fovea against the best of all peers on one problem.
#ifndef FOVEA_BENCH_VERSUS_H
#define FOVEA_BENCH_VERSUS_H

#include "bench/race.h"

/// The best peer, and how many times faster fovea is than it. best is the number of its contestant, -1 if none could
/// do the problem; wrong of one that gave a wrong result, -1 if none did.
struct versus {
    int best, wrong;
    bool packed;       ///< the best peer had B prepared beforehand
    size_t work_bytes; ///< of the best peer; 0 where that cannot be said
    struct bench_interval ratio;
};

/// Whether a ratio to a peer is one to look at: below 0.97, or with an interval that ends below 1. A NaN is not.
bool versus_is_behind(const struct bench_interval *ratio);

/// Races. A problem with packed B is open to peers that prepare B and to those that take it as it lies, a plain one
/// only to the latter.
struct versus race_peers(struct racer *fovea, const struct contestant *peers, size_t count, struct track *track);

#endif
