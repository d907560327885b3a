// SPDX-License-Identifier: Apache-2.0
// kernels/avx2/gemm_f32_6x16.c - f32 GEMM micro-kernel, C[6,16] += A[6,k] * B[k,16].
//
// Haswell to Zen 4: two FMA ports of 4 to 5 cycles need 10 independent accumulators; 6 rows of one panel (two ymm) are
// 12, with 2 registers of B and 1 or 2 broadcasts of A 15 or 16 of 16. 8 loads serve 12 FMAs (0.67 each, two load ports
// give 1). Bound: 6 cycles a k step, 32 flop a cycle, in which Intel cores up to Skylake issue 24 instructions.
//
// Lanes are columns of C and a k step is a rank-1 update: each element is one ascending fma chain (docs/numerics.md).
#include "kernels/common/gemm_below.h"
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

/// The k steps of a tile. B is prefetched into L1 eight steps ahead: where it streams from L2, FMAs that are scheduled
/// on a load that then misses L1 are issued again (Cascade Lake: 83 % of the peak without, 96 to 99 with). x86
/// addresses base + {1, 2, 4} * index, so three strides serve six rows of A with one moving pointer: a step is 25
/// instructions, two of them one to the core. Not unrolled: two and four steps with immediate offsets ran at 95 and 92
/// %. AHEAD lines a step are prefetched for later tiles.
static inline __attribute__((always_inline)) void gemm_steps(const struct fovea_gemm_tile *t, __m256 acc[6][HALVES],
                                                             int M, int AHEAD)
{
    const ptrdiff_t row1 = t->a_row, near = 8 * t->b_k;
    ptrdiff_t row3 = 3 * row1, row5 = 5 * row1;
    __asm__("" : "+r"(row3), "+r"(row5)); // or they are made of the others in each step
    const ptrdiff_t row[6] = {0, row1, 2 * row1, row3, 4 * row1, row5};
    const float *a = t->a, *b = t->b, *ahead = t->ahead;
    for (size_t p = FOVEA_FAULT_IS(GEMM_K_SHORT) ? t->k / 4 * 4 : t->k; p != 0; p--) {
        const __m256 b0 = load_b(b), b1 = load_b(b + LANES);
        _mm_prefetch((const char *)(b + near), _MM_HINT_T0);
        if (AHEAD) {
            _mm_prefetch((const char *)ahead, _MM_HINT_T1);
            ahead += t->ahead_step;
        }
        FV_UNROLL
        for (int i = 0; i < M; i++) {
            const __m256 av = _mm256_broadcast_ss(a + row[i]);
            acc[i][0] = FOVEA_FAULT_IS(GEMM_MUL_ADD) ? _mm256_add_ps(_mm256_mul_ps(av, b0), acc[i][0])
                                                     : _mm256_fmadd_ps(av, b0, acc[i][0]);
            acc[i][1] = _mm256_fmadd_ps(av, b1, acc[i][1]);
        }
        a += t->a_k;
        b += t->b_k;
    }
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

    // The lines of C come from L3 or memory while the steps run. A short k loop is over before they are there.
    enum { LONG_K = 256 };
    const float *line = t.c;
    for (int i = t.k >= LONG_K ? 0 : M; i < M; i++, line += t.c_row) {
        _mm_prefetch((const char *)line, _MM_HINT_T0);
    }
    if (t.ahead == NULL) {
        gemm_steps(&t, acc, M, 0);
    } else {
        gemm_steps(&t, acc, M, 1);
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
    gemm_with_below(tile, tiles[tile->m - 1]);
}
