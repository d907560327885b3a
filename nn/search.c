// SPDX-License-Identifier: Apache-2.0
// nn/search.c - greedy and beam search over the cached decoder.
//
// For each sequence the live set starts as {bos: 0}. At each step every live hypothesis is extended by every token, and
// the `beam` best candidates are kept (on a tie the lower token, then the lower parent first). Candidates that end in
// eos are finished; the others are the new live set, in this order. A sequence is done when `beam` hypotheses are
// finished, when none is live, when one is finished and the best live score is not above the worst finished one, or
// after max_target steps. Its result is the best finished hypothesis (the earlier one on a tie), or else the best live
// one. Scores are sums of log-probabilities in f32, without length normalisation.
#include "nn/transformer.h"

#include <math.h>
#include <string.h>

struct candidate {
    float score;
    uint32_t token, parent;
};

// The hypotheses of one step: row b * beams + j is hypothesis j of sequence b.
struct generation {
    float *scores;
    uint32_t *tokens; // rows x max_target
};

struct search {
    struct generation now, next;
    uint32_t *live;                   // number of live hypotheses of each sequence; 0: done
    uint32_t *finished;               // number of finished hypotheses of each sequence
    float *worst, *best;              // scores of the worst and best finished one
    uint32_t *best_len, *best_tokens; // batch x max_target
    uint32_t *parents, *inputs;       // one per row of the next step
    struct candidate *candidates;     // beam
};

static void layout_generation(const struct fovea_transformer *model, struct arena *arena, struct generation *out)
{
    const size_t rows = model->options.batch * model->options.beam;
    out->scores = fovea_arena_take(arena, rows, sizeof *out->scores);
    out->tokens = fovea_arena_take(arena, rows, model->options.max_target * sizeof *out->tokens);
}

void fovea_search_layout(struct fovea_transformer *model, struct arena *arena)
{
    const size_t batch = model->options.batch, rows = batch * model->options.beam;
    struct search s;
    model->search = fovea_arena_take(arena, 1, sizeof s);
    layout_generation(model, arena, &s.now);
    layout_generation(model, arena, &s.next);
    s.live = fovea_arena_take(arena, batch, sizeof *s.live);
    s.finished = fovea_arena_take(arena, batch, sizeof *s.finished);
    s.worst = fovea_arena_take(arena, batch, sizeof *s.worst);
    s.best = fovea_arena_take(arena, batch, sizeof *s.best);
    s.best_len = fovea_arena_take(arena, batch, sizeof *s.best_len);
    s.best_tokens = fovea_arena_take(arena, batch, model->options.max_target * sizeof *s.best_tokens);
    s.parents = fovea_arena_take(arena, rows, sizeof *s.parents);
    s.inputs = fovea_arena_take(arena, rows, sizeof *s.inputs);
    s.candidates = fovea_arena_take(arena, model->options.beam, sizeof *s.candidates);
    if (model->search)
        *model->search = s;
}

static int better(const struct candidate *a, const struct candidate *b)
{
    if (a->score != b->score)
        return a->score > b->score;
    return a->token < b->token; // of one token the lower parent comes first
}

// Finds the `beam` best continuations of one sequence, best first; returns their number (a NaN does not count).
static uint32_t select_best(const struct fovea_transformer *model, size_t first_row, uint32_t live, uint32_t beam)
{
    const struct search *const s = model->search;
    const size_t vocab = model->config.target_vocab;
    uint32_t count = 0;
    for (uint32_t parent = 0; parent < live; parent++) {
        const float *const log_probs = model->log_probs + (first_row + parent) * vocab;
        for (uint32_t token = 0; token < vocab; token++) {
            const struct candidate c = {s->now.scores[first_row + parent] + log_probs[token], token, parent};
            if (isnan(c.score) || (count == beam && !better(&c, &s->candidates[count - 1])))
                continue;
            uint32_t at = count < beam ? count++ : count - 1;
            for (; at > 0 && better(&c, &s->candidates[at - 1]); at--)
                s->candidates[at] = s->candidates[at - 1];
            s->candidates[at] = c;
        }
    }
    return count;
}

static void finish(struct fovea_transformer *model, size_t b, float score, const uint32_t *tokens, uint32_t len)
{
    struct search *const s = model->search;
    if (s->finished[b] == 0 || score < s->worst[b])
        s->worst[b] = score;
    if (s->finished[b] == 0 || score > s->best[b]) {
        s->best[b] = score;
        s->best_len[b] = len;
        memcpy(s->best_tokens + b * model->options.max_target, tokens, len * sizeof *tokens);
    }
    s->finished[b]++;
}

// Updates one sequence after a decoder step at `position`: its next live set.
static void advance(struct fovea_transformer *model, size_t b, uint32_t beam, size_t position)
{
    struct search *const s = model->search;
    const size_t first = b * beam, max_target = model->options.max_target;
    const uint32_t count = select_best(model, first, s->live[b], beam);
    uint32_t live = 0;
    for (uint32_t i = 0; i < count; i++) {
        const struct candidate c = s->candidates[i];
        const uint32_t *const tokens = s->now.tokens + (first + c.parent) * max_target;
        if (c.token == model->config.eos) {
            finish(model, b, c.score, tokens, (uint32_t)position);
            continue;
        }
        uint32_t *const to = s->next.tokens + (first + live) * max_target;
        memcpy(to, tokens, position * sizeof *to);
        to[position] = c.token;
        s->next.scores[first + live] = c.score;
        s->parents[first + live] = c.parent;
        s->inputs[first + live] = c.token;
        live++;
    }
    const int stop = s->finished[b] >= beam || (s->finished[b] && live && s->next.scores[first] <= s->worst[b]);
    if (position + 1 == max_target && !s->finished[b] && live)
        finish(model, b, s->next.scores[first], s->next.tokens + first * max_target, (uint32_t)max_target);
    s->live[b] = stop ? 0 : live;
}

// Copies the keys and values of sequence `from` up to `len` to sequence `to` of another cache.
static void copy_sequence(const struct fovea_kv_cache *source, size_t from, const struct fovea_kv_cache *target,
                          size_t to, size_t len)
{
    struct fovea_strides k, v; // of both caches, which have the same sizes
    fovea_kv_cache_strides(source, &k, &v);
    const float *const from_k = source->k, *const from_v = source->v; // a model's caches are f32
    float *const to_k = target->k, *const to_v = target->v;
    for (size_t h = 0; h < source->kv_heads; h++) {
        memcpy(to_k + to * k.batch + h * k.head, from_k + from * k.batch + h * k.head,
               fovea_round_up(len, 16) * source->qk_dim * sizeof(float));
        memcpy(to_v + to * v.batch + h * v.head, from_v + from * v.batch + h * v.head,
               len * source->v_dim * sizeof(float));
    }
}

// Reorders the caches to follow the hypotheses: row j of a sequence continues what was row parents[j].
static void reorder_caches(struct fovea_transformer *model, uint32_t beam, size_t len)
{
    struct search *const s = model->search;
    int moved = 0;
    for (size_t b = 0; b < model->batch; b++)
        for (uint32_t j = 0; j < s->live[b]; j++)
            moved |= s->parents[b * beam + j] != j;
    if (!moved)
        return;
    for (size_t i = 0; i < model->config.decoder_layers; i++)
        for (size_t b = 0; b < model->batch; b++)
            for (uint32_t j = 0; j < s->live[b]; j++)
                copy_sequence(&model->self_cache[CACHE_NOW][i], b * beam + s->parents[b * beam + j],
                              &model->self_cache[CACHE_NEXT][i], b * beam + j, len);
    struct fovea_kv_cache *const swap = model->self_cache[CACHE_NOW];
    model->self_cache[CACHE_NOW] = model->self_cache[CACHE_NEXT];
    model->self_cache[CACHE_NEXT] = swap;
}

// Rows without a live hypothesis take part in the step with eos; their results are not read.
static int begin_step(struct fovea_transformer *model, uint32_t beam)
{
    struct search *const s = model->search;
    int any = 0;
    for (size_t b = 0; b < model->batch; b++) {
        any |= s->live[b] != 0;
        for (uint32_t j = s->live[b]; j < beam; j++)
            s->inputs[b * beam + j] = model->config.eos;
    }
    return any;
}

enum fovea_status fovea_transformer_search(struct fovea_transformer *model, size_t batch, size_t len,
                                           const uint32_t *tokens, const uint32_t *lens, size_t beam,
                                           struct fovea_hypothesis *out, const struct fovea_executor *executor)
{
    FOVEA_CHECK(model && (out || !batch), FOVEA_ERR_NULL);
    FOVEA_CHECK(beam >= 1 && beam <= model->options.beam, FOVEA_ERR_SHAPE);
    const uint32_t train = model->train;
    model->train = 0; // no dropout in a search
    const enum fovea_status encoded = fovea_transformer_encode(model, batch, len, tokens, lens, executor);
    model->train = train;
    FOVEA_TRY(encoded);
    struct search *const s = model->search;
    const uint32_t width = (uint32_t)beam;
    for (size_t b = 0; b < batch; b++) {
        s->live[b] = 1;
        s->finished[b] = s->best_len[b] = 0;
        s->best[b] = -INFINITY;
        s->now.scores[b * beam] = 0;
        s->inputs[b * beam] = model->config.bos;
    }
    for (size_t position = 0; position < model->options.max_target && begin_step(model, width); position++) {
        FOVEA_TRY(fovea_transformer_step_rows(model, beam, position, s->inputs, model->log_probs, executor));
        for (size_t b = 0; b < batch; b++)
            if (s->live[b])
                advance(model, b, width, position);
        reorder_caches(model, width, position + 1);
        const struct generation swap = s->now;
        s->now = s->next;
        s->next = swap;
    }
    for (size_t b = 0; b < batch; b++)
        out[b] = (struct fovea_hypothesis){s->best[b], s->best_len[b], s->best_tokens + b * model->options.max_target};
    return FOVEA_OK;
}
