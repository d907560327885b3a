// SPDX-License-Identifier: Apache-2.0
// cli/g2p_dictionary.c - reads the pronouncing dictionary the model is measured on (Debian's festlex-cmu).
//
// A line is ("abandon" nil (((ax) 0) ((b ae n) 1) ((d ax n) 0))): syllables of phones, each with its stress. Stress and
// syllables are dropped; a word counts once and has all its pronunciations.
#include "cli/g2p.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum g2p_split g2p_split_of(const char *word)
{
    uint32_t hash = 2166136261u; // FNV-1a
    for (const unsigned char *c = (const unsigned char *)word; *c; c++)
        hash = (hash ^ *c) * 16777619u;
    const uint32_t bucket = hash % 100;
    return bucket < 90 ? G2P_TRAIN : bucket < 95 ? G2P_DEV : G2P_TEST;
}

static char *copy_of(const char *text, size_t length)
{
    char *const copy = malloc(length + 1);
    if (copy) {
        memcpy(copy, text, length);
        copy[length] = '\0';
    }
    return copy;
}

// The word between the quotes, lower-cased in place; NULL where it has other characters than letters and apostrophes.
static char *word_of(char *line, char **rest)
{
    if (strncmp(line, "(\"", 2) != 0)
        return NULL;
    char *const word = line + 2;
    char *const end = strchr(word, '"');
    if (!end || end == word)
        return NULL;
    *end = '\0';
    *rest = end + 1;
    for (char *c = word; *c; c++) {
        *c = (char)tolower((unsigned char)*c);
        if (!islower((unsigned char)*c) && *c != '\'')
            return NULL;
    }
    return word;
}

// The phones behind the part of speech, with single blanks between them, written over the text itself.
static char *phones_of(char *text)
{
    char *const out = strchr(text, '('), *to = out;
    if (!out)
        return NULL;
    for (const char *c = out; *c; c++) {
        if (!islower((unsigned char)*c))
            continue;
        if (to != out)
            *to++ = ' ';
        for (; islower((unsigned char)*c); c++)
            *to++ = *c;
    }
    *to = '\0';
    return out;
}

static int add(struct g2p_dictionary *dictionary, size_t *capacity, const char *word, const char *phones)
{
    if (dictionary->count == *capacity) {
        const size_t more = *capacity ? 2 * *capacity : 1 << 16;
        struct g2p_entry *const grown = realloc(dictionary->entries, more * sizeof *grown);
        if (!grown)
            return 0;
        dictionary->entries = grown;
        *capacity = more;
    }
    struct g2p_entry entry = {copy_of(word, strlen(word)), malloc(sizeof(char *)), 1};
    if (entry.pronunciations)
        entry.pronunciations[0] = copy_of(phones, strlen(phones));
    dictionary->entries[dictionary->count++] = entry;
    return entry.word && entry.pronunciations && entry.pronunciations[0];
}

// Orders by word; equal words keep the order of the file, which decides ties between pronunciations.
static int compare(const void *a, const void *b)
{
    const struct g2p_entry *const x = a, *const y = b;
    const int order = strcmp(x->word, y->word);
    return order ? order : (x->count > y->count) - (x->count < y->count);
}

static void free_entry(struct g2p_entry *entry)
{
    for (size_t i = 0; entry->pronunciations && i < entry->count; i++)
        free(entry->pronunciations[i]);
    free(entry->pronunciations);
    free(entry->word);
}

// Moves the pronunciation of `from` into `into` unless it is there already.
static int absorb(struct g2p_entry *into, struct g2p_entry *from)
{
    for (size_t i = 0; i < into->count; i++)
        if (strcmp(into->pronunciations[i], from->pronunciations[0]) == 0) {
            free_entry(from);
            return 1;
        }
    char **const grown = realloc(into->pronunciations, (into->count + 1) * sizeof *grown);
    if (!grown)
        return 0;
    into->pronunciations = grown;
    into->pronunciations[into->count++] = from->pronunciations[0];
    free(from->pronunciations);
    free(from->word);
    return 1;
}

// Sorts and makes one entry of each word's lines.
static int merge(struct g2p_dictionary *dictionary)
{
    if (dictionary->count == 0)
        return 1; // qsort takes no NULL
    // While sorting, count holds the line's number, so that the sort is stable.
    for (size_t i = 0; i < dictionary->count; i++)
        dictionary->entries[i].count = i;
    qsort(dictionary->entries, dictionary->count, sizeof *dictionary->entries, compare);
    size_t last = 0;
    int ok = 1;
    for (size_t i = 0; i < dictionary->count; i++) {
        struct g2p_entry *const entry = &dictionary->entries[i];
        entry->count = 1;
        if (i == 0)
            continue;
        if (strcmp(entry->word, dictionary->entries[last].word) == 0)
            ok &= absorb(&dictionary->entries[last], entry);
        else
            dictionary->entries[++last] = *entry;
    }
    dictionary->count = last + 1;
    return ok;
}

int g2p_dictionary_read(struct g2p_dictionary *dictionary, const char *path, const char *hint)
{
    *dictionary = (struct g2p_dictionary){0};
    FILE *const file = fopen(path, "re");
    if (!file) {
        cli_error("%s: cannot be opened: %s%s", path, strerror(errno), hint);
        return 0;
    }
    char *line = NULL;
    size_t size = 0, capacity = 0;
    int ok = 1;
    while (ok && getline(&line, &size, file) >= 0) {
        if (line[0] != '(')
            continue; // the heading
        char *rest, *const word = word_of(line, &rest), *const phones = word ? phones_of(rest) : NULL;
        if (phones && *phones)
            ok = add(dictionary, &capacity, word, phones);
        else
            dictionary->dropped++;
    }
    const char *const unread = ferror(file) ? strerror(errno) : NULL; // of a part no rates are told
    free(line);
    fclose(file);
    ok = ok && merge(dictionary);
    if (!ok || unread || dictionary->count == 0) {
        cli_error("%s: %s", path, !ok ? "no memory" : unread ? unread : "no entries; is it a Festival lexicon?");
        g2p_dictionary_free(dictionary);
        return 0;
    }
    return 1;
}

void g2p_dictionary_free(struct g2p_dictionary *dictionary)
{
    for (size_t i = 0; i < dictionary->count; i++)
        free_entry(&dictionary->entries[i]);
    free(dictionary->entries);
    *dictionary = (struct g2p_dictionary){0};
}
