// SPDX-License-Identifier: Apache-2.0
// ops/pack.h - layout f32-p16: the blob, and packing parts of an operand into panels.
#ifndef FOVEA_OPS_PACK_H
#define FOVEA_OPS_PACK_H

#include "kernels/table.h"
#include "ops/check.h"

/// The first 64 bytes of a blob; panel j follows at float j * 16 * k. Little-endian, as every supported CPU is.
struct fovea_blob {
    char magic[8];     ///< "FOVEAP16"
    uint32_t version;  ///< of the layout
    uint32_t reserved; ///< 0
    uint64_t k, n;
    uint64_t data_bytes; ///< k * round16(n) * 4
    uint64_t checksum;   ///< over all of the above (this field as 0) and the panels
    uint64_t padding[2]; ///< 0
};

/// True if the header is valid (everything except the checksum is checked) and that of a k x n operand.
bool fovea_blob_matches(const struct fovea_blob *blob, size_t k, size_t n);
/// Writes how a blob, called `name`, does not match.
void fovea_blob_tell(const struct fovea_why *why, const char *name, const struct fovea_blob *blob, size_t k, size_t n);

static inline const float *fovea_blob_panels(const struct fovea_blob *blob)
{
    return (const float *)(const void *)(blob + 1);
}

/// A k x n operand in its owner's memory: element [p,j] is first[p * ld + j], or first[j * ld + p] if trans.
struct fovea_source {
    const float *first;
    size_t ld;
    bool trans;
};

/// Packs the k x n elements from [p,j] on into adjacent panels of 16 * k floats.
void fovea_pack_panels(const struct fovea_kernels *kernels, const struct fovea_source *source, size_t p, size_t j,
                       size_t k, size_t n, float *dst);

#endif
