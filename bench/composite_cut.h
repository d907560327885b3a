// SPDX-License-Identifier: Apache-2.0
// bench/composite_cut.h - a problem of attention cut into blocks: what composite.c walks over.
#ifndef FOVEA_BENCH_COMPOSITE_CUT_H
#define FOVEA_BENCH_COMPOSITE_CUT_H

#include "bench/composite.h"

/// A problem made ready.
struct composite {
    const struct composite_maker *maker;
    const struct attention_problem *problem;
    void (*run)(void *self, size_t index); ///< a call with that cache
    struct composite_cut cut;
    struct composite_block *blocks;
    void *made;           // by the maker
    float *rows;          // a copy of the caches with keys in rows, or NULL: as they lie
    float *queries, *out; // few queries of several heads, (B, Hkv, H / Hkv * Sq, D); NULL: as they lie
    size_t members;       // query heads that are done one after another with the same keys
    float *hidden;        // of each key 0 or -inf, or NULL
    float *scores;        // for each worker
    size_t scores_floats, gathered_bytes, workers;
};

/// Looks at how the rows lie (problem, maker, workers and run are set, all else is zero), then tries cuts and keeps the
/// fastest. False without memory, or where the maker can do none.
bool composite_make(struct composite *self);
/// Frees what is behind self, and not self.
void composite_free(struct composite *self);

#endif
