// SPDX-License-Identifier: Apache-2.0
// kernels/common/attention_tile.h - the two products of prefill, keys or columns of V by queries, in registers.
//
// The k loops of attention are short (d, or 128 keys), so the overhead of a GEMM around them matters. Here a tile is
// entered without a call, has one size, and its part of B (queries, weights) is in L1. The k loop is unrolled by eight:
// 64 steps are then 8 iterations, few enough for a branch predictor to predict the last one, and the next tile begins
// while the sums of this one are still in flight.
//
// Included after an ISA's vec.h and the tile size FV_TILE_ROWS x FV_TILE_VECS: AVX-512 8 x 3, AVX2 4 x 3 vectors (4
// loads and 4 broadcasts serve 12 FMAs; 6 x 16 needs 8). A strip of one vector uses twice the rows, so that there are
// enough sums to hide an FMA's latency. FV_REGISTER(v) keeps gcc from turning v into a memory operand. An ISA that
// defines FV_BLOCK implements whole tiles itself, in attention_whole_block().
#ifndef FOVEA_KERNELS_COMMON_ATTENTION_TILE_H
#define FOVEA_KERNELS_COMMON_ATTENTION_TILE_H

#include "kernels/common/attention_product.h"
#include "kernels/common/unroll.h"

// Forces a pointer into a register of its own: clang recomputes row pointers from the first one in each step, and gcc
// keeps two of them in a vector, which it loads from two stores (a tile of 16 queries by 16 keys or columns started 16
// cycles late).
#define FV_POINTER(p) __asm__("" : "+r"(p))

/// acc += A[rows, steps] B[steps, vecs]; rows, vecs, steps and each are constants. Row i of A begins at
/// row[i / each] + i % each * a_row. Adjacent rows get a pointer of their own in each step: gcc otherwise kept an
/// offset on the stack for each of their 64 elements per iteration (Zen 5, 16 and 32 queries, values 1.19 and 1.09
/// times as fast).
static inline __attribute__((always_inline)) void attention_steps(const float *const *row, ptrdiff_t a_row,
                                                                  ptrdiff_t a_k, const float *b, int steps, int rows,
                                                                  int vecs, int each, fv_f32 acc[][FV_TILE_VECS])
{
    const int near = each == ATTENTION_GROUP;
    FV_UNROLL
    for (int p = 0; p < steps; p++) {
        fv_f32 bv[FV_TILE_VECS];
        FV_UNROLL
        for (int v = 0; v < vecs; v++) {
            bv[v] = fv_load(b + p * ATTENTION_ROWS + v * FV_LANES);
            FV_REGISTER(bv[v]);
        }
        const float *at[2 * FV_TILE_ROWS / ATTENTION_GROUP];
        FV_UNROLL
        for (int i = 0; i < rows; i += ATTENTION_GROUP) {
            at[i / ATTENTION_GROUP] = row[i / ATTENTION_GROUP] + (near ? p * a_k : 0);
            FV_POINTER(at[i / ATTENTION_GROUP]);
        }
        FV_UNROLL
        for (int i = 0; i < rows; i++) {
            const fv_f32 av = fv_set1(near ? at[i / each][i % each] : row[i / each][i % each * a_row + p]);
            FV_UNROLL
            for (int v = 0; v < vecs; v++) {
                acc[i][v] = fv_fma(av, bv[v], acc[i][v]);
            }
        }
    }
}

/// acc += A[rows, k] B[k, vecs]; a and b are the first elements of the tile.
static inline __attribute__((always_inline)) void attention_sum(const struct attention_product *t, const float *a,
                                                                const float *b, int rows, int vecs,
                                                                fv_f32 acc[][FV_TILE_VECS])
{
    // One pointer serves a group of adjacent rows, or three rows that are apart: x86 has base + {0, 1, 2} * stride.
    enum { TURN = ATTENTION_TURN, POINTERS = 2 * FV_TILE_ROWS / 3 + 1 };
    const int each = t->near ? ATTENTION_GROUP : 3;
    const int pointers = (rows + each - 1) / each;
    const float *row[POINTERS];
    FV_UNROLL
    for (int i = 0; i < pointers; i++) {
        row[i] = a + i * (t->near ? t->a_group : each * t->a_row);
        FV_POINTER(row[i]);
    }
    const void *const *fetch = attention_take(t->fetch, t->k / TURN);
    size_t left = t->k;
    for (; left >= TURN; left -= TURN) {
        attention_steps(row, t->a_row, t->a_k, b, TURN, rows, vecs, each, acc);
        if (fetch != NULL) {
            // Only into L2: these are strips of one or two vectors, and edges.
            FV_UNROLL
            for (int i = 0; i < FOVEA_FETCH_LINES; i++) {
                __builtin_prefetch((const float *)*fetch + i * FOVEA_LINE, 0, 2);
            }
            fetch++;
        }
        FV_UNROLL
        for (int i = 0; i < pointers; i++) {
            row[i] += TURN * t->a_k;
            FV_POINTER(row[i]);
        }
        b += TURN * ATTENTION_ROWS;
    }
    for (; left != 0; left--) {
        attention_steps(row, t->a_row, t->a_k, b, 1, rows, vecs, each, acc);
        FV_UNROLL
        for (int i = 0; i < pointers; i++) {
            row[i] += t->a_k;
        }
        b += ATTENTION_ROWS;
    }
}

/// Rows [first, first + rows) of A and of C, by `vecs` vectors of queries from `lane` on; rows and vecs are constants.
static inline __attribute__((always_inline)) void attention_block(const struct attention_product *t, size_t first,
                                                                  size_t lane, int rows, int vecs,
                                                                  enum attention_mode mode)
{
#ifdef FV_BLOCK
    if (rows == FV_TILE_ROWS && vecs == FV_TILE_VECS) {
        attention_whole_block(t, attention_row(t, first), first, lane, mode);
        return;
    }
#endif
    fv_f32 acc[2 * FV_TILE_ROWS][FV_TILE_VECS];
    float *const c = t->c + first * ATTENTION_ROWS + lane;
    FV_UNROLL
    for (int i = 0; i < rows; i++) {
        FV_UNROLL
        for (int v = 0; v < vecs; v++) {
            acc[i][v] = mode == ATTENTION_ADD ? fv_load(c + i * ATTENTION_ROWS + v * FV_LANES) : fv_zero();
        }
    }
    attention_sum(t, attention_row(t, first), t->b + lane, rows, vecs, acc);
    FV_UNROLL
    for (int i = 0; i < rows; i++) {
        FV_UNROLL
        for (int v = 0; v < vecs; v++) {
            float *const at = c + i * ATTENTION_ROWS + v * FV_LANES;
            fv_store(at, mode == ATTENTION_RESCALE
                             ? fv_fma(fv_load(at), fv_load(t->scale + lane + v * FV_LANES), acc[i][v])
                             : acc[i][v]);
        }
    }
    FV_UNROLL
    for (int v = 0; v < vecs && mode == ATTENTION_RAISE; v++) {
        fv_f32 m = fv_load(t->most + lane + v * FV_LANES);
        FV_UNROLL
        for (int i = 0; i < rows; i++) {
            m = attention_max(acc[i][v], m);
        }
        fv_store(t->most + lane + v * FV_LANES, m);
    }
}

/// All rows by `vecs` vectors, a constant. Sixteen rows that are pages apart are twice as many as a set of L1 can hold;
/// eight at a time, 16 queries of 8 heads of 128 are 1.5 times as fast (AVX-512).
static inline __attribute__((always_inline)) void attention_strip(const struct attention_product *t, size_t lane,
                                                                  int vecs, enum attention_mode mode)
{
    enum { ROWS_OF_A_SET = 8 };
    const int fit = 2 * FV_TILE_ROWS <= ROWS_OF_A_SET || t->near || t->a_row % FOVEA_PAGE != 0;
    const int wide = vecs == 1 && fit;
    size_t i = 0;
    for (; wide && i + 2 * FV_TILE_ROWS <= t->m; i += 2 * FV_TILE_ROWS) {
        attention_block(t, i, lane, 2 * FV_TILE_ROWS, vecs, mode);
    }
    for (; i < t->m; i += FV_TILE_ROWS) {
        attention_block(t, i, lane, FV_TILE_ROWS, vecs, mode);
    }
}

/// t->m rows, a multiple of FV_TILE_ROWS, by the vectors [first, end) of queries. The mode must be a constant.
static inline __attribute__((always_inline)) void attention_tile(const struct attention_product *t, size_t first,
                                                                 size_t end, enum attention_mode mode)
{
    const size_t all = end - first;
    const size_t strips = (all + FV_TILE_VECS - 1) / FV_TILE_VECS, most = (all + strips - 1) / strips;
    for (size_t vector = first, vecs; vector < end; vector += vecs) {
        vecs = end - vector < most ? end - vector : most;
        if (vecs == FV_TILE_VECS) {
            attention_strip(t, vector * FV_LANES, FV_TILE_VECS, mode);
        } else if (vecs == 2) {
            attention_strip(t, vector * FV_LANES, 2, mode);
        } else {
            attention_strip(t, vector * FV_LANES, 1, mode);
        }
    }
}

#endif
