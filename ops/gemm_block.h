// SPDX-License-Identifier: Apache-2.0
// ops/gemm_block.h - a k block of an area of C, and the location of its operands: part of ops/gemm_area.c and
// ops/gemm_first.c.
#ifndef FOVEA_OPS_GEMM_BLOCK_H
#define FOVEA_OPS_GEMM_BLOCK_H

#include "ops/gemm_ways.h"
#include "ops/pack.h"

// B[p,j] = first[(j / 16) * panel + p * step + j % 16]: packed panels, or natural rows (panel 16).
struct gemm_panels {
    const float *first;
    ptrdiff_t panel, step;
};

// A k block of the area: steps [p, p + steps).
struct gemm_block {
    const struct fovea_gemm_area *area;
    size_t p, steps;
    bool first, last;
    size_t chunk; // index of the chunk of rows
};

// The first step of a k block, or k.
static inline size_t gemm_block_begin(const struct fovea_gemm_layout *plan, size_t i)
{
    return fovea_min(fovea_cut_begin(&plan->blocks, i) * plan->unit, plan->k);
}

// Whether acc holds the sums of the whole area, because there are several k blocks; otherwise of one call.
static inline bool gemm_acc_is_whole(const struct fovea_gemm_area *area)
{
    return area->acc != NULL && area->plan->blocks.count > 1;
}

// Floats from a row of acc to the next, and where the sums from that row and column of C on are.
static inline size_t gemm_acc_row(const struct fovea_gemm_area *area)
{
    const struct fovea_gemm_layout *const plan = area->plan;
    return gemm_acc_is_whole(area)
               ? fovea_gemm_strip_begin(plan, area->strip + area->strips) - fovea_gemm_strip_begin(plan, area->strip)
               : fovea_gemm_columns(plan);
}

static inline float *gemm_acc_at(const struct fovea_gemm_area *area, size_t row, size_t column)
{
    const size_t column0 = fovea_gemm_strip_begin(area->plan, area->strip);
    return !gemm_acc_is_whole(area) ? area->acc
                                    : area->acc + (row - area->row) * gemm_acc_row(area) + (column - column0);
}

static inline struct gemm_panels gemm_packed(const float *first, size_t k)
{
    return (struct gemm_panels){first, (ptrdiff_t)(FOVEA_PANEL * k), FOVEA_PANEL};
}

// b from step p and panel j on.
static inline struct gemm_panels gemm_moved(struct gemm_panels b, size_t p, size_t j)
{
    b.first += (ptrdiff_t)p * b.step + (ptrdiff_t)j * b.panel;
    return b;
}

// The location of the block's B from panel j on, packed or natural. Inlined, like gemm_a_source, gemm_set_ahead and
// b_of_strip, so that the returned struct stays in registers. In memory, its members would just have been stored one by
// one, and a vector load of two of them waits until all earlier stores are in L1, including those of the last tile of C
// (Zen 5, C from L3: 950 cycles a tile).
static inline __attribute__((always_inline)) struct gemm_panels gemm_b_source(const struct gemm_block *block, size_t j)
{
    static const float nothing[FOVEA_PANEL]; // stands in for A and B if there are no steps
    const struct fovea_gemm_area *const area = block->area;
    const struct fovea_gemm_desc *const d = &area->plan->desc;
    if (block->steps == 0) {
        return gemm_packed(nothing, 0);
    }
    if (d->b_packed) {
        return gemm_moved(gemm_packed(fovea_blob_panels(area->b), area->plan->k), block->p, j);
    }
    if (area->b_panels != NULL) {
        return gemm_moved(gemm_packed(area->b_panels, area->plan->k), block->p, j);
    }
    const struct gemm_panels natural = {area->b, FOVEA_PANEL, (ptrdiff_t)d->ldb};
    return gemm_moved(natural, block->p, j);
}

// Whether b_room holds the strips of the block already: chunks of rows after the first find them there.
static inline bool gemm_is_kept(const struct gemm_block *block)
{
    return block->area->keep_b && block->chunk != 0;
}

// The location of a strip in b_room, which holds the strips from `group` on, or all of the area.
static inline float *gemm_room_of(const struct gemm_block *block, size_t group, size_t strip)
{
    const struct fovea_gemm_area *const area = block->area;
    const size_t first = fovea_gemm_strip_begin(area->plan, area->keep_b ? area->strip : group);
    return area->b_room + (fovea_gemm_strip_begin(area->plan, strip) - first) * block->steps;
}

// A in place, from row `row` and the block's first step on.
static inline __attribute__((always_inline)) struct fovea_gemm_a gemm_a_source(const struct gemm_block *block,
                                                                               size_t row)
{
    const struct fovea_gemm_area *const area = block->area;
    const struct fovea_gemm_layout *const plan = area->plan;
    const ptrdiff_t ld = (ptrdiff_t)plan->desc.lda, i = (ptrdiff_t)row, p = (ptrdiff_t)block->p;
    if (block->steps == 0) {
        return (struct fovea_gemm_a){gemm_b_source(block, 0).first, 0, 0};
    }
    if (area->a_copy != NULL) {
        const ptrdiff_t pitch = (ptrdiff_t)fovea_gemm_pitch(plan->k);
        return (struct fovea_gemm_a){area->a_copy + i * pitch + p, pitch, 1};
    }
    return plan->desc.trans_a == FOVEA_TRANS ? (struct fovea_gemm_a){area->a + p * ld + i, 1, ld}
                                             : (struct fovea_gemm_a){area->a + i * ld + p, ld, 1};
}

/// Computes the first of `count` rows from `row` on over strips [strip, end) of a transposed B, and packs these.
/// Returns how many rows: plan->first_rows, or none, and then nothing is packed (ops/gemm_first.c).
size_t fovea_gemm_first(const struct gemm_block *block, size_t row, size_t count, size_t strip, size_t end);

#endif
