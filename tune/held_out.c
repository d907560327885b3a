// SPDX-License-Identifier: Apache-2.0
// tune/held_out.c - the comparison behind `fovea bench tune`.
#include "tune/held_out.h"
#include "bench/pool.h"
#include "tune/measure.h"
#include "tune/tune.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GEMM(m, n, k, form)                                                                                            \
    {                                                                                                                  \
        .gemm = { m, n, k, FOVEA_FORM_##form, .near = 0 }                                                              \
    }
#define ATTENTION(heads, q, kv, dim, causal)                                                                           \
    {                                                                                                                  \
        .attention = { heads, q, kv, dim, causal, .near = 0 }                                                          \
    }
const struct tune_held_out tune_held_out[] = {
    GEMM(1, 2304, 768, PACKED),
    GEMM(8, 4096, 2048, PACKED),
    GEMM(4, 1536, 384, NT),
    GEMM(12, 896, 896, NN),
    GEMM(16, 768, 3072, NT),
    GEMM(2, 320, 448, NT),
    GEMM(128, 3072, 768, PACKED),
    GEMM(128, 768, 3072, PACKED),
    GEMM(77, 2048, 512, NN),
    GEMM(100, 100, 100, NN),
    GEMM(50, 197, 64, NT),
    GEMM(128, 1152, 384, NT),
    GEMM(197, 768, 768, PACKED),
    GEMM(512, 2304, 768, NT),
    GEMM(1500, 384, 384, PACKED),
    GEMM(512, 512, 512, NN),
    GEMM(255, 511, 257, NN),
    GEMM(1024, 1024, 1024, NN),
    ATTENTION(12, 128, 128, 64, false),
    ATTENTION(6, 512, 512, 64, true),
    GEMM(5, 768, 768, PACKED),
    GEMM(16, 1024, 768, NN),
    GEMM(24, 3072, 768, NN),
    GEMM(32, 1536, 384, NT),
    ATTENTION(16, 384, 384, 128, false),
    ATTENTION(8, 777, 777, 128, true),
    ATTENTION(12, 1, 1024, 64, false),
    ATTENTION(8, 5, 2048, 128, false),
};
const size_t tune_held_out_count = sizeof tune_held_out / sizeof *tune_held_out;

struct fovea_tuned tune_choice(const struct fovea_engine *engine, const struct tune_held_out *s, uint32_t *class)
{
    const struct fovea_kernels *const kernels = fovea_engine_kernels(engine);
    const struct tune_shape *const gemm = &s->gemm;
    *class = s->attention.heads
                 ? fovea_attention_number(fovea_heads_of(s->attention.dim, s->attention.dim))
                 : fovea_gemm_number(fovea_gemm_class(&kernels->tuning, gemm->m, gemm->n, gemm->k, gemm->form));
    return fovea_tuned_get(kernels, *class);
}

static bool start(struct tune_racer *racer, const struct tune_track *track, const struct fovea_engine *engine,
                  const struct tune_held_out *shape)
{
    uint32_t class;
    const struct fovea_tuned tuned = tune_choice(engine, shape, &class);
    return tune_racer_start(racer, track, engine, class, &tuned);
}

// Measures pairs until there are enough calm ones; if the machine does not become calm, uses those that there are.
static void run_pairs(struct tune_track *track, const struct tune_racer *first, struct tune_racer *second,
                      uint32_t pairs, struct tune_versus *versus)
{
    enum { PATIENCE = 6 };
    double logs[TUNE_PAIRS_MAX];
    for (uint32_t tries = 0; second->pairs < pairs && tries < PATIENCE * pairs; tries++)
        tune_pair(track, first, second, false);
    versus->pairs = second->pairs;
    versus->calm = track->pairs ? 1 - (double)track->disturbed / (double)track->pairs : 0;
    versus->ok = second->pairs * 2 > pairs;
    if (!versus->ok)
        return;
    memcpy(logs, second->logs, sizeof logs);
    const struct bench_interval log_ratio = bench_bootstrap(logs, second->pairs);
    versus->ratio = (struct bench_interval){exp(log_ratio.low), exp(log_ratio.median), exp(log_ratio.high)};
}

struct tune_versus tune_compare(const struct fovea_engine *first, const struct fovea_engine *second,
                                const struct tune_held_out *shape, uint32_t pairs)
{
    struct tune_versus versus = {.ok = false};
    struct bench_pool *const pool = bench_pool_start(1);
    struct tune_racer *const racers = calloc(2, sizeof *racers);
    struct tune_track track = {.patience = 0.02, .executor = pool ? bench_pool_executor(pool) : NULL};
    track.isa = fovea_isa_names[fovea_variant_facts[fovea_engine_kernels(first)->gemm.variant].isa];
    track.cases[0] =
        shape->attention.heads ? tune_case_attention(first, &shape->attention) : tune_case_gemm(first, &shape->gemm);
    track.count = track.cases[0] != NULL;
    if (pool && racers && track.count) {
        snprintf(versus.name, sizeof versus.name, "%s", track.cases[0]->name);
        const bool one = start(&racers[0], &track, first, shape), two = one && start(&racers[1], &track, second, shape);
        if (two) {
            versus.same = !tune_racer_differs(&racers[1], &racers[0], &track);
            racers[1].affected[0] = true;
            if (versus.same) {
                versus.ok = true;
                versus.ratio = (struct bench_interval){1, 1, 1};
            } else {
                tune_track_calibrate(&track, &racers[0]);
                run_pairs(&track, &racers[0], &racers[1], pairs < TUNE_PAIRS_MAX ? pairs : TUNE_PAIRS_MAX, &versus);
            }
            tune_racer_end(&racers[1], &track);
        }
        if (one)
            tune_racer_end(&racers[0], &track);
    }
    if (track.count)
        track.cases[0]->kind->destroy(track.cases[0]);
    free(racers);
    bench_pool_stop(pool);
    return versus;
}

struct fovea_engine *tune_best_engine(const struct fovea_engine *engine, const struct tune_held_out *shape,
                                      double seconds)
{
    uint32_t class;
    struct fovea_tuned best = tune_choice(engine, shape, &class);
    if (shape->attention.heads || !tune_best(engine, &shape->gemm, seconds, &best))
        return NULL;
    return fovea_engine_copy_with(engine, class, &best);
}
