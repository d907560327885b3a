// SPDX-License-Identifier: Apache-2.0
// nn/json.c - a strict pull parser for the JSON of a safetensors header (RFC 8259).
#include "nn/json.h"

#include <string.h>

static void skip_space(struct json *json)
{
    while (json->at < json->end && (*json->at == ' ' || *json->at == '\t' || *json->at == '\n' || *json->at == '\r'))
        json->at++;
}

int fovea_json_take(struct json *json, char c)
{
    skip_space(json);
    if (json->at == json->end || *json->at != c)
        return 0;
    json->at++;
    return 1;
}

int fovea_json_done(struct json *json)
{
    skip_space(json);
    return json->at == json->end;
}

// Parses four hexadecimal digits.
static int hex4(struct json *json, uint32_t *out)
{
    *out = 0;
    if (json->end - json->at < 4)
        return 0;
    for (int i = 0; i < 4; i++) {
        static const char digits[] = "0123456789abcdef";
        const char c = *json->at++;
        const char *const digit = c ? strchr(digits, c | (c >= 'A' ? 0x20 : 0)) : NULL;
        if (!digit)
            return 0;
        *out = *out << 4 | (uint32_t)(digit - digits);
    }
    return 1;
}

static void put_utf8(char **arena, uint32_t code)
{
    // The lead byte's marker and the number of continuation bytes, by the size of the code point.
    const int more = code < 0x80 ? 0 : code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
    static const uint8_t marker[] = {0x00, 0xc0, 0xe0, 0xf0};
    *(*arena)++ = (char)(marker[more] | code >> (6 * more));
    for (int i = more - 1; i >= 0; i--)
        *(*arena)++ = (char)(0x80 | (code >> (6 * i) & 0x3f));
}

// Parses what follows \u: one unit, or a surrogate pair.
static int unicode_escape(struct json *json)
{
    uint32_t code, low;
    if (!hex4(json, &code) || code == 0 || (code >= 0xdc00 && code <= 0xdfff))
        return 0;
    if (code >= 0xd800 && code <= 0xdbff) {
        if (json->end - json->at < 2 || json->at[0] != '\\' || json->at[1] != 'u')
            return 0;
        json->at += 2;
        if (!hex4(json, &low) || low < 0xdc00 || low > 0xdfff)
            return 0;
        code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
    }
    put_utf8(&json->arena, code);
    return 1;
}

static int escape(struct json *json)
{
    static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
    if (json->at == json->end)
        return 0;
    const char c = *json->at++;
    if (c == 'u')
        return unicode_escape(json);
    for (int i = 0; from[i]; i++)
        if (c == from[i]) {
            *json->arena++ = to[i];
            return 1;
        }
    return 0;
}

// The bytes of the UTF-8 character that begins here; 0 if none does (RFC 3629: the shortest form, no surrogate, at most
// U+10FFFF).
static size_t character(const struct json *json)
{
    const unsigned char *const s = (const unsigned char *)json->at, lead = *s;
    const size_t bytes = lead < 0x80 ? 1 : lead < 0xc2 ? 0 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : lead < 0xf5 ? 4 : 0;
    if (bytes > (size_t)(json->end - json->at))
        return 0;
    for (size_t i = 1; i < bytes; i++)
        if ((s[i] & 0xc0) != 0x80)
            return 0;
    const int outside = (lead == 0xe0 && s[1] < 0xa0) || (lead == 0xed && s[1] > 0x9f) ||
                        (lead == 0xf0 && s[1] < 0x90) || (lead == 0xf4 && s[1] > 0x8f);
    return outside ? 0 : bytes;
}

int fovea_json_string(struct json *json, const char **out)
{
    if (!fovea_json_take(json, '"'))
        return 0;
    *out = json->arena;
    while (json->at < json->end && (unsigned char)*json->at >= 0x20) {
        const char *const c = json->at;
        const size_t bytes = character(json);
        if (bytes == 0)
            return 0;
        json->at += bytes;
        if (*c == '"') {
            *json->arena++ = '\0';
            return 1;
        }
        if (*c == '\\') {
            if (!escape(json))
                return 0;
            continue;
        }
        memcpy(json->arena, c, bytes);
        json->arena += bytes;
    }
    return 0;
}

int fovea_json_uint(struct json *json, uint64_t *out)
{
    skip_space(json);
    const char *const first = json->at;
    uint64_t value = 0;
    for (; json->at < json->end && *json->at >= '0' && *json->at <= '9'; json->at++) {
        const uint64_t digit = (uint64_t)(*json->at - '0');
        if (value > (UINT64_MAX - digit) / 10)
            return 0;
        value = value * 10 + digit;
    }
    *out = value;
    const ptrdiff_t digits = json->at - first;
    return digits == 1 || (digits > 1 && *first != '0');
}

int fovea_json_uints(struct json *json, uint64_t *out, uint32_t most, uint32_t *count)
{
    *count = 0;
    if (!fovea_json_take(json, '['))
        return 0;
    if (fovea_json_take(json, ']'))
        return 1;
    uint64_t value;
    do {
        if (!fovea_json_uint(json, &value))
            return 0;
        if (*count < most)
            out[*count] = value;
        ++*count;
    } while (fovea_json_take(json, ','));
    return fovea_json_take(json, ']');
}
