// SPDX-License-Identifier: Apache-2.0
// tune/held_out.h - compares engines on shapes that nothing was tuned on.
#ifndef FOVEA_TUNE_HELD_OUT_H
#define FOVEA_TUNE_HELD_OUT_H

#include "bench/stats.h"
#include "tune/case.h"

/// A GEMM, or (heads not 0) attention.
struct tune_held_out {
    struct tune_shape gemm;
    struct tune_attention_shape attention;
};
extern const struct tune_held_out tune_held_out[];
extern const size_t tune_held_out_count;

/// Result of a comparison.
struct tune_versus {
    char name[64];
    bool ok, same;               ///< measured; both plan the same work
    uint32_t pairs;              ///< pairs that count, of those measured
    double calm;                 ///< share of pairs that were calm
    struct bench_interval ratio; ///< time of the first / time of the second: above 1 the second is faster
};
/// Measures `pairs` pairs of both engines with their choices (including disturbed ones if there are too few calm ones).
struct tune_versus tune_compare(const struct fovea_engine *first, const struct fovea_engine *second,
                                const struct tune_held_out *shape, uint32_t pairs);

/// The class of a shape in an engine, and its choice there.
struct fovea_tuned tune_choice(const struct fovea_engine *engine, const struct tune_held_out *shape, uint32_t *class);

/// An engine with the best choice for this one GEMM, found by trying the whole space for `seconds`; NULL for attention.
struct fovea_engine *tune_best_engine(const struct fovea_engine *engine, const struct tune_held_out *shape,
                                      double seconds);

#endif
