// SPDX-License-Identifier: Apache-2.0
// kernels/avx512/gemm_edge_rows.h - up to four columns of C for eight rows and more: the lanes of a register are rows.
//
// Four steps of eight rows of A are transposed in registers, by eight loads, half of them into the upper half of a
// register, and eight shuffles; each step is then an fma a column. On Zen 4 one column takes 0.57 of the time of half a
// panel, two take 0.65, three 0.76, four 0.9. Registers of 16 rows, which need one insertion more each, took 1.1 times
// as long there, loads of eight steps 1.08 to 1.2.
#ifndef FOVEA_KERNELS_AVX512_GEMM_EDGE_ROWS_H
#define FOVEA_KERNELS_AVX512_GEMM_EDGE_ROWS_H

#include "kernels/avx512/vec.h"
#include "kernels/common/unroll.h"
#include "kernels/fault.h"

#include <stdbool.h>

/// BLOCK: steps, and most columns. GROUPS: most groups of eight rows in a tile. For more than two columns gcc keeps B
/// of a block in registers and some sums of five and six groups on the stack; tiles of three or four groups take 1.01
/// to 1.05 times as long, B read again for each group 1.18.
enum { EDGE_LANES = 8, EDGE_BLOCK = 4, EDGE_GROUPS = FOVEA_EDGE_ROWS / EDGE_LANES };

/// step[s] = step s of eight rows that begin at a: of a block, or of a single one.
static inline __attribute__((always_inline)) void edge_load(const float *a, ptrdiff_t a_row, bool SINGLE, __m256 *step)
{
    const float *const upper = a + EDGE_BLOCK * a_row;
    FV_UNROLL
    for (int i = 0; i < EDGE_BLOCK; i++) {
        const float *const row[2] = {a + i * a_row, upper + i * a_row};
        const __m128 low = SINGLE ? _mm_load_ss(row[0]) : _mm_loadu_ps(row[0]),
                     high = SINGLE ? _mm_load_ss(row[1]) : _mm_loadu_ps(row[1]);
        step[i] = _mm256_insertf128_ps(_mm256_castps128_ps256(low), high, 1);
    }
    fv_transpose_256(step);
}

/// acc += a block of steps, or a SINGLE one, of G groups of rows, the first of them at a, the last at `last`.
static inline __attribute__((always_inline)) void edge_rows_steps(const struct fovea_gemm_edge_tile *t, const float *a,
                                                                  const float *last, const float *b,
                                                                  __m256 (*acc)[EDGE_BLOCK], int G, int N, bool SINGLE)
{
    const int steps = SINGLE ? 1 : EDGE_BLOCK;
    FV_UNROLL
    for (int g = 0; g < G; g++) {
        __m256 step[EDGE_BLOCK];
        edge_load(g == G - 1 ? last : a, t->a_row, SINGLE, step);
        FV_UNROLL
        for (int s = 0; s < steps; s++) {
            FV_UNROLL
            for (int j = 0; j < N; j++) {
                const __m256 bv = _mm256_broadcast_ss(b + s * t->b_k + j);
                acc[g][j] = FOVEA_FAULT_IS(GEMM_EDGE_ROWS_MUL_ADD)
                                ? _mm256_add_ps(_mm256_mul_ps(step[s], bv), acc[g][j])
                                : _mm256_fmadd_ps(step[s], bv, acc[g][j]);
            }
        }
        a += EDGE_LANES * t->a_row;
        __asm__("" : "+r"(a)); // or gcc keeps the addresses of all groups on the stack
    }
}

/// Stores the lanes of `live`. gcc would make one instruction of taking a half and storing it, which faults on the
/// lanes that a mask leaves out.
static inline __attribute__((always_inline)) void edge_store_row(float *c, __mmask8 live, __m128 row)
{
    __asm__("" : "+v"(row));
    _mm_mask_storeu_ps(c, live, row);
}

/// Stores the sums of eight rows.
static inline __attribute__((always_inline)) void edge_rows_store(const struct fovea_gemm_edge_tile *t, float *c,
                                                                  const __m256 *acc, int N)
{
    const __mmask8 live = (__mmask8)((1u << (FOVEA_FAULT_IS(GEMM_EDGE_ROWS_PAST_N) ? EDGE_BLOCK : N)) - 1);
    __m256 row[EDGE_BLOCK];
    FV_UNROLL
    for (int j = 0; j < EDGE_BLOCK; j++) {
        row[j] = j < N ? acc[j] : _mm256_setzero_ps();
    }
    fv_transpose_256(row);
    FV_UNROLL
    for (int i = 0; i < EDGE_BLOCK; i++) {
        edge_store_row(c + i * t->c_row, live, _mm256_castps256_ps128(row[i]));
        edge_store_row(c + (i + EDGE_BLOCK) * t->c_row, live, _mm256_extractf128_ps(row[i], 1));
    }
}

/// A tile of G groups of rows. The last one begins with the eighth row from the end, which others may hold, too.
static inline __attribute__((always_inline)) void edge_rows_tile(const struct fovea_gemm_edge_tile *tile, int G, int N)
{
    const struct fovea_gemm_edge_tile t = *tile; // a copy: stores to C cannot change it
    const ptrdiff_t end = (ptrdiff_t)t.m - EDGE_LANES - (FOVEA_FAULT_IS(GEMM_EDGE_ROWS_EARLY) && G > 1);
    __m256 acc[EDGE_GROUPS][EDGE_BLOCK];
    FV_UNROLL
    for (int g = 0; g < G; g++) {
        FV_UNROLL
        for (int j = 0; j < N; j++) {
            acc[g][j] = _mm256_setzero_ps();
        }
    }
    const float *a = t.a, *last = t.a + end * t.a_row, *b = t.b;
    size_t left = t.k;
    for (; left >= EDGE_BLOCK; left -= EDGE_BLOCK, a += EDGE_BLOCK, last += EDGE_BLOCK, b += EDGE_BLOCK * t.b_k) {
        edge_rows_steps(&t, a, last, b, acc, G, N, false);
    }
    for (; left != 0 && !FOVEA_FAULT_IS(GEMM_EDGE_ROWS_K_SHORT); left--, a++, last++, b += t.b_k) {
        edge_rows_steps(&t, a, last, b, acc, G, N, true);
    }
    FV_UNROLL
    for (int g = 0; g < G; g++) {
        edge_rows_store(&t, t.c + (g < G - 1 ? g * EDGE_LANES : end) * t.c_row, acc[g], N);
    }
}

/// Defines edge_rows_<G>x<N>, one instantiation for the table.
#define EDGE_ROWS(G, N)                                                                                                \
    static void edge_rows_##G##x##N(const struct fovea_gemm_edge_tile *tile)                                           \
    {                                                                                                                  \
        edge_rows_tile(tile, G, N);                                                                                    \
    }
#define EDGE_ROWS_OF(N) EDGE_ROWS(1, N) EDGE_ROWS(2, N) EDGE_ROWS(3, N) EDGE_ROWS(4, N) EDGE_ROWS(5, N) EDGE_ROWS(6, N)
EDGE_ROWS_OF(1)
EDGE_ROWS_OF(2)
EDGE_ROWS_OF(3)
EDGE_ROWS_OF(4)
#define EDGE_ROWS_LINE(N)                                                                                              \
    {                                                                                                                  \
        edge_rows_1x##N, edge_rows_2x##N, edge_rows_3x##N, edge_rows_4x##N, edge_rows_5x##N, edge_rows_6x##N           \
    }
static fovea_gemm_edge_fn *const edge_rows[EDGE_BLOCK][EDGE_GROUPS] = {EDGE_ROWS_LINE(1), EDGE_ROWS_LINE(2),
                                                                       EDGE_ROWS_LINE(3), EDGE_ROWS_LINE(4)};

#endif
