// SPDX-License-Identifier: Apache-2.0
// fovea/safetensors.h - weights in safetensors files, read by mmap: nothing is copied, nothing is trusted.
//
// Format: 8 bytes little-endian header length, a JSON header {"name": {"dtype","shape","data_offsets"}, ...,
// "__metadata__": {string: string}}, then the data. https://github.com/huggingface/safetensors#format
#ifndef FOVEA_SAFETENSORS_H
#define FOVEA_SAFETENSORS_H

#include "fovea/status.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { FOVEA_TENSOR_DIMS_MAX = 8 };

struct fovea_safetensors;

/// A tensor as the file has it. data points into the mapping: little-endian, row-major, 4-byte aligned for F32 (files
/// in which it is not, which no current writer makes, are refused).
struct fovea_tensor {
    const char *name;  ///< owned by the file
    const char *dtype; ///< "F32", "F16", "BF16", "I64", ...
    uint32_t dims;
    size_t shape[FOVEA_TENSOR_DIMS_MAX];
    const void *data;
    size_t bytes;
};

/// Opens and checks a whole file: header, names, dtypes, shapes, offsets (in range, no overlap, size = shape x dtype).
/// message (may be NULL) gets one line that names the file, and the tensor where one is wrong.
/// Errors: NULL, IO, FORMAT, MEMORY.
FOVEA_API enum fovea_status fovea_safetensors_open(const char *path, struct fovea_safetensors **out, char *message,
                                                   size_t message_size);
/// The same for a file already in memory, which must outlive it.
FOVEA_API enum fovea_status fovea_safetensors_from_memory(const void *bytes, size_t size,
                                                          struct fovea_safetensors **out, char *message,
                                                          size_t message_size);
FOVEA_API void fovea_safetensors_close(struct fovea_safetensors *file);

FOVEA_API size_t fovea_safetensors_count(const struct fovea_safetensors *file);
/// Tensor `index` in the order of the file, or NULL.
FOVEA_API const struct fovea_tensor *fovea_safetensors_at(const struct fovea_safetensors *file, size_t index);
/// The tensor of that name, or NULL.
FOVEA_API const struct fovea_tensor *fovea_safetensors_find(const struct fovea_safetensors *file, const char *name);
/// The value of a key of "__metadata__", or NULL.
FOVEA_API const char *fovea_safetensors_metadata(const struct fovea_safetensors *file, const char *key);

#ifdef __cplusplus
}
#endif

#endif
