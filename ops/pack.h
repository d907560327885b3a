// SPDX-License-Identifier: Apache-2.0
// ops/pack.h - packing: parts of an operand into panels of f32, and whole ones of any type into a blob.
#ifndef FOVEA_OPS_PACK_H
#define FOVEA_OPS_PACK_H

#include "fovea/gemm.h"
#include "kernels/table.h"
#include "ops/blob.h"

/// op(B) in its owner's memory; FOVEA_S8: integers without their scales.
struct fovea_stored {
    enum fovea_type type;
    enum fovea_transpose trans;
    const void *b;
    size_t ld;
};
/// Checks one of k x n, except its type: NULL, ENUM, STRIDE, OVERFLOW.
enum fovea_status fovea_stored_check(const struct fovea_stored *from, size_t k, size_t n);

/// One operand, or two of the same type and size whose columns alternate, a gate and its values; n columns in all.
struct fovea_columns {
    const struct fovea_stored *from;
    size_t count, n;
};
/// to[s * 16 + i] = the element in step p + s, column 16 * panel + i, for s < steps <= FOVEA_GROUP and i < 16: its
/// bits, those of columns from n on 0. Elements have 8, 16 or 32
/// bits.
void fovea_columns_take(const struct fovea_columns *columns, size_t p, size_t steps, size_t panel, void *to);

/// Writes `steps` steps from p on of a panel, a multiple of FOVEA_GROUP; false if the type has no such elements.
typedef bool fovea_blob_fill(const void *what, size_t p, size_t steps, size_t panel, void *to);
/// Makes a blob of what `fill` writes, in the order of a source in memory, which is transposed or not. VALUE where it
/// cannot: then it is no blob.
enum fovea_status fovea_blob_make(fovea_blob_fill *fill, const void *what, struct fovea_operand operand,
                                  enum fovea_transpose trans, void *blob, size_t bytes);

/// A k x n operand that is to be packed: floats, element [p,j] at first[p * ld + j], or first[j * ld + p] if trans; or
/// the panels of a blob of smaller elements, whose k is ld.
struct fovea_source {
    const void *first;
    size_t ld;
    bool trans;
    enum fovea_type type;
};

/// B of a plan whose descriptor has b_packed 0: in its owner's memory, or a blob of smaller elements.
static inline struct fovea_source fovea_source_of(const struct fovea_gemm_desc *d, const void *b)
{
    return d->b_type == FOVEA_F32 ? (struct fovea_source){b, d->ldb, d->trans_b == FOVEA_TRANS, FOVEA_F32}
                                  : (struct fovea_source){fovea_blob_panels(b), d->k, false, d->b_type};
}

/// Step p of panel j of a blob of smaller elements.
static inline const char *fovea_elements_at(const struct fovea_source *source, size_t p, size_t j)
{
    const size_t scales = source->type == FOVEA_S8 ? (p / FOVEA_GROUP + 1) * sizeof(float[FOVEA_PANEL]) : 0;
    return (const char *)source->first + j * fovea_panel_bytes(source->type, source->ld) + scales +
           p * FOVEA_PANEL * fovea_type_bytes(source->type);
}

/// Where the steps of panel j from p on begin, their scales included: of 8 bits p begins a group.
static inline const char *fovea_steps_at(const struct fovea_source *source, size_t p, size_t j)
{
    return fovea_elements_at(source, p, j) - (source->type == FOVEA_S8 ? sizeof(float[FOVEA_PANEL]) : 0);
}

/// The kernel for few rows of C over panels of a type.
static inline const struct fovea_gemm_few_kernel *fovea_few_of(const struct fovea_kernels *kernels,
                                                               enum fovea_type type)
{
    return type == FOVEA_F32    ? &kernels->gemm_few
           : type == FOVEA_BF16 ? &kernels->gemm_bf16
           : type == FOVEA_F16  ? &kernels->gemm_f16
                                : &kernels->gemm_s8;
}

/// Whether that kernel, if it can, prefetches nothing of them. What counts is the work on a byte.
static inline bool fovea_few_is_quiet(const struct fovea_kernels *kernels, const struct fovea_gemm_tuning *tuning,
                                      enum fovea_type type, size_t rows)
{
    const size_t most = type == FOVEA_F32 ? tuning->quiet_rows : tuning->quiet_rows / 2;
    return rows <= fovea_min(most, fovea_few_of(kernels, type)->quiet_rows);
}

/// Packs the k x n elements from [p,j] on into adjacent panels of 16 * k floats. Of a blob j is a multiple of 16.
void fovea_pack_panels(const struct fovea_kernels *kernels, const struct fovea_source *source, size_t p, size_t j,
                       size_t k, size_t n, float *dst);

#endif
