// SPDX-License-Identifier: Apache-2.0
// kernels/avx2/gemm_f32_3x32.c - f32 GEMM micro-kernel, C[3,32] += A[3,k] * B[k,32], for small products.
//
// 12 accumulators like 6x16, one register of B and 3 of A: all 16. 7 loads serve 12 FMAs, where 6x16 with its prefetch
// has 9, in 19 instructions in place of 21, which matters next to a busy hyper-thread. It reads twice as much of B per
// FMA, which L1 can deliver, and L2 (Zen 3, 32 to 768 steps, rows of B 1.01 to 1.1 times as fast as 6x16, panels 1.00
// to 1.02).
//
// Lanes are columns of C and a k step is a rank-1 update: each element is one ascending fma chain (docs/numerics.md).
#include "kernels/avx2/gemm_terms.h"
#include "kernels/common/gemm_more.h"
#include "kernels/fault.h"
#include "kernels/kernel.h"

#include <stdbool.h>

#if !defined(__AVX2__) || !defined(__FMA__)
#error "compile with -mavx2 -mfma -mf16c"
#endif

enum { PANELS = 2, ROWS_OF_6X16 = 6 };

// clang-format off
// Sums are ymm0 to ymm3, 4 to 7 and 8 to 11, row by row; ymm12 is a vector of B, ymm13 to 15 are elements of A. X(row's
// index in A, its element, its four sums) for each row.
#define PAIR_ROWS_1(X) X("", "13", "0", "1", "2", "3")
#define PAIR_ROWS_2(X) PAIR_ROWS_1(X) X(",%[a_row]", "14", "4", "5", "6", "7")
#define PAIR_ROWS_3(X) PAIR_ROWS_2(X) X(",%[a_row],2", "15", "8", "9", "10", "11")
#define PAIR_CLEAR(x) "vxorps %%xmm" x ", %%xmm" x ", %%xmm" x "\n\t"
#define PAIR_ZERO(index, a, w, x, y, z) PAIR_CLEAR(w) PAIR_CLEAR(x) PAIR_CLEAR(y) PAIR_CLEAR(z)
#define PAIR_LOAD(index, a, w, x, y, z)                                                                 \
    "vmovups (%[row]), %%ymm" w "\n\tvmovups 32(%[row]), %%ymm" x "\n\t"                                \
    "vmovups 64(%[row]), %%ymm" y "\n\tvmovups 96(%[row]), %%ymm" z "\n\tadd %[c_row], %[row]\n\t"
#define PAIR_STORE(index, a, w, x, y, z)                                                                \
    "vmovups %%ymm" w ", (%[row])\n\tvmovups %%ymm" x ", 32(%[row])\n\t"                                \
    "vmovups %%ymm" y ", 64(%[row])\n\tvmovups %%ymm" z ", 96(%[row])\n\tadd %[c_row], %[row]\n\t"
#define PAIR_FMA(a, sum) "vfmadd231ps %%ymm12, %%ymm" a ", %%ymm" sum "\n\t"
#define PAIR_FMA_0(index, a, w, x, y, z) PAIR_FMA(a, w)
#define PAIR_FMA_1(index, a, w, x, y, z) PAIR_FMA(a, x)
#define PAIR_FMA_2(index, a, w, x, y, z) PAIR_FMA(a, y)
#define PAIR_FMA_3(index, a, w, x, y, z) PAIR_FMA(a, z)

// A step of M rows; A(index, element) is a row's element of A, and `at` the offset in B.
#define PAIR_STEP(M, A, at)                                                                             \
    PAIR_ROWS_##M(A)                                                                                    \
    "vmovups " at "(%[b]), %%ymm12\n\t" PAIR_ROWS_##M(PAIR_FMA_0)                                       \
    "vmovups " at "+32(%[b]), %%ymm12\n\t" PAIR_ROWS_##M(PAIR_FMA_1)                                    \
    "vmovups " at "(%[b],%[panel]), %%ymm12\n\t" PAIR_ROWS_##M(PAIR_FMA_2)                              \
    "vmovups " at "+32(%[b],%[panel]), %%ymm12\n\t" PAIR_ROWS_##M(PAIR_FMA_3)
#define PAIR_A(at, index, a) "vbroadcastss " at "(%[a]" index "), %%ymm" a "\n\t"
#define PAIR_A_0(index, a, w, x, y, z) PAIR_A("0", index, a)
#define PAIR_A_1(index, a, w, x, y, z) PAIR_A("4", index, a)
#define PAIR_A_2(index, a, w, x, y, z) PAIR_A("8", index, a)
#define PAIR_A_3(index, a, w, x, y, z) PAIR_A("12", index, a)
// Four steps per iteration, and single ones. NEAR: k steps of A are adjacent, and B is packed panels. ROWS: B is rows
// of any stride. APART: A has any stride, too.
#define PAIR_B_NEXT "add %[b_k], %[b]\n\t"
#define PAIR_NEAR_1(M) PAIR_STEP(M, PAIR_A_0, "0") "add $4, %[a]\n\tadd $64, %[b]\n\t"
#define PAIR_NEAR_4(M)                                                                                  \
    PAIR_STEP(M, PAIR_A_0, "0") PAIR_STEP(M, PAIR_A_1, "64") PAIR_STEP(M, PAIR_A_2, "128")              \
    PAIR_STEP(M, PAIR_A_3, "192") "add $16, %[a]\n\tadd $256, %[b]\n\t"
#define PAIR_ROWS_1_STEP(M) PAIR_STEP(M, PAIR_A_0, "0") PAIR_B_NEXT "add $4, %[a]\n\t"
#define PAIR_ROWS_4_STEPS(M)                                                                            \
    PAIR_STEP(M, PAIR_A_0, "0") PAIR_B_NEXT PAIR_STEP(M, PAIR_A_1, "0") PAIR_B_NEXT                     \
    PAIR_STEP(M, PAIR_A_2, "0") PAIR_B_NEXT PAIR_STEP(M, PAIR_A_3, "0") PAIR_B_NEXT "add $16, %[a]\n\t"
#define PAIR_APART_1(M) PAIR_STEP(M, PAIR_A_0, "0") PAIR_B_NEXT "add %[a_k], %[a]\n\t"
#define PAIR_APART_4(M) PAIR_APART_1(M) PAIR_APART_1(M) PAIR_APART_1(M) PAIR_APART_1(M)

// What each term of the epilogue does to the four sums of a row.
#define PAIR_SCALE(index, a, w, x, y, z)                                                                \
    GEMM_TERM_SCALED(w) GEMM_TERM_SCALED(x) GEMM_TERM_SCALED(y) GEMM_TERM_SCALED(z)
#define PAIR_OLD(index, a, w, x, y, z)                                                                  \
    GEMM_TERM_OLD("", w) GEMM_TERM_OLD("32", x) GEMM_TERM_OLD("64", y) GEMM_TERM_OLD("96", z) GEMM_TERM_NEXT_OLD
#define PAIR_BIAS(index, a, w, x, y, z)                                                                 \
    GEMM_TERM_BIAS("12", w) GEMM_TERM_BIAS("13", x) GEMM_TERM_BIAS("14", y) GEMM_TERM_BIAS("15", z)
#define PAIR_RELU(index, a, w, x, y, z) GEMM_TERM_RELU(w) GEMM_TERM_RELU(x) GEMM_TERM_RELU(y) GEMM_TERM_RELU(z)
#define PAIR_RESIDUAL(index, a, w, x, y, z)                                                             \
    GEMM_TERM_REST("", w) GEMM_TERM_REST("32", x) GEMM_TERM_REST("64", y) GEMM_TERM_REST("96", z)       \
    GEMM_TERM_NEXT_REST
#define PAIR_FETCH "prefetcht0 (%rax)\n\tprefetcht0 64(%rax)\n\t"
#define PAIR_FETCH_OLD(index, a, w, x, y, z) PAIR_FETCH GEMM_TERM_NEXT_OLD
#define PAIR_FETCH_RESIDUAL(index, a, w, x, y, z) PAIR_FETCH GEMM_TERM_NEXT_REST
#define PAIR_LOAD_BIAS                                                                                  \
    GEMM_TERM_LOAD("", "12") GEMM_TERM_LOAD("32", "13") GEMM_TERM_LOAD("64", "14") GEMM_TERM_LOAD("96", "15")

// A tile of M rows at c, in the scope of GEMM_PAIR: its sums start from the rows of C, or from +0 if `row` is NULL.
#define PAIR_TILE(M, FOUR, ONE)                                                                         \
    __asm__ volatile(                                                                                   \
        PAIR_ROWS_##M(PAIR_ZERO) "test %[row], %[row]\n\tjz 6f\n\t" PAIR_ROWS_##M(PAIR_LOAD)            \
        "6:\tsub $4, %[k]\n\tjb 2f\n\t.p2align 6\n"                                                     \
        "1:\n\t" FOUR(M) "sub $4, %[k]\n\tjae 1b\n"                                                     \
        "2:\tadd $4, %[k]\n\tjz 4f\n"                                                                   \
        "3:\n\t" ONE(M) "dec %[k]\n\tjnz 3b\n"                                                          \
        "4:\t" GEMM_ADD_TERMS("3x32_" #M) "mov %[c], %[row]\n\t" PAIR_ROWS_##M(PAIR_STORE)              \
        : [a] "+&r"(a), [b] "+&r"(b), [k] "+&c"(k), [row] "+&a"(row)                                    \
        : [terms] "m"(terms.any), [a_row] "r"(t->a_row * 4), [a_k] "r"(t->a_k * 4),                          \
          [b_k] "r"(t->b_k * 4),                                                                         \
          [panel] "r"(t->b_panel * 4), [c] "r"(c), [c_row] "r"(t->c_row * 4)                            \
        : "ymm0", "ymm1", "ymm2", "ymm3", "ymm4", "ymm5", "ymm6", "ymm7", "ymm8", "ymm9", "ymm10",      \
          "ymm11", "ymm12", "ymm13", "ymm14", "ymm15", "memory", "cc")
// clang-format on

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Woverlength-strings" // clang counts the assembly of a tile

/// Whole tiles of M rows, STORE or ADD: one, or several.
#define GEMM_PAIR(M)                                                                                                   \
    GEMM_TERMS("3x32_" #M, PAIR_ROWS_##M, PAIR, PAIR_LOAD_BIAS)                                                        \
    static void gemm_pair_##M(const struct fovea_gemm_tile *t)                                                         \
    {                                                                                                                  \
        const bool add = t->mode == FOVEA_GEMM_ADD && !FOVEA_FAULT_IS(GEMM_ADD_FROM_ZERO);                             \
        const ptrdiff_t a_next = FOVEA_FAULT_IS(GEMM_BELOW_STAYS) ? 0 : t->a_next;                                     \
        const ptrdiff_t b_next = FOVEA_FAULT_IS(GEMM_BESIDE_STAYS) ? 0 : t->b_next;                                    \
        const float *a_first = t->a, *b_first = t->b;                                                                  \
        float *c = t->c;                                                                                               \
        struct gemm_terms terms;                                                                                       \
        terms.any = 0;                                                                                                 \
        if (__builtin_expect(t->terms != NULL, 0)) {                                                                   \
            gemm_set_terms(&terms, t, 0, M, PANELS);                                                                   \
        }                                                                                                              \
        for (size_t left = t->more + 1; left != 0; left--, a_first += a_next, b_first += b_next, c += t->c_next) {     \
            const float *a = a_first, *b = b_first, *row = add ? c : NULL;                                             \
            size_t k = FOVEA_FAULT_IS(GEMM_K_SHORT) ? t->k / 4 * 4 : t->k;                                             \
            if (t->a_k != 1) {                                                                                         \
                PAIR_TILE(M, PAIR_APART_4, PAIR_APART_1);                                                              \
            } else if (t->b_k != FOVEA_PANEL) {                                                                        \
                PAIR_TILE(M, PAIR_ROWS_4_STEPS, PAIR_ROWS_1_STEP);                                                     \
            } else {                                                                                                   \
                PAIR_TILE(M, PAIR_NEAR_4, PAIR_NEAR_1);                                                                \
            }                                                                                                          \
        }                                                                                                              \
    }
GEMM_PAIR(1)
GEMM_PAIR(2)
GEMM_PAIR(3)

#pragma GCC diagnostic pop

/// Computes `tiles` tiles of m rows of one panel with 6x16; further tiles below them are not computed. `terms` are the
/// tile's, if it has some.
static void gemm_run_panel(struct fovea_gemm_tile *t, struct fovea_gemm_terms *terms, size_t m, size_t tiles)
{
    t->m = m;
    terms->bias_next = 0;
    terms->residual_next = (ptrdiff_t)m * terms->residual_row;
    if (tiles != 0) {
        t->more = tiles - 1;
        t->a_next = (ptrdiff_t)m * t->a_row;
        t->c_next = (ptrdiff_t)m * t->c_row;
        fovea_gemm_f32_6x16_avx2(t);
    }
    t->a += (ptrdiff_t)(tiles * m) * t->a_row;
    t->c += (ptrdiff_t)(tiles * m) * t->c_row;
    gemm_move_terms(terms, (ptrdiff_t)tiles);
}

/// Tiles that are not whole: panel by panel, as many rows at a time as 6x16 takes.
static void gemm_by_panels(const struct fovea_gemm_tile *tile)
{
    const struct fovea_gemm_terms none = {.bias = NULL}, *const given = tile->terms != NULL ? tile->terms : &none;
    const bool below = tile->b_next == 0 && tile->a_next == (ptrdiff_t)tile->m * tile->a_row &&
                       tile->c_next == (ptrdiff_t)tile->m * tile->c_row;
    const size_t rows = below ? tile->m * (tile->more + 1) : tile->m, beside = below ? 0 : tile->more;
    const size_t tiles = (rows + ROWS_OF_6X16 - 1) / ROWS_OF_6X16, longer = rows % tiles;
    for (size_t i = 0; i <= beside; i++) {
        for (size_t j = 0; j < tile->n; j += FOVEA_PANEL) {
            struct fovea_gemm_tile t = *tile;
            struct fovea_gemm_terms terms = *given;
            gemm_move_terms(&terms, (ptrdiff_t)i);
            terms.bias = terms.bias != NULL ? terms.bias + j : NULL;
            terms.residual = terms.residual != NULL ? terms.residual + j : NULL;
            t.terms = tile->terms != NULL ? &terms : NULL;
            t.n = tile->n - j < FOVEA_PANEL ? tile->n - j : FOVEA_PANEL;
            t.b += (FOVEA_FAULT_IS(GEMM_BESIDE_STAYS) ? 0 : (ptrdiff_t)i * t.b_next) +
                   (ptrdiff_t)(j / FOVEA_PANEL) * t.b_panel;
            t.c += (ptrdiff_t)i * t.c_next + (ptrdiff_t)j;
            t.scale = t.mode == FOVEA_GEMM_RESCALE ? t.scale + j : NULL;
            t.b_ends = j + FOVEA_PANEL < tile->n ? 0 : t.b_ends;
            t.b_next = 0;
            gemm_run_panel(&t, &terms, rows / tiles + 1, longer);
            gemm_run_panel(&t, &terms, rows / tiles, tiles - longer);
        }
    }
}

void fovea_gemm_f32_3x32_avx2(const struct fovea_gemm_tile *tile)
{
    static fovea_gemm_fn *const pairs[] = {gemm_pair_1, gemm_pair_2, gemm_pair_3};
    // A build with the MUL_ADD fault uses 6x16: no register is left here for a product.
    if (tile->n == PANELS * FOVEA_PANEL && tile->mode != FOVEA_GEMM_RESCALE && !FOVEA_FAULT_IS(GEMM_MUL_ADD)) {
        pairs[tile->m - 1](tile);
    } else {
        gemm_by_panels(tile);
    }
}
