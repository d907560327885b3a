// SPDX-License-Identifier: Apache-2.0
// kernels/avx512/gemm_steps.h - the k steps of an f32 GEMM tile on AVX-512.
//
// M rows by NV panels: M * NV accumulators, NV registers of B, the rest for broadcasts of A. Lanes are columns of C and
// a k step is a rank-1 update, so each element is the one ascending fma chain that docs/numerics.md asks for. A
// broadcast is a plain load for the load ports; a permute would take a slot of an FMA port.
#ifndef FOVEA_KERNELS_AVX512_GEMM_STEPS_H
#define FOVEA_KERNELS_AVX512_GEMM_STEPS_H

#if !defined(__AVX512F__)
#error "compile with -mavx512f -mavx512bw -mavx512dq -mavx512vl -mavx2 -mfma -mf16c"
#endif

#include "kernels/common/unroll.h"
#include "kernels/fault.h"
#include "kernels/kernel.h"

#include <immintrin.h>

enum { GEMM_MR = 16, GEMM_PANELS = 4 };

/// The sums of a tile of up to GEMM_MR rows or GEMM_PANELS panels; those in use are registers.
typedef __m512 gemm_acc[GEMM_MR][GEMM_PANELS];

/// gcc turns a load of B that has few uses into a memory operand of each of them: more loads than FMAs, and 75 % of the
/// peak instead of 99. The barrier makes B a register; clang needs none.
static inline __attribute__((always_inline)) __m512 gemm_load_b(const float *b, int half)
{
    __m512 v = half ? _mm512_castps256_ps512(_mm256_loadu_ps(b)) : _mm512_loadu_ps(b);
#if defined(__GNUC__) && !defined(__clang__)
    __asm__("" : "+v"(v));
#endif
    return v;
}

/// A constant HALF says of the last panel that at most eight of its columns exist: its multiply-adds are then of 256
/// bits, half of the time where 512 bits take two turns (Zen 4: products of 33 to 100 columns 1.05 to 1.17, of up to
/// 8, where loads of 512 bits take two turns, too, 1.45 to 1.6). Not measured elsewhere: Zen 5 has the same slots for
/// both, of Intel's ports one takes only those of 512 bits, which is as many as are left for it where there are other
/// panels; without them two ports take those of 256 bits. FULL: of 512 bits, as all others.
enum { GEMM_FULL, GEMM_HALF };

/// acc += a * b with a's broadcast inside the fma: one slot of the front end less, NV - 1 loads more. As asm, for a
/// compiler loads an operand that it sees in several fmas once. An address with an index would split it in two again.
static inline __attribute__((always_inline)) __m512 gemm_fma_broadcast(const float *a, __m512 b, __m512 acc, int half)
{
    if (half) {
        __asm__("vfmadd231ps %2%{1to8%}, %t1, %t0" : "+v"(acc) : "v"(b), "m"(*a));
    } else {
        __asm__("vfmadd231ps %2%{1to16%}, %1, %0" : "+v"(acc) : "v"(b), "m"(*a));
    }
    return acc;
}

/// Or clang loads and broadcasts in both widths what FMAs of 512 and of 256 bits take.
static inline __attribute__((always_inline)) void gemm_keep_wide(__m512 *v, int half)
{
#if defined(__clang__)
    if (half) {
        __asm__("" : "+v"(*v));
    }
#else
    (void)v, (void)half;
#endif
}

/// acc += a * b.
static inline __attribute__((always_inline)) __m512 gemm_fma(__m512 a, __m512 b, __m512 acc, int half)
{
    return half ? _mm512_castps256_ps512(_mm256_fmadd_ps(_mm512_castps512_ps256(a), _mm512_castps512_ps256(b),
                                                         _mm512_castps512_ps256(acc)))
                : _mm512_fmadd_ps(a, b, acc);
}

/// What else of B is prefetched: nothing; or, of a packed one, what is read eight steps later, into L1; or what lies at
/// t->ahead, in rows and panels as those of B, into L1.
enum { GEMM_FAR, GEMM_NEAR, GEMM_LEADS };

/// The k steps of a tile, AHEAD lines a step prefetched for later tiles. GEMM_NEAR: where it streams from L2, FMAs that
/// are scheduled on a load that then misses L1 are issued again and take slots of the FMA ports (Cascade Lake, 9x48: 90
/// % of the peak without, 97 % with). One panel has none, as its one stream is slower from memory with it
/// (gemm_f32_16x16.c).
///
/// Every instruction counts: a core whose other hyper-thread is busy issues two a cycle, so that the 27 FMAs of a step
/// of 9x48 in 45 instructions are 60 % of the peak, in the 50 of plain broadcasts 54 %. Not unrolled: the loop just
/// fits the queue behind the decoders, and gcc spills in a longer one.
static inline __attribute__((always_inline)) void gemm_steps(const struct fovea_gemm_tile *t, gemm_acc acc, int M,
                                                             int NV, int FETCH, int AHEAD, int HALF)
{
    enum { STEPS = 8, BROADCASTS = 2 };
    const ptrdiff_t b_k = FETCH == GEMM_NEAR ? FOVEA_PANEL : t->b_k;
    ptrdiff_t a_row = t->a_row, b_panel = t->b_panel;
    const ptrdiff_t ahead_panel = FETCH == GEMM_LEADS ? b_panel : t->ahead_panel;
    // x86 addresses base + {0, 1, 2} * stride: one moving pointer serves three rows of A, or three panels of B.
    const float *a[(GEMM_MR + 2) / 3];
    FV_UNROLL
    for (int i = 0; i < (M + 2) / 3; i++) {
        a[i] = t->a + 3 * i * t->a_row;
        __asm__("" : "+r"(a[i])); // or clang derives them from the first in each step, by additions
    }
    const float *b[2] = {t->b, t->b + (NV > 3 ? 3 : 0) * t->b_panel};
    const float *ahead[2] = {t->ahead, AHEAD > 3 ? t->ahead + 3 * ahead_panel : t->ahead};
    __asm__("" : "+r"(b[1]), "+r"(ahead[1]));
    for (size_t p = FOVEA_FAULT_IS(GEMM_K_SHORT) ? t->k / 4 * 4 : t->k; p != 0; p--) {
#if defined(__clang__)
        if (NV <=
            3) { // or clang makes a pointer for each row and keeps them on the stack; with four panels sums, instead
            __asm__("" : "+r"(a_row), "+r"(b_panel));
        }
#endif
        __m512 bv[GEMM_PANELS];
        FV_UNROLL
        for (int j = 0; j < NV; j++) {
            bv[j] = gemm_load_b(b[j / 3] + j % 3 * b_panel, HALF && NV == 1);
            gemm_keep_wide(&bv[j], HALF);
            if (FETCH == GEMM_NEAR && NV > 1) {
                _mm_prefetch((const char *)(b[j / 3] + j % 3 * b_panel + STEPS * FOVEA_PANEL), _MM_HINT_T0);
            }
        }
        FV_UNROLL
        for (int j = 0; j < AHEAD; j++) {
            if (FETCH == GEMM_LEADS) {
                _mm_prefetch((const char *)(ahead[j / 3] + j % 3 * b_panel), _MM_HINT_T0);
            } else {
                _mm_prefetch((const char *)(ahead[j / 3] + j % 3 * ahead_panel), _MM_HINT_T1);
            }
        }
        FV_UNROLL
        for (int i = 0; i < M; i++) {
            const float *const ai = a[i / 3] + i % 3 * a_row;
            const int once = HALF && NV == 1, few = NV <= 3 && i % 3 == 0 && i / 3 < BROADCASTS;
            const int inside = (once || few) && !FOVEA_FAULT_IS(GEMM_MUL_ADD);
            __m512 av = inside ? _mm512_setzero_ps() : _mm512_set1_ps(*ai);
            gemm_keep_wide(&av, HALF);
            FV_UNROLL
            for (int j = 0; j < NV; j++) {
                const int half = HALF && j == NV - 1;
                acc[i][j] = inside                         ? gemm_fma_broadcast(ai, bv[j], acc[i][j], half)
                            : FOVEA_FAULT_IS(GEMM_MUL_ADD) ? _mm512_add_ps(_mm512_mul_ps(av, bv[j]), acc[i][j])
                                                           : gemm_fma(av, bv[j], acc[i][j], half);
            }
        }
        FV_UNROLL
        for (int i = 0; i < (M + 2) / 3; i++) {
            a[i] += t->a_k;
        }
        FV_UNROLL
        for (int j = 0; j < (NV + 2) / 3; j++) {
            b[j] += b_k;
        }
        FV_UNROLL
        for (int j = 0; j < (AHEAD + 2) / 3; j++) {
            ahead[j] += FETCH == GEMM_LEADS ? b_k : t->ahead_step;
        }
    }
}

#endif
