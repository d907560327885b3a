// SPDX-License-Identifier: Apache-2.0
// tests/conformance/cases.h - ONNX's operator test vectors as files: cases.json and one .npy for each tensor.
#ifndef FOVEA_TESTS_CONFORMANCE_CASES_H
#define FOVEA_TESTS_CONFORMANCE_CASES_H

#include "fovea/engine.h"

#include <stdbool.h>

enum { ONNX_DIMS = 8, ONNX_TENSORS = 8, ONNX_ATTRIBUTES = 8 };

struct onnx_tensor {
    const char *name, *dtype; ///< NULL for an optional one that is absent
    uint32_t dims;
    uint64_t shape[ONNX_DIMS];
    size_t count; ///< elements
    void *data;   ///< float, int64_t or uint8_t (bool) as dtype says; float16 is left as it is
};

struct onnx_attribute {
    const char *name, *text; ///< text: NULL for a number
    double number;
};

struct onnx_case {
    const char *name, *op;
    struct onnx_attribute attribute[ONNX_ATTRIBUTES];
    struct onnx_tensor input[ONNX_TENSORS], output[ONNX_TENSORS];
    uint32_t attributes, inputs, outputs;
};

/// The cases of a folder; names is the memory that their strings lie in.
struct onnx_set {
    struct onnx_case *cases;
    size_t count;
    char *names;
};

/// The cases of folder/cases.json, without their data. False, with a line on stderr, where the file is not as expected.
bool onnx_open(const char *folder, struct onnx_set *set);
void onnx_close(struct onnx_set *set);
/// Reads the tensors of one case; false as above. onnx_unload frees them.
bool onnx_load(const char *folder, struct onnx_case *c);
void onnx_unload(struct onnx_case *c);

/// An attribute's number, or `otherwise` where the case does not have it.
double onnx_number(const struct onnx_case *c, const char *name, double otherwise);
/// An input or output by its number; NULL where it is absent.
const struct onnx_tensor *onnx_input(const struct onnx_case *c, uint32_t index);
const struct onnx_tensor *onnx_output(const struct onnx_case *c, uint32_t index);

/// |got - expected| <= 1e-5 + 1e-4 |expected| for all elements; otherwise says where into why.
bool onnx_compare(const struct onnx_tensor *expected, const float *got, char *why, size_t size);

/// Runs an Attention case, present keys and values included. False, and why, where it fails.
bool onnx_attention(const struct onnx_case *c, const struct fovea_engine *engine, char *why, size_t size);

#endif
