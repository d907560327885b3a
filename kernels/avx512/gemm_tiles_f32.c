// SPDX-License-Identifier: Apache-2.0
// kernels/avx512/gemm_tiles_f32.c - every tile of the AVX-512 f32 GEMM, and the table that its micro-kernels share.
//
// It is no micro-kernel itself, so it is not in kernels/gemm.def. Only C is masked.
#include "kernels/avx512/gemm_tile.h"
#include "kernels/avx512/gemm_tiles.h"

/// Every kind of tile of M rows and V panels. HALF: at most eight columns of the last panel exist, so its FMAs have 256
/// bits, which take half of the time on cores that split 512 bits in two (Zen 4: products of 33 to 100 columns 1.05 to
/// 1.17 times as fast, of up to 8, whose loads are split, too, 1.45 to 1.6). Not measured elsewhere: Zen 5 executes as
/// many FMAs of either width. Of Intel's two ports for 512 bits one takes no 256 bits, but the other panels keep it
/// busy; where there are none, two ports take 256 bits.
/// TAIL: those whose A is adjacent in k, which most products consist of. Not those for few rows from memory, which wait
/// for it; nor of a transposed A, whose pointers move at each step.
#define GEMM_KINDS_OF(M, V, KIND)                                                                                      \
    GEMM_TERMS(M, V)                                                                                                   \
    GEMM_TILE(near, M, V, zmm, NEAR, NONE, WHOLE, TAIL)                                                                \
    GEMM_TILE(near_line, M, V, zmm, NEAR, LINE, WHOLE, TAIL)                                                           \
    GEMM_TILE(near_panels, M, V, zmm, NEAR, PANELS, WHOLE, NO_TAIL)                                                    \
    GEMM_TILE(near_half, M, V, ymm, NEAR, NONE, WHOLE, TAIL)                                                           \
    GEMM_TILE(natural, M, V, zmm, NATURAL, NONE, ENDS, TAIL)                                                           \
    GEMM_TILE(natural_half, M, V, ymm, NATURAL, NONE, ENDS, TAIL)                                                      \
    GEMM_TILE(packing, M, V, zmm, PACKING, PACK, WHOLE, NO_TAIL)                                                       \
    GEMM_TILE(apart, M, V, zmm, APART, NONE, ENDS, NO_TAIL)                                                            \
    GEMM_TILE(apart_line, M, V, zmm, APART, LINE, WHOLE, NO_TAIL)                                                      \
    GEMM_TILE(apart_panels, M, V, zmm, APART, PANELS, WHOLE, NO_TAIL)                                                  \
    GEMM_TILE(apart_half, M, V, ymm, APART, NONE, ENDS, NO_TAIL)                                                       \
    GEMM_TILE(lead, M, V, zmm, LED, LEAD, WHOLE, NO_TAIL)

/// Of one panel, for a B from memory that nothing else prefetches.
#define GEMM_PAGES_OF(M, V, KIND) GEMM_TILE(pages, M, V, zmm, NEAR, PAGES, WHOLE, NO_TAIL)

/// X(M, V, KIND) for each number of rows and of panels, at most those of one of the micro-kernels: 16 rows of one
/// panel, 12 of two, 9 of three, 6 of four.
#define GEMM_UP_TO_6(X, V, KIND) X(1, V, KIND) X(2, V, KIND) X(3, V, KIND) X(4, V, KIND) X(5, V, KIND) X(6, V, KIND)
#define GEMM_UP_TO_9(X, V, KIND) GEMM_UP_TO_6(X, V, KIND) X(7, V, KIND) X(8, V, KIND) X(9, V, KIND)
#define GEMM_UP_TO_12(X, V, KIND) GEMM_UP_TO_9(X, V, KIND) X(10, V, KIND) X(11, V, KIND) X(12, V, KIND)
#define GEMM_UP_TO_16(X, V, KIND) GEMM_UP_TO_12(X, V, KIND) X(13, V, KIND) X(14, V, KIND) X(15, V, KIND) X(16, V, KIND)
#define GEMM_SIZES(X, KIND)                                                                                            \
    GEMM_UP_TO_16(X, 1, KIND) GEMM_UP_TO_12(X, 2, KIND) GEMM_UP_TO_9(X, 3, KIND) GEMM_UP_TO_6(X, 4, KIND)

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Woverlength-strings" // clang counts the assembly of a tile
GEMM_SIZES(GEMM_KINDS_OF, )
GEMM_UP_TO_16(GEMM_PAGES_OF, 1, )
#pragma GCC diagnostic pop

/// RESCALE, which is for the last v_dim % 8 rows of prefill's O: the sums go through a room.
static void gemm_rescale(const struct fovea_gemm_tile *tile)
{
    enum { WIDE = GEMM_PANELS * FOVEA_PANEL };
    _Alignas(64) float room[GEMM_MR * WIDE];
    struct fovea_gemm_tile t = *tile;
    t.mode = FOVEA_GEMM_STORE;
    t.c = room;
    t.c_row = WIDE;
    gemm_run_tile(&t, GEMM_MR, WIDE);
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

#define GEMM_PLACE(M, V, KIND) [V - 1][M - 1] = KIND##_##M##x##V,
const struct gemm_tiles fovea_gemm_tiles_f32_avx512 = {
    .of = {[GEMM_KIND_NEAR] = {GEMM_SIZES(GEMM_PLACE, near)},
           [GEMM_KIND_NEAR_LINE] = {GEMM_SIZES(GEMM_PLACE, near_line)},
           [GEMM_KIND_NEAR_PANELS] = {GEMM_SIZES(GEMM_PLACE, near_panels)},
           [GEMM_KIND_NEAR_HALF] = {GEMM_SIZES(GEMM_PLACE, near_half)},
           [GEMM_KIND_APART] = {GEMM_SIZES(GEMM_PLACE, apart)},
           [GEMM_KIND_APART_LINE] = {GEMM_SIZES(GEMM_PLACE, apart_line)},
           [GEMM_KIND_APART_PANELS] = {GEMM_SIZES(GEMM_PLACE, apart_panels)},
           [GEMM_KIND_APART_HALF] = {GEMM_SIZES(GEMM_PLACE, apart_half)},
           [GEMM_KIND_NATURAL] = {GEMM_SIZES(GEMM_PLACE, natural)},
           [GEMM_KIND_NATURAL_HALF] = {GEMM_SIZES(GEMM_PLACE, natural_half)},
           [GEMM_KIND_LEAD] = {GEMM_SIZES(GEMM_PLACE, lead)},
           [GEMM_KIND_PAGES] = {GEMM_UP_TO_16(GEMM_PLACE, 1, pages)},
           [GEMM_KIND_PACKING] = {GEMM_SIZES(GEMM_PLACE, packing)}},
    .rescale = gemm_rescale,
};
