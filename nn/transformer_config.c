// SPDX-License-Identifier: Apache-2.0
// nn/transformer_config.c - reads a Transformer's architecture from the metadata of its weights.
#include "nn/transformer.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

// One key of the metadata: a number, or one of several words that stand for 0, 1, 2, ... An optional key that is
// missing counts as 0.
struct field {
    const char *key;
    size_t offset;
    enum { SIZE, U32, WORD, OPTIONAL_WORD, FLOAT } kind;
    const char *words[7];
};

#define CONFIG(member) offsetof(struct fovea_transformer_config, member)
static const struct field fields[] = {
    {"fovea.d_model", CONFIG(d_model), SIZE, {0}},
    {"fovea.heads", CONFIG(heads), SIZE, {0}},
    {"fovea.encoder_layers", CONFIG(encoder_layers), SIZE, {0}},
    {"fovea.decoder_layers", CONFIG(decoder_layers), SIZE, {0}},
    {"fovea.ffn", CONFIG(ffn), SIZE, {0}},
    {"fovea.pad", CONFIG(pad), U32, {0}},
    {"fovea.bos", CONFIG(bos), U32, {0}},
    {"fovea.eos", CONFIG(eos), U32, {0}},
    {"fovea.norm_eps", CONFIG(eps), FLOAT, {0}},
    {"fovea.norm", CONFIG(norm), WORD, {"post", "pre"}},
    {"fovea.norm_kind", CONFIG(norm_kind), OPTIONAL_WORD, {"layer", "rms"}},
    {"fovea.activation", CONFIG(activation), WORD, {"none", "relu", "gelu", "gelu_tanh", "tanh", "silu"}},
    {"fovea.positions", CONFIG(positions), WORD, {"sinusoidal", "learned", "none"}},
    {"fovea.embedding_scale", CONFIG(scale_embeddings), WORD, {"none", "sqrt"}},
};

static int parse_size(const char *text, size_t *out)
{
    char *end;
    const unsigned long long value = strtoull(text, &end, 10);
    *out = (size_t)value;
    return *text >= '0' && *text <= '9' && *end == '\0' && value <= 1u << 30;
}

// The leading digits of a number, as many as fit, and the power of ten to multiply them by.
struct decimal {
    uint64_t digits;
    int exponent;
};

static const char *take_digits(const char *text, int behind_point, struct decimal *number)
{
    for (; *text >= '0' && *text <= '9'; text++) {
        const int fits = number->digits < UINT64_MAX / 10;
        number->digits = fits ? number->digits * 10 + (uint64_t)(*text - '0') : number->digits;
        number->exponent += !fits - behind_point;
    }
    return text;
}

// Parses a non-negative number as in JSON: "0.00001", "1e-05". strtof depends on the process's locale, in which the
// decimal point may be a comma, and also accepts "inf" and "0x1p-9". Before it is rounded to f32 the value has a
// relative error below 2^-44, so a number that was printed from a float or a double gives the same float again.
static int parse_float(const char *text, float *out)
{
    struct decimal number = {0, 0}, power = {0, 0};
    const char *at = take_digits(text, 0, &number);
    int good = at != text;
    if (*at == '.') {
        const char *const fraction = at + 1;
        at = take_digits(fraction, 1, &number);
        good = good && at != fraction;
    }
    if (*at == 'e' || *at == 'E') {
        const int negative = at[1] == '-';
        const char *const digits = at + 1 + (negative || at[1] == '+');
        at = take_digits(digits, 0, &power);
        good = good && at != digits && power.digits <= 1000;
        const int exponent = good ? (int)power.digits : 0;
        number.exponent += negative ? -exponent : exponent;
    }
    if (!good || *at)
        return 0;
    double ten = 1; // ten to the exponent, exact up to the 22nd; beyond the 300th every float is 0 or invalid
    for (int i = abs(number.exponent); i > 0 && ten < 1e300; i--)
        ten *= 10;
    const double value = (double)number.digits;
    *out = (float)(number.exponent < 0 ? value / ten : value * ten);
    return isfinite(*out);
}

static int parse_word(const char *text, const char *const *words, uint32_t *out)
{
    for (*out = 0; words[*out]; (*out)++)
        if (strcmp(words[*out], text) == 0)
            return 1;
    return 0;
}

static int parse_field(const struct field *field, const char *text, struct fovea_transformer_config *config)
{
    void *const to = (char *)config + field->offset;
    size_t size = 0;
    uint32_t word = 0;
    float number = 0;
    switch (field->kind) {
    case SIZE:
        return parse_size(text, &size) && memcpy(to, &size, sizeof size);
    case U32:
        word = parse_size(text, &size) ? (uint32_t)size : UINT32_MAX;
        return word != UINT32_MAX && memcpy(to, &word, sizeof word);
    case WORD:
    case OPTIONAL_WORD: // every enum of the configuration is as large as a uint32_t
        return parse_word(text, field->words, &word) && memcpy(to, &word, sizeof word);
    default:
        return parse_float(text, &number) && memcpy(to, &number, sizeof number);
    }
}

_Static_assert(sizeof(enum fovea_norm_place) == sizeof(uint32_t) && sizeof(enum fovea_norm_kind) == sizeof(uint32_t) &&
                   sizeof(enum fovea_positions) == sizeof(uint32_t) &&
                   sizeof(enum fovea_activation) == sizeof(uint32_t),
               "enums are read as words");

// The first size of a 2-D tensor, which is the vocabulary of an embedding.
static enum fovea_status rows_of(const struct fovea_safetensors *file, const char *name, size_t *rows,
                                 const struct fovea_why *why)
{
    const struct fovea_tensor *const t = fovea_safetensors_find(file, name);
    FOVEA_REQUIRE(t, FOVEA_ERR_FORMAT, why, "tensor \"%s\" is missing", name);
    FOVEA_REQUIRE(t->dims == 2 && t->shape[0], FOVEA_ERR_FORMAT, why, "tensor \"%s\" has no rows", name);
    *rows = t->shape[0];
    return FOVEA_OK;
}

enum fovea_status fovea_transformer_config_from(const struct fovea_safetensors *file,
                                                struct fovea_transformer_config *out, char *message,
                                                size_t message_size)
{
    const struct fovea_why why = {message, message_size};
    FOVEA_REQUIRE_POINTERS("transformer", &why, {"file", file}, {"out", out});
    struct fovea_transformer_config config = {.struct_size = sizeof config};
    for (size_t i = 0; i < FOVEA_COUNT(fields); i++) {
        const char *const text = fovea_safetensors_metadata(file, fields[i].key);
        if (!text && fields[i].kind == OPTIONAL_WORD)
            continue;
        FOVEA_REQUIRE(text, FOVEA_ERR_FORMAT, &why, "transformer: the file's metadata has no \"%s\"", fields[i].key);
        FOVEA_REQUIRE(parse_field(&fields[i], text, &config), FOVEA_ERR_FORMAT, &why,
                      "transformer: \"%s\" cannot be \"%.40s\"", fields[i].key, text);
    }
    FOVEA_REQUIRE(config.heads, FOVEA_ERR_FORMAT, &why, "transformer: \"fovea.heads\" cannot be \"0\"");
    config.final_norm = fovea_safetensors_find(file, "decoder.norm.weight") != NULL;
    config.gated = fovea_safetensors_find(file, "decoder.layers.0.ffn.gate.weight") != NULL;
    // Head sizes follow from the shapes of the first layer's projections.
    FOVEA_TRY(rows_of(file, "source_embedding.weight", &config.source_vocab, &why));
    FOVEA_TRY(rows_of(file, "target_embedding.weight", &config.target_vocab, &why));
    static const char *const projections[] = {"decoder.layers.0.self_attention.q.weight",
                                              "decoder.layers.0.self_attention.v.weight"};
    size_t *const dims[] = {&config.qk_dim, &config.v_dim};
    for (int i = 0; i < 2; i++) {
        size_t rows;
        FOVEA_TRY(rows_of(file, projections[i], &rows, &why));
        FOVEA_REQUIRE(rows % config.heads == 0, FOVEA_ERR_FORMAT, &why, "tensor \"%s\": %zu rows for %zu heads",
                      projections[i], rows, config.heads);
        *dims[i] = rows / config.heads;
    }
    *out = config;
    fovea_say(&why, "%s", "");
    return FOVEA_OK;
}
