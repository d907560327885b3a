// SPDX-License-Identifier: Apache-2.0
// tests/check/buffer.c - memory that faults one byte too far: slots between PROT_NONE pages, poisoned around the data.
//
// The slots are mapped once; a case takes them in turn. What a case can reach without a fault, the `window` floats on
// the open side of its data, is poison whose bits are verified after the call.
#include "tests/check/check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
    slot_bytes = 1 << 20, // the largest operand: 128 rows of 512 floats with a stride, or 128 pages of its own
    window = 256,         // floats watched on the side that has no guard page at hand
};
static const uint32_t poison_bits = 0x7fdecadeu; // a quiet NaN: whoever computes with it shows

static unsigned char *slots[CHECK_BUFFERS];
static struct check_buffer buffers[CHECK_BUFFERS];
static size_t used;
static bool unguarded;

void check_buffers_unguarded(void)
{
    unguarded = true;
}

static size_t page_bytes(void)
{
    static size_t bytes;
    if (bytes == 0)
        bytes = (size_t)sysconf(_SC_PAGESIZE);
    return bytes;
}

static unsigned char *slot(size_t i)
{
    if (slots[i] == NULL) {
        const int guard = unguarded ? PROT_READ | PROT_WRITE : PROT_NONE;
        unsigned char *const p = mmap(NULL, slot_bytes + 2 * page_bytes(), guard, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (p == MAP_FAILED || mprotect(p + page_bytes(), slot_bytes, PROT_READ | PROT_WRITE) != 0) {
            perror("check: cannot map guarded memory");
            exit(2);
        }
        slots[i] = p + page_bytes();
    }
    return slots[i];
}

void check_poison(float *x, size_t n)
{
    for (size_t i = 0; i < n; i++)
        memcpy(x + i, &poison_bits, sizeof poison_bits);
}

static struct check_buffer *take(const char *name)
{
    if (used == CHECK_BUFFERS) {
        fprintf(stderr, "check: a case needs more than %d buffers\n", CHECK_BUFFERS);
        exit(2);
    }
    struct check_buffer *const b = &buffers[used];
    memset(b, 0, sizeof *b);
    b->name = name;
    b->low = (float *)(void *)slot(used);
    used++;
    return b;
}

struct check_buffer *check_buffer(struct check_case *c, const char *name, size_t count)
{
    struct check_buffer *const b = take(name);
    float *const begin = b->low, *const end = begin + slot_bytes / sizeof(float);
    if (count > slot_bytes / sizeof(float)) {
        fprintf(stderr, "check: %s is larger than a slot\n", name);
        exit(2);
    }
    b->count = count;
    b->data = c->index % 2 == 0 ? end - count : begin;
    b->low = (size_t)(b->data - begin) > window ? b->data - window : begin;
    b->high = (size_t)(end - b->data) - count > window ? b->data + count + window : end;
    check_poison(b->low, (size_t)(b->high - b->low));
    return b;
}

struct check_buffer *check_twin(struct check_case *c, struct check_buffer *buffer)
{
    struct check_buffer *const twin = check_buffer(c, buffer->name, buffer->count);
    memcpy(twin->data, buffer->data, buffer->count * sizeof(float));
    buffer->output = twin->output = true;
    return twin;
}

void check_fill_rows(struct check_case *c, struct check_buffer *b, const struct check_source *source, size_t rows,
                     size_t cols, size_t stride)
{
    for (size_t r = 0; r < rows; r++)
        check_fill(&c->rng, source, b->data + r * stride, cols);
}

float *check_pages(struct check_case *c, const char *name, size_t count)
{
    struct check_buffer *const b = take(name);
    const size_t bytes = count * page_bytes();
    unsigned char *const begin = (unsigned char *)b->low;
    unsigned char *const data = c->index % 2 == 0 ? begin + slot_bytes - bytes : begin;
    b->data = (float *)(void *)data;
    b->count = bytes / sizeof(float);
    b->low = b->high = b->data; // some of it is about to be hidden: not watched
    check_poison(b->data, b->count);
    return b->data;
}

void check_page_hide(float *page)
{
    if (!unguarded && mprotect(page, page_bytes(), PROT_NONE) != 0) {
        perror("check: mprotect");
        exit(2);
    }
}

size_t check_page_floats(void)
{
    return page_bytes() / sizeof(float);
}

void check_buffers_reset(void)
{
    for (size_t i = 0; i < used; i++) {
        if (buffers[i].low == buffers[i].high && mprotect(slot(i), slot_bytes, PROT_READ | PROT_WRITE) != 0) {
            perror("check: mprotect");
            exit(2);
        }
    }
    used = 0;
}

static uint64_t sum(const struct check_buffer *b)
{
    uint64_t h = 0xcbf29ce484222325u;
    for (const float *p = b->low; p < b->high; p++) {
        uint32_t bits;
        memcpy(&bits, p, sizeof bits);
        h = (h ^ bits) * 0x100000001b3u;
    }
    return h;
}

void check_seal(void)
{
    for (size_t i = 0; i < used; i++)
        buffers[i].sum = buffers[i].output ? 0 : sum(&buffers[i]);
}

void check_sealed(struct check_case *c)
{
    for (size_t i = 0; i < used; i++) {
        if (!buffers[i].output && buffers[i].sum != sum(&buffers[i]))
            check_fail(c, "%s, which is not an output, was written", buffers[i].name);
    }
}

void check_locate(const void *address, char *text, size_t size)
{
    const unsigned char *const p = address;
    snprintf(text, size, "at %p", address);
    for (size_t i = 0; i < used; i++) {
        const unsigned char *const begin = (const unsigned char *)buffers[i].data;
        const unsigned char *const end = (const unsigned char *)(buffers[i].data + buffers[i].count);
        if (p < slot(i) - page_bytes() || p >= slot(i) + slot_bytes + page_bytes())
            continue;
        if (p >= end)
            snprintf(text, size, "%zu bytes past the end of %s", (size_t)(p - end), buffers[i].name);
        else if (p < begin)
            snprintf(text, size, "%zu bytes before the beginning of %s", (size_t)(begin - p), buffers[i].name);
        else
            snprintf(text, size, "in hidden memory of %s, float %zu", buffers[i].name,
                     (size_t)(p - begin) / sizeof(float));
    }
}
