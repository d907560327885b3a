// SPDX-License-Identifier: Apache-2.0
// cli/g2p_model.c - loads the weights, turns words into tokens and tokens into phones.
#include "cli/g2p.h"

#include <ctype.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int read_vocab(const struct fovea_safetensors *file, const char *key, struct g2p_vocab *vocab)
{
    const char *const text = fovea_safetensors_metadata(file, key);
    if (!text)
        return 0;
    const size_t length = strlen(text);
    vocab->text = malloc(length + 1);
    vocab->tokens = malloc((length / 2 + 1) * sizeof *vocab->tokens);
    if (!vocab->text || !vocab->tokens)
        return 0;
    memcpy(vocab->text, text, length + 1);
    char *rest = NULL;
    for (char *token = strtok_r(vocab->text, " ", &rest); token; token = strtok_r(NULL, " ", &rest))
        vocab->tokens[vocab->count++] = token;
    return 1;
}

// The id of a token, or UINT32_MAX.
static uint32_t id_of(const struct g2p_vocab *vocab, const char *token)
{
    for (uint32_t i = 0; i < vocab->count; i++)
        if (strcmp(vocab->tokens[i], token) == 0)
            return i;
    return UINT32_MAX;
}

static size_t metadata_size(const struct fovea_safetensors *file, const char *key)
{
    const char *const text = fovea_safetensors_metadata(file, key);
    return text ? (size_t)strtoul(text, NULL, 10) : 0;
}

// Whether the folder FOLDER + BELOW has weights to read: the path is theirs then.
static bool has_weights(const char *folder, const char *below, char *path, size_t size)
{
    const int length = snprintf(path, size, "%s%s/g2p.safetensors", folder, below);
    return length >= 0 && (size_t)length < size && access(path, R_OK) == 0;
}

// The weights in the folder FOVEA_DATA, and in no other if it is set, those installed at PREFIX/share/fovea for
// PREFIX/bin/fovea, or those in examples/g2p of a source tree the program lies in; NULL, having said so, if there are
// none.
static const char *find_weights(char *path, size_t size)
{
    static const char *const below[] = {"/../share/fovea",     "/examples/g2p",          "/../examples/g2p",
                                        "/../../examples/g2p", "/../../../examples/g2p", "/../../../../examples/g2p"};
    char program[PATH_MAX] = "";
    const char *const data = cli_setting("FOVEA_DATA");
    if (data) {
        if (has_weights(data, "", path, size))
            return path;
        cli_error("run g2p: no g2p.safetensors to read in FOVEA_DATA, \"%s\"", data);
        return NULL;
    }
    if (readlink("/proc/self/exe", program, sizeof program - 1) > 0)
        *strrchr(program, '/') = '\0';
    for (size_t i = 0; i < sizeof below / sizeof *below; i++)
        if (has_weights(program, below[i], path, size))
            return path;
    cli_error("run g2p: no g2p.safetensors in %s/../share/fovea, or in examples/g2p of %s and four folders above; give "
              "--model FILE, or set FOVEA_DATA to its folder",
              program, program);
    return NULL;
}

static int create(struct g2p *g2p, const struct fovea_engine *engine, const struct fovea_safetensors *file,
                  const char *path)
{
    char message[300] = "";
    struct fovea_transformer_config config;
    if (!read_vocab(file, "fovea.source_vocab", &g2p->letters) ||
        !read_vocab(file, "fovea.target_vocab", &g2p->phones)) {
        cli_error("%s: no vocabularies in its metadata", path);
        return 0;
    }
    g2p->max_source = metadata_size(file, "fovea.max_source");
    g2p->max_target = metadata_size(file, "fovea.max_target");
    if (g2p->max_source < 2 || g2p->max_source > G2P_TOKENS_MAX || g2p->max_target < 2 ||
        g2p->max_target > G2P_TOKENS_MAX) {
        cli_error("%s: fovea.max_source and fovea.max_target must be 2 to %d", path, G2P_TOKENS_MAX);
        return 0;
    }
    const struct fovea_transformer_options options = {.struct_size = sizeof options,
                                                      .workers = 1,
                                                      .batch = G2P_BATCH,
                                                      .beam = g2p->beam,
                                                      .max_source = g2p->max_source,
                                                      .max_target = g2p->max_target,
                                                      .round_s8 = g2p->s8};
    if (fovea_transformer_config_from(file, &config, message, sizeof message) ||
        fovea_transformer_create(engine, file, &config, &options, &g2p->model, message, sizeof message)) {
        cli_error("%s: %s", path, message);
        return 0;
    }
    if (g2p->letters.count != config.source_vocab || g2p->phones.count != config.target_vocab) {
        cli_error("%s: vocabularies of %u and %u tokens, embeddings of %zu and %zu", path, g2p->letters.count,
                  g2p->phones.count, config.source_vocab, config.target_vocab);
        return 0;
    }
    return 1;
}

int g2p_open(struct g2p *g2p, const struct fovea_engine *engine, const char *path)
{
    char found[PATH_MAX], message[300] = "";
    if (!path)
        path = find_weights(found, sizeof found);
    if (!path)
        return 0;
    struct fovea_safetensors *file = NULL;
    if (fovea_safetensors_open(path, &file, message, sizeof message)) {
        cli_error("%s", message);
        return 0;
    }
    const int ok = create(g2p, engine, file, path);
    fovea_safetensors_close(file);
    if (!ok)
        g2p_close(g2p);
    return ok;
}

void g2p_close(struct g2p *g2p)
{
    fovea_transformer_destroy(g2p->model);
    free(g2p->letters.text);
    free(g2p->letters.tokens);
    free(g2p->phones.text);
    free(g2p->phones.tokens);
    *g2p = (struct g2p){0};
}

static uint32_t letter_id(const struct g2p *g2p, char c)
{
    const char token[2] = {(char)tolower((unsigned char)c), '\0'};
    return id_of(&g2p->letters, token);
}

// An apostrophe is passed over where the model knows none, as its dictionary has none: don't is read as dont.
static int silent(const struct g2p *g2p, char c)
{
    return c == '\'' && letter_id(g2p, c) == UINT32_MAX;
}

const char *g2p_refuse(const struct g2p *g2p, const char *word)
{
    if (!*word)
        return "an empty word";
    if (strlen(word) + 1 > g2p->max_source)
        return "too long";
    for (const char *c = word; *c; c++)
        if (letter_id(g2p, *c) == UINT32_MAX && !silent(g2p, *c))
            return "it has a character that is not in the model's alphabet";
    return NULL;
}

int g2p_convert(struct g2p *g2p, const char *const *words, size_t count, struct g2p_result *results)
{
    const struct fovea_transformer_config *const config = fovea_transformer_config_of(g2p->model);
    uint32_t tokens[G2P_BATCH * G2P_TOKENS_MAX], lens[G2P_BATCH];
    struct fovea_hypothesis found[G2P_BATCH];
    size_t longest = 1;
    for (size_t i = 0; i < count; i++)
        longest = strlen(words[i]) + 1 > longest ? strlen(words[i]) + 1 : longest; // and eos
    for (size_t i = 0; i < count; i++) {
        uint32_t *const row = tokens + i * longest;
        lens[i] = 0;
        for (const char *c = words[i]; *c; c++)
            if (!silent(g2p, *c))
                row[lens[i]++] = letter_id(g2p, *c);
        row[lens[i]++] = config->eos;
        for (size_t j = lens[i]; j < longest; j++)
            row[j] = config->pad;
    }
    const enum fovea_status status =
        fovea_transformer_search(g2p->model, count, longest, tokens, lens, g2p->beam, found, NULL);
    if (status) {
        cli_error("run g2p: %s", fovea_status_string(status));
        return 0;
    }
    for (size_t i = 0; i < count; i++) {
        results[i].score = found[i].score;
        results[i].count = found[i].len;
        memcpy(results[i].phones, found[i].tokens, found[i].len * sizeof *found[i].tokens);
    }
    return 1;
}
