// SPDX-License-Identifier: Apache-2.0
// bench/gemm_problem.h - one product with its operands, and whether a result is right.
#ifndef FOVEA_BENCH_GEMM_PROBLEM_H
#define FOVEA_BENCH_GEMM_PROBLEM_H

#include "bench/race.h"
#include "fovea/gemm.h"

#include <stdbool.h>

/// Products of at most this many rows over a B of 64 KiB and more are bound by reading it: theirs is a set of matrices,
/// walked in turns, that is six times as large as the last-level cache. The others have one B, as warm as the caches
/// keep it.
enum { GEMM_DECODE_ROWS = 16 };

/// C = op(A) op(B), or with gelu C = GELU(op(A) op(B) + bias). Row-major, no padding between rows. With batch, as many
/// products: the matrices A lie one behind the other, and so do B and C.
struct gemm_problem {
    size_t m, n, k;
    size_t batch;          // at least 1
    bool trans_a, trans_b; // A is stored k x m, B n x k
    bool gelu;
    enum fovea_type type; // of the blobs that fovea packs of B, whose elements are such numbers
    uint32_t threads;
    size_t offset; // bytes by which all operands begin behind a cache line: 16 as what malloc gives
    float *a, *b, *c, *bias;
    size_t b_count;  // matrices B (batches of them), one behind the other
    size_t b_stride; // floats from one to the next
    void *memory;
    size_t memory_bytes;
};

/// Allocates and fills the operands (the sizes and flags are set already). Matrices that are read from memory
/// are more than walk_bytes. Returns false without memory.
bool gemm_problem_make(struct gemm_problem *problem, size_t walk_bytes);
void gemm_problem_free(struct gemm_problem *problem);
/// The race for it. C is compared with float64 in sampled places, for matrix 0 of the set: all within k u sum |A| |B|.
struct race_problem gemm_problem_race(const struct gemm_problem *problem);
/// What a call does, multiply-adds counting twice; decoding streams its matrix B.
struct race_load gemm_problem_load(const struct gemm_problem *problem);

#endif
