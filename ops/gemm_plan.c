// SPDX-License-Identifier: Apache-2.0
// ops/gemm_plan.c - chooses the way (the algorithm) of a GEMM and its blocks.
//
// The sizes decided here only change speed: each element of C is one chain over ascending k whatever the blocks. A plan
// is made in stages (struct fovea_gemm_layout), each by one function of what earlier stages have decided.
#include "ops/gemm_follow.h"
#include "ops/gemm_tasks.h"
#include "ops/gemm_ways.h"
#include "ops/pack.h"

// Rows that are computed with a strip of B before it is packed once more, if there is no room to keep it (with one
// thread that has room: pass_rows). Packing costs as much as 4 to 8 rows.
enum { REPACK_ROWS = 512 };
// Block length up to which shorter blocks have more rows of A: fewer than mc are slower even if these do not stay in
// L2. They also have more columns of B, so that C is written along its rows: tile below tile, each line of C that is
// not in L2 is waited for separately (Zen 4, products of 16 steps 1.1 to 1.5 times as fast with 48 columns, 2.0 to 3.0
// with 16; 64 steps 1.1 to 1.5, 128 steps 1.0 to 1.1). Two strips in place of one are 0.98.
enum { CHUNK_STEPS = 1024, WIDE_STRIPS = 4 };
// Largest k for which wide tiles read a transposed A in place: each step is a line of its own, which many strips reread
// (Zen 4, ld of 768 to 3072, 16 to 128 steps: 1.01 to 1.07 times as fast as copied, 256 steps 0.95 to 1.0; narrow tiles
// 0.6 to 1.0). Not if these lines take more than half of the ways of their sets of L2 (ld of 2048 and 4096, 128 steps:
// 0.97); and for TURNED_STRIPS whole strips and more, turned_steps may be a lower limit.
enum { TURNED_STEPS = 128, TURNED_STRIPS = 4 };
// Number of k steps per row of C up to which a transposed B is not read in place: each of its rows starts cache lines
// of its own, and packing them is amortised over the rows of C (Emerald Rapids, 10000 rows of B in L3: 4 rows of 4 to
// 32 steps 3.2 to 1.5 times as fast packed, 64 steps 1.07; 8 of 8 to 64 4.1 to 1.6, 256 1.24; 16 of 4 to 128 5.4 to
// 1.6, 512 1.18; from memory 8 of 64 1.36, 128 0.95; 16 of 128 1.38, 256 1.02; 4 of 32 0.85. AVX2 1.2 to 1.6 in L3).
enum { BT_STEPS = 10 };
// Tiles of rows that read a blob of smaller elements one after the other (ops/gemm_few.c). Emerald Rapids, from memory,
// against widening strips of B: two tiles, 17 to 32 rows 1.06 to 1.14, three and four tiles 0.94 to 0.97, more 0.78 to
// 0.85; AVX2 two tiles, seven and eight rows 1.16 to 1.29, twelve 1.02 to 1.15, three tiles 0.93 to 1.02. (A blob of
// f32 by two tiles, against blocks: 0.84 to 0.93, AVX2 0.76 to 0.87.)
enum { FEW_TILES = 2 };
// Most k steps of a block of smaller elements: a strip that is widened to f32 should leave room in L2 (Emerald Rapids,
// 20 to 64 rows, k of 4096, against 4096 1.05; 512 and 256 0.98 to 1.02, 128 rows and more 0.96 to 0.99). Not if its
// kernel packs what it widens for the first rows (ops/gemm_first.c).
enum { WIDENED_STEPS = 1024 };
// An L1 set holds 8 lines (Intel, up to Cascade Lake), and other data pass through it, so only this many may be in one.
enum { LINES_OF_A_SET = 5 };

static size_t clamp(size_t value, size_t low, size_t high)
{
    return value < low ? low : fovea_min(value, high);
}

// Of rows ld floats apart, the largest number whose lines are in one set of L1.
static size_t most_of_set(size_t ld, size_t rows)
{
    uint8_t lines[FOVEA_L1_SETS] = {0}, most = 0;
    for (size_t i = 0; i < rows; i++) {
        uint8_t *const set = &lines[i * ld / FOVEA_LINE % FOVEA_L1_SETS];
        most = ++*set > most ? *set : most;
    }
    return most;
}

bool fovea_gemm_rows_alias(size_t ld, size_t rows)
{
    return most_of_set(ld, rows) > LINES_OF_A_SET;
}

// Whether a tile's rows of A are copied: too many are in one set of L1, or their kc steps use fewer than half of L2's
// sets (AVX2, blocks of 512 steps of rows of 2048 and 4096, in place 0.97 to 0.98).
static bool rows_alias(const struct fovea_gemm_tuning *tuning, size_t ld, size_t k, size_t rows)
{
    const size_t most = most_of_set(ld, rows);
    return most > LINES_OF_A_SET && (most > tuning->set_rows || (ld & -ld) > 2 * fovea_min(k, tuning->kc));
}

// The same for the lines of k rows of a transposed A, for `strips` strips of columns.
static bool columns_alias(const struct fovea_gemm_tuning *tuning, size_t ld, size_t k, size_t strips)
{
    const size_t steps = strips < TURNED_STRIPS ? TURNED_STEPS : fovea_min(TURNED_STEPS, tuning->turned_steps);
    return k > steps || fovea_l2_taken(k, ld) > FOVEA_L2 / 2;
}

// The micro-kernel of a class, or another of the ISA for few rows. First choice: of those that take all rows at once,
// the one with most panels side by side, if B is followed, or if rows of a natural B that alias in few sets of L1 would
// otherwise be read twice (Zen 5, 10 to 12 rows from memory, by 12x32, 1.2 to 1.8 times as fast; up to nine, which 9x48
// takes, 0.90 to 1.05). Second choice: the one made for few rows.
static const struct fovea_gemm_kernel *kernel_of(const struct fovea_kernels *kernels, uint32_t class,
                                                 enum fovea_gemm_form form, size_t m, bool b_aliases)
{
    const struct fovea_gemm_kernel *const wide = &kernels->gemm_of[class], *few = NULL, *widest = NULL;
    const struct fovea_gemm_tuning *const tuning = &kernels->tuning.gemm[class];
    for (uint32_t i = 0; i < kernels->gemm_tile_count; i++) {
        const struct fovea_gemm_kernel *const tile = &kernels->gemm_tiles[i];
        const bool spares_a_pass = m > wide->mr && fovea_is_tall(tile->mr, tile->nr);
        if (fovea_gemm_may_follow(tuning, form, b_aliases && !spares_a_pass, m, tile->mr) &&
            tile->nr <= tuning->follow_panels * FOVEA_PANEL && (widest == NULL || tile->nr > widest->nr)) {
            widest = tile;
        }
        if (few == NULL && m <= tuning->thin_rows && fovea_gemm_is_thin(tile)) {
            few = tile;
        }
    }
    return widest != NULL ? widest : few != NULL ? few : wide;
}

// Strips of at most `panels` panels; an edge is one more strip.
static struct fovea_cut cut_panels(const struct fovea_gemm_layout *plan, size_t panels)
{
    struct fovea_cut strips = fovea_cut(fovea_gemm_panels(plan->desc.n - plan->edge), panels);
    strips.size = strips.count != 0 ? strips.size : 1;
    strips.count += plan->edge != 0;
    return strips;
}

// The number of the class of a product.
static uint32_t class_of(const struct fovea_kernels *kernels, size_t m, size_t n, size_t k, enum fovea_gemm_form form)
{
    return fovea_gemm_number(fovea_gemm_class(&kernels->tuning, m, n, k, form));
}

// The descriptor as a plan has it.
static struct fovea_gemm_desc normal(const struct fovea_gemm_desc *desc)
{
    struct fovea_gemm_desc d = *desc;
    if (desc->b_type != FOVEA_F32) {
        d.b_packed = 0;
        d.trans_b = FOVEA_TRANS;
        d.ldb = desc->k;
    } else if (desc->b_packed) { // the form from which it was packed does not matter
        d.trans_b = FOVEA_NO_TRANS;
        d.ldb = 0;
    }
    return d;
}

// Rows of C up to which a transposed B is read in place: not by several tiles if its rows evict one another.
static size_t bt_rows(const struct fovea_kernels *kernels, const struct fovea_gemm_tuning *tuning,
                      const struct fovea_gemm_kernel *tile, size_t k, bool b_aliases)
{
    const struct fovea_gemm_bt_kernel *const bt = &kernels->gemm_bt;
    const size_t most = fovea_min(fovea_min(tuning->bt_rows, k / BT_STEPS), b_aliases ? bt->mr : SIZE_MAX);
    return fovea_is_left_scalar(bt->required, tile) ? 0 : most;
}

// Rows of C up to which a packed B goes to the kernel for few of them.
static size_t blob_rows(const struct fovea_kernels *kernels, const struct fovea_gemm_tuning *tuning,
                        const struct fovea_gemm_kernel *tile, enum fovea_type type)
{
    const struct fovea_gemm_few_kernel *const few = fovea_few_of(kernels, type);
    const size_t most = type == FOVEA_F32 ? fovea_min(tuning->blob_rows, few->mr) : FEW_TILES * few->mr;
    return fovea_is_left_scalar(few->required, tile) ? 0 : most;
}

// Sets what follows from the descriptor alone.
static void set_problem(struct fovea_gemm_layout *plan, const struct fovea_kernels *kernels,
                        const struct fovea_gemm_desc *given, bool splits)
{
    const struct fovea_gemm_desc d = normal(given);
    const enum fovea_gemm_form form = fovea_gemm_form_of(&d);
    const uint32_t class = class_of(kernels, d.m, d.n, d.k, form);
    const struct fovea_gemm_tuning *const tuning = &kernels->tuning.gemm[class];
    const bool b_aliases = !fovea_gemm_is_blob(&d) && fovea_gemm_rows_alias(d.ldb, FOVEA_PANEL);
    const struct fovea_gemm_kernel *const kernel = kernel_of(kernels, class, form, d.m, b_aliases);
    const size_t k = d.alpha == 0 ? 0 : d.k, mr = kernel->mr, nr = kernel->nr;
    *plan = (struct fovea_gemm_layout){
        .kernels = kernels,
        .tuning = tuning,
        .desc = d,
        .header = fovea_gemm_is_blob(&d) ? fovea_blob_header((struct fovea_operand){d.b_type, d.k, d.n})
                                         : (struct fovea_blob){.version = 0},
        .k = k,
        .aliases = k != 0 && d.n >= 2 * nr &&
                   (d.trans_a == FOVEA_TRANS ? nr == FOVEA_PANEL || columns_alias(tuning, d.lda, k, d.n / nr)
                                             : d.m > 1 && rows_alias(tuning, d.lda, k, mr)),
        .b_aliases = b_aliases,
        .b_splits = form == FOVEA_FORM_NN && (splits || fovea_splits_lines(d.ldb)),
        .once_rows = k == 0 || form == FOVEA_FORM_NN ? 0
                     : fovea_gemm_is_blob(&d)        ? blob_rows(kernels, tuning, kernel, d.b_type)
                                                     : bt_rows(kernels, tuning, kernel, k, b_aliases),
        .once_way = fovea_gemm_is_blob(&d) ? FOVEA_WAY_FEW : FOVEA_WAY_ROWS,
        .detour = d.beta != 0 || d.residual || d.gated,
        .kernel = kernel,
        .mr = mr,
        .strips = fovea_cut(fovea_gemm_panels(d.n), nr / FOVEA_PANEL),
    };
    plan->terms = !d.gated && (d.activation == FOVEA_ACTIVATION_NONE || d.activation == FOVEA_ACTIVATION_RELU);
}

// How B is cut where tiles of the class read it in blocks.
struct cutting {
    bool once;      // one tile of few rows reads it once: its streams are not cut into blocks
    bool alone;     // and nothing is prefetched
    size_t longest; // most steps of a block, if it is cut
};

static struct cutting cutting_of(const struct fovea_gemm_layout *plan)
{
    const struct fovea_gemm_desc *const d = &plan->desc;
    const enum fovea_gemm_form form = fovea_gemm_form_of(d);
    const bool thin = fovea_gemm_is_thin(plan->kernel), alone = fovea_gemm_is_alone(plan, d->m);
    const bool follows = fovea_gemm_may_follow(plan->tuning, form, plan->b_aliases, d->m, plan->kernel->mr);
    const bool natural_aliases = form == FOVEA_FORM_NN && plan->b_aliases;
    const bool again = d->m > plan->mr && d->m < fovea_gemm_packed_from(plan); // several tiles read it in place
    const bool widens = d->b_type != FOVEA_F32 && !fovea_few_of(plan->kernels, d->b_type)->packs;
    const size_t most = widens ? WIDENED_STEPS : natural_aliases && again ? plan->tuning->alias_kc : SIZE_MAX;
    return (struct cutting){
        .once = follows || alone || (d->b_packed && d->m <= plan->mr && thin),
        .alone = alone,
        .longest = fovea_min(plan->tuning->kc, most),
    };
}

static void cut_steps(struct fovea_gemm_layout *plan, size_t most)
{
    const size_t k = plan->k, kc = clamp(most, 1, fovea_max(k, 1));
    plan->unit = kc % FOVEA_GROUP == 0 ? FOVEA_GROUP : 1; // blocks begin at whole lines, and at groups with a scale
    plan->blocks = k != 0 ? fovea_cut(fovea_ceil_div(k, plan->unit), kc / plan->unit) : (struct fovea_cut){.count = 1};
    plan->kc = fovea_min(fovea_cut_longest(&plan->blocks) * plan->unit, k);
}

// Chooses the way of a product, with its strips; in blocks it already has those of its class.
static void choose_way(struct fovea_gemm_layout *plan)
{
    const struct fovea_gemm_desc *const d = &plan->desc;
    const size_t panels = fovea_gemm_panels(d->n);
    if (fovea_gemm_takes_columns(plan)) { // tasks take all columns
        plan->way = FOVEA_WAY_FLIP;
        plan->once_rows = 0;
        plan->tuning = &plan->kernels->tuning.gemm[class_of(plan->kernels, d->n, d->m, d->k, fovea_gemm_flip_form(d))];
        plan->strips = fovea_cut(panels, panels);
        cut_steps(plan, plan->k);
    } else if (fovea_gemm_is_direct(plan)) {
        plan->way = FOVEA_WAY_DIRECT;
        plan->edge = fovea_gemm_edge(plan);
        plan->kernel = fovea_gemm_fitting(plan);
        plan->mr = plan->kernel->mr;
        plan->strips = cut_panels(plan, plan->kernel->nr / FOVEA_PANEL);
        plan->passes = fovea_gemm_passes_b(plan);
        plan->along = fovea_gemm_is_along(plan);
    } else if (fovea_gemm_takes_steps(plan)) {
        plan->way = FOVEA_WAY_STEPS;
        plan->strips = fovea_cut(panels, 1);
        cut_steps(plan, plan->k);
    }
}

// Precomputes what a call needs of its tasks, and of its tiles if it has nothing else.
static void describe_call(struct fovea_gemm_layout *plan, bool even)
{
    const struct fovea_gemm_desc *const d = &plan->desc;
    plan->aside = !plan->terms && d->activation != FOVEA_ACTIVATION_NONE && plan->way == FOVEA_WAY_BLOCKS &&
                  plan->k != 0 && plan->blocks.count == 1 && d->m > plan->mr;
    plan->tiles = fovea_gemm_cut_rows(plan);
    plan->grid = fovea_gemm_grid(plan, d->m, even);
    plan->first_rows = fovea_gemm_first_rows(plan);
    plan->fetches_next = fovea_gemm_direct_ahead(plan);
    plan->is_bare = fovea_gemm_is_bare(plan);
    plan->last = fovea_gemm_last_of(plan);
}

// mc rows and nc columns of kc steps are what stays in L2: more of them if k is shorter, in chunks of equal size. Other
// ways than in blocks take all rows, and strips one by one.
static void choose_chunks(struct fovea_gemm_layout *plan, const struct cutting *cutting)
{
    const size_t m = plan->desc.m, nr = plan->kernel->nr;
    plan->group = 1;
    plan->chunk = fovea_max(m, 1);
    if (plan->way != FOVEA_WAY_BLOCKS) {
        return;
    }
    const size_t of = fovea_min(cutting->longest, CHUNK_STEPS), steps = clamp(plan->kc, 1, CHUNK_STEPS);
    // A B of which nothing is kept or prefetched is one group: each micro-kernel call that ends interrupts its stream
    // for 30 ns (Zen 5, one row, groups of three and four panels 0.97 to 0.99).
    const size_t wide = cutting->alone ? SIZE_MAX : plan->tuning->nc * of / steps / nr,
                 group = wide >= WIDE_STRIPS ? wide : plan->tuning->nc / nr;
    plan->group = clamp(group, 1, fovea_max(plan->strips.count, 1));
    const bool repacks = plan->grid.pack_b && !plan->grid.share_b; // packs B again for each chunk of rows
    const size_t rows = repacks ? REPACK_ROWS : plan->tuning->mc * of / steps;
    const struct fovea_cut chunks = fovea_cut(m, clamp(rows, cutting->once ? plan->mr : 1, (size_t)1 << 20));
    plan->chunk = clamp(fovea_cut_longest(&chunks), 1, fovea_max(m, 1));
}

// Everything but the memory. splits: B begins within a line. even: as of fovea_gemm_grid. least: k blocks have at least
// so many steps.
static void lay_out(struct fovea_gemm_layout *plan, const struct fovea_kernels *kernels,
                    const struct fovea_gemm_desc *desc, bool splits, bool even, size_t least)
{
    set_problem(plan, kernels, desc, splits);
    const struct cutting cutting = cutting_of(plan);
    cut_steps(plan, cutting.once ? plan->k : fovea_max(cutting.longest, least));
    choose_way(plan);
    describe_call(plan, even);
    choose_chunks(plan, &cutting);
}

// Rows of a call that may have a plan of its own: those over a natural B from beyond L2, which tiles for many rows read
// slowly, as others do if it begins within a cache line. Other forms of B are read by few rows in a way of their own
// under any plan.
static size_t own_rows(const struct fovea_gemm_layout *plan)
{
    const struct fovea_gemm_desc *const d = &plan->desc;
    const bool far = fovea_is_far(plan->kernels->tuning.cache.near, (double)plan->k * (double)d->n);
    const bool takes = far && d->m != 0 && plan->way != FOVEA_WAY_FLIP && fovea_gemm_form_of(d) == FOVEA_FORM_NN;
    return takes ? fovea_min(d->m, FOVEA_SOME_ROWS) : 0;
}

enum fovea_status fovea_gemm_make(const struct fovea_engine *engine, const struct fovea_gemm_desc *desc,
                                  struct fovea_gemm_layout *plan, const struct fovea_why *why)
{
    FOVEA_REQUIRE_POINTERS("gemm", why, {"engine", engine}, {"desc", desc});
    FOVEA_TRY(fovea_gemm_check(desc, why));
    lay_out(plan, fovea_engine_kernels(engine), desc, false, true, 0);
    plan->own_rows = own_rows(plan);
    plan->split_rows = plan->b_splits ? 0 : fovea_min(plan->own_rows, fovea_gemm_step_rows(plan->kernels));
    return fovea_gemm_measure(plan, why);
}

// Sets the memory of a plan; whether that of another is enough.
static bool measure_within(const struct fovea_work *work, struct fovea_gemm_layout *own)
{
    return fovea_gemm_measure(own, NULL) == FOVEA_OK && own->work.shared_bytes <= work->shared_bytes &&
           own->work.scratch_bytes <= work->scratch_bytes && own->work.phases <= work->phases;
}

// Shorter k blocks, which few rows may like best, have sums to keep, for which a plan of one block has no room. (One of
// several blocks that keeps no sums of all of C has none for a call that would keep them.)
bool fovea_gemm_make_own(const struct fovea_gemm_layout *plan, size_t rows, bool splits, bool even,
                         struct fovea_gemm_layout *own)
{
    struct fovea_gemm_desc desc = plan->desc;
    desc.m = rows;
    lay_out(own, plan->kernels, &desc, splits, even, 0);
    if (!measure_within(&plan->work, own)) {
        if (own->kc >= plan->kc) {
            return false;
        }
        lay_out(own, plan->kernels, &desc, splits, even, plan->kc);
        if (!measure_within(&plan->work, own)) {
            return false;
        }
    }
    own->work = plan->work;
    return true;
}

size_t fovea_gemm_plan_size(void)
{
    return fovea_round_up(sizeof(struct fovea_gemm_layout), FOVEA_ALIGNMENT);
}

enum fovea_status fovea_gemm_plan(const struct fovea_engine *engine, const struct fovea_gemm_desc *desc, void *plan)
{
    FOVEA_CHECK(plan != NULL, FOVEA_ERR_NULL);
    FOVEA_CHECK(fovea_aligned(plan), FOVEA_ERR_ALIGN);
    struct fovea_gemm_layout made;
    FOVEA_TRY(fovea_gemm_make(engine, desc, &made, NULL));
    *(struct fovea_gemm_layout *)plan = made;
    return FOVEA_OK;
}
