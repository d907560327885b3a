// SPDX-License-Identifier: Apache-2.0
// bench/peer_ggml.c - ggml, what llama.cpp computes with, from npm's node-llama-cpp: how it is loaded.
//
// It comes as one library for each kind of CPU; each says how well it suits this one, 0 where it does not.
#include "bench/peer_ggml.h"

struct ggml ggml;

// The widest first. Under a cap: the one for that ISA.
static const struct peer_isa builds[] = {
#if defined(__aarch64__)
    {"neon", "armv9.2_2"}, {"neon", "armv9.2_1"}, {"neon", "armv8.6_2"}, {"neon", "armv8.6_1"},
    {"neon", "armv8.2_3"}, {"neon", "armv8.2_2"}, {"neon", "armv8.2_1"}, {"neon", "armv8.0_1"},
#else
    {"avx512", "sapphirerapids"}, {"avx512", "zen4"},        {"avx512", "cooperlake"},
    {"avx512", "icelake"},        {"avx512", "cascadelake"}, {"avx512", "cannonlake"},
    {"avx512", "skylakex"},       {"avx2", "alderlake"},     {"avx2", "haswell"},
#endif
};

// The build for this CPU; NULL where there is none, and why, NULL if none is installed.
static void *open_build(const struct peer_request *request, const char **name, const char **why)
{
    *why = "cannot be held to this ISA";
    for (size_t i = 0; i < sizeof builds / sizeof *builds; i++) {
        char pattern[128];
        int (*score)(void);
        const struct peer_symbol symbol = {"ggml_backend_score", &score};
        if (peer_isa_name(&builds[i], 1, request->isa) == NULL)
            continue;
        *why = NULL;
        *name = builds[i].name;
        snprintf(pattern, sizeof pattern, "node_modules/@node-llama-cpp/linux-*/bins/linux-*/libggml-cpu-%s.so", *name);
        void *const library = peer_open(NULL, pattern);
        if (library && peer_symbols(library, &symbol, 1) && score() > 0)
            return library;
    }
    return NULL;
}

// A backend with a pool of threads that wait for the next call, as those of llama.cpp do.
static bool start(void *library, uint32_t threads)
{
    void *(*backend)(void), *(*pool)(void *params);
    void (*params_init)(void *params, int threads), (*set_pool)(void *backend, void *pool);
    void (*set_threads)(void *backend, int threads);
    const struct peer_symbol symbols[] = {{"ggml_backend_cpu_init", &backend},
                                          {"ggml_threadpool_params_init", &params_init},
                                          {"ggml_threadpool_new", &pool},
                                          {"ggml_backend_cpu_set_threadpool", &set_pool},
                                          {"ggml_backend_cpu_set_n_threads", &set_threads}};
    if (!peer_symbols(library, symbols, sizeof symbols / sizeof *symbols))
        return false;
    uint64_t params[512] = {0}; // longer than theirs
    params_init(params, (int)threads);
    ggml.backend = backend();
    void *const made = ggml.backend ? pool(params) : NULL;
    if (!made)
        return false;
    set_threads(ggml.backend, (int)threads);
    set_pool(ggml.backend, made);
    return true;
}

size_t peer_ggml(const struct peer_request *request, struct contestant *out, const char **why)
{
    const char *build = NULL, *(*version)(void);
    const struct peer_symbol symbols[] = {{"ggml_init", &ggml.init},
                                          {"ggml_free", &ggml.free},
                                          {"ggml_tensor_overhead", &ggml.tensor_overhead},
                                          {"ggml_graph_overhead_custom", &ggml.graph_overhead},
                                          {"ggml_new_tensor", &ggml.tensor},
                                          {"ggml_permute", &ggml.permute},
                                          {"ggml_mul_mat", &ggml.mul_mat},
                                          {"ggml_flash_attn_ext", &ggml.attention},
                                          {"ggml_new_graph_custom", &ggml.graph},
                                          {"ggml_build_forward_expand", &ggml.expand},
                                          {"ggml_row_size", &ggml.row_size},
                                          {"ggml_quantize_chunk", &ggml.quantize},
                                          {"ggml_backend_cpu_buffer_from_ptr", &ggml.buffer},
                                          {"ggml_backend_tensor_alloc", &ggml.place},
                                          {"ggml_backend_buffer_free", &ggml.buffer_free},
                                          {"ggml_backend_graph_compute", &ggml.compute},
                                          {"ggml_version", &version}};
    void *const library = open_build(request, &build, why);
    if (!library)
        return 0;
    if (!peer_symbols(library, symbols, sizeof symbols / sizeof *symbols) || !start(library, request->threads)) {
        *why = "this build lacks functions that are needed";
        return 0;
    }
    *out = request->event == PEER_GEMM ? peer_ggml_gemm() : peer_ggml_attention();
    snprintf(out->name, sizeof out->name, "ggml %s %s", version(), build);
    return 1;
}
