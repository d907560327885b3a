// SPDX-License-Identifier: Apache-2.0
// cblas/thread.c - what a thread keeps from call to call: its last plan and one bounded work buffer.
#include "cblas/front.h"
#include <pthread.h>
#include <stdlib.h>

// A packed B of 4000 x 4000 and the scratch of some workers fit; larger products are cut into blocks of columns, each
// of which reads A again: once for every thousands of columns. Sizes are powers of two, so a thread whose products grow
// slowly seldom allocates.
enum { BYTES_MIN = 1 << 16, BYTES_MAX = 1 << 26 };

static pthread_key_t key;
static bool has_key;

static void end(void *arg)
{
    struct fovea_cblas_thread *const thread = arg;
    free(thread->buffer);
    free(thread);
}

void fovea_cblas_thread_init(void)
{
    has_key = pthread_key_create(&key, end) == 0;
}

struct fovea_cblas_thread *fovea_cblas_thread(void)
{
    struct fovea_cblas_thread *thread = has_key ? pthread_getspecific(key) : NULL;
    if (thread != NULL || !has_key) {
        return thread;
    }
    thread = aligned_alloc(FOVEA_CBLAS_ALIGNMENT, sizeof *thread);
    if (thread == NULL || pthread_setspecific(key, thread) != 0) {
        free(thread);
        return NULL;
    }
    thread->desc = (struct fovea_cblas_desc){.m = 0};
    thread->buffer = NULL;
    thread->buffer_bytes = 0;
    return thread;
}

void *fovea_cblas_buffer(struct fovea_cblas_thread *thread, size_t bytes)
{
    if (bytes > BYTES_MAX) {
        return NULL;
    }
    if (thread->buffer == NULL || thread->buffer_bytes < bytes) {
        size_t size = BYTES_MIN;
        while (size < bytes) {
            size *= 2;
        }
        free(thread->buffer); // before, so that two are never held
        thread->buffer = aligned_alloc(FOVEA_CBLAS_ALIGNMENT, size);
        thread->buffer_bytes = size;
    }
    return thread->buffer;
}
