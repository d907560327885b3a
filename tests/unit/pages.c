// SPDX-License-Identifier: Apache-2.0
// tests/unit/pages.c - huge pages: the hint reaches the kernel, for whole pages asked for alone, and changes nothing.
#define _DEFAULT_SOURCE // MAP_ANONYMOUS
#include "fovea/engine.h"
#include "tests/support/test.h"

#include <sys/mman.h>
#include <unistd.h>

enum { MEMORY = 8 << 20 };

// 1 if the kernel keeps the hint for the page of address, 0 if not, -1 where it does not say.
static int hinted(const void *address)
{
    FILE *const file = fopen("/proc/self/smaps", "r");
    unsigned long begin = 0, end = 0;
    int found = -1;
    for (char line[512]; file && fgets(line, sizeof line, file);) {
        unsigned long first, behind;
        if (sscanf(line, "%lx-%lx ", &first, &behind) == 2)
            begin = first, end = behind;
        else if (strncmp(line, "VmFlags:", 8) == 0 && (uintptr_t)address >= begin && (uintptr_t)address < end)
            found = strstr(line, " hg") != NULL;
    }
    if (file)
        fclose(file);
    return found;
}

static unsigned char *map(int protection)
{
    void *const memory = mmap(NULL, MEMORY, protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(memory != MAP_FAILED, "mmap");
    return memory != MAP_FAILED ? memory : NULL;
}

static size_t wrong_bytes(const unsigned char *memory)
{
    size_t wrong = 0;
    for (size_t i = 0; i < MEMORY; i++)
        wrong += memory[i] != (unsigned char)(i * 7 + (i >> 12));
    return wrong;
}

static void test_written_memory(enum fovea_status expected)
{
    unsigned char *const memory = map(PROT_READ | PROT_WRITE);
    for (size_t i = 0; i < MEMORY; i++)
        memory[i] = (unsigned char)(i * 7 + (i >> 12));
    CHECK(fovea_advise_huge_pages(memory, MEMORY) == expected, "written memory");
    CHECK(wrong_bytes(memory) == 0, "the hint changed memory");
    CHECK(!mprotect(memory, MEMORY, PROT_READ), "mprotect");
    CHECK(fovea_advise_huge_pages(memory, MEMORY) == expected && wrong_bytes(memory) == 0, "read-only memory");
    munmap(memory, MEMORY);
}

// From inside one page to inside another: these two and everything around them keep what they have.
static void test_edges(int visible)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    unsigned char *const memory = map(PROT_READ | PROT_WRITE), *const middle = memory + MEMORY / 2;
    CHECK(!fovea_advise_huge_pages(middle + 1, 0), "nothing");
    CHECK(!fovea_advise_huge_pages(middle + 1, 2 * page - 2), "less than a page");
    CHECK(!visible || hinted(middle) == 0, "pages that are not whole got the hint");
    CHECK(!fovea_advise_huge_pages(middle + 1, 4 * page - 2), "two whole pages");
    for (size_t i = 0; i < 5 && visible; i++)
        CHECK(hinted(middle + i * page) == (i == 1 || i == 2), "page %zu", i);
    CHECK(!visible || (hinted(memory) == 0 && hinted(memory + MEMORY - 1) == 0), "pages that were not asked for");
    munmap(memory, MEMORY);
}

int main(void)
{
    unsigned char *const memory = map(PROT_READ | PROT_WRITE);
    const enum fovea_status status = fovea_advise_huge_pages(memory, MEMORY);
    CHECK(status == FOVEA_OK || status == FOVEA_ERR_UNSUPPORTED, "%s", fovea_status_string(status));
    // Emulators of a user's program take the hint and do not pass it on.
    const int visible = status == FOVEA_OK && !getenv("FOVEA_TEST_SMALL") && hinted(memory) >= 0;
    CHECK(!visible || hinted(memory) == 1, "the kernel does not have the hint");
    munmap(memory, MEMORY);
    printf("%s, %s\n", fovea_status_string(status), visible ? "the kernel shows it" : "which the kernel does not show");

    test_written_memory(status);
    if (status == FOVEA_OK)
        test_edges(visible);

    CHECK(fovea_advise_huge_pages(NULL, 0) == FOVEA_ERR_NULL, "no memory");
    CHECK(fovea_advise_huge_pages(NULL, MEMORY) == FOVEA_ERR_NULL, "memory at NULL");
    CHECK(fovea_advise_huge_pages(&status, SIZE_MAX) == FOVEA_ERR_OVERFLOW, "memory that wraps around");
    return test_done();
}
