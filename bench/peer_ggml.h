// SPDX-License-Identifier: Apache-2.0
// bench/peer_ggml.h - the part of ggml's C interface that its contestants use (written for 0.5 of llama.cpp, from npm).
// All of its types are pointers here, so that their layouts do not matter.
#ifndef FOVEA_BENCH_PEER_GGML_H
#define FOVEA_BENCH_PEER_GGML_H

#include "bench/peer.h"

#include <stdint.h>

enum ggml_type { GGML_F32 = 0, GGML_F16 = 1, GGML_Q8_0 = 8, GGML_BF16 = 30 };

struct ggml_room {
    size_t bytes;
    void *memory; ///< NULL: its own
    bool no_data; ///< tensors lie elsewhere
};

/// Its functions. A tensor's sizes are given innermost first.
struct ggml {
    void *(*init)(struct ggml_room room);
    void (*free)(void *context);
    size_t (*tensor_overhead)(void);
    size_t (*graph_overhead)(size_t nodes, bool gradients);
    void *(*tensor)(void *context, enum ggml_type type, int dims, const int64_t *sizes);
    void *(*permute)(void *context, void *tensor, int, int, int, int);
    void *(*mul_mat)(void *context, void *weights, void *rows);
    void *(*attention)(void *context, void *q, void *k, void *v, void *mask, float scale, float bias, float softcap);
    void *(*graph)(void *context, size_t nodes, bool gradients);
    void (*expand)(void *graph, void *tensor);
    size_t (*row_size)(enum ggml_type type, int64_t size);
    size_t (*quantize)(enum ggml_type type, const float *from, void *to, int64_t start, int64_t rows, int64_t size,
                       const float *importance);
    void *(*buffer)(void *memory, size_t bytes);
    int (*place)(void *buffer, void *tensor, void *address);
    void (*buffer_free)(void *buffer);
    int (*compute)(void *backend, void *graph);
    void *backend; ///< with a pool of its threads
};
extern struct ggml ggml;

/// Contestants without a name.
struct contestant peer_ggml_gemm(void), peer_ggml_attention(void);

#endif
