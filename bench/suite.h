// SPDX-License-Identifier: Apache-2.0
// bench/suite.h - what a suite is: lines with names, each a problem that is timed alone and raced against peers.
#ifndef FOVEA_BENCH_SUITE_H
#define FOVEA_BENCH_SUITE_H

#include "bench/bench.h"
#include "bench/fovea.h"
#include "bench/peer.h"
#include "bench/picture.h"
#include "bench/race.h"
#include "bench/shim.h"

struct suite;

/// One line. What shape and way point to is the suite's own.
struct suite_line {
    struct suite *suite;
    const void *shape, *way;
    const char *model; ///< where the shape is met
    char name[96];
};

struct suite_kind {
    const char *slot; ///< what the slots of its kernels begin with
    enum peer_event event;
    size_t lines_max;
    struct contestant (*fovea)(const struct bench_fovea *with);
    void (*offer)(struct suite *suite); ///< offers all lines with suite_offer
    /// Offers the line of this name, behind what all names begin with, its shape having room at `shape`; false where it
    /// is none, with the reason in suite->text where it is a better one than how lines are called.
    bool (*offer_named)(struct suite *suite, const char *name, void *shape);
    size_t shape_bytes;
    const char *prefix, *names; ///< what all names begin with, and what may follow
    const char *usual;          ///< what sizes alone are taken to lack
    /// Makes the problem of a line, has it run with suite_run_line, and frees it; false without memory.
    bool (*measure)(const struct suite_line *line, struct bench_result *result);
};

struct suite {
    const struct suite_kind *kind;
    const struct fovea_engine *engine;
    const struct bench_options *options;
    struct suite_line *lines;
    char *shapes; ///< of lines that were asked for by name
    size_t line_count;
    const void *filter; ///< regex_t, or NULL
    struct bench_pool *pool;
    const char *isa; ///< whose FMA peak is the denominator
    struct bench_fovea with;
    struct contestant fovea, peers[PEERS_MAX];
    size_t peer_count;
    int failed;
    size_t done;    // lines that were run
    double log_sum; // of the ratios to the best peer
    size_t raced, behind;
    struct picture picture;
    double stream_rate; // beside the line that is measured; NAN where it does not stream
    char text[200];     // of the line that is offered or measured: an error, or the best peer
};

/// Runs a suite and prints to stdout; returns what bench_gemm does.
int suite_run(const struct suite_kind *kind, const struct fovea_engine *engine, const struct bench_options *options);

/// Adds a line of a shape that is met first in the set `first`, if the options ask for it.
void suite_offer(struct suite *suite, const struct suite_line *line, enum bench_suite first);

/// What stands behind "way/" in the name of a line; NULL where it is of another way.
const char *suite_behind(const char *name, const char *way);
/// Reads at most so many sizes of 1 to 2^31 with `between` between them to the end of the text; returns how many, or 0.
size_t suite_read_sizes(const char *text, char between, size_t sizes[SUITE_SIZES]);

/// Says in suite->text why there is no such line; returns false.
__attribute__((format(printf, 2, 3))) bool suite_refuse(struct suite *suite, const char *format, ...);
/// Whether a line may have operands and scores of so many elements, fewer than 2^40; false with suite->text.
bool suite_fits(struct suite *suite, double elements);
/// Whether attention may have these heads of dim elements each; false with suite->text.
bool suite_has_heads(struct suite *suite, size_t heads, size_t kv_heads, size_t dim);

/// bench_walk_bytes of this machine; 0 where no time is taken: the instructions are the same ones, and callgrind takes
/// minutes to fill 1 GiB.
size_t suite_walk_bytes(const struct suite *suite);
/// With more threads than one: the pool; else NULL, the calling thread.
const struct fovea_executor *suite_executor(const struct suite *suite);

/// How a line is run.
struct suite_way {
    struct race_problem problem;
    struct race_load load;
    bool packed; ///< fovea takes B packed
    /// NULL, or what this line is compared with in place of the peers.
    void (*compare)(const struct suite_line *line, struct racer *fovea, struct track *track,
                    struct bench_result *result);
};
void suite_run_line(const struct suite_line *line, const struct suite_way *way, struct bench_result *result);

#endif
