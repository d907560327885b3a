// SPDX-License-Identifier: Apache-2.0
// kernels/avx512/gemm_tile.h - the f32 GEMM tile that every AVX-512 micro-kernel instantiates with constant sizes.
#ifndef FOVEA_KERNELS_AVX512_GEMM_TILE_H
#define FOVEA_KERNELS_AVX512_GEMM_TILE_H

#include "kernels/avx512/gemm_steps.h"

enum { GEMM_LONG_K = 256 };
// Rows of B may begin within lines: of 16 columns the last line is asked for, the first is the last of those before.
enum { GEMM_LAST = FOVEA_PANEL - 1 };

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

/// The tile, and those after it, of a product that is in L2 or has few steps: nothing but the steps and the stores.
/// What a tile does around its steps takes as long as 2 to 6 of them; among all the ways of gemm_tile gcc makes 80
/// instructions of it. A panel that stays in L1 needs no prefetches.
static inline __attribute__((always_inline)) void gemm_plain(const struct fovea_gemm_tile *tile, int M, int NV,
                                                             int HALF)
{
    enum { L1_STEPS = 448 }; // lines of B: 28 of 32 KiB
    struct fovea_gemm_tile t = *tile;
    t.k -= t.b_ends;
    const int near = t.b_k == FOVEA_PANEL && t.k * (size_t)NV > L1_STEPS;
    const ptrdiff_t a_next = FOVEA_FAULT_IS(GEMM_BELOW_STAYS) ? 0 : t.a_next;
    const ptrdiff_t b_next = FOVEA_FAULT_IS(GEMM_BESIDE_STAYS) ? 0 : t.b_next;
    for (size_t left = t.more;; left--, t.a += a_next, t.b += b_next, t.c += t.c_next) {
        gemm_acc acc;
        gemm_zero(acc, M, NV);
        if (near) {
            gemm_steps(&t, acc, M, NV, GEMM_NEAR, 0, HALF);
        } else {
            gemm_steps(&t, acc, M, NV, GEMM_FAR, 0, HALF);
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

/// The lines of C come from L3 or memory while the steps run rather than after them: 84 to 88 % of the peak for
/// 512x512x512. A short k loop is over before they are there.
static inline __attribute__((always_inline)) void gemm_fetch_c(const struct fovea_gemm_tile *t, int M, int NV)
{
    float *line = t->c;
    for (int i = t->k >= GEMM_LONG_K ? 0 : M; i < M; i++, line += t->c_row) {
        FV_UNROLL
        for (int j = 0; j < NV; j++) {
            _mm_prefetch((const char *)(line + j * FOVEA_PANEL), _MM_HINT_T0);
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

    gemm_fetch_c(&t, M, NV);

    const int ahead = t.ahead == NULL ? 0 : t.ahead_panel == 0 ? 1 : NV;
    if (ahead == 0 && (t.b_k != FOVEA_PANEL || t.follows)) {
        gemm_steps(&t, acc, M, NV, GEMM_FAR, 0, GEMM_FULL);
    } else if (t.b_k != FOVEA_PANEL) { // as branches of one chain gcc spills in four of these loops
        if (ahead == 1) {
            gemm_steps(&t, acc, M, NV, GEMM_FAR, 1, GEMM_FULL);
        } else {
            gemm_steps(&t, acc, M, NV, GEMM_FAR, NV, GEMM_FULL);
        }
    } else if (ahead == 0) {
        gemm_steps(&t, acc, M, NV, GEMM_NEAR, 0, GEMM_FULL);
    } else if (ahead == 1) {
        gemm_steps(&t, acc, M, NV, GEMM_NEAR, 1, GEMM_FULL);
    } else {
        gemm_steps(&t, acc, M, NV, GEMM_NEAR, NV, GEMM_FULL);
    }
}

/// The whole of a micro-kernel, but for RESCALE, for m = M and n in 16 * (NV - 1) + 1 .. 16 * NV, both constants;
/// M <= 16, NV <= 4.
static inline __attribute__((always_inline)) void gemm_tile(const struct fovea_gemm_tile *tile, int M, int NV)
{
    struct fovea_gemm_tile t = *tile; // a copy: stores to C cannot change it, so its members stay in registers
    const ptrdiff_t a_next = FOVEA_FAULT_IS(GEMM_BELOW_STAYS) ? 0 : t.a_next;
    const ptrdiff_t b_next = FOVEA_FAULT_IS(GEMM_BESIDE_STAYS) ? 0 : t.b_next;
    for (size_t left = t.more;; left--, t.a += a_next, t.b += b_next, t.c += t.c_next) {
        gemm_acc acc;
        gemm_sums(&t, acc, M, NV);
        gemm_store(&t, acc, M, NV);
        if (left == 0) {
            return;
        }
    }
}

/// The tile where B comes from beyond L2 and lead says how far ahead it is prefetched: the steps that prefetch others
/// of the tile itself, and the last ones, which prefetch what comes after it.
static inline __attribute__((always_inline)) void gemm_led(const struct fovea_gemm_tile *tile, int M, int NV)
{
    struct fovea_gemm_tile t = *tile;
    gemm_acc acc;
    gemm_zero(acc, M, NV);
    gemm_fetch_c(&t, M, NV);
    const size_t lead = t.lead_steps < t.k ? t.lead_steps : t.k;
    const float *const last = t.b + (ptrdiff_t)(t.k - lead) * t.b_k;
    t.k -= lead;
    t.ahead = t.b + (ptrdiff_t)lead * t.b_k + GEMM_LAST;
    for (int part = 0; part < 2; part++) {
        gemm_steps(&t, acc, M, NV, GEMM_LEADS, NV, GEMM_FULL);
        t.a += (ptrdiff_t)t.k * t.a_k;
        t.b = last;
        t.k = lead;
        t.ahead = (tile->ahead != NULL ? tile->ahead : last) + GEMM_LAST;
    }
    gemm_store(&t, acc, M, NV);
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
    const int little = t->near || t->k < GEMM_LONG_K || t->n <= FOVEA_PANEL / 2;
    return t->b_ends != 0 || (t->mode == FOVEA_GEMM_STORE && t->ahead == NULL && t->lead_steps == 0 && little);
}

/// Calls one of four tiles: gemm_<M>x<NV>, plain_<M>x<NV>, half_<M>x<NV>, for which plain stands where there is none,
/// or led_<M>x<NV>.
static inline void gemm_call(const struct fovea_gemm_tile *tile, fovea_gemm_fn *gemm, fovea_gemm_fn *plain,
                             fovea_gemm_fn *half, fovea_gemm_fn *led)
{
    const size_t most = FOVEA_FAULT_IS(GEMM_HALF_OF_MORE) ? 12 : FOVEA_PANEL / 2;
    if (tile->mode == FOVEA_GEMM_RESCALE) {
        gemm_rescale(tile, gemm);
    } else if (gemm_is_plain(tile)) {
        ((tile->n - 1) % FOVEA_PANEL < most ? half : plain)(tile);
    } else {
        (tile->lead_steps != 0 && tile->mode == FOVEA_GEMM_STORE && tile->more == 0 ? led : gemm)(tile);
    }
}

/// The body of a micro-kernel: the tables of its tiles, of each kind; NAMES(M, KIND): those of M rows. `half` is plain
/// where there are none.
#define GEMM_KERNEL(tile, ROWS, NAMES, M, NV, half)                                                                    \
    static fovea_gemm_fn *const tiles[4][M][NV] = {                                                                    \
        {ROWS(NAMES, gemm)}, {ROWS(NAMES, plain)}, {ROWS(NAMES, half)}, {ROWS(NAMES, led)}};                           \
    const size_t i = (tile)->m - 1, j = ((tile)->n - 1) / FOVEA_PANEL;                                                 \
    gemm_call(tile, tiles[0][i][j], tiles[1][i][j], tiles[2][i][j], tiles[3][i][j])

/// X(M, KIND) for each number of rows from 1 to 6, 9, 12 or 16.
#define GEMM_ROWS_6(X, KIND) X(1, KIND) X(2, KIND) X(3, KIND) X(4, KIND) X(5, KIND) X(6, KIND)
#define GEMM_ROWS_9(X, KIND) GEMM_ROWS_6(X, KIND) X(7, KIND) X(8, KIND) X(9, KIND)
#define GEMM_ROWS_12(X, KIND) GEMM_ROWS_9(X, KIND) X(10, KIND) X(11, KIND) X(12, KIND)
#define GEMM_ROWS_16(X, KIND) GEMM_ROWS_12(X, KIND) X(13, KIND) X(14, KIND) X(15, KIND) X(16, KIND)

/// Defines gemm_<M>x<NV>, plain_<M>x<NV> and led_<M>x<NV>, one instantiation each for tables of tiles.
#define GEMM_TILE(M, NV)                                                                                               \
    static void gemm_##M##x##NV(const struct fovea_gemm_tile *tile)                                                    \
    {                                                                                                                  \
        gemm_tile(tile, M, NV);                                                                                        \
    }                                                                                                                  \
    static void plain_##M##x##NV(const struct fovea_gemm_tile *tile)                                                   \
    {                                                                                                                  \
        gemm_plain(tile, M, NV, GEMM_FULL);                                                                            \
    }                                                                                                                  \
    static void led_##M##x##NV(const struct fovea_gemm_tile *tile)                                                     \
    {                                                                                                                  \
        gemm_led(tile, M, NV);                                                                                         \
    }

/// Defines half_<M>x<NV>, which is plain_<M>x<NV> where at most eight columns of the last panel exist.
#define GEMM_TILE_HALF(M, NV)                                                                                          \
    static void half_##M##x##NV(const struct fovea_gemm_tile *tile)                                                    \
    {                                                                                                                  \
        gemm_plain(tile, M, NV, GEMM_HALF);                                                                            \
    }

#endif
