// SPDX-License-Identifier: Apache-2.0
// bench/peer_blis.c - BLIS (written for 0.9.0).
//
// It chooses its kernels when it is initialised, by the CPU's model too: a Cascade Lake in a virtual machine gets
// Haswell's. BLIS_ARCH_TYPE overrules that, in 0.9 with the number of an architecture, whose name bli_arch_string tells
// (a name such as "skx" is read as 0, which happens to be skx). A number that is not built in ends the program.
#include "bench/peer_cblas.h"

#include <stdlib.h>
#include <string.h>

enum { ARCHITECTURES = 4 }; // skx, knl, knc, haswell: the numbers of 0.9

static const struct peer_isa archs[] = {{"avx512", "skx"}, {"avx2", "haswell"}};

static struct peer_cblas libraries[PEER_VARIANTS];

struct blis {
    void (*init)(void);
    int (*arch)(void);
    char *(*arch_name)(int arch);
    char *(*version)(void);
    void (*set_threads)(int64_t threads);
};

static bool take(void *library, struct blis *blis, struct peer_cblas *cblas)
{
    const struct peer_symbol symbols[] = {{"bli_init", &blis->init},
                                          {"bli_arch_query_id", &blis->arch},
                                          {"bli_arch_string", &blis->arch_name},
                                          {"bli_info_get_version_str", &blis->version},
                                          {"bli_thread_set_num_threads", &blis->set_threads}};
    if (!library || !peer_symbols(library, symbols, sizeof symbols / sizeof *symbols) ||
        !peer_cblas_symbols(library, cblas))
        return false;
    blis->init(); // reads the environment
    return true;
}

static void enter(const struct blis *blis, struct peer_cblas *cblas, const struct peer_request *request,
                  const char *how, struct contestant *out)
{
    *out = peer_cblas_contestant(cblas, request);
    snprintf(out->name, sizeof out->name, "%sBLIS %s %s, %s", peer_cblas_prefix(request), blis->version(),
             blis->arch_name(blis->arch()), how);
    blis->set_threads(peer_cblas_threads(request));
}

// The number of an architecture by its name, or -1.
static int number_of(const struct blis *blis, const char *name)
{
    for (int i = 0; i < ARCHITECTURES; i++)
        if (strcmp(blis->arch_name(i), name) == 0)
            return i;
    return -1;
}

size_t peer_blis(const struct peer_request *request, struct contestant *out, const char **why)
{
    const char *const arch = peer_isa_name(archs, sizeof archs / sizeof *archs, request->isa);
    struct blis blis;
    void *const library = peer_open("libblis.so.4", NULL);
    if (!library)
        return 0;
    if (!take(library, &blis, &libraries[0])) {
        *why = "this build lacks functions that are needed";
        return 0;
    }
    enter(&blis, &libraries[0], request, "as installed", &out[0]);
    size_t count = request->widest;
    const int number = arch ? number_of(&blis, arch) : -1;
    if (number >= 0 && blis.arch() != number) {
        char text[8];
        snprintf(text, sizeof text, "%d", number);
        setenv("BLIS_ARCH_TYPE", text, 1);
        if (take(peer_open_again(library), &blis, &libraries[1]))
            enter(&blis, &libraries[1], request, "forced", &out[count++]);
        unsetenv("BLIS_ARCH_TYPE");
    } else if (number >= 0) {
        count = 1; // what it chooses by itself is what was asked for
    }
    if (count == 0)
        *why = "cannot be held to this ISA";
    return count;
}
