// SPDX-License-Identifier: Apache-2.0
// cblas/engine.c - the one engine of the process, made at the first call, and what the environment asks for.
//
// A BLAS function cannot return an error, so a setting that means nothing is told once on stderr and left out.
#include "cblas/front.h"
#include "dispatch/environment.h"
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { THREADS_MAX = 64 }; // each has scratch of 220 KB to some MB in the caller's buffer

static struct fovea_cblas_state state;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static uint32_t wanted_threads(void)
{
    const char *const text = fovea_environment("FOVEA_NUM_THREADS");
    if (text == NULL || *text == '\0') {
        return 1;
    }
    char *end = NULL;
    const long number = strtol(text, &end, 10);
    if (*end != '\0' || number < 1) {
        fprintf(stderr, "fovea: FOVEA_NUM_THREADS=%.40s is not a number of threads; one runs\n", text);
        return 1;
    }
    if (number > THREADS_MAX) {
        fprintf(stderr, "fovea: FOVEA_NUM_THREADS=%.40s is more than %d; %d run\n", text, THREADS_MAX, THREADS_MAX);
        return THREADS_MAX;
    }
    return (uint32_t)number;
}

// Leaves out the setting that a message begins with; false where it begins with none.
static bool leave_out(struct fovea_engine_options *options)
{
    const struct {
        const char *name;
        const char **option;
    } settings[] = {{"FOVEA_CACHES", &options->caches},
                    {"FOVEA_ISA", &options->isa},
                    {"FOVEA_PIN", &options->pin},
                    {"FOVEA_EXCLUDE", &options->exclude}};
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++) {
        if (strncmp(options->message, settings[i].name, strlen(settings[i].name)) == 0) {
            *settings[i].option = "";
            return true;
        }
    }
    return false;
}

static struct fovea_engine *make_engine(uint32_t threads)
{
    char message[200] = "";
    struct fovea_engine_options options = FOVEA_ENGINE_OPTIONS_INIT;
    options.workers = threads;
    options.message = message;
    options.message_size = sizeof message;
    struct fovea_engine *engine = NULL;
    while (fovea_engine_create(&options, &engine) != FOVEA_OK) { // four times at most: each leaves one setting out
        const bool goes_on = leave_out(&options);
        fprintf(stderr, "fovea: %s; %s\n", message,
                goes_on ? "it is ignored" : "plain loops compute, many times slower");
        if (!goes_on) { // no memory
            return NULL;
        }
    }
    return engine;
}

static void init(void)
{
    state.threads = wanted_threads();
    state.engine = make_engine(state.threads);
    const char *const verbose = fovea_environment("FOVEA_VERBOSE");
    state.tells = verbose != NULL && strcmp(verbose, "2") == 0;
    fovea_cblas_thread_init();
    fovea_cblas_pool_init();
}

const struct fovea_cblas_state *fovea_cblas_state(void)
{
    pthread_once(&once, init);
    return &state;
}
