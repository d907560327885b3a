// SPDX-License-Identifier: Apache-2.0
// ops/gemm_flip.c - few columns of C: computes its transpose, op(B)' op(A)', which has few rows.
//
// A tile of C has 16 columns, of which few would be used, and reads one line of a transposed A per step and tile.
// Flipped, lanes are rows of C: a transposed A is a natural B, whose rows are read as streams (gemm_bn_f32), and a
// natural A is a transposed B, each line of which is read once (gemm_bt_f32).
// The numbers are those of the class of that product, which has few rows and A for its B: what is prefetched of A. Zen
// 5, against the class of C as it is, A from memory, natural, one column 1.20 to 1.25 times as fast (256 rows and steps
// 1.49), four 1.37 (1000x4x100 1.45), six 1.23; transposed, one 1.33 to 1.45, four 1.19, eight 1.1 to 1.3, 12 to 64
// 1.00 to 1.04. A from L2 or L3, natural 0.92 to 1.0, four columns from L3 0.82; transposed 1.0 to 1.16. Not measured
// elsewhere.
#include "ops/gemm_follow.h"
#include "ops/gemm_ways.h"
#include "ops/pack.h"

// Which products are flipped, and how many times as fast that is (Emerald Rapids, AVX-512, mostly from L2 or L3; AVX2
// alike):
//
// - transposed A, one to four columns 1.3 to 5.9, eight of 64 rows and steps 1.0, of 100x1000 1.1, of 512x512 1.7,
//   12 of 256x256 1.25, of 100x100 0.9; from beyond L2 up to 64 columns 1.1 to 5.0, 96 1.2, from memory 2 to 5;
// - natural A, one and two columns 1.7 to 2.3, four 1.2 to 1.6, of 8 steps 0.6; five and six, where the kernel takes 16
//   rows, 0.95 to 1.5, eight 0.96 to 1.16 (AVX2 0.85).
//
// Few steps do not pay: 20000 rows of eight columns and 32 steps 0.9, of 64 columns and 128 steps 0.97; one column of 8
// steps 10. With a packed B no more than the columns of one panel.
enum {
    LEAST_ROWS = 32,         // of C
    LEAST_STEPS = 16,        // except for one column of a transposed A
    NATURAL = 4,             // columns, of a natural A
    NATURAL_OF_16 = 6,       // the same if gemm_bt_f32 takes 16 rows
    TURNED = 4,              // columns, of a transposed A
    MORE_TURNED = 12,        // the same if there are
    MORE_STEPS = 64,         // this many steps and
    MORE_ELEMENTS = 1 << 15, // elements of A
    FAR_TURNED = 64,         // the same for an A beyond L2
    FAR_STEPS = 256,         // with this many steps
};
// Rows of C that are transposed, and get their epilogue, at a time.
enum { BLOCK = 64 };

bool fovea_gemm_flip_is_far(const struct fovea_gemm_layout *plan)
{
    const struct fovea_gemm_desc *const d = &plan->desc;
    return fovea_gemm_far(&plan->kernels->tuning, d->n, d->m, plan->k, fovea_gemm_flip_form(d));
}

bool fovea_gemm_takes_columns(const struct fovea_gemm_layout *plan)
{
    const struct fovea_gemm_desc *const d = &plan->desc;
    const struct fovea_kernels *const kernels = plan->kernels;
    const size_t natural = kernels->gemm_bt.mr >= 16 ? NATURAL_OF_16 : NATURAL;
    const bool turned = d->trans_a == FOVEA_TRANS, few = d->n <= (turned ? TURNED : natural);
    const uint32_t required = turned ? kernels->gemm_bn.required : kernels->gemm_bt.required;
    if (plan->k == 0 || d->n == 0 || d->b_type != FOVEA_F32 || d->m < LEAST_ROWS ||
        d->n > (d->b_packed ? FOVEA_PANEL : FAR_TURNED) || (!turned && !few) ||
        fovea_is_left_scalar(required, plan->kernel)) {
        return false;
    }
    if (few) {
        return plan->k >= LEAST_STEPS || (turned && d->n == 1);
    }
    const bool more = d->n <= MORE_TURNED && (double)d->m * (double)plan->k >= MORE_ELEMENTS;
    return d->m >= 2 * LEAST_ROWS &&
           ((more && plan->k >= MORE_STEPS) || (plan->k >= FAR_STEPS && fovea_gemm_flip_is_far(plan)));
}

bool fovea_gemm_flip_fetches(const struct fovea_gemm_layout *plan)
{
    return plan->kernels->gemm_bt.ahead && plan->k <= plan->tuning->fetch_k && fovea_gemm_flip_is_far(plan);
}

uint32_t fovea_gemm_flip_side(const struct fovea_gemm_layout *plan)
{
    enum { SOME = 16, MANY = 32 };
    return fovea_gemm_flip_is_far(plan) ? SOME : MANY;
}

// As many rows as leave room in L2.
size_t fovea_gemm_flip_rows(const struct fovea_gemm_layout *plan)
{
    const size_t room = (size_t)plan->kernels->tuning.cache.near * 1024 / 4 / sizeof(float);
    const size_t most = fovea_max(room / plan->desc.n, BLOCK);
    return fovea_min(fovea_round_up(plan->desc.m, FOVEA_PANEL), most / FOVEA_PANEL * FOVEA_PANEL);
}

// Floats of scratch: the sums; a block of them transposed; and B transposed, if rows of A need its columns.
static size_t sums_size(const struct fovea_gemm_layout *plan)
{
    return plan->desc.n * fovea_gemm_pitch(fovea_gemm_flip_rows(plan));
}

static size_t block_size(const struct fovea_gemm_layout *plan)
{
    return fovea_round_up(BLOCK * plan->desc.n, FOVEA_PANEL);
}

bool fovea_gemm_flip_scratch(const struct fovea_gemm_layout *plan, size_t *floats)
{
    const struct fovea_gemm_desc *const d = &plan->desc;
    const bool turns_b = d->trans_a != FOVEA_TRANS && d->trans_b == FOVEA_TRANS && d->n > 1;
    size_t of_b = 0;
    return (!turns_b || fovea_mul(d->n, plan->k, &of_b)) && fovea_add(sums_size(plan) + block_size(plan), of_b, floats);
}

// op(B)' as the few rows that are multiplied with op(A)'.
static struct fovea_gemm_a rows_of_b(const struct fovea_gemm_layout *plan, const float *b)
{
    const struct fovea_gemm_desc *const d = &plan->desc;
    if (d->b_packed) {
        return (struct fovea_gemm_a){fovea_blob_panels((const void *)b), 1, FOVEA_PANEL};
    }
    return d->trans_b == FOVEA_TRANS ? (struct fovea_gemm_a){b, (ptrdiff_t)d->ldb, 1}
                                     : (struct fovea_gemm_a){b, 1, (ptrdiff_t)d->ldb};
}

// Sums of rows [row, row + rows) of a natural A.
static void sum_natural(const struct fovea_gemm_area *area, const struct fovea_gemm_a *b, size_t row, size_t rows,
                        float *sums, ptrdiff_t pitch)
{
    const struct fovea_gemm_layout *const plan = area->plan;
    const struct fovea_gemm_desc *const d = &plan->desc;
    const struct fovea_gemm_bt_tile tile = {
        .m = d->n,
        .n = rows,
        .k = plan->k,
        .a = b->first,
        .a_k = b->k,
        .b = area->a + row * d->lda,
        .b_row = (ptrdiff_t)d->lda,
        .c = sums,
        .c_row = pitch,
        .far = fovea_gemm_flip_fetches(plan),
        .side = fovea_gemm_flip_side(plan),
        .into_l1 = plan->tuning->into_l1,
        .touch = fovea_gemm_touch_rows(plan, d->n, FOVEA_PANEL),
        .head = fovea_gemm_head(d->lda, plan->k, area->a, d->n),
    };
    plan->kernels->gemm_bt.run(&tile);
}

void fovea_gemm_flip(const struct fovea_gemm_area *area, float *scratch)
{
    const struct fovea_gemm_layout *const plan = area->plan;
    const struct fovea_gemm_desc *const d = &plan->desc;
    const bool turned = d->trans_a == FOVEA_TRANS, finishes = fovea_gemm_finishes(area);
    const bool in_c = d->n == 1 && d->ldc == 1 && !finishes;
    const bool far = turned && fovea_gemm_flip_is_far(plan);
    const size_t most = fovea_gemm_flip_rows(plan), pitch = fovea_gemm_pitch(most);
    float *const block = scratch + sums_size(plan), *const of_b = block + block_size(plan);
    struct fovea_gemm_area of_block = *area;
    of_block.acc = finishes ? block : NULL;
    struct fovea_gemm_a b = rows_of_b(plan, area->b);
    if (!turned && b.row != 1 && d->n > 1) {
        plan->kernels->transpose.run(d->n, plan->k, 1.0f, b.first, b.row, of_b, (ptrdiff_t)d->n);
        b = (struct fovea_gemm_a){of_b, 1, (ptrdiff_t)d->n};
    }
    for (size_t row = area->row, rows; row < area->row + area->rows; row += rows) {
        rows = fovea_min(most, area->row + area->rows - row);
        float *const sums = in_c ? area->c + row : scratch;
        if (turned) {
            const struct fovea_gemm_bn_problem problem = {d->n, rows, b, area->a + row, d->lda, !far};
            fovea_gemm_bn_sums(plan, &problem, sums, (ptrdiff_t)pitch);
        } else {
            sum_natural(area, &b, row, rows, sums, (ptrdiff_t)pitch);
        }
        for (size_t i = 0; i < rows && !in_c; i += BLOCK) {
            const size_t count = fovea_min(BLOCK, rows - i);
            float *const c = area->c + (row + i) * d->ldc;
            float *const at = finishes ? block : c;
            const ptrdiff_t at_row = (ptrdiff_t)(finishes ? d->n : d->ldc);
            const struct fovea_gemm_sums done = {.m = count, .n = d->n, .acc = at, .acc_row = at_row};
            plan->kernels->transpose.run(d->n, count, 1.0f, scratch + i, (ptrdiff_t)pitch, at, at_row);
            fovea_gemm_finish(&of_block, &done, c, row + i, 0);
        }
    }
}
