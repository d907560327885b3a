// SPDX-License-Identifier: Apache-2.0
// fovea/safetensors.h - weights in safetensors files, read through mmap: nothing is copied, nothing in the file is
// trusted.
//
// Format: 8 bytes little-endian header length, a JSON header {"name": {"dtype","shape","data_offsets"}, ...,
// "__metadata__": {string: string}}, then the data. https://github.com/huggingface/safetensors#format
//
// The file must not shrink while it is open. If another process truncates it, a read beyond its new end, by the library
// or through fovea_tensor.data, raises SIGBUS, as with every mapping. The mapping is private and read-only, but changes
// made to the file in place may show through. To update a file, write a new one and rename it.
//
// A model in several files (Hugging Face's model-00001-of-00003.safetensors and so on) is several of these: open each,
// and look for a tensor in one after another, as examples/llama/folder.c does. The index beside them, a JSON file, is
// not needed for that, and nothing here reads it.
//
// An open file is never written again: any number of threads may use it. Names, dtypes, values of metadata and data
// belong to it, and are valid until it is closed.
#ifndef FOVEA_SAFETENSORS_H
#define FOVEA_SAFETENSORS_H

#include "fovea/engine.h"
#include "fovea/type.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { FOVEA_TENSOR_DIMS_MAX = 8 };

struct fovea_safetensors;

/// A tensor as stored in the file. data points into the mapping: little-endian, row-major, aligned to an element for
/// F32, F16 and BF16 (a file in which it is not is rejected; no current writer makes one).
struct fovea_tensor {
    const char *name;
    const char *dtype; ///< "F32", "F16", "BF16"; "F64", "BOOL", "F8_E4M3", "F8_E5M2"; "I8", "U8" to "I64", "U64"
    uint32_t dims;     ///< 0: a scalar, of one element
    size_t shape[FOVEA_TENSOR_DIMS_MAX]; ///< the first `dims` are set, the others 0; any may be 0
    const void *data;
    size_t bytes; ///< elements x the size of one
};

/// Opens a file and checks all of its structure: header (at most 100 MiB), names, dtypes (those above), shapes (at most
/// FOVEA_TENSOR_DIMS_MAX dimensions), offsets (in range, no overlap, no hole, size = shape x dtype). message (may be
/// NULL) receives one line that names the file and, if a tensor is wrong, the tensor; "" on success. It is cut to
/// message_size, for which FOVEA_EXPLAIN_BYTES is enough: of a path it has 200 bytes, of a name 80.
/// Errors, after which *out is unchanged: NULL, IO, FORMAT, MEMORY.
FOVEA_API enum fovea_status fovea_safetensors_open(const char *path, struct fovea_safetensors **out, char *message,
                                                   size_t message_size);
/// The same for a file already in memory, which must outlive *out and stay unchanged. bytes should be 8-byte aligned,
/// as malloc's memory is: a file whose data of F32, BF16 or F16 is not aligned to its elements is refused.
FOVEA_API enum fovea_status fovea_safetensors_from_memory(const void *bytes, size_t size,
                                                          struct fovea_safetensors **out, char *message,
                                                          size_t message_size);
/// Closes a file. NULL is allowed.
FOVEA_API void fovea_safetensors_close(struct fovea_safetensors *file);

/// The number of tensors; 0 for NULL.
FOVEA_API size_t fovea_safetensors_count(const struct fovea_safetensors *file);
/// Tensor `index` in file order, or NULL.
FOVEA_API const struct fovea_tensor *fovea_safetensors_at(const struct fovea_safetensors *file, size_t index);
/// The tensor with that name, or NULL.
FOVEA_API const struct fovea_tensor *fovea_safetensors_find(const struct fovea_safetensors *file, const char *name);
/// The value of a key of "__metadata__" (of a key that is there twice, the last), or NULL.
FOVEA_API const char *fovea_safetensors_metadata(const struct fovea_safetensors *file, const char *key);

/// The type of a tensor's elements: FOVEA_F32, FOVEA_BF16 or FOVEA_F16. fovea_pack_typed takes data of each of them as
/// they are. Errors: NULL, UNSUPPORTED (another dtype; *type is unchanged).
FOVEA_API enum fovea_status fovea_tensor_type(const struct fovea_tensor *tensor, enum fovea_type *type);
/// Writes elements first to first + count - 1 of an open file's tensor to out (count floats) as f32, for norms, biases,
/// and single rows of an embedding. F32 is copied, BF16 and F16 are widened, which is exact. count may be 0, and out is
/// then allowed to be NULL.
/// Errors, after which nothing has been written: NULL, UNSUPPORTED (another dtype), SHAPE (the tensor ends before).
FOVEA_API enum fovea_status fovea_tensor_f32(const struct fovea_engine *engine, const struct fovea_tensor *tensor,
                                             size_t first, size_t count, float *out);

#ifdef __cplusplus
}
#endif

#endif
