// SPDX-License-Identifier: Apache-2.0
// ops/gemm.h - the GEMM plan, how it cuts C into tasks, and the loops over one area of C.
#ifndef FOVEA_OPS_GEMM_H
#define FOVEA_OPS_GEMM_H

#include "fovea/gemm.h"
#include "kernels/table.h"
#include "ops/caches.h"
#include "ops/run.h"

/// How a product is computed, or an area of it: the last two ways are of few rows (fovea_gemm_way_of).
enum fovea_gemm_way {
    FOVEA_WAY_BLOCKS, ///< gemm_area.c: blocks of k, chunks of rows, groups of strips
    FOVEA_WAY_DIRECT, ///< gemm_direct.c: the product, or its B, is so small that it runs without blocks
    FOVEA_WAY_STEPS,  ///< gemm_bn.c: few rows of C over a natural B, of which a few rows are read at a time
    FOVEA_WAY_FLIP,   ///< gemm_flip.c: C has so few columns that it is computed transposed
    FOVEA_WAY_ROWS,   ///< gemm_bt.c: few rows of C over a transposed B, whose rows are read in place
    FOVEA_WAY_FEW,    ///< gemm_few.c: few rows of C over a blob, which is read once
};

/// The last strip of a bare plan: its columns, how many of them overlap the strip before it, and b_ends of its tiles.
struct fovea_gemm_last {
    size_t n, back, ends;
};

/// The plan behind fovea_gemm_plan. Its members are in the order in which fovea_gemm_make decides them, stage after
/// stage; a stage depends only on earlier ones. Below, "a problem" is a plan whose way (the algorithm: flips, direct,
/// steps or blocks) has not been chosen yet.
struct fovea_gemm_layout {
    struct fovea_work work;

    // The problem: what follows from the descriptor.
    const struct fovea_kernels *kernels;
    const struct fovea_gemm_tuning *tuning; ///< the numbers of this class of shapes
    struct fovea_gemm_desc desc; ///< as given, except that trans_b and ldb are 0 if b_packed is 1; and a blob of
                                 ///< smaller elements, which may be packed on the way like a transposed B, has b_packed
                                 ///< 0, trans_b 1 and its b_type
    size_t k;                    ///< k steps to compute: desc.k, or 0 if alpha is 0
    bool aliases;     ///< A is transposed, or its rows alias in few sets of L1: in blocks, calls of many rows copy it
    bool b_aliases;   ///< rows of B, natural or transposed, alias in few sets of L1
    size_t once_rows; ///< areas of at most as many rows take once_way, whatever the way; 0: none does
    enum fovea_gemm_way once_way;
    bool detour; ///< sums go to acc in scratch first, because C, or a residual that is C, is read at the end
    bool terms;  ///< in blocks and direct plans tiles apply the epilogue (fovea_gemm_terms), unless several k blocks
                 ///< keep their sums in acc

    // Tiles and blocks: those of the class, unless the way replaces them.
    const struct fovea_gemm_kernel *kernel;
    size_t mr;               ///< rows of a tile
    struct fovea_cut strips; ///< strips of panels of 16 columns, each as wide as a micro-kernel takes at once; plus an
                             ///< edge
    struct fovea_cut blocks; ///< k blocks, in units of `unit` steps, of which the last may lack some; if k is 0, one
                             ///< without steps
    size_t unit;
    size_t kc; ///< k steps of the longest block

    enum fovea_gemm_way way; ///< of areas of more than once_rows rows
    size_t edge;             ///< columns of the last strip if they have a kernel of their own, otherwise 0
    bool passes;             ///< direct, along the rows of C, because B stays in L2 while A and C do not
    bool along;              ///< direct: C is written along its rows rather than strip by strip

    // What a call reads.
    bool aside;                  ///< in blocks, the sums of a product with an activation go to acc in scratch as well,
                                 ///< so that each line of C is written once
    struct fovea_cut tiles;      ///< desc.m cut into tiles: saves two divisions, 100 cycles, which matter to a small
                                 ///< product
    struct fovea_gemm_grid grid; ///< for desc.m rows
    bool fetches_next;           ///< direct, and the first tiles of each strip prefetch the next one
    size_t first_rows; ///< rows of C, if there are more, that gemm_bt computes while it packs a transposed B for the
                       ///< others, strip by strip (ops/gemm_first.c); or 0
    bool bare;         ///< direct, and consists of tiles only: ops/gemm_bare.c
    struct fovea_gemm_tile tile; ///< everything about those tiles except rows, columns and addresses
    struct fovea_gemm_last last; ///< the last strip of a bare plan

    // What stays in L2.
    size_t group; ///< strips that stay there while the rows of a chunk are processed
    size_t chunk; ///< rows that are processed before the next group of strips

    // Memory, in floats.
    size_t a_room, b_room; ///< in scratch, behind acc
    size_t first_room;     ///< in scratch as well: A of the first rows, even if grid shares B: a call of fewer rows
                           ///< may not, nor does one thread
    size_t b_offset;       ///< offset of B's panels in shared, after A
    bool c_room;           ///< one thread has room in shared for an acc with the sums of all of C,
    size_t c_offset;       ///< at this offset
    size_t own_rows;       ///< calls of at most as many rows may have a plan of their own: fovea_gemm_make_own
};

/// Most tiles that one call of a micro-kernel computes if what comes before or after should find their rows in L1. Two
/// stay within the ways of a set if rows of C are a multiple of 4 KiB apart (bias and GELU over 768 steps, Zen 4: 3.5
/// to 4.1 % over the plain product, AVX2 7.5 to 9; four tiles 3.5 to 4.6, 8.5 to 9; C as acc 4.5, 10).
enum { FOVEA_HOT_TILES = 2 };

/// Number of rows above which a B that is packed on the way is packed once and kept whole, if there is room
/// (pass_rows): packing a strip takes as long as 4 (natural) to 8 rows of C.
enum { FOVEA_KEEP_ROWS = 256 };

/// A rectangle of rows x strips of one C, and the location of its operands.
struct fovea_gemm_area {
    const struct fovea_gemm_layout *plan;
    const float *a;
    const void *b;
    float *c;
    const float *bias, *residual;
    size_t row, rows;      ///< of C
    size_t strip, strips;  ///< strips of the plan
    size_t chunk;          ///< rows that are processed before the next group of strips (one thread: pass_rows)
    const float *a_copy;   ///< all of A as rows of fovea_gemm_pitch(k), or NULL
    const float *b_panels; ///< all of B packed, or NULL
    float *a_room;         ///< chunk x fovea_gemm_pitch(kc) floats, or NULL: A is read in place
    float *b_room;         ///< a group x kc floats; used if pack_b, and for a partial panel of a natural B
    float *first_room;     ///< kc x FOVEA_PANEL floats; used if the plan has first rows
    bool pack_b;           ///< B is packed into b_room rather than read in place
    bool keep_b;           ///< b_room holds all strips of a k block, so that they are packed once, not for each chunk
                           ///< of rows
    float *acc;            ///< holds the sums if C cannot: those of the tiles of a call (one k block), rows x columns,
                           ///< or, in gemm_bn.c, rows of fovea_gemm_pitch(fovea_gemm_step_columns()) floats; or NULL
};

/// A of a kernel: A[i,p] = first[i * row + p * k].
struct fovea_gemm_a {
    const float *first;
    ptrdiff_t row, k;
};

/// A of a problem, as it lies.
static inline struct fovea_gemm_a fovea_gemm_a_of(const struct fovea_gemm_desc *d, const float *a)
{
    const ptrdiff_t ld = (ptrdiff_t)d->lda;
    return d->trans_a == FOVEA_TRANS ? (struct fovea_gemm_a){a, 1, ld} : (struct fovea_gemm_a){a, ld, 1};
}

/// Whether the micro-kernels of slot gemm compute it, strip by strip.
static inline bool fovea_gemm_has_strips(const struct fovea_gemm_layout *plan)
{
    return plan->way == FOVEA_WAY_BLOCKS || plan->way == FOVEA_WAY_DIRECT;
}

/// Whether B is a blob: of f32 (b_packed), or of smaller elements.
static inline bool fovea_gemm_is_blob(const struct fovea_gemm_desc *d)
{
    return d->b_packed || d->b_type != FOVEA_F32;
}

static inline enum fovea_gemm_form fovea_gemm_form_of(const struct fovea_gemm_desc *d)
{
    return d->b_packed ? FOVEA_FORM_PACKED : d->trans_b == FOVEA_TRANS ? FOVEA_FORM_NT : FOVEA_FORM_NN;
}

/// The way of an area of so many rows: each decides, because a call may have fewer rows than its plan, and a task fewer
/// than its call.
static inline enum fovea_gemm_way fovea_gemm_way_of(const struct fovea_gemm_layout *plan, size_t rows)
{
    return rows <= plan->once_rows ? plan->once_way : plan->way;
}

/// How A lies as the B of the product that a plan which flips computes (ops/gemm_flip.c). The plan has the numbers of
/// that product's class: few rows over all of A.
static inline enum fovea_gemm_form fovea_gemm_flip_form(const struct fovea_gemm_desc *d)
{
    return d->trans_a == FOVEA_TRANS ? FOVEA_FORM_NN : FOVEA_FORM_NT;
}

/// Checks a descriptor (ops/gemm_check.c); and fovea_gemm_plan into a struct that need not be aligned. `why` receives
/// the reason of a failure.
enum fovea_status fovea_gemm_check(const struct fovea_gemm_desc *desc, const struct fovea_why *why);
enum fovea_status fovea_gemm_make(const struct fovea_engine *engine, const struct fovea_gemm_desc *desc,
                                  struct fovea_gemm_layout *plan, const struct fovea_why *why);
/// Makes the plan of a call with up to own_rows rows, in the memory and with the phases of the given plan. Returns
/// false if it needs more than these. even: as of fovea_gemm_grid.
bool fovea_gemm_make_own(const struct fovea_gemm_layout *plan, size_t rows, bool even, struct fovea_gemm_layout *own);
extern const struct fovea_operator fovea_gemm_operator;
/// "relu", by enum fovea_activation.
extern const char *const fovea_activation_names[FOVEA_ACTIVATION_SILU + 1];

/// Computes an area of C (ops/gemm_area.c).
void fovea_gemm_area(const struct fovea_gemm_area *area);
/// Rows of C that a plan whose grid is known computes first (first_rows).
size_t fovea_gemm_first_rows(const struct fovea_gemm_layout *plan);
/// The name of the kernel that computes them.
const char *fovea_gemm_first_kernel(const struct fovea_gemm_layout *plan);
/// The same for a direct plan; needs neither a_room nor a_copy.
void fovea_gemm_direct(const struct fovea_gemm_area *area);
/// Whether the first tiles of each strip of a direct plan prefetch the next one (fetches_next).
bool fovea_gemm_direct_ahead(const struct fovea_gemm_layout *plan);
/// What all tiles of a direct plan have in common. natural: B is read in place, not from panels.
struct fovea_gemm_tile fovea_gemm_direct_tile(const struct fovea_gemm_layout *plan, bool natural);
/// whole_panels(): whether a direct plan reads a natural B in whole panels up to column `end`; a partial last panel may
/// be loaded in full if ldb == n, because the bytes after it are the next row. ends(): the number of final rows for
/// which that would read past the end of B.
bool fovea_gemm_whole_panels(const struct fovea_gemm_layout *plan, size_t end);
size_t fovea_gemm_ends(const struct fovea_gemm_layout *plan, size_t end);
/// is_bare(): whether a direct plan consists of tiles only (ops/gemm_bare.c). last_strip(): the last columns of one.
/// bare(): runs all of its rows in this thread, without a bias.
bool fovea_gemm_is_bare(const struct fovea_gemm_layout *plan);
struct fovea_gemm_last fovea_gemm_last_strip(const struct fovea_gemm_layout *plan);
void fovea_gemm_bare(const struct fovea_gemm_layout *plan, const struct fovea_gemm_args *args);
/// Number of columns at the end of C that a direct problem computes separately, or 0.
size_t fovea_gemm_edge(const struct fovea_gemm_layout *plan);
/// The micro-kernel of a direct problem, whose edge is known: that of its class, or another of the ISA whose tiles cost
/// less or, for few rows, leave fewer strips (ops/gemm_fit.c).
const struct fovea_gemm_kernel *fovea_gemm_fitting(const struct fovea_gemm_layout *plan);
/// Smallest number of rows for which a problem that is not direct packs natural rows of B.
size_t fovea_gemm_packed_from(const struct fovea_gemm_layout *plan);
/// Whether a direct plan reads natural rows of B in place, whatever the number of rows of C; and whether it would, by
/// small tiles or by others.
bool fovea_gemm_in_place(const struct fovea_gemm_layout *plan);
bool fovea_gemm_reads_rows(const struct fovea_gemm_layout *plan, bool small);
/// Whether it reads rows of B side by side that are far apart, and how many lines ahead each is prefetched then; and
/// whether it prefetches others, into L2 or L1.
bool fovea_gemm_spreads(const struct fovea_gemm_layout *plan, size_t rows);
uint32_t fovea_gemm_stream(const struct fovea_gemm_layout *plan);
bool fovea_gemm_fetches(const struct fovea_gemm_layout *plan);
/// How many rows of B are read at a time: 8, 16 or 32.
uint32_t fovea_gemm_side(const struct fovea_gemm_layout *plan, size_t rows);
void fovea_gemm_bt(const struct fovea_gemm_area *area);
/// Whether so many rows of A are copied to b_room, which has FOVEA_L1_WAY floats more for that: the only one, if all
/// rows of a far B are in the same few sets of L1, where it may be, too.
bool fovea_gemm_moves_a(const struct fovea_gemm_layout *plan, size_t rows);
/// The area's rows of A with those of a step adjacent (row 1, or a single row): as they lie, or in b_room.
struct fovea_gemm_a fovea_gemm_turn_a(const struct fovea_gemm_area *area);
void fovea_gemm_few(const struct fovea_gemm_area *area);
enum { FOVEA_FEW_COLUMNS = 256 }; ///< whose sums wait in acc at a time there, in whole panels
/// takes_steps(): whether a problem that is neither computed transposed nor directly has so few rows that a few rows of
/// a natural B are read at a time. step_rows(): the most rows for which any is. step_groups(): the most tasks of its
/// columns. step_columns(): columns at a time, as many as leave C in L2. step_acc(): floats of acc that plans for up to
/// `rows` rows need, if any. step_lines(): lines by which prefetches run ahead. bn(): computes an area (ops/gemm_bn.c).
bool fovea_gemm_takes_steps(const struct fovea_gemm_layout *plan);
size_t fovea_gemm_step_rows(const struct fovea_kernels *kernels);
/// Whether it keeps the sums of so many rows in acc. split: rows of C begin within cache lines.
bool fovea_gemm_steps_aside(const struct fovea_gemm_layout *plan, size_t rows, bool split);
size_t fovea_gemm_step_groups(const struct fovea_gemm_layout *plan);
size_t fovea_gemm_step_columns(const struct fovea_gemm_layout *plan);
size_t fovea_gemm_step_acc(const struct fovea_gemm_layout *plan, size_t rows);
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
/// takes_columns(): whether a problem has so few columns that C is computed transposed. flip_scratch(): floats of
/// scratch that this takes; false if they overflow. flip(): computes an area, with all of its columns
/// (ops/gemm_flip.c).
bool fovea_gemm_takes_columns(const struct fovea_gemm_layout *plan);
bool fovea_gemm_flip_is_far(const struct fovea_gemm_layout *plan);   ///< A comes from beyond L2
bool fovea_gemm_flip_fetches(const struct fovea_gemm_layout *plan);  ///< rows of a natural A are prefetched
uint32_t fovea_gemm_flip_side(const struct fovea_gemm_layout *plan); ///< rows of a natural A read at a time: 16 or 32
size_t fovea_gemm_flip_rows(const struct fovea_gemm_layout *plan);   ///< rows of C computed at a time
bool fovea_gemm_flip_scratch(const struct fovea_gemm_layout *plan, size_t *floats);
void fovea_gemm_flip(const struct fovea_gemm_area *area, float *scratch);
/// Whether rows of a tile of A, or of B, ld floats apart, alias in few sets of L1: read in place they then miss at
/// every step (1024 cubes: 77 % of the peak with A in place, 97 % copied).
bool fovea_gemm_rows_alias(size_t ld, size_t rows);
/// Whether a problem with its tiles and blocks is direct and, if it is, along the rows of C (ops/gemm_direct.c).
bool fovea_gemm_is_direct(const struct fovea_gemm_layout *plan);
bool fovea_gemm_is_along(const struct fovea_gemm_layout *plan);
/// Whether B stays in L2 while A and C, which do not, are streamed, and the problem allows this order.
bool fovea_gemm_passes_b(const struct fovea_gemm_layout *plan);
/// ops/gemm_finish.c. finishes(): whether the sums still need an epilogue after the last k block. finishes_in_tiles():
/// whether its tiles apply it, with the terms of fovea_gemm_terms().
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
/// Copies `count` rows of `steps` elements of op(A), the first at a, to dst, rows of `pitch` floats.
void fovea_gemm_copy_a(const struct fovea_gemm_layout *plan, const float *a, size_t steps, size_t count, float *dst,
                       size_t pitch);

/// Whether a micro-kernel is for few rows: fovea_is_thin.
static inline bool fovea_gemm_is_thin(const struct fovea_gemm_kernel *kernel)
{
    return fovea_is_thin(kernel->mr, kernel->nr);
}

/// Whether a micro-kernel has small tiles: fovea_is_small.
static inline bool fovea_gemm_is_small(const struct fovea_gemm_kernel *kernel)
{
    return fovea_is_small(kernel->mr, kernel->nr);
}

/// Columns of the widest strip, in whole panels.
static inline size_t fovea_gemm_columns(const struct fovea_gemm_layout *plan)
{
    return fovea_cut_longest(&plan->strips) * FOVEA_PANEL;
}

/// The first column of a strip, and the one behind its last.
static inline size_t fovea_gemm_strip_begin(const struct fovea_gemm_layout *plan, size_t strip)
{
    return fovea_cut_begin(&plan->strips, strip) * FOVEA_PANEL;
}

static inline size_t fovea_gemm_strip_end(const struct fovea_gemm_layout *plan, size_t strip)
{
    return fovea_min(fovea_gemm_strip_begin(plan, strip + 1), plan->desc.n);
}

/// Makes the tile the first of `tiles` below one another.
static inline void fovea_gemm_below(struct fovea_gemm_tile *tile, size_t tiles)
{
    tile->more = tiles - 1;
    tile->a_next = (ptrdiff_t)tile->m * tile->a_row;
    tile->b_next = 0;
    tile->c_next = (ptrdiff_t)tile->m * tile->c_row;
}

/// Makes the tile the first of `tiles` side by side. The overhead between two calls of a micro-kernel costs as much as
/// three to six steps.
static inline void fovea_gemm_beside(struct fovea_gemm_tile *tile, size_t tiles)
{
    tile->more = tiles - 1;
    tile->a_next = 0;
    tile->b_next = (ptrdiff_t)(tile->n / FOVEA_PANEL) * tile->b_panel;
    tile->c_next = (ptrdiff_t)tile->n;
}

/// Number of strips from `strip` to `end` that are as wide as it, and so can be tiles beside one another. Only the last
/// strip of C may end within a panel.
static inline size_t fovea_gemm_strips_alike(const struct fovea_gemm_layout *plan, size_t strip, size_t end)
{
    const struct fovea_cut *const strips = &plan->strips;
    const size_t same = fovea_min(strip + fovea_cut_alike(strips, strip), end) - strip;
    return same > 1 && strip + same == strips->count && plan->desc.n % FOVEA_PANEL != 0 ? same - 1 : same;
}

/// Computes tiles below one another in the edge (ops/gemm_direct.c).
void fovea_gemm_run_edge(const struct fovea_gemm_layout *plan, const struct fovea_gemm_tile *tiles);

/// How m rows are cut into tasks; `even`: takes some us more, to make a few workers finish together. fovea_gemm_count:
/// the number of tasks of a phase (ops/gemm_grid.c).
struct fovea_gemm_grid fovea_gemm_grid(const struct fovea_gemm_layout *plan, size_t m, bool even);
/// Least work of a task, in k steps of one element of C: 20 us on a core of 77 G steps/s (two AVX-512 FMA ports at 2.4
/// GHz).
enum { FOVEA_TASK_STEPS = 3 << 19 };
/// Work of `rows` x `columns` of C, in steps, by which tasks are cut.
double fovea_gemm_work(const struct fovea_gemm_layout *plan, size_t rows, double columns);
/// How many workers should share work worth this many tasks: one if below two, otherwise all that then have 5 us each.
size_t fovea_gemm_workers(const struct fovea_gemm_layout *plan, double worth);
/// Replaces the pieces of a grid of m rows, with at most `rows` and `groups` pieces, if the plan's workers then finish
/// sooner. worth: the product in units of tasks of 20 us (ops/gemm_balance.c).
void fovea_gemm_balance(const struct fovea_gemm_layout *plan, size_t m, double worth, size_t rows, size_t groups,
                        struct fovea_gemm_grid *grid);
/// Whether every task has at least a whole batch entry of m rows.
bool fovea_gemm_whole(const struct fovea_gemm_layout *plan, size_t m);
/// Floats of acc that a task needs at most.
size_t fovea_gemm_acc(const struct fovea_gemm_layout *plan);
uint32_t fovea_gemm_count(const struct fovea_gemm_layout *plan, const struct fovea_gemm_grid *grid, size_t m,
                          uint32_t phase);

/// Row stride, in floats, of a copy of k columns of A: an odd number of cache lines, so that rows spread over all sets;
/// but not such that the lines of a step are in sets beside one another (Zen 4, 13 to 15 rows of 2048, 3072 and 4096
/// steps, panels from memory: 0.89 to 0.91; 16 rows, and more by 9x48, the same either way).
static inline size_t fovea_gemm_pitch(size_t k)
{
    const size_t lines = fovea_ceil_div(k, FOVEA_LINE) | 1;
    return (lines % FOVEA_L1_SETS == 1 ? lines + 2 : lines) * FOVEA_LINE;
}

/// Rows of A or columns of B that a task of phase 0 prepares, in whole panels (ops/gemm_grid.c).
size_t fovea_gemm_group(const struct fovea_gemm_layout *plan, const struct fovea_gemm_grid *grid, size_t m);

#endif
