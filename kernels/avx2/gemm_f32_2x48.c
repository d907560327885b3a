// SPDX-License-Identifier: Apache-2.0
// kernels/avx2/gemm_f32_2x48.c - f32 GEMM micro-kernel, C[2,48] += A[2,k] * B[k,48], for one or two rows of C.
//
// So few rows are limited by reading B, and B is read fastest if the hardware prefetcher follows a few long streams by
// itself. On Zen 3 one panel runs at 85 % of the read stream that bench/probe_stream.c measures, two at 110, three or
// four at 120 to 130; with software prefetches, which occupy the miss buffers first, one at 75 and four at 105. Three
// panels are 12 accumulators of 16 registers for two rows, and for one row 6 chains, where one panel has 2.
//
// Lanes are columns of C and a k step is a rank-1 update: each element is one ascending fma chain (docs/numerics.md).
#include "kernels/avx2/vec.h"
#include "kernels/common/gemm_end.h"
#include "kernels/common/gemm_room.h"
#include "kernels/common/unroll.h"

enum { MR = 2, PANELS = 3 };

/// The k steps of M rows and P panels.
static inline __attribute__((always_inline)) void gemm_steps(const struct fovea_gemm_tile *t,
                                                             fv_f32 acc[MR][PANELS][FV_VECS], int M, int P)
{
    const float *a = t->a, *b = t->b;
    for (size_t p = FOVEA_FAULT_IS(GEMM_K_SHORT) ? t->k / 4 * 4 : t->k; p != 0; p--) {
        fv_f32 ai[MR];
        FV_UNROLL
        for (int i = 0; i < M; i++) {
            ai[i] = fv_set1(a[i * t->a_row]);
        }
        FV_UNROLL
        for (int j = 0; j < P; j++) {
            FV_UNROLL
            for (int v = 0; v < FV_VECS; v++) {
                const fv_f32 bj = fv_load(b + j * t->b_panel + v * FV_LANES);
                FV_UNROLL
                for (int i = 0; i < M; i++) {
                    acc[i][j][v] = FOVEA_FAULT_IS(GEMM_MUL_ADD) ? fv_add(fv_mul(ai[i], bj), acc[i][j][v])
                                                                : fv_fma(ai[i], bj, acc[i][j][v]);
                }
            }
        }
        a += t->a_k;
        b += t->b_k;
    }
}

/// The whole of the micro-kernel for m = M and P panels, constants.
static inline __attribute__((always_inline)) void gemm_tile(const struct fovea_gemm_tile *tile, int M, int P)
{
    const struct fovea_gemm_tile t = *tile;                  // a local copy, which stores to C cannot alias
    const size_t last = t.n - (size_t)(P - 1) * FOVEA_PANEL; // columns of the last panel
    fv_i32 live[FV_VECS];
    FV_UNROLL
    for (int v = 0; v < FV_VECS; v++) {
        live[v] =
            _mm256_cmpgt_epi32(_mm256_set1_epi32((int)last - v * FV_LANES), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
    }
#define C_OF(i, j, v) (t.c + (i)*t.c_row + (j)*FOVEA_PANEL + (v)*FV_LANES)
#define LOAD_C(i, j, v) ((j) < P - 1 ? fv_load(C_OF(i, j, v)) : _mm256_maskload_ps(C_OF(i, j, v), live[v]))
    fv_f32 acc[MR][PANELS][FV_VECS];
    const int adds = t.mode == FOVEA_GEMM_ADD && !FOVEA_FAULT_IS(GEMM_ADD_FROM_ZERO);
    FV_UNROLL
    for (int i = 0; i < M; i++) {
        FV_UNROLL
        for (int j = 0; j < P; j++) {
            FV_UNROLL
            for (int v = 0; v < FV_VECS; v++) {
                acc[i][j][v] = adds ? LOAD_C(i, j, v) : fv_zero();
            }
        }
    }
    gemm_steps(&t, acc, M, P);
    FV_UNROLL
    for (int i = 0; i < M; i++) {
        FV_UNROLL
        for (int j = 0; j < P; j++) {
            if (t.terms != NULL) {
                gemm_end_row(t.terms, i, (size_t)j * FOVEA_PANEL, C_OF(i, j, 0), acc[i][j], FV_VECS);
            }
            FV_UNROLL
            for (int v = 0; v < FV_VECS; v++) {
                if (t.mode == FOVEA_GEMM_RESCALE && !FOVEA_FAULT_IS(GEMM_RESCALE_STORES)) {
                    const fv_f32 scale = fv_load(t.scale + j * FOVEA_PANEL + v * FV_LANES);
                    acc[i][j][v] = FOVEA_FAULT_IS(GEMM_RESCALE_MUL_ADD)
                                       ? fv_add(fv_mul(LOAD_C(i, j, v), scale), acc[i][j][v])
                                       : fv_fma(LOAD_C(i, j, v), scale, acc[i][j][v]);
                }
                const size_t before = (size_t)v * FV_LANES;
                if (j < P - 1 || last >= before + FV_LANES || FOVEA_FAULT_IS(GEMM_STORES_PAST_N)) {
                    fv_store(C_OF(i, j, v), acc[i][j][v]);
                } else if (last > before) {
                    fv_store_tail(C_OF(i, j, v), acc[i][j][v], last - before);
                }
            }
        }
    }
}

#define GEMM_TILE(M, P)                                                                                                \
    static void gemm_##M##x##P(const struct fovea_gemm_tile *tile)                                                     \
    {                                                                                                                  \
        gemm_tile(tile, M, P);                                                                                         \
    }
GEMM_TILE(1, 1)
GEMM_TILE(1, 2)
GEMM_TILE(1, 3)
GEMM_TILE(2, 1)
GEMM_TILE(2, 2)
GEMM_TILE(2, 3)

static void gemm_one(const struct fovea_gemm_tile *tile)
{
    static fovea_gemm_fn *const tiles[MR][PANELS] = {{gemm_1x1, gemm_1x2, gemm_1x3}, {gemm_2x1, gemm_2x2, gemm_2x3}};
    fovea_gemm_fn *const run = tiles[tile->m - 1][(tile->n - 1) / FOVEA_PANEL];
    if (tile->terms != NULL && (tile->b_ends != 0 || tile->n % FOVEA_PANEL != 0)) {
        gemm_in_room(tile, run, fovea_gemm_epilogue_f32_avx2);
    } else {
        gemm_to_the_end(tile, run);
    }
}

void fovea_gemm_f32_2x48_avx2(const struct fovea_gemm_tile *tile)
{
    gemm_with_more(tile, gemm_one);
}
