// SPDX-License-Identifier: Apache-2.0
// ops/gemm.h - what a GEMM plan holds, how it cuts C into tasks, and the loops over one area of C.
#ifndef FOVEA_OPS_GEMM_H
#define FOVEA_OPS_GEMM_H

#include "fovea/gemm.h"
#include "kernels/kernel.h"
#include "ops/run.h"

/// How a product is computed. Few rows over a transposed B leave all but the last for gemm_bt.c, as each area decides
/// for itself (fovea_gemm_takes_rows): a call may have fewer rows than its plan.
enum fovea_gemm_way {
    FOVEA_WAY_BLOCKS, ///< gemm_area.c: blocks of k, chunks of rows, groups of strips
    FOVEA_WAY_DIRECT, ///< gemm_direct.c: all of it, or B, is so small that there are no blocks
    FOVEA_WAY_STEPS,  ///< gemm_bn.c: few rows of C, a few rows of a natural B at a time
    FOVEA_WAY_FLIP,   ///< gemm_flip.c: few columns of C, which is computed transposed
};

/// The last strip of a bare plan: its columns, how many of them the one before has too, and b_ends of its tiles.
struct fovea_gemm_last {
    size_t n, back, ends;
};

/// The plan behind fovea_gemm_plan. Its members stand in the order in which fovea_gemm_make decides them, stage after
/// stage; what decides a stage reads nothing of a later one. "A problem" below is a plan that has no way yet.
struct fovea_gemm_layout {
    struct fovea_work work;

    // The problem: what follows from the descriptor.
    const struct fovea_kernels *kernels;
    const struct fovea_gemm_tuning *tuning; ///< the numbers of this class of shapes
    struct fovea_gemm_desc desc;
    size_t k;       ///< k steps to do: desc.k, or 0 where alpha is 0
    bool aliases;   ///< A is transposed, or its rows meet in few sets of L1: tall calls copy it, unless it flips
    bool b_aliases; ///< rows of B, natural or transposed, meet in few sets of L1
    size_t bt_rows; ///< up to so many over a transposed B they go the way of gemm_bt.c
    bool detour;    ///< there is room for acc in scratch: C, or a residual that is C, is read at the end
    bool terms;     ///< in blocks and directly tiles do what becomes of sums, unless several k blocks keep those in acc

    // Tiles and blocks: those of the class, until the way has others.
    const struct fovea_gemm_kernel *kernel;
    size_t mr;               ///< rows of a tile
    struct fovea_cut strips; ///< of panels of 16 columns, each what a micro-kernel takes at once; and an edge
    struct fovea_cut blocks; ///< of k; one of no steps where k is 0
    size_t kc;               ///< k steps of the longest

    enum fovea_gemm_way way;
    size_t edge; ///< columns of the last strip where they have a kernel of their own, or 0
    bool passes; ///< direct, along the rows of C, as B stays in L2 and A and C do not
    bool along;  ///< direct, C is written along its rows rather than strip by strip

    // What a call reads.
    bool aside;                  ///< an activation makes C of acc in scratch as well: C's lines are written once
    struct fovea_cut tiles;      ///< desc.m into them: two divisions, 100 cycles, that a small product notices
    struct fovea_gemm_grid grid; ///< for desc.m rows
    bool bare;                   ///< direct, and nothing but tiles: ops/gemm_bare.c
    struct fovea_gemm_tile tile; ///< all but rows, columns and addresses of those
    struct fovea_gemm_last last; ///< the last strip of a bare plan

    // What stays in L2.
    size_t group; ///< strips that stay there while the rows of a chunk pass
    size_t chunk; ///< rows that pass before the next group of strips (one thread: pass_rows)

    // Memory, in floats.
    size_t a_room, b_room; ///< in scratch, behind acc
    size_t b_offset;       ///< of B's panels in shared, behind A
    size_t c_offset;       ///< of acc in shared, where
    bool c_room;           ///< one thread has room there for that of all of C
};

/// Tiles that one call of a micro-kernel takes, at most, where what comes before or after should find their rows in L1.
/// Two keep within the ways of a set where rows of C are a multiple of 4 KiB apart (bias and GELU over 768 steps, Zen
/// 4: 3.5 to 4.1 % over the plain product, AVX2 7.5 to 9; four tiles 3.5 to 4.6, 8.5 to 9; C as acc 4.5, 10).
enum { FOVEA_HOT_TILES = 2 };

/// Rows x strips of one C, and where its operands come from.
struct fovea_gemm_area {
    const struct fovea_gemm_layout *plan;
    const float *a;
    const void *b;
    float *c;
    const float *bias, *residual;
    size_t row, rows;      ///< of C
    size_t strip, strips;  ///< of the plan's
    size_t chunk;          ///< rows that pass before the next group of strips
    const float *a_copy;   ///< all of A as rows of fovea_gemm_pitch(k), or NULL
    const float *b_panels; ///< all of B packed, or NULL
    float *a_room;         ///< chunk x fovea_gemm_pitch(kc) floats, or NULL: A is read where it lies
    float *b_room;         ///< a group x kc floats; used where pack_b, and for a partial panel of a natural B
    bool pack_b;           ///< B is packed into b_room rather than read in place
    bool keep_b;           ///< b_room holds all strips of a k block: they are packed once, not for each chunk of rows
    float *acc;            ///< where C cannot: of the tiles of a call (one k block), rows x columns, or, of gemm_bn.c,
                           ///< rows of fovea_gemm_pitch(fovea_gemm_step_columns()) floats; or NULL
};

/// Whether the micro-kernels of slot gemm compute it, strip by strip.
static inline bool fovea_gemm_has_strips(const struct fovea_gemm_layout *plan)
{
    return plan->way == FOVEA_WAY_BLOCKS || plan->way == FOVEA_WAY_DIRECT;
}

static inline enum fovea_gemm_form fovea_gemm_form_of(const struct fovea_gemm_desc *d)
{
    return d->b_packed ? FOVEA_FORM_PACKED : d->trans_b == FOVEA_TRANS ? FOVEA_FORM_NT : FOVEA_FORM_NN;
}

/// Whether a descriptor is one of a GEMM (ops/gemm_check.c), and fovea_gemm_plan on any struct; `why` says what is
/// wrong.
enum fovea_status fovea_gemm_check(const struct fovea_gemm_desc *desc, const struct fovea_why *why);
enum fovea_status fovea_gemm_make(const struct fovea_engine *engine, const struct fovea_gemm_desc *desc,
                                  struct fovea_gemm_layout *plan, const struct fovea_why *why);
extern const struct fovea_operator fovea_gemm_operator;

/// Computes an area of C (ops/gemm_area.c).
void fovea_gemm_area(const struct fovea_gemm_area *area);
/// The same for an area of a direct plan; needs neither a_room nor a_copy.
void fovea_gemm_direct(const struct fovea_gemm_area *area);
/// What all tiles of a direct plan have in common. natural: B is read in place, not from panels.
struct fovea_gemm_tile fovea_gemm_direct_tile(const struct fovea_gemm_layout *plan, bool natural);
/// Whether a direct plan reads whole panels of columns up to `end` of a natural B: past a partial one come those of the
/// next rows, where rows follow one another. And so many of the last rows have no more than what past such a panel is.
bool fovea_gemm_whole_panels(const struct fovea_gemm_layout *plan, size_t end);
size_t fovea_gemm_ends(const struct fovea_gemm_layout *plan, size_t end);
/// Whether a direct plan is nothing but tiles (ops/gemm_bare.c); the last columns of one; and all of it, in this
/// thread, for all of its rows and without a bias.
bool fovea_gemm_is_bare(const struct fovea_gemm_layout *plan);
struct fovea_gemm_last fovea_gemm_last_strip(const struct fovea_gemm_layout *plan);
void fovea_gemm_bare(const struct fovea_gemm_layout *plan, const struct fovea_gemm_args *args);
/// Columns at the end of C that a direct problem computes apart, or 0.
size_t fovea_gemm_edge(const struct fovea_gemm_layout *plan);
/// The micro-kernel of a direct problem with its edge: that of its class, or another of the ISA whose tiles cost less
/// or, of few rows, leave fewer strips (ops/gemm_fit.c).
const struct fovea_gemm_kernel *fovea_gemm_fitting(const struct fovea_gemm_layout *plan);
/// Rows from which on a problem packs natural rows of B that it does not read directly.
size_t fovea_gemm_packed_from(const struct fovea_gemm_layout *plan);
/// Whether a direct plan reads natural rows of B where they lie, however many rows of C come for them.
bool fovea_gemm_in_place(const struct fovea_gemm_layout *plan);
/// Whether an area has so few rows that a transposed B is read where it lies, and computing it so (ops/gemm_bt.c).
bool fovea_gemm_takes_rows(const struct fovea_gemm_area *area);
/// Whether that way takes rows of B that lie far apart, or else fetches the rows it will read next.
bool fovea_gemm_spreads(const struct fovea_gemm_layout *plan, size_t rows);
bool fovea_gemm_fetches(const struct fovea_gemm_layout *plan);
/// How many of its rows should be taken at a time: 8, 16 or 32.
uint32_t fovea_gemm_side(const struct fovea_gemm_layout *plan, size_t rows);
void fovea_gemm_bt(const struct fovea_gemm_area *area);
/// Whether a problem that goes neither transposed nor directly has so few rows that a few of a natural B's are read at
/// a time; the most tasks of its columns; columns at a time, as many as leave C in L2; lines by which prefetches lead;
/// and an area of it (ops/gemm_bn.c).
bool fovea_gemm_takes_steps(const struct fovea_gemm_layout *plan);
size_t fovea_gemm_step_groups(const struct fovea_gemm_layout *plan);
size_t fovea_gemm_step_columns(const struct fovea_gemm_layout *plan);
size_t fovea_gemm_step_lines(const struct fovea_gemm_layout *plan);
void fovea_gemm_bn(const struct fovea_gemm_area *area);

/// Few rows of A, elements of which lie a_row and a_k apart, times natural rows of a B.
struct fovea_gemm_bn_problem {
    size_t rows, columns;
    const float *a;
    ptrdiff_t a_row, a_k;
    const float *b;
    size_t ldb;
    bool near; ///< B is in L2: nothing is prefetched
};

/// Its sums, raw, at c.
void fovea_gemm_bn_sums(const struct fovea_gemm_layout *plan, const struct fovea_gemm_bn_problem *of, float *c,
                        ptrdiff_t c_row);
/// Whether a problem has so few columns that C is computed transposed; floats of scratch that this takes, false where
/// they overflow; and an area of it, all of whose columns are taken (ops/gemm_flip.c).
bool fovea_gemm_takes_columns(const struct fovea_gemm_layout *plan);
bool fovea_gemm_flip_is_far(const struct fovea_gemm_layout *plan);   ///< A comes from beyond L2
uint32_t fovea_gemm_flip_side(const struct fovea_gemm_layout *plan); ///< rows of a natural A at a time: 16 or 32
size_t fovea_gemm_flip_rows(const struct fovea_gemm_layout *plan);   ///< of C at once
bool fovea_gemm_flip_scratch(const struct fovea_gemm_layout *plan, size_t *floats);
void fovea_gemm_flip(const struct fovea_gemm_area *area, float *scratch);
/// Whether rows of a tile of A, or of B, ld floats apart, meet in few sets of L1: in place they then miss at every step
/// (1024 cubes: 77 % of the peak with A in place, 97 % copied).
bool fovea_gemm_rows_alias(size_t ld, size_t rows);
/// Whether a problem with its tiles and blocks goes that way, and, if it does, along the rows of C (ops/gemm_direct.c).
bool fovea_gemm_is_direct(const struct fovea_gemm_layout *plan);
bool fovea_gemm_is_along(const struct fovea_gemm_layout *plan);
/// Whether B stays in L2, and may, while more of A and C than that passes it.
bool fovea_gemm_passes_b(const struct fovea_gemm_layout *plan);
/// The end of a product (ops/gemm_finish.c): whether anything is left to do with the sums of the last k block; whether
/// tiles do it in registers; and the terms by which they do.
bool fovea_gemm_finishes(const struct fovea_gemm_area *area);
bool fovea_gemm_finishes_in_tiles(const struct fovea_gemm_area *area);
struct fovea_gemm_terms fovea_gemm_terms(const struct fovea_gemm_layout *plan);
/// Where those of a call, if it has any, lie: of tiles below or beside one another, the first at this place of C.
void fovea_gemm_place_terms(const struct fovea_gemm_area *area, const struct fovea_gemm_tile *tile, bool below,
                            size_t row, size_t column, struct fovea_gemm_terms *terms);
/// The end of a GEMM on tile->m x tile->n elements of acc at tile->c, which become those of C at c: row `row` and
/// column `column` of the whole.
void fovea_gemm_finish(const struct fovea_gemm_area *area, const struct fovea_gemm_tile *tile, float *c, size_t row,
                       size_t column);
/// Copies `count` rows of `steps` elements of op(A), the first at a, to dst, rows of `pitch` floats.
void fovea_gemm_copy_a(const struct fovea_gemm_layout *plan, const float *a, size_t steps, size_t count, float *dst,
                       size_t pitch);

/// Whether a micro-kernel is one for few rows.
static inline bool fovea_gemm_is_thin(const struct fovea_gemm_kernel *kernel)
{
    return fovea_is_thin(kernel->mr, kernel->nr);
}

/// Whether it has small tiles: fovea_is_small.
static inline bool fovea_gemm_is_small(const struct fovea_gemm_kernel *kernel)
{
    return fovea_is_small(kernel->mr, kernel->nr);
}

/// Whether the panels of a packed B are one stream: strips of one panel, by a micro-kernel for few rows.
static inline bool fovea_gemm_streams(const struct fovea_gemm_layout *plan)
{
    return plan->desc.b_packed && plan->kernel->nr == FOVEA_PANEL && fovea_gemm_is_thin(plan->kernel);
}

/// Whether a packed B passes so few rows once, and nothing of it is prefetched, whatever they would follow it with.
static inline bool fovea_gemm_is_alone(const struct fovea_gemm_layout *plan, size_t rows)
{
    return plan->desc.b_packed && rows <= plan->tuning->alone && rows <= plan->mr;
}

/// Whether so many rows of a class, that a micro-kernel takes at once, follow its B.
static inline bool fovea_gemm_may_follow(const struct fovea_gemm_tuning *tuning, enum fovea_gemm_form form,
                                         bool b_aliases, size_t rows, uint32_t mr)
{
    const bool in_order = form == FOVEA_FORM_PACKED || (form == FOVEA_FORM_NN && !b_aliases);
    return in_order && rows <= tuning->follow_rows && rows <= mr;
}

/// Whether B passes so few rows once, in one tile, and the core follows its panels, or rows, by itself
/// or with the prefetches of struct fovea_gemm_tile's lead_steps, which a tile that adds to C has not.
static inline bool fovea_gemm_follows(const struct fovea_gemm_layout *plan, size_t rows)
{
    const struct fovea_gemm_desc *const d = &plan->desc;
    return fovea_gemm_may_follow(plan->tuning, fovea_gemm_form_of(d), plan->b_aliases, rows, (uint32_t)plan->mr) &&
           (plan->tuning->lead == 0 || plan->blocks.count == 1);
}

/// Columns of the widest strip, whole panels.
static inline size_t fovea_gemm_columns(const struct fovea_gemm_layout *plan)
{
    return (plan->strips.size + (plan->strips.longer != 0)) * FOVEA_PANEL;
}

/// The tile becomes the first of `tiles`, one below another.
static inline void fovea_gemm_below(struct fovea_gemm_tile *tile, size_t tiles)
{
    tile->more = tiles - 1;
    tile->a_next = (ptrdiff_t)tile->m * tile->a_row;
    tile->b_next = 0;
    tile->c_next = (ptrdiff_t)tile->m * tile->c_row;
}

/// The tile becomes the first of `tiles`, one beside another. What passes between two calls of a micro-kernel costs as
/// much as three to six steps.
static inline void fovea_gemm_beside(struct fovea_gemm_tile *tile, size_t tiles)
{
    tile->more = tiles - 1;
    tile->a_next = 0;
    tile->b_next = (ptrdiff_t)(tile->n / FOVEA_PANEL) * tile->b_panel;
    tile->c_next = (ptrdiff_t)tile->n;
}

/// Strips of the width of `strip` from there to `end`, which are tiles beside one another. Only the last strip of C may
/// end within a panel.
static inline size_t fovea_gemm_strips_alike(const struct fovea_gemm_layout *plan, size_t strip, size_t end)
{
    const struct fovea_cut *const strips = &plan->strips;
    const size_t same = fovea_min(strip < strips->longer ? strips->longer : strips->count, end) - strip;
    return same > 1 && strip + same == strips->count && plan->desc.n % FOVEA_PANEL != 0 ? same - 1 : same;
}

/// Whether a strip is one of few columns, which have a kernel of their own.
static inline bool fovea_gemm_is_edge(const struct fovea_gemm_layout *plan, size_t strip)
{
    return plan->edge != 0 && strip + 1 == plan->strips.count;
}

/// Computes tiles that lie one below another in such a strip (ops/gemm_direct.c).
void fovea_gemm_run_edge(const struct fovea_gemm_layout *plan, const struct fovea_gemm_tile *tiles);

/// How m rows are cut; with `even` it takes some us more, for tasks that a few workers end together. And the tasks of a
/// phase (ops/gemm_grid.c).
struct fovea_gemm_grid fovea_gemm_grid(const struct fovea_gemm_layout *plan, size_t m, bool even);
/// What a task should at least do, in k steps of one element of C: 20 us on a core of 77 G steps/s (two AVX-512 FMA
/// ports at 2.4 GHz).
enum { FOVEA_TASK_STEPS = 3 << 19 };
/// Steps of `rows` x `columns` of C, by which tasks are cut.
double fovea_gemm_work(const struct fovea_gemm_layout *plan, size_t rows, double columns);
/// How many workers should share what is worth so many tasks: one below two, all who then have 5 us each.
size_t fovea_gemm_workers(const struct fovea_gemm_layout *plan, double worth);
/// Other parts of a grid of m rows, at most `rows` and `groups`, if that is sooner done by the plan's workers. worth:
/// how many tasks of 20 us the product would be (ops/gemm_balance.c).
void fovea_gemm_balance(const struct fovea_gemm_layout *plan, size_t m, double worth, size_t rows, size_t groups,
                        struct fovea_gemm_grid *grid);
/// Whether no task has less than an entry of the batch of m rows.
bool fovea_gemm_whole(const struct fovea_gemm_layout *plan, size_t m);
/// Floats of acc that the area of any task needs.
size_t fovea_gemm_acc(const struct fovea_gemm_layout *plan);
uint32_t fovea_gemm_count(const struct fovea_gemm_layout *plan, const struct fovea_gemm_grid *grid, size_t m,
                          uint32_t phase);

/// Floats from row to row of a copy of k columns of A: an odd number of cache lines, so that rows spread over all sets.
static inline size_t fovea_gemm_pitch(size_t k)
{
    return (fovea_ceil_div(k, FOVEA_PANEL) | 1) * FOVEA_PANEL;
}

/// Rows of A or columns of B that a task of phase 0 prepares: whole panels, of 64 K elements, some 10 us, or of fewer,
/// for eight tasks for each worker.
static inline size_t fovea_gemm_group(const struct fovea_gemm_layout *plan, const struct fovea_gemm_grid *grid,
                                      size_t m)
{
    enum { MOST = 1 << 16, LEAST = 1 << 14, TASKS_EACH = 8 };
    const size_t lines = (grid->copy_a ? m : 0) + (grid->share_b ? plan->desc.n : 0);
    const size_t even = lines / ((size_t)TASKS_EACH * plan->kernels->workers);
    const size_t wanted = fovea_max(fovea_min(even, MOST / (plan->k + 1)), LEAST / (plan->k + 1)) / FOVEA_PANEL;
    return fovea_max(wanted, 1) * FOVEA_PANEL;
}

#endif
