// SPDX-License-Identifier: Apache-2.0
// bench/peer_onnxruntime.c - ONNX Runtime's CPU kernels (MLAS), from npm's onnxruntime-node (written for 1.30.0).
//
// Plain: A and B are inputs. Packed: B is a constant of the model, which the session packs when it is made. The output
// is bound to C. The C interface is a table of functions to which later versions only append.
#include "bench/memory.h"
#include "bench/onnx.h"
#include "bench/peer.h"

#include <stdlib.h>
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
    ORT_FLOAT = 1,
};
typedef void function(void);
struct base { // OrtApiBase
    function *const *(*api)(uint32_t version);
    const char *(*version)(void);
};

// An error is an object that is not NULL; it is leaked, once for each problem that cannot be done.
static struct {
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
} ort;

struct prepared {
    const struct gemm_problem *problem;
    bool packed;
    void *a, *c;
    void **sessions; // one; packed: one for each matrix
    void **b;        // values, not packed
};

static void release(void *memory)
{
    struct prepared *const self = memory;
    for (size_t i = 0; i < self->problem->b_count; i++) {
        if (self->sessions && self->sessions[i])
            ort.release_session(self->sessions[i]);
        if (self->b && self->b[i])
            ort.release_value(self->b[i]);
    }
    if (self->a)
        ort.release_value(self->a);
    if (self->c)
        ort.release_value(self->c);
    free(self->sessions);
    free(self->b);
    free(self);
}

static bool make_value(float *data, size_t rows, size_t cols, void **value)
{
    const int64_t shape[] = {(int64_t)rows, (int64_t)cols};
    return !ort.create_tensor(ort.info, data, rows * cols * sizeof(float), shape, 2, ORT_FLOAT, value);
}

static bool make_session(const struct gemm_problem *p, const float *constant, void **session)
{
    size_t bytes = 0, capacity = 0;
    void *const model = onnx_model(p, constant, &bytes, &capacity);
    const bool done = model && !ort.create_session(ort.env, model, bytes, ort.options, session);
    bench_free(model, capacity);
    return done;
}

static bool make(struct prepared *self)
{
    const struct gemm_problem *const p = self->problem;
    self->sessions = calloc(p->b_count, sizeof *self->sessions);
    self->b = calloc(p->b_count, sizeof *self->b);
    if (!self->sessions || !self->b ||
        !make_value(p->a, p->trans_a ? p->k : p->m, p->trans_a ? p->m : p->k, &self->a) ||
        !make_value(p->c, p->m, p->n, &self->c))
        return false;
    for (size_t i = 0; i < p->b_count; i++) {
        float *const b = p->b + i * p->b_stride;
        if (self->packed ? !make_session(p, b, &self->sessions[i])
                         : !make_value(b, p->trans_b ? p->n : p->k, p->trans_b ? p->k : p->n, &self->b[i]))
            return false;
    }
    return self->packed || make_session(p, NULL, &self->sessions[0]);
}

static void *prepare(const void *state, const struct gemm_problem *problem, bool packed)
{
    (void)state;
    struct prepared *const self = problem->gelu || problem->batch > 1 ? NULL : calloc(1, sizeof *self);
    if (!self)
        return NULL;
    self->problem = problem;
    self->packed = packed;
    if (!make(self)) {
        release(self);
        return NULL;
    }
    return self;
}

static void run(void *prepared, size_t index)
{
    static const char *const inputs[] = {"a", "b"}, *const outputs[] = {"c"};
    struct prepared *const self = prepared;
    const void *const values[] = {self->a, self->b[index]};
    void *result = self->c; // written in place
    ort.run(self->sessions[self->packed ? index : 0], NULL, inputs, values, self->packed ? 1 : 2, outputs, 1, &result);
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
    *out = (struct contestant){.prepare = prepare, .run = run, .release = release};
    snprintf(out->name, sizeof out->name, "ONNX Runtime %s", base()->version());
    return 1;
}
