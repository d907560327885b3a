// SPDX-License-Identifier: Apache-2.0
// nn/safetensors.c - opens a safetensors file by mmap and checks all of it before any of it is used.
//
// As the reference implementation does, the tensors must cover the data exactly: sorted by offset they follow one
// another from 0 to the end of the file, without holes or overlaps.
#undef _GNU_SOURCE // which a parent project may define: its strerror_r is another one
#include "fovea/safetensors.h"

#include "nn/json.h"
#include "ops/fields.h"
#include "ops/widen.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LENGTH_BYTES = 8, HEADER_BYTES_MAX = 100 << 20, REASON_BYTES = 80 };

struct metadata {
    const char *key, *value;
};

struct fovea_safetensors {
    const uint8_t *bytes;
    size_t size;
    size_t mapped; ///< bytes to unmap; 0 if the memory is the caller's
    char *strings; ///< the arena of all decoded strings
    struct fovea_tensor *tensors;
    size_t count, capacity;
    const struct fovea_tensor **by_name; ///< sorted
    struct metadata *metadata;
    size_t metadata_count, metadata_capacity;
};

static const struct {
    const char *name;
    size_t bytes;
} dtypes[] = {{"BOOL", 1}, {"U8", 1},   {"I8", 1},  {"F8_E4M3", 1}, {"F8_E5M2", 1}, {"U16", 2}, {"I16", 2},
              {"F16", 2},  {"BF16", 2}, {"U32", 4}, {"I32", 4},     {"F32", 4},     {"U64", 8}, {"I64", 8},
              {"F64", 8}};

static size_t dtype_bytes(const char *name)
{
    for (size_t i = 0; i < FOVEA_COUNT(dtypes); i++)
        if (strcmp(dtypes[i].name, name) == 0)
            return dtypes[i].bytes;
    return 0;
}

// Makes room for one more element of `bytes` bytes.
static int grow(void *array, size_t count, size_t *capacity, size_t bytes)
{
    if (count < *capacity)
        return 1;
    const size_t more = *capacity ? 2 * *capacity : 64;
    void *old, *grown;
    memcpy(&old, array, sizeof old);
    grown = realloc(old, more * bytes);
    if (!grown)
        return 0;
    memcpy(array, &grown, sizeof grown);
    *capacity = more;
    return 1;
}

static enum fovea_status parse_metadata(struct fovea_safetensors *file, struct json *json, const struct fovea_why *why)
{
    FOVEA_REQUIRE(fovea_json_take(json, '{'), FOVEA_ERR_FORMAT, why, "safetensors: __metadata__ is no object");
    if (fovea_json_take(json, '}'))
        return FOVEA_OK;
    do {
        FOVEA_REQUIRE(grow(&file->metadata, file->metadata_count, &file->metadata_capacity, sizeof *file->metadata),
                      FOVEA_ERR_MEMORY, why, "safetensors: no memory");
        struct metadata *const m = &file->metadata[file->metadata_count];
        FOVEA_REQUIRE(fovea_json_string(json, &m->key) && fovea_json_take(json, ':') &&
                          fovea_json_string(json, &m->value),
                      FOVEA_ERR_FORMAT, why, "safetensors: __metadata__ must map strings to strings");
        file->metadata_count++;
    } while (fovea_json_take(json, ','));
    FOVEA_REQUIRE(fovea_json_take(json, '}'), FOVEA_ERR_FORMAT, why, "safetensors: __metadata__ does not end");
    return FOVEA_OK;
}

// One entry of the header, before it is validated.
struct entry {
    const char *name, *dtype;
    uint64_t shape[FOVEA_TENSOR_DIMS_MAX], offsets[2];
    uint32_t dims, offset_count;
    int has_shape, has_offsets;
};

static int parse_field(struct json *json, struct entry *entry)
{
    const char *key;
    if (!fovea_json_string(json, &key) || !fovea_json_take(json, ':'))
        return 0;
    if (strcmp(key, "dtype") == 0)
        return !entry->dtype && fovea_json_string(json, &entry->dtype);
    if (strcmp(key, "shape") == 0 && !entry->has_shape) {
        entry->has_shape = 1;
        return fovea_json_uints(json, entry->shape, FOVEA_TENSOR_DIMS_MAX, &entry->dims);
    }
    if (strcmp(key, "data_offsets") == 0 && !entry->has_offsets) {
        entry->has_offsets = 1;
        return fovea_json_uints(json, entry->offsets, 2, &entry->offset_count);
    }
    return 0;
}

static int parse_entry(struct json *json, struct entry *entry)
{
    if (!fovea_json_take(json, '{'))
        return 0;
    do {
        if (!parse_field(json, entry))
            return 0;
    } while (fovea_json_take(json, ','));
    return fovea_json_take(json, '}') && entry->dtype && entry->has_shape && entry->offset_count == 2;
}

static enum fovea_status add_tensor(struct fovea_safetensors *file, const struct entry *entry, const uint8_t *data,
                                    size_t data_bytes, const struct fovea_why *why)
{
    struct fovea_tensor t = {.name = entry->name, .dtype = entry->dtype, .dims = entry->dims};
    t.bytes = dtype_bytes(t.dtype);
    FOVEA_REQUIRE(t.bytes, FOVEA_ERR_FORMAT, why, "tensor \"%.80s\": unknown dtype \"%.20s\"", t.name, t.dtype);
    FOVEA_REQUIRE(t.dims <= FOVEA_TENSOR_DIMS_MAX, FOVEA_ERR_FORMAT, why,
                  "tensor \"%.80s\": %u dimensions, more than %d", t.name, (unsigned)t.dims, FOVEA_TENSOR_DIMS_MAX);
    for (uint32_t i = 0; i < t.dims; i++) {
        t.shape[i] = (size_t)entry->shape[i];
        FOVEA_REQUIRE(entry->shape[i] <= SIZE_MAX && fovea_mul(t.bytes, t.shape[i], &t.bytes), FOVEA_ERR_FORMAT, why,
                      "tensor \"%.80s\": its shape overflows", t.name);
    }
    const uint64_t begin = entry->offsets[0], end = entry->offsets[1];
    FOVEA_REQUIRE(begin <= end && end <= data_bytes, FOVEA_ERR_FORMAT, why,
                  "tensor \"%.80s\": offsets [%llu, %llu] are outside the %zu bytes of data", t.name,
                  (unsigned long long)begin, (unsigned long long)end, data_bytes);
    FOVEA_REQUIRE(end - begin == t.bytes, FOVEA_ERR_FORMAT, why,
                  "tensor \"%.80s\": %llu bytes of data, but its shape needs %zu", t.name,
                  (unsigned long long)(end - begin), t.bytes);
    t.data = data + begin;
    enum fovea_type type;
    const size_t alignment = fovea_tensor_type(&t, &type) == FOVEA_OK ? fovea_type_bytes(type) : 1;
    FOVEA_REQUIRE((uintptr_t)t.data % alignment == 0, FOVEA_ERR_FORMAT, why,
                  "tensor \"%.80s\": its data is not %zu-byte aligned", t.name, alignment);
    FOVEA_REQUIRE(grow(&file->tensors, file->count, &file->capacity, sizeof *file->tensors), FOVEA_ERR_MEMORY, why,
                  "safetensors: no memory");
    file->tensors[file->count++] = t;
    return FOVEA_OK;
}

static enum fovea_status parse_header(struct fovea_safetensors *file, size_t header_bytes, const struct fovea_why *why)
{
    const char *const text = (const char *)file->bytes + LENGTH_BYTES;
    const uint8_t *const data = file->bytes + LENGTH_BYTES + header_bytes;
    const size_t data_bytes = file->size - LENGTH_BYTES - header_bytes;
    struct json json = {text, text + header_bytes, file->strings};
    bool has_metadata = false;
    FOVEA_REQUIRE(header_bytes > 0 && *text == '{' && fovea_json_take(&json, '{'), FOVEA_ERR_FORMAT, why,
                  "safetensors: the header does not begin with {");
    if (!fovea_json_take(&json, '}')) {
        do {
            struct entry entry = {0};
            FOVEA_REQUIRE(fovea_json_string(&json, &entry.name) && fovea_json_take(&json, ':'), FOVEA_ERR_FORMAT, why,
                          "safetensors: the header is damaged at byte %td", json.at - text);
            if (strcmp(entry.name, "__metadata__") == 0) {
                FOVEA_REQUIRE(!has_metadata, FOVEA_ERR_FORMAT, why, "safetensors: __metadata__ is there twice");
                has_metadata = true;
                FOVEA_TRY(parse_metadata(file, &json, why));
                continue;
            }
            FOVEA_REQUIRE(parse_entry(&json, &entry), FOVEA_ERR_FORMAT, why,
                          "tensor \"%.80s\": its entry is damaged at byte %td of the header", entry.name,
                          json.at - text);
            FOVEA_TRY(add_tensor(file, &entry, data, data_bytes, why));
        } while (fovea_json_take(&json, ','));
        FOVEA_REQUIRE(fovea_json_take(&json, '}'), FOVEA_ERR_FORMAT, why,
                      "safetensors: the header is damaged at byte %td", json.at - text);
    }
    FOVEA_REQUIRE(fovea_json_done(&json), FOVEA_ERR_FORMAT, why, "safetensors: text behind the header's object");
    return FOVEA_OK;
}

static int compare_names(const void *a, const void *b)
{
    return strcmp((*(const struct fovea_tensor *const *)a)->name, (*(const struct fovea_tensor *const *)b)->name);
}

static int compare_offsets(const void *a, const void *b)
{
    const struct fovea_tensor *const x = *(const struct fovea_tensor *const *)a;
    const struct fovea_tensor *const y = *(const struct fovea_tensor *const *)b;
    const uintptr_t p = (uintptr_t)x->data, q = (uintptr_t)y->data;
    return p != q ? (p > q) - (p < q) : (x->bytes > y->bytes) - (x->bytes < y->bytes); // an empty tensor sorts first
}

// Checks that the data are covered exactly and no name occurs twice; leaves by_name sorted.
static enum fovea_status check_whole(struct fovea_safetensors *file, size_t data_begin, const struct fovea_why *why)
{
    file->by_name = malloc((file->count + 1) * sizeof *file->by_name);
    FOVEA_REQUIRE(file->by_name, FOVEA_ERR_MEMORY, why, "safetensors: no memory");
    for (size_t i = 0; i < file->count; i++)
        file->by_name[i] = &file->tensors[i];
    qsort(file->by_name, file->count, sizeof *file->by_name, compare_offsets);
    size_t at = data_begin;
    for (size_t i = 0; i < file->count; i++) {
        const struct fovea_tensor *const t = file->by_name[i];
        const size_t begin = (size_t)((const uint8_t *)t->data - file->bytes);
        FOVEA_REQUIRE(begin == at, FOVEA_ERR_FORMAT, why, "tensor \"%.80s\": its data %s", t->name,
                      begin < at ? "overlaps another tensor's" : "begins behind a hole");
        at += t->bytes;
    }
    FOVEA_REQUIRE(at == file->size, FOVEA_ERR_FORMAT, why, "safetensors: %zu bytes of data belong to no tensor",
                  file->size - at);
    qsort(file->by_name, file->count, sizeof *file->by_name, compare_names);
    for (size_t i = 1; i < file->count; i++)
        FOVEA_REQUIRE(strcmp(file->by_name[i - 1]->name, file->by_name[i]->name) != 0, FOVEA_ERR_FORMAT, why,
                      "tensor \"%.80s\" is there twice", file->by_name[i]->name);
    return FOVEA_OK;
}

static enum fovea_status read_file(struct fovea_safetensors *file, const struct fovea_why *why)
{
    FOVEA_REQUIRE(file->size >= LENGTH_BYTES, FOVEA_ERR_FORMAT, why, "not a safetensors file: it has %zu bytes",
                  file->size);
    uint64_t header_bytes = 0;
    for (int i = 0; i < LENGTH_BYTES; i++)
        header_bytes |= (uint64_t)file->bytes[i] << (8 * i);
    FOVEA_REQUIRE(header_bytes <= HEADER_BYTES_MAX && header_bytes <= file->size - LENGTH_BYTES, FOVEA_ERR_FORMAT, why,
                  "not a safetensors file, or cut off: it has %zu bytes, and its first eight announce a header of %llu",
                  file->size, (unsigned long long)header_bytes);
    file->strings = malloc((size_t)header_bytes + 1);
    FOVEA_REQUIRE(file->strings, FOVEA_ERR_MEMORY, why, "safetensors: no memory");
    FOVEA_TRY(parse_header(file, (size_t)header_bytes, why));
    return check_whole(file, LENGTH_BYTES + (size_t)header_bytes, why);
}

static enum fovea_status open_bytes(const void *bytes, size_t size, size_t mapped, struct fovea_safetensors **out,
                                    const struct fovea_why *why)
{
    struct fovea_safetensors *const file = calloc(1, sizeof *file);
    FOVEA_REQUIRE(file, FOVEA_ERR_MEMORY, why, "safetensors: no memory");
    file->bytes = bytes;
    file->size = size;
    const enum fovea_status status = read_file(file, why);
    if (status) {
        fovea_safetensors_close(file);
        return status;
    }
    file->mapped = mapped;
    *out = file;
    return FOVEA_OK;
}

enum fovea_status fovea_safetensors_from_memory(const void *bytes, size_t size, struct fovea_safetensors **out,
                                                char *message, size_t message_size)
{
    const struct fovea_why why = {message, message_size};
    FOVEA_REQUIRE_POINTERS("safetensors", &why, {"bytes", bytes}, {"out", out});
    FOVEA_TRY(open_bytes(bytes, size, 0, out, &why));
    fovea_say(&why, "%s", "");
    return FOVEA_OK;
}

// The system's message for an error; strerror's buffer may belong to another thread.
static const char *words_of(int error, char text[REASON_BYTES])
{
    return strerror_r(error, text, REASON_BYTES) == 0 ? text : "error without words";
}

enum fovea_status fovea_safetensors_open(const char *path, struct fovea_safetensors **out, char *message,
                                         size_t message_size)
{
    const struct fovea_why why = {message, message_size};
    FOVEA_REQUIRE_POINTERS("safetensors", &why, {"path", path}, {"out", out});
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); // a FIFO without a writer would block forever
    char reason[REASON_BYTES];
    FOVEA_REQUIRE(fd >= 0, FOVEA_ERR_IO, &why, "%.200s: cannot be opened: %s", path, words_of(errno, reason));
    struct stat st;
    void *bytes = MAP_FAILED;
    const int regular = fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 0;
    if (regular)
        bytes = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    const int error = errno;
    close(fd);
    FOVEA_REQUIRE(regular, FOVEA_ERR_IO, &why, "%.200s: empty, or no regular file", path);
    FOVEA_REQUIRE(bytes != MAP_FAILED, FOVEA_ERR_IO, &why, "%.200s: cannot be mapped: %s", path,
                  words_of(error, reason));
    fovea_say(&why, "%.200s: ", path); // the reason follows
    const size_t used = message && message_size ? strlen(message) : 0;
    const struct fovea_why rest = {message ? message + used : NULL, message_size - used};
    const enum fovea_status status = open_bytes(bytes, (size_t)st.st_size, (size_t)st.st_size, out, &rest);
    if (status)
        munmap(bytes, (size_t)st.st_size);
    else
        fovea_say(&why, "%s", "");
    return status;
}

void fovea_safetensors_close(struct fovea_safetensors *file)
{
    if (!file)
        return;
    if (file->mapped)
        munmap((void *)(uintptr_t)file->bytes, file->mapped);
    free(file->strings);
    free(file->tensors);
    free(file->by_name);
    free(file->metadata);
    free(file);
}

size_t fovea_safetensors_count(const struct fovea_safetensors *file)
{
    return file ? file->count : 0;
}

const struct fovea_tensor *fovea_safetensors_at(const struct fovea_safetensors *file, size_t index)
{
    return file && index < file->count ? &file->tensors[index] : NULL;
}

const struct fovea_tensor *fovea_safetensors_find(const struct fovea_safetensors *file, const char *name)
{
    if (!file || !name)
        return NULL;
    const struct fovea_tensor key = {.name = name}, *const at = &key;
    const struct fovea_tensor *const *const found =
        bsearch(&at, file->by_name, file->count, sizeof *file->by_name, compare_names);
    return found ? *found : NULL;
}

const char *fovea_safetensors_metadata(const struct fovea_safetensors *file, const char *key)
{
    for (size_t i = file && key ? file->metadata_count : 0; i-- > 0;) // the last of a key, as other readers take
        if (strcmp(file->metadata[i].key, key) == 0)
            return file->metadata[i].value;
    return NULL;
}
