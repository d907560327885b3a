// SPDX-License-Identifier: Apache-2.0
// kernels/table.h - the kernels and numbers of an engine, for their callers. No kernel includes it.
#ifndef FOVEA_KERNELS_TABLE_H
#define FOVEA_KERNELS_TABLE_H

#include "kernels/kernel.h"
#include "kernels/tuning.h"

/// The most micro-kernels of an ISA: as many as all ISAs have together.
enum {
    FOVEA_GEMM_TILES = 0
#define FOVEA_KERNEL(family, slot, stem, isa, facts) +(FOVEA_SLOT_##slot == FOVEA_SLOT_gemm)
#include "kernels/registers.def"
#undef FOVEA_KERNEL
};

/// The kernel table of an engine, resolved once. No pointer in it is NULL.
struct fovea_kernels {
    uint32_t cpu;     ///< FOVEA_CPU_* bits in use
    uint32_t workers; ///< the most workers that share a call; at least 1
    struct fovea_tuning tuning;
    struct fovea_gemm_kernel gemm_of[FOVEA_GEMM_CLASSES]; ///< the micro-kernel of each class; slot gemm is the default
    /// Micro-kernels of slot gemm's ISA, or only the pinned one, among which small products and products of few rows
    /// choose.
    struct fovea_gemm_kernel gemm_tiles[FOVEA_GEMM_TILES];
    uint32_t gemm_tile_count;
#define FOVEA_SLOT(family, slot) struct fovea_##family##_kernel slot;
#include "kernels/slots.def"
#undef FOVEA_SLOT
};

struct fovea_engine;
/// The table of an engine (implemented in dispatch/, used by ops/).
const struct fovea_kernels *fovea_engine_kernels(const struct fovea_engine *engine);

#endif
