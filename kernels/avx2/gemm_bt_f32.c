// SPDX-License-Identifier: Apache-2.0
// kernels/avx2/gemm_bt_f32.c - few rows of A times rows of B: C[i,j] = sum of A[i,p] * B[j,p].
//
// Eight rows of B at a time, or several groups of eight side by side: blocks of 8 x 8 are transposed in registers and
// used at once, so lanes are columns of C and each element is the one ascending fma chain that docs/numerics.md
// requires. The limit of such a pass over B is how memory is read. Zen 3's prefetcher follows eight streams by itself
// (115 to 130 % of the read stream of bench/probe_stream.c, which computes nothing), sixteen barely (100) and 32 not
// (65). Software prefetches fill the miss buffers, are dropped when they come too fast, and are slower in any order (70
// to 85). So nothing is prefetched there, and the caller passes rows that are far apart: each of the eight is then one
// stream through many rows. Adjacent rows of 3 KiB start eight new streams every 48 lines (M = 1, 2304x768: 70 % of the
// stream, far apart 97). Zen 4 is fastest with each row prefetched 32 lines ahead (one to five rows 1.3 to 1.9 times as
// fast as far apart, six to eight 1.1 to 1.5), Emerald Rapids with rows far apart, each prefetched a few lines ahead
// (1.14 to 1.23).
#include "kernels/avx2/vec.h"
#include "kernels/common/gemm_bt_ahead.h"
#include "kernels/fault.h"

enum { MR = 8, LANES = 8, GROUPS_MAX = 4 };

/// acc += one k step.
static inline __attribute__((always_inline)) void add_step(const float *a, fv_f32 b, fv_f32 acc[MR], int M)
{
    FV_UNROLL
    for (int i = 0; i < M; i++) {
        const fv_f32 ai = fv_set1(a[i]);
        acc[i] = FOVEA_FAULT_IS(GEMM_BT_MUL_ADD) ? fv_add(fv_mul(ai, b), acc[i]) : fv_fma(ai, b, acc[i]);
    }
}

/// Three strides with which x86 addresses of the form base + {1, 2, 4} * index reach eight rows, or steps of four.
struct strides {
    ptrdiff_t one, three, five, seven;
};

static inline __attribute__((always_inline)) struct strides strides_of(ptrdiff_t one)
{
    struct strides s = {one, 3 * one, 5 * one, 7 * one};
    // Otherwise they are recomputed from the others in each block.
    __asm__("" : "+r"(s.three), "+r"(s.five), "+r"(s.seven));
    return s;
}

/// acc += `steps` k steps (8 if constant) of the block of eight rows of B at b. Rows are loaded whole, every second one
/// as an operand: with fewer instructions more of B is in flight (28; with halves inserted from memory 32, and M = 1 to
/// 4 took up to 1.1 times as long). A column is used as soon as it is complete, because registers are scarce.
static inline __attribute__((always_inline)) void add_block(const float *b, struct strides row, const float *a,
                                                            ptrdiff_t a_k, size_t steps, fv_f32 acc[MR], int M)
{
    const ptrdiff_t rows[LANES] = {0, row.one, 2 * row.one, row.three, 4 * row.one, row.five, 2 * row.three, row.seven};
    __m256d low[4], high[4]; // pairs of rows: each half has the elements 0 and 1, or 2 and 3, of both
    FV_UNROLL
    for (int i = 0; i < 4; i++) {
        const fv_f32 even = fv_load(b + rows[2 * i]), odd = fv_load(b + rows[2 * i + 1]);
        low[i] = _mm256_castps_pd(_mm256_unpacklo_ps(even, odd));
        high[i] = _mm256_castps_pd(_mm256_unpackhi_ps(even, odd));
    }
    fv_f32 later[4];
    FV_UNROLL
    for (size_t i = 0; i < 4; i++, a += a_k) {
        const __m256d *const pairs = i < 2 ? low : high;
        const fv_f32 x =
            _mm256_castpd_ps(i % 2 ? _mm256_unpackhi_pd(pairs[0], pairs[1]) : _mm256_unpacklo_pd(pairs[0], pairs[1]));
        const fv_f32 y =
            _mm256_castpd_ps(i % 2 ? _mm256_unpackhi_pd(pairs[2], pairs[3]) : _mm256_unpacklo_pd(pairs[2], pairs[3]));
        later[i] = _mm256_permute2f128_ps(x, y, 0x31);
        if (i < steps) {
            add_step(a, _mm256_insertf128_ps(x, _mm256_castps256_ps128(y), 1), acc, M);
        }
    }
    FV_UNROLL
    for (size_t i = 0; i < 4; i++, a += a_k) {
        if (4 + i < steps) {
            add_step(a, later[i], acc, M);
        }
    }
}

/// The same for n rows of `steps` elements, both at most 8; nothing else is read.
static inline __attribute__((always_inline)) void add_edge(const float *b, ptrdiff_t b_row, size_t n, const float *a,
                                                           ptrdiff_t a_k, size_t steps, fv_f32 acc[MR], int M)
{
    float rows[LANES * LANES] = {0};
    for (size_t i = 0; i < n; i++) {
        fv_store(rows + i * LANES, fv_load_tail(b + (ptrdiff_t)i * b_row, steps));
    }
    add_block(rows, strides_of(LANES), a, a_k, steps, acc, M);
}

/// C = acc, for 8 * GROUPS columns or, with one group, fewer.
static inline __attribute__((always_inline)) void gemm_bt_store(const struct fovea_gemm_bt_tile *t,
                                                                fv_f32 acc[GROUPS_MAX][MR], int GROUPS, int M)
{
    FV_UNROLL
    for (int g = 0; g < GROUPS; g++) {
        FV_UNROLL
        for (int i = 0; i < M; i++) {
            float *const c = t->c + i * t->c_row + g * LANES;
            if (t->n == (size_t)GROUPS * LANES) {
                fv_store(c, acc[g][i]);
            } else {
                fv_store_tail(c, acc[g][i], t->n);
            }
        }
    }
}

/// A tile of 8 * GROUPS columns or, with one group, fewer, with m = M. Each column is one chain of fmas, so eight of
/// them leave each other waiting four cycles per step; several groups side by side do not, if B is in L1 or L2.
static inline __attribute__((always_inline)) void gemm_bt_columns(const struct fovea_gemm_bt_tile *tile, int GROUPS,
                                                                  int M)
{
    const struct fovea_gemm_bt_tile t = *tile; // a local copy, which stores to C cannot alias
    const size_t whole = (size_t)GROUPS * LANES;
    const ptrdiff_t group = LANES * t.b_row;
    const float *a = t.a, *b = t.b;
    fv_f32 acc[GROUPS_MAX][MR];
    FV_UNROLL
    for (int g = 0; g < GROUPS; g++) {
        FV_UNROLL
        for (int i = 0; i < M; i++) {
            acc[g][i] = fv_zero();
        }
    }
    size_t left = FOVEA_FAULT_IS(GEMM_BT_K_SHORT) ? t.k / FOVEA_PANEL * FOVEA_PANEL : t.k;
    if (t.n == whole) {
        const struct strides row = strides_of(t.b_row);
        if (t.far || t.stream != 0) {
            struct gemm_bt_place place = {0};
            if (t.far) {
                place = gemm_bt_begin(&t, t.b, whole, M);
            }
            for (; left >= FOVEA_PANEL; left -= FOVEA_PANEL, b += FOVEA_PANEL) {
                if (t.far) {
                    gemm_bt_ahead(&t, &place, b, t.b, whole);
                } else {
                    gemm_bt_stream(&t, b);
                }
                FV_UNROLL
                for (int half = 0; half < FOVEA_PANEL / LANES; half++, a += LANES * t.a_k) {
                    FV_UNROLL
                    for (int g = 0; g < GROUPS; g++) {
                        add_block(b + half * LANES + g * group, row, a, t.a_k, LANES, acc[g], M);
                    }
                }
            }
            if (t.far && left != 0) {
                gemm_bt_ahead(&t, &place, b, t.b, whole);
            }
        }
        for (; left >= LANES; left -= LANES, a += LANES * t.a_k, b += LANES) {
            FV_UNROLL
            for (int g = 0; g < GROUPS; g++) {
                add_block(b + g * group, row, a, t.a_k, LANES, acc[g], M);
            }
        }
    }
    for (size_t steps; left != 0; left -= steps, a += LANES * t.a_k, b += LANES) {
        steps = left < LANES ? left : LANES;
        FV_UNROLL
        for (int g = 0; g < GROUPS; g++) {
            add_edge(b + g * group, t.b_row, t.n < LANES ? t.n : LANES, a, t.a_k, steps, acc[g], M);
        }
    }
    gemm_bt_store(&t, acc, GROUPS, M);
}

/// Defines gemm_bt_<groups>_<m>, one instantiation for the table.
#define GEMM_BT_COLUMNS(groups, m)                                                                                     \
    static void gemm_bt_##groups##_##m(const struct fovea_gemm_bt_tile *tile)                                          \
    {                                                                                                                  \
        gemm_bt_columns(tile, groups, m);                                                                              \
    }
GEMM_BT_COLUMNS(1, 1)
GEMM_BT_COLUMNS(1, 2)
GEMM_BT_COLUMNS(1, 3)
GEMM_BT_COLUMNS(1, 4)
GEMM_BT_COLUMNS(1, 5)
GEMM_BT_COLUMNS(1, 6)
GEMM_BT_COLUMNS(1, 7)
GEMM_BT_COLUMNS(1, 8)
GEMM_BT_COLUMNS(2, 1)
GEMM_BT_COLUMNS(2, 2)
GEMM_BT_COLUMNS(2, 3)
GEMM_BT_COLUMNS(4, 1)
GEMM_BT_COLUMNS(4, 2)

void fovea_gemm_bt_f32_avx2(const struct fovea_gemm_bt_tile *tile)
{
    // Two groups of four rows would gain 6 % if B is in L2 and lose 23 % if not. With prefetches two rows and more
    // lose, too (0.7 to 1.0), one gains (1.1 to 1.4 from L2, 0.94 to 1.5 from memory).
    static const struct {
        size_t columns;
        fovea_gemm_bt_fn *rows[MR];
    } widths[] = {
        {4 * LANES, {gemm_bt_4_1, gemm_bt_4_2}},
        {2 * LANES, {gemm_bt_2_1, gemm_bt_2_2, gemm_bt_2_3}},
        {LANES,
         {gemm_bt_1_1, gemm_bt_1_2, gemm_bt_1_3, gemm_bt_1_4, gemm_bt_1_5, gemm_bt_1_6, gemm_bt_1_7, gemm_bt_1_8}},
    };
    const size_t side = tile->far && tile->m > 1 ? LANES : tile->side;
    struct fovea_gemm_bt_tile t = *tile;
    for (size_t w = 0, left = tile->n; left != 0; w++) {
        const size_t columns = widths[w].columns, least = columns == LANES ? 1 : columns;
        fovea_gemm_bt_fn *const run = columns <= side || columns == LANES ? widths[w].rows[tile->m - 1] : NULL;
        for (; run != NULL && left >= least; left -= t.n) {
            t.n = left < columns ? left : columns;
            run(&t);
            t.b += (ptrdiff_t)t.n * t.b_row;
            t.c += t.n;
        }
    }
}
