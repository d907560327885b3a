// SPDX-License-Identifier: Apache-2.0
// kernels/avx512/gemm_tile.h - the f32 GEMM tile that every AVX-512 micro-kernel instantiates with constant sizes.
#ifndef FOVEA_KERNELS_AVX512_GEMM_TILE_H
#define FOVEA_KERNELS_AVX512_GEMM_TILE_H

#include "kernels/avx512/gemm_steps.h"
#include "kernels/common/unroll.h"
#include "kernels/kernel.h"

#include <immintrin.h>
#include <stdbool.h>

enum { GEMM_MR = 16, GEMM_PANELS = 4 };
enum { GEMM_LONG_K = 256 };
// Rows of B may begin within lines: of 16 columns the last line is asked for, the first is the last of those before.
enum { GEMM_LAST = FOVEA_PANEL - 1 };

/// The lanes of the last of `panels` panels that exist.
static inline __mmask16 gemm_mask(const struct fovea_gemm_tile *t, size_t panels)
{
    return (__mmask16)(0xFFFFu >> ((size_t)FOVEA_PANEL * panels - t->n));
}

/// The lines of C come from L3 or memory while the steps run rather than after them: 84 to 88 % of the peak for
/// 512x512x512 in blocks. A short k loop is over before they are there; where C is in L2, or written in order, it is
/// there.
static inline __attribute__((always_inline)) void gemm_fetch_c(const struct fovea_gemm_tile *t, const float *c, int M,
                                                               int V)
{
    for (int i = t->k >= GEMM_LONG_K && !t->near ? 0 : M; i < M; i++, c += t->c_row) {
        FV_UNROLL
        for (int j = 0; j < V; j++) {
            _mm_prefetch((const char *)(c + j * FOVEA_PANEL), _MM_HINT_T0);
        }
    }
}

/// What a tile's assembly wants to know.
struct gemm_run {
    ptrdiff_t a_next, b_next, c_row; // c_row in bytes
    size_t steps, ends, later;       // before the last rows of a B that ends, and these; of a lead, in its last part
    const float *next;               // what that prefetches
    bool adds;
    __mmask16 kb, kc;
};

static inline __attribute__((always_inline)) struct gemm_run gemm_begin(const struct fovea_gemm_tile *t, size_t panels)
{
    const size_t all = t->k - t->b_ends, steps = FOVEA_FAULT_IS(GEMM_K_SHORT) ? all / 4 * 4 : all;
    const size_t later = t->lead_steps < steps ? t->lead_steps : steps;
    const float *const last = t->b + (ptrdiff_t)(steps - later) * t->b_k;
    ptrdiff_t a_next = FOVEA_FAULT_IS(GEMM_BELOW_STAYS) ? 0 : t->a_next;
    ptrdiff_t b_next = FOVEA_FAULT_IS(GEMM_BESIDE_STAYS) ? 0 : t->b_next;
    // Or gcc reads the two as one vector. They were just written one by one, so that load would wait until all stores
    // before it are in L1, those of the last tile of C among them (natural 100 cube 1.015 times as fast).
    __asm__("" : "+r"(a_next), "+r"(b_next));
    return (struct gemm_run){
        .a_next = a_next,
        .b_next = b_next,
        .c_row = t->c_row * (ptrdiff_t)sizeof(float),
        .steps = steps,
        .later = later,
        .next = (t->ahead != NULL ? t->ahead : last) + GEMM_LAST,
        .ends = t->b_ends,
        .adds = t->mode == FOVEA_GEMM_ADD && !FOVEA_FAULT_IS(GEMM_ADD_FROM_ZERO),
        .kb = FOVEA_FAULT_IS(GEMM_B_ENDS_UNMASKED) ? 0xFFFF : gemm_mask(t, panels),
        .kc = FOVEA_FAULT_IS(GEMM_STORES_PAST_N) ? 0xFFFF : gemm_mask(t, panels),
    };
}

enum { GEMM_IS_NONE, GEMM_IS_LINE, GEMM_IS_PANELS, GEMM_IS_LEAD };

/// Defines KIND_<M>x<V>: the tile, and those after it. What a tile does around its steps takes as long as 2 to 6 of
/// them, so each kind is a function of its own.
#define GEMM_TILE(KIND, M, V, last, FORM, AHEAD, END)                                                                  \
    static void KIND##_##M##x##V(const struct fovea_gemm_tile *tile)                                                   \
    {                                                                                                                  \
        struct gemm_run run = gemm_begin(tile, V);                                                                     \
        const float *a_first = tile->a, *b_first = tile->b, *ahead = tile->ahead;                                      \
        size_t later = run.later;                                                                                      \
        const float *const next = run.next;                                                                            \
        const size_t ends = run.ends;                                                                                  \
        const ptrdiff_t c_row = run.c_row;                                                                             \
        (void)ahead, (void)later, (void)next, (void)ends; /* of which a kind has some */                               \
        float *c = tile->c;                                                                                            \
        struct gemm_terms terms;                                                                                       \
        terms.any = 0;                                                                                                 \
        if (__builtin_expect(tile->terms != NULL, 0)) {                                                                \
            gemm_set_terms(&terms, tile, run.kc, M, V);                                                                \
        }                                                                                                              \
        for (size_t left = tile->more + 1; left != 0; left--) {                                                        \
            const float *a[(M + 2) / 3], *b = b_first, *row = run.adds ? c : NULL;                                     \
            FV_UNROLL                                                                                                  \
            for (int i = 0; i < (M + 2) / 3; i++) {                                                                    \
                a[i] = a_first + 3 * i * tile->a_row;                                                                  \
            }                                                                                                          \
            size_t k = run.steps;                                                                                      \
            if (GEMM_IS_##AHEAD == GEMM_IS_LEAD) {                                                                     \
                k -= later;                                                                                            \
                ahead = b + (ptrdiff_t)later * tile->b_k + GEMM_LAST;                                                  \
            }                                                                                                          \
            gemm_fetch_c(tile, c, M, V);                                                                               \
            GEMM_TILE_OF(M, V, last, FORM, AHEAD, END);                                                                \
            a_first += run.a_next, b_first += run.b_next, c += tile->c_next;                                           \
        }                                                                                                              \
        _mm256_zeroupper();                                                                                            \
    }

/// Every kind of tile of M rows and V panels. HALF says of the last panel that at most eight of its columns exist: its
/// multiply-adds are then of 256 bits, half of the time where 512 bits take two turns (Zen 4: products of 33 to 100
/// columns 1.05 to 1.17, of up to 8, where loads of 512 bits take two turns, too, 1.45 to 1.6). Not measured elsewhere:
/// Zen 5 has the same slots for both, of Intel's ports one takes only those of 512 bits, which is as many as are left
/// for it where there are other panels; without them two ports take those of 256 bits.
#define GEMM_TILES(M, V)                                                                                               \
    GEMM_TERMS(M, V)                                                                                                   \
    GEMM_TILE(near, M, V, zmm, NEAR, NONE, WHOLE)                                                                      \
    GEMM_TILE(near_line, M, V, zmm, NEAR, LINE, WHOLE)                                                                 \
    GEMM_TILE(near_panels, M, V, zmm, NEAR, PANELS, WHOLE)                                                             \
    GEMM_TILE(near_half, M, V, ymm, NEAR, NONE, WHOLE)                                                                 \
    GEMM_TILE(natural, M, V, zmm, NATURAL, NONE, ENDS)                                                                 \
    GEMM_TILE(natural_half, M, V, ymm, NATURAL, NONE, ENDS)                                                            \
    GEMM_TILE(apart, M, V, zmm, APART, NONE, ENDS)                                                                     \
    GEMM_TILE(apart_line, M, V, zmm, APART, LINE, WHOLE)                                                               \
    GEMM_TILE(apart_panels, M, V, zmm, APART, PANELS, WHOLE)                                                           \
    GEMM_TILE(apart_half, M, V, ymm, APART, NONE, ENDS)                                                                \
    GEMM_TILE(lead, M, V, zmm, LED, LEAD, WHOLE)
enum { GEMM_K_NEAR, GEMM_K_LINE, GEMM_K_PANELS, GEMM_K_HALF, GEMM_K_APART };
// Natural tiles have no kind that prefetches: of the four from there on two are missing.
enum { GEMM_K_LEAD = 2 * GEMM_K_APART, GEMM_K_NATURAL, GEMM_KINDS = GEMM_K_NATURAL + GEMM_K_HALF + 1 };

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

/// The kind of a tile: what it prefetches, or whether its last panel counts as half of one; and whether B is packed
/// panels that should be prefetched near, or natural rows under steps of A that are adjacent.
static inline size_t gemm_kind(const struct fovea_gemm_tile *t)
{
    const size_t most = FOVEA_FAULT_IS(GEMM_HALF_OF_MORE) ? 12 : FOVEA_PANEL / 2;
    const bool near = t->b_k == FOVEA_PANEL && t->a_k == 1 && t->b_ends == 0;
    if (t->lead_steps != 0 && t->mode == FOVEA_GEMM_STORE && t->more == 0 && t->b_ends == 0) {
        return GEMM_K_LEAD;
    }
    if (t->ahead != NULL) {
        return (near ? GEMM_K_NEAR : GEMM_K_APART) + (t->ahead_panel == 0 ? GEMM_K_LINE : GEMM_K_PANELS);
    }
    const bool lone = near && t->n <= FOVEA_PANEL; // NEAR prefetches nothing of one panel, and has fewer instructions
    const bool adjacent = t->a_k == 1 || FOVEA_FAULT_IS(GEMM_NATURAL_ANY_A);
    const size_t other = t->b_panel == FOVEA_PANEL && adjacent ? GEMM_K_NATURAL : GEMM_K_APART;
    return ((near && !t->follows) || lone ? (size_t)GEMM_K_NEAR : other) +
           ((t->n - 1) % FOVEA_PANEL < most ? GEMM_K_HALF : 0);
}

/// The body of a micro-kernel: its tiles by kind, rows and panels; ROWS(NAMES, KIND): those of a kind.
#define GEMM_KERNEL(tile, ROWS, NAMES, M, V, self)                                                                     \
    static fovea_gemm_fn *const tiles[GEMM_KINDS][M][V] = {                                                            \
        [GEMM_K_NEAR] = {ROWS(NAMES, near)},                                                                           \
        [GEMM_K_LINE] = {ROWS(NAMES, near_line)},                                                                      \
        [GEMM_K_PANELS] = {ROWS(NAMES, near_panels)},                                                                  \
        [GEMM_K_HALF] = {ROWS(NAMES, near_half)},                                                                      \
        [GEMM_K_APART] = {ROWS(NAMES, apart)},                                                                         \
        [GEMM_K_APART + GEMM_K_LINE] = {ROWS(NAMES, apart_line)},                                                      \
        [GEMM_K_APART + GEMM_K_PANELS] = {ROWS(NAMES, apart_panels)},                                                  \
        [GEMM_K_APART + GEMM_K_HALF] = {ROWS(NAMES, apart_half)},                                                      \
        [GEMM_K_LEAD] = {ROWS(NAMES, lead)},                                                                           \
        [GEMM_K_NATURAL] = {ROWS(NAMES, natural)},                                                                     \
        [GEMM_K_NATURAL + GEMM_K_HALF] = {ROWS(NAMES, natural_half)}};                                                 \
    if ((tile)->mode == FOVEA_GEMM_RESCALE) {                                                                          \
        gemm_rescale(tile, self);                                                                                      \
    } else {                                                                                                           \
        tiles[gemm_kind(tile)][(tile)->m - 1][((tile)->n - 1) / FOVEA_PANEL](tile);                                    \
    }

/// X(M, KIND) for each number of rows from 1 to 6, 9, 12 or 16.
#define GEMM_UP_TO_6(X, KIND) X(1, KIND) X(2, KIND) X(3, KIND) X(4, KIND) X(5, KIND) X(6, KIND)
#define GEMM_UP_TO_9(X, KIND) GEMM_UP_TO_6(X, KIND) X(7, KIND) X(8, KIND) X(9, KIND)
#define GEMM_UP_TO_12(X, KIND) GEMM_UP_TO_9(X, KIND) X(10, KIND) X(11, KIND) X(12, KIND)
#define GEMM_UP_TO_16(X, KIND) GEMM_UP_TO_12(X, KIND) X(13, KIND) X(14, KIND) X(15, KIND) X(16, KIND)

#endif
