// SPDX-License-Identifier: Apache-2.0
// kernels/avx512/gemm_tile.h - the f32 GEMM tile that every AVX-512 micro-kernel instantiates with constant sizes.
//
// M rows by NV panels: M * NV accumulators, NV registers of B, the rest for broadcasts of A. Lanes are columns of C and
// a k step is a rank-1 update, so each element is the one ascending fma chain that docs/numerics.md asks for. A
// broadcast is a plain load for the load ports; a permute would take a slot of an FMA port.
#ifndef FOVEA_KERNELS_AVX512_GEMM_TILE_H
#define FOVEA_KERNELS_AVX512_GEMM_TILE_H

#if !defined(__AVX512F__)
#error "compile with -mavx512f -mavx512bw -mavx512dq -mavx512vl -mavx2 -mfma -mf16c"
#endif

#include "kernels/common/unroll.h"
#include "kernels/fault.h"
#include "kernels/kernel.h"

#include <immintrin.h>

enum { GEMM_LONG_K = 256, GEMM_MR = 16, GEMM_PANELS = 4 };

/// The sums of a tile of up to GEMM_MR rows or GEMM_PANELS panels; those in use are registers.
typedef __m512 gemm_acc[GEMM_MR][GEMM_PANELS];

/// gcc turns a load of B that has few uses into a memory operand of each of them: more loads than FMAs, and 75 % of the
/// peak instead of 99. The barrier makes B a register; clang needs none.
static inline __m512 gemm_load_b(const float *b)
{
    __m512 v = _mm512_loadu_ps(b);
#if defined(__GNUC__) && !defined(__clang__)
    __asm__("" : "+v"(v));
#endif
    return v;
}

/// The lanes of panel j that exist (only the last panel can be partial).
static inline __mmask16 gemm_mask(const struct fovea_gemm_tile *t, int j, int NV)
{
    const int partial = j == NV - 1 && !FOVEA_FAULT_IS(GEMM_STORES_PAST_N);
    return (__mmask16)(partial ? 0xFFFFu >> ((size_t)FOVEA_PANEL * NV - t->n) : 0xFFFFu);
}

/// The row of C after c. The barrier keeps it a step from row to row: gcc would compute the addresses of all rows ahead
/// of the k loop and keep them on the stack, some 50 instructions a tile.
static inline float *gemm_next_row(float *c, ptrdiff_t c_row)
{
    c += c_row;
    __asm__("" : "+r"(c));
    return c;
}

/// acc += a * b with a's broadcast inside the fma: one slot of the front end less, NV - 1 loads more. As asm, for a
/// compiler loads an operand that it sees in several fmas once. An address with an index would split it in two again.
static inline __m512 gemm_fma_broadcast(const float *a, __m512 b, __m512 acc)
{
    __asm__("vfmadd231ps %2%{1to16%}, %1, %0" : "+v"(acc) : "v"(b), "m"(*a));
    return acc;
}

/// The k steps of a tile, AHEAD lines a step prefetched for later tiles. NEAR: B is packed, and prefetched into L1
/// eight steps ahead: where it streams from L2, FMAs that are scheduled on a load that then misses L1 are issued again
/// and take slots of the FMA ports (Cascade Lake, 9x48: 90 % of the peak without, 97 % with). One panel has none, as
/// its one stream is slower from memory with it (gemm_f32_16x16.c).
///
/// Every instruction counts: a core whose other hyper-thread is busy issues two a cycle, so that the 27 FMAs of a step
/// of 9x48 in 45 instructions are 60 % of the peak, in the 50 of plain broadcasts 54 %. Not unrolled: the loop just
/// fits the queue behind the decoders, and gcc spills in a longer one.
static inline __attribute__((always_inline)) void gemm_steps(const struct fovea_gemm_tile *t, gemm_acc acc, int M,
                                                             int NV, int NEAR, int AHEAD)
{
    enum { STEPS = 8, BROADCASTS = 2 };
    const ptrdiff_t b_k = NEAR ? FOVEA_PANEL : t->b_k;
    ptrdiff_t a_row = t->a_row, b_panel = t->b_panel;
    // x86 addresses base + {0, 1, 2} * stride: one moving pointer serves three rows of A, or three panels of B.
    const float *a[(GEMM_MR + 2) / 3];
    FV_UNROLL
    for (int i = 0; i < (M + 2) / 3; i++) {
        a[i] = t->a + 3 * i * t->a_row;
        __asm__("" : "+r"(a[i])); // or clang derives them from the first in each step, by additions
    }
    const float *b[2] = {t->b, t->b + (NV > 3 ? 3 : 0) * t->b_panel};
    const float *ahead[2] = {t->ahead, AHEAD > 3 ? t->ahead + 3 * t->ahead_panel : t->ahead};
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
            bv[j] = gemm_load_b(b[j / 3] + j % 3 * b_panel);
            if (NEAR && NV > 1) {
                _mm_prefetch((const char *)(b[j / 3] + j % 3 * b_panel + STEPS * FOVEA_PANEL), _MM_HINT_T0);
            }
        }
        FV_UNROLL
        for (int j = 0; j < AHEAD; j++) {
            _mm_prefetch((const char *)(ahead[j / 3] + j % 3 * t->ahead_panel), _MM_HINT_T1);
        }
        FV_UNROLL
        for (int i = 0; i < M; i++) {
            const float *const ai = a[i / 3] + i % 3 * a_row;
            const int inside = NV <= 3 && i % 3 == 0 && i / 3 < BROADCASTS && !FOVEA_FAULT_IS(GEMM_MUL_ADD);
            const __m512 av = inside ? _mm512_setzero_ps() : _mm512_set1_ps(*ai);
            FV_UNROLL
            for (int j = 0; j < NV; j++) {
                acc[i][j] = inside                         ? gemm_fma_broadcast(ai, bv[j], acc[i][j])
                            : FOVEA_FAULT_IS(GEMM_MUL_ADD) ? _mm512_add_ps(_mm512_mul_ps(av, bv[j]), acc[i][j])
                                                           : _mm512_fmadd_ps(av, bv[j], acc[i][j]);
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
            ahead[j] += t->ahead_step;
        }
    }
}

static inline __attribute__((always_inline)) void gemm_zero(gemm_acc acc, int M, int NV)
{
    FV_UNROLL
    for (int i = 0; i < M; i++) {
        FV_UNROLL
        for (int j = 0; j < NV; j++) {
            acc[i][j] = _mm512_setzero_ps();
#if defined(__clang__)
            __asm__("" : "+v"(acc[i][j])); // or clang 14 keeps those of one row in memory
#endif
        }
    }
}

static inline __attribute__((always_inline)) void gemm_store(const struct fovea_gemm_tile *t, gemm_acc acc, int M,
                                                             int NV)
{
    float *c = t->c;
    FV_UNROLL
    for (int i = 0; i < M; i++, c = gemm_next_row(c, t->c_row)) {
        FV_UNROLL
        for (int j = 0; j < NV; j++) {
            _mm512_mask_storeu_ps(c + j * FOVEA_PANEL, gemm_mask(t, j, NV), acc[i][j]);
        }
    }
}

/// The last step, of which the last panel of B ends with its n columns.
static inline __attribute__((always_inline)) void gemm_last_step(const struct fovea_gemm_tile *t, gemm_acc acc, int M,
                                                                 int NV)
{
    const float *a = t->a + (ptrdiff_t)t->k * t->a_k, *b = t->b + (ptrdiff_t)t->k * t->b_k;
    __m512 bv[GEMM_PANELS];
    FV_UNROLL
    for (int j = 0; j < NV; j++, b += t->b_panel) {
        bv[j] = _mm512_maskz_loadu_ps(FOVEA_FAULT_IS(GEMM_B_ENDS_UNMASKED) ? 0xFFFF : gemm_mask(t, j, NV), b);
    }
    FV_UNROLL
    for (int i = 0; i < M; i++, a += t->a_row) {
        FV_UNROLL
        for (int j = 0; j < NV; j++) {
            acc[i][j] = _mm512_fmadd_ps(_mm512_set1_ps(*a), bv[j], acc[i][j]);
        }
    }
}

/// The tile, and those below it, of a product that is in L2 or has few steps: nothing but the steps and the stores.
/// What a tile does around its steps takes as long as 2 to 6 of them; among all the ways of gemm_tile gcc makes 80
/// instructions of it. A panel that stays in L1 needs no prefetches.
static inline __attribute__((always_inline)) void gemm_plain(const struct fovea_gemm_tile *tile, int M, int NV)
{
    enum { L1_STEPS = 448 }; // lines of B: 28 of 32 KiB
    struct fovea_gemm_tile t = *tile;
    t.k -= t.b_ends;
    const int near = t.b_k == FOVEA_PANEL && t.k * (size_t)NV > L1_STEPS;
    const ptrdiff_t a_below = FOVEA_FAULT_IS(GEMM_BELOW_STAYS) ? 0 : M * t.a_row;
    for (size_t left = t.below;; left--, t.a += a_below, t.c += M * t.c_row) {
        gemm_acc acc;
        gemm_zero(acc, M, NV);
        if (near) {
            gemm_steps(&t, acc, M, NV, 1, 0);
        } else {
            gemm_steps(&t, acc, M, NV, 0, 0);
        }
        if (t.b_ends != 0) {
            gemm_last_step(&t, acc, M, NV);
        }
        gemm_store(&t, acc, M, NV);
        if (left == 0) {
            return;
        }
    }
}

/// The sums of a tile, before they are stored.
static inline __attribute__((always_inline)) void gemm_sums(const struct fovea_gemm_tile *tile, gemm_acc acc, int M,
                                                            int NV)
{
    const struct fovea_gemm_tile t = *tile;
    gemm_zero(acc, M, NV);
    float *c = t.c;
    if (t.mode == FOVEA_GEMM_ADD && !FOVEA_FAULT_IS(GEMM_ADD_FROM_ZERO)) {
        FV_UNROLL
        for (int i = 0; i < M; i++, c = gemm_next_row(c, t.c_row)) {
            FV_UNROLL
            for (int j = 0; j < NV; j++) {
                acc[i][j] = _mm512_maskz_loadu_ps(gemm_mask(&t, j, NV), c + j * FOVEA_PANEL);
            }
        }
    }

    // The lines of C come from L3 or memory while the steps run rather than after them: 84 to 88 % of the peak for
    // 512x512x512. A short k loop is over before they are there.
    float *line = t.c;
    for (int i = t.k >= GEMM_LONG_K ? 0 : M; i < M; i++, line += t.c_row) {
        FV_UNROLL
        for (int j = 0; j < NV; j++) {
            _mm_prefetch((const char *)(line + j * FOVEA_PANEL), _MM_HINT_T0);
        }
    }

    const int ahead = t.ahead == NULL ? 0 : t.ahead_panel == 0 ? 1 : NV;
    if (t.b_k != FOVEA_PANEL) {
        if (ahead == 0) {
            gemm_steps(&t, acc, M, NV, 0, 0);
        } else if (ahead == 1) {
            gemm_steps(&t, acc, M, NV, 0, 1);
        } else {
            gemm_steps(&t, acc, M, NV, 0, NV);
        }
    } else if (ahead == 0) {
        gemm_steps(&t, acc, M, NV, 1, 0);
    } else if (ahead == 1) {
        gemm_steps(&t, acc, M, NV, 1, 1);
    } else {
        gemm_steps(&t, acc, M, NV, 1, NV);
    }
}

/// The whole of a micro-kernel, but for RESCALE, for m = M and n in 16 * (NV - 1) + 1 .. 16 * NV, both constants;
/// M <= 16, NV <= 4.
static inline __attribute__((always_inline)) void gemm_tile(const struct fovea_gemm_tile *tile, int M, int NV)
{
    struct fovea_gemm_tile t = *tile; // a copy: stores to C cannot change it, so its members stay in registers
    const ptrdiff_t a_below = FOVEA_FAULT_IS(GEMM_BELOW_STAYS) ? 0 : M * t.a_row;
    for (size_t left = t.below;; left--, t.a += a_below, t.c += M * t.c_row) {
        gemm_acc acc;
        gemm_sums(&t, acc, M, NV);
        gemm_store(&t, acc, M, NV);
        if (left == 0) {
            return;
        }
    }
}

/// RESCALE, which is for the last v_dim % 8 rows of prefill's O: the sums go through a room.
static inline void gemm_rescale(const struct fovea_gemm_tile *tile, fovea_gemm_fn *run)
{
    enum { WIDE = GEMM_PANELS * FOVEA_PANEL };
    _Alignas(64) float room[GEMM_MR * WIDE];
    struct fovea_gemm_tile t = *tile;
    t.mode = FOVEA_GEMM_STORE;
    t.c = room;
    t.c_row = WIDE;
    run(&t);
    for (size_t i = 0; i < t.m; i++) {
        float *const c = tile->c + (ptrdiff_t)i * tile->c_row;
        for (size_t j = 0; j < t.n; j++) {
            const float sum = room[i * WIDE + j];
            c[j] = FOVEA_FAULT_IS(GEMM_RESCALE_STORES)    ? sum
                   : FOVEA_FAULT_IS(GEMM_RESCALE_MUL_ADD) ? c[j] * t.scale[j] + sum
                                                          : __builtin_fmaf(c[j], t.scale[j], sum);
        }
    }
}

/// True where gemm_plain does the same and is faster, and where B ends, as it alone can do that.
static inline int gemm_is_plain(const struct fovea_gemm_tile *t)
{
    return t->b_ends != 0 || (t->mode == FOVEA_GEMM_STORE && t->ahead == NULL && (t->near || t->k < GEMM_LONG_K));
}

/// Calls a tile of a table of two, gemm_<M>x<NV> and plain_<M>x<NV>.
static inline void gemm_call(const struct fovea_gemm_tile *tile, fovea_gemm_fn *gemm, fovea_gemm_fn *plain)
{
    if (tile->mode == FOVEA_GEMM_RESCALE) {
        gemm_rescale(tile, gemm);
    } else {
        (gemm_is_plain(tile) ? plain : gemm)(tile);
    }
}

/// Defines gemm_<M>x<NV> and plain_<M>x<NV>, one instantiation each for tables of tiles.
#define GEMM_TILE(M, NV)                                                                                               \
    static void gemm_##M##x##NV(const struct fovea_gemm_tile *tile)                                                    \
    {                                                                                                                  \
        gemm_tile(tile, M, NV);                                                                                        \
    }                                                                                                                  \
    static void plain_##M##x##NV(const struct fovea_gemm_tile *tile)                                                   \
    {                                                                                                                  \
        gemm_plain(tile, M, NV);                                                                                       \
    }

#endif
