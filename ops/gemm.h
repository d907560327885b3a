// SPDX-License-Identifier: Apache-2.0
// ops/gemm.h - the GEMM plan, an area of C, and what both say of themselves.
#ifndef FOVEA_OPS_GEMM_H
#define FOVEA_OPS_GEMM_H

#include "fovea/gemm.h"
#include "kernels/table.h"
#include "ops/caches.h"
#include "ops/pack.h"
#include "ops/run.h"

/// How a product is computed, or an area of it: one of few rows may take one of the last two ways whatever the plan's
/// (fovea_gemm_way_of).
enum fovea_gemm_way {
    FOVEA_WAY_BLOCKS, ///< gemm_area.c: blocks of k, chunks of rows, groups of strips
    FOVEA_WAY_DIRECT, ///< gemm_direct.c: the product, or its B, is so small that it runs without blocks
    FOVEA_WAY_STEPS,  ///< gemm_bn.c: few rows of C over a natural B, of which a few rows are read at a time
    FOVEA_WAY_FLIP,   ///< gemm_flip.c: C has so few columns that it is computed transposed
    FOVEA_WAY_ROWS,   ///< gemm_bt.c: few rows of C over a transposed B, whose rows are read in place
    FOVEA_WAY_FEW,    ///< gemm_few.c: few rows of C over a blob, which is read once
};

/// The last strip of a bare plan: its shorter tiles, below one another, without addresses (of an edge only columns, k
/// and strides count); and how many columns overlap the strip before.
struct fovea_gemm_last {
    struct fovea_gemm_tile tile;
    size_t back;
};

/// The plan behind fovea_gemm_plan. Its members are in the order in which fovea_gemm_make decides them, stage after
/// stage. A stage depends only on earlier ones; but the way that is chosen may replace tuning, tiles and blocks.
struct fovea_gemm_layout {
    struct fovea_work work;

    // The problem: what follows from the descriptor.
    const struct fovea_kernels *kernels;
    const struct fovea_gemm_tuning *tuning; ///< the numbers of this class of shapes
    struct fovea_gemm_desc desc; ///< as given, except that trans_b and ldb are 0 if b_packed is 1; and a blob of
                                 ///< smaller elements, which may be packed on the way like a transposed B, has b_packed
                                 ///< 0, trans_b 1 and its b_type
    struct fovea_blob header;    ///< that of B's blob, if it is one (fovea_gemm_is_blob)
    size_t k;                    ///< k steps to compute: desc.k, or 0 if alpha is 0
    bool aliases;     ///< A is transposed, or its rows alias in few sets of L1: in blocks, calls of many rows copy it
    bool b_aliases;   ///< rows of B, natural or transposed, alias in few sets of L1
    bool b_splits;    ///< rows of a natural B begin within cache lines: by ldb or, in a call's own plan, by its address
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
    bool is_bare;      ///< direct, and consists of tiles only: ops/gemm_bare.c
    struct fovea_gemm_last last; ///< of a bare plan

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
    size_t own_rows;       ///< calls of at most as many rows, if fewer than the plan's, may have a plan of their own
    size_t split_rows;     ///< and of at most as many, whatever the plan's, if B begins within a cache line
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

/// Whether an operand begins within a cache line.
static inline bool fovea_gemm_begins_within(const void *operand)
{
    return (uintptr_t)operand % (FOVEA_LINE * sizeof(float)) != 0;
}

/// The way of an area of so many rows: each decides, because a call may have fewer rows than its plan, and a task fewer
/// than its call.
static inline enum fovea_gemm_way fovea_gemm_way_of(const struct fovea_gemm_layout *plan, size_t rows)
{
    return rows <= plan->once_rows ? plan->once_way : plan->way;
}

/// Checks a descriptor (ops/gemm_check.c); and fovea_gemm_plan into a struct that need not be aligned. `why` receives
/// the reason of a failure.
enum fovea_status fovea_gemm_check(const struct fovea_gemm_desc *desc, const struct fovea_why *why);
enum fovea_status fovea_gemm_make(const struct fovea_engine *engine, const struct fovea_gemm_desc *desc,
                                  struct fovea_gemm_layout *plan, const struct fovea_why *why);
/// Makes the plan of a call with so many rows, in the memory and with the phases of the given plan. Returns false if it
/// needs more than these. splits: B begins within a cache line. even: as of fovea_gemm_grid.
bool fovea_gemm_make_own(const struct fovea_gemm_layout *plan, size_t rows, bool splits, bool even,
                         struct fovea_gemm_layout *own);
extern const struct fovea_operator fovea_gemm_operator;
/// "relu", by enum fovea_activation.
extern const char *const fovea_activation_names[FOVEA_ACTIVATION_SILU + 1];

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

/// Whether a slot for special shapes, whose kernel requires these CPU bits, has only the scalar one left, because
/// others are excluded or in quarantine: any tile of a better ISA is faster then.
static inline bool fovea_is_left_scalar(uint32_t required, const struct fovea_gemm_kernel *tile)
{
    return required == 0 && tile->required != 0;
}

/// Panels of so many columns, the last of which may be partial.
static inline size_t fovea_gemm_panels(size_t columns)
{
    return fovea_ceil_div(columns, FOVEA_PANEL);
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

/// Row stride, in floats, of a copy of k columns of A: an odd number of cache lines, so that rows spread over all sets;
/// but not such that the lines of a step are in sets beside one another (Zen 4, 13 to 15 rows of 2048, 3072 and 4096
/// steps, panels from memory: 0.89 to 0.91; 16 rows, and more by 9x48, the same either way).
static inline size_t fovea_gemm_pitch(size_t k)
{
    const size_t lines = fovea_ceil_div(k, FOVEA_LINE) | 1;
    return (lines % FOVEA_L1_SETS == 1 ? lines + 2 : lines) * FOVEA_LINE;
}

#endif
