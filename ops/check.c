// SPDX-License-Identifier: Apache-2.0
// ops/check.c - the functions of ops/check.h that are not worth inlining.
#include "ops/check.h"
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

// A reason is one line, whatever names it repeats: those in a file may hold line feeds, or what a terminal obeys.
__attribute__((format(printf, 3, 0))) static void say_at(const struct fovea_why *why, size_t used, const char *format,
                                                         va_list list)
{
    vsnprintf(why->text + used, why->size - used, format, list);
    for (char *c = why->text + used; *c != '\0'; c++) {
        *c = (unsigned char)*c < 0x20 || *c == 0x7f ? '?' : *c;
    }
}

void fovea_say(const struct fovea_why *why, const char *format, ...)
{
    if (why == NULL || why->text == NULL || why->size == 0) {
        return;
    }
    va_list list;
    va_start(list, format);
    say_at(why, 0, format, list);
    va_end(list);
}

void fovea_say_more(const struct fovea_why *why, const char *format, ...)
{
    if (why == NULL || why->text == NULL || why->size == 0) {
        return;
    }
    va_list list;
    va_start(list, format);
    say_at(why, strlen(why->text), format, list);
    va_end(list);
}

bool fovea_extent(size_t rows, size_t cols, size_t ld, size_t *bytes)
{
    size_t elements = 0;
    if (rows != 0 && cols != 0 && (!fovea_mul(rows - 1, ld, &elements) || !fovea_add(elements, cols, &elements))) {
        return false;
    }
    return fovea_mul(elements, sizeof(float), bytes);
}
