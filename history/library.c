// SPDX-License-Identifier: Apache-2.0
// history/library.c - a build of the library, loaded from a copy in memory.
#include "history/duel.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

// The loader takes a file for a library that it has when name or inode are: a copy in memory has its own.
static int copy_file(const char *path)
{
    struct stat status;
    const int from = open(path, O_RDONLY | O_CLOEXEC), to = from >= 0 ? memfd_create("fovea", MFD_CLOEXEC) : -1;
    bool done = to >= 0 && fstat(from, &status) == 0;
    for (off_t left = done ? status.st_size : 0; done && left > 0;) {
        const ssize_t sent = sendfile(to, from, NULL, (size_t)left);
        done = sent > 0;
        left -= sent;
    }
    const int why = errno;
    if (from >= 0)
        close(from);
    if (!done && to >= 0)
        close(to);
    errno = why;
    return done ? to : -1;
}

static bool find_symbols(struct library *library)
{
    const struct {
        const char *name;
        void *address;
        bool needed;
    } symbols[] = {
        {"fovea_version", &library->version, true},
        {"fovea_engine_create", &library->engine_create, true},
        {"fovea_engine_destroy", &library->engine_destroy, true},
        {"fovea_pack_size", &library->pack_size, false},
        {"fovea_pack", &library->pack, false},
        {"fovea_gemm_plan_size", &library->gemm_plan_size, false},
        {"fovea_gemm_plan", &library->gemm_plan, false},
        {"fovea_gemm", &library->gemm, false},
        {"fovea_attention_desc_init", &library->attention_desc_init, false},
        {"fovea_attention_plan_size", &library->attention_plan_size, false},
        {"fovea_attention_plan", &library->attention_plan, false},
        {"fovea_attention", &library->attention, false},
        {"fovea_rowwise_plan_size", &library->rowwise_plan_size, false},
        {"fovea_rowwise_plan", &library->rowwise_plan, false},
        {"fovea_rowwise", &library->rowwise, false},
    };
    for (size_t i = 0; i < sizeof symbols / sizeof *symbols; i++) {
        void *const found = dlsym(library->handle, symbols[i].name);
        if (!found && symbols[i].needed)
            return false;
        memcpy(symbols[i].address, &found, sizeof found); // C has no cast from an object's address to a function's
    }
    return true;
}

bool library_open(struct library *library, const char *path, char *message, size_t message_size)
{
    char copy[64], why[200] = "";
    *library = (struct library){0};
    const int fd = copy_file(path);
    if (fd < 0) {
        snprintf(message, message_size, "%s: %s", path, strerror(errno));
        return false;
    }
    library->fd = fd; // stays open: under the same name the loader would find this library again
    snprintf(copy, sizeof copy, "/proc/self/fd/%d", fd);
    library->handle = dlopen(copy, RTLD_NOW | RTLD_LOCAL);
    if (!library->handle) {
        const char *const error = dlerror();
        const char *const colon = error ? strstr(error, ": ") : NULL; // what comes before it is the name of the copy
        snprintf(message, message_size, "%s: %s", path, colon ? colon + 2 : "cannot be loaded");
        library_close(library);
        return false;
    }
    struct fovea_engine_options options = FOVEA_ENGINE_OPTIONS_INIT;
    options.message = why;
    options.message_size = sizeof why;
    if (find_symbols(library)) {
        enum fovea_status status = library->engine_create(&options, &library->engine);
        if (status == FOVEA_ERR_STRUCT) // an older build, whose options had fewer fields
            status = library->engine_create(NULL, &library->engine);
        if (status == FOVEA_OK)
            return true;
    }
    snprintf(message, message_size, "%s: %s", path, *why ? why : "not a fovea library, or it makes no engine");
    library_close(library);
    return false;
}

void library_close(struct library *library)
{
    if (library->engine)
        library->engine_destroy(library->engine);
    if (library->handle)
        dlclose(library->handle);
    if (library->fd > 0)
        close(library->fd);
    *library = (struct library){0};
}
