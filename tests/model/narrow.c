// SPDX-License-Identifier: Apache-2.0
// tests/model/narrow.c - a random Transformer in a file with 16-bit elements.
#include "tests/model/narrow.h"

#include "tests/check/half.h"
#include "tests/support/test.h"

enum { HEADER_MAX = 1 << 16 };

struct file {
    char *header;
    unsigned char *data;
    size_t header_used, used;
};

static void add(struct file *file, const struct fovea_tensor *t, enum fovea_type type, float *numbers)
{
    static const char *const names[] = {[FOVEA_F32] = "F32", [FOVEA_BF16] = "BF16", [FOVEA_F16] = "F16"};
    const size_t begin = file->used, n = t->bytes / sizeof *numbers;
    for (size_t i = 0; i < n; i++) {
        const uint16_t half = half_of(type, numbers[i]);
        if (type != FOVEA_F32)
            numbers[i] = half_value(type, half);
        const size_t size = type == FOVEA_F32 ? sizeof *numbers : sizeof half;
        memcpy(file->data + file->used, type == FOVEA_F32 ? (const void *)&numbers[i] : &half, size);
        file->used += size;
    }
    char shape[48];
    snprintf(shape, sizeof shape, t->dims == 2 ? "%zu,%zu" : "%zu", t->shape[0], t->shape[1]);
    file->header_used += (size_t)snprintf(file->header + file->header_used, HEADER_MAX - file->header_used,
                                          "%s\"%s\":{\"dtype\":\"%s\",\"shape\":[%s],\"data_offsets\":[%zu,%zu]}",
                                          begin == 0 ? "{" : ",", t->name, names[type], shape, begin, file->used);
    if (file->header_used + 16 > HEADER_MAX) {
        fprintf(stderr, "FAIL narrow model: its header is too long\n");
        exit(1);
    }
}

void random_model_narrow(struct random_model *wide, const enum fovea_type *types, struct random_model *narrow)
{
    struct file file = {test_alloc(HEADER_MAX), test_alloc(wide->size), 0, 0};
    for (int halves = 0; halves < 2; halves++) // behind those of F32, which are aligned then
        for (size_t i = 0; i < fovea_safetensors_count(wide->file); i++) {
            const struct fovea_tensor *const t = fovea_safetensors_at(wide->file, i);
            if ((types[i] != FOVEA_F32) == halves)
                add(&file, t, types[i], random_model_tensor(wide, t->name, NULL));
        }
    file.header[file.header_used++] = '}';
    for (; file.header_used % 8 != 0; file.header_used++)
        file.header[file.header_used] = ' ';
    *narrow = (struct random_model){.config = wide->config, .size = 8 + file.header_used + file.used};
    narrow->bytes = test_alloc(narrow->size);
    for (int i = 0; i < 8; i++)
        narrow->bytes[i] = (unsigned char)((uint64_t)file.header_used >> (8 * i));
    memcpy(narrow->bytes + 8, file.header, file.header_used);
    memcpy(narrow->bytes + 8 + file.header_used, file.data, file.used);
    free(file.header);
    free(file.data);
    char message[200] = "";
    if (fovea_safetensors_from_memory(narrow->bytes, narrow->size, &narrow->file, message, sizeof message)) {
        fprintf(stderr, "FAIL narrow model: %s\n", message);
        exit(1);
    }
}
