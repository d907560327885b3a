// SPDX-License-Identifier: Apache-2.0
// tests/check/attention_chunk.c - one chunk of keys: how K and V lie, who sees what, and poison in all that nobody
// sees.
#include "tests/check/attention.h"
#include "tests/check/half.h"

#include <math.h>
#include <string.h>

enum mask_kind { ALL_SEEN, EVERY_BIT, RANDOM, CAUSAL, RUNS, ONE_KEY, SOME_ROWS, NOTHING, MASK_KINDS };

bool attention_sees(const struct attention_case *a, size_t r, size_t j)
{
    const struct fovea_attention_chunk *const k = &a->chunk;
    return (!k->visible || (k->visible[j] >> r & 1)) &&
           (!k->bias || k->bias[r][(ptrdiff_t)j * k->bias_key] != -INFINITY);
}

static bool mask_shows(const struct attention_case *a, size_t j)
{
    return !a->chunk.visible || a->chunk.visible[j] != 0;
}

static bool anyone_sees(const struct attention_case *a, size_t j)
{
    for (size_t r = 0; r < a->chunk.state.rows; r++) {
        if (attention_sees(a, r, j))
            return true;
    }
    return false;
}

static void draw_mask(struct attention_case *a)
{
    struct check_case *const c = a->c;
    struct check_rng *const rng = &c->rng;
    const size_t keys = a->chunk.keys, rows = a->chunk.state.rows;
    const enum mask_kind kind = (enum mask_kind)check_below(rng, MASK_KINDS);
    check_describe(c, " mask %d", (int)kind);
    a->chunk.visible = NULL;
    if (kind == ALL_SEEN)
        return;
    const uint64_t all = rows == 64 ? UINT64_MAX : ((uint64_t)1 << rows) - 1;
    struct check_buffer *const b = check_buffer(c, "visible", 2 * keys);
    uint64_t *const words = (uint64_t *)(void *)b->data;
    const unsigned percent = (unsigned)check_below(rng, 101);
    const size_t offset = check_below(rng, keys + rows), one = check_below(rng, keys);
    bool run = check_chance(rng, 50);
    uint64_t see_all = 0; // SOME_ROWS: these see all keys, the others a part
    for (size_t r = 0; r < rows; r++)
        see_all |= (uint64_t)check_chance(rng, 50) << r;
    for (size_t j = 0; j < keys; j++) {
        uint64_t word = kind == SOME_ROWS ? see_all : 0;
        run ^= check_chance(rng, 8);
        for (size_t r = 0; r < rows; r++) {
            const bool seen = kind == EVERY_BIT ||
                              ((kind == RANDOM || kind == SOME_ROWS) && check_chance(rng, percent)) ||
                              (kind == CAUSAL && j <= r + offset) || (kind == RUNS && run) ||
                              (kind == ONE_KEY && j == one && check_chance(rng, 50));
            word |= (uint64_t)seen << r;
        }
        words[j] = word & all;
    }
    a->chunk.visible = words;
}

/// Biases of adjacent keys 1, 2, ... or 0 elements apart; rows apart, or all the same row.
static void draw_bias(struct attention_case *a)
{
    static const uint8_t steps[] = {1, 1, 1, 2, 5, 0};
    struct check_case *const c = a->c;
    struct check_rng *const rng = &c->rng;
    const size_t keys = a->chunk.keys, rows = a->chunk.state.rows;
    if (check_chance(rng, 50))
        return;
    const size_t step = steps[check_below(rng, sizeof steps)], length = (keys - 1) * step + 1;
    const bool shared = check_chance(rng, 25);
    const unsigned hides = check_chance(rng, 50) ? (unsigned)check_below(rng, 101) : 0;
    const size_t stride = shared ? 0 : length + (check_chance(rng, 50) ? check_below(rng, 9) : 0);
    struct check_buffer *const b = check_buffer(c, "bias", (rows - 1) * stride + length);
    const size_t words = sizeof(uintptr_t) / sizeof(float); // of a pointer
    const float **const pointers = (const float **)(void *)check_buffer(c, "bias pointers", rows * words)->data;
    for (size_t r = 0; r < rows; r++) {
        pointers[r] = b->data + r * stride;
        for (size_t j = 0; j < keys; j++) {
            const bool read = shared || step == 0 || !a->chunk.visible || (a->chunk.visible[j] >> r & 1);
            const float x = check_chance(rng, hides) ? -INFINITY : check_draw(rng, &a->bias_values);
            if (read) // the bias of a key its row does not see stays poison
                b->data[r * stride + j * step] = x;
        }
    }
    a->chunk.bias = pointers;
    a->chunk.bias_key = (ptrdiff_t)step;
    check_describe(c, " bias step %zu%s -inf %u%%", step, shared ? " shared" : "", hides);
}

/// `keys` rows of `dim` elements, packed, with a stride, or each at the end or beginning of a page or half a page: V
/// that is not copied is read row after row.
static float *make_rows(struct attention_case *a, const char *name, size_t keys, size_t dim, ptrdiff_t *row)
{
    struct check_case *const c = a->c;
    if (a->own_pages) {
        const size_t page = check_page_floats(), per_page = dim <= page / 2 && check_chance(&c->rng, 50) ? 2 : 1;
        float *const pages = check_pages(c, name, (keys + per_page - 1) / per_page);
        *row = (ptrdiff_t)(page / per_page);
        for (size_t j = 0; j < keys; j += per_page) {
            bool shown = false;
            for (size_t i = j; i < keys && i < j + per_page; i++)
                shown |= mask_shows(a, i);
            if (!shown)
                check_page_hide(pages + j / per_page * page);
        }
        return pages + (c->index % 2 == 0 ? (size_t)*row - dim : 0);
    }
    *row = (ptrdiff_t)(dim + (check_chance(&c->rng, 60) ? check_below(&c->rng, 40) : 0));
    return check_buffer(c, name, (keys - 1) * (size_t)*row + dim)->data;
}

static float *make_panels(struct attention_case *a, size_t keys)
{
    const size_t panel = FOVEA_PANEL * a->chunk.qk_dim;
    const size_t panels = (keys + FOVEA_PANEL - 1) / FOVEA_PANEL;
    a->chunk.k_row = 0;
    if (!a->own_pages)
        return check_buffer(a->c, "K panels", panels * panel)->data;
    float *const pages = check_pages(a->c, "K panels", panels); // attention.c has made a panel one page
    for (size_t g = 0; g < panels; g++) {
        bool shown = false;
        for (size_t j = g * FOVEA_PANEL; j < keys && j < (g + 1) * FOVEA_PANEL; j++)
            shown |= mask_shows(a, j);
        if (!shown)
            check_page_hide(pages + g * panel);
    }
    return pages;
}

/// Softcap is the case's, ALiBi and dropout are drawn anew: positions and keys of any place in a sequence.
static void draw_terms(struct attention_case *a)
{
    struct check_case *const c = a->c;
    struct check_rng *const rng = &c->rng;
    struct fovea_attention_chunk *const chunk = &a->chunk;
    const size_t rows = chunk->state.rows, padded = (rows + FOVEA_PANEL - 1) / FOVEA_PANEL * FOVEA_PANEL;
    chunk->falls = chunk->positions = NULL;
    chunk->keep = NULL;
    chunk->key = (uint32_t)(FOVEA_CHUNK * check_below(rng, 20));
    if (check_chance(rng, 20)) {
        struct check_buffer *const falls = check_buffer(c, "falls", padded);
        struct check_buffer *const positions = check_buffer(c, "positions", padded);
        for (size_t r = 0; r < rows; r++) {
            falls->data[r] = -0.05f * fabsf(check_uniform(rng));
            positions->data[r] = (float)check_below(rng, 3000) - 100;
        }
        chunk->falls = falls->data;
        chunk->positions = positions->data;
        check_describe(c, " alibi");
    }
    if (check_chance(rng, 20)) {
        uint64_t *const keep = (uint64_t *)(void *)check_buffer(c, "keep", 2 * chunk->keys)->data;
        for (size_t j = 0; j < chunk->keys; j++)
            keep[j] = check_next(rng) | check_next(rng);
        chunk->keep = keep;
        chunk->keep_scale = 4.0f / 3;
        check_describe(c, " dropout");
    }
}

/// Fills key j of K.
static void fill_key(struct attention_case *a, float *k, size_t j)
{
    const size_t d = a->chunk.qk_dim;
    for (size_t i = 0; i < d; i++)
        k[a->panels ? j / FOVEA_PANEL * FOVEA_PANEL * d + i * FOVEA_PANEL + j % FOVEA_PANEL
                    : j * (size_t)a->chunk.k_row + i] = check_draw(&a->c->rng, &a->k_values);
}

/// K of the chunk; that of the next one behind it, if the kernel is to know it. Such a chunk finds its K there.
static float *draw_keys(struct attention_case *a, float *next)
{
    struct fovea_attention_chunk *const chunk = &a->chunk;
    if (!a->prefill)
        a->decode_chunk.k_next = NULL;
    a->next = NULL;
    if (next)
        return next;
    const bool more = a->ordered && chunk->keys == FOVEA_CHUNK && check_chance(&a->c->rng, 80);
    const size_t keys = chunk->keys * (more ? 2 : 1), d = chunk->qk_dim;
    float *const k = a->panels ? make_panels(a, keys) : make_rows(a, "K", keys, d, &chunk->k_row);
    if (more) {
        check_describe(a->c, " and the next");
        a->decode_chunk.k_next = a->next = k + FOVEA_CHUNK * (a->panels ? d : (size_t)chunk->k_row);
        for (size_t j = 0; j < FOVEA_CHUNK; j++)
            fill_key(a, a->next, j);
    }
    for (size_t j = 0; j < chunk->keys; j++) {
        if (anyone_sees(a, j))
            fill_key(a, k, j);
    }
    return k;
}

/// Room for elements of K or V, the last of which ends with its buffer.
static void *make_room(struct attention_case *a, const char *name, size_t elements)
{
    if (a->type == FOVEA_F32)
        return check_buffer(a->c, name, elements)->data;
    return (uint16_t *)(void *)check_buffer(a->c, name, (elements + 1) / 2)->data + elements % 2;
}

const uint16_t *attention_halve(struct attention_case *a, const char *name, float *x, size_t elements)
{
    uint16_t *const halves = make_room(a, name, elements);
    for (size_t i = 0; i < elements; i++) {
        halves[i] = half_of(a->type, x[i]);
        x[i] = half_value(a->type, halves[i]);
    }
    return halves;
}

/// Copies keys of `columns` elements, `row` apart, in blocks of 16 in any order, those that are shown; of 16 in a panel
/// all where one is. at[i]: block i, or NULL where nothing of it is shown.
static void scatter(struct attention_case *a, const char *name, const void *keys, size_t row, size_t columns,
                    bool panels, const void **at)
{
    const size_t size = fovea_type_bytes(a->type);
    const size_t blocks = (a->chunk.keys + FOVEA_PANEL - 1) / FOVEA_PANEL, block = FOVEA_PANEL * row;
    size_t place[FOVEA_CHUNK / FOVEA_PANEL] = {0}, last = 0;
    for (size_t i = 0; i < blocks; i++) {
        const size_t other = check_below(&a->c->rng, i + 1);
        place[i] = place[other];
        place[other] = i;
    }
    while (place[last] + 1 != blocks)
        last++;
    const size_t left = a->chunk.keys - last * FOVEA_PANEL, of_last = left < FOVEA_PANEL ? left : FOVEA_PANEL;
    const size_t end = panels ? block : (of_last - 1) * row + columns;
    char *const room = make_room(a, name, (blocks - 1) * block + end);
    for (size_t i = 0; i < blocks; i++) {
        char *const to = room + place[i] * block * size;
        const char *const from = (const char *)keys + i * block * size;
        at[i] = NULL;
        for (size_t j = 0; j < FOVEA_PANEL && i * FOVEA_PANEL + j < a->chunk.keys; j++) {
            if (!mask_shows(a, i * FOVEA_PANEL + j))
                continue;
            if (panels)
                memcpy(to, from, block * size);
            else
                memcpy(to + j * row * size, from + j * row * size, columns * size);
            at[i] = to;
        }
    }
}

/// K and V in blocks, of which the next ones may be known.
static void draw_blocks(struct attention_case *a)
{
    struct fovea_attention_chunk *const chunk = &a->chunk;
    const bool ahead = check_chance(&a->c->rng, 50);
    const size_t d = chunk->qk_dim, v_dim = chunk->state.v_dim;
    const bool half = a->type != FOVEA_F32;
    const void *const k = half ? (const void *)a->decode_chunk.k_half : chunk->k;
    const void *const v = half ? (const void *)a->decode_chunk.v_half : chunk->v;
    a->blocks = (struct fovea_attention_blocks){.k = {NULL}};
    a->decode_chunk.blocks = &a->blocks;
    check_describe(a->c, " blocks");
    if (a->own_pages) { // of which hidden ones cannot be read: left where they lie
        for (size_t i = 0; i * FOVEA_PANEL < chunk->keys; i++) {
            a->blocks.k[i] = chunk->k + i * FOVEA_PANEL * (a->panels ? d : (size_t)chunk->k_row);
            a->blocks.v[i] = chunk->v + i * FOVEA_PANEL * (size_t)chunk->v_row;
        }
        return;
    }
    scatter(a, "blocks of K", k, a->panels ? d : (size_t)chunk->k_row, d, a->panels, a->blocks.k);
    scatter(a, "blocks of V", v, (size_t)chunk->v_row, v_dim, false, a->blocks.v);
    for (size_t i = 0; i < FOVEA_CHUNK / FOVEA_PANEL && ahead; i++) {
        a->blocks.k_ahead[i] = a->blocks.k[i];
        a->blocks.v_ahead[i] = a->blocks.v[i];
    }
}

static void draw_hints(struct attention_case *a)
{
    struct fovea_decode_hints *const hints = &a->decode_chunk.hints;
    struct check_rng *const rng = &a->c->rng;
    hints->far = check_chance(rng, a->ordered ? 70 : 50);
    hints->in_case = check_chance(rng, 50);
    hints->again = check_chance(rng, 50);
    hints->whole = check_chance(rng, 50);
    hints->into = (uint32_t)check_below(rng, 3);
    hints->beside = check_chance(rng, 70);
    hints->k_ahead = hints->far && check_chance(rng, 50) ? a->chunk.k : NULL;
    hints->v_ahead = hints->far && check_chance(rng, 50) ? a->chunk.v : NULL;
}

void attention_draw_chunk(struct attention_case *a)
{
    struct fovea_attention_chunk *const chunk = &a->chunk;
    struct check_rng *const rng = &a->c->rng;
    float *const next = a->next;
    chunk->keys = next || check_chance(rng, a->ordered ? 80 : 30) ? FOVEA_CHUNK : 1 + check_below(rng, FOVEA_CHUNK);
    check_describe(a->c, "; keys %zu", chunk->keys);
    chunk->visible = NULL;
    chunk->bias = NULL;
    if (!next && !(a->ordered && check_chance(rng, 70)))
        draw_mask(a);
    if (!(a->ordered && check_chance(rng, 70)))
        draw_bias(a);
    draw_terms(a);
    float *const k = draw_keys(a, next);
    chunk->k = k;
    float *const v = make_rows(a, "V", chunk->keys, chunk->state.v_dim, &chunk->v_row);
    for (size_t j = 0; j < chunk->keys; j++) {
        if (anyone_sees(a, j))
            check_fill(rng, &a->v_values, v + j * (size_t)chunk->v_row, chunk->state.v_dim);
    }
    size_t one = a->plain || check_chance(rng, 80) ? chunk->keys : 0;
    while (one < chunk->keys && !anyone_sees(a, one))
        one++;
    if (one < chunk->keys) // an infinity, for those alone who see it
        v[one * (size_t)chunk->v_row + check_below(rng, chunk->state.v_dim)] = INFINITY;
    chunk->v = v;
    if (a->prefill)
        return;
    if (a->type != FOVEA_F32) {
        const size_t panels = (chunk->keys + FOVEA_PANEL - 1) / FOVEA_PANEL;
        a->decode_chunk.k_half = attention_halve(a, "K of 16 bits", k, panels * FOVEA_PANEL * chunk->qk_dim);
        a->decode_chunk.v_half =
            attention_halve(a, "V of 16 bits", v, (chunk->keys - 1) * (size_t)chunk->v_row + chunk->state.v_dim);
    }
    draw_hints(a);
    a->decode_chunk.blocks = NULL;
    if (!a->additive && !next && !a->next && check_chance(rng, 30))
        draw_blocks(a);
}
