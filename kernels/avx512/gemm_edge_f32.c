// SPDX-License-Identifier: Apache-2.0
// kernels/avx512/gemm_edge_f32.c - up to eight columns of C, the last ones, for any number of rows.
//
// A micro-kernel computes 16 columns where one is left: of a 97 cube an eighth. Here a register holds four rows of four
// columns, or two rows of eight: of four steps of A, which are loaded at once, a shuffle spreads one over the columns
// of its row. For four rows and a step that is a fma, a shuffle, a load and 3/4 of an insertion, where a panel takes
// four fmas and four loads: 0.45 of its time on Zen 5, eight columns 0.79. Each element is the one ascending fma chain
// of docs/numerics.md.
#include "kernels/avx512/vec.h"
#include "kernels/common/unroll.h"
#include "kernels/fault.h"

enum { GROUPS = 8, STEPS = 4, SIDE = 4 }; // eight chains of fmas hide their latency of four cycles

/// The rows that a register holds, each of COLS columns.
#define EDGE_HELD(COLS) (FOVEA_PANEL / (COLS))

/// STEP steps, four or one, of rows that begin at a + at[i]: each row in a quarter, or both quarters of a half.
static inline __attribute__((always_inline)) __m512 edge_load(const float *a, const ptrdiff_t *at, int COLS, int STEP)
{
    __m128 row[SIDE];
    FV_UNROLL
    for (int i = 0; i < EDGE_HELD(COLS); i++) {
        row[i] = STEP == STEPS ? _mm_loadu_ps(a + at[i]) : _mm_load_ss(a + at[i]);
    }
    if (COLS == SIDE) {
        const __m256 low = _mm256_insertf128_ps(_mm256_castps128_ps256(row[0]), row[1], 1);
        const __m256 high = _mm256_insertf128_ps(_mm256_castps128_ps256(row[2]), row[3], 1);
        return _mm512_insertf32x8(_mm512_castps256_ps512(low), high, 1);
    }
    return _mm512_mask_broadcast_f32x4(_mm512_broadcast_f32x4(row[0]), 0xFF00, row[1]);
}

/// acc += a step.
static inline __m512 edge_fma(__m512 a, __m512 b, __m512 acc)
{
    return FOVEA_FAULT_IS(GEMM_EDGE_MUL_ADD) ? _mm512_add_ps(_mm512_mul_ps(a, b), acc) : _mm512_fmadd_ps(a, b, acc);
}

/// acc += STEP steps of G groups of rows, the first of them at a; at: the rows of a group, and those of the last one.
static inline __attribute__((always_inline)) void edge_steps(const struct fovea_gemm_edge_tile *t, const float *a,
                                                             const float *b, ptrdiff_t at[2][SIDE], __m512 *acc, int G,
                                                             int COLS, int STEP)
{
    const __mmask8 live = (__mmask8)((1u << t->n) - 1);
    __m512 bv[STEPS];
    FV_UNROLL
    for (int s = 0; s < STEP; s++, b += t->b_k) {
        bv[s] = COLS == SIDE ? _mm512_broadcast_f32x4(_mm_maskz_loadu_ps(live, b))
                             : _mm512_broadcast_f32x8(_mm256_maskz_loadu_ps(live, b));
    }
    FV_UNROLL
    for (int g = 0; g < G; g++) {
        const __m512 rows = edge_load(a, at[g == G - 1], COLS, STEP);
        acc[g] = edge_fma(_mm512_permute_ps(rows, 0x00), bv[0], acc[g]);
        if (STEP == STEPS) {
            acc[g] = edge_fma(_mm512_permute_ps(rows, 0x55), bv[1], acc[g]);
            acc[g] = edge_fma(_mm512_permute_ps(rows, 0xAA), bv[2], acc[g]);
            acc[g] = edge_fma(_mm512_permute_ps(rows, 0xFF), bv[3], acc[g]);
        }
        a += EDGE_HELD(COLS) * t->a_row;
        __asm__("" : "+r"(a)); // or gcc keeps the addresses of all groups on the stack
    }
}

/// Stores the sums of `rows` rows.
static inline __attribute__((always_inline)) void edge_store(const struct fovea_gemm_edge_tile *t, float *c, __m512 acc,
                                                             size_t rows, int COLS)
{
    const unsigned lanes = FOVEA_FAULT_IS(GEMM_EDGE_STORES_PAST_N) ? (unsigned)COLS : (unsigned)t->n;
    for (size_t i = 0; i < rows; i++, c += t->c_row) {
        _mm256_mask_storeu_ps(c, (__mmask8)((1u << lanes) - 1), _mm512_castps512_ps256(acc));
        acc = COLS == SIDE ? _mm512_shuffle_f32x4(acc, acc, 0x39) : _mm512_shuffle_f32x4(acc, acc, 0x4E);
    }
}

/// A tile of G groups of rows, the last of which may lack some.
static inline __attribute__((always_inline)) void edge_tile(const struct fovea_gemm_edge_tile *tile, int G, int COLS)
{
    const struct fovea_gemm_edge_tile t = *tile; // a copy: stores to C cannot change it
    const size_t last = t.m - (size_t)(EDGE_HELD(COLS) * (G - 1));
    ptrdiff_t at[2][SIDE] = {{0}}, of = 0;
    FV_UNROLL
    for (int i = 1; i < EDGE_HELD(COLS); i++) {
        of += t.a_row;
        at[0][i] = of;
        at[1][i] = (size_t)i < last ? of : at[1][i - 1]; // the one before it stands in for a missing row
        __asm__("" : "+r"(of));                          // or gcc makes vectors of these
    }
    __m512 acc[GROUPS];
    FV_UNROLL
    for (int g = 0; g < G; g++) {
        acc[g] = _mm512_setzero_ps();
    }
    const float *a = t.a, *b = t.b;
    size_t p = 0;
    for (; p + STEPS <= t.k; p += STEPS, a += STEPS, b += STEPS * t.b_k) {
        edge_steps(&t, a, b, at, acc, G, COLS, STEPS);
    }
    for (; p < t.k && !FOVEA_FAULT_IS(GEMM_EDGE_K_SHORT); p++, a++, b += t.b_k) {
        edge_steps(&t, a, b, at, acc, G, COLS, 1);
    }
    float *c = t.c;
    FV_UNROLL
    for (int g = 0; g < G; g++, c += EDGE_HELD(COLS) * t.c_row) {
        const size_t rows = (size_t)EDGE_HELD(COLS);
        edge_store(&t, c, acc[g], g < G - 1 ? rows : last, COLS);
    }
}

/// Defines edge_<G>x<COLS>, one instantiation for the table.
#define EDGE_TILE(G, COLS)                                                                                             \
    static void edge_##G##x##COLS(const struct fovea_gemm_edge_tile *tile)                                             \
    {                                                                                                                  \
        edge_tile(tile, G, COLS);                                                                                      \
    }
#define EDGE_TILES(G) EDGE_TILE(G, 4) EDGE_TILE(G, 8)
EDGE_TILES(1)
EDGE_TILES(2)
EDGE_TILES(3)
EDGE_TILES(4)
EDGE_TILES(5)
EDGE_TILES(6)
EDGE_TILES(7)
EDGE_TILES(8)

void fovea_gemm_edge_f32_avx512(const struct fovea_gemm_edge_tile *tile)
{
    static fovea_gemm_edge_fn *const tiles[2][GROUPS] = {
        {edge_1x4, edge_2x4, edge_3x4, edge_4x4, edge_5x4, edge_6x4, edge_7x4, edge_8x4},
        {edge_1x8, edge_2x8, edge_3x8, edge_4x8, edge_5x8, edge_6x8, edge_7x8, edge_8x8},
    };
    const size_t wide = tile->n > SIDE, rows = wide ? EDGE_HELD(2 * SIDE) : EDGE_HELD(SIDE);
    struct fovea_gemm_edge_tile t = *tile;
    // Tiles alike: one of few groups takes as long as its chains.
    const size_t groups = (tile->m + rows - 1) / rows, count = (groups + GROUPS - 1) / GROUPS;
    for (size_t i = 0, left = tile->m; i < count; i++, left -= t.m) {
        const size_t of = groups / count + (i < groups % count);
        t.m = of * rows < left ? of * rows : left;
        tiles[wide][of - 1](&t);
        t.a += (ptrdiff_t)t.m * t.a_row;
        t.c += (ptrdiff_t)t.m * t.c_row;
    }
}
