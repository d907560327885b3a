// SPDX-License-Identifier: Apache-2.0
// tests/model/bad_model.c - bad input to whole Transformers: files that lack something, configurations, tokens,
// lengths.
#include "fovea/fovea.h"
#include "tests/model/random_model.h"
#include "tests/support/engines.h"
#include "tests/support/test.h"

#include <locale.h>

enum { BATCH = 2, BEAM = 3, SOURCE = 6, TARGET = 5, VOCAB = 9 };

static const struct fovea_transformer_config config = {.struct_size = sizeof config,
                                                       .norm = FOVEA_NORM_PRE,
                                                       .positions = FOVEA_POSITIONS_LEARNED,
                                                       .eps = 1e-5f,
                                                       .final_norm = 1,
                                                       .bos = 1,
                                                       .eos = 2,
                                                       .d_model = 12,
                                                       .heads = 2,
                                                       .qk_dim = 6,
                                                       .v_dim = 6,
                                                       .ffn = 15,
                                                       .encoder_layers = 2,
                                                       .decoder_layers = 1,
                                                       .source_vocab = 7,
                                                       .target_vocab = VOCAB};
static const struct fovea_transformer_options options = {.struct_size = sizeof options,
                                                         .workers = 2,
                                                         .batch = BATCH,
                                                         .beam = BEAM,
                                                         .max_source = SOURCE,
                                                         .max_target = TARGET};
static struct fovea_engine *engine;

#define EXPECT(expected, call)                                                                                         \
    do {                                                                                                               \
        const enum fovea_status status_ = (call);                                                                      \
        CHECK(status_ == (expected), "got %s, expected %s", fovea_status_string(status_),                              \
              fovea_status_string(expected));                                                                          \
    } while (0)

// ---- Files -------------------------------------------------------------------------------------------------------

// Writes `to` over the first `from` behind `behind` in the header; both are as long.
static void patch(unsigned char *bytes, const char *behind, const char *from, const char *to)
{
    char *const header = (char *)bytes + 8;
    char *const place = strstr(header, behind), *const at = place ? strstr(place, from) : NULL;
    if (!at || strlen(from) != strlen(to)) {
        fprintf(stderr, "FAIL nothing to patch: %s\n", behind);
        exit(1);
    }
    memcpy(at, to, strlen(to));
}

// A file with one thing wrong is refused by a line that names the tensor.
static void refuse_file(const char *behind, const char *from, const char *to, const char *must_say)
{
    struct random_model good;
    random_model_init(&good, &config, 3, RANDOM_ALL);
    patch(good.bytes, behind, from, to);
    struct fovea_safetensors *file = NULL;
    struct fovea_transformer *model = NULL;
    char message[300] = "";
    EXPECT(FOVEA_OK, fovea_safetensors_from_memory(good.bytes, good.size, &file, message, sizeof message));
    EXPECT(FOVEA_ERR_FORMAT,
           fovea_transformer_create(engine, file, &config, &options, &model, message, sizeof message));
    CHECK(model == NULL && strstr(message, must_say), "the message is \"%s\", without \"%s\"", message, must_say);
    EXPECT(FOVEA_ERR_FORMAT, fovea_transformer_create(engine, file, &config, &options, &model, NULL, 0));
    fovea_safetensors_close(file);
    random_model_free(&good);
}

static void test_files(void)
{
    static const char q[] = "encoder.layers.1.self_attention.q.weight", up[] = "decoder.layers.0.ffn.up.weight";
    refuse_file(q, q, "encoder.layers.1.self_attention.Q.weight",
                "\"encoder.layers.1.self_attention.q.weight\" is missing");
    refuse_file(up, "[15,12]", "[12,15]", "\"decoder.layers.0.ffn.up.weight\": shape [12, 15], expected [15, 12]");
    refuse_file(up, "[15,12]", "[180]  ", "shape [180], expected [15, 12]");
    refuse_file(up, "[15,12]", "[1,180]", "shape [1, 180], expected [15, 12]");
    refuse_file(up, "F32", "I32", "\"decoder.layers.0.ffn.up.weight\" is I32, not F32, BF16 or F16");
    refuse_file("decoder.layers.0.norm2.weight", "norm2", "norm9", "\"decoder.layers.0.norm2.weight\" is missing");
    refuse_file("decoder.layers.0.cross_attention.v.bias", "F32", "I32", "cross_attention.v.bias\" is I32");
    refuse_file("encoder.norm.weight", "encoder.norm.", "encoder.nrom.", "\"encoder.norm.weight\" is missing");
    refuse_file("output.bias", "output.bias", "output.bais", "\"output.bais\" belongs to no part of this model");
    refuse_file("output.weight", "[9,12]", "[12,9]", "\"output.weight\": shape");
    refuse_file("source_embedding.weight", "source", "sourse", "\"source_embedding.weight\" is missing");
    refuse_file("output.weight", "F32", "U32", "\"output.weight\" is U32, not F32, BF16 or F16");
    refuse_file("source_positions.weight", "[48,12]", "[576]  ", "source_positions.weight\": shape [576], expected [");
    refuse_file("target_positions.weight", "[48,12]", "[4,144]", "shape [4, 144], expected [5 or more, 12]");
}

// ---- Configurations ------------------------------------------------------------------------------------------------

static void refuse_config(const struct random_model *good, const struct fovea_transformer_config *c,
                          const struct fovea_transformer_options *o, enum fovea_status expected, const char *what)
{
    struct fovea_transformer *model = NULL;
    char message[300] = "";
    const enum fovea_status status =
        fovea_transformer_create(engine, good->file, c, o, &model, message, sizeof message);
    CHECK(status == expected && model == NULL && *message, "%s: got %s, expected %s: \"%s\"", what,
          fovea_status_string(status), fovea_status_string(expected), message);
    const int own = expected == FOVEA_ERR_SHAPE || expected == FOVEA_ERR_VALUE || expected == FOVEA_ERR_ENUM;
    CHECK(!own || strncmp(message, "transformer: ", 13) == 0, "%s: \"%s\" does not say whose", what, message);
}

#define BAD_CONFIG(expected, field, value)                                                                             \
    do {                                                                                                               \
        struct fovea_transformer_config bad_ = config;                                                                 \
        bad_.field = (value);                                                                                          \
        refuse_config(&good, &bad_, &options, expected, #field " = " #value);                                          \
    } while (0)
#define BAD_OPTION(expected, field, value)                                                                             \
    do {                                                                                                               \
        struct fovea_transformer_options bad_ = options;                                                               \
        bad_.field = (value);                                                                                          \
        refuse_config(&good, &config, &bad_, expected, #field " = " #value);                                           \
    } while (0)

static void test_create(void)
{
    struct random_model good;
    random_model_init(&good, &config, 3, RANDOM_ALL);
    struct fovea_transformer *model = NULL;
    EXPECT(FOVEA_ERR_NULL, fovea_transformer_create(NULL, good.file, &config, &options, &model, NULL, 0));
    EXPECT(FOVEA_ERR_NULL, fovea_transformer_create(engine, NULL, &config, &options, &model, NULL, 0));
    EXPECT(FOVEA_ERR_NULL, fovea_transformer_create(engine, good.file, &config, &options, NULL, NULL, 0));
    refuse_config(&good, NULL, &options, FOVEA_ERR_NULL, "no config");
    refuse_config(&good, &config, NULL, FOVEA_ERR_NULL, "no options");
    struct fovea_transformer_config wide = config;
    char message[300] = "";
    wide.ffn = 16;
    EXPECT(FOVEA_ERR_FORMAT,
           fovea_transformer_create(engine, good.file, &wide, &options, &model, message, sizeof message));
    CHECK(strstr(message, "ffn.up.bias\": shape [15], expected [16]"), "\"%s\"", message);
    BAD_CONFIG(FOVEA_ERR_STRUCT, struct_size, 0);
    BAD_CONFIG(FOVEA_ERR_ENUM, norm, (enum fovea_norm_place)2);
    BAD_CONFIG(FOVEA_ERR_ENUM, norm_kind, (enum fovea_norm_kind)2);
    BAD_CONFIG(FOVEA_ERR_ENUM, gated, 2);
    BAD_CONFIG(FOVEA_ERR_FORMAT, gated, 1); // no such tensor
    BAD_CONFIG(FOVEA_ERR_ENUM, activation, (enum fovea_activation)9);
    BAD_CONFIG(FOVEA_ERR_ENUM, positions, (enum fovea_positions)3);
    BAD_CONFIG(FOVEA_ERR_VALUE, eps, -1.0f);
    BAD_CONFIG(FOVEA_ERR_SHAPE, d_model, 0);
    BAD_CONFIG(FOVEA_ERR_SHAPE, heads, 0);
    BAD_CONFIG(FOVEA_ERR_SHAPE, qk_dim, 0);
    BAD_CONFIG(FOVEA_ERR_SHAPE, v_dim, 1000);
    BAD_CONFIG(FOVEA_ERR_SHAPE, ffn, 0);
    BAD_CONFIG(FOVEA_ERR_SHAPE, decoder_layers, 0);
    BAD_CONFIG(FOVEA_ERR_SHAPE, source_vocab, 0);
    BAD_CONFIG(FOVEA_ERR_SHAPE, target_vocab, 0);
    BAD_CONFIG(FOVEA_ERR_SHAPE, bos, VOCAB);
    BAD_CONFIG(FOVEA_ERR_SHAPE, eos, UINT32_MAX);
    BAD_CONFIG(FOVEA_ERR_FORMAT, encoder_layers, 3);
    BAD_CONFIG(FOVEA_ERR_FORMAT, encoder_layers, SIZE_MAX); // in no time
    BAD_CONFIG(FOVEA_ERR_FORMAT, decoder_layers, SIZE_MAX / 1000);
    BAD_CONFIG(FOVEA_ERR_FORMAT, source_vocab, 8);
    BAD_CONFIG(FOVEA_ERR_OVERFLOW, d_model, SIZE_MAX / 8);
    BAD_CONFIG(FOVEA_ERR_OVERFLOW, ffn, SIZE_MAX);
    BAD_CONFIG(FOVEA_ERR_OVERFLOW, target_vocab, SIZE_MAX / 2);
    BAD_OPTION(FOVEA_ERR_STRUCT, struct_size, 4);
    BAD_OPTION(FOVEA_ERR_SHAPE, workers, 0);
    BAD_OPTION(FOVEA_ERR_SHAPE, batch, 0);
    BAD_OPTION(FOVEA_ERR_SHAPE, beam, 0);
    BAD_OPTION(FOVEA_ERR_SHAPE, max_source, 0);
    BAD_OPTION(FOVEA_ERR_SHAPE, max_target, 0);
    BAD_OPTION(FOVEA_ERR_VALUE, dropout, 1);
    BAD_OPTION(FOVEA_ERR_VALUE, dropout, NAN);
    BAD_OPTION(FOVEA_ERR_FORMAT, max_source, RANDOM_POSITIONS + 1);
    BAD_OPTION(FOVEA_ERR_OVERFLOW, batch, SIZE_MAX);
    BAD_OPTION(FOVEA_ERR_OVERFLOW, beam, SIZE_MAX / 2);
    BAD_OPTION(FOVEA_ERR_OVERFLOW, max_target, SIZE_MAX / 8);
    fovea_transformer_destroy(NULL);
    CHECK(fovea_transformer_config_of(NULL) == NULL, "the configuration of nothing");
    random_model_free(&good);
}

// ---- Metadata ------------------------------------------------------------------------------------------------------

#define EPS "\"1e-6\"                         " // room for a longer one
static const char metadata[] = "\"fovea.d_model\":\"12\",\"fovea.heads\":\"2\",\"fovea.encoder_layers\":\"1\","
                               "\"fovea.decoder_layers\":\"3\",\"fovea.ffn\":\"15\",\"fovea.pad\":\"0\",\"fovea.bos\":"
                               "\"1\",\"fovea.eos\":\"2\",\"fovea.norm_eps\":" EPS ",\"fovea.norm\":\"post\","
                               "\"fovea.activation\":\"gelu\",\"fovea.positions\":\"learned\","
                               "\"fovea.embedding_scale\":\"sqrt\",\"fovea.norm_kind\":\"rms\"";
static const char tensors[] = "\"source_embedding.weight\":{\"dtype\":\"F32\",\"shape\":[7,0],\"data_offsets\":[0,0]},"
                              "\"target_embedding.weight\":{\"dtype\":\"F32\",\"shape\":[9,0],\"data_offsets\":[0,0]},"
                              "\"decoder.layers.0.self_attention.q.weight\":{\"dtype\":\"F32\",\"shape\":[16,0],"
                              "\"data_offsets\":[0,0]},\"decoder.layers.0.self_attention.v.weight\":{\"dtype\":"
                              "\"F32\",\"shape\":[10,0],\"data_offsets\":[0,0]},"
                              "\"decoder.layers.0.ffn.gote.weight\":{\"dtype\":\"F32\",\"shape\":[0,0],"
                              "\"data_offsets\":[0,0]}";

// A file of empty tensors, only to be configured from; from (NULL: none) is replaced by as long a text.
static enum fovea_status configure(const char *from, const char *to, struct fovea_transformer_config *out,
                                   char message[300])
{
    enum { LENGTH = 1600 }; // a multiple of 8: data begin there, aligned, although there are none
    _Alignas(8) unsigned char bytes[8 + LENGTH + 1];
    const size_t length = LENGTH;
    const int used = snprintf((char *)bytes + 8, LENGTH, "{\"__metadata__\":{%s},%s}", metadata, tensors);
    memset(bytes + 8 + used, ' ', LENGTH - (size_t)used);
    bytes[8 + LENGTH] = '\0';
    for (int i = 0; i < 8; i++)
        bytes[i] = (unsigned char)((uint64_t)length >> (8 * i));
    if (from)
        patch(bytes, from, from, to);
    struct fovea_safetensors *file = NULL;
    message[0] = '\0';
    EXPECT(FOVEA_OK, fovea_safetensors_from_memory(bytes, 8 + length, &file, message, 300));
    const enum fovea_status status = fovea_transformer_config_from(file, out, message, 300);
    fovea_safetensors_close(file);
    return status;
}

static void refuse_metadata(const char *from, const char *to, const char *must_say)
{
    char message[300];
    struct fovea_transformer_config c = {.heads = 77};
    EXPECT(FOVEA_ERR_FORMAT, configure(from, to, &c, message));
    CHECK(strstr(message, must_say), "the message is \"%s\", without \"%s\"", message, must_say);
    CHECK(c.heads == 77, "a refused configuration is written");
}

// What `text` is read as, NaN where it is refused.
static float read_eps(const char *text)
{
    char quoted[sizeof EPS], padded[sizeof EPS], message[300];
    struct fovea_transformer_config c = {.eps = -1};
    snprintf(quoted, sizeof quoted, "\"%s\"", text);
    snprintf(padded, sizeof padded, "%-*s", (int)(sizeof EPS - 1), quoted);
    return configure(EPS, padded, &c, message) ? NAN : c.eps;
}

static void test_numbers(const char *locale)
{
    static const struct {
        const char *text;
        float value;
    } good[] = {{"1e-6", 1e-6f},
                {"0.00001", 1e-5f},
                {"1E-05", 1e-5f},
                {"12.50e+1", 125},
                {"0", 0},
                {"0.0e0", 0},
                {"9.999999974752427e-07", 1e-6f}, // 1e-6f as a double
                {"3.4028234663852886e+38", 0x1.fffffep127f},
                {"1e-45", 0x1p-149f},
                {"1e-999", 0},
                {"0000000000000000000000000.5", 0.5f},
                {"123456789012345678901234e-24", 0.12345679f}};
    static const char *const bad[] = {"",    "-1",     "+1",    "1,5",    " 1",      "1 ",           ".5",
                                      "1.",  "1.e3",   "1e",    "1e+",    "1e99",    "inf",          "INFINITY",
                                      "nan", "0x1p-9", "1e-6f", "1e1001", "1e-1001", "11e2147483647"};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        CHECK(read_eps(good[i].text) == good[i].value, "%s: \"%s\" is read as %a", locale, good[i].text,
              (double)read_eps(good[i].text));
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        CHECK(isnan(read_eps(bad[i])), "%s: \"%s\" is read as %a", locale, bad[i], (double)read_eps(bad[i]));
}

// Every float, printed with nine digits or as a double, comes back.
static void test_printed_numbers(void)
{
    uint64_t seed = 1;
    for (int i = 0; i < 2000; i++) {
        const uint32_t bits = (uint32_t)test_random(&seed) % 0x7f800000;
        float value;
        char text[40];
        memcpy(&value, &bits, sizeof value);
        for (int digits = 8; digits <= 16; digits += 8) {
            snprintf(text, sizeof text, "%.*e", digits, (double)value);
            CHECK(read_eps(text) == value, "\"%s\" is read as %a", text, (double)read_eps(text));
        }
    }
}

// A program may have set a locale whose point is a comma.
static void test_locale(void)
{
    static const char *const names[] = {"de_DE.UTF-8", "fr_FR.UTF-8", "es_ES.UTF-8", "pt_BR.UTF-8", "ru_RU.UTF-8"};
    const char *found = NULL;
    for (size_t i = 0; i < sizeof names / sizeof *names && !found; i++)
        found = setlocale(LC_ALL, names[i]) && *localeconv()->decimal_point == ',' ? names[i] : NULL;
    if (found)
        test_numbers(found);
    else
        printf("skip comma_locale: no locale with a decimal comma is installed\n"); // tests/skips.txt
    setlocale(LC_ALL, "C");
}

static void test_metadata(void)
{
    char message[300];
    struct fovea_transformer_config c = {0};
    EXPECT(FOVEA_OK, configure(NULL, NULL, &c, message));
    CHECK(c.struct_size == sizeof c && c.d_model == 12 && c.heads == 2 && c.encoder_layers == 1 &&
              c.decoder_layers == 3 && c.ffn == 15 && c.bos == 1 && c.eos == 2 && c.eps == 1e-6f &&
              c.norm == FOVEA_NORM_POST && c.norm_kind == FOVEA_NORM_RMS && c.gated == 0 &&
              c.activation == FOVEA_ACTIVATION_GELU && c.positions == FOVEA_POSITIONS_LEARNED &&
              c.scale_embeddings == 1 && c.final_norm == 0 && c.source_vocab == 7 && c.target_vocab == 9 &&
              c.qk_dim == 8 && c.v_dim == 5,
          "a configuration is not what the file says");
    refuse_metadata("fovea.heads", "fovea.Heads", "no \"fovea.heads\"");
    refuse_metadata("\"12\"", "\"-2\"", "\"fovea.d_model\" cannot be \"-2\"");
    refuse_metadata("\"12\"", "\"1x\"", "\"fovea.d_model\" cannot be \"1x\"");
    refuse_metadata("\"2\"", "\"5\"", "16 rows for 5 heads");
    refuse_metadata("\"2\"", "\"0\"", "\"fovea.heads\" cannot be \"0\"");
    refuse_metadata("post", "last", "\"fovea.norm\" cannot be \"last\"");
    refuse_metadata("gelu", "silo", "\"fovea.activation\" cannot be \"silo\"");
    EXPECT(FOVEA_OK, configure("gelu", "silu", &c, message));
    CHECK(c.activation == FOVEA_ACTIVATION_SILU, "silu is read as %u", (unsigned)c.activation);
    EXPECT(FOVEA_OK, configure("norm_kind", "norm_size", &c, message));
    CHECK(c.norm_kind == FOVEA_NORM_LAYER, "without a kind, norms are %u", (unsigned)c.norm_kind);
    EXPECT(FOVEA_OK, configure("gote", "gate", &c, message));
    CHECK(c.gated == 1, "a gate is not found");
    refuse_metadata("rms", "RMS", "\"fovea.norm_kind\" cannot be \"RMS\"");
    refuse_metadata("1e-6", "-1.0", "\"fovea.norm_eps\" cannot be \"-1.0\"");
    refuse_metadata("source_embedding", "source_embeddign", "\"source_embedding.weight\" is missing");
    refuse_metadata("[9,0]", "[0,9]", "\"target_embedding.weight\" has no rows");
    refuse_metadata("[16,0]", "[15,0]", "15 rows for 2 heads");
    EXPECT(FOVEA_ERR_NULL, fovea_transformer_config_from(NULL, &c, message, sizeof message));
}

// ---- Calls ---------------------------------------------------------------------------------------------------------

static void test_calls(void)
{
    struct random_model random;
    random_model_init(&random, &config, 3, RANDOM_ALL);
    struct fovea_transformer *const model = random_model_create(&random, engine, options);
    uint32_t tokens[BATCH * SOURCE] = {0}, lens[BATCH] = {SOURCE, UINT32_MAX}; // clamped
    uint32_t bad[BATCH * SOURCE] = {[BATCH * SOURCE - 1] = 7};
    float out[BATCH * TARGET * VOCAB], first[BATCH * VOCAB];
    struct fovea_hypothesis found[BATCH];
    const struct fovea_executor many = {3, NULL, NULL};

    EXPECT(FOVEA_OK, fovea_transformer_encode(model, BATCH, SOURCE, tokens, lens, NULL));
    EXPECT(FOVEA_OK, fovea_transformer_step(model, 0, tokens, first, NULL));
    EXPECT(FOVEA_ERR_SHAPE, fovea_transformer_step(model, 2, tokens, out, NULL));
    EXPECT(FOVEA_ERR_NULL, fovea_transformer_encode(NULL, 1, 1, tokens, NULL, NULL));
    EXPECT(FOVEA_ERR_NULL, fovea_transformer_encode(model, 1, 1, NULL, NULL, NULL));
    EXPECT(FOVEA_ERR_SHAPE, fovea_transformer_encode(model, BATCH + 1, 1, tokens, NULL, NULL));
    EXPECT(FOVEA_ERR_SHAPE, fovea_transformer_encode(model, 1, SOURCE + 1, tokens, NULL, NULL));
    EXPECT(FOVEA_ERR_SHAPE, fovea_transformer_encode(model, SIZE_MAX, SIZE_MAX, tokens, NULL, NULL));
    EXPECT(FOVEA_ERR_SHAPE, fovea_transformer_encode(model, 1, 1, tokens, NULL, &many));
    EXPECT(FOVEA_ERR_VALUE, fovea_transformer_encode(model, BATCH, SOURCE, bad, NULL, NULL));
    // After refused calls the last good one still stands.
    EXPECT(FOVEA_OK, fovea_transformer_decode(model, 1, tokens, out, NULL));
    CHECK(test_differ(first, out, BATCH * VOCAB) == BATCH * VOCAB, "a refused encode changed something");

    bad[0] = VOCAB;
    EXPECT(FOVEA_ERR_NULL, fovea_transformer_decode(NULL, 1, tokens, out, NULL));
    EXPECT(FOVEA_ERR_NULL, fovea_transformer_decode(model, 1, NULL, out, NULL));
    EXPECT(FOVEA_ERR_NULL, fovea_transformer_decode(model, 1, tokens, NULL, NULL));
    EXPECT(FOVEA_ERR_SHAPE, fovea_transformer_decode(model, TARGET + 1, tokens, out, NULL));
    EXPECT(FOVEA_ERR_SHAPE, fovea_transformer_decode(model, 1, tokens, out, &many));
    EXPECT(FOVEA_ERR_VALUE, fovea_transformer_decode(model, 1, bad, out, NULL));
    EXPECT(FOVEA_OK, fovea_transformer_decode(model, 0, NULL, NULL, NULL));
    EXPECT(FOVEA_ERR_NULL, fovea_transformer_step(NULL, 0, tokens, out, NULL));
    EXPECT(FOVEA_ERR_NULL, fovea_transformer_step(model, 0, NULL, out, NULL));
    EXPECT(FOVEA_ERR_NULL, fovea_transformer_step(model, 0, tokens, NULL, NULL));
    EXPECT(FOVEA_ERR_SHAPE, fovea_transformer_step(model, TARGET, tokens, out, NULL));
    EXPECT(FOVEA_ERR_SHAPE, fovea_transformer_step(model, SIZE_MAX, tokens, out, NULL));
    EXPECT(FOVEA_ERR_VALUE, fovea_transformer_step(model, 0, bad, out, NULL));
    for (size_t t = 0; t <= TARGET; t++)
        EXPECT(t < TARGET ? FOVEA_OK : FOVEA_ERR_SHAPE, fovea_transformer_step(model, t, tokens, out, NULL));

    EXPECT(FOVEA_ERR_NULL, fovea_transformer_search(NULL, 1, 1, tokens, NULL, 1, found, NULL));
    EXPECT(FOVEA_ERR_NULL, fovea_transformer_search(model, 1, 1, tokens, NULL, 1, NULL, NULL));
    EXPECT(FOVEA_ERR_NULL, fovea_transformer_search(model, 1, 1, NULL, NULL, 1, found, NULL));
    EXPECT(FOVEA_ERR_SHAPE, fovea_transformer_search(model, 1, 1, tokens, NULL, 0, found, NULL));
    EXPECT(FOVEA_ERR_SHAPE, fovea_transformer_search(model, 1, 1, tokens, NULL, BEAM + 1, found, NULL));
    EXPECT(FOVEA_ERR_SHAPE, fovea_transformer_search(model, BATCH + 1, 1, tokens, NULL, 1, found, NULL));
    EXPECT(FOVEA_ERR_VALUE, fovea_transformer_search(model, BATCH, SOURCE, bad, NULL, 1, found, NULL));
    EXPECT(FOVEA_OK, fovea_transformer_search(model, 0, 0, NULL, NULL, 1, NULL, NULL));
    EXPECT(FOVEA_OK, fovea_transformer_decode(model, 1, NULL, NULL, NULL));                     // of no sequence
    EXPECT(FOVEA_OK, fovea_transformer_search(model, BATCH, 0, NULL, NULL, BEAM, found, NULL)); // nothing to read
    fovea_transformer_destroy(model);
    random_model_free(&random);
}

int main(void)
{
    engine = test_engine(NULL, NULL);
    test_files();
    test_create();
    test_metadata();
    test_numbers("C");
    test_printed_numbers();
    test_locale();
    test_calls();
    fovea_engine_destroy(engine);
    return test_done();
}
