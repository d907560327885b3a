// SPDX-License-Identifier: Apache-2.0
// history/text.c - files read whole, NaN made null, hashes.
#include "history/text.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TEXT_MAX = 256 << 20 };

bool text_is_plain(const char *text)
{
    enum { DELETE = 0x7f };
    for (; text && *text; text++)
        if ((unsigned char)*text < ' ' || *text == DELETE)
            return false;
    return true;
}

// FNV-1a's own basis, and another: two hashes of 64 bits are never both equal by chance.
const uint64_t text_hash_basis[TEXT_HASHES] = {0xcbf29ce484222325u, 0x9e3779b97f4a7c15u};

uint64_t text_hash(uint64_t hash, const void *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++)
        hash = (hash ^ ((const unsigned char *)bytes)[i]) * 0x100000001b3u;
    return hash;
}

static bool read_stream(FILE *file, char **text, size_t *size)
{
    size_t room = 1 << 16, used = 0, got = 1;
    char *buffer = malloc(room);
    while (buffer && got > 0 && used < TEXT_MAX) {
        got = fread(buffer + used, 1, room - used, file);
        used += got;
        if (used == room) {
            char *const larger = realloc(buffer, room *= 2);
            if (!larger)
                free(buffer);
            buffer = larger;
        }
    }
    *text = buffer;
    *size = used;
    return buffer != NULL;
}

bool text_read(const char *path, char **text, size_t *size, char *message, size_t message_size)
{
    const bool standard = strcmp(path, "-") == 0;
    FILE *const file = standard ? stdin : fopen(path, "rb");
    *text = NULL;
    if (!file) {
        snprintf(message, message_size, "%s: %s", path, strerror(errno));
        return false;
    }
    errno = 0;
    const bool held = read_stream(file, text, size), failed = ferror(file);
    const char *const why = failed ? strerror(errno) : !held ? "no memory" : *size >= TEXT_MAX ? "over 256 MiB" : NULL;
    if (why)
        snprintf(message, message_size, "%s: %s", path, why);
    if (!standard)
        fclose(file);
    if (why) {
        free(*text);
        *text = NULL;
    }
    return !why;
}

// The length of a number that JSON has not, at this place: 0 where there is none.
static size_t odd_number(const char *at, size_t left)
{
    static const char *const words[] = {"-NaN", "NaN", "-nan", "nan", "-Infinity", "Infinity", "-inf", "inf"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        const size_t length = strlen(words[i]);
        if (left >= length && memcmp(at, words[i], length) == 0)
            return length;
    }
    return 0;
}

char *text_plain_json(const char *text, size_t *size)
{
    static const char null[] = "null";
    char *const plain = malloc(*size / 3 * 4 + 4); // "NaN" grows by one byte
    size_t used = 0;
    bool quoted = false;
    for (size_t i = 0; plain && i < *size;) {
        const size_t odd = quoted ? 0 : odd_number(text + i, *size - i);
        if (odd) {
            memcpy(plain + used, null, sizeof null - 1);
            used += sizeof null - 1;
            i += odd;
            continue;
        }
        if (quoted && text[i] == '\\' && i + 1 < *size)
            plain[used++] = text[i++];
        else if (text[i] == '"')
            quoted = !quoted;
        plain[used++] = text[i++];
    }
    *size = used;
    return plain;
}
