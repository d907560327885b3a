// SPDX-License-Identifier: Apache-2.0
// kernels/scalar/dropout_f32.c - elementwise dropout, the definition (docs/numerics.md section 6).
#include "kernels/kernel.h"
#include "kernels/scalar/philox.h"

void fovea_dropout_f32_scalar(const struct fovea_dropout *dropout, size_t n, const float *x, float *y)
{
    enum { WORDS = 4 };
    for (size_t i = 0; i < n; i++) {
        const uint64_t element = dropout->element + i, block = element / WORDS;
        const uint32_t counter[4] = {(uint32_t)block, (uint32_t)(block >> 32), dropout->site, UINT32_MAX};
        uint32_t words[WORDS];
        scalar_philox(counter, dropout->seed, words);
        y[i] = words[element % WORDS] < dropout->threshold ? 0.0f : x[i] * dropout->scale;
    }
}
