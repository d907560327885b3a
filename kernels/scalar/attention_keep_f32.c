// SPDX-License-Identifier: Apache-2.0
// kernels/scalar/attention_keep_f32.c - which weights of a chunk dropout keeps, the definition (docs/numerics.md
// section 6).
#include "kernels/kernel.h"
#include "kernels/scalar/philox.h"

void fovea_attention_keep_f32_scalar(const struct fovea_attention_keep *weights, uint64_t *keep)
{
    enum { WORDS = 4 };
    for (size_t j = 0; j < weights->keys; j++) {
        const uint32_t key = weights->key + (uint32_t)j;
        keep[j] = 0;
        for (size_t r = 0; r < weights->rows; r++) {
            const uint32_t counter[4] = {key / WORDS, weights->query[r], weights->head[r], weights->batch};
            uint32_t words[WORDS];
            scalar_philox(counter, weights->seed, words);
            keep[j] |= (uint64_t)(words[key % WORDS] >= weights->threshold) << r;
        }
    }
}
