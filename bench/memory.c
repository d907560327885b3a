// SPDX-License-Identifier: Apache-2.0
// bench/memory.c - mmap with huge pages advised, and how much of it is more than a cache remembers.
//
// Without huge pages a stream of 4 KiB pages costs a TLB miss each 64 lines, and a transposed walk one for each line;
// the figures would be those of the page table.
#include "bench/memory.h"

#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

enum { HUGE_PAGE = 2 << 20 };

// The mapping is a huge page longer than asked, and what lies before the first huge boundary is given back.
static size_t rounded(size_t bytes)
{
    return (bytes / HUGE_PAGE + 1) * HUGE_PAGE;
}

void *bench_alloc(size_t bytes)
{
    const size_t whole = rounded(bytes);
    if (whole < bytes || whole + HUGE_PAGE < whole)
        return NULL;
    char *const mapping = mmap(NULL, whole + HUGE_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapping == MAP_FAILED)
        return NULL;
    const size_t before = (HUGE_PAGE - (uintptr_t)mapping % HUGE_PAGE) % HUGE_PAGE;
    if (before)
        munmap(mapping, before);
    munmap(mapping + before + whole, HUGE_PAGE - before);
    madvise(mapping + before, whole, MADV_HUGEPAGE); // advice: without it the pages are small
    memset(mapping + before, 0, bytes);
    return mapping + before;
}

// Some of what exceeds a cache stays there: of twice an L3 of 32 MiB (Zen 5) up to a third of a call's bytes, which
// made lines of 3 to 10 MB 1.2 to 1.4 times as fast as those of 64 and more, and races with peers jump from 0.75
// to 1.15. Of four times 1.05, of six nothing, and races stay within 2 %. But at most 1 GiB, though never less than
// twice: a guest is told of all of a package's L3 (480 MiB) and has a part of it, and each contestant walks through an
// area of its own, five of them through 13 GB.
size_t bench_walk_bytes(size_t llc_bytes)
{
    enum { CACHES = 6, LEAST = 2 };
    const size_t most = (size_t)1 << 30, walk = CACHES * llc_bytes, least = LEAST * llc_bytes;
    return walk < most ? walk : least > most ? least : most;
}

void bench_free(void *memory, size_t bytes)
{
    if (memory)
        munmap(memory, rounded(bytes));
}
