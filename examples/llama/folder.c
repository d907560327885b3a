// SPDX-License-Identifier: Apache-2.0
// examples/llama/folder.c - reads a folder of Hugging Face.
#include "folder.h"
#include <dirent.h>
#include <fnmatch.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PATH = 4096, TEXT = 1 << 20, NAME = 128, SIZE_MOST = 1 << 30 };

void fail(const char *what, const char *why)
{
    fprintf(stderr, "llama: %s: %s\n", what, why);
    exit(1);
}

void must(enum fovea_status status, const char *what)
{
    if (status != FOVEA_OK)
        fail(what, fovea_status_string(status));
}

void *keep(struct folder *folder, size_t bytes)
{
    void *const memory = folder->blocks < KEPT_MAX ? aligned_alloc(64, (bytes + 64) / 64 * 64) : NULL;
    if (!memory)
        fail("memory", "not enough");
    return folder->kept[folder->blocks++] = memory;
}

// The text of a file, or NULL if there is none.
static char *read_text(struct folder *folder, const char *path, const char *name)
{
    char full[PATH];
    snprintf(full, sizeof full, "%s/%s", path, name);
    FILE *const file = fopen(full, "rb");
    if (!file)
        return NULL;
    char *const text = keep(folder, TEXT);
    text[fread(text, 1, TEXT - 1, file)] = '\0';
    fclose(file);
    return text;
}

void open_folder(const struct fovea_engine *engine, const char *path, struct folder *folder)
{
    char name[PATH], message[512];
    *folder = (struct folder){.engine = engine};
    folder->config = read_text(folder, path, "config.json");
    folder->generation = read_text(folder, path, "generation_config.json");
    DIR *const all = opendir(path);
    if (!folder->config || !all)
        fail(path, "no folder with a config.json that can be opened");
    for (const struct dirent *entry; (entry = readdir(all)) != NULL;) {
        // Large models have several. (consolidated.safetensors, of Mistral, has the same weights by other names.)
        if (fnmatch("model*.safetensors", entry->d_name, 0) != 0)
            continue;
        snprintf(name, sizeof name, "%s/%s", path, entry->d_name);
        if (folder->file_count == FILES_MAX)
            fail(name, "more files than this example has room for");
        struct fovea_safetensors **const file = &folder->files[folder->file_count];
        if (fovea_safetensors_open(name, file, message, sizeof message) != FOVEA_OK)
            fail("weights", message);
        const size_t count = fovea_safetensors_count(*file);
        folder->found[folder->file_count++] = memset(keep(folder, count), 0, count);
    }
    closedir(all);
    if (folder->file_count == 0)
        fail(path, "no model*.safetensors in it");
}

void close_folder(struct folder *folder)
{
    while (folder->file_count != 0)
        fovea_safetensors_close(folder->files[--folder->file_count]);
    while (folder->blocks != 0)
        free(folder->kept[--folder->blocks]);
}

// What follows a key in a text, or NULL.
static const char *value_in(const char *text, const char *key)
{
    char quoted[64];
    snprintf(quoted, sizeof quoted, "\"%s\"", key);
    for (const char *at = text; (at = strstr(at, quoted)) != NULL;) {
        at += strlen(quoted);
        at += strspn(at, " \t\r\n");
        if (*at == ':')
            return at + 1 + strspn(at + 1, " \t\r\n");
    }
    return NULL;
}

const char *value_of(const struct folder *folder, const char *key)
{
    return value_in(folder->config, key);
}

int is(const struct folder *folder, const char *key, const char *text)
{
    const char *const value = value_of(folder, key);
    return value && strncmp(value, text, strlen(text)) == 0;
}

double number(const struct folder *folder, const char *key, double otherwise)
{
    const char *const value = value_of(folder, key);
    char *end = NULL;
    const double x = value ? strtod(value, &end) : 0;
    return value && end != value ? x : otherwise;
}

size_t size(const struct folder *folder, const char *key, size_t otherwise)
{
    const double x = number(folder, key, (double)otherwise);
    if (!(x >= 1 && x <= SIZE_MOST && x == floor(x)))
        fail(key, "config.json does not have it, or it is not a size");
    return (size_t)x;
}

int ends(const struct folder *folder, size_t token)
{
    const char *at = folder->generation ? value_in(folder->generation, "eos_token_id") : NULL;
    if (!at || *at == 'n') // null
        at = value_of(folder, "eos_token_id");
    if (at && *at == '[')
        at++;
    for (char *end; at; at = *end == ',' ? end + 1 : NULL) {
        const unsigned long id = strtoul(at, &end, 10);
        if (end == at)
            return 0; // null, or what follows a single number
        if (id == token)
            return 1;
    }
    return 0;
}

static const struct fovea_tensor *find_named(struct folder *folder, size_t rows, size_t columns, const char *name)
{
    const struct fovea_tensor *t = NULL;
    size_t i = 0;
    while (i < folder->file_count && (t = fovea_safetensors_find(folder->files[i], name)) == NULL)
        i++;
    if (!t)
        return NULL;
    if (t->dims != (rows ? 2 : 1) || t->shape[t->dims - 1] != columns || (rows && t->shape[0] != rows))
        fail(name, "has another shape than config.json says");
    folder->found[i][t - fovea_safetensors_at(folder->files[i], 0)] = 1;
    return t;
}

const struct fovea_tensor *find(struct folder *folder, size_t rows, size_t columns, const char *format, ...)
{
    char name[NAME];
    va_list list;
    va_start(list, format);
    vsnprintf(name, sizeof name, format, list);
    va_end(list);
    return find_named(folder, rows, columns, name);
}

const struct fovea_tensor *need(struct folder *folder, size_t rows, size_t columns, const char *format, ...)
{
    char name[NAME];
    va_list list;
    va_start(list, format);
    vsnprintf(name, sizeof name, format, list);
    va_end(list);
    const struct fovea_tensor *const t = find_named(folder, rows, columns, name);
    if (!t)
        fail(name, "not in the files");
    return t;
}

const struct fovea_tensor *unused(const struct folder *folder)
{
    for (size_t f = 0; f < folder->file_count; f++) {
        for (size_t i = 0; i < fovea_safetensors_count(folder->files[f]); i++) {
            const struct fovea_tensor *const t = fovea_safetensors_at(folder->files[f], i);
            if (!folder->found[f][i] && !strstr(t->name, "rotary_emb.inv_freq")) // old files have these, for nothing
                return t;
        }
    }
    return NULL;
}

const float *vector(struct folder *folder, const struct fovea_tensor *tensor)
{
    if (!tensor)
        return NULL;
    float *const x = keep(folder, tensor->shape[0] * sizeof *x);
    must(fovea_tensor_f32(folder->engine, tensor, 0, tensor->shape[0], x), tensor->name);
    return x;
}

const void *packed(struct folder *folder, enum fovea_type as, const struct fovea_tensor *a,
                   const struct fovea_tensor *b)
{
    const struct fovea_engine *const engine = folder->engine;
    const size_t rows = a->shape[0], cols = a->shape[1]; // outputs, inputs
    enum fovea_type type, other;
    size_t bytes;
    must(fovea_tensor_type(a, &type), a->name);
    must(fovea_tensor_type(b ? b : a, &other), (b ? b : a)->name);
    if (other != type)
        fail(b->name, "has another type than the matrix beside it");
    must(fovea_pack_size_typed(as, cols, b ? 2 * rows : rows, &bytes), a->name);
    void *const blob = keep(folder, bytes);
    fovea_advise_huge_pages(blob, bytes);
    enum fovea_status status;
    if (as == FOVEA_S8)
        status =
            b ? fovea_pack_gated_s8(engine, type, FOVEA_TRANS, cols, rows, a->data, cols, b->data, cols, blob, bytes)
              : fovea_pack_s8(engine, type, FOVEA_TRANS, cols, rows, a->data, cols, blob, bytes);
    else
        status =
            b ? fovea_pack_gated_typed(engine, as, FOVEA_TRANS, cols, rows, a->data, cols, b->data, cols, blob, bytes)
              : fovea_pack_typed(engine, as, FOVEA_TRANS, cols, rows, a->data, cols, blob, bytes);
    must(status, a->name);
    return blob;
}
