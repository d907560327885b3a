// SPDX-License-Identifier: Apache-2.0
// tests/check/attention_keep.c - cases of the dropout kernel: any names of weights, any threshold.
#include "tests/check/check.h"

static uint32_t draw_word(struct check_rng *rng)
{
    return check_chance(rng, 30) ? UINT32_MAX - (uint32_t)check_below(rng, 3) : (uint32_t)check_next(rng);
}

/// What a row's words come to when they are counted one at a time: about the share that the threshold says.
static void bound_share(struct check_case *c, const struct fovea_attention_keep *w, const uint64_t *keep)
{
    size_t kept = 0;
    for (size_t j = 0; j < w->keys; j++)
        for (size_t r = 0; r < w->rows; r++)
            kept += keep[j] >> r & 1;
    const double n = (double)(w->keys * w->rows), p = 1 - w->threshold / 0x1p32;
    if (w->rows > 16 && w->keys > 64) // six deviations of a binomial of more than 1024: once in 5e8 cases
        check_bound(c, "share", 0, 0, (float)((double)kept / n), p, 6 * 0.5 / 32);
}

static void run_keep(struct check_case *c)
{
    struct check_rng *const rng = &c->rng;
    const size_t rows = 1 + check_below(rng, FOVEA_TILE_ROWS_MAX), padded = (rows + 15) / 16 * 16;
    struct check_buffer *const query = check_buffer(c, "query", padded), *const head = check_buffer(c, "head", padded);
    uint32_t *const q = (uint32_t *)(void *)query->data, *const h = (uint32_t *)(void *)head->data;
    const uint32_t first = draw_word(rng), one_head = draw_word(rng);
    const bool tile = check_chance(rng, 50); // queries of one head
    for (size_t r = 0; r < rows; r++) {
        q[r] = tile ? first + (uint32_t)r : draw_word(rng);
        h[r] = tile ? one_head : draw_word(rng);
    }
    const struct fovea_attention_keep weights = {
        .seed = {draw_word(rng), draw_word(rng)},
        .batch = draw_word(rng),
        .key = draw_word(rng) & ~3u,
        .rows = rows,
        .keys = 1 + check_below(rng, FOVEA_CHUNK),
        .query = q,
        .head = h,
        .threshold = check_chance(rng, 10) ? 0 : draw_word(rng),
    };
    check_describe(c, " rows %zu keys %zu threshold %u", rows, weights.keys, (unsigned)weights.threshold);
    const size_t words = 2 * weights.keys; // floats of the result
    struct check_buffer *const want = check_buffer(c, "keep", words), *const got = check_twin(c, want);
    struct check_buffer *const keep[] = {want, got};
    const struct check_variant *const who[] = {c->scalar, c->variant};
    check_seal();
    for (size_t w = 0; w < 2; w++) {
        check_enter(c, who[w]);
        who[w]->run.keep(&weights, (uint64_t *)(void *)keep[w]->data);
        check_leave(c);
    }
    check_sealed(c);
    const uint64_t *const bits[] = {(const uint64_t *)(const void *)want->data,
                                    (const uint64_t *)(const void *)got->data};
    for (size_t j = 0; j < weights.keys && !c->failed; j++) {
        if (bits[0][j] != bits[1][j])
            check_fail(c, "keep[%zu] is %016llx, scalar %016llx", j, (unsigned long long)bits[1][j],
                       (unsigned long long)bits[0][j]);
    }
    bound_share(c, &weights, bits[1]);
}

/// A whole tile and chunk.
static double bench(struct check_case *c, size_t calls)
{
    static uint64_t keep[FOVEA_CHUNK];
    static const uint32_t names[FOVEA_TILE_ROWS_MAX];
    const struct fovea_attention_keep weights = {
        .seed = {1, 2}, .rows = 48, .keys = FOVEA_CHUNK, .query = names, .head = names, .threshold = 1u << 30};
    c->started = check_seconds();
    for (size_t i = 0; i < calls; i++)
        c->variant->run.keep(&weights, keep);
    return -48.0 * FOVEA_CHUNK;
}

const struct check_family check_family_keep = {400, run_keep, bench};
