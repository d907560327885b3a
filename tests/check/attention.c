// SPDX-License-Identifier: Apache-2.0
// tests/check/attention.c - cases of the attention kernels: a tile of queries against chunks of keys in sequence, both
// states compared after each chunk, and the finished result with float64.
#include "tests/check/attention.h"
#include "tests/check/oracle.h"

#include <math.h>
#include <string.h>

enum { dim_max = 512, oracle_rows = 6 };

static size_t round16(size_t n)
{
    return (n + FOVEA_PANEL - 1) / FOVEA_PANEL * FOVEA_PANEL;
}

static size_t draw_dim(struct check_rng *rng)
{
    const size_t dim = check_size(rng, check_chance(rng, 3) ? dim_max : 72);
    return dim == 0 ? 1 : dim;
}

/// What some rows' scores are subtracted from, -inf being that of one that sees no key.
static const float *draw_lse(struct check_case *c, size_t rows)
{
    struct check_buffer *const lse = check_buffer(c, "lse", rows);
    for (size_t r = 0; r < rows; r++)
        lse->data[r] = check_chance(&c->rng, 15) ? -INFINITY : 9 * check_uniform(&c->rng);
    return lse->data;
}

/// Of the elements of K and V.
static enum fovea_type type_of(const struct check_variant *variant)
{
    return strcmp(variant->slot, "attention_decode_bf16") == 0  ? FOVEA_BF16
           : strcmp(variant->slot, "attention_decode_f16") == 0 ? FOVEA_F16
                                                                : FOVEA_F32;
}

static void draw_problem(struct attention_case *a)
{
    struct check_case *const c = a->c;
    struct check_rng *const rng = &c->rng;
    a->prefill = strcmp(c->variant->slot, "attention_prefill") == 0;
    a->type = type_of(c->variant);
    const bool half = a->type != FOVEA_F32;
    a->panels = half || check_chance(rng, 50);
    a->own_pages = !half && check_page_floats() <= 1024 && check_chance(rng, 15);
    a->additive = !half && check_chance(rng, 12);
    a->chunk.qk_dim = a->own_pages && a->panels ? check_page_floats() / FOVEA_PANEL
                      : a->additive             ? 1 + check_below(rng, 24) // a tanh is slow
                                                : draw_dim(rng);
    a->chunk.state.v_dim = draw_dim(rng);
    const size_t most = c->variant->queries;
    a->chunk.state.rows = check_chance(rng, 25) ? most : 1 + check_below(rng, check_chance(rng, 40) ? 2 : most);
    if (!a->prefill && !half && !a->own_pages && !a->additive && check_chance(rng, 30)) {
        // Natural keys that are transposed in registers: two sixteens side by side for one row, in halves for many.
        const size_t few[] = {1, 2 + check_below(rng, 5), 7 + check_below(rng, 2)};
        a->panels = false;
        a->chunk.state.rows = few[check_below(rng, 3)];
        a->chunk.qk_dim = 16 * (1 + check_below(rng, 8));
    }
    if (!a->prefill && check_chance(rng, 15)) {
        a->scores[0] = check_buffer(c, "scores", a->chunk.state.rows * FOVEA_CHUNK);
        a->scores[1] = check_twin(c, a->scores[0]);
        if (check_chance(rng, 60))
            a->decode_chunk.lse = draw_lse(c, a->chunk.state.rows);
    }
    a->plain = !a->scores[0] && check_chance(rng, 45);
    a->ordered = !a->prefill && !half && !a->scores[0] && !a->additive && !a->own_pages && check_chance(rng, 60);
    if (a->ordered && check_chance(rng, 70)) { // few rows of whole vectors are those that some kernels prepare
        a->chunk.state.rows = 1 + check_below(rng, 2);
        a->chunk.state.v_dim = 32 * (1 + check_below(rng, 8));
        a->chunk.qk_dim = check_chance(rng, 50) ? 4 * (1 + check_below(rng, 40)) : 1 + check_below(rng, 160);
        if (check_chance(rng, 30)) { // or over which they prefetch what is read next
            a->panels = true;
            a->chunk.qk_dim = 64 + check_below(rng, 33);
            a->chunk.state.v_dim = 96 + check_below(rng, 33);
        } else if (check_chance(rng, 30)) { // or a few of them from L2 (attention_decode_near.h)
            a->chunk.state.rows = check_chance(rng, 50) ? 1 : 1 + check_below(rng, 4);
            a->chunk.qk_dim = (size_t)8 << check_below(rng, 5);
            a->chunk.state.v_dim = (size_t)32 << check_below(rng, 3);
        } else if (check_chance(rng, 50)) { // or whose last dims are fewer than four (attention_decode_beside.h)
            a->panels = true;
            a->chunk.qk_dim = 4 * check_below(rng, 32) + 1 + check_below(rng, 3);
        }
    }
    a->chunk.softcap = check_chance(rng, 20) ? 5 + 5 * check_uniform(rng) : 0;
    a->chunk.cap_inverse = a->chunk.softcap != 0 ? 1 / a->chunk.softcap : 0;
    // Scores of a dozen or so, whatever the dimension; sometimes of hundreds, where exp2 clamps.
    const float q_scale = (check_chance(rng, 80) ? 6 : 200) / sqrtf((float)a->chunk.qk_dim);
    a->q_values = check_source(rng, q_scale);
    a->k_values = check_source(rng, 1);
    a->v_values = check_source(rng, 1);
    a->bias_values = check_source(rng, 5);
    if (a->plain)
        a->q_values.kind = a->k_values.kind = a->v_values.kind = a->bias_values.kind = CHECK_UNIFORM;
    check_describe(c, " rows %zu qk_dim %zu v_dim %zu cap %g%s K %s%s values %d %d %d %d", a->chunk.state.rows,
                   a->chunk.qk_dim, a->chunk.state.v_dim, (double)a->chunk.softcap, a->scores[0] ? " scores" : "",
                   a->panels ? "panels" : "rows", a->own_pages ? " in pages" : "", (int)a->q_values.kind,
                   (int)a->k_values.kind, (int)a->v_values.kind, (int)a->bias_values.kind);
}

/// Weights of additive scores for up to three heads; rows of a prefill tile are of one.
static void draw_additive(struct attention_case *a)
{
    const size_t d = a->chunk.qk_dim, rows = a->chunk.state.rows, words = sizeof(uintptr_t) / sizeof(float);
    const size_t heads = a->prefill ? 1 : 1 + check_below(&a->c->rng, 3);
    struct check_buffer *const w = check_buffer(a->c, "additive", heads * d);
    const float **const pointers = (const float **)(void *)check_buffer(a->c, "additive pointers", rows * words)->data;
    check_fill(&a->c->rng, &a->k_values, w->data, w->count);
    for (size_t r = 0; r < rows; r++)
        pointers[r] = w->data + r % heads * d;
    a->chunk.additive = pointers;
    check_describe(a->c, " additive %zu", heads);
}

/// Queries as the variant wants them; returns element c of query r at q[r][c * step] for the oracle.
static ptrdiff_t draw_queries(struct attention_case *a, const float **rows)
{
    struct fovea_attention_chunk *const chunk = &a->chunk;
    const size_t d = chunk->qk_dim, count = chunk->state.rows;
    const size_t row = a->prefill ? 0 : d + (check_chance(&a->c->rng, 50) ? check_below(&a->c->rng, 20) : 0);
    if (!a->prefill)
        a->decode_chunk.q_row = (ptrdiff_t)row;
    const size_t lanes = a->c->variant->queries, last = count - 1;
    struct check_buffer *const q =
        check_buffer(a->c, "q", a->prefill ? (d - 1) * lanes + round16(count) : last * row + d);
    for (size_t r = 0; r < count; r++) {
        const size_t first = a->prefill ? r : r * row;
        for (size_t i = 0; i < d; i++)
            q->data[first + i * (a->prefill ? lanes : 1)] = check_draw(&a->c->rng, &a->q_values);
        rows[r] = q->data + first;
    }
    chunk->q = q->data;
    return a->prefill ? (ptrdiff_t)lanes : 1;
}

/// The oracle follows a few rows of a tile.
struct followed {
    struct oracle_attention row[oracle_rows];
    size_t index[oracle_rows], count;
    float q[oracle_rows][dim_max];
    double value[oracle_rows][dim_max], weight[oracle_rows][dim_max];
};

static void follow(struct followed *f, const struct attention_case *a, const float *const *q, ptrdiff_t q_step)
{
    const size_t rows = a->chunk.state.rows;
    memset(f, 0, sizeof *f);
    f->count = rows < oracle_rows ? rows : oracle_rows;
    for (size_t i = 0; i < f->count; i++) {
        f->index[i] = i * (rows - 1) / (f->count > 1 ? f->count - 1 : 1);
        for (size_t k = 0; k < a->chunk.qk_dim; k++)
            f->q[i][k] = q[f->index[i]][(ptrdiff_t)k * q_step];
        f->row[i] = (struct oracle_attention){.qk_dim = a->chunk.qk_dim,
                                              .v_dim = a->chunk.state.v_dim,
                                              .q = f->q[i],
                                              .additive = a->additive ? a->chunk.additive[f->index[i]] : NULL,
                                              .max = -INFINITY,
                                              .value = f->value[i],
                                              .weight = f->weight[i]};
    }
}

static void follow_chunk(struct followed *f, const struct attention_case *a)
{
    const struct fovea_attention_chunk *const k = &a->chunk;
    for (size_t i = 0; i < f->count; i++) {
        for (size_t j = 0; j < k->keys; j++) {
            const size_t r = f->index[i];
            if (!attention_sees(a, r, j))
                continue;
            const float *const key = a->panels ? k->k + j / FOVEA_PANEL * FOVEA_PANEL * k->qk_dim + j % FOVEA_PANEL
                                               : k->k + j * (size_t)k->k_row;
            const struct oracle_terms terms = {
                .softcap = (double)k->softcap,
                .bias = k->bias ? (double)k->bias[r][(ptrdiff_t)j * k->bias_key] : 0,
                .fall = k->falls ? (double)k->falls[r] * fabs((double)k->key + (double)j - (double)k->positions[r]) : 0,
                .kept = !k->keep              ? 1
                        : k->keep[j] >> r & 1 ? (double)k->keep_scale
                                              : 0,
            };
            oracle_attention_key(&f->row[i], key, a->panels ? FOVEA_PANEL : 1, &terms, k->v + j * (size_t)k->v_row);
        }
    }
}

static void compare_oracle(struct check_case *c, const struct followed *f, const struct attention_states *states)
{
    const struct fovea_attention_state s = attention_state(states, 1);
    for (size_t i = 0; i < f->count; i++) {
        const size_t r = f->index[i];
        if (f->row[i].keys == 0)
            continue; // the state stays empty: bits say it all
        const struct check_exact lse = oracle_attention_lse(&f->row[i]);
        check_bound(c, "lse", 0, r, (float)((double)s.m[r] + log((double)s.l[r])), lse.value,
                    lse.bound + 0x1p-23 * fabs(lse.value));
        for (size_t q = 0; q < s.v_dim; q++) {
            const struct check_exact e = oracle_attention_out(&f->row[i], q);
            const double out = (double)s.o[(ptrdiff_t)r * s.o_row + (ptrdiff_t)q * s.o_col] / (double)s.l[r];
            check_bound(c, "out", r, q, (float)out, e.value, e.bound);
        }
    }
}

/// Memory that the variant shares with another tile, and some to prefetch.
static void draw_shared(struct attention_case *a)
{
    static struct fovea_attention_copy copy;
    static struct fovea_fetch_list fetch;
    static const void *pointers[64];
    if (!a->prefill || !check_chance(&a->c->rng, 50))
        return;
    const size_t k_floats = FOVEA_CHUNK * a->chunk.qk_dim, v_round = (a->chunk.state.v_dim + 7) / 8 * 8;
    a->shared[0] = check_buffer(a->c, "shared keys", k_floats + FOVEA_COPY_KEYS * v_round);
    a->shared[1] = check_twin(a->c, a->shared[0]);
    copy.k = check_chance(&a->c->rng, 70) ? a->shared[0]->data : NULL;
    copy.v = check_chance(&a->c->rng, 70) ? a->shared[0]->data + k_floats : NULL;
    for (size_t i = 0; i < sizeof pointers / sizeof *pointers; i++)
        pointers[i] = a->shared[0]->data;
    fetch.next = pointers;
    fetch.count = check_below(&a->c->rng, 65);
    fetch.into_l1 = check_chance(&a->c->rng, 50);
    a->copy = &copy;
    a->fetch = check_chance(&a->c->rng, 50) ? &fetch : NULL;
    check_describe(a->c, " shared%s%s%s", copy.k ? " k" : "", copy.v ? " v" : "", a->fetch ? ", fetches" : "");
}

static void run_kernel(const struct attention_case *a, const struct check_variant *who)
{
    if (a->prefill)
        who->run.prefill(&a->prefill_chunk);
    else
        who->run.decode(&a->decode_chunk);
}

/// Mostly another tile takes the chunk first: it sees some of what this one sees, and its state is nobody's.
static void run_other(struct attention_case *a, const struct attention_states *other, struct check_buffer *scratch)
{
    struct fovea_prefill_chunk prefill = a->prefill_chunk;
    struct fovea_attention_chunk *const chunk = &prefill.chunk;
    uint64_t visible[FOVEA_CHUNK], random = 0;
    memset(a->copy->k_done, 0, sizeof a->copy->k_done);
    memset(a->copy->v_done, 0, sizeof a->copy->v_done);
    if (check_chance(&a->c->rng, 30))
        return;
    const uint32_t change = check_chance(&a->c->rng, 50) ? 100 : 3; // per cent of the keys: each for itself, or runs
    for (size_t j = 0; j < chunk->keys; j++) {
        if (check_chance(&a->c->rng, change))
            random = check_chance(&a->c->rng, 50) ? 0 : ~UINT64_C(0) >> check_below(&a->c->rng, 64);
        visible[j] = (chunk->visible ? chunk->visible[j] : ~UINT64_C(0)) & random;
    }
    chunk->visible = visible;
    chunk->fresh = 0;
    chunk->state = attention_state(other, 1);
    chunk->scratch = scratch->data;
    prefill.copy = a->copy;
    a->c->variant->run.prefill(&prefill);
}

static void run_chunk(struct attention_case *a, const struct attention_states *states,
                      const struct attention_states *other, struct check_buffer *const *scratch)
{
    struct check_case *const c = a->c;
    const struct check_variant *const who[] = {c->scalar, c->variant};
    const float *const k = a->chunk.k, *const v = a->chunk.v;
    const bool elsewhere = a->type != FOVEA_F32 || (!a->prefill && a->decode_chunk.blocks);
    a->chunk.k = elsewhere ? NULL : k;
    a->chunk.v = elsewhere ? NULL : v;
    check_seal();
    for (size_t w = 0; w < 2; w++) {
        a->chunk.state = attention_state(states, w);
        a->chunk.scratch = scratch[w]->data;
        if (a->prefill) {
            a->prefill_chunk.copy = w == 1 ? a->copy : NULL;
            a->prefill_chunk.fetch = w == 1 ? a->fetch : NULL;
        } else {
            a->decode_chunk.scores = a->scores[w] ? a->scores[w]->data : NULL;
            a->decode_chunk.begun = &a->begun[w];
        }
        check_enter(c, who[w]);
        if (w == 1 && a->copy)
            run_other(a, other, scratch[w]);
        run_kernel(a, who[w]);
        check_leave(c);
    }
    check_sealed(c);
    a->chunk.k = k;
    a->chunk.v = v;
    attention_compare_states(c, states);
    if (a->scores[0])
        check_outputs(c, a->scores[0], a->scores[1],
                      (struct check_view){a->chunk.state.rows, round16(a->chunk.keys), FOVEA_CHUNK, FOVEA_CHUNK});
    check_outputs(c, scratch[0], scratch[1], (struct check_view){1, 0, scratch[0]->count, scratch[0]->count});
    if (a->copy)
        check_outputs(c, a->shared[0], a->shared[1],
                      (struct check_view){1, 0, a->shared[0]->count, a->shared[0]->count});
}

/// An O that is not set yet.
static void spoil_o(const struct attention_states *s)
{
    for (size_t r = 0; r < s->rows; r++) {
        for (size_t q = 0; q < s->v_dim; q++) {
            const ptrdiff_t at = (ptrdiff_t)r * s->o_row + (ptrdiff_t)q * s->o_col;
            s->o[0]->data[at] = s->o[1]->data[at] = NAN;
        }
    }
}

static void run_case(struct check_case *c)
{
    static struct followed followed; // large
    struct attention_case a = {.c = c};
    draw_problem(&a);
    if (a.additive)
        draw_additive(&a);
    const float *q[FOVEA_TILE_ROWS_MAX];
    const ptrdiff_t q_step = draw_queries(&a, q);
    const size_t rows = a.chunk.state.rows, v_dim = a.chunk.state.v_dim;
    const ptrdiff_t pad = (ptrdiff_t)(check_chance(&c->rng, 50) ? check_below(&c->rng, 20) : 0);
    const bool from_empty = a.plain || check_chance(&c->rng, 50);
    struct attention_states states =
        attention_draw_states(c, rows, v_dim, a.prefill ? 1 : (ptrdiff_t)round16(v_dim) + pad,
                              a.prefill ? c->variant->queries : 1, from_empty ? 100 : 20, &a.v_values);
    const bool fresh = from_empty && check_chance(&c->rng, 60);
    if (fresh) {
        spoil_o(&states);
        check_describe(c, " fresh");
    }
    const struct attention_states other =
        attention_draw_states(c, rows, v_dim, states.o_row, states.o_col, 50, &a.v_values);
    draw_shared(&a);
    if (check_chance(&c->rng, 30)) {
        attention_draw_statistics(c, &states);
        check_describe(c, " statistics");
    }
    struct check_buffer *const scratch = check_buffer(c, "scratch", fovea_attention_scratch(a.chunk.qk_dim, v_dim));
    struct check_buffer *const both[] = {scratch, check_twin(c, scratch)};
    follow(&followed, &a, q, q_step);
    const size_t chunks = a.ordered                      ? 2 + check_below(&c->rng, 3)
                          : a.chunk.qk_dim + v_dim > 200 ? 1
                                                         : 1 + check_below(&c->rng, 3);
    for (size_t t = 0; t < chunks && !c->failed; t++) {
        attention_draw_chunk(&a);
        a.chunk.fresh = fresh && t == 0;
        run_chunk(&a, &states, &other, both);
        if (a.plain)
            follow_chunk(&followed, &a);
    }
    if (a.plain)
        compare_oracle(c, &followed, &states);
}

/// A full tile of queries, 64 wide, or four of a decoding step (one waits for memory, whichever kernel it is), against
/// 128 keys that everyone sees. Decoding of f32 reads one chunk after another of 2 MiB, as the short caches of many
/// layers: what its kernels prefetch costs time where all of it is in L1 (Zen 4, 3 %), and gains more where it is not.
static double bench(struct check_case *c, size_t calls)
{
    enum { d = 64, CHUNKS = 32 };
    const struct check_source values = {CHECK_UNIFORM, 1, 0};
    struct attention_case a = {
        .c = c, .prefill = strcmp(c->variant->slot, "attention_prefill") == 0, .type = type_of(c->variant)};
    struct fovea_attention_chunk *const chunk = &a.chunk;
    *chunk = (struct fovea_attention_chunk){.keys = FOVEA_CHUNK, .qk_dim = d, .k_row = d, .v_row = d};
    chunk->state.rows = a.prefill ? c->variant->queries : 4;
    a.q_values = values;
    const float *q[FOVEA_TILE_ROWS_MAX];
    draw_queries(&a, q);
    const size_t chunks = a.prefill || a.type != FOVEA_F32 ? 1 : CHUNKS, all = chunks * FOVEA_CHUNK * d;
    struct check_buffer *const k = check_buffer(c, "K", all), *const v = check_buffer(c, "V", all);
    check_fill(&c->rng, &values, k->data, k->count);
    check_fill(&c->rng, &values, v->data, v->count);
    if (a.type != FOVEA_F32) {
        chunk->k_row = 0;
        a.decode_chunk.k_half = attention_halve(&a, "K of 16 bits", k->data, k->count);
        a.decode_chunk.v_half = attention_halve(&a, "V of 16 bits", v->data, v->count);
    }
    const struct attention_states states = attention_draw_states(c, chunk->state.rows, d, a.prefill ? 1 : d,
                                                                 a.prefill ? c->variant->queries : 1, 100, &values);
    chunk->state = attention_state(&states, 0);
    chunk->scratch = check_buffer(c, "scratch", fovea_attention_scratch(d, d))->data;
    c->started = check_seconds();
    for (size_t i = 0; i < calls; i++) {
        chunk->k = k->data + i % chunks * FOVEA_CHUNK * d;
        chunk->v = v->data + i % chunks * FOVEA_CHUNK * d;
        run_kernel(&a, c->variant);
    }
    return 4.0 * (double)(chunk->state.rows * FOVEA_CHUNK * d);
}

const struct check_family check_family_prefill = {800, run_case, bench};
const struct check_family check_family_decode = {800, run_case, bench};
