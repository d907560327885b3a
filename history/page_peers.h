// SPDX-License-Identifier: Apache-2.0
// history/page_peers.h - the figures of other libraries, from how many times faster than the best one each run was.
#ifndef FOVEA_HISTORY_PAGE_PEERS_H
#define FOVEA_HISTORY_PAGE_PEERS_H

#include "history/page_model.h"

struct page_peer {
    const char *name; ///< as the runs' environment has it under peer_0, peer_1, ...
    double figure;    ///< the median over the runs in which it was the best peer
};

/// The peers of a series in a row, by name, at most as many as the series has points. Each run's figure is the series'
/// own one times (or divided by) the benchmark's vs_best_peer of that run, so it is comparable with the line drawn.
size_t page_peers(const struct page *page, const struct page_row *row, const struct page_series *series,
                  struct page_peer *peers);

#endif
