// SPDX-License-Identifier: Apache-2.0
// kernels/avx2/gemm_f32_6x16.c - f32 GEMM micro-kernel, C[6,16] += A[6,k] * B[k,16].
//
// Haswell to Zen 4: two FMA ports of 4 to 5 cycles need 10 independent accumulators; 6 rows of one panel (two ymm) are
// 12, with 2 registers of B and 1 or 2 broadcasts of A 15 or 16 of 16. 8 loads serve 12 FMAs (0.67 each, two load ports
// give 1). Bound: 6 cycles a k step, 32 flop a cycle, in 23 or 24 instructions: Intel cores up to Skylake issue 24.
//
// Lanes are columns of C and a k step is a rank-1 update: each element is one ascending fma chain (docs/numerics.md).
#include "kernels/common/unroll.h"
#include "kernels/fault.h"
#include "kernels/kernel.h"

#include <immintrin.h>

#if !defined(__AVX2__) || !defined(__FMA__)
#error "compile with -mavx2 -mfma -mf16c"
#endif

enum { LANES = 8, HALVES = FOVEA_PANEL / LANES };

/// gcc turns a load of B that has few uses into a memory operand of each of them: more loads than FMAs, and 75 % of the
/// peak. The barrier makes B a register; clang needs none.
static inline __m256 load_b(const float *b)
{
    __m256 v = _mm256_loadu_ps(b);
#if defined(__GNUC__) && !defined(__clang__)
    __asm__("" : "+x"(v));
#endif
    return v;
}

/// The lanes of half h of a row of C that has n columns.
static inline __m256i mask_c(size_t n, int h)
{
    return _mm256_cmpgt_epi32(_mm256_set1_epi32((int)n - h * LANES), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}

/// The whole of the micro-kernel for m = M, a constant.
static inline __attribute__((always_inline)) void gemm_tile(const struct fovea_gemm_tile *tile, int M)
{
    const struct fovea_gemm_tile t = *tile; // a copy: stores to C cannot change it, so its members stay in registers
    __m256 acc[6][HALVES];
    FV_UNROLL
    for (int i = 0; i < M; i++) {
        FV_UNROLL
        for (int h = 0; h < HALVES; h++) {
            acc[i][h] = t.mode == FOVEA_GEMM_ADD && !FOVEA_FAULT_IS(GEMM_ADD_FROM_ZERO)
                            ? _mm256_maskload_ps(t.c + i * t.c_row + h * LANES, mask_c(t.n, h))
                            : _mm256_setzero_ps();
        }
    }

    // x86 addresses base + {0, 1, 2} * stride: one moving pointer serves three rows of A.
    const float *a[2] = {t.a, t.a + (M > 3 ? 3 : 0) * t.a_row}, *b = t.b;
    __asm__("" : "+r"(a[1])); // or clang derives it from the first in each step, by additions
    for (size_t p = FOVEA_FAULT_IS(GEMM_K_SHORT) ? t.k / 4 * 4 : t.k; p != 0; p--) {
        const __m256 b0 = load_b(b), b1 = load_b(b + LANES);
        FV_UNROLL
        for (int i = 0; i < M; i++) {
            const __m256 av = _mm256_broadcast_ss(a[i / 3] + i % 3 * t.a_row);
            acc[i][0] = FOVEA_FAULT_IS(GEMM_MUL_ADD) ? _mm256_add_ps(_mm256_mul_ps(av, b0), acc[i][0])
                                                     : _mm256_fmadd_ps(av, b0, acc[i][0]);
            acc[i][1] = _mm256_fmadd_ps(av, b1, acc[i][1]);
        }
        a[0] += t.a_k;
        a[1] += t.a_k;
        b += t.b_k;
    }

    if (t.mode == FOVEA_GEMM_RESCALE && !FOVEA_FAULT_IS(GEMM_RESCALE_STORES)) {
        FV_UNROLL
        for (int h = 0; h < HALVES; h++) {
            const __m256 scale = _mm256_loadu_ps(t.scale + h * LANES);
            FV_UNROLL
            for (int i = 0; i < M; i++) {
                const __m256 c = _mm256_maskload_ps(t.c + i * t.c_row + h * LANES, mask_c(t.n, h));
                acc[i][h] = FOVEA_FAULT_IS(GEMM_RESCALE_MUL_ADD) ? _mm256_add_ps(_mm256_mul_ps(c, scale), acc[i][h])
                                                                 : _mm256_fmadd_ps(c, scale, acc[i][h]);
            }
        }
    }
    FV_UNROLL
    for (int i = 0; i < M; i++) {
        FV_UNROLL
        for (int h = 0; h < HALVES; h++) {
            float *const c = t.c + i * t.c_row + h * LANES;
            // Masked stores take tens of cycles on AMD cores before Zen 5.
            if (t.n == FOVEA_PANEL || FOVEA_FAULT_IS(GEMM_STORES_PAST_N)) {
                _mm256_storeu_ps(c, acc[i][h]);
            } else {
                _mm256_maskstore_ps(c, mask_c(t.n, h), acc[i][h]);
            }
        }
    }
}

#define GEMM_TILE(M)                                                                                                   \
    static void gemm_##M(const struct fovea_gemm_tile *tile)                                                           \
    {                                                                                                                  \
        gemm_tile(tile, M);                                                                                            \
    }
GEMM_TILE(1)
GEMM_TILE(2)
GEMM_TILE(3)
GEMM_TILE(4)
GEMM_TILE(5)
GEMM_TILE(6)

void fovea_gemm_f32_6x16_avx2(const struct fovea_gemm_tile *tile)
{
    static fovea_gemm_fn *const tiles[6] = {gemm_1, gemm_2, gemm_3, gemm_4, gemm_5, gemm_6};
    tiles[tile->m - 1](tile);
}
