// SPDX-License-Identifier: Apache-2.0
// tests/support/memory.c - memory between inaccessible pages.
#define _DEFAULT_SOURCE // MAP_ANONYMOUS
#include "tests/support/memory.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

// Small regions are kept and given out again: mapping and unmapping was five sixths of the time of small products,
// which take eight each. With AddressSanitizer those kept may not be read either.
#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#define POISON ASAN_POISON_MEMORY_REGION
#define UNPOISON ASAN_UNPOISON_MEMORY_REGION
#else
#define POISON(begin, bytes) ((void)0)
#define UNPOISON(begin, bytes) ((void)0)
#endif
enum { REGIONS_MAX = 640, KEPT_BYTES = 1 << 18 };

static struct region {
    unsigned char *begin; // of what is accessible
    size_t bytes;
} regions[REGIONS_MAX]; // first those in use, then those kept
static size_t used, mapped;
static int hidden; // a part of some region in use is inaccessible

static size_t page_size(void)
{
    return (size_t)sysconf(_SC_PAGESIZE);
}

static void check(int ok, const char *what)
{
    if (!ok) {
        perror(what);
        exit(1);
    }
}

static void unmap(size_t i)
{
    const size_t page = page_size();
    UNPOISON(regions[i].begin, regions[i].bytes);
    check(munmap(regions[i].begin - page, regions[i].bytes + 2 * page) == 0, "FAIL munmap");
    regions[i] = regions[--mapped];
}

static struct region map(size_t bytes)
{
    const size_t page = page_size();
    unsigned char *const begin = mmap(NULL, bytes + 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    check(begin != MAP_FAILED, "FAIL mmap");
    if (bytes != 0) // qemu-user refuses a length of 0
        check(mprotect(begin + page, bytes, PROT_READ | PROT_WRITE) == 0, "FAIL mprotect");
    return (struct region){begin + page, bytes};
}

void *test_memory(size_t bytes, enum test_side side)
{
    const size_t page = page_size(), inner = (bytes + page - 1) / page * page;
    size_t i = used;
    while (i < mapped && regions[i].bytes != inner)
        i++;
    if (i == mapped) {
        check(used < REGIONS_MAX, "FAIL too much memory in use");
        if (mapped == REGIONS_MAX)
            unmap(used);
        i = mapped++;
        regions[i] = map(inner);
    }
    const struct region region = regions[i];
    UNPOISON(region.begin, inner);
    regions[i] = regions[used];
    regions[used++] = region;
    memset(region.begin, 0xff, inner);
    return side == TEST_HIGH ? region.begin + inner - bytes : region.begin;
}

float *test_floats(size_t n, enum test_side side)
{
    return test_memory(n * sizeof(float), side);
}

void test_hide(const float *first, size_t n)
{
    const uintptr_t page = page_size(), low = ((uintptr_t)first + page - 1) / page * page;
    const uintptr_t high = (uintptr_t)(first + n) / page * page;
    if (low < high)
        check(mprotect((void *)low, high - low, PROT_NONE) == 0, "FAIL mprotect");
    hidden = 1;
}

void test_memory_reset(void)
{
    while (used > 0) {
        used--;
        if (hidden || regions[used].bytes > KEPT_BYTES)
            unmap(used);
        else
            POISON(regions[used].begin, regions[used].bytes);
    }
    hidden = 0;
}
