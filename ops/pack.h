// SPDX-License-Identifier: Apache-2.0
// ops/pack.h - layouts f32-p16, bf16-p16, f16-p16 and s8-p16: the blob, and packing parts of an operand into panels of
// f32.
#ifndef FOVEA_OPS_PACK_H
#define FOVEA_OPS_PACK_H

#include "fovea/gemm.h"
#include "kernels/table.h"
#include "ops/check.h"
#include <string.h>

/// The first 64 bytes of a blob; panels follow. Little-endian, as every supported CPU is.
struct fovea_blob {
    char magic[8];    ///< "FOVEAP16"
    uint32_t version; ///< of the layout
    uint32_t type;    ///< of the elements, an enum fovea_type
    uint64_t k, n;
    uint64_t data_bytes; ///< those of all panels, rounded up to 64
    uint64_t checksum;   ///< over all of the above (this field as 0) and the panels
    uint64_t padding[2]; ///< 0
};

/// A k x n operand with elements of a type.
struct fovea_operand {
    enum fovea_type type;
    size_t k, n;
};

/// "f32", by enum fovea_type.
extern const char *const fovea_type_names[FOVEA_S8 + 1];
/// Bytes from a panel of k steps to the next. Of a blob that there is; fovea_pack_size_typed checks for overflow.
size_t fovea_panel_bytes(enum fovea_type type, size_t k);
/// The header of an operand's blob, its checksum left 0. If such a blob would be too large: one of version 0.
struct fovea_blob fovea_blob_header(struct fovea_operand operand);
/// Whether a blob has this header, whatever its checksum. (Field by field: memcmp of all is a call.)
static inline bool fovea_blob_has(const struct fovea_blob *blob, const struct fovea_blob *header)
{
    return header->version != 0 && memcmp(blob->magic, header->magic, sizeof blob->magic) == 0 &&
           blob->version == header->version && blob->type == header->type && blob->k == header->k &&
           blob->n == header->n && blob->data_bytes == header->data_bytes &&
           (blob->padding[0] | blob->padding[1]) == 0; // what is 0 today may have a meaning in future blobs
}
/// Writes how a blob, called `name`, does not match.
void fovea_blob_tell(const struct fovea_why *why, const char *name, const struct fovea_blob *blob,
                     struct fovea_operand operand);

static inline const float *fovea_blob_panels(const struct fovea_blob *blob)
{
    return (const float *)(const void *)(blob + 1);
}

/// op(B) in its owner's memory; FOVEA_S8: integers without their scales.
struct fovea_stored {
    enum fovea_type type;
    enum fovea_transpose trans;
    const void *b;
    size_t ld;
};
/// Checks one of k x n, except its type: NULL, ENUM, STRIDE, OVERFLOW.
enum fovea_status fovea_stored_check(const struct fovea_stored *from, size_t k, size_t n);
/// Writes the header of an operand's blob, except the checksum.
enum fovea_status fovea_blob_begin(struct fovea_operand operand, void *blob, size_t bytes);
/// Writes the checksum, after the panels.
void fovea_blob_end(struct fovea_blob *blob);

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
