// SPDX-License-Identifier: Apache-2.0
// nn/json.h - the subset of JSON that a safetensors header uses: objects, strings, arrays of non-negative integers.
#ifndef FOVEA_NN_JSON_H
#define FOVEA_NN_JSON_H

#include <stddef.h>
#include <stdint.h>

/// A cursor over text that need not end in NUL. Every function returns 1 and advances, or returns 0 if the text is not
/// what was expected; the cursor is then at the error. Strings are decoded into the arena. It is always large enough if
/// it has as many bytes as the text, as a decoded string with its NUL is shorter than its source.
struct json {
    const char *at, *end;
    char *arena;
};

/// Skips white space; 1 if the next character is c, which is consumed.
int fovea_json_take(struct json *json, char c);
/// Parses a string, which must be UTF-8; *out is NUL-terminated and contains no other NUL. Escapes become UTF-8, other
/// characters are copied as they are.
int fovea_json_string(struct json *json, const char **out);
/// Parses a non-negative integer below 2^64.
int fovea_json_uint(struct json *json, uint64_t *out);
/// Parses [u, u, ...]. *count is the number of all, of which out has the first `most`.
int fovea_json_uints(struct json *json, uint64_t *out, uint32_t most, uint32_t *count);
/// 1 if only white space is left.
int fovea_json_done(struct json *json);

#endif
