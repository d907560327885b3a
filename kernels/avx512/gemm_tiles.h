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
enum { GEMM_K_NEAR, GEMM_K_LINE, GEMM_K_PANELS, GEMM_K_HALF, GEMM_K_APART };
// A natural tile prefetches nothing, so the two numbers between GEMM_K_NATURAL and that of half a panel are free.
enum {
    GEMM_K_LEAD = 2 * GEMM_K_APART,
    GEMM_K_NATURAL,
    GEMM_K_PAGES,
    GEMM_K_PACKING,
    GEMM_KINDS = GEMM_K_NATURAL + GEMM_K_HALF + 1
};

struct gemm_tiles {
    fovea_gemm_fn *of[GEMM_KINDS][GEMM_PANELS][GEMM_MR]; ///< panels and rows from 1 on; NULL: more sums than registers
    fovea_gemm_fn *rescale;                              ///< of any size
};
/// Hidden, or code for a shared library would load its address before it loads from it.
extern const struct gemm_tiles fovea_gemm_tiles_f32_avx512 __attribute__((visibility("hidden")));

/// The kind of a tile: what it prefetches, or whether its last panel counts as half of one; and whether B is packed
/// panels that should be prefetched near, or natural rows under steps of A that are adjacent.
static inline size_t gemm_kind(const struct fovea_gemm_tile *t)
{
    const size_t most = FOVEA_FAULT_IS(GEMM_HALF_OF_MORE) ? 12 : FOVEA_PANEL / 2;
    const bool near = t->b_k == FOVEA_PANEL && t->a_k == 1 && t->b_ends == 0;
    if (t->lead_steps != 0 && t->mode == FOVEA_GEMM_STORE && t->more == 0 && t->b_ends == 0) {
        return GEMM_K_LEAD;
    }
    if (t->packed != NULL) {
        return GEMM_K_PACKING;
    }
    if (t->ahead != NULL) {
        return (near ? GEMM_K_NEAR : GEMM_K_APART) + (t->ahead_panel == 0 ? GEMM_K_LINE : GEMM_K_PANELS);
    }
    const bool lone = near && t->n <= FOVEA_PANEL; // NEAR prefetches nothing of one panel, and has fewer instructions
    if (lone && t->touch != 0) {
        return GEMM_K_PAGES;
    }
    const bool adjacent = t->a_k == 1 || FOVEA_FAULT_IS(GEMM_NATURAL_ANY_A);
    const size_t other = t->b_panel == FOVEA_PANEL && adjacent ? GEMM_K_NATURAL : GEMM_K_APART;
    return ((near && !t->follows) || lone ? (size_t)GEMM_K_NEAR : other) +
           ((t->n - 1) % FOVEA_PANEL < most ? GEMM_K_HALF : 0);
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
