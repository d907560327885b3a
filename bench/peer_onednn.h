// SPDX-License-Identifier: Apache-2.0
// bench/peer_onednn.h - the part of oneDNN's C interface that its contestants use (of 2.x, written for 2.6.3; 3.x has
// another). Descriptors are structs, used here as memory of more than their size.
#ifndef FOVEA_BENCH_PEER_ONEDNN_H
#define FOVEA_BENCH_PEER_ONEDNN_H

#include "bench/peer.h"

#include <stdint.h>

enum {
    DNNL_CPU = 1,          // dnnl_cpu
    DNNL_IN_ORDER = 1,     // dnnl_stream_in_order
    DNNL_F32 = 3,          // dnnl_f32
    DNNL_TAG_ANY = 1,      // dnnl_format_tag_any
    DNNL_WEIGHTS_MD = 131, // dnnl_query_weights_md
    DNNL_INFERENCE = 96,   // dnnl_forward_inference
    DNNL_ARG_SRC = 1,      // also DNNL_ARG_FROM
    DNNL_ARG_DST = 17,     // also DNNL_ARG_TO
    DNNL_ARG_WEIGHTS = 33,
    DNNL_DIMS = 12, // of dnnl_dims_t
};
struct onednn_descriptor {
    _Alignas(16) char bytes[4096]; // dnnl_memory_desc_t has 696 bytes in 2.6, dnnl_matmul_desc_t 2800
};
struct onednn_argument { // dnnl_exec_arg_t
    int arg;
    void *memory;
};
struct onednn_version { // dnnl_version_t begins with these
    int major, minor, patch;
};

/// Its functions, one engine and one stream of it.
struct onednn {
    const struct onednn_version *(*version)(void);
    int (*engine_create)(void **engine, int kind, size_t index);
    int (*stream_create)(void **stream, void *engine, unsigned flags);
    int (*stream_wait)(void *stream);
    int (*by_strides)(struct onednn_descriptor *md, int ndims, const int64_t *dims, int type, const int64_t *strides);
    int (*by_tag)(struct onednn_descriptor *md, int ndims, const int64_t *dims, int type, int tag);
    size_t (*md_size)(const void *md);
    int (*matmul_init)(struct onednn_descriptor *op, const struct onednn_descriptor *src,
                       const struct onednn_descriptor *weights, const struct onednn_descriptor *bias,
                       const struct onednn_descriptor *dst);
    int (*pd_create)(void **pd, const struct onednn_descriptor *op, const void *attr, void *engine, const void *hint);
    const void *(*pd_md)(const void *pd, int what, int index);
    int (*pd_destroy)(void *pd);
    int (*reorder_pd)(void **pd, const void *from, void *from_engine, const void *to, void *to_engine,
                      const void *attr);
    int (*create)(void **primitive, const void *pd);
    int (*attr_create)(void **attr);
    int (*attr_scales)(void *attr, int64_t count, int mask, const float *scales);
    int (*attr_destroy)(void *attr);
    int (*softmax_init)(struct onednn_descriptor *op, int kind, const struct onednn_descriptor *data, int axis);
    int (*execute)(const void *primitive, void *stream, int count, const struct onednn_argument *arguments);
    int (*destroy)(void *primitive);
    int (*memory_create)(void **memory, const void *md, void *engine, void *data);
    int (*memory_set)(void *memory, void *data);
    int (*memory_destroy)(void *memory);
    void (*set_threads)(int threads);
    void *engine, *stream;
};
extern struct onednn dnnl;

/// Contestants without a name.
struct contestant peer_onednn_gemm(void);
struct contestant peer_onednn_attention(void);

#endif
