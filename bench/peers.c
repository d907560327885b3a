// SPDX-License-Identifier: Apache-2.0
// bench/peers.c - the peers, and how their libraries are found.
#include "bench/peer.h"
#include "dispatch/environment.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <glob.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

static const struct {
    const char *name, *package;
    peer_load *load;
    unsigned events; // of enum peer_event
} peers[] = {
    {"OpenBLAS", "Debian's libopenblas0-pthread", peer_openblas, PEER_GEMM | PEER_ATTENTION},
    {"BLIS", "Debian's libblis4-pthread", peer_blis, PEER_GEMM | PEER_ATTENTION},
    {"oneDNN", "Debian's libdnnl2", peer_onednn, PEER_GEMM | PEER_ATTENTION},
    {"libxsmm", "Debian's libxsmm-dev, made shared by scripts/peers.sh", peer_libxsmm, PEER_GEMM},
    {"ONNX Runtime", "npm's onnxruntime-node, by scripts/peers.sh", peer_onnxruntime,
     PEER_GEMM | PEER_ATTENTION | PEER_LAYER},
    {"ggml", "npm's @node-llama-cpp, by scripts/peers.sh", peer_ggml, PEER_GEMM | PEER_ATTENTION},
};

size_t peers_load(const struct peer_request *request, struct contestant out[PEERS_MAX], FILE *notes)
{
    size_t count = 0;
    for (size_t i = 0; i < sizeof peers / sizeof *peers && count + PEER_VARIANTS <= PEERS_MAX; i++) {
        const char *why = NULL;
        if (!(peers[i].events & request->event))
            continue;
        const size_t found = peers[i].load(request, out + count, &why);
        if (found == 0)
            fprintf(notes, "peer %s: %s%s\n", peers[i].name, why ? why : "not installed; it is ",
                    why ? "" : peers[i].package);
        for (size_t j = 0; j < found; j++)
            fprintf(notes, "peer %s\n", out[count + j].name);
        count += found;
    }
    return count;
}

void *peer_open(const char *name, const char *pattern)
{
    if (!pattern)
        return dlopen(name, RTLD_NOW | RTLD_LOCAL);
    const char *const folder = fovea_environment("FOVEA_PEERS_DIR"), *const home = fovea_environment("HOME");
    char path[4096];
    const int length = folder ? snprintf(path, sizeof path, "%s/%s", folder, pattern)
                              : snprintf(path, sizeof path, "%s/.cache/fovea-peers/%s", home ? home : "", pattern);
    glob_t found;
    if (length < 0 || (size_t)length >= sizeof path || glob(path, 0, NULL, &found) != 0)
        return NULL;
    void *const library = dlopen(found.gl_pathv[0], RTLD_LAZY | RTLD_LOCAL);
    globfree(&found);
    return library;
}

// The loader takes a file for a new library when its inode is new: a copy in memory is.
void *peer_open_again(void *library)
{
    struct link_map *map = NULL;
    char path[64];
    struct stat status;
    if (dlinfo(library, RTLD_DI_LINKMAP, &map) != 0)
        return NULL;
    const int from = open(map->l_name, O_RDONLY), to = memfd_create("peer", 0);
    off_t left = from >= 0 && fstat(from, &status) == 0 ? status.st_size : 0;
    for (ssize_t sent = 1; to >= 0 && left > 0 && sent > 0; left -= sent)
        sent = sendfile(to, from, NULL, (size_t)left);
    snprintf(path, sizeof path, "/proc/self/fd/%d", to);
    void *const copy = left == 0 ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
    if (from >= 0)
        close(from);
    if (to >= 0 && !copy) // else it stays open: under the same name the loader would take the next copy for this one
        close(to);
    return copy;
}

bool peer_symbols(void *library, const struct peer_symbol *symbols, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        void *const found = dlsym(library, symbols[i].name);
        if (!found)
            return false;
        memcpy(symbols[i].address, &found, sizeof found); // C has no cast from an object's address to a function's
    }
    return true;
}

const char *peer_isa_name(const struct peer_isa *table, size_t count, const char *isa)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(table[i].isa, isa) == 0)
            return table[i].name;
    return NULL;
}
