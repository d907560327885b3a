// SPDX-License-Identifier: Apache-2.0
// bench/layer.c - the layer suite: whole Transformer layers, and what each line measures.
#include "bench/layer_problem.h"
#include "bench/suite.h"

static const struct kind {
    enum layer_kind bit;
    const char *name;
    enum layer_kind kind; // how it computes
    enum fovea_type type; // of the elements of weights; caches: struct layer_problem
} kinds[] = {
    {LAYER_ENCODER, "encoder", LAYER_ENCODER, FOVEA_F32},
    {LAYER_ENCODER_PRE, "encoder-pre", LAYER_ENCODER_PRE, FOVEA_F32},
    {LAYER_DECODE, "decode", LAYER_DECODE, FOVEA_F32},
    {LAYER_DECODE_GATED, "decode-gated", LAYER_DECODE_GATED, FOVEA_F32},
    {LAYER_DECODE_BF16, "decode-bf16", LAYER_DECODE, FOVEA_BF16},
    {LAYER_DECODE_GATED_BF16, "decode-gated-bf16", LAYER_DECODE_GATED, FOVEA_BF16},
    {LAYER_DECODE_S8, "decode-s8", LAYER_DECODE, FOVEA_S8},
    {LAYER_DECODE_GATED_S8, "decode-gated-s8", LAYER_DECODE_GATED, FOVEA_S8},
};
enum { KINDS = sizeof kinds / sizeof *kinds };

static bool measure(const struct suite_line *line, struct bench_result *result)
{
    const struct kind *const kind = line->way;
    struct layer_problem problem = {
        .shape = line->shape, .kind = kind->kind, .type = kind->type, .threads = line->suite->options->threads};
    if (!layer_problem_make(&problem, suite_walk_bytes(line->suite)))
        return false;
    const struct suite_way way = {.problem = layer_problem_race(&problem), .load = layer_problem_load(&problem)};
    suite_run_line(line, &way, result);
    layer_problem_free(&problem);
    return true;
}

static void offer_line(struct suite *suite, const struct layer_shape *s, const struct kind *kind)
{
    struct suite_line line = {.shape = s, .way = kind, .model = s->model};
    if (kind->kind & LAYER_CACHED)
        snprintf(line.name, sizeof line.name, "layer/f32/%s/%zu,%zu,%zu,%zu,%zu,%zu,%zu", kind->name, s->batch, s->len,
                 s->keys, s->width, s->heads, s->kv_heads, s->ffn);
    else
        snprintf(line.name, sizeof line.name, "layer/f32/%s/%zu,%zu,%zu,%zu,%zu", kind->name, s->batch, s->len,
                 s->width, s->heads, s->ffn);
    suite_offer(suite, &line, s->suite);
}

static void offer(struct suite *suite)
{
    for (size_t i = 0; i < layer_shapes_count; i++)
        for (size_t k = 0; k < KINDS; k++)
            if (layer_shapes[i].kinds & kinds[k].bit)
                offer_line(suite, &layer_shapes[i], &kinds[k]);
}

// Whether there is such a layer: heads share the width, and turn in pairs; keys hold those of the call. False with
// suite->text.
static bool legal(struct suite *suite, const struct layer_shape *s)
{
    const double rows = (double)s->batch * (double)s->keys, wide = (double)s->width + (double)s->ffn;
    const size_t dim = s->width / s->heads;
    if (s->width % s->heads != 0)
        return suite_refuse(suite, "a width of %zu is no multiple of %zu heads", s->width, s->heads);
    if (s->kinds & (LAYER_DECODE_GATED | LAYER_DECODE_GATED_BF16 | LAYER_DECODE_GATED_S8) && dim % 2 != 0)
        return suite_refuse(suite, "heads of %zu elements cannot turn in pairs", dim);
    if (s->keys < s->len)
        return suite_refuse(suite, "%zu positions, of %zu keys", s->len, s->keys);
    return suite_fits(suite, (rows + (double)s->width) * wide) && suite_has_heads(suite, s->heads, s->kv_heads, dim);
}

static bool offer_named(struct suite *suite, const char *name, void *room)
{
    enum { ENCODER = 5, CACHED = 7 };
    struct layer_shape *const shape = room;
    size_t of[SUITE_SIZES];
    for (size_t k = 0; k < KINDS; k++) {
        const char *const text = suite_behind(name, kinds[k].name);
        if (!text)
            continue;
        const bool cached = kinds[k].kind & LAYER_CACHED;
        if (suite_read_sizes(text, ',', of) != (cached ? CACHED : ENCODER))
            return false;
        *shape = cached ? (struct layer_shape){"by name", BENCH_STANDARD, kinds[k].bit, of[0], of[1],
                                               of[2],     of[3],          of[4],        of[5], of[6]}
                        : (struct layer_shape){"by name", BENCH_STANDARD, kinds[k].bit, of[0], of[1],
                                               of[1],     of[2],          of[3],        of[3], of[4]};
        if (!legal(suite, shape))
            return false;
        offer_line(suite, shape, &kinds[k]);
        return true;
    }
    return false;
}

int bench_layer(const struct fovea_engine *engine, const struct bench_options *options)
{
    const struct suite_kind kind = {.slot = "gemm",
                                    .event = PEER_LAYER,
                                    .lines_max = layer_shapes_count * KINDS,
                                    .fovea = bench_fovea_layer,
                                    .offer = offer,
                                    .offer_named = offer_named,
                                    .shape_bytes = sizeof(struct layer_shape),
                                    .prefix = "layer/f32/",
                                    .usual = "encoder/",
                                    .names = "{encoder,encoder-pre}/B,S,WIDTH,H,FFN or "
                                             "{decode,decode-gated}[-{bf16,s8}]/B,S,KEYS,WIDTH,H,Hkv,FFN",
                                    .measure = measure};
    return suite_run(&kind, engine, options);
}
