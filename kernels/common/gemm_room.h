// SPDX-License-Identifier: Apache-2.0
// kernels/common/gemm_room.h - GEMM tiles that are not whole, as C ends within a panel or B ends, through a buffer of
// whole panels.
//
// For micro-kernels of at most 6 x 48 that compute one tile at a time. Included after an ISA's vec.h.
#ifndef FOVEA_KERNELS_COMMON_GEMM_ROOM_H
#define FOVEA_KERNELS_COMMON_GEMM_ROOM_H

#include "kernels/common/gemm_more.h"

enum { ROOM_ROWS = 6, ROOM_COLUMNS = 3 * FOVEA_PANEL };

/// Copies rows of n elements into rows of whole panels, ROOM_COLUMNS apart, padded with +0.
static inline void gemm_pad_rows(size_t rows, size_t n, const float *src, ptrdiff_t ld, float *dst)
{
    const size_t whole = (n + FOVEA_PANEL - 1) / FOVEA_PANEL * FOVEA_PANEL;
    for (; rows != 0; rows--, src += ld, dst += ROOM_COLUMNS) {
        for (size_t j = 0; j < whole; j += FV_LANES) {
            const size_t left = j < n ? n - j : 0;
            fv_store(dst + j, left < FV_LANES ? fv_load_tail(src + j, left) : fv_load(src + j));
        }
    }
}

/// Copies n elements of each of such rows.
static inline void gemm_cut_rows(size_t rows, size_t n, const float *src, float *dst, ptrdiff_t ld)
{
    for (; rows != 0; rows--, src += ROOM_COLUMNS, dst += ld) {
        for (size_t j = 0; j < n; j += FV_LANES) {
            if (n - j < FV_LANES) {
                fv_store_tail(dst + j, fv_load(src + j), n - j);
            } else {
                fv_store(dst + j, fv_load(src + j));
            }
        }
    }
}

/// Computes one tile by `run`, which reads whole panels. If B ends in it (b_ends), its last rows are computed as
/// further tiles over copies.
static inline void gemm_to_the_end(const struct fovea_gemm_tile *tile, fovea_gemm_fn *run)
{
    if (tile->b_ends == 0) {
        run(tile);
        return;
    }
    struct fovea_gemm_tile t = *tile;
    t.k -= tile->b_ends;
    run(&t);
    float copy[GEMM_COPIED * ROOM_COLUMNS];
    t.b = copy;
    t.b_k = ROOM_COLUMNS;
    t.mode = FOVEA_GEMM_ADD;
    for (size_t p = tile->k - tile->b_ends; p < tile->k; p += t.k) {
        t.k = tile->k - p < GEMM_COPIED ? tile->k - p : GEMM_COPIED;
        gemm_pad_rows(t.k, t.n, tile->b + (ptrdiff_t)p * tile->b_k, tile->b_k, copy);
        t.a = tile->a + (ptrdiff_t)p * tile->a_k;
        run(&t);
    }
}

/// Computes one tile by `run`, which accesses C by whole vectors and applies terms to whole ones alone.
static inline void gemm_in_room(const struct fovea_gemm_tile *tile, fovea_gemm_fn *run, fovea_epilogue_fn *epilogue)
{
    float room[ROOM_ROWS * ROOM_COLUMNS];
    struct fovea_gemm_tile t = *tile;
    t.terms = NULL;
    t.c = room;
    t.c_row = ROOM_COLUMNS;
    if (t.mode != FOVEA_GEMM_STORE) {
        gemm_pad_rows(t.m, t.n, tile->c, tile->c_row, room);
    }
    gemm_to_the_end(&t, run);
    if (tile->terms != NULL) {
        gemm_end_room(tile, t.m, room, ROOM_COLUMNS, epilogue);
    } else {
        gemm_cut_rows(t.m, t.n, room, tile->c, tile->c_row);
    }
}

#endif
