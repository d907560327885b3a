// SPDX-License-Identifier: Apache-2.0
// tests/fuzz/safetensors.c - any bytes as a weight file: refused with a reason, or every tensor can be read to its end.
#include "fovea/fovea.h"
#include "tests/fuzz/fuzz.h"
#include "tests/model/narrow.h"

static const struct fovea_transformer_config tiny = {.struct_size = sizeof tiny,
                                                     .positions = FOVEA_POSITIONS_LEARNED,
                                                     .d_model = 2,
                                                     .heads = 1,
                                                     .qk_dim = 2,
                                                     .v_dim = 2,
                                                     .ffn = 2,
                                                     .encoder_layers = 1,
                                                     .decoder_layers = 1,
                                                     .source_vocab = 3,
                                                     .target_vocab = 3,
                                                     .bos = 1,
                                                     .eos = 2};

// Reads a tensor as f32, in parts, and not past its end.
static void read_f32(const struct fovea_tensor *t, size_t element)
{
    float part[20];
    const size_t count = t->bytes / element, most = sizeof part / sizeof *part;
    FUZZ_CHECK((uintptr_t)t->data % element == 0);
    for (size_t first = 0; first < count; first += most) {
        const size_t n = count - first < most ? count - first : most;
        FUZZ_CHECK(!fovea_tensor_f32(fuzz_engine(0), t, first, n, part));
    }
    FUZZ_CHECK(fovea_tensor_f32(fuzz_engine(0), t, count, 1, part) == FOVEA_ERR_SHAPE);
}

// Reads all that the file says is there.
static void read_all(const struct fovea_safetensors *file, const uint8_t *data, size_t size)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < fovea_safetensors_count(file); i++) {
        const struct fovea_tensor *const t = fovea_safetensors_at(file, i);
        const uint8_t *const begin = t->data;
        FUZZ_CHECK(t == fovea_safetensors_find(file, t->name));
        FUZZ_CHECK(begin >= data && t->bytes <= size && (size_t)(begin - data) <= size - t->bytes);
        FUZZ_CHECK(t->dims <= FOVEA_TENSOR_DIMS_MAX && *t->dtype);
        enum fovea_type type;
        if (fovea_tensor_type(t, &type) == FOVEA_OK)
            read_f32(t, fovea_type_bytes(type));
        for (size_t b = 0; b < t->bytes; b++)
            sum += begin[b];
    }
    FUZZ_CHECK(sum <= 255 * (uint64_t)size); // no byte belongs to two tensors
    FUZZ_CHECK(!fovea_safetensors_at(file, fovea_safetensors_count(file)));
    const char *const value = fovea_safetensors_metadata(file, "key");
    FUZZ_CHECK(!value || strlen(value) < size);
}

// A Transformer out of a file that has its tensors by accident or by seed.
static void make_model(const struct fovea_safetensors *file)
{
    const struct fovea_transformer_options options = {
        .struct_size = sizeof options, .workers = 1, .batch = 1, .beam = 2, .max_source = 2, .max_target = 3};
    char message[200] = "old";
    struct fovea_transformer_config config;
    FUZZ_CHECK(!fovea_transformer_config_from(file, &config, message, sizeof message) == !*message);
    struct fovea_transformer *model = NULL;
    message[0] = 'o';
    if (fovea_transformer_create(fuzz_engine(0), file, &tiny, &options, &model, message, sizeof message)) {
        FUZZ_CHECK(*message && !model);
        return;
    }
    FUZZ_CHECK(!*message);
    const uint32_t tokens[2] = {0, 1};
    struct fovea_hypothesis found;
    FUZZ_CHECK(!fovea_transformer_search(model, 1, 2, tokens, NULL, 2, &found, NULL) && found.len <= 3);
    fovea_transformer_destroy(model);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fovea_safetensors *file = NULL;
    char message[200] = "old";
    const enum fovea_status status = fovea_safetensors_from_memory(data, size, &file, message, sizeof message);
    if (status) {
        FUZZ_CHECK(!file && *message && !strpbrk(message, "\n\r\t\033") && status == FOVEA_ERR_FORMAT);
        return 0;
    }
    FUZZ_CHECK(!*message);
    read_all(file, data, size);
    make_model(file);
    fovea_safetensors_close(file);
    return 0;
}

static size_t seed_text(const char *header, size_t data_bytes, uint8_t *out)
{
    const size_t length = (strlen(header) + 7) / 8 * 8;
    memset(out, ' ', 8 + length + data_bytes);
    for (int i = 0; i < 8; i++)
        out[i] = (uint8_t)((uint64_t)length >> (8 * i));
    memcpy(out + 8, header, strlen(header));
    return 8 + length + data_bytes;
}

size_t fuzz_seed(uint32_t index, uint8_t *out)
{
    static const struct {
        const char *header;
        size_t data_bytes;
    } texts[] = {
        {"{}", 0},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[2,3],\"data_offsets\":[0,24]}}", 24},
        {"{\"__metadata__\":{\"key\":\"\\\"\\\\\\u00e9\\ud83d\\ude00\\n\",\"k\":\"\"},"
         "\"b\":{\"shape\":[0,5],\"data_offsets\":[24,24],\"dtype\":\"BF16\"},"
         "\"s\":{\"dtype\":\"I64\",\"shape\":[],\"data_offsets\":[24,32]},"
         "\"w\":{\"dtype\":\"F32\",\"shape\":[1,2,3],\"data_offsets\":[0,24]}}",
         32},
        {"{\"__metadata__\":{\"fovea.d_model\":\"4\",\"fovea.heads\":\"2\",\"fovea.encoder_layers\":\"0\","
         "\"fovea.decoder_layers\":\"3\",\"fovea.ffn\":\"15\",\"fovea.pad\":\"0\",\"fovea.bos\":\"1\",\"fovea.eos\":"
         "\"2\",\"fovea.norm_eps\":\"1e-6\",\"fovea.norm\":\"pre\",\"fovea.activation\":\"gelu\",\"fovea.positions\":"
         "\"none\",\"fovea.embedding_scale\":\"sqrt\"},\"source_embedding.weight\":{\"dtype\":\"F32\",\"shape\":[1,1],"
         "\"data_offsets\":[0,4]},\"target_embedding.weight\":{\"dtype\":\"F32\",\"shape\":[1,0],\"data_offsets\":[4,4]"
         "}}",
         4},
    };
    const uint32_t count = sizeof texts / sizeof *texts;
    if (index < count)
        return seed_text(texts[index].header, texts[index].data_bytes, out);
    if (index > count + FOVEA_F16)
        return 0;
    enum { TENSORS_MAX = 100 };
    enum fovea_type types[TENSORS_MAX];
    for (size_t i = 0; i < TENSORS_MAX; i++)
        types[i] = (enum fovea_type)(index - count);
    struct random_model wide, model;
    random_model_init(&wide, &tiny, 1, RANDOM_NONE);
    FUZZ_CHECK(fovea_safetensors_count(wide.file) <= TENSORS_MAX);
    random_model_narrow(&wide, types, &model);
    FUZZ_CHECK(model.size <= FUZZ_SEED_MAX);
    memcpy(out, model.bytes, model.size);
    const size_t size = model.size;
    random_model_free(&wide);
    random_model_free(&model);
    return size;
}
