// SPDX-License-Identifier: Apache-2.0
// bench/gemm.c - the GEMM suite: its lines, and what each measures.
#include "bench/counters.h"
#include "bench/gemm_problem.h"
#include "bench/gemm_shapes.h"
#include "bench/suite.h"
#include "bench/table.h"

// How a shape is run.
static const struct way {
    enum gemm_way bit;
    const char *name;
    bool trans_a, trans_b, packed, gelu;
    enum fovea_type type;
} ways[] = {
    {GEMM_NN, "plain/nn", .trans_b = false},
    {GEMM_NT, "plain/nt", .trans_b = true},
    {GEMM_TN, "plain/tn", .trans_a = true},
    {GEMM_TT, "plain/tt", .trans_a = true, .trans_b = true},
    {GEMM_PNN, "packed/nn", .packed = true},
    {GEMM_PNT, "packed/nt", .trans_b = true, .packed = true},
    {GEMM_GELU, "packed-gelu/nt", .trans_b = true, .packed = true, .gelu = true},
    {GEMM_BF16, "packed-bf16/nt", .trans_b = true, .packed = true, .type = FOVEA_BF16},
    {GEMM_F16, "packed-f16/nt", .trans_b = true, .packed = true, .type = FOVEA_F16},
    {GEMM_S8, "packed-s8/nt", .trans_b = true, .packed = true, .type = FOVEA_S8},
};
enum { WAYS = sizeof ways / sizeof *ways };

// The same product without its epilogue: what bias and GELU cost.
static void race_epilogue(const struct suite_line *line, struct racer *fovea, struct track *track,
                          struct bench_result *result)
{
    enum { PAIRS = 31 };
    struct gemm_problem bare = *(const struct gemm_problem *)track->problem.operands;
    struct track bare_track = *track;
    struct racer plain;
    double error;
    bare.gelu = false;
    bare_track.problem = gemm_problem_race(&bare);
    bare_track.load = gemm_problem_load(&bare);
    if (!racer_start(&plain, &line->suite->fovea, true, &bare_track, &error))
        return;
    const struct bench_interval over = race_pairs(&plain, fovea, track, PAIRS);
    bench_count(result, "over_plain", over.median);
    bench_count(result, "over_plain_low", over.low);
    bench_count(result, "over_plain_high", over.high);
    if (!line->suite->options->json)
        table_epilogue(&over);
    racer_end(&plain);
}

static bool measure(const struct suite_line *line, struct bench_result *result)
{
    const struct gemm_shape *const shape = line->shape;
    const struct way *const way = line->way;
    struct gemm_problem problem = {.m = shape->m,
                                   .n = shape->n,
                                   .k = shape->k,
                                   .batch = shape->batch,
                                   .trans_a = way->trans_a,
                                   .trans_b = way->trans_b,
                                   .gelu = way->gelu,
                                   .type = way->type,
                                   .threads = line->suite->options->threads,
                                   .offset = line->suite->options->offset};
    if (!gemm_problem_make(&problem, suite_walk_bytes(line->suite)))
        return false;
    const struct suite_way how = {.problem = gemm_problem_race(&problem),
                                  .load = gemm_problem_load(&problem),
                                  .packed = way->packed,
                                  .compare = way->gelu ? race_epilogue : NULL};
    suite_run_line(line, &how, result);
    gemm_problem_free(&problem);
    return true;
}

static void offer_line(struct suite *suite, const struct gemm_shape *s, const struct way *way)
{
    struct suite_line line = {.shape = s, .way = way, .model = s->model};
    char batch[24] = "";
    if (s->batch > 1)
        snprintf(batch, sizeof batch, "%zux", s->batch);
    snprintf(line.name, sizeof line.name, "gemm/f32/%s/%s%zux%zux%zu", way->name, batch, s->m, s->n, s->k);
    suite_offer(suite, &line, s->suite);
}

static void offer(struct suite *suite)
{
    for (size_t i = 0; i < gemm_shapes_count; i++)
        for (size_t w = 0; w < WAYS; w++)
            if (gemm_shapes[i].ways & ways[w].bit)
                offer_line(suite, &gemm_shapes[i], &ways[w]);
}

static bool offer_named(struct suite *suite, const char *name, void *room)
{
    struct gemm_shape *const shape = room;
    size_t sizes[SUITE_SIZES];
    for (size_t w = 0; w < WAYS; w++) {
        const char *const text = suite_behind(name, ways[w].name);
        if (!text)
            continue;
        const size_t count = suite_read_sizes(text, 'x', sizes);
        const size_t *const mnk = sizes + (count == 4);
        if (count != 3 && count != 4)
            return false;
        if (count == 4 && ways[w].packed)
            return suite_refuse(suite, "lines of packed weights have no batch");
        *shape = (struct gemm_shape){"by name", BENCH_STANDARD, ways[w].bit, count == 4 ? sizes[0] : 1,
                                     mnk[0],    mnk[1],         mnk[2]};
        const double rows = (double)shape->batch * (double)shape->m, wide = (double)shape->n + (double)shape->k;
        if (!suite_fits(suite, rows * wide + (double)shape->batch * (double)shape->n * (double)shape->k))
            return false;
        offer_line(suite, shape, &ways[w]);
        return true;
    }
    return false;
}

int bench_gemm(const struct fovea_engine *engine, const struct bench_options *options)
{
    const struct suite_kind kind = {.slot = "gemm",
                                    .event = PEER_GEMM,
                                    .lines_max = gemm_shapes_count * WAYS,
                                    .fovea = bench_fovea_gemm,
                                    .offer = offer,
                                    .offer_named = offer_named,
                                    .shape_bytes = sizeof(struct gemm_shape),
                                    .prefix = "gemm/f32/",
                                    .usual = "plain/nt/",
                                    .names = "plain/{nn,nt,tn,tt}/[Bx]MxNxK, packed/{nn,nt}/MxNxK or "
                                             "packed-{gelu,bf16,f16,s8}/nt/MxNxK",
                                    .measure = measure};
    return suite_run(&kind, engine, options);
}
