// SPDX-License-Identifier: Apache-2.0
// bench/peer_onnxruntime.c - ONNX Runtime's CPU kernels (MLAS), from npm's onnxruntime-node, how they are loaded.
#include "bench/peer_onnxruntime.h"
#include "bench/memory.h"

#include <string.h>

// Positions in struct OrtApi, as of version 1 (onnxruntime_c_api.h).
enum {
    CREATE_ENV = 3,
    CREATE_SESSION_FROM_ARRAY = 8,
    RUN = 9,
    CREATE_SESSION_OPTIONS = 10,
    SET_INTRA_OP_THREADS = 24,
    SET_INTER_OP_THREADS = 25,
    CREATE_TENSOR_WITH_DATA = 49,
    CREATE_CPU_MEMORY_INFO = 69,
    RELEASE_SESSION = 95,
    RELEASE_VALUE = 96,
    API_VERSION = 1,
    LOG_ERROR = 3,
    DEVICE_ALLOCATOR = 0,
    MEMORY_DEFAULT = 0,
};
typedef void function(void);
struct base { // OrtApiBase
    function *const *(*api)(uint32_t version);
    const char *(*version)(void);
};

struct onnxruntime ort;

void *peer_onnxruntime_session(const struct onnx_node *nodes, size_t count)
{
    size_t bytes = 0, capacity = 0;
    void *session = NULL, *const model = onnx_model(nodes, count, &bytes, &capacity);
    const bool done = model && !ort.create_session(ort.env, model, bytes, ort.options, &session);
    bench_free(model, capacity);
    return done ? session : NULL;
}

void *peer_onnxruntime_tensor(const struct onnx_value *what, void *data)
{
    int64_t shape[ONNX_RANK];
    size_t bytes = sizeof(float); // as long as an int32_t
    void *value = NULL;
    for (size_t i = 0; i < what->rank; i++) {
        shape[i] = (int64_t)what->dims[i];
        bytes *= what->dims[i];
    }
    return ort.create_tensor(ort.info, data, bytes, shape, what->rank, (int)what->type, &value) ? NULL : value;
}

static bool take(function *const *api)
{
    const struct {
        int position;
        void *address;
    } wanted[] = {{CREATE_ENV, &ort.create_env},
                  {CREATE_SESSION_FROM_ARRAY, &ort.create_session},
                  {RUN, &ort.run},
                  {CREATE_SESSION_OPTIONS, &ort.create_options},
                  {SET_INTRA_OP_THREADS, &ort.set_intra},
                  {SET_INTER_OP_THREADS, &ort.set_inter},
                  {CREATE_TENSOR_WITH_DATA, &ort.create_tensor},
                  {CREATE_CPU_MEMORY_INFO, &ort.create_info},
                  {RELEASE_SESSION, &ort.release_session},
                  {RELEASE_VALUE, &ort.release_value}};
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
        memcpy(wanted[i].address, &api[wanted[i].position], sizeof *api);
    return !ort.create_env(LOG_ERROR, "fovea", &ort.env) && !ort.create_options(&ort.options) &&
           !ort.create_info(DEVICE_ALLOCATOR, MEMORY_DEFAULT, &ort.info);
}

size_t peer_onnxruntime(const struct peer_request *request, struct contestant *out, const char **why)
{
#if defined(__aarch64__)
    static const char pattern[] = "node_modules/onnxruntime-node/bin/*/linux/arm64/libonnxruntime.so.1";
#else
    static const char pattern[] = "node_modules/onnxruntime-node/bin/*/linux/x64/libonnxruntime.so.1";
#endif
    const struct base *(*base)(void);
    const struct peer_symbol symbol = {"OrtGetApiBase", &base};
    if (!request->widest) {
        *why = "cannot be held to this ISA";
        return 0;
    }
    void *const library = peer_open(NULL, pattern);
    if (!library)
        return 0;
    function *const *const api = peer_symbols(library, &symbol, 1) ? base()->api(API_VERSION) : NULL;
    if (!api || !take(api) || ort.set_intra(ort.options, (int)request->threads) || ort.set_inter(ort.options, 1)) {
        *why = "this build lacks functions that are needed";
        return 0;
    }
    if (request->event == PEER_GEMM) {
        *out = peer_onnxruntime_gemm();
        snprintf(out->name, sizeof out->name, "ONNX Runtime %s", base()->version());
        return 1;
    }
    const bool layer = request->event == PEER_LAYER;
    const size_t count = layer ? PEER_ONNXRUNTIME_FORMS : PEER_ONNXRUNTIME_OPS;
    for (size_t i = 0; i < count; i++) {
        const char *what;
        out[i] = (layer ? peer_onnxruntime_layer : peer_onnxruntime_attention)(i, &what);
        snprintf(out[i].name, sizeof out[i].name, "ONNX Runtime %s %s", base()->version(), what);
    }
    return count;
}
