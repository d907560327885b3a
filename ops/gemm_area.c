// SPDX-License-Identifier: Apache-2.0
// ops/gemm_area.c - the loops over one area of C.
//
// Outermost first: k blocks, chunks of rows, groups of strips, tiles of mr rows, strips. A group of strips of B stays
// in L2 and a tile's rows of A in L1 while the strips of the group pass; B is packed strip by strip when its first tile
// needs it, A copied tile by tile when its first group does, both hot. While a group is computed its tiles prefetch the
// next one, a panel each, so B streams from memory or L3 beside the arithmetic.
#include "ops/gemm.h"
#include "ops/pack.h"
#include <string.h>

// Rows of A copied at once: whole 16 x 16 transposes, used while they are in L2.
enum { COPY_ROWS = 48 };

// B[p,j] = first[(j / 16) * panel + p * step + j % 16]: packed panels, or natural rows (panel 16).
struct panels {
    const float *first;
    ptrdiff_t panel, step;
};

// A[i,p] = first[i * row + p * k].
struct rows {
    const float *first;
    ptrdiff_t row, k;
};

// A k block of the area: steps [p, p + steps).
struct block {
    const struct fovea_gemm_area *area;
    size_t p, steps;
    bool first, last;
    size_t chunk; // of rows, counted from 0
};

static struct panels packed(const float *first, size_t k)
{
    return (struct panels){first, (ptrdiff_t)(FOVEA_PANEL * k), FOVEA_PANEL};
}

// b from step p and panel j on.
static inline struct panels moved(struct panels b, size_t p, size_t j)
{
    b.first += (ptrdiff_t)p * b.step + (ptrdiff_t)j * b.panel;
    return b;
}

static size_t strip_begin(const struct fovea_gemm_layout *plan, size_t strip)
{
    return fovea_cut_begin(&plan->strips, strip) * FOVEA_PANEL;
}

static size_t strip_end(const struct fovea_gemm_layout *plan, size_t strip)
{
    return fovea_min(strip_begin(plan, strip + 1), plan->desc.n);
}

// Where B of the block from panel j on lies, be it packed or natural.
// Inlined, like a_source, b_of_strip and set_ahead, so that what they return is in registers. From memory, where its
// numbers were just written one by one, two of them are read as one vector: that load waits until all stores before it
// are in L1, those of the last tile of C among them (Zen 5, C from L3: 950 cycles a tile).
static inline __attribute__((always_inline)) struct panels b_source(const struct block *block, size_t j)
{
    static const float nothing[FOVEA_PANEL]; // stands for A and B where no step reads them
    const struct fovea_gemm_area *const area = block->area;
    const struct fovea_gemm_desc *const d = &area->plan->desc;
    if (block->steps == 0) {
        return packed(nothing, 0);
    }
    if (d->b_packed) {
        return moved(packed(fovea_blob_panels(area->b), area->plan->k), block->p, j);
    }
    if (area->b_panels != NULL) {
        return moved(packed(area->b_panels, area->plan->k), block->p, j);
    }
    const struct panels natural = {area->b, FOVEA_PANEL, (ptrdiff_t)d->ldb};
    return moved(natural, block->p, j);
}

// The place of a strip in b_room, which holds the strips from `group` on, or all of the area.
static float *room_of(const struct block *block, size_t group, size_t strip)
{
    const struct fovea_gemm_area *const area = block->area;
    const size_t first = strip_begin(area->plan, area->keep_b ? area->strip : group);
    return area->b_room + (strip_begin(area->plan, strip) - first) * block->steps;
}

// B of a strip: packed into its place in the room when the first tile comes, or where it lies.
static inline __attribute__((always_inline)) struct panels b_of_strip(const struct block *block, size_t group,
                                                                      size_t strip, bool first_tile)
{
    const struct fovea_gemm_area *const area = block->area;
    const struct fovea_gemm_layout *const plan = area->plan;
    const size_t begin = strip_begin(plan, strip), end = strip_end(plan, strip);
    // A natural partial panel ends before its 16 columns: it is packed even where the others are read in place.
    const bool in_place = plan->desc.b_packed || area->b_panels != NULL || (!area->pack_b && end % FOVEA_PANEL == 0);
    if (in_place || block->steps == 0) {
        return b_source(block, begin / FOVEA_PANEL);
    }
    float *const room = room_of(block, group, strip);
    if (first_tile && !(area->keep_b && block->chunk != 0)) {
        const struct fovea_source source = {area->b, plan->desc.ldb, plan->desc.trans_b == FOVEA_TRANS};
        fovea_pack_panels(plan->kernels, &source, block->p, begin, block->steps, end - begin, room);
    }
    return packed(room, block->steps);
}

// A where it lies, from row `row` and the block's first step on.
static inline __attribute__((always_inline)) struct rows a_source(const struct block *block, size_t row)
{
    const struct fovea_gemm_area *const area = block->area;
    const struct fovea_gemm_layout *const plan = area->plan;
    const ptrdiff_t ld = (ptrdiff_t)plan->desc.lda, i = (ptrdiff_t)row, p = (ptrdiff_t)block->p;
    if (block->steps == 0) {
        return (struct rows){b_source(block, 0).first, 0, 0};
    }
    if (area->a_copy != NULL) {
        const ptrdiff_t pitch = (ptrdiff_t)fovea_gemm_pitch(plan->k);
        return (struct rows){area->a_copy + i * pitch + p, pitch, 1};
    }
    return plan->desc.trans_a == FOVEA_TRANS ? (struct rows){area->a + p * ld + i, 1, ld}
                                             : (struct rows){area->a + i * ld + p, ld, 1};
}

void fovea_gemm_copy_a(const struct fovea_gemm_layout *plan, const float *a, size_t steps, size_t count, float *dst,
                       size_t pitch)
{
    const size_t lda = plan->desc.lda;
    if (plan->desc.trans_a == FOVEA_TRANS) {
        plan->kernels->transpose.run(steps, count, 1.0f, a, (ptrdiff_t)lda, dst, (ptrdiff_t)pitch);
        return;
    }
    for (size_t i = 0; i < count; i++) {
        memcpy(dst + i * pitch, a + i * lda, steps * sizeof(float));
    }
}

bool fovea_gemm_finishes(const struct fovea_gemm_area *area)
{
    const struct fovea_gemm_desc *const d = &area->plan->desc;
    return area->acc != NULL || d->alpha != 1 || area->bias != NULL || d->activation != FOVEA_ACTIVATION_NONE ||
           d->residual;
}

void fovea_gemm_finish(const struct fovea_gemm_area *area, const struct fovea_gemm_tile *tile, float *c, size_t row,
                       size_t column)
{
    const struct fovea_gemm_desc *const d = &area->plan->desc;
    if (!fovea_gemm_finishes(area)) {
        return;
    }
    const struct fovea_gemm_epilogue epilogue = {
        .m = tile->m,
        .n = d->gated ? tile->n / 2 : tile->n,
        .gated = d->gated,
        .acc = tile->c,
        .acc_row = tile->c_row,
        .c = c,
        .c_row = (ptrdiff_t)d->ldc,
        .alpha = d->alpha,
        .beta = d->beta,
        .bias = area->bias != NULL ? area->bias + column : NULL,
        .residual = d->residual ? area->residual + row * d->ldr + (d->gated ? column / 2 : column) : NULL,
        .residual_row = (ptrdiff_t)d->ldr,
        .act = (uint32_t)d->activation,
    };
    area->plan->kernels->gemm_epilogue.run(&epilogue);
}

// What the calls of a group's micro-kernels prefetch: the panels of the next group, or what they read themselves later.
struct ahead {
    const float *next;
    size_t calls;          // that have something left to prefetch
    ptrdiff_t step, panel; // as in struct fovea_gemm_tile
    ptrdiff_t call, turn;  // from one call to the next, from the last part of a panel to the next panel
    size_t part, parts;    // that a panel is prefetched in
    const float *half;     // of two tiles, where the second begins: each prefetches half of every panel
};

// The panels of a packed B that strips of one panel read are one stream, asked for so many steps ahead.
enum { STREAM_STEPS = 128 };

// A line comes from memory in some 300 cycles, during which it holds one of a dozen fill buffers, and B itself needs
// three of them to pass from L2 to L1: where there are calls enough, each prefetches a line every second step
// (128x3072x768: 79 % of the peak with a line a step in every fifth tile, 83 % with two tiles a panel).
enum { PARTS = 2 };

static struct ahead look_ahead(const struct block *block, size_t next, size_t end, size_t tiles, size_t strips)
{
    const struct fovea_gemm_area *const area = block->area;
    const struct fovea_gemm_layout *const plan = area->plan;
    const bool rows = area->b_panels == NULL && !plan->desc.b_packed && plan->desc.trans_b == FOVEA_TRANS;
    if (block->steps == 0 || plan->tuning->ahead == 0) {
        return (struct ahead){.next = NULL};
    }
    if (tiles == 1 && plan->desc.b_packed && plan->kernel->nr == FOVEA_PANEL && fovea_gemm_is_thin(plan->kernel)) {
        const struct panels b = b_source(block, next - strips); // the area's last panel has nothing behind it
        return (struct ahead){.next = b.first + STREAM_STEPS * b.step,
                              .calls = next < area->strip + area->strips ? strips : strips - 1,
                              .step = b.step,
                              .call = b.panel,
                              .parts = 1};
    }
    if (next >= end) {
        return (struct ahead){.next = NULL};
    }
    const size_t first = fovea_cut_begin(&plan->strips, next), panels = fovea_cut_begin(&plan->strips, end) - first;
    struct panels b;
    if (area->keep_b && block->chunk != 0) {
        b = packed(room_of(block, next, next), block->steps);
    } else if (rows) { // 16 rows of a transposed B: as many lines as steps, adjacent where a block is all of k
        const ptrdiff_t panel = (ptrdiff_t)(FOVEA_PANEL * plan->desc.ldb);
        const float *const rows_of_b = area->b;
        b = (struct panels){rows_of_b + (ptrdiff_t)first * panel + block->p, panel, FOVEA_PANEL};
    } else {
        b = b_source(block, first);
    }
    const size_t calls = tiles * strips;
    struct ahead ahead = {.next = b.first, .calls = panels, .step = b.step, .call = b.panel, .parts = 1};
    if (calls < panels) {
        ahead.calls = strips;
        ahead.panel = b.panel;
        ahead.call = (ptrdiff_t)fovea_ceil_div(panels, strips) * b.panel;
        if (tiles == 2 && b.step == FOVEA_PANEL) {
            ahead.calls = calls;
            ahead.step = FOVEA_PANEL / 2;
            ahead.half = b.first + (ptrdiff_t)block->steps * ahead.step;
        }
    } else if (calls >= PARTS * panels && b.step == FOVEA_PANEL) {
        ahead.calls = PARTS * panels;
        ahead.parts = PARTS;
        ahead.step = FOVEA_PANEL / PARTS;
        ahead.call = (ptrdiff_t)block->steps * ahead.step;
        ahead.turn = b.panel - (PARTS - 1) * ahead.call;
    }
    return ahead;
}

static inline __attribute__((always_inline)) void set_ahead(struct ahead *ahead, struct fovea_gemm_tile *tile)
{
    tile->ahead = NULL;
    if (ahead->calls == 0) {
        return;
    }
    ahead->calls--;
    tile->ahead = ahead->next;
    tile->ahead_step = ahead->step;
    tile->ahead_panel = ahead->panel;
    ahead->part = ahead->part + 1 < ahead->parts ? ahead->part + 1 : 0;
    ahead->next += ahead->parts > 1 && ahead->part == 0 ? ahead->turn : ahead->call;
}

// Tiles that one call of the micro-kernel takes, of `same` that are left with as many rows. A call costs up to 1 % of a
// product; but its rows of A have to stay in L1 while several strips pass, and what has to be done before or
// after a tile should find its rows there.
static size_t tiles_of_call(const struct ahead *ahead, size_t strips, bool hot, size_t same)
{
    return strips > 1 || ahead->calls != 0 ? 1 : hot ? fovea_min(FOVEA_HOT_TILES, same) : same;
}

// Rows [begin, begin + count) times strips [group, end).
static void run_group(const struct block *block, size_t begin, size_t count, size_t group, size_t end)
{
    const struct fovea_gemm_area *const area = block->area;
    const struct fovea_gemm_layout *const plan = area->plan;
    const struct fovea_gemm_desc *const d = &plan->desc;
    const struct fovea_cut tiles = fovea_cut(count, plan->mr);
    const size_t last = area->strip + area->strips, column0 = strip_begin(plan, area->strip);
    const bool whole_acc = area->acc != NULL && plan->blocks.count > 1;
    const size_t acc_row =
        whole_acc ? fovea_cut_begin(&plan->strips, last) * FOVEA_PANEL - column0 : fovea_gemm_columns(plan);
    struct ahead ahead = look_ahead(block, end, fovea_min(end + (end - group), last), tiles.count, end - group);
    struct fovea_gemm_tile tile = {.k = block->steps, .mode = block->first ? FOVEA_GEMM_STORE : FOVEA_GEMM_ADD};
    const bool room = area->a_room != NULL && block->steps != 0;
    const size_t pitch = fovea_gemm_pitch(plan->kc);
    size_t copied = group == area->strip ? begin : begin + count; // the room holds rows [begin, copied)
    const bool finishes = block->last && fovea_gemm_finishes(area);
    for (size_t t = 0, row = begin, rows; t < tiles.count; t += tile.below + 1, row += rows) {
        const size_t same = (t < tiles.longer ? tiles.longer : tiles.count) - t;
        tile.m = tiles.size + (t < tiles.longer);
        tile.below = tiles_of_call(&ahead, end - group, room || finishes, same) - 1;
        rows = tile.m * (tile.below + 1);
        for (; room && copied < row + rows; copied += COPY_ROWS) {
            fovea_gemm_copy_a(plan, a_source(block, copied).first, block->steps,
                              fovea_min(COPY_ROWS, begin + count - copied), area->a_room + (copied - begin) * pitch,
                              pitch);
        }
        const struct rows a =
            room ? (struct rows){area->a_room + (row - begin) * pitch, (ptrdiff_t)pitch, 1} : a_source(block, row);
        tile.a = a.first;
        ahead.next = t == 1 && ahead.half != NULL ? ahead.half : ahead.next;
        tile.a_row = a.row;
        tile.a_k = a.k;
        for (size_t strip = group; strip < end; strip++) {
            const size_t column = strip_begin(plan, strip);
            const struct panels b = b_of_strip(block, group, strip, t == 0);
            float *const c = area->c + row * d->ldc + (d->gated ? column / 2 : column);
            tile.n = strip_end(plan, strip) - column;
            tile.b = b.first;
            tile.b_panel = b.panel;
            tile.b_k = b.step;
            tile.c = area->acc == NULL ? c
                     : whole_acc       ? area->acc + (row - area->row) * acc_row + (column - column0)
                                       : area->acc;
            tile.c_row = area->acc != NULL ? (ptrdiff_t)acc_row : (ptrdiff_t)d->ldc;
            set_ahead(&ahead, &tile);
            plan->kernel->run(&tile);
            if (finishes) {
                const struct fovea_gemm_tile done = {.m = rows, .n = tile.n, .c = tile.c, .c_row = tile.c_row};
                fovea_gemm_finish(area, &done, c, row, column);
            }
        }
    }
}

void fovea_gemm_area(const struct fovea_gemm_area *area)
{
    const struct fovea_gemm_layout *const plan = area->plan;
    const size_t row_end = area->row + area->rows, strip_last = area->strip + area->strips;
    for (size_t i = 0; i < plan->blocks.count; i++) {
        const size_t p = fovea_cut_begin(&plan->blocks, i);
        struct block block = {area, p, fovea_cut_begin(&plan->blocks, i + 1) - p, i == 0, i + 1 == plan->blocks.count,
                              0};
        for (size_t row = area->row; row < row_end; row += area->chunk, block.chunk++) {
            const size_t rows = fovea_min(area->chunk, row_end - row);
            for (size_t group = area->strip, end; group < strip_last; group = end) {
                end = fovea_min(group + plan->group, strip_last);
                run_group(&block, row, rows, group, end);
            }
        }
    }
}
