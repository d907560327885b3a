// SPDX-License-Identifier: Apache-2.0
// tests/unit/blob_bytes.h - the bytes of a packed blob, written from docs/architecture.md alone.
#ifndef FOVEA_TESTS_UNIT_BLOB_BYTES_H
#define FOVEA_TESTS_UNIT_BLOB_BYTES_H

#include <stddef.h>
#include <stdint.h>

enum { PANEL = 16, HEADER = 64, CHECKSUM = 40 };

static inline void put(unsigned char *at, uint64_t value, int bytes)
{
    for (int i = 0; i < bytes; i++)
        at[i] = (unsigned char)(value >> 8 * i);
}

static inline uint64_t mix(uint64_t sum, uint64_t word)
{
    sum ^= word;
    return (sum << 29 | sum >> 35) * 0x9e3779b97f4a7c15u;
}

/// Makes the checksum right.
static inline void seal(unsigned char *blob, size_t bytes)
{
    uint64_t sums[8] = {1, 2, 3, 4, 5, 6, 7, 8}, sum = 0;
    put(blob + CHECKSUM, 0, 8);
    for (size_t i = 0; i < bytes / 8; i++) {
        uint64_t word = 0;
        for (int byte = 7; byte >= 0; byte--)
            word = word << 8 | blob[8 * i + (size_t)byte];
        sums[i % 8] = mix(sums[i % 8], word);
    }
    for (int i = 0; i < 8; i++)
        sum = mix(sum, sums[i]);
    put(blob + CHECKSUM, sum, 8);
}

#endif
