// SPDX-License-Identifier: Apache-2.0
// kernels/tuning.h - the numbers that plans read, one set per class of shapes. None of them can change a bit of a
// result.
//
// The class of a problem follows from its shape (kernels/classes.h). dispatch/model.c fills in all classes by a model;
// a tuning profile replaces some of them.
#ifndef FOVEA_KERNELS_TUNING_H
#define FOVEA_KERNELS_TUNING_H

#include "kernels/classes.h"

#include <stddef.h>

struct fovea_gemm_tuning {
#define FOVEA_GEMM_TUNABLE(stage, name, smallest, largest, ...) uint32_t name;
#include "kernels/tuning.def"
};
struct fovea_attention_tuning {
#define FOVEA_ATTENTION_TUNABLE(stage, name, smallest, largest, ...) uint32_t name;
#include "kernels/tuning.def"
};
struct fovea_cache_tuning {
#define FOVEA_CACHE_TUNABLE(stage, name, smallest, largest, ...) uint32_t name;
#include "kernels/tuning.def"
};

struct fovea_tuning {
    struct fovea_cache_tuning cache;                   ///< the border between the classes of near and of far B
    struct fovea_gemm_tuning gemm[FOVEA_GEMM_CLASSES]; ///< by fovea_gemm_number
    struct fovea_attention_tuning attention[FOVEA_ATTENTION_CLASSES]; ///< by enum fovea_heads
};

/// Whether thin_rows may select this GEMM micro-kernel: one that is flat, reading several streams of B, or narrow,
/// reading a single one.
static inline bool fovea_is_thin(uint32_t mr, uint32_t nr)
{
    return mr <= 2 || mr >= nr;
}

/// Whether a micro-kernel is meant for few rows over a far B (follow_rows), and for a C that is no wider. That is one
/// which is high for a tile of several panels; its rows have few panels that share a broadcast.
static inline bool fovea_is_tall(uint32_t mr, uint32_t nr)
{
    return nr > 16 && 3 * mr > nr;
}

/// Whether tiles have one panel, or no more sums than those do: 3x32 of AVX2. They reread a panel often.
static inline bool fovea_is_small(uint32_t mr, uint32_t nr)
{
    return nr == 16 || (!fovea_is_thin(mr, nr) && mr * nr <= 6 * 16);
}

/// Whether this many floats exceed this many KiB.
static inline bool fovea_is_far(uint32_t near, double floats)
{
    return floats * sizeof(float) > 1024.0 * near;
}

/// How much of B (KiB) we assume is already in L2 for a product of m rows. With few rows, reading B dominates and B is
/// usually a weight matrix, which the previous layers have mostly evicted. Only a quarter of the near/far border is
/// assumed then: above it, treating a B as far that is near after all costs less than the reverse (Zen 4, L2 1 MiB, 0.6
/// MiB of B, read as if from beyond L2: from memory 1 row 1.1 to 2.4 times as fast, 4 rows 1.1 to 3.7, 12 rows 1.4 to
/// 3.3; from L2 0.63 to 1.0). Prefetching a transposed B that is in L2 costs next to nothing, so only a sixteenth is
/// assumed for it: 64 to 256 KiB from memory 1.6 to 2.5 (17 to 32 rows 0.95 to 1.06), from L2 0.93 to 1.0; AVX2 1.26 to
/// 2.5 and 0.69 to 0.96.
static inline uint32_t fovea_near_of(const struct fovea_tuning *tuning, size_t m, enum fovea_gemm_form form)
{
    return tuning->cache.near / (m > FOVEA_SEVERAL_ROWS ? 1 : form == FOVEA_FORM_NT ? 16 : 4);
}

/// Whether B of a GEMM is taken to come from beyond L2.
static inline bool fovea_gemm_far(const struct fovea_tuning *tuning, size_t m, size_t n, size_t k,
                                  enum fovea_gemm_form form)
{
    return fovea_is_far(fovea_near_of(tuning, m, form), (double)n * (double)k);
}

/// The class of a GEMM.
static inline struct fovea_gemm_class fovea_gemm_class(const struct fovea_tuning *tuning, size_t m, size_t n, size_t k,
                                                       enum fovea_gemm_form form)
{
    return (struct fovea_gemm_class){
        .rows = m <= FOVEA_FEW_ROWS       ? FOVEA_FEW
                : m <= FOVEA_SEVERAL_ROWS ? FOVEA_SEVERAL
                : m <= FOVEA_SOME_ROWS    ? FOVEA_SOME
                                          : FOVEA_MANY,
        .far = fovea_gemm_far(tuning, m, n, k, form),
        .form = form,
    };
}

/// The class of an attention.
static inline enum fovea_heads fovea_heads_of(size_t qk_dim, size_t v_dim)
{
    const size_t wide = qk_dim > v_dim ? qk_dim : v_dim;
    return wide <= 64 ? FOVEA_HEADS_64 : wide <= 128 ? FOVEA_HEADS_128 : FOVEA_HEADS_WIDE;
}

#endif
