// SPDX-License-Identifier: Apache-2.0
// ops/blob.h - layouts f32-p16, bf16-p16, f16-p16 and s8-p16: the blob of a packed B.
#ifndef FOVEA_OPS_BLOB_H
#define FOVEA_OPS_BLOB_H

#include "fovea/gemm.h"
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

/// Writes the header of an operand's blob, except the checksum.
enum fovea_status fovea_blob_begin(struct fovea_operand operand, void *blob, size_t bytes);
/// Writes what follows the panels to the last line, which is 0, and the checksum.
void fovea_blob_end(struct fovea_blob *blob);

#endif
