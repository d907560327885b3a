// SPDX-License-Identifier: Apache-2.0
// cblas/engine.c - the one engine of the process, made at the first call, and what the environment asks for.
//
// A BLAS function cannot return an error, so a setting that means nothing is told once on stderr and left out.
#include "cblas/front.h"
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { THREADS_MAX = 64 }; // each has scratch of 220 KB to some MB in the caller's buffer

static struct fovea_cblas_state state;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static uint32_t wanted_threads(void)
{
    const char *const text = getenv("FOVEA_NUM_THREADS");
    if (text == NULL || *text == '\0') {
        return 1;
    }
    char *end = NULL;
    const long number = strtol(text, &end, 10);
    if (*end != '\0' || number < 1) {
        fprintf(stderr, "fovea: FOVEA_NUM_THREADS=%.40s is not a number of threads; one runs\n", text);
        return 1;
    }
    return number < THREADS_MAX ? (uint32_t)number : THREADS_MAX;
}

static struct fovea_engine *make_engine(uint32_t threads)
{
    char message[200] = "";
    struct fovea_engine_options options = FOVEA_ENGINE_OPTIONS_INIT;
    options.workers = threads;
    options.message = message;
    options.message_size = sizeof message;
    struct fovea_engine *engine = NULL;
    const enum fovea_status status = fovea_engine_create(&options, &engine);
    if (status == FOVEA_ERR_CONFIG || status == FOVEA_ERR_UNSUPPORTED) {
        fprintf(stderr, "fovea: %s; FOVEA_ISA, FOVEA_PIN and FOVEA_EXCLUDE are ignored\n", message);
        options.isa = options.pin = options.exclude = "";
        if (fovea_engine_create(&options, &engine) != FOVEA_OK) { // FOVEA_CACHES has no option that stands for it
            fprintf(stderr, "fovea: %s; plain loops compute, many times slower\n", message);
        }
    }
    return engine;
}

static void init(void)
{
    state.threads = wanted_threads();
    state.engine = make_engine(state.threads);
    fovea_cblas_thread_init();
    fovea_cblas_pool_init();
}

const struct fovea_cblas_state *fovea_cblas_state(void)
{
    pthread_once(&once, init);
    return &state;
}
