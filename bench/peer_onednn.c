// SPDX-License-Identifier: Apache-2.0
// bench/peer_onednn.c - oneDNN (2.6.3), how it is loaded. Threads are OpenMP's.
#include "bench/peer_onednn.h"

#include <stdlib.h>

struct onednn dnnl;

static bool find_symbols(void *library)
{
    const struct peer_symbol symbols[] = {{"dnnl_version", &dnnl.version},
                                          {"dnnl_engine_create", &dnnl.engine_create},
                                          {"dnnl_stream_create", &dnnl.stream_create},
                                          {"dnnl_stream_wait", &dnnl.stream_wait},
                                          {"dnnl_memory_desc_init_by_strides", &dnnl.by_strides},
                                          {"dnnl_memory_desc_init_by_tag", &dnnl.by_tag},
                                          {"dnnl_memory_desc_get_size", &dnnl.md_size},
                                          {"dnnl_matmul_desc_init", &dnnl.matmul_init},
                                          {"dnnl_primitive_desc_create", &dnnl.pd_create},
                                          {"dnnl_primitive_desc_query_md", &dnnl.pd_md},
                                          {"dnnl_primitive_desc_destroy", &dnnl.pd_destroy},
                                          {"dnnl_reorder_primitive_desc_create", &dnnl.reorder_pd},
                                          {"dnnl_primitive_create", &dnnl.create},
                                          {"dnnl_primitive_attr_create", &dnnl.attr_create},
                                          {"dnnl_primitive_attr_set_output_scales", &dnnl.attr_scales},
                                          {"dnnl_primitive_attr_destroy", &dnnl.attr_destroy},
                                          {"dnnl_softmax_forward_desc_init", &dnnl.softmax_init},
                                          {"dnnl_primitive_execute", &dnnl.execute},
                                          {"dnnl_primitive_destroy", &dnnl.destroy},
                                          {"dnnl_memory_create", &dnnl.memory_create},
                                          {"dnnl_memory_set_data_handle", &dnnl.memory_set},
                                          {"dnnl_memory_destroy", &dnnl.memory_destroy},
                                          {"omp_set_num_threads", &dnnl.set_threads}};
    return peer_symbols(library, symbols, sizeof symbols / sizeof *symbols);
}

size_t peer_onednn(const struct peer_request *request, struct contestant *out, const char **why)
{
    static const struct peer_isa limits[] = {{"avx2", "AVX2"}, {"avx512", "ALL"}, {"neon", "ALL"}};
    const char *const limit = peer_isa_name(limits, sizeof limits / sizeof *limits, request->isa);
    if (!request->widest && !limit) {
        *why = "cannot be held to this ISA";
        return 0;
    }
    char threads[16];
    snprintf(threads, sizeof threads, "%u", request->threads);
    setenv("OMP_NUM_THREADS", threads, 1); // read when the OpenMP runtime is loaded
    if (!request->widest)
        setenv("DNNL_MAX_CPU_ISA", limit, 1); // read at its first call
    void *const library = peer_open("libdnnl.so.2", NULL);
    if (!library)
        return 0;
    if (!find_symbols(library) || dnnl.engine_create(&dnnl.engine, DNNL_CPU, 0) != 0 ||
        dnnl.stream_create(&dnnl.stream, dnnl.engine, DNNL_IN_ORDER) != 0) {
        *why = "this build lacks functions that are needed, or OpenMP";
        return 0;
    }
    dnnl.set_threads((int)request->threads);
    const struct onednn_version *const version = dnnl.version();
    *out = request->event == PEER_ATTENTION ? peer_onednn_attention() : peer_onednn_gemm();
    snprintf(out->name, sizeof out->name, "oneDNN %d.%d.%d%s%s%s", version->major, version->minor, version->patch,
             request->event == PEER_ATTENTION ? " matmul, softmax, matmul" : "", request->widest ? "" : ", forced to ",
             request->widest ? "" : limit);
    return 1;
}
