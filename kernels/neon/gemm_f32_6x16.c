// SPDX-License-Identifier: Apache-2.0
// kernels/neon/gemm_f32_6x16.c - f32 GEMM micro-kernel, C[6,16] += A[6,k] * B[k,16].
//
// Lanes are columns of C. A k step loads 4 registers of B and, per row, one element of A, which FMLA takes by element
// (v.s[0]). Registers: 24 accumulators + 4 B + 3 A = 31 of 32. 24 accumulators cover latency * pipes of every core (4 *
// 2 on N1 and N2, 4 * 4 on V1, V2 and Apple). 8 load instructions for 24 FMAs leave the load ports idle, so A with any
// strides is equally fast, and one loop handles them all.
//
// llvm-mca-19, cycles per k step with gcc 12 -O2/-O3 and with clang 14: neoverse-n1 and -n2 12.0, -v1 and -v2 6.0,
// which is 24 FMAs on 2 and 4 pipes without a lost slot; fewer rows are proportional down to the latency (m = 1: 4).
// Four k of a row in one register (FMLA by lanes 0..3) need 24 + 6 + 2 = 32 registers: no faster where they fit (clang:
// 12.0 and 6.0), and gcc spills (19.8 and 8.8).
//
// A last panel of at most 8 columns has tiles of two vectors, 12 accumulators for 6 rows: 6.0 cycles on N1 and N2, half
// of a panel, 4.0 on V1, the latency of an FMA, and 3.0 on V2. A 33 cube computes 40 columns of 48.
#include "kernels/neon/vec.h"

#include "kernels/common/each_row.h"
#include "kernels/common/gemm_end.h"
#include "kernels/common/gemm_room.h"
#include "kernels/common/unroll.h"

enum { MR = 6, NR = FOVEA_PANEL, HALF = FOVEA_PANEL / 2 };

/// The k steps of a tile of m rows and v vectors. B, which streams from L2, is prefetched into L1 eight steps ahead
/// and, if `ahead` is not 0, one line per step for later tiles into L2; both are loads that take no slot of an FMA
/// pipe.
static inline __attribute__((always_inline)) void
gemm_steps(const struct fovea_gemm_tile *t, float32x4_t acc[MR][FV_VECS], const int m, const int v, const int ahead)
{
    const float *b = t->b, *line = t->ahead;
    ptrdiff_t a_offset = 0;
    for (size_t p = t->k; p != 0; p--) {
        float32x4_t b_p[FV_VECS];
        FV_UNROLL
        for (int j = 0; j < v; j++) {
            b_p[j] = vld1q_f32(b + j * FV_LANES);
        }
        __builtin_prefetch(b + 8 * t->b_k, 0, 3);
        if (ahead) {
            __builtin_prefetch(line, 0, 2);
            line += t->ahead_step;
        }
        FV_UNROLL
        for (int i = 0; i < m; i++) {
            if (i % 3 == 0) {
                fv_fence();
            }
            const fv_one a_ip = fv_load_one(t->a + i * t->a_row + a_offset);
            FV_UNROLL
            for (int j = 0; j < v; j++) {
                acc[i][j] = fv_fma_one(a_ip, b_p[j], acc[i][j]);
            }
        }
        fv_fence();
        a_offset += t->a_k;
        b += t->b_k;
    }
}

/// The micro-kernel for m rows and v vectors, constants.
static inline __attribute__((always_inline)) void gemm_rows(const struct fovea_gemm_tile *tile, const int m,
                                                            const int v)
{
    const struct fovea_gemm_tile t = *tile; // a local copy, which stores to C cannot alias
    float32x4_t acc[MR][FV_VECS];
    FV_UNROLL
    for (int i = 0; i < m; i++) {
        FV_UNROLL
        for (int j = 0; j < v; j++) {
            acc[i][j] = vdupq_n_f32(0.0f);
        }
    }
    if (t.mode == FOVEA_GEMM_ADD) {
        FV_UNROLL
        for (int i = 0; i < m; i++) {
            FV_UNROLL
            for (int j = 0; j < v; j++) {
                acc[i][j] = vld1q_f32(t.c + i * t.c_row + j * FV_LANES);
            }
        }
    }

    if (t.ahead == NULL) {
        gemm_steps(&t, acc, m, v, 0);
    } else {
        gemm_steps(&t, acc, m, v, 1);
    }

    if (t.mode == FOVEA_GEMM_RESCALE) {
        FV_UNROLL
        for (int j = 0; j < v; j++) {
            const float32x4_t scale = vld1q_f32(t.scale + j * FV_LANES);
            FV_UNROLL
            for (int i = 0; i < m; i++) {
                const float32x4_t c = vld1q_f32(t.c + i * t.c_row + j * FV_LANES);
                acc[i][j] = vfmaq_f32(acc[i][j], c, scale);
            }
        }
    }
    FV_UNROLL
    for (int i = 0; i < m; i++) {
        if (t.terms != NULL) {
            gemm_end_row(t.terms, (size_t)i, 0, t.c + i * t.c_row, acc[i], v);
        }
        FV_UNROLL
        for (int j = 0; j < v; j++) {
            vst1q_f32(t.c + i * t.c_row + j * FV_LANES, acc[i][j]);
        }
    }
}

/// Defines gemm_rows_<m> and gemm_half_<m>, one instantiation for each table.
#define GEMM_ROWS(m)                                                                                                   \
    static void gemm_rows_##m(const struct fovea_gemm_tile *tile)                                                      \
    {                                                                                                                  \
        gemm_rows(tile, m, FV_VECS);                                                                                   \
    }                                                                                                                  \
    static void gemm_half_##m(const struct fovea_gemm_tile *tile)                                                      \
    {                                                                                                                  \
        gemm_rows(tile, m, FV_VECS / 2);                                                                               \
    }
FV_EACH_ROW(6, GEMM_ROWS)

static void gemm_one(const struct fovea_gemm_tile *tile)
{
#define GEMM_ROWS_NAME(m) gemm_rows_##m,
#define GEMM_HALF_NAME(m) gemm_half_##m,
    static fovea_gemm_fn *const rows[MR] = {FV_EACH_ROW(6, GEMM_ROWS_NAME)};
    static fovea_gemm_fn *const half[MR] = {FV_EACH_ROW(6, GEMM_HALF_NAME)};
    fovea_gemm_fn *const run = tile->n <= HALF ? half[tile->m - 1] : rows[tile->m - 1];
    // Half a panel is all that its tiles read of B.
    if (tile->n == HALF || (tile->n == NR && tile->b_ends == 0)) {
        run(tile);
    } else {
        gemm_in_room(tile, run, fovea_gemm_epilogue_f32_neon);
    }
}

void fovea_gemm_f32_6x16_neon(const struct fovea_gemm_tile *tile)
{
    gemm_with_more(tile, gemm_one);
}
