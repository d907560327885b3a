// SPDX-License-Identifier: Apache-2.0
// cli/g2p.c - fovea run g2p: English words to phonemes.
#include "cli/g2p.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char help[] = "usage: fovea run g2p [OPTIONS] [WORD...]\n\n"
                           "Prints the phonemes of English words. Without words as arguments they are read\n"
                           "from standard input, one or more on a line.\n\n"
                           "  --beam N       width of the beam search, 1 to 32 (default 5; 1 is greedy)\n"
                           "  --s8           weights rounded to 8-bit integers: a quarter of the memory\n"
                           "  --json         one JSON object for each word\n"
                           "  --model FILE   weights (default: g2p.safetensors in the folder FOVEA_DATA\n"
                           "                 if that is set, else as installed with this program, else in\n"
                           "                 examples/g2p of a source tree this program lies in)\n"
                           "  --eval [FILE]  word and phone error rates: the test split of the installed\n"
                           "                 dictionary (Debian's festlex-cmu), or all words of FILE, a\n"
                           "                 lexicon of the same form\n"
                           "  --split NAME   with --eval without FILE: test (default), dev or train\n\n"
                           "examples:\n"
                           "  fovea run g2p hello transformer attention\n"
                           "  fovea run g2p --json < words.txt\n"
                           "  fovea run g2p --eval --beam 1\n";

static const char dictionary_path[] = "/usr/share/festival/dicts/cmu/cmudict-0.4.out";

struct options {
    uint64_t beam;
    bool json, eval, s8;
    unsigned split;
    const char *model, *file;
    char **words;
    size_t count;
};

// Words wait here until a batch is full.
struct queue {
    struct g2p *g2p;
    int json, refused;
    char *words[G2P_BATCH];
    size_t count;
    const char *unit;   // what done and total count, for the progress bar
    size_t done, total; // total 0: not known
};

static void print_result(const struct queue *queue, const char *word, const struct g2p_result *result)
{
    const char *const *const tokens = queue->g2p->phones.tokens;
    if (queue->json) {
        printf("{\"word\": ");
        cli_json_string(stdout, word);
        printf(", \"phones\": [");
        for (size_t i = 0; i < result->count; i++) {
            fputs(i ? ", " : "", stdout);
            cli_json_string(stdout, tokens[result->phones[i]]);
        }
        printf("], \"log_prob\": %.6f}\n", (double)result->score);
    } else {
        printf("%s\t", word);
        for (size_t i = 0; i < result->count; i++)
            printf("%s%s", i ? " " : "", tokens[result->phones[i]]);
        putchar('\n');
    }
}

// Returns 0 where the model failed, having said so, or where stdout cannot be written, which main says.
static int flush(struct queue *queue)
{
    struct g2p_result results[G2P_BATCH];
    const char *words[G2P_BATCH];
    for (size_t i = 0; i < queue->count; i++)
        words[i] = queue->words[i];
    const int ok = queue->count == 0 || g2p_convert(queue->g2p, words, queue->count, results);
    for (size_t i = 0; i < queue->count; i++) {
        if (ok)
            print_result(queue, queue->words[i], &results[i]);
        free(queue->words[i]);
    }
    queue->count = 0;
    if (fflush(stdout) != 0)
        return 0;
    cli_progress(queue->unit, queue->done, queue->total);
    return ok;
}

static int push(struct queue *queue, const char *word, size_t length)
{
    const char *const why = strlen(word) != length ? "it has a NUL byte" : g2p_refuse(queue->g2p, word);
    if (why) {
        cli_error("run g2p: \"%.60s\": %s", word, why);
        queue->refused = 1;
        return 1;
    }
    queue->words[queue->count] = malloc(length + 1);
    if (!queue->words[queue->count]) {
        cli_error("run g2p: no memory");
        return 0;
    }
    memcpy(queue->words[queue->count++], word, length + 1);
    return queue->count < G2P_BATCH || flush(queue);
}

static int push_arguments(struct queue *queue, const struct options *options)
{
    queue->unit = "words";
    queue->total = options->count > G2P_BATCH ? options->count : 0;
    for (; queue->done < options->count; queue->done++)
        if (!push(queue, options->words[queue->done], strlen(options->words[queue->done])))
            return 0;
    return 1;
}

// Pushes the words of a line, whose last byte is followed by a NUL; any other NUL belongs to a word.
static int push_line(struct queue *queue, char *line, size_t length)
{
    char *const end = line + length;
    for (char *at = line; at < end; at++) {
        char *const word = at;
        while (at < end && !isspace((unsigned char)*at))
            at++;
        *at = '\0';
        if (at > word && !push(queue, word, (size_t)(at - word)))
            return 0;
    }
    return 1;
}

// Bytes left in a regular file on stdin, of which a shell may have read some; 0 for pipes and terminals.
static size_t stdin_bytes(void)
{
    struct stat st;
    if (fstat(STDIN_FILENO, &st) != 0 || !S_ISREG(st.st_mode))
        return 0;
    const off_t at = lseek(STDIN_FILENO, 0, SEEK_CUR);
    return at >= 0 && at < st.st_size ? (size_t)(st.st_size - at) : 0;
}

static int push_stdin(struct queue *queue)
{
    char *line = NULL;
    size_t size = 0;
    ssize_t length;
    int ok = 1;
    queue->unit = "bytes";
    queue->total = stdin_bytes();
    while (ok && (length = getline(&line, &size, stdin)) >= 0) {
        ok = push_line(queue, line, (size_t)length);
        queue->done += (size_t)length;
    }
    free(line);
    if (ok && !feof(stdin)) {
        cli_error("run g2p: cannot read standard input");
        queue->refused = 1;
    }
    return ok;
}

static int convert_words(struct g2p *g2p, const struct options *options)
{
    struct queue queue = {.g2p = g2p, .json = options->json};
    int ok = options->count ? push_arguments(&queue, options) : push_stdin(&queue);
    ok = ok && flush(&queue);
    return !ok || queue.refused ? CLI_USAGE : CLI_OK;
}

static int evaluate(struct g2p *g2p, const struct options *options)
{
    struct g2p_dictionary dictionary;
    const char *const hint = options->file ? "" : " (Debian: apt-get install festlex-cmu)";
    if (!g2p_dictionary_read(&dictionary, options->file ? options->file : dictionary_path, hint))
        return CLI_USAGE;
    const int code = g2p_evaluate(g2p, &dictionary, options->file ? -1 : (int)options->split, options->json);
    g2p_dictionary_free(&dictionary);
    return code;
}

int cli_run_g2p(int argc, char **argv)
{
    static const char *const splits[] = {[G2P_TRAIN] = "train", [G2P_DEV] = "dev", [G2P_TEST] = "test", NULL};
    enum { UNSAID = G2P_TEST + 1 };
    struct options o = {.beam = 5, .split = UNSAID, .words = argv + 1};
    const struct cli_option options[] = {
        {.name = "--beam", .whole = &o.beam, .low = 1, .high = 32},
        {.name = "--s8", .flag = &o.s8},
        {.name = "--json", .flag = &o.json},
        {.name = "--model", .text = &o.model},
        {.name = "--eval", .flag = &o.eval, .text = &o.file},
        {.name = "--split", .choice = &o.split, .choices = splits},
        {.name = NULL},
    };
    const int left = cli_options("run g2p", help, options, argc, argv);
    if (left <= 0)
        return left < 0 ? CLI_OK : CLI_USAGE;
    o.count = (size_t)left - 1;
    if (o.eval && !o.file && o.count == 1) // --eval FILE
        o.file = o.words[--o.count];
    if (o.eval && o.count)
        return cli_error("run g2p: --eval takes a file and no words");
    if (o.split != UNSAID && (!o.eval || o.file))
        return cli_error("run g2p: --split goes with --eval without FILE");
    o.split = o.split == UNSAID ? G2P_TEST : o.split;
    struct fovea_engine *const engine = cli_engine(0);
    if (!engine)
        return CLI_USAGE;
    struct g2p g2p = {.beam = (size_t)o.beam, .s8 = o.s8};
    int code = CLI_USAGE;
    if (g2p_open(&g2p, engine, o.model)) {
        code = o.eval ? evaluate(&g2p, &o) : convert_words(&g2p, &o);
        g2p_close(&g2p);
    }
    fovea_engine_destroy(engine);
    return code;
}
