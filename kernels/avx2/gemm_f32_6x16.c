// SPDX-License-Identifier: Apache-2.0
// kernels/avx2/gemm_f32_6x16.c - f32 GEMM micro-kernel, C[6,16] += A[6,k] * B[k,16].
//
// Haswell to Zen 4: two FMA ports with a latency of 4 to 5 cycles need 10 independent accumulators. 6 rows of one panel
// (two ymm) are 12; with 2 registers of B and one of A that is 15 of 16. 8 loads serve 12 FMAs (0.67 each, while two
// load ports allow 1). Bound: 6 cycles a k step, 32 flop a cycle.
//
// Lanes are columns of C and a k step is a rank-1 update: each element is one ascending fma chain (docs/numerics.md).
#include "kernels/avx2/gemm_steps.h"
#include "kernels/avx2/vec.h"
#include "kernels/common/gemm_more.h"
#include "kernels/common/unroll.h"
#include "kernels/fault.h"
#include "kernels/kernel.h"

#include <immintrin.h>
#include <stdbool.h>
#include <string.h>

#if !defined(__AVX2__) || !defined(__FMA__)
#error "compile with -mavx2 -mfma -mf16c"
#endif

enum { ROWS = 6, LANES = 8 };

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Woverlength-strings" // clang counts the assembly of a tile

/// Prefetches the lines of m rows of C, which come from L3 or memory while the steps run. Even if the steps are few,
/// stores that wait for their lines one after another take longer (1500x240x32: 1.5 times as fast, 3000x384x240: 1.17
/// times).
static inline __attribute__((always_inline)) void prefetch_c(const float *c, ptrdiff_t c_row, size_t m)
{
    FV_UNROLL
    for (size_t i = 0; i < m; i++, c += c_row) {
        _mm_prefetch((const char *)c, _MM_HINT_T0);
    }
}

/// Whole tiles of M rows, STORE or ADD: one, or several, whose strides stay in registers.
#define GEMM_TILE(M)                                                                                                   \
    static void gemm_##M(const struct fovea_gemm_tile *t)                                                              \
    {                                                                                                                  \
        const bool near = t->a_k == 1 && t->b_k == FOVEA_PANEL;                                                        \
        const bool add = t->mode == FOVEA_GEMM_ADD && !FOVEA_FAULT_IS(GEMM_ADD_FROM_ZERO);                             \
        const ptrdiff_t r1 = t->a_row * 4, r3 = 3 * r1, r5 = 5 * r1;                                                   \
        const ptrdiff_t a_next = FOVEA_FAULT_IS(GEMM_BELOW_STAYS) ? 0 : t->a_next, c_next = t->c_next;                 \
        const ptrdiff_t b_next = FOVEA_FAULT_IS(GEMM_BESIDE_STAYS) ? 0 : t->b_next;                                    \
        const float *a_first = t->a, *b_first = t->b, *ahead = t->ahead;                                               \
        float *c = t->c;                                                                                               \
        struct gemm_terms terms;                                                                                       \
        terms.any = 0;                                                                                                 \
        if (__builtin_expect(t->terms != NULL, 0)) {                                                                   \
            gemm_set_terms(&terms, t, 0, M, 1);                                                                        \
        }                                                                                                              \
        for (size_t left = t->more + 1; left != 0; left--, a_first += a_next, b_first += b_next, c += c_next) {        \
            const float *a = a_first, *b = b_first, *row = add ? c : NULL;                                             \
            prefetch_c(c, t->c_row, M);                                                                                \
            size_t k = FOVEA_FAULT_IS(GEMM_K_SHORT) ? t->k / 4 * 4 : t->k;                                             \
            if (near && ahead == NULL) {                                                                               \
                GEMM_TILE_OF(M, NEAR, NONE);                                                                           \
            } else if (near && t->ahead_step == FOVEA_PANEL / 2) {                                                     \
                GEMM_TILE_OF(M, NEAR, HALF);                                                                           \
            } else if (near) {                                                                                         \
                GEMM_TILE_OF(M, NEAR, LINE);                                                                           \
            } else if (ahead == NULL) {                                                                                \
                GEMM_TILE_OF(M, APART, NONE);                                                                          \
            } else {                                                                                                   \
                GEMM_TILE_OF(M, APART, LINE);                                                                          \
            }                                                                                                          \
        }                                                                                                              \
    }

/// Two tiles of M rows and 8 columns, one below the other; or one, as `more` says.
#define GEMM_NARROW(M)                                                                                                 \
    static void gemm_narrow_##M(const struct fovea_gemm_tile *t)                                                       \
    {                                                                                                                  \
        const ptrdiff_t r1 = t->a_row * 4, r3 = 3 * r1, r5 = 5 * r1;                                                   \
        const float *a = t->a, *b = t->b, *ahead = NULL, *row = t->mode == FOVEA_GEMM_ADD ? t->c : NULL;               \
        const float *a2 = t->more != 0 && !FOVEA_FAULT_IS(GEMM_BELOW_STAYS) ? a + t->a_next : a;                       \
        float *const c = t->c;                                                                                         \
        const size_t second = t->more;                                                                                 \
        size_t k = FOVEA_FAULT_IS(GEMM_K_SHORT) ? t->k / 4 * 4 : t->k;                                                 \
        prefetch_c(c, t->c_row, M);                                                                                    \
        if (t->a_k == 1 && t->b_k == FOVEA_PANEL) {                                                                    \
            GEMM_TILE_OF(M, NEAR2, NONE);                                                                              \
        } else {                                                                                                       \
            GEMM_TILE_OF(M, APART2, NONE);                                                                             \
        }                                                                                                              \
    }
#define GEMM_TILES(X) X(1) X(2) X(3) X(4) X(5) X(6)
GEMM_TILES(GEMM_TERMS_6X16)
GEMM_TILES(GEMM_TILE)
GEMM_TILES(GEMM_NARROW)

#pragma GCC diagnostic pop

/// dst = src, n <= 16 floats.
static void copy_row(float *dst, const float *src, size_t n)
{
    for (; n >= LANES; dst += LANES, src += LANES, n -= LANES) {
        fv_store(dst, fv_load(src));
    }
    fv_store_tail(dst, fv_load_tail(src, n), n);
}

#define GEMM_NAME(M) gemm_##M,
#define GEMM_NARROW_NAME(M) gemm_narrow_##M,
static fovea_gemm_fn *const gemm_tiles[ROWS] = {GEMM_TILES(GEMM_NAME)};
static fovea_gemm_fn *const gemm_narrow[ROWS] = {GEMM_TILES(GEMM_NARROW_NAME)};

/// The remaining steps of a tile, after t.k of them, over the last rows of a B that ends, which are copied into whole
/// panels.
static void gemm_last_rows(struct fovea_gemm_tile t, fovea_gemm_fn *run)
{
    _Alignas(32) float copy[GEMM_COPIED * FOVEA_PANEL];
    const ptrdiff_t b_k = t.b_k;
    t.mode = FOVEA_GEMM_ADD;
    t.b_k = FOVEA_PANEL;
    const float *row = t.b + (ptrdiff_t)t.k * b_k;
    t.b = copy;
    for (size_t left = t.b_ends; left != 0; left -= t.k) {
        t.a += (ptrdiff_t)t.k * t.a_k;
        t.k = left < GEMM_COPIED ? left : GEMM_COPIED;
        for (size_t i = 0; i < t.k; i++, row += b_k) {
            float *const to = copy + i * FOVEA_PANEL;
            // Unused lanes, too: what they held may be slow to multiply.
            _mm256_store_ps(to, _mm256_setzero_ps());
            _mm256_store_ps(to + LANES, _mm256_setzero_ps());
            copy_row(to, row, t.n);
        }
        run(&t);
    }
}

/// Computes through a buffer of whole vectors: a tile at the edge of C (two, one below the other, if `more` is 1, of at
/// most 8 columns), a tile in which B ends, a RESCALE, and a tile of 8 columns that has terms.
static void gemm_edge(const struct fovea_gemm_tile *tile)
{
    _Alignas(32) float room[ROWS * FOVEA_PANEL];
    struct fovea_gemm_tile t = *tile;
    t.b_ends = FOVEA_FAULT_IS(GEMM_B_ENDS_UNMASKED) ? 0 : t.b_ends;
    fovea_gemm_fn *const run = t.n <= LANES ? gemm_narrow[t.m - 1] : gemm_tiles[t.m - 1];
    const size_t rows = t.m * (t.more + 1);
    for (size_t i = 0; i < rows; i++) {
        _mm_prefetch((const char *)(t.c + (ptrdiff_t)i * t.c_row), _MM_HINT_T0);
    }
    t.c = room;
    t.c_row = t.n <= LANES ? LANES : FOVEA_PANEL;
    t.terms = NULL;
    if (t.mode == FOVEA_GEMM_ADD) {
        memset(room, 0, sizeof room);
        for (size_t i = 0; i < rows && !FOVEA_FAULT_IS(GEMM_ADD_FROM_ZERO); i++) {
            copy_row(room + (ptrdiff_t)i * t.c_row, tile->c + (ptrdiff_t)i * tile->c_row, t.n);
        }
    }
    t.k -= t.b_ends;
    run(&t);
    if (t.b_ends != 0) {
        gemm_last_rows(t, run);
    }
    if (tile->terms != NULL) {
        gemm_end_room(tile, rows, room, t.c_row, fovea_gemm_epilogue_f32_avx2);
        return;
    }
    for (size_t i = 0; i < rows; i++) {
        float *const sums = room + (ptrdiff_t)i * t.c_row, *const row = tile->c + (ptrdiff_t)i * tile->c_row;
        for (size_t j = 0; tile->mode == FOVEA_GEMM_RESCALE && !FOVEA_FAULT_IS(GEMM_RESCALE_STORES) && j < t.n; j++) {
            sums[j] = FOVEA_FAULT_IS(GEMM_RESCALE_MUL_ADD) ? row[j] * t.scale[j] + sums[j]
                                                           : __builtin_fmaf(row[j], t.scale[j], sums[j]);
        }
        copy_row(row, sums, FOVEA_FAULT_IS(GEMM_STORES_PAST_N) ? FOVEA_PANEL : t.n);
    }
}

void fovea_gemm_f32_6x16_avx2(const struct fovea_gemm_tile *tile)
{
    const bool whole = (tile->b_ends == 0 || tile->n == LANES) && tile->mode != FOVEA_GEMM_RESCALE;
    if (whole && tile->n == FOVEA_PANEL) {
        gemm_tiles[tile->m - 1](tile);
        return;
    }
    struct fovea_gemm_tile t = *tile;
    struct fovea_gemm_terms terms;
    if (t.terms != NULL) {
        terms = *t.terms;
        t.terms = &terms;
    }
    fovea_gemm_fn *const run = whole && t.n == LANES && t.terms == NULL ? gemm_narrow[t.m - 1] : gemm_edge;
    const bool pairs = t.n <= LANES && t.b_next == 0 && t.c_next == (ptrdiff_t)t.m * t.c_row;
    for (size_t i = 0; i <= tile->more; i += t.more + 1) {
        t.more = pairs && i < tile->more;
        run(&t);
        const ptrdiff_t tiles = (ptrdiff_t)(t.more + 1);
        t.a += FOVEA_FAULT_IS(GEMM_BELOW_STAYS) ? 0 : tiles * t.a_next;
        t.b += FOVEA_FAULT_IS(GEMM_BESIDE_STAYS) ? 0 : tiles * t.b_next;
        t.c += tiles * t.c_next;
        if (t.terms != NULL) {
            gemm_move_terms(&terms, tiles);
        }
    }
}
