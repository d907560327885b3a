// SPDX-License-Identifier: Apache-2.0
// cli/g2p.h - grapheme-to-phoneme conversion: the model, the dictionary it is measured on, the measure.
#ifndef FOVEA_CLI_G2P_H
#define FOVEA_CLI_G2P_H

#include "cli/cli.h"

enum { G2P_BATCH = 64, G2P_TOKENS_MAX = 128 };

/// A vocabulary as the weights' metadata has it: strings separated by blanks, in the order of their ids.
struct g2p_vocab {
    char *text; ///< owned; each token NUL-terminated
    const char **tokens;
    uint32_t count;
};

struct g2p {
    struct fovea_transformer *model;
    struct g2p_vocab letters, phones;
    size_t beam;
    bool s8;                       ///< weights are rounded to 8 bits
    size_t max_source, max_target; ///< tokens
};

/// Loads weights from path; NULL finds those in FOVEA_DATA, installed with this program, or in the tree it lies in.
/// beam and s8 are set before. Says what is wrong and returns 0 on failure.
int g2p_open(struct g2p *g2p, const struct fovea_engine *engine, const char *path);
void g2p_close(struct g2p *g2p);

/// Why a word cannot be converted, or NULL: its letters must be the model's, and not too many.
const char *g2p_refuse(const struct g2p *g2p, const char *word);

/// One converted word: phone ids in the model's vocabulary.
struct g2p_result {
    uint32_t phones[G2P_TOKENS_MAX];
    size_t count;
    float score; ///< log-probability
};
/// Converts count <= G2P_BATCH words, none of them refused. Case does not matter. Returns 0 on failure, having said so.
int g2p_convert(struct g2p *g2p, const char *const *words, size_t count, struct g2p_result *results);

/// One word of a pronouncing dictionary with all its pronunciations, as lines of the file.
struct g2p_entry {
    char *word;
    char **pronunciations; ///< phones separated by single blanks
    size_t count;
};
struct g2p_dictionary {
    struct g2p_entry *entries; ///< sorted by word
    size_t count, dropped;     ///< dropped: lines whose word has other characters than letters and apostrophes
};
/// Reads a Festival lexicon ("("word" pos ((phones) stress) ...)" lines). Returns 0, having said why, on failure: hint
/// stands behind the line that it cannot be opened.
int g2p_dictionary_read(struct g2p_dictionary *dictionary, const char *path, const char *hint);
void g2p_dictionary_free(struct g2p_dictionary *dictionary);

/// The split a word belongs to: FNV-1a (32 bits) of its bytes modulo 100: 0-89 train, 90-94 dev, 95-99 test.
enum g2p_split { G2P_TRAIN, G2P_DEV, G2P_TEST };
enum g2p_split g2p_split_of(const char *word);

/// fovea run g2p --eval: converts the words of dictionary (those of split, or all for split < 0) and prints WER, PER.
int g2p_evaluate(struct g2p *g2p, const struct g2p_dictionary *dictionary, int split, int json);

#endif
