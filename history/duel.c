// SPDX-License-Identifier: Apache-2.0
// history/duel.c - the cases, and turns by the pattern old new new old.
#include "history/duel.h"
#include "history/duel_kinds.h"

#include "bench/clock.h"
#include "bench/stats.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

// One or two of everything the library computes; operands stay in the caches.
const struct duel_case duel_cases[] = {
    {"gemm/plain/nn/64x64x64", duel_gemm, {64, 64, 64}, 0},
    {"gemm/plain/nn/256x256x256", duel_gemm, {256, 256, 256}, 0},
    {"gemm/plain/nt/128x768x768", duel_gemm, {128, 768, 768}, DUEL_TRANS},
    {"gemm/packed/nt/128x768x768", duel_gemm, {128, 768, 768}, DUEL_TRANS | DUEL_PACKED},
    {"gemm/packed-gelu/nt/128x1536x384", duel_gemm, {128, 1536, 384}, DUEL_TRANS | DUEL_PACKED | DUEL_GELU},
    {"gemm/packed/nt/1x2304x768", duel_gemm, {1, 2304, 768}, DUEL_TRANS | DUEL_PACKED},
    {"attention/prefill/8x128x128x64", duel_attention, {8, 128, 128, 64}, 0},
    {"attention/causal/8x384x384x64", duel_attention, {8, 384, 384, 64}, DUEL_CAUSAL},
    {"attention/decode/8x1x1024x64", duel_attention, {8, 1, 1024, 64}, 0},
    {"rowwise/softmax/128x512", duel_rowwise, {128, 512}, FOVEA_ROWWISE_SOFTMAX},
    {"rowwise/layernorm/128x768", duel_rowwise, {128, 768}, FOVEA_ROWWISE_LAYERNORM},
    {"rowwise/rmsnorm/128x896", duel_rowwise, {128, 896}, FOVEA_ROWWISE_RMSNORM},
    {"rowwise/gelu/128x3072", duel_rowwise, {128, 3072}, FOVEA_ROWWISE_GELU},
    {"rowwise/silu/128x3072", duel_rowwise, {128, 3072}, FOVEA_ROWWISE_SILU},
};
const size_t duel_cases_count = sizeof duel_cases / sizeof *duel_cases;

enum { PAIRS_MIN = 15, PAIRS_MAX = 400, WALL = 2 }; // more threads than one are timed on the wall

void *duel_alloc(size_t bytes)
{
    enum { LINE = 64 };
    return aligned_alloc(LINE, bytes / LINE * LINE + LINE);
}

// Seconds of a call, over `calls` of them.
static double sample(struct duel_state *state, size_t calls)
{
    const double start = bench_seconds(1);
    for (size_t i = 0; i < calls; i++)
        state->run(state);
    return (bench_seconds(1) - start) / (double)calls;
}

static size_t calls_of(struct duel_state *state)
{
    static const double sample_seconds = 300e-6;
    size_t calls = 1;
    while (sample(state, calls) * (double)calls < sample_seconds && calls < (size_t)1 << 20)
        calls *= 2;
    return calls;
}

// Each side computes once, into memory that holds something else. False where one refuses.
static bool compare_bits(struct duel_state *const states[2], const struct duel_operands *operands, bool *same)
{
    float *const old = malloc(DUEL_OUT * sizeof *old);
    bool done = old != NULL;
    for (int side = 0; side < 2 && done; side++) {
        memset(operands->out, 0xff, DUEL_OUT * sizeof *operands->out);
        done = states[side]->run(states[side]);
        if (side == 0)
            memcpy(old, operands->out, DUEL_OUT * sizeof *old);
    }
    *same = done && memcmp(old, operands->out, DUEL_OUT * sizeof *old) == 0;
    free(old);
    return done;
}

static void measure(struct duel_state *const states[2], double seconds, struct duel_result *result)
{
    double ratios[PAIRS_MAX], times[2][PAIRS_MAX];
    const double end = bench_seconds(WALL) + seconds; // not CPU time: half the core costs pairs, not patience
    const size_t calls = calls_of(states[0]);
    size_t pairs = 0;
    while (pairs < PAIRS_MAX && (pairs < PAIRS_MIN || bench_seconds(WALL) < end)) {
        const int first = pairs % 2;
        times[first][pairs] = sample(states[first], calls);
        times[!first][pairs] = sample(states[!first], calls);
        ratios[pairs] = times[1][pairs] / times[0][pairs];
        pairs++;
    }
    const struct bench_interval interval = bench_bootstrap(ratios, pairs);
    result->ratio = interval.median;
    result->low = interval.low;
    result->high = interval.high;
    result->pairs = pairs;
    for (int side = 0; side < 2; side++)
        result->seconds[side] = bench_quantile(times[side], pairs, 0.5);
}

bool duel_run(const struct duel_case *self, const struct library libraries[2], const struct duel_operands *operands,
              double seconds, struct duel_result *result)
{
    struct duel_state *const states[2] = {self->prepare(self, &libraries[0], operands),
                                          self->prepare(self, &libraries[1], operands)};
    *result = (struct duel_result){.ratio = 1};
    const bool done = states[0] && states[1] && compare_bits(states, operands, &result->same_bits);
    if (done)
        measure(states, seconds, result);
    for (int side = 0; side < 2; side++)
        if (states[side])
            states[side]->release(states[side]);
    return done;
}
