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

enum { BLOCKS_MAX = 512 };

static struct {
    unsigned char *begin;
    size_t size;
} blocks[BLOCKS_MAX];
static size_t used;

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

void *test_memory(size_t bytes, enum test_side side)
{
    const size_t page = page_size(), inner = (bytes + page - 1) / page * page, size = inner + 2 * page;
    check(used < BLOCKS_MAX, "FAIL too much memory in use");
    unsigned char *const begin = mmap(NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    check(begin != MAP_FAILED, "FAIL mmap");
    if (inner != 0) // qemu-user refuses a length of 0
        check(mprotect(begin + page, inner, PROT_READ | PROT_WRITE) == 0, "FAIL mprotect");
    memset(begin + page, 0xff, inner);
    blocks[used].begin = begin;
    blocks[used++].size = size;
    return side == TEST_HIGH ? begin + page + inner - bytes : begin + page;
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
}

void test_memory_reset(void)
{
    while (used > 0) {
        used--;
        check(munmap(blocks[used].begin, blocks[used].size) == 0, "FAIL munmap");
    }
}
