// SPDX-License-Identifier: Apache-2.0
// ops/gemm_ways.h - the ways of a GEMM, file by file: what the planner asks of them, what runs an area.
//
// "A problem" is a plan whose way has not been chosen yet.
#ifndef FOVEA_OPS_GEMM_WAYS_H
#define FOVEA_OPS_GEMM_WAYS_H

#include "ops/gemm.h"

// ---- ops/gemm_plan.c

/// Whether rows of a tile of A, or of B, ld floats apart, alias in few sets of L1: read in place they then miss at
/// every step (1024 cubes: 77 % of the peak with A in place, 97 % copied).
bool fovea_gemm_rows_alias(size_t ld, size_t rows);

// ---- ops/gemm_area.c: in blocks

void fovea_gemm_area(const struct fovea_gemm_area *area);
/// Copies `count` rows of `steps` elements of op(A), the first at a, to dst, rows of `pitch` floats.
void fovea_gemm_copy_a(const struct fovea_gemm_layout *plan, const float *a, size_t steps, size_t count, float *dst,
                       size_t pitch);

// ---- ops/gemm_first.c: the first rows pack a transposed B

/// How many rows, if the plan's grid is known (first_rows); and the name of the kernel that computes them.
size_t fovea_gemm_first_rows(const struct fovea_gemm_layout *plan);
const char *fovea_gemm_first_kernel(const struct fovea_gemm_layout *plan);

// ---- ops/gemm_direct.c: directly

/// Whether a problem with its tiles and blocks is direct and, if it is, along the rows of C.
bool fovea_gemm_is_direct(const struct fovea_gemm_layout *plan);
bool fovea_gemm_is_along(const struct fovea_gemm_layout *plan);
/// Whether B stays in L2 while A and C, which do not, are streamed, and the problem allows this order.
bool fovea_gemm_passes_b(const struct fovea_gemm_layout *plan);
/// Whether a direct plan reads natural rows of B in place, whatever the number of rows of C; and whether it would, by
/// small tiles or by others.
bool fovea_gemm_in_place(const struct fovea_gemm_layout *plan);
bool fovea_gemm_reads_rows(const struct fovea_gemm_layout *plan, bool small);
/// Whether the first tiles of each strip prefetch the next one (fetches_next).
bool fovea_gemm_direct_ahead(const struct fovea_gemm_layout *plan);
/// Computes the edge's part of a tile, of any number of rows.
void fovea_gemm_run_edge(const struct fovea_gemm_layout *plan, const struct fovea_gemm_tile *tile);
/// Needs neither a_room nor a_copy.
void fovea_gemm_direct(const struct fovea_gemm_area *area);

// ---- ops/gemm_fit.c: tiles of a direct problem

/// Number of columns at the end of C that are computed separately, or 0.
size_t fovea_gemm_edge(const struct fovea_gemm_layout *plan);
/// The rows of C, cut into tiles.
struct fovea_cut fovea_gemm_cut_rows(const struct fovea_gemm_layout *plan);
/// The micro-kernel, where the edge is known: that of the class, or another of the ISA whose tiles cost less or, for
/// few rows, leave fewer strips.
const struct fovea_gemm_kernel *fovea_gemm_fitting(const struct fovea_gemm_layout *plan);

// ---- ops/gemm_bare.c: direct plans of nothing but tiles

bool fovea_gemm_is_bare(const struct fovea_gemm_layout *plan);
/// What all tiles of a direct plan have in common. natural: B is read in place, not from panels.
struct fovea_gemm_tile fovea_gemm_direct_tile(const struct fovea_gemm_layout *plan, bool natural);
/// Its last strip. Of any plan, but of use if it is bare.
struct fovea_gemm_last fovea_gemm_last_of(const struct fovea_gemm_layout *plan);
/// Whether a direct plan reads a natural B in whole panels up to column `end`; a partial last panel may be loaded in
/// full if ldb == n, because the bytes after it are the next row.
bool fovea_gemm_whole_panels(const struct fovea_gemm_layout *plan, size_t end);
/// The number of final rows for which that would read past the end of B.
size_t fovea_gemm_ends(const struct fovea_gemm_layout *plan, size_t end);
/// Runs all rows of one in this thread, without a bias.
void fovea_gemm_bare(const struct fovea_gemm_layout *plan, const struct fovea_gemm_args *args);

// ---- ops/gemm_bt.c: rows of a transposed B in place

/// Whether it reads rows side by side that are far apart, and how many lines ahead each is prefetched then; and whether
/// it prefetches others, into L2 or L1.
bool fovea_gemm_spreads(const struct fovea_gemm_layout *plan, size_t rows);
uint32_t fovea_gemm_stream(const struct fovea_gemm_layout *plan);
bool fovea_gemm_fetches(const struct fovea_gemm_layout *plan);
/// How many rows of B are read at a time: 8, 16 or 32.
uint32_t fovea_gemm_side(const struct fovea_gemm_layout *plan, size_t rows);
/// Whether so many rows of A are copied to b_room, which has FOVEA_L1_WAY floats more for that: the only one, if all
/// rows of a far B are in the same few sets of L1, where it may be, too.
bool fovea_gemm_moves_a(const struct fovea_gemm_layout *plan, size_t rows);
/// The area's rows of A with those of a step adjacent (row 1, or a single row): as they lie, or in b_room.
struct fovea_gemm_a fovea_gemm_turn_a(const struct fovea_gemm_area *area);
void fovea_gemm_bt(const struct fovea_gemm_area *area);

// ---- ops/gemm_few.c: a blob read once

enum { FOVEA_FEW_COLUMNS = 256 }; ///< whose sums wait in acc at a time, in whole panels
void fovea_gemm_few(const struct fovea_gemm_area *area);

// ---- ops/gemm_bn.c: a natural B, a few of its rows at a time

/// Whether a problem that is neither computed transposed nor directly has few enough rows; and the most rows for which
/// any has.
bool fovea_gemm_takes_steps(const struct fovea_gemm_layout *plan);
size_t fovea_gemm_step_rows(const struct fovea_kernels *kernels);
/// Whether it keeps the sums of so many rows in acc. c_splits: rows of C begin within cache lines.
bool fovea_gemm_steps_aside(const struct fovea_gemm_layout *plan, size_t rows, bool c_splits);
/// Floats of acc that a plan of this way needs; and that such plans for up to `rows` rows do.
size_t fovea_gemm_step_acc(const struct fovea_gemm_layout *plan);
size_t fovea_gemm_step_accs(const struct fovea_gemm_layout *plan, size_t rows);
/// The most tasks of its columns; columns at a time, as many as leave C in L2; lines by which prefetches run ahead.
size_t fovea_gemm_step_groups(const struct fovea_gemm_layout *plan);
size_t fovea_gemm_step_columns(const struct fovea_gemm_layout *plan);
size_t fovea_gemm_step_lines(const struct fovea_gemm_layout *plan);
void fovea_gemm_bn(const struct fovea_gemm_area *area);

/// A product of few rows of A and natural rows of B.
struct fovea_gemm_bn_problem {
    size_t rows, columns;
    struct fovea_gemm_a a;
    const float *b;
    size_t ldb;
    bool near; ///< B is in L2: nothing is prefetched
};

/// Writes its raw sums to c.
void fovea_gemm_bn_sums(const struct fovea_gemm_layout *plan, const struct fovea_gemm_bn_problem *of, float *c,
                        ptrdiff_t c_row);

// ---- ops/gemm_flip.c: C of few columns, transposed

/// Whether a problem has so few columns.
bool fovea_gemm_takes_columns(const struct fovea_gemm_layout *plan);
/// How A lies as the B of the product that a plan which flips computes (ops/gemm_flip.c). The plan has the numbers of
/// that product's class: few rows over all of A.
static inline enum fovea_gemm_form fovea_gemm_flip_form(const struct fovea_gemm_desc *d)
{
    return d->trans_a == FOVEA_TRANS ? FOVEA_FORM_NN : FOVEA_FORM_NT;
}

bool fovea_gemm_flip_is_far(const struct fovea_gemm_layout *plan);   ///< A comes from beyond L2
bool fovea_gemm_flip_fetches(const struct fovea_gemm_layout *plan);  ///< rows of a natural A are prefetched
uint32_t fovea_gemm_flip_side(const struct fovea_gemm_layout *plan); ///< rows of a natural A read at a time: 16 or 32
size_t fovea_gemm_flip_rows(const struct fovea_gemm_layout *plan);   ///< rows of C computed at a time
/// Floats of scratch; false if they overflow.
bool fovea_gemm_flip_scratch(const struct fovea_gemm_layout *plan, size_t *floats);
/// Computes an area, with all of its columns.
void fovea_gemm_flip(const struct fovea_gemm_area *area, float *scratch);

// ---- ops/gemm_finish.c: epilogues

/// Whether the sums still need an epilogue after the last k block; and whether its tiles apply it, with the terms of
/// fovea_gemm_terms().
bool fovea_gemm_finishes(const struct fovea_gemm_area *area);
bool fovea_gemm_finishes_in_tiles(const struct fovea_gemm_area *area);
struct fovea_gemm_terms fovea_gemm_terms(const struct fovea_gemm_layout *plan);
/// Sets the addresses and steps of a call's terms, if it has any, for tiles below or beside one another, the first at
/// this position of C.
void fovea_gemm_place_terms(const struct fovea_gemm_area *area, const struct fovea_gemm_tile *tile, bool below,
                            size_t row, size_t column, struct fovea_gemm_terms *terms);
/// m x n sums.
struct fovea_gemm_sums {
    size_t m, n;
    const float *acc;
    ptrdiff_t acc_row;
};
/// Applies the epilogue to sums, which become elements of C at c (gated: half as many columns). They are those of row
/// `row` and column `column` of the whole.
void fovea_gemm_finish(const struct fovea_gemm_area *area, const struct fovea_gemm_sums *sums, float *c, size_t row,
                       size_t column);

#endif
