// SPDX-License-Identifier: Apache-2.0
// ops/gemm.h - what a GEMM plan holds, and how it cuts C into tasks.
#ifndef FOVEA_OPS_GEMM_H
#define FOVEA_OPS_GEMM_H

#include "fovea/gemm.h"
#include "kernels/kernel.h"
#include "ops/run.h"

/// The plan behind fovea_gemm_plan. kc, mc and nr are clamped to the problem.
struct fovea_gemm_layout {
    struct fovea_work work;
    const struct fovea_kernels *kernels;
    struct fovea_gemm_desc desc;
    size_t k;        ///< k steps to do: desc.k, or 0 where alpha is 0
    size_t kc;       ///< k steps of a block, at most
    size_t mc;       ///< rows of a task, at most
    size_t nr;       ///< columns of a strip, at most; a multiple of 16
    size_t nc;       ///< columns of a task, at most; a multiple of nr
    bool turn_a;     ///< phase 0 turns A, stored k x m, into rows of k
    bool detour;     ///< acc is kept in scratch: C or the residual is read at the end
    size_t b_offset; ///< of B's panels in shared, in floats, behind A
};

/// How one call cuts C: blocks of rows times groups of strips. Depends on m, never on the executor.
struct fovea_gemm_grid {
    size_t m;
    size_t row_blocks;
    size_t strips;    ///< each whole panels of 16 columns, at most nr
    size_t groups;    ///< of strips
    bool share_b;     ///< several blocks of rows read B: phase 0 packs it into shared
    bool pack_strips; ///< otherwise, where B is not packed: a task packs strip by strip rather than read natural rows
};

extern const struct fovea_operator fovea_gemm_operator;

struct fovea_gemm_grid fovea_gemm_grid(const struct fovea_gemm_layout *plan, size_t m);

/// Tasks of a phase for m rows.
uint32_t fovea_gemm_count(const struct fovea_gemm_layout *plan, size_t m, uint32_t phase);

/// Rows of A or columns of B that a task of phase 0 prepares: whole panels, about 64 K elements, some 10 us.
static inline size_t fovea_gemm_group(size_t k)
{
    const size_t panels = ((size_t)1 << 16) / FOVEA_PANEL / (k + 1);
    return (panels > 1 ? panels : 1) * FOVEA_PANEL;
}

#endif
