// SPDX-License-Identifier: Apache-2.0
// bench/race.h - contestants timed on one problem: against the denominators, and against one another.
#ifndef FOVEA_BENCH_RACE_H
#define FOVEA_BENCH_RACE_H

#include "bench/contestant.h"
#include "bench/stats.h"
#include "fovea/executor.h"

#include <stdint.h>

/// A contestant that is ready for a problem.
struct racer {
    const struct contestant *who;
    bool packed;
    void *prepared;
    uint64_t calls; ///< of a sample: as many as take 200 us
    double seconds; ///< about what a call takes
};

/// What a call does, and what of it streams from memory.
struct race_load {
    double flops;
    const char *stream;                ///< NULL, or what a call reads: stream_bytes of it, once
    size_t stream_bytes, stride_bytes; ///< the next call reads as much, stride_bytes further on
    size_t count;                      ///< calls until the first one's operands come again
    uint32_t threads;
};

/// What the contestants compute, and whether it is right.
struct race_problem {
    const void *operands;                  ///< what contestants prepare for
    void (*spoil)(const void *operands);   ///< fills the result with NaN, so that what is not written is seen
    double (*check)(const void *operands); ///< 0 where the result of operands 0 is right, else its error in units of
                                           ///< what is allowed
};

/// The problem, and which operands of its set come next, whoever takes them.
struct track {
    struct race_problem problem;
    const struct fovea_executor *executor;
    const char *isa; ///< whose FMA peak is the denominator
    struct race_load load;
    size_t next;
};

/// Prepares a contestant, computes once, and finds how many calls make a sample. False where it cannot do the problem
/// or is wrong (*error: the check's answer, 0 where it cannot).
bool racer_start(struct racer *racer, const struct contestant *who, bool packed, struct track *track, double *error);
/// Bytes that a call works in; 0 where that cannot be said, too.
size_t racer_work_bytes(const struct racer *racer);
void racer_end(struct racer *racer);

/// Calls each racer once with each operand of a set that comes from memory, an eighth of them in turn, so that none
/// finds its own in a better state than another. After some seconds a host can have taken the mappings of a page back:
/// Granite Rapids, nested paging, a quarter of them a second, 90 us for each 2 MiB, so that what a contestant had last
/// read 4 s ago came at 8.6 GB/s, what it had read just before at 16. race_alone and race_pairs begin with it.
void race_walk(struct racer *const *racers, size_t count, struct track *track);

/// A racer on its own. Fractions are medians over samples, each with probes before and after it: over the calm ones, in
/// which no neighbour took a part of the core, if there are enough.
struct pace {
    uint64_t samples;
    double calm;                ///< the share of calm samples; 0 where there were too few and all count
    double seconds;             ///< of a call
    struct bench_interval peak; ///< of the FMA peak: quartiles, not an interval of confidence. 0: no probe
    double stream;              ///< what is read against the read stream; 0 for problems that are not decoding
    double bound;               ///< against min(peak, stream), likewise
};
struct pace race_alone(struct racer *racer, struct track *track, double min_time);

/// How many times faster the first is than the second: the median over `pairs` interleaved pairs (ABBA), calm ones if
/// twice as many attempts give that.
struct bench_interval race_pairs(struct racer *first, struct racer *second, struct track *track, size_t pairs);
/// Seconds of one call, from a few samples; a first impression.
double race_glance(struct racer *racer, struct track *track);

#endif
