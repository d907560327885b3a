// SPDX-License-Identifier: Apache-2.0
// bench/memory.h - operands: aligned to huge pages, which are asked for, whoever computes.
#ifndef FOVEA_BENCH_MEMORY_H
#define FOVEA_BENCH_MEMORY_H

#include <stddef.h>

/// Zeroed and touched memory, or NULL. 0 bytes give a valid pointer.
void *bench_alloc(size_t bytes);
/// Bytes that calls walk through in turns where they are to read from memory: so many of a last-level cache that none
/// is there when they come back to it.
size_t bench_walk_bytes(size_t llc_bytes);
/// Frees what bench_alloc gave for the same number of bytes. NULL is legal.
void bench_free(void *memory, size_t bytes);

#endif
