// SPDX-License-Identifier: Apache-2.0
// cli/g2p_eval.c - word and phone error rates over a dictionary.
//
// A word is right if the result equals any listed pronunciation. Phone errors are the edit distance to the nearest
// one (the first on a tie), summed over all words and divided by the summed lengths of those references.
#include "cli/g2p.h"

#include <string.h>
#include <time.h>

// Edit distance between phones and a blank-separated reference of any length, and the length of the reference.
static size_t edit_distance(const char *const *phones, size_t count, const char *reference, size_t *reference_length)
{
    size_t row[G2P_TOKENS_MAX + 1], n = 0;
    for (size_t j = 0; j <= count; j++)
        row[j] = j;
    for (const char *at = reference; *at; at += *at == ' ') {
        const size_t length = strcspn(at, " ");
        size_t diagonal = row[0];
        row[0] = ++n;
        for (size_t j = 1; j <= count; j++) {
            const int same = strlen(phones[j - 1]) == length && memcmp(phones[j - 1], at, length) == 0;
            size_t best = diagonal + !same;
            best = row[j] + 1 < best ? row[j] + 1 : best;
            best = row[j - 1] + 1 < best ? row[j - 1] + 1 : best;
            diagonal = row[j];
            row[j] = best;
        }
        at += length;
    }
    *reference_length = n;
    return row[count];
}

struct tally {
    size_t words, wrong, errors, length, refused;
};

static void count_word(const struct g2p *g2p, const struct g2p_entry *entry, const struct g2p_result *result,
                       struct tally *tally)
{
    const char *phones[G2P_TOKENS_MAX];
    for (size_t i = 0; i < result->count; i++)
        phones[i] = g2p->phones.tokens[result->phones[i]];
    size_t nearest = SIZE_MAX, nearest_length = 0;
    for (size_t i = 0; i < entry->count; i++) {
        size_t length;
        const size_t distance = edit_distance(phones, result->count, entry->pronunciations[i], &length);
        if (distance < nearest) {
            nearest = distance;
            nearest_length = length;
        }
    }
    tally->words++;
    tally->wrong += nearest > 0;
    tally->errors += nearest;
    tally->length += nearest_length;
}

static int convert_batch(struct g2p *g2p, const struct g2p_entry *const *batch, size_t count, struct tally *tally)
{
    const char *words[G2P_BATCH] = {NULL};
    struct g2p_result results[G2P_BATCH];
    for (size_t i = 0; i < count; i++)
        words[i] = batch[i]->word;
    if (!g2p_convert(g2p, words, count, results))
        return 0;
    for (size_t i = 0; i < count; i++)
        count_word(g2p, batch[i], &results[i], tally);
    return 1;
}

static void print(const struct g2p *g2p, const struct tally *t, double seconds, const char *split_name, int json)
{
    const double wer = 100.0 * (double)t->wrong / (double)t->words;
    const double per = 100.0 * (double)t->errors / (double)t->length;
    if (json)
        printf("{\"split\": \"%s\", \"words\": %zu, \"refused\": %zu, \"beam\": %zu, \"wer\": %.4f, \"per\": %.4f}\n",
               split_name, t->words, t->refused, g2p->beam, wer, per);
    else
        printf("%s: %zu words, beam %zu: WER %.2f %%, PER %.2f %%  (%.1f s, %.0f words/s; %zu refused)\n", split_name,
               t->words, g2p->beam, wer, per, seconds, (double)t->words / seconds, t->refused);
}

int g2p_evaluate(struct g2p *g2p, const struct g2p_dictionary *dictionary, int split_wanted, int json)
{
    static const char *const names[] = {"train", "dev", "test"};
    const struct g2p_entry *batch[G2P_BATCH];
    struct tally tally = {0};
    struct timespec begin, end;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    size_t count = 0;
    for (size_t i = 0; i < dictionary->count; i++) {
        const struct g2p_entry *const entry = &dictionary->entries[i];
        const int wanted = split_wanted < 0 || (int)g2p_split_of(entry->word) == split_wanted;
        const int refused = wanted && g2p_refuse(g2p, entry->word) != NULL;
        tally.refused += refused;
        if (wanted && !refused)
            batch[count++] = entry;
        if (count == G2P_BATCH || (count && i + 1 == dictionary->count)) {
            if (!convert_batch(g2p, batch, count, &tally))
                return CLI_USAGE;
            count = 0;
            cli_progress("evaluating", i + 1, dictionary->count);
        }
    }
    clock_gettime(CLOCK_MONOTONIC, &end);
    if (tally.words == 0)
        return cli_error("run g2p: no words to evaluate, %zu refused", tally.refused);
    const double seconds = (double)(end.tv_sec - begin.tv_sec) + 1e-9 * (double)(end.tv_nsec - begin.tv_nsec);
    print(g2p, &tally, seconds, split_wanted < 0 ? "all" : names[split_wanted], json);
    return CLI_OK;
}
