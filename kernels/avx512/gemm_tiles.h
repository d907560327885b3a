// SPDX-License-Identifier: Apache-2.0
// kernels/avx512/gemm_tiles.h - the tiles of the AVX-512 f32 GEMM, one table of all, and which of them a call takes.
//
// A tile depends on its kind, rows and panels, not on the micro-kernel that was called, so gemm_tiles_f32.c has each of
// the 532 once: in each micro-kernel that calls them they would be 1001, and the library 1.29 times as large.
#ifndef FOVEA_KERNELS_AVX512_GEMM_TILES_H
#define FOVEA_KERNELS_AVX512_GEMM_TILES_H

#include "kernels/fault.h"
#include "kernels/kernel.h"

#include <stdbool.h>

enum { GEMM_MR = 16, GEMM_PANELS = 4 }; // of a tile, at most

/// The kinds of tiles (GEMM_KINDS_OF in gemm_tiles_f32.c).
enum gemm_kind {
    GEMM_KIND_NEAR,
    GEMM_KIND_NEAR_LINE,
    GEMM_KIND_NEAR_PANELS,
    GEMM_KIND_NEAR_HALF,
    GEMM_KIND_APART,
    GEMM_KIND_APART_LINE,
    GEMM_KIND_APART_PANELS,
    GEMM_KIND_APART_HALF,
    GEMM_KIND_NATURAL,
    GEMM_KIND_NATURAL_HALF,
    GEMM_KIND_LEAD,
    GEMM_KIND_PAGES,
    GEMM_KIND_PACKING,
    GEMM_KINDS
};

struct gemm_tiles {
    fovea_gemm_fn *of[GEMM_KINDS][GEMM_PANELS][GEMM_MR]; ///< panels and rows from 1 on; NULL: more sums than registers
    fovea_gemm_fn *rescale;                              ///< of any size
};
/// Hidden, or code for a shared library would load its address before it loads from it.
extern const struct gemm_tiles fovea_gemm_tiles_f32_avx512 __attribute__((visibility("hidden")));

/// The kind of a tile: what it prefetches, or whether its last panel counts as half of one; and whether B is packed
/// panels that should be prefetched near, or natural rows under steps of A that are adjacent.
static inline enum gemm_kind gemm_kind(const struct fovea_gemm_tile *t)
{
    const size_t most = FOVEA_FAULT_IS(GEMM_HALF_OF_MORE) ? 12 : FOVEA_PANEL / 2;
    const bool near = t->b_k == FOVEA_PANEL && t->a_k == 1 && t->b_ends == 0;
    if (t->lead_steps != 0 && t->mode == FOVEA_GEMM_STORE && t->more == 0 && t->b_ends == 0) {
        return GEMM_KIND_LEAD;
    }
    if (t->packed != NULL) {
        return GEMM_KIND_PACKING;
    }
    if (t->ahead != NULL) {
        const bool line = t->ahead_panel == 0;
        return near ? (line ? GEMM_KIND_NEAR_LINE : GEMM_KIND_NEAR_PANELS)
                    : (line ? GEMM_KIND_APART_LINE : GEMM_KIND_APART_PANELS);
    }
    const bool lone = near && t->n <= FOVEA_PANEL; // NEAR prefetches nothing of one panel, and has fewer instructions
    if (lone && t->touch != 0) {
        return GEMM_KIND_PAGES;
    }
    const bool half = (t->n - 1) % FOVEA_PANEL < most;
    if ((near && !t->follows) || lone) {
        return half ? GEMM_KIND_NEAR_HALF : GEMM_KIND_NEAR;
    }
    if (t->b_panel == FOVEA_PANEL && (t->a_k == 1 || FOVEA_FAULT_IS(GEMM_NATURAL_ANY_A))) {
        return half ? GEMM_KIND_NATURAL_HALF : GEMM_KIND_NATURAL;
    }
    return half ? GEMM_KIND_APART_HALF : GEMM_KIND_APART;
}

/// The body of a micro-kernel of mr x nr, whose tiles gemm_tiles_f32.c must have (GEMM_SIZES): one load, and a jump to
/// the tile.
static inline __attribute__((always_inline)) void gemm_run_tile(const struct fovea_gemm_tile *tile, size_t mr,
                                                                size_t nr)
{
    if (tile->m > mr || tile->n > nr) {
        __builtin_unreachable(); // the caller's promise; builds with ubsan look
    }
    if (tile->mode == FOVEA_GEMM_RESCALE) {
        fovea_gemm_tiles_f32_avx512.rescale(tile);
    } else {
        fovea_gemm_tiles_f32_avx512.of[gemm_kind(tile)][(tile->n - 1) / FOVEA_PANEL][tile->m - 1](tile);
    }
}

#endif
