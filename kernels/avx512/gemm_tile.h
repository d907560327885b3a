// SPDX-License-Identifier: Apache-2.0
// kernels/avx512/gemm_tile.h - one tile of the AVX-512 f32 GEMM, which gemm_tiles_f32.c instantiates for each size.
#ifndef FOVEA_KERNELS_AVX512_GEMM_TILE_H
#define FOVEA_KERNELS_AVX512_GEMM_TILE_H

#include "kernels/avx512/gemm_steps.h"
#include "kernels/common/unroll.h"
#include "kernels/kernel.h"

#include <immintrin.h>
#include <stdbool.h>
#include <stddef.h>

enum { GEMM_LONG_K = 256 };
// Rows of B may begin within cache lines. Of the two lines that then hold 16 columns the last one is prefetched: the
// first is the last one of the columns before.
enum { GEMM_LAST = FOVEA_PANEL - 1 };

/// The lanes of the last of `panels` panels that exist.
static inline __mmask16 gemm_mask(const struct fovea_gemm_tile *t, size_t panels)
{
    return (__mmask16)(0xFFFFu >> ((size_t)FOVEA_PANEL * panels - t->n));
}

/// Prefetches a C from L3 or memory, so that its lines arrive while the steps run rather than after them: 84 to 88 % of
/// the peak for 512x512x512 in blocks. A short k loop would be over before they arrive, and a C that is in L2, or
/// written in order, does not need it.
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

/// What the assembly of a tile needs in another form than struct fovea_gemm_tile has it.
struct gemm_run {
    ptrdiff_t a_next, b_next, c_row; // c_row in bytes
    size_t tail;                     // last k steps that gemm_tail.h computes, or 0
    size_t steps, ends; // k steps before these, or before the last rows of a B that ends, and of these rows
    size_t later;       // LEAD: steps of its last stretch, which prefetches from `next` on
    const float *next;
    bool adds;
    __mmask16 kb, kc;
};

static inline __attribute__((always_inline)) struct gemm_run gemm_begin(const struct fovea_gemm_tile *t, size_t panels,
                                                                        size_t tail_steps)
{
    // A tail masks B in its last step alone, and has no terms.
    const bool has_tail = t->terms == NULL && t->k >= tail_steps && t->b_ends <= 1;
    const size_t tail = has_tail ? tail_steps : 0;
    const size_t all = t->k - (tail == 0 ? t->b_ends : FOVEA_FAULT_IS(GEMM_TAIL_TWICE) ? 0 : tail);
    const size_t steps = FOVEA_FAULT_IS(GEMM_K_SHORT) ? all / 4 * 4 : all;
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
        .tail = tail,
        .steps = steps,
        .later = later,
        .next = (t->ahead != NULL ? t->ahead : last) + GEMM_LAST,
        .ends = t->b_ends,
        .adds = t->mode == FOVEA_GEMM_ADD && !FOVEA_FAULT_IS(GEMM_ADD_FROM_ZERO),
        .kb = FOVEA_FAULT_IS(GEMM_B_ENDS_UNMASKED) ? 0xFFFF : gemm_mask(t, panels),
        .kc = FOVEA_FAULT_IS(GEMM_STORES_PAST_N) ? 0xFFFF : gemm_mask(t, panels),
    };
}

/// The stretches in which the steps of a tile are computed; GEMM_STRETCH_x of gemm_steps.h are the offsets.
struct gemm_stretch {
    size_t left;  // steps after this stretch
    size_t later; // LEAD: steps of its last stretch, which prefetches from `next` on; 0 once it has begun
    const float *next;
    size_t page;     // most steps of a stretch
    ptrdiff_t touch; // bytes from what is read next to what is prefetched of a later page
};
_Static_assert(offsetof(struct gemm_stretch, left) == 0 && offsetof(struct gemm_stretch, later) == 8 &&
                   offsetof(struct gemm_stretch, next) == 16 && offsetof(struct gemm_stretch, page) == 24 &&
                   offsetof(struct gemm_stretch, touch) == 32,
               "gemm_steps.h has other offsets");

static inline __attribute__((always_inline)) struct gemm_stretch gemm_stretch_of(const struct fovea_gemm_tile *t,
                                                                                 const struct gemm_run *run)
{
    return (struct gemm_stretch){
        .next = run->next,
        .page = t->touch != 0 ? FOVEA_PAGE / FOVEA_PANEL : SIZE_MAX,
        .touch = (ptrdiff_t)(t->touch * FOVEA_PAGE * sizeof(float)),
    };
}

/// Begins the stretches of a tile with k steps that reads, or with LEAD prefetches, from `from` on. Returns the steps
/// of the first one. Without a line of later pages one row of C reads a packed B at two thirds of the rate (Zen 5 whose
/// page tables are slow to walk).
static inline __attribute__((always_inline)) size_t
gemm_first_stretch(const struct fovea_gemm_tile *t, struct gemm_stretch *stretch, size_t k, const float *from, int V)
{
    const size_t first = k < stretch->page ? k : stretch->page;
    stretch->left = FOVEA_FAULT_IS(GEMM_ONE_PAGE) ? 0 : k - first;
    for (int j = stretch->left != 0 ? 0 : V; j < V; j++) {
        _mm_prefetch((const char *)(from + j * t->b_panel) + stretch->touch, _MM_HINT_T0);
    }
    return first;
}

enum { GEMM_IS_NONE, GEMM_IS_LINE, GEMM_IS_PANELS, GEMM_IS_PACK, GEMM_IS_PAGES, GEMM_IS_LEAD };

/// Defines KIND_<M>x<V>: the tile, and those after it. What a tile does around its steps takes as long as 2 to 6 of
/// them, so each kind is a function of its own.
#define GEMM_TILE(KIND, M, V, last, FORM, AHEAD, END, TAIL)                                                            \
    static void KIND##_##M##x##V(const struct fovea_gemm_tile *tile)                                                   \
    {                                                                                                                  \
        struct gemm_run run = gemm_begin(tile, V, GEMM_##TAIL##_STEPS(M, V));                                          \
        const float *a_first = tile->a, *b_first = tile->b, *ahead = tile->ahead;                                      \
        float *packed = tile->packed;                                                                                  \
        const size_t tail = run.tail, ends = run.ends; /* operands in memory; run itself is not */                     \
        const ptrdiff_t c_row = run.c_row;                                                                             \
        struct gemm_stretch stretch = gemm_stretch_of(tile, &run);                                                     \
        (void)ahead, (void)packed, (void)ends, (void)stretch; /* each uses some of them */                             \
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
                ahead = b + (ptrdiff_t)run.later * tile->b_k + GEMM_LAST;                                              \
                stretch.later = run.later;                                                                             \
                k = gemm_first_stretch(tile, &stretch, k - run.later, ahead, V);                                       \
            } else if (GEMM_IS_##AHEAD == GEMM_IS_PAGES) {                                                             \
                k = gemm_first_stretch(tile, &stretch, k, b, V);                                                       \
            }                                                                                                          \
            gemm_fetch_c(tile, c, M, V);                                                                               \
            GEMM_TILE_OF(M, V, last, FORM, AHEAD, END, TAIL);                                                          \
            a_first += run.a_next, b_first += run.b_next, c += tile->c_next;                                           \
        }                                                                                                              \
        _mm256_zeroupper();                                                                                            \
    }

#endif
