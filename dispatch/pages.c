// SPDX-License-Identifier: Apache-2.0
// dispatch/pages.c - asks the system for huge pages.
//
// The hint covers whole small pages only, so it never affects neighbouring memory; the kernel knows best which of them
// make up a huge page: 2 MiB on x86, 64 KiB to 512 MiB on Arm, and sizes in between if it supports them.
#define _DEFAULT_SOURCE // madvise
#include "fovea/engine.h"

#include <sys/mman.h>
#include <unistd.h>

enum fovea_status fovea_advise_huge_pages(const void *memory, size_t bytes)
{
    const uintptr_t begin = (uintptr_t)memory;
    if (!memory)
        return FOVEA_ERR_NULL;
    if (bytes > UINTPTR_MAX - begin)
        return FOVEA_ERR_OVERFLOW;
#ifdef MADV_HUGEPAGE
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    const uintptr_t first = (begin - 1) / page + 1, last = (begin + bytes) / page; // as page numbers: no overflow
    if (first >= last || madvise((void *)(first * page), (last - first) * page, MADV_HUGEPAGE) == 0)
        return FOVEA_OK;
#endif
    return FOVEA_ERR_UNSUPPORTED;
}
