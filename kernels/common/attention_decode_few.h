// SPDX-License-Identifier: Apache-2.0
// kernels/common/attention_decode_few.h - products of a few rows, up to eight vectors wide.
//
// In a tile of the GEMM micro-kernel a row has 2 to 4 sums, each of which waits four cycles for its previous step.
// Eight or sixteen sums keep the ports busy; on AVX-512 a chunk of keys is one tile. These tiles also prefetch one line
// for each line they read, and the pages before it (attention_decode_fetch.h), so that from memory more rows use them:
// Zen 5, against GEMM tiles, three rows 1.12 to 1.2, four 1.06 to 1.15, five and six from memory 0.96 to 1.1, seven and
// eight 1.04 to 1.3; in L2 three and four 1.1 to 1.25, five to eight 0.73 to 1.0.
//
// Part of attention_decode_f32.inc, and of attention_decode_bf16_f32.inc and _f16_f32.inc.
#ifndef FOVEA_KERNELS_COMMON_ATTENTION_DECODE_FEW_H
#define FOVEA_KERNELS_COMMON_ATTENTION_DECODE_FEW_H

#include "kernels/common/attention_decode_keys.h"
#include "kernels/common/unroll.h"

enum {
    DECODE_FEW = FOVEA_DECODE_FEW,            ///< rows
    DECODE_FLAT = FV_LANES == 16 ? 4 : 2,     ///< most rows that use these tiles, and sum their weights in them
#ifdef FV_LOAD_HALF                           // there is no other product
    DECODE_FLAT_FAR = FV_LANES == 16 ? 8 : 4, ///< most rows of a tile
#else
    DECODE_FLAT_FAR = FV_LANES == 16 ? 8 : 2, ///< most rows that use them if K and V come from memory
#endif
    DECODE_BESIDE = 4,                           ///< most rows for which the next chunk's scores are kept
    DECODE_FLAT_SUMS = FV_LANES == 16 ? 24 : 16, ///< most sums of a tile
};

#ifdef FV_HALVES // kernels/common/variant.h
#define DECODE_HALVES 1
#define DECODE_ANEW(a) __asm__("" : "+r"(a)) // what was read through it is not known any more
#else
#define DECODE_HALVES 0
#define DECODE_ANEW(a)
#endif

/// x, which R rows use, in a register: gcc would read it for each. Zen 4, two rows over 512 keys in L2, 1.39 times as
/// fast.
static inline __attribute__((always_inline)) fv_f32 decode_once(fv_f32 x, int R)
{
#if FV_LANES == 16
    if (R > 1) {
        __asm__("" : "+v"(x));
    }
#else
    (void)R;
#endif
    return x;
}

/// What a tile prefetches while it reads B, as much as it reads: nothing; into L2, in one stream or in as many as a
/// step has lines; into L1, in one stream; or into L1, in rows t->ahead_step apart.
enum decode_ahead { DECODE_NOTHING, DECODE_INTO_L2, DECODE_INTO_L1, DECODE_ROWS_INTO_L1 };

/// Whether each FMA of R rows reads its element of A from memory, as an operand that is broadcast: as FEW_EMBEDS of
/// gemm_few_step.h. Zen 4, caches of 16 bits, 14 heads on two 1.13 to 1.16, 32 on eight 1.08 to 1.13. f32 from memory,
/// three and four rows 1.04 to 1.07 with heads of 128 and 0.95 to 0.98 with heads of 64, seven and eight 1.01 to 1.02;
/// five and six 0.93 to 0.98, from L2 three and four 0.98 to 0.99.
static inline __attribute__((always_inline)) int decode_embeds(int R, enum decode_ahead AHEAD)
{
    const int half = sizeof(decode_element) < sizeof(float);
    return DECODE_HALVES && (half || (AHEAD != DECODE_NOTHING && R != 5 && R != 6));
}

#ifdef FV_LOAD_HALF
/// What these tiles read of struct fovea_gemm_tile, for another type of element. (With f32 a caller sets up one struct
/// for a tile of either kind: a copy costs time.)
struct decode_tile {
    size_t n, k;
    const float *a;
    ptrdiff_t a_row, a_k;
    const decode_element *b;
    ptrdiff_t b_panel, b_k;
    float *c;
    ptrdiff_t c_row;
    enum fovea_gemm_mode mode;
    const decode_element *ahead;
    ptrdiff_t ahead_step;
};
#else
#define decode_tile fovea_gemm_tile
#endif

/// The address of B's vector v; 16 columns are a panel. Stepped pointers to every third panel reach all of them, as
/// base + {0, 1, 2} * stride.
static inline const decode_element *decode_few_at(const decode_element *const *b, int v, ptrdiff_t panel)
{
    const int at = v * FV_LANES / FOVEA_PANEL;
    return b[at / 3] + at % 3 * panel + v * FV_LANES % FOVEA_PANEL;
}

/// sums[r] = sum[r] for R rows, at most FV_LANES; all lanes of sum[r] are equal. Uses one store of a whole vector, in
/// which the other lanes keep their value: a later vector load would have to wait for several narrow stores (and does
/// if rows begin at another than the first).
static inline __attribute__((always_inline)) void decode_set_sums(float *sums, const fv_f32 *sum, int R)
{
    fv_f32 all = fv_load(sums);
    FV_UNROLL
    for (int r = 0; r < R; r++) {
        all = fv_select(fv_mask_bits(1u << r), sum[r], all);
    }
    fv_store(sums, all);
}

/// Stores the sums of R rows and V vectors, of which n columns exist.
static inline __attribute__((always_inline)) void decode_few_store(const struct decode_tile *t, const fv_f32 *acc,
                                                                   int R, int V)
{
    FV_UNROLL
    for (int r = 0; r < R; r++) {
        FV_UNROLL
        for (int v = 0; v < V; v++) {
            float *const c = t->c + r * t->c_row + v * FV_LANES;
            const size_t before = (size_t)v * FV_LANES;
            if (t->n >= before + FV_LANES || FOVEA_FAULT_IS(DECODE_FEW_STORES_PAST_N)) {
                fv_store(c, acc[r * V + v]);
            } else if (t->n > before) {
                fv_store_tail(c, acc[r * V + v], t->n - before);
            }
        }
    }
}

/// C[R rows, V vectors] = or += A B, of which n columns are written; each element is the chain of ascending steps. If
/// sums is not NULL, sums[R] += the rows of A, one chain each, which is hidden by the others. Unless AHEAD is NOTHING,
/// a step prefetches as many bytes as it reads of B, and one line of each page of as many bytes from `pages` on.
static inline __attribute__((always_inline)) void decode_few_tile(const struct decode_tile *t,
                                                                  const decode_element *pages, float *sums,
                                                                  enum fovea_into into, int R, int V,
                                                                  enum decode_ahead AHEAD)
{
    const int EMBEDS = decode_embeds(R, AHEAD);
    const size_t steps = DECODE_PAGE / (V * FV_LANES); // steps per page
    const int parts = AHEAD == DECODE_INTO_L2 && into == FOVEA_INTO_L2_PARTS && V * FV_LANES >= (int)DECODE_LINE;
    const ptrdiff_t line = DECODE_LINE, part = parts ? (ptrdiff_t)t->k * line : line; // between the lines of a step
    const ptrdiff_t ahead_step = AHEAD == DECODE_ROWS_INTO_L1 ? t->ahead_step : parts ? line : V * FV_LANES;
    const float *a = t->a;
    const decode_element *ahead = t->ahead, *b[3] = {t->b, t->b + 3 * t->b_panel, t->b + 6 * t->b_panel};
    fv_f32 acc[DECODE_FLAT_SUMS], sum[DECODE_FLAT];
    for (int r = 0; r < R && R <= DECODE_FLAT; r++) {
        sum[r] = sums ? fv_set1(sums[r]) : fv_zero();
    }
    FV_UNROLL
    for (int r = 0; r < R; r++) {
        FV_UNROLL
        for (int v = 0; v < V; v++) {
            acc[r * V + v] = t->mode == FOVEA_GEMM_ADD && !FOVEA_FAULT_IS(DECODE_FEW_ADDS_NOTHING)
                                 ? fv_load(t->c + r * t->c_row + v * FV_LANES)
                                 : fv_zero();
        }
    }
    for (size_t p = t->k; p != 0; p--) {
        fv_f32 of_row[DECODE_FLAT_FAR];
        FV_UNROLL
        for (int r = 0; r < R; r++) {
            of_row[r] = fv_set1(a[r * t->a_row]);
            if (R <= DECODE_FLAT) {
                sum[r] = fv_add(sum[r], of_row[r]);
            }
        }
        DECODE_ANEW(a);
        FV_UNROLL
        for (int v = 0; v < V; v++) {
            const fv_f32 x = decode_once(FV_LOAD_ELEMENT(decode_few_at(b, v, t->b_panel)), R);
            FV_UNROLL
            for (int r = 0; r < R; r++) {
                acc[r * V + v] = fv_fma(EMBEDS ? fv_set1(a[r * t->a_row]) : of_row[r], x, acc[r * V + v]);
            }
            DECODE_ANEW(a);
        }
        if (AHEAD != DECODE_NOTHING) {
            FV_UNROLL
            for (int at = 0; at < V * FV_LANES; at += (int)DECODE_LINE) {
                if (AHEAD == DECODE_INTO_L2) {
                    __builtin_prefetch(ahead + at / (int)DECODE_LINE * part, 0, 2);
                } else {
                    __builtin_prefetch(ahead + at, 0, 3);
                }
            }
            ahead += ahead_step;
            if ((t->k - p) % steps == 0) {
                __builtin_prefetch(pages, 0, 2);
                pages += DECODE_PAGE;
            }
        }
        a += t->a_k;
        FV_UNROLL
        for (int i = 0; i < 3; i++) {
            b[i] += t->b_k;
        }
    }
    decode_few_store(t, acc, R, V);
    if (sums && R <= DECODE_FLAT) {
        decode_set_sums(sums, sum, R);
    }
}

#define DECODE_FEW_TILE(R, V)                                                                                          \
    static void decode_few_##R##x##V(const struct decode_tile *tile, const decode_element *pages, float *sums,         \
                                     enum fovea_into into)                                                             \
    {                                                                                                                  \
        if (R <= DECODE_FEW && tile->ahead && tile->ahead_step != 0) {                                                 \
            decode_few_tile(tile, pages, sums, into, R, V, DECODE_ROWS_INTO_L1);                                       \
        } else if (tile->ahead && into == FOVEA_INTO_L1) {                                                             \
            decode_few_tile(tile, pages, sums, into, R, V, DECODE_INTO_L1);                                            \
        } else if (tile->ahead) {                                                                                      \
            decode_few_tile(tile, pages, sums, into, R, V, DECODE_INTO_L2);                                            \
        } else {                                                                                                       \
            decode_few_tile(tile, pages, sums, into, R, V, DECODE_NOTHING);                                            \
        }                                                                                                              \
    }
#define DECODE_FEW_2(R) DECODE_FEW_TILE(R, 1) DECODE_FEW_TILE(R, 2)
#define DECODE_FEW_4(R) DECODE_FEW_2(R) DECODE_FEW_TILE(R, 4)
#define DECODE_FEW_8(R) DECODE_FEW_4(R) DECODE_FEW_TILE(R, 8)
typedef void decode_few_fn(const struct decode_tile *, const decode_element *, float *, enum fovea_into);
// Indexed by rows and by the logarithm of the number of vectors: as many as there are registers for, at least a panel.
#if FV_LANES == 16
DECODE_FEW_8(1)
DECODE_FEW_8(2)
DECODE_FEW_8(3)
DECODE_FEW_4(4)
DECODE_FEW_4(5)
DECODE_FEW_4(6)
DECODE_FEW_2(7)
DECODE_FEW_2(8)
static decode_few_fn *const decode_few_tiles[DECODE_FLAT_FAR][4] = {
    {decode_few_1x1, decode_few_1x2, decode_few_1x4, decode_few_1x8},
    {decode_few_2x1, decode_few_2x2, decode_few_2x4, decode_few_2x8},
    {decode_few_3x1, decode_few_3x2, decode_few_3x4, decode_few_3x8},
    {decode_few_4x1, decode_few_4x2, decode_few_4x4},
    {decode_few_5x1, decode_few_5x2, decode_few_5x4},
    {decode_few_6x1, decode_few_6x2, decode_few_6x4},
    {decode_few_7x1, decode_few_7x2},
    {decode_few_8x1, decode_few_8x2},
};
#elif FV_LANES == 8
#ifdef FV_LOAD_HALF
DECODE_FEW_TILE(3, 2)
DECODE_FEW_TILE(4, 2)
#endif
DECODE_FEW_TILE(1, 2)
DECODE_FEW_TILE(1, 4)
DECODE_FEW_TILE(1, 8)
DECODE_FEW_TILE(2, 2)
DECODE_FEW_TILE(2, 4)
static decode_few_fn *const decode_few_tiles[DECODE_FLAT_FAR][4] = {
    {NULL, decode_few_1x2, decode_few_1x4, decode_few_1x8},
    {NULL, decode_few_2x2, decode_few_2x4},
#ifdef FV_LOAD_HALF
    {NULL, decode_few_3x2},
    {NULL, decode_few_4x2},
#endif
};
#else
#ifdef FV_LOAD_HALF
DECODE_FEW_TILE(3, 4)
DECODE_FEW_TILE(4, 4)
#endif
DECODE_FEW_TILE(1, 4)
DECODE_FEW_TILE(1, 8)
DECODE_FEW_TILE(2, 4)
DECODE_FEW_TILE(2, 8)
static decode_few_fn *const decode_few_tiles[DECODE_FLAT_FAR][4] = {
    {NULL, NULL, decode_few_1x4, decode_few_1x8},
    {NULL, NULL, decode_few_2x4, decode_few_2x8},
#ifdef FV_LOAD_HALF
    {NULL, NULL, decode_few_3x4},
    {NULL, NULL, decode_few_4x4},
#endif
};
#endif

/// Runs up to DECODE_FLAT_FAR rows; sums must be NULL for more than DECODE_FLAT. B's panels must be readable in full,
/// and C in whole vectors if it is added to. tile is changed. pages must not be NULL if tile->ahead is not. into: where
/// to prefetch `ahead` to; rows of it (tile->ahead_step not 0, only for DECODE_FEW rows) go into L1.
static inline void decode_few(struct decode_tile *tile, const decode_element *pages, float *sums, size_t rows,
                              enum fovea_into into)
{
    const size_t panel_vecs = FOVEA_PANEL / FV_LANES;
    for (size_t vecs; tile->n != 0; tile->n -= attention_min(tile->n, vecs * FV_LANES)) {
        size_t log = 3;
        while ((vecs = (size_t)1 << log) > attention_round(tile->n) / FV_LANES || !decode_few_tiles[rows - 1][log]) {
            log--;
        }
        decode_few_tiles[rows - 1][log](tile, pages, sums, into);
        sums = FOVEA_FAULT_IS(DECODE_FEW_SUMS_TWICE) ? sums : NULL; // once is enough
        tile->b += (ptrdiff_t)(vecs / panel_vecs) * tile->b_panel;
        tile->c += vecs * FV_LANES;
        const size_t columns = vecs * FV_LANES;
        tile->ahead = tile->ahead ? tile->ahead + (tile->ahead_step != 0 ? columns : tile->k * columns) : NULL;
        pages = tile->ahead ? pages + tile->k * vecs * FV_LANES : NULL;
    }
}

#endif
