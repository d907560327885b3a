// SPDX-License-Identifier: Apache-2.0
// tests/fuzz/driver.c - a fuzz target without libFuzzer: its seeds, damaged seeds and random inputs, the same each
// time.
//
// usage: fuzz_X [RUNS]          default 2000
//        fuzz_X --corpus DIR    only writes the seeds, for libFuzzer
#include "tests/fuzz/fuzz.h"
#include "tests/support/memory.h"

static uint8_t bytes[FUZZ_SEED_MAX];

static int write_corpus(const char *folder)
{
    for (uint32_t i = 0;; i++) {
        char path[4096];
        const size_t size = fuzz_seed(i, bytes);
        if (size == 0)
            return 0;
        snprintf(path, sizeof path, "%s/seed-%u", folder, i);
        FILE *const file = fopen(path, "wb");
        if (!file || fwrite(bytes, 1, size, file) != size || fclose(file) != 0) {
            fprintf(stderr, "FAIL %s cannot be written\n", path);
            return 1;
        }
    }
}

// Some bytes changed, some removed or doubled.
static size_t damage(size_t size, uint64_t *random)
{
    for (uint32_t edits = test_below(random, 4) + 1; edits > 0 && size > 1; edits--) {
        const size_t at = test_below(random, (uint32_t)size), left = size - at - 1;
        switch (test_below(random, 4)) {
        case 0:
            memmove(bytes + at, bytes + at + 1, left);
            size--;
            break;
        case 1:
            if (size < FUZZ_SEED_MAX) {
                memmove(bytes + at + 1, bytes + at, left + 1);
                size++;
            }
            break;
        case 2:
            bytes[at] ^= (uint8_t)(1u << test_below(random, 8));
            break;
        default:
            bytes[at] = (uint8_t)test_random(random);
        }
    }
    return test_below(random, 20) ? size : test_below(random, (uint32_t)size);
}

int main(int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[1], "--corpus") == 0)
        return write_corpus(argv[2]);
    const long asked = argc > 1 ? strtol(argv[1], NULL, 10) : 2000;
    const uint32_t runs = (uint32_t)(getenv("FOVEA_TEST_SMALL") ? asked / 10 : asked);
    uint32_t seeds = 0;
    while (fuzz_seed(seeds, bytes))
        seeds++;
    uint64_t random = 1;
    for (uint32_t run = 0; run < runs; run++) {
        size_t size = test_below(&random, 200);
        if (run < seeds || run % 2) {
            size = fuzz_seed(run % seeds, bytes);
            size = run < seeds ? size : damage(size, &random);
        } else {
            for (size_t i = 0; i < size; i++)
                bytes[i] = (uint8_t)test_random(&random);
        }
        uint8_t *const input = test_memory(size, TEST_HIGH); // one byte behind its end is a crash
        memcpy(input, bytes, size);
        LLVMFuzzerTestOneInput(input, size);
        test_memory_reset();
        test_passed++;
    }
    return test_done();
}
