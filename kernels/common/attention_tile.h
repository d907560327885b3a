// SPDX-License-Identifier: Apache-2.0
// kernels/common/attention_tile.h - the two products of prefill: keys or columns of V by queries, in registers.
//
// The k loops of attention are short (d, or 128 keys), so what a GEMM does around them counts: here a tile is entered
// without a call, has one size, and what it reads of B (queries, weights) lies in L1, so nothing is prefetched but A.
// Measured on a Cascade Lake core, 128 keys by 48 queries of 64: 97 % of the FMA peak, where gemm_f32_9x48 has 85.
//
// Included after an ISA's vec.h and FV_TILE_ROWS x FV_TILE_VECS, the tile: AVX-512 8 x 3, AVX2 4 x 3 vectors (4 loads
// and 4 broadcasts serve 12 FMAs; 6 x 16 needs 8). Fewer panels of queries are taken in taller blocks, so that there
// are as many accumulators. FV_REGISTER(v) keeps gcc from turning v into a memory operand.
#ifndef FOVEA_KERNELS_COMMON_ATTENTION_TILE_H
#define FOVEA_KERNELS_COMMON_ATTENTION_TILE_H

#include "kernels/common/unroll.h"
#include "kernels/fault.h"
#include "kernels/kernel.h"

/// acc += A[rows, k] B[k, vecs]: rows and vecs are constants. Vector v of B's step p is at b[p * b_k + offset[v]].
static inline __attribute__((always_inline)) void attention_steps(const struct fovea_gemm_tile *t, const float *a,
                                                                  const ptrdiff_t *offset, int rows, int vecs,
                                                                  fv_f32 acc[][FV_TILE_VECS])
{
    // x86 addresses base + {0, 1, 2} * stride: one moving pointer serves three rows of A.
    enum { PER_POINTER = 3, POINTERS = 8 };
    const float *b = t->b, *row[POINTERS];
    FV_UNROLL
    for (int i = 0; i < POINTERS; i++) {
        row[i] = a + (i * PER_POINTER < rows ? i * PER_POINTER : 0) * t->a_row;
        __asm__("" : "+r"(row[i])); // or clang derives them from the first in each step
    }
    for (size_t p = t->k; p != 0; p--) {
        fv_f32 bv[FV_TILE_VECS];
        FV_UNROLL
        for (int v = 0; v < vecs; v++) {
            bv[v] = fv_load(b + offset[v]);
            FV_REGISTER(bv[v]);
        }
        FV_UNROLL
        for (int i = 0; i < rows; i++) {
            const fv_f32 av = fv_set1(row[i / PER_POINTER][i % PER_POINTER * t->a_row]);
            FV_UNROLL
            for (int v = 0; v < vecs; v++) {
                acc[i][v] = fv_fma(av, bv[v], acc[i][v]);
            }
        }
        FV_UNROLL
        for (int i = 0; i < (rows + PER_POINTER - 1) / PER_POINTER; i++) {
            row[i] += t->a_k;
        }
        b += t->b_k;
    }
}

/// Rows [first, first + rows) of A, of C, by vectors [vector, vector + vecs); rows and vecs are constants.
static inline __attribute__((always_inline)) void attention_block(const struct fovea_gemm_tile *t, size_t first,
                                                                  size_t vector, const ptrdiff_t *offset, int rows,
                                                                  int vecs)
{
    fv_f32 acc[FV_TILE_ROWS * FV_TILE_VECS][FV_TILE_VECS];
    float *const c = t->c + (ptrdiff_t)first * t->c_row + vector * FV_LANES;
    const float *const scale = t->scale + vector * FV_LANES;
    FV_UNROLL
    for (int i = 0; i < rows; i++) {
        FV_UNROLL
        for (int v = 0; v < vecs; v++) {
            acc[i][v] = t->mode == FOVEA_GEMM_ADD ? fv_load(c + i * t->c_row + v * FV_LANES) : fv_zero();
        }
    }
    attention_steps(t, t->a + (ptrdiff_t)first * t->a_row, offset, rows, vecs, acc);
    FV_UNROLL
    for (int i = 0; i < rows; i++) {
        FV_UNROLL
        for (int v = 0; v < vecs; v++) {
            float *const at = c + i * t->c_row + v * FV_LANES;
            fv_store(at, t->mode == FOVEA_GEMM_RESCALE ? fv_fma(fv_load(at), fv_load(scale + v * FV_LANES), acc[i][v])
                                                       : acc[i][v]);
        }
    }
}

/// All rows by `vecs` vectors, a constant: first in blocks of `tall` rows, two of which are whole tiles.
static inline __attribute__((always_inline)) void attention_strip(const struct fovea_gemm_tile *t, size_t vector,
                                                                  const ptrdiff_t *offset, int tall, int vecs)
{
    size_t i = 0;
    for (; tall != FV_TILE_ROWS && i + 2 * (size_t)tall <= t->m; i += 2 * (size_t)tall) {
        attention_block(t, i, vector, offset, tall, vecs);
        attention_block(t, i + (size_t)tall, vector, offset, tall, vecs);
    }
    for (; i < t->m; i += FV_TILE_ROWS) {
        attention_block(t, i, vector, offset, FV_TILE_ROWS, vecs);
    }
}

/// C of a tile as FV_GEMM would have it, for t->m rows, a multiple of FV_TILE_ROWS, and panels [first, end) of 16
/// columns; b, c and scale are those of panel 0. The mode is a constant.
static inline __attribute__((always_inline)) void attention_tile(const struct fovea_gemm_tile *t, size_t first,
                                                                 size_t end, enum fovea_gemm_mode mode)
{
    struct fovea_gemm_tile tile = *t;
    const size_t last = end * FV_VECS, all = last - first * FV_VECS;
    const size_t strips = (all + FV_TILE_VECS - 1) / FV_TILE_VECS, most = (all + strips - 1) / strips;
    tile.mode = mode;
    for (size_t vector = first * FV_VECS, vecs; vector < last; vector += vecs) {
        ptrdiff_t offset[FV_TILE_VECS];
        for (size_t v = 0; v < FV_TILE_VECS; v++) {
            offset[v] =
                (ptrdiff_t)((vector + v) / FV_VECS) * t->b_panel + (ptrdiff_t)((vector + v) % FV_VECS * FV_LANES);
        }
        vecs = last - vector < most ? last - vector : most;
        if (vecs == FV_TILE_VECS) {
            attention_strip(&tile, vector, offset, FV_TILE_ROWS, FV_TILE_VECS);
        } else if (vecs == 2) {
            attention_strip(&tile, vector, offset, FV_TILE_ROWS / 2 * 3, 2);
        } else {
            attention_strip(&tile, vector, offset, FV_TILE_ROWS * 2, 1);
        }
    }
}

#endif
