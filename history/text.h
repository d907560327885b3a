// SPDX-License-Identifier: Apache-2.0
// history/text.h - reading a file whole, and small things about text.
#ifndef FOVEA_HISTORY_TEXT_H
#define FOVEA_HISTORY_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/// Reads a file ("-": standard input) of at most 256 MiB; *text is freed by the caller. False with one line in message.
bool text_read(const char *path, char **text, size_t *size, char *message, size_t message_size);

/// A copy of JSON in which NaN and Infinity, which Google Benchmark writes and JSON has not, are null. NULL: no memory.
/// *size is brought up to date. The caller frees it.
char *text_plain_json(const char *text, size_t *size);

/// Whether a text is part of one line on a terminal, without control characters. NULL is.
bool text_is_plain(const char *text);

/// FNV-1a, carried on from `hash` (begin with text_hash_basis).
uint64_t text_hash(uint64_t hash, const void *bytes, size_t size);
enum { TEXT_HASHES = 2 };
extern const uint64_t text_hash_basis[TEXT_HASHES];

#endif
