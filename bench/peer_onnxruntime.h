// SPDX-License-Identifier: Apache-2.0
// bench/peer_onnxruntime.h - the part of ONNX Runtime's C interface that its contestants use (written for 1.30.0). It
// is a table of functions to which later versions only append.
#ifndef FOVEA_BENCH_PEER_ONNXRUNTIME_H
#define FOVEA_BENCH_PEER_ONNXRUNTIME_H

#include "bench/onnx.h"
#include "bench/peer.h"

/// Its functions. An error is an object that is not NULL; it is leaked, once for each problem that cannot be done.
struct onnxruntime {
    void *(*create_env)(int level, const char *id, void **env);
    void *(*create_session)(const void *env, const void *model, size_t bytes, const void *options, void **session);
    void *(*run)(void *session, const void *options, const char *const *inputs, const void *const *values, size_t count,
                 const char *const *outputs, size_t output_count, void **results);
    void *(*create_options)(void **options);
    void *(*set_intra)(void *options, int threads);
    void *(*set_inter)(void *options, int threads);
    void *(*create_tensor)(const void *info, void *data, size_t bytes, const int64_t *shape, size_t dims, int type,
                           void **value);
    void *(*create_info)(int allocator, int memory, void **info);
    void (*release_session)(void *session);
    void (*release_value)(void *value);
    void *env, *options, *info;
};
extern struct onnxruntime ort;

/// A session of a model of these nodes; NULL where it is refused.
void *peer_onnxruntime_session(const struct onnx_node *nodes, size_t count);
/// A tensor over memory of ours; NULL where it is refused.
void *peer_onnxruntime_tensor(const struct onnx_value *what, void *data);

/// Contestants without a name.
struct contestant peer_onnxruntime_gemm(void);
/// One for each of its operators of attention; op is its name.
enum { PEER_ONNXRUNTIME_OPS = 3 };
struct contestant peer_onnxruntime_attention(size_t number, const char **op);
/// One for each form in which a layer is written; form is its name.
enum { PEER_ONNXRUNTIME_FORMS = 3 };
struct contestant peer_onnxruntime_layer(size_t number, const char **form);

#endif
