// SPDX-License-Identifier: Apache-2.0
// bench/peer_openblas.c - OpenBLAS (written for 0.3.21).
//
// It chooses its kernels when it is loaded, by the CPU's model: one it does not know, as a virtual machine may show,
// gets Haswell's, at half the speed. OPENBLAS_CORETYPE overrules that.
#include "bench/peer_cblas.h"

#include <stdlib.h>
#include <string.h>

static const struct peer_isa cores[] = {{"avx512", "SkylakeX"}, {"avx2", "Haswell"}};

static struct peer_cblas libraries[PEER_VARIANTS];

static bool take(void *library, struct peer_cblas *cblas, const struct peer_request *request, const char *how,
                 struct contestant *out)
{
    char *(*corename)(void);
    char *(*config)(void);
    void (*set_threads)(int threads);
    const struct peer_symbol symbols[] = {{"openblas_get_corename", &corename},
                                          {"openblas_get_config", &config},
                                          {"openblas_set_num_threads", &set_threads}};
    if (!library || !peer_symbols(library, symbols, sizeof symbols / sizeof *symbols) ||
        !peer_cblas_symbols(library, cblas))
        return false;
    set_threads((int)peer_cblas_threads(request));
    *out = peer_cblas_contestant(cblas, request);
    const char *const text = config(); // "OpenBLAS 0.3.21 NO_LAPACKE DYNAMIC_ARCH ..."
    const size_t prefix = strlen("OpenBLAS ");
    const size_t version = strlen(text) > prefix ? strcspn(text + prefix, " ") : 0;
    snprintf(out->name, sizeof out->name, "%sOpenBLAS %.*s %s, %s", peer_cblas_prefix(request), (int)version,
             version ? text + prefix : "", corename(), how);
    return true;
}

size_t peer_openblas(const struct peer_request *request, struct contestant *out, const char **why)
{
    const char *const core = peer_isa_name(cores, sizeof cores / sizeof *cores, request->isa);
    char threads[16];
    snprintf(threads, sizeof threads, "%u", peer_cblas_threads(request));
    setenv("OPENBLAS_NUM_THREADS", threads, 1);
    setenv("OPENBLAS_THREAD_TIMEOUT", "20", 1); // its threads fall asleep after 2^20 cycles without work, not 2^26
    void *const library = peer_open("libopenblas.so.0", NULL);
    if (!library)
        return 0;
    size_t count = 0;
    if (!take(library, &libraries[0], request, "as installed", &out[0])) {
        *why = "this build lacks functions that are needed";
        return 0;
    }
    count += request->widest;
    if (core && !strstr(out[0].name, core)) {
        setenv("OPENBLAS_CORETYPE", core, 1);
        count += take(peer_open_again(library), &libraries[1], request, "forced", &out[count]);
        unsetenv("OPENBLAS_CORETYPE");
    } else if (core) {
        count = 1; // what it chooses by itself is what was asked for
    }
    if (count == 0)
        *why = "cannot be held to this ISA";
    return count;
}
