// SPDX-License-Identifier: Apache-2.0
// kernels/avx512/gemm_edge_f32.c - up to eight columns of C, the last ones, for any number of rows.
//
// A micro-kernel computes 16 columns where one is left: of a 97 cube an eighth. Here up to four columns of eight rows
// and more have rows in the lanes of a register (gemm_edge_rows.h). Of more columns a register holds two rows: of four
// steps of A, which are loaded at once, a shuffle spreads one over the columns of its row. That is 0.79 of the time of
// a panel on Zen 5. Each element is the one ascending fma chain of docs/numerics.md.
#include "kernels/avx512/gemm_edge_rows.h"
#include "kernels/avx512/vec.h"
#include "kernels/common/unroll.h"
#include "kernels/fault.h"

#include <stdbool.h>

enum { PAIRS = 8, STEPS = 4, PAIR = 2 }; // eight chains of fmas hide their latency of four cycles

/// acc += a step.
static inline __m512 edge_fma(__m512 a, __m512 b, __m512 acc)
{
    return FOVEA_FAULT_IS(GEMM_EDGE_MUL_ADD) ? _mm512_add_ps(_mm512_mul_ps(a, b), acc) : _mm512_fmadd_ps(a, b, acc);
}

/// acc += STEP steps, four or one, of G pairs of rows, the first of them at a. The second row of a pair is a_row behind
/// the first, of the last pair `next`.
static inline __attribute__((always_inline)) void edge_steps(const struct fovea_gemm_edge_tile *t, const float *a,
                                                             const float *b, ptrdiff_t next, __m512 *acc, int G,
                                                             int STEP)
{
    const __mmask8 live = (__mmask8)((1u << t->n) - 1);
    __m512 bv[STEPS];
    FV_UNROLL
    for (int s = 0; s < STEP; s++, b += t->b_k) {
        bv[s] = _mm512_broadcast_f32x8(_mm256_maskz_loadu_ps(live, b));
    }
    FV_UNROLL
    for (int g = 0; g < G; g++) {
        const float *const second = a + (g < G - 1 ? t->a_row : next);
        const __m128 low = STEP == STEPS ? _mm_loadu_ps(a) : _mm_load_ss(a),
                     high = STEP == STEPS ? _mm_loadu_ps(second) : _mm_load_ss(second);
        const __m512 rows = _mm512_mask_broadcast_f32x4(_mm512_broadcast_f32x4(low), 0xFF00, high);
        acc[g] = edge_fma(_mm512_permute_ps(rows, 0x00), bv[0], acc[g]);
        if (STEP == STEPS) {
            acc[g] = edge_fma(_mm512_permute_ps(rows, 0x55), bv[1], acc[g]);
            acc[g] = edge_fma(_mm512_permute_ps(rows, 0xAA), bv[2], acc[g]);
            acc[g] = edge_fma(_mm512_permute_ps(rows, 0xFF), bv[3], acc[g]);
        }
        a += PAIR * t->a_row;
        __asm__("" : "+r"(a)); // or gcc keeps the addresses of all pairs on the stack
    }
}

/// A tile of G pairs of rows, the last of which may lack one.
static inline __attribute__((always_inline)) void edge_tile(const struct fovea_gemm_edge_tile *tile, int G)
{
    const struct fovea_gemm_edge_tile t = *tile; // a copy: stores to C cannot change it
    const bool odd = t.m % PAIR != 0;
    const ptrdiff_t next = odd ? 0 : t.a_row; // the first row of a pair stands in for a missing one
    __m512 acc[PAIRS];
    FV_UNROLL
    for (int g = 0; g < G; g++) {
        acc[g] = _mm512_setzero_ps();
    }
    const float *a = t.a, *b = t.b;
    size_t p = 0;
    for (; p + STEPS <= t.k; p += STEPS, a += STEPS, b += STEPS * t.b_k) {
        edge_steps(&t, a, b, next, acc, G, STEPS);
    }
    for (; p < t.k && !FOVEA_FAULT_IS(GEMM_EDGE_K_SHORT); p++, a++, b += t.b_k) {
        edge_steps(&t, a, b, next, acc, G, 1);
    }
    const __mmask8 live = (__mmask8)((1u << (FOVEA_FAULT_IS(GEMM_EDGE_STORES_PAST_N) ? FOVEA_PANEL / 2 : t.n)) - 1);
    float *c = t.c;
    FV_UNROLL
    for (int g = 0; g < G; g++, c += PAIR * t.c_row) {
        _mm256_mask_storeu_ps(c, live, _mm512_castps512_ps256(acc[g]));
        if (g < G - 1 || !odd) {
            _mm256_mask_storeu_ps(c + t.c_row, live,
                                  _mm512_castps512_ps256(_mm512_shuffle_f32x4(acc[g], acc[g], 0x4E)));
        }
    }
}

/// Defines edge_<G>, one instantiation for the table.
#define EDGE_TILE(G)                                                                                                   \
    static void edge_##G(const struct fovea_gemm_edge_tile *tile)                                                      \
    {                                                                                                                  \
        edge_tile(tile, G);                                                                                            \
    }
EDGE_TILE(1)
EDGE_TILE(2)
EDGE_TILE(3)
EDGE_TILE(4)
EDGE_TILE(5)
EDGE_TILE(6)
EDGE_TILE(7)
EDGE_TILE(8)

void fovea_gemm_edge_f32_avx512(const struct fovea_gemm_edge_tile *tile)
{
    static fovea_gemm_edge_fn *const pairs[PAIRS] = {edge_1, edge_2, edge_3, edge_4, edge_5, edge_6, edge_7, edge_8};
    const bool lanes = tile->n <= EDGE_BLOCK && tile->m >= EDGE_LANES;
    fovea_gemm_edge_fn *const *const tiles = lanes ? edge_rows[tile->n - 1] : pairs;
    const size_t rows = lanes ? EDGE_LANES : PAIR, most = lanes ? EDGE_GROUPS : PAIRS;
    struct fovea_gemm_edge_tile t = *tile;
    // Tiles alike: one of few groups takes as long as its chains.
    const size_t groups = (tile->m + rows - 1) / rows, count = (groups + most - 1) / most;
    for (size_t i = 0, left = tile->m; i < count; i++, left -= t.m) {
        const size_t of = groups / count + (i < groups % count);
        t.m = of * rows < left ? of * rows : left;
        tiles[of - 1](&t);
        t.a += (ptrdiff_t)t.m * t.a_row;
        t.c += (ptrdiff_t)t.m * t.c_row;
    }
}
