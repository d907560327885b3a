// SPDX-License-Identifier: Apache-2.0
// kernels/common/gemm_few.h - few rows of C times panels from memory, of f32 or of 16-bit elements, which are widened
// in registers. Included after an ISA's vec.h, with FEW_ELEMENT the type of elements and FEW_LOAD what loads a vector
// of them as f32.
//
// Reading B is the limit, so what an element costs besides its FMAs counts: two operations to widen 16 of them, once
// for all rows of a tile. A tile is as many panels wide as registers allow, because memory is read faster by several
// streams.
#ifndef FOVEA_KERNELS_COMMON_GEMM_FEW_H
#define FOVEA_KERNELS_COMMON_GEMM_FEW_H

#include "kernels/common/unroll.h"
#include "kernels/fault.h"

enum {
    FEW_LINE = 64 / sizeof(FEW_ELEMENT),                    ///< elements of a cache line
    FEW_PAIR = 2,                                           ///< steps of an iteration
    FEW_LINES = FEW_PAIR * FOVEA_PANEL / FEW_LINE,          ///< their lines of a panel
    FEW_AHEAD = 2048 / (FOVEA_PANEL * sizeof(FEW_ELEMENT)), ///< steps that prefetches are ahead, 2 KiB of a panel
    FEW_FAR = 8 * FEW_AHEAD,                                ///< those into L2, of a panel that is alone
    FEW_VECS = FOVEA_PANEL / FV_LANES,
    FEW_REGISTERS = FV_LANES == 8 ? 16 : 32,
    FEW_SUMS = 24,  ///< most sums of a tile
    FEW_STAY = 5,   ///< room for the vectors of A or B that stay in registers for a step
    FEW_PANELS = 8, ///< most panels of a tile
};

// Where 16 registers hold 12 sums, clang 14 puts a sum where its vector of B was, and then stores another one to have a
// register for it. So a vector of B outlives its FMAs; but not where the FMA of a single row reads it from memory.
#if defined(__clang__) && FV_LANES == 8
enum { FEW_KEEPS = 1 };
#else
enum { FEW_KEEPS = 0 };
#endif

static inline fv_f32 few_fma(fv_f32 a, fv_f32 b, fv_f32 sum)
{
    return FOVEA_FAULT_IS(GEMM_FEW_MUL_ADD) ? fv_add(fv_mul(a, b), sum) : fv_fma(a, b, sum);
}

/// A k step: acc[R rows, P panels] += a[R] b, where panel j of b begins at b[j] + at. Besides the sums, registers hold
/// the elements of A and a vector of B, or the vectors of B and an element of A, whichever are fewer; if these do not
/// leave one free, a vector of B after another and an element of A.
static inline __attribute__((always_inline)) void few_step(fv_f32 *acc, const float *a, const FEW_ELEMENT *const *b,
                                                           size_t at, int R, int P)
{
    const int row = P * FEW_VECS, least = R < row ? R : row;
    const int V = R * row + least + 1 < FEW_REGISTERS ? row : 1; // vectors of B at a time
    const int rows_stay = R <= V, few = rows_stay ? R : V, many = rows_stay ? V : R;
    FV_UNROLL
    for (int first = 0; first < row; first += V) {
        fv_f32 stay[FEW_STAY];
        __asm__("" : "+r"(a)); // or gcc keeps the elements of A for the next vectors
        FV_UNROLL
        for (int i = 0; i < few; i++) {
            const int v = first + i;
            stay[i] = rows_stay ? fv_set1(a[i]) : FEW_LOAD(b[v / FEW_VECS] + at + v % FEW_VECS * FV_LANES);
        }
        FV_UNROLL
        for (int i = 0; i < many; i++) {
            const int v = first + i;
            const fv_f32 x = rows_stay ? FEW_LOAD(b[v / FEW_VECS] + at + v % FEW_VECS * FV_LANES) : fv_set1(a[i]);
            FV_UNROLL
            for (int j = 0; j < few; j++) {
                fv_f32 *const sum = &acc[rows_stay ? j * row + v : i * row + first + j];
                *sum = few_fma(stay[j], x, *sum);
                if (FEW_KEEPS && (R > 1 || sizeof(FEW_ELEMENT) < sizeof(float))) {
                    __asm__("" : "+x"(*sum) : "x"(x));
                }
            }
        }
    }
}

/// Prefetches what two steps read `ahead` elements from b on. A single stream is read more slowly than several, so the
/// lines of one panel are prefetched twice: into L2, early, and into L1.
static inline __attribute__((always_inline)) void few_fetch(const FEW_ELEMENT *const *b, ptrdiff_t ahead, int P)
{
    FV_UNROLL
    for (int j = 0; j < P; j++) {
        FV_UNROLL
        for (int i = 0; i < FEW_LINES; i++) {
            __builtin_prefetch(b[j] + ahead + i * FEW_LINE, 0, 3);
            if (P == 1) {
                __builtin_prefetch(b[j] + FEW_FAR * FOVEA_PANEL + i * FEW_LINE, 0, 2);
            }
        }
    }
}

/// C[R rows, P panels] of a tile, from its first row and column on; n <= 16 P columns are written. Panels without such
/// a column are the last one again.
static inline __attribute__((always_inline)) void few_tile(const struct fovea_gemm_few_tile *t,
                                                           const FEW_ELEMENT *panels, float *c, size_t n, int R, int P)
{
    const float *a = t->a;
    const FEW_ELEMENT *b[FEW_PANELS];
    fv_f32 acc[FEW_SUMS];
    FV_UNROLL
    for (int j = 0; j < P; j++) {
        const int last = (int)((n - 1) / FOVEA_PANEL);
        b[j] = panels + (j < last ? j : last) * t->b_panel;
    }
    FV_UNROLL
    for (int r = 0; r < R; r++) { // two loops: FV_UNROLL takes at most 16 iterations
        FV_UNROLL
        for (int v = 0; v < P * FEW_VECS; v++) {
            acc[r * P * FEW_VECS + v] = fv_zero();
        }
    }
    // What is prefetched is FEW_AHEAD steps ahead or, of the last steps, the first ones of the panels after these.
    const size_t pairs = t->k / FEW_PAIR;
    size_t early = pairs < FEW_AHEAD / FEW_PAIR ? 0 : pairs - FEW_AHEAD / FEW_PAIR;
    const ptrdiff_t next = P * t->b_panel - (ptrdiff_t)(early * FEW_PAIR * FOVEA_PANEL);
    for (size_t pair = 0; pair < pairs; pair++) {
        const ptrdiff_t ahead = pair < early ? FEW_AHEAD * FOVEA_PANEL : next;
        __asm__("" : "+r"(early)); // or gcc makes two loops of this one, 20 KB more
        few_fetch(b, ahead, P);
        few_step(acc, a, b, 0, R, P);
        a += t->a_k;
        __asm__("" : "+r"(a)); // an FMA whose operand has an index register is two instructions of Intel's
        few_step(acc, a, b, FOVEA_PANEL, R, P);
        a += t->a_k;
        FV_UNROLL
        for (int j = 0; j < P; j++) {
            b[j] += FEW_PAIR * FOVEA_PANEL;
        }
    }
    if (t->k % FEW_PAIR != 0) {
        few_step(acc, a, b, 0, R, P);
    }
    FV_UNROLL
    for (int r = 0; r < R; r++) {
        FV_UNROLL
        for (int v = 0; v < P * FEW_VECS; v++) {
            float *const at = c + r * t->c_row + v * FV_LANES;
            const size_t before = (size_t)v * FV_LANES;
            if (n >= before + FV_LANES || FOVEA_FAULT_IS(GEMM_FEW_STORES_PAST_N)) {
                fv_store(at, acc[r * P * FEW_VECS + v]);
            } else if (n > before) {
                fv_store_tail(at, acc[r * P * FEW_VECS + v], n - before);
            }
        }
    }
}

/// All columns of a tile of R rows, P panels at a time.
static inline __attribute__((always_inline)) void few_rows(const struct fovea_gemm_few_tile *tile, int R, int P)
{
    const size_t columns = (size_t)P * FOVEA_PANEL;
    const FEW_ELEMENT *b = tile->b;
    float *c = tile->c;
    for (size_t left = tile->n, n; left != 0; left -= n, b += P * tile->b_panel, c += columns) {
        n = left < columns ? left : columns;
        few_tile(tile, b, c, n, R, P);
    }
}

/// The kernel. Panels of a tile, by its rows: as many as leave registers for its sums, at most eight of one vector, six
/// of two, or four of four. (Six of four vectors are a loop of 24, more than FV_UNROLL takes: gcc would keep its sums
/// in memory.) Emerald Rapids, AVX-512, against at most four: one row 1.01 to 1.06, two 1.02 to 1.04, three 1.02,
/// four 1.01 to 1.04.
static inline __attribute__((always_inline)) void few_gemm(const struct fovea_gemm_few_tile *tile)
{
#define FEW_CASE(rows, panels)                                                                                         \
    case rows:                                                                                                         \
        few_rows(tile, rows, panels);                                                                                  \
        break;
    switch (tile->m) {
#if FV_LANES == 16
        FEW_CASE(1, 8)
        FEW_CASE(2, 8)
        FEW_CASE(3, 6)
        FEW_CASE(4, 6)
        FEW_CASE(5, 4)
        FEW_CASE(6, 4)
        FEW_CASE(7, 3)
        FEW_CASE(8, 3)
        FEW_CASE(9, 2)
        FEW_CASE(10, 2)
        FEW_CASE(11, 2)
        FEW_CASE(12, 2)
        FEW_CASE(13, 1)
        FEW_CASE(14, 1)
        FEW_CASE(15, 1)
        FEW_CASE(16, 1)
#else
        FEW_CASE(1, FEW_VECS == 2 ? 6 : 4)
        FEW_CASE(2, 3)
        FEW_CASE(3, 2)
        FEW_CASE(4, 1)
        FEW_CASE(5, 1)
        FEW_CASE(6, 1)
#endif
    default:
        break;
    }
#undef FEW_CASE
}

#endif
