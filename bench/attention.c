// SPDX-License-Identifier: Apache-2.0
// bench/attention.c - the attention suite: its lines, and what each measures.
#include "bench/attention_problem.h"
#include "bench/suite.h"

static const struct kind {
    enum attention_kind bit;
    const char *name;
} kinds[] = {
    {ATTENTION_FULL, "full"},
    {ATTENTION_CAUSAL, "causal"},
    {ATTENTION_PADDED, "padded"},
    {ATTENTION_WINDOW, "window"},
    {ATTENTION_MASK, "mask"},
    {ATTENTION_SOFTCAP, "softcap"},
    {ATTENTION_ALIBI, "alibi"},
    {ATTENTION_DROPOUT, "dropout"},
    {ATTENTION_STATISTICS, "statistics"},
    {ATTENTION_DECODE, "decode"},
    {ATTENTION_DECODE_ROWS, "decode-rows"},
    {ATTENTION_DECODE_MASK, "decode-mask"},
    {ATTENTION_DECODE_L2, "decode-l2"},
    {ATTENTION_DECODE_ROWS_L2, "decode-rows-l2"},
    {ATTENTION_DECODE_BF16, "decode-bf16"},
    {ATTENTION_DECODE_F16, "decode-f16"},
};
enum { KINDS = sizeof kinds / sizeof *kinds };

static bool measure(const struct suite_line *line, struct bench_result *result)
{
    const struct kind *const kind = line->way;
    struct attention_problem problem = {.shape = line->shape,
                                        .kind = kind->bit,
                                        .executor = suite_executor(line->suite),
                                        .threads = line->suite->options->threads,
                                        .offset = line->suite->options->offset};
    if (!attention_problem_make(&problem, suite_walk_bytes(line->suite)))
        return false;
    const struct suite_way way = {.problem = attention_problem_race(&problem),
                                  .load = attention_problem_load(&problem)};
    suite_run_line(line, &way, result);
    attention_problem_free(&problem);
    return true;
}

static void offer_line(struct suite *suite, const struct attention_shape *s, const struct kind *kind)
{
    struct suite_line line = {.shape = s, .way = kind, .model = s->model};
    snprintf(line.name, sizeof line.name, "attention/f32/%s/%zu,%zu,%zu,%zu,%zu,%zu", kind->name, s->batch, s->heads,
             s->kv_heads, s->q_len, s->kv_len, s->dim);
    suite_offer(suite, &line, s->suite);
}

static void offer(struct suite *suite)
{
    for (size_t i = 0; i < attention_shapes_count; i++)
        for (size_t k = 0; k < KINDS; k++)
            if (attention_shapes[i].kinds & kinds[k].bit)
                offer_line(suite, &attention_shapes[i], &kinds[k]);
}

// Whether there is such attention, and rows see keys; false with suite->text.
static bool legal(struct suite *suite, const struct attention_shape *s)
{
    const double queries = (double)s->batch * (double)s->heads * (double)s->q_len;
    const double keys = (double)s->batch * (double)s->kv_heads * (double)s->kv_len;
    if (s->q_len > s->kv_len && s->kinds & (ATTENTION_ORDERED | ATTENTION_CACHED))
        return suite_refuse(suite, "%zu queries in order, of %zu keys: the first see none", s->q_len, s->kv_len);
    return suite_fits(suite, 2 * (queries + keys) * (double)s->dim + queries * (double)s->kv_len) &&
           suite_has_heads(suite, s->heads, s->kv_heads, s->dim);
}

static bool offer_named(struct suite *suite, const char *name, void *room)
{
    struct attention_shape *const shape = room;
    size_t of[SUITE_SIZES];
    for (size_t k = 0; k < KINDS; k++) {
        const char *const text = suite_behind(name, kinds[k].name);
        if (!text)
            continue;
        if (suite_read_sizes(text, ',', of) != 6)
            return false;
        *shape =
            (struct attention_shape){"by name", BENCH_STANDARD, kinds[k].bit, of[0], of[1], of[2], of[3], of[4], of[5]};
        if (!legal(suite, shape))
            return false;
        offer_line(suite, shape, &kinds[k]);
        return true;
    }
    return false;
}

int bench_attention(const struct fovea_engine *engine, const struct bench_options *options)
{
    const struct suite_kind kind = {
        .slot = "attention_prefill",
        .event = PEER_ATTENTION,
        .lines_max = attention_shapes_count * KINDS,
        .fovea = bench_fovea_attention,
        .offer = offer,
        .offer_named = offer_named,
        .shape_bytes = sizeof(struct attention_shape),
        .prefix = "attention/f32/",
        .usual = "full/",
        .names = "{full,causal,padded,window,mask,softcap,alibi,dropout,statistics,decode,"
                 "decode-rows,decode-mask,decode-l2,decode-rows-l2,decode-bf16,decode-f16}/B,H,Hkv,Sq,Skv,D",
        .measure = measure};
    return suite_run(&kind, engine, options);
}
