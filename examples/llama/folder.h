// SPDX-License-Identifier: Apache-2.0
// examples/llama/folder.h - a model of Hugging Face in a folder: config.json, and tensors in safetensors files.
// Whatever is wrong ends the program with a line that names it.
#ifndef FOVEA_EXAMPLES_LLAMA_FOLDER_H
#define FOVEA_EXAMPLES_LLAMA_FOLDER_H

#include <fovea/fovea.h>

enum { FILES_MAX = 200, KEPT_MAX = 4096 };

struct folder {
    const struct fovea_engine *engine;
    char *config, *generation; // the text of config.json, and of generation_config.json or NULL
    struct fovea_safetensors *files[FILES_MAX];
    char *found[FILES_MAX]; // for each tensor of a file, 1 if find() or need() returned it
    size_t file_count;
    void *kept[KEPT_MAX]; // memory to free
    size_t blocks;
};

void fail(const char *what, const char *why);
void must(enum fovea_status status, const char *what);

void open_folder(const struct fovea_engine *engine, const char *path, struct folder *folder);
void close_folder(struct folder *folder);
// 64-byte aligned memory that close_folder frees.
void *keep(struct folder *folder, size_t bytes);

// Of config.json: what follows a key, or NULL. Keys of nested objects are found, too.
const char *value_of(const struct folder *folder, const char *key);
// Whether the value begins with a text, which has quotes if it is a string.
int is(const struct folder *folder, const char *key, const char *text);
double number(const struct folder *folder, const char *key, double otherwise);
// Without the key, or with null, `otherwise`; where that is 0 the key must be there.
size_t size(const struct folder *folder, const char *key, size_t otherwise);
// Whether a token is eos_token_id, or one of them: those of generation_config.json if it has some, as transformers
// does. (config.json of the first Llama 3 Instruct does not have the token that ends an answer.)
int ends(const struct folder *folder, size_t token);

// The tensor of that name, rows x columns, or columns alone if rows is 0. Without it find() returns NULL.
const struct fovea_tensor *find(struct folder *folder, size_t rows, size_t columns, const char *format, ...);
const struct fovea_tensor *need(struct folder *folder, size_t rows, size_t columns, const char *format, ...);
// A tensor of the files that was not asked for, or NULL.
const struct fovea_tensor *unused(const struct folder *folder);
// A vector as f32; NULL for NULL.
const float *vector(struct folder *folder, const struct fovea_tensor *tensor);
// A matrix of [outputs, inputs], packed as its own type or as FOVEA_S8; or two, whose outputs alternate.
const void *packed(struct folder *folder, enum fovea_type as, const struct fovea_tensor *a,
                   const struct fovea_tensor *b);

#endif
