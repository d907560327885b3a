// SPDX-License-Identifier: Apache-2.0
// tests/conformance/cases.c - reads cases.json and .npy files. What it does not know it refuses.
#include "tests/conformance/cases.h"
#include "nn/json.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CASES_MAX = 512 };

// A whole file; NULL where it cannot be read. Freed with free().
static char *read_file(const char *folder, const char *name, size_t *size)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *const file = fopen(path, "rb");
    if (!file)
        return NULL;
    size_t capacity = 1 << 16;
    char *bytes = malloc(capacity);
    *size = 0;
    while (bytes && !feof(file) && !ferror(file)) {
        *size += fread(bytes + *size, 1, capacity - *size, file);
        if (*size == capacity)
            bytes = realloc(bytes, capacity *= 2);
    }
    fclose(file);
    return bytes;
}

static bool take_word(struct json *json, const char *word)
{
    fovea_json_take(json, '\0'); // skips blanks: no file has a NUL
    const size_t length = strlen(word);
    if ((size_t)(json->end - json->at) < length || memcmp(json->at, word, length) != 0)
        return false;
    json->at += length;
    return true;
}

static bool take_number(struct json *json, double *out)
{
    char text[40] = "", *end;
    size_t length = 0;
    fovea_json_take(json, '\0');
    while (json->at < json->end && length + 1 < sizeof text && strchr("+-.0123456789eE", *json->at))
        text[length++] = *json->at++;
    *out = strtod(text, &end);
    return length > 0 && *end == '\0';
}

// {"name": value, ...}, each a number or a string.
static bool take_attributes(struct json *json, struct onnx_case *c)
{
    if (!fovea_json_take(json, '{'))
        return false;
    if (fovea_json_take(json, '}'))
        return true;
    do {
        struct onnx_attribute *const a = &c->attribute[c->attributes++];
        if (c->attributes > ONNX_ATTRIBUTES || !fovea_json_string(json, &a->name) || !fovea_json_take(json, ':'))
            return false;
        if (!fovea_json_string(json, &a->text) && !take_number(json, &a->number))
            return false;
    } while (fovea_json_take(json, ','));
    return fovea_json_take(json, '}');
}

// null, or {"name": ..., "dtype": ..., "shape": [...]}.
static bool take_tensor(struct json *json, struct onnx_tensor *t)
{
    if (take_word(json, "null"))
        return true;
    if (!fovea_json_take(json, '{'))
        return false;
    do {
        const char *key, **text;
        if (!fovea_json_string(json, &key) || !fovea_json_take(json, ':'))
            return false;
        if (strcmp(key, "shape") == 0) {
            if (!fovea_json_uints(json, t->shape, ONNX_DIMS, &t->dims))
                return false;
            continue;
        }
        text = strcmp(key, "name") == 0 ? &t->name : strcmp(key, "dtype") == 0 ? &t->dtype : NULL;
        if (!text || !fovea_json_string(json, text))
            return false;
    } while (fovea_json_take(json, ','));
    t->count = 1;
    for (uint32_t i = 0; i < t->dims; i++)
        t->count *= t->shape[i];
    return t->name && t->dtype && fovea_json_take(json, '}');
}

static bool take_tensors(struct json *json, struct onnx_tensor *tensors, uint32_t *count)
{
    if (!fovea_json_take(json, '['))
        return false;
    do {
        if (*count == ONNX_TENSORS || !take_tensor(json, &tensors[(*count)++]))
            return false;
    } while (fovea_json_take(json, ','));
    return fovea_json_take(json, ']');
}

static bool take_case(struct json *json, struct onnx_case *c)
{
    if (!fovea_json_take(json, '{'))
        return false;
    do {
        const char *key;
        if (!fovea_json_string(json, &key) || !fovea_json_take(json, ':'))
            return false;
        const bool ok = strcmp(key, "name") == 0         ? fovea_json_string(json, &c->name)
                        : strcmp(key, "op") == 0         ? fovea_json_string(json, &c->op)
                        : strcmp(key, "attributes") == 0 ? take_attributes(json, c)
                        : strcmp(key, "inputs") == 0     ? take_tensors(json, c->input, &c->inputs)
                        : strcmp(key, "outputs") == 0    ? take_tensors(json, c->output, &c->outputs)
                                                         : false;
        if (!ok)
            return false;
    } while (fovea_json_take(json, ','));
    return c->name && c->op && fovea_json_take(json, '}');
}

bool onnx_open(const char *folder, struct onnx_set *set)
{
    size_t size;
    char *const text = read_file(folder, "cases.json", &size);
    *set = (struct onnx_set){0};
    if (!text)
        return false;
    set->cases = calloc(CASES_MAX, sizeof *set->cases);
    set->names = malloc(size);
    struct json json = {text, text + size, set->names};
    bool ok = fovea_json_take(&json, '[');
    do
        ok = ok && set->count < CASES_MAX && take_case(&json, &set->cases[set->count++]);
    while (ok && fovea_json_take(&json, ','));
    ok = ok && fovea_json_take(&json, ']') && fovea_json_done(&json);
    if (!ok)
        fprintf(stderr, "FAIL cases.json: byte %zu, in case %zu\n", (size_t)(json.at - text), set->count);
    free(text);
    return ok;
}

void onnx_close(struct onnx_set *set)
{
    free(set->cases);
    free(set->names);
}

// Version 1.0: 8 bytes, the length of a Python dictionary in two, the dictionary, the data.
static bool load_tensor(const char *folder, const char *path, struct onnx_tensor *t)
{
    static const struct {
        const char *dtype, *descr;
        size_t bytes;
    } types[] = {{"float32", "'<f4'", 4}, {"float16", "'<f2'", 2}, {"int64", "'<i8'", 8}, {"bool", "'|b1'", 1}};
    size_t size, type = 0;
    unsigned char *const file = (unsigned char *)read_file(folder, path, &size);
    while (type < sizeof types / sizeof *types && strcmp(types[type].dtype, t->dtype) != 0)
        type++;
    bool ok = file && type < sizeof types / sizeof *types && size > 10 && memcmp(file, "\x93NUMPY\x01\x00", 8) == 0;
    const size_t header = ok ? 10 + (size_t)(file[8] | file[9] << 8) : 0, bytes = ok ? t->count * types[type].bytes : 0;
    ok = ok && header <= size && size - header == bytes && file[header - 1] == '\n';
    if (ok) {
        file[header - 1] = '\0';
        const char *const dictionary = (const char *)file + 10;
        ok = strstr(dictionary, types[type].descr) && strstr(dictionary, "'fortran_order': False");
    }
    t->data = ok ? aligned_alloc(64, (bytes + 63) / 64 * 64 + 64) : NULL;
    ok = t->data != NULL;
    if (ok)
        memcpy(t->data, file + header, bytes);
    else
        fprintf(stderr, "FAIL %s/%s: no %s of %zu elements\n", folder, path, t->dtype, t->count);
    free(file);
    return ok;
}

static bool load_tensors(const char *folder, const char *name, const char *prefix, struct onnx_tensor *tensors,
                         uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        char path[256];
        snprintf(path, sizeof path, "%s/%s_%u.npy", name, prefix, i);
        if (tensors[i].name && !load_tensor(folder, path, &tensors[i]))
            return false;
    }
    return true;
}

bool onnx_load(const char *folder, struct onnx_case *c)
{
    return load_tensors(folder, c->name, "in", c->input, c->inputs) &&
           load_tensors(folder, c->name, "out", c->output, c->outputs);
}

void onnx_unload(struct onnx_case *c)
{
    for (uint32_t i = 0; i < ONNX_TENSORS; i++) {
        free(c->input[i].data);
        free(c->output[i].data);
        c->input[i].data = c->output[i].data = NULL;
    }
}

double onnx_number(const struct onnx_case *c, const char *name, double otherwise)
{
    for (uint32_t i = 0; i < c->attributes; i++)
        if (strcmp(c->attribute[i].name, name) == 0)
            return c->attribute[i].number;
    return otherwise;
}

const struct onnx_tensor *onnx_input(const struct onnx_case *c, uint32_t index)
{
    return index < c->inputs && c->input[index].name ? &c->input[index] : NULL;
}

const struct onnx_tensor *onnx_output(const struct onnx_case *c, uint32_t index)
{
    return index < c->outputs && c->output[index].name ? &c->output[index] : NULL;
}

bool onnx_compare(const struct onnx_tensor *expected, const float *got, char *why, size_t size)
{
    const float *const want = expected->data;
    for (size_t i = 0; i < expected->count; i++) {
        const double error = fabs((double)got[i] - (double)want[i]);
        if (got[i] != want[i] && !(error <= 1e-5 + 1e-4 * fabs((double)want[i]))) { // equal: infinities
            snprintf(why, size, "%s[%zu] is %g, expected %g", expected->name, i, (double)got[i], (double)want[i]);
            return false;
        }
    }
    return true;
}
