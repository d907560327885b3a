// SPDX-License-Identifier: Apache-2.0
// nn/tensor.c - the type of a tensor, and its elements as f32.
#include "fovea/safetensors.h"

#include "ops/check.h"
#include "ops/widen.h"

#include <string.h>

static const char *const dtypes[] = {[FOVEA_F32] = "F32", [FOVEA_BF16] = "BF16", [FOVEA_F16] = "F16"};

enum fovea_status fovea_tensor_type(const struct fovea_tensor *tensor, enum fovea_type *type)
{
    FOVEA_CHECK(tensor && type, FOVEA_ERR_NULL);
    for (int i = FOVEA_F32; i <= FOVEA_F16; i++)
        if (strcmp(tensor->dtype, dtypes[i]) == 0) {
            *type = (enum fovea_type)i;
            return FOVEA_OK;
        }
    return FOVEA_ERR_UNSUPPORTED;
}

enum fovea_status fovea_tensor_f32(const struct fovea_engine *engine, const struct fovea_tensor *tensor, size_t first,
                                   size_t count, float *out)
{
    enum fovea_type type;
    FOVEA_CHECK(engine && tensor && (out || count == 0), FOVEA_ERR_NULL);
    FOVEA_TRY(fovea_tensor_type(tensor, &type));
    const size_t size = fovea_type_bytes(type), elements = tensor->bytes / size;
    FOVEA_CHECK(first <= elements && count <= elements - first, FOVEA_ERR_SHAPE);
    if (count)
        fovea_widen(fovea_engine_kernels(engine), type, count, (const char *)tensor->data + first * size, out);
    return FOVEA_OK;
}
