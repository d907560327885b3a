// SPDX-License-Identifier: Apache-2.0
// bench/composite_cut.c - the search for the block, by trying.
#include "bench/composite_cut.h"
#include "bench/clock.h"
#include "bench/memory.h"

#include <math.h>
#include <stdlib.h>

enum { FEW = 16 }; // queries, up to which those of the heads that share keys are one matrix
static const size_t scores_max = (size_t)1 << 30; // bytes for all scores

static void free_cut(struct composite *self)
{
    if (self->made)
        self->maker->release(self->made);
    bench_free(self->scores, self->scores_floats * self->workers * sizeof(float));
    free(self->blocks);
    self->made = NULL;
    self->scores = NULL;
    self->blocks = NULL;
}

void composite_free(struct composite *self)
{
    free_cut(self);
    bench_free(self->rows, self->problem->memory_bytes);
    bench_free(self->queries, self->gathered_bytes);
    free(self->hidden);
}

// The keys that rows of a block see.
static struct composite_block block_at(const struct composite *self, size_t row, size_t rows)
{
    struct composite_block block = {.row = row, .rows = rows, .key = SIZE_MAX};
    size_t end = 0;
    for (size_t r = row; r < row + rows; r++) {
        const struct attention_keys keys = attention_problem_keys(self->problem, r % self->problem->shape->q_len);
        block.key = keys.first < block.key ? keys.first : block.key;
        end = keys.end > end ? keys.end : end;
    }
    block.keys = end - block.key;
    return block;
}

static bool make_cut(struct composite *self, size_t rows, bool whole)
{
    const struct attention_problem *const p = self->problem;
    struct composite_cut *const cut = &self->cut;
    cut->batch = whole ? p->shape->batch : 1;
    cut->heads = whole ? p->shape->kv_heads : 1;
    cut->block_count = (cut->rows + rows - 1) / rows;
    cut->blocks = self->blocks = calloc(cut->block_count, sizeof *self->blocks);
    self->scores_floats = 0;
    for (size_t i = 0; i < cut->block_count && self->blocks; i++) {
        const size_t left = cut->rows - i * rows;
        self->blocks[i] = block_at(self, i * rows, left < rows ? left : rows);
        const size_t floats = cut->batch * cut->heads * self->blocks[i].rows * self->blocks[i].keys;
        self->scores_floats = floats > self->scores_floats ? floats : self->scores_floats;
    }
    self->scores_floats = (self->scores_floats + 15) / 16 * 16;
    if (!self->blocks || self->scores_floats * self->workers * sizeof(float) > scores_max)
        return false;
    self->scores = bench_alloc(self->scores_floats * self->workers * sizeof(float));
    self->made = self->scores ? self->maker->prepare(self->maker->state, cut) : NULL;
    return self->made;
}

// Seconds of a call, over `calls` of them, which take the caches in turns.
static double time_calls(struct composite *self, size_t calls)
{
    const uint32_t threads = self->problem->threads;
    const double start = bench_seconds(threads);
    for (size_t i = 0; i < calls; i++)
        self->run(self, (i + 1) % self->problem->count);
    return (bench_seconds(threads) - start) / (double)calls;
}

// Seconds of a call, given up where the first is far behind `record`; INFINITY where it cannot be cut so.
static double try_cut(struct composite *self, size_t rows, bool whole, double record)
{
    enum { TRIES = 3 };
    double best = INFINITY;
    if (make_cut(self, rows, whole)) {
        best = time_calls(self, 1);
        const size_t calls = bench_calls(best);
        for (int i = 0; i < TRIES && (calls > 1 || best < 1.5 * record); i++)
            best = fmin(best, time_calls(self, calls));
    }
    free_cut(self);
    return best;
}

static bool choose_cut(struct composite *self)
{
    enum { ALL = 5 };
    const size_t most = self->cut.rows, candidates[] = {1, 64, 128, 256, 512, [ALL] = most};
    double best = INFINITY;
    size_t best_rows = 0;
    bool best_whole = false;
    for (size_t i = 0; i < 2 * (ALL + 1); i++) {
        const size_t rows = candidates[i / 2];
        const bool whole = i % 2, single = rows == 1 && most > FEW, same = i / 2 < ALL && rows >= most;
        if (single || same || (whole && !self->maker->whole))
            continue;
        const double seconds = try_cut(self, rows, whole, best);
        if (seconds < best)
            best = seconds, best_rows = rows, best_whole = whole;
    }
    return best_rows && make_cut(self, best_rows, best_whole);
}

// Rows as they lie: of a single query the heads that share keys are one matrix already.
static bool view(struct composite *self)
{
    const struct attention_problem *const p = self->problem;
    const struct attention_shape *const s = p->shape;
    const size_t group = s->heads / s->kv_heads, d = s->dim;
    struct composite_cut *const cut = &self->cut;
    cut->q = (struct fovea_strides){p->desc.q.batch, group * d, p->desc.q.row};
    cut->rows = s->q_len;
    self->members = group;
    if (s->q_len == 1) {
        cut->q.row = d;
    } else if (s->q_len <= FEW && group > 1) {
        const size_t floats = s->batch * s->heads * s->q_len * d;
        cut->q = (struct fovea_strides){s->heads * s->q_len * d, group * s->q_len * d, d};
        self->gathered_bytes = 2 * floats * sizeof(float);
        self->queries = bench_alloc(self->gathered_bytes);
        if (!self->queries)
            return false;
        self->out = self->queries + floats;
    }
    if (s->q_len == 1 || self->queries) {
        cut->rows *= group;
        self->members = 1;
    }
    return true;
}

bool composite_make(struct composite *self)
{
    const struct attention_problem *const p = self->problem;
    const struct attention_shape *const s = p->shape;
    self->cut.problem = p;
    self->cut.k = p->desc.k;
    self->cut.v = p->desc.v;
    if (p->desc.k_layout == FOVEA_K_PANELS) {
        self->rows = attention_problem_rows(p);
        self->cut.k = p->desc.v; // (B, Hkv, Skv, D) both
        if (!self->rows)
            return false;
    }
    if (p->desc.mask) {
        self->hidden = calloc(s->kv_len, sizeof *self->hidden);
        for (size_t j = 0; j < s->kv_len && self->hidden; j++)
            self->hidden[j] = p->args.mask[j] ? 0 : -INFINITY;
        if (!self->hidden)
            return false;
    }
    return view(self) && choose_cut(self);
}
