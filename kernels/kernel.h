// SPDX-License-Identifier: Apache-2.0
// kernels/kernel.h - the contract between the kernels and everything above them. The argument structs of GEMM and of
// attention have headers of their own; the table in which callers find the kernels is kernels/table.h.
//
// A kernel does arithmetic on one tile or one row. It allocates nothing, reads no global, knows no thread and checks no
// argument: its caller (ops/) has checked them once. Every variant of a slot gives the same bits as the scalar variant,
// which is the definition (docs/numerics.md); all NaNs count as the same value.
//
// Adding a variant: one file kernels/<isa>/<stem>.c that defines fovea_<stem>_<isa>, one line in a register
// (gemm.def, attention.def, rowwise.def), one entry in cmake/files.cmake. Prototypes, the resolver and the checks all
// read the registers; a kernel that is not registered does not compile (-Werror=missing-prototypes).
#ifndef FOVEA_KERNELS_KERNEL_H
#define FOVEA_KERNELS_KERNEL_H

#include "kernels/attention_contract.h"
#include "kernels/gemm_contract.h"

/// CPU bits. One bit stands for a cluster of features (docs/kernels.md); a variant requires those of its ISA.
enum {
    FOVEA_CPU_AVX2 = 1 << 0,   ///< AVX2, FMA, F16C, and the OS saves ymm
    FOVEA_CPU_AVX512 = 1 << 1, ///< F, BW, DQ, VL, and the OS saves zmm
    FOVEA_CPU_NEON = 1 << 2,   ///< Armv8-A Advanced SIMD
    FOVEA_CPU_VNNI = 1 << 8,   ///< AVX512_VNNI
    FOVEA_CPU_BF16 = 1 << 9,   ///< AVX512_BF16, or Arm BF16
    FOVEA_CPU_DOTPROD = 1 << 10,
    FOVEA_CPU_I8MM = 1 << 11,
};
#define FOVEA_REQUIRES_scalar 0u
#define FOVEA_REQUIRES_avx2 ((uint32_t)FOVEA_CPU_AVX2)
#define FOVEA_REQUIRES_avx512 ((uint32_t)(FOVEA_CPU_AVX2 | FOVEA_CPU_AVX512))
#define FOVEA_REQUIRES_neon ((uint32_t)FOVEA_CPU_NEON)

// ---- Rows ------------------------------------------------------------------------------------------------------

/// One row: y[i] = f(x[0..n)). y may be x; otherwise they must not overlap.
typedef void fovea_unary_fn(size_t n, const float *x, float *y);
/// z[i] = f(x[i], y[i]). z may be x or y.
typedef void fovea_binary_fn(size_t n, const float *x, const float *y, float *z);
/// One row of LayerNorm or RMSNorm; gamma and beta may each be NULL. y may be x.
typedef void fovea_norm_fn(size_t n, float eps, const float *x, const float *gamma, const float *beta, float *y);

/// Elementwise dropout; docs/numerics.md section 6 defines how elements are numbered.
struct fovea_dropout {
    uint32_t seed[2]; ///< low word, high word
    uint32_t site;
    uint32_t threshold; ///< an element is dropped iff its Philox word is below this
    uint64_t element;   ///< number of element x[0]
    float scale;        ///< factor for the elements that are kept
};
/// y[i] = x[i] * scale, or +0 if it is dropped. y may be x; otherwise they must not overlap.
typedef void fovea_dropout_fn(const struct fovea_dropout *dropout, size_t n, const float *x, float *y);

/// Rotary positions: n pairs (a, b) of a head become (a * cos[i] - b * sin[i], b * cos[i] + a * sin[i]), three
/// roundings each. Pair i is x[i] and x[n + i] or, if `adjacent`, x[2 i] and x[2 i + 1]; y likewise. y may be x.
typedef void fovea_rotary_fn(size_t n, uint32_t adjacent, const float *x, const float *cos, const float *sin, float *y);

// ---- Registers -------------------------------------------------------------------------------------------------

/// A variant of a family: its function, its index in the registers, counted from 0, the CPU bits it requires, and the
/// facts its caller needs.
#define FOVEA_FAMILY(family, facts)                                                                                    \
    struct fovea_##family##_kernel {                                                                                   \
        const char *name;                                                                                              \
        int32_t variant;                                                                                               \
        uint32_t required;                                                                                             \
        facts fovea_##family##_fn *run;                                                                                \
    };

/// Those of products. mr is the most rows of C of a tile, nr its columns, or the rows of a transposed B that it reads
/// side by side; 0: no caller asks. masks is 1 if a tile of fewer columns than a panel needs no copies.
///
/// The other facts say which hints of gemm_contract.h it follows, and what it can do on the way. No caller asks it for
/// the rest, so plans whose numbers (tuning.def) differ in that alone have the same facts (ops/facts.h), and the tuner
/// times only one.
///     ahead      1: prefetches what later calls read: ahead of a tile; with far also later lines of its own, into_l1
///     packs      1: it can pack what it reads of B, natural, transposed or in smaller elements: packed
///     lead       1: prefetches into L1, some lines ahead, what it reads itself: lead_steps, lead_columns, stream; few
///                rows of a packed B unless `quiet`
///     touch      1: touches pages
///     side_rows  the most rows of C for which it reads rows of B side by side as `side` says; otherwise nr of them
///     quiet_rows the most rows of C for which it can be told to prefetch nothing: quiet
#define FOVEA_GEMM_FACTS uint16_t mr, nr, masks, ahead, packs, lead, touch, side_rows, quiet_rows;
#define FOVEA_NO_FACTS
FOVEA_FAMILY(gemm, FOVEA_GEMM_FACTS)
FOVEA_FAMILY(gemm_bt, FOVEA_GEMM_FACTS)
FOVEA_FAMILY(gemm_bn, FOVEA_GEMM_FACTS)
FOVEA_FAMILY(gemm_edge, FOVEA_NO_FACTS)
FOVEA_FAMILY(gemm_few, FOVEA_GEMM_FACTS)
FOVEA_FAMILY(pack, FOVEA_NO_FACTS)
FOVEA_FAMILY(widen, FOVEA_NO_FACTS)
FOVEA_FAMILY(widen_s8, FOVEA_NO_FACTS)
FOVEA_FAMILY(narrow, FOVEA_NO_FACTS)
FOVEA_FAMILY(transpose, FOVEA_NO_FACTS)
FOVEA_FAMILY(epilogue, FOVEA_NO_FACTS)
FOVEA_FAMILY(unary, FOVEA_NO_FACTS)
FOVEA_FAMILY(binary, FOVEA_NO_FACTS)
FOVEA_FAMILY(norm, FOVEA_NO_FACTS)
FOVEA_FAMILY(dropout, FOVEA_NO_FACTS)
FOVEA_FAMILY(rotary, FOVEA_NO_FACTS)
FOVEA_FAMILY(keep, FOVEA_NO_FACTS)
FOVEA_FAMILY(merge, FOVEA_NO_FACTS)
FOVEA_FAMILY(finish, FOVEA_NO_FACTS)
#undef FOVEA_FAMILY
#undef FOVEA_GEMM_FACTS
#undef FOVEA_NO_FACTS

/// The same for attention, whose facts are numbers of queries, and hints of attention_contract.h that it follows.
struct fovea_prefill_kernel {
    const char *name;
    int32_t variant;
    uint32_t required;
    uint16_t queries;    ///< the most queries of a tile
    uint16_t l1_queries; ///< the fewest queries of a tile for which the kernel honours prefetching into L1; 0: it
                         ///< always prefetches into L2
    uint16_t fetches;    ///< 1: it follows `fetch`; otherwise callers plan no prefetches
    uint16_t copies;     ///< 1: it makes copies of K and V in `copy`; otherwise callers reserve no memory for them
    fovea_prefill_fn *run;
};
struct fovea_decode_kernel {
    const char *name;
    int32_t variant;
    uint32_t required;
    uint16_t queries;      ///< the most queries of a tile
    uint16_t last_queries; ///< this many trailing queries of a head are faster here than as one more tile of prefill
    uint16_t beside_rows;  ///< the most rows for which the kernel can read V beside the next chunk's K; 0: it cannot
    uint16_t near_rows;    ///< the most rows for which it uses k_next if K and V are in L2, of K in rows or any K
    uint16_t busy_rows;    ///< With this many rows it waits for arithmetic, so that prefetches cost nothing even in L2
                           ///< (measured on Zen 4 alone); 0: never. Those over K in rows that use k_next prefetch K
                           ///< anyway.
    fovea_decode_fn *run;
};

#define FOVEA_FACTS(...) __VA_ARGS__ ///< strips the parentheses from the facts of a register line
#define FOVEA_KERNEL(family, slot, stem, isa, facts) fovea_##family##_fn fovea_##stem##_##isa;
#include "kernels/registers.def"
#undef FOVEA_KERNEL

#endif
