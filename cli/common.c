// SPDX-License-Identifier: Apache-2.0
// cli/common.c - errors, options, engine, settings, numbers of things, JSON strings, progress.
#include "cli/cli.h"
#include "dispatch/environment.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

int cli_error(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fputs("fovea: ", stderr);
    vfprintf(stderr, format, args);
    fputc('\n', stderr);
    va_end(args);
    return CLI_USAGE;
}

bool cli_wants_help(const char *argument)
{
    return strcmp(argument, "--help") == 0 || strcmp(argument, "-h") == 0;
}

bool cli_whole(const char **text, uint64_t *value)
{
    const char *at = *text;
    bool fits = true;
    *value = 0;
    for (; isdigit((unsigned char)*at); at++)
        fits &= !__builtin_mul_overflow(*value, 10, value) && !__builtin_add_overflow(*value, *at - '0', value);
    const bool any = at > *text;
    *text = at;
    return any && fits;
}

static bool read_whole(const struct cli_option *option, const char *text)
{
    uint64_t value;
    if (!cli_whole(&text, &value) || *text || (double)value < option->low || (double)value > option->high)
        return false;
    *option->whole = value;
    return true;
}

static bool read_number(const struct cli_option *option, const char *text)
{
    char *end;
    double value = strtod(text, &end);
    if (option->percent && end != text && *end == '%') {
        value /= 100;
        end++;
    } else if (option->percent && value >= 1) {
        return false; // 5 is more likely meant as 5 % than as 500 %
    }
    if (end == text || *end || !(value >= option->low && value <= option->high)) // NaN is neither
        return false;
    *option->number = value;
    return true;
}

static bool read_choice(const struct cli_option *option, const char *text)
{
    for (unsigned i = 0; option->choices[i]; i++)
        if (strcmp(text, option->choices[i]) == 0) {
            *option->choice = i;
            return true;
        }
    return false;
}

// "quick, install or exhaustive", in 200 bytes.
static const char *name_choices(const char *const *choices, char *text)
{
    size_t used = 0;
    for (size_t i = 0; choices[i] && used < 200; i++)
        used += (size_t)snprintf(text + used, 200 - used, "%s%s",
                                 i == 0           ? ""
                                 : choices[i + 1] ? ", "
                                                  : " or ",
                                 choices[i]);
    return text;
}

// Gives an option its value; false having said what it takes.
static bool take_value(const char *command, const struct cli_option *option, const char *value)
{
    char words[200];
    if (option->text) {
        if (*value == '\0')
            return cli_error("%s: %s wants a value", command, option->name), false;
        *option->text = value;
    } else if (option->list) {
        if (option->list->count == CLI_LIST)
            return cli_error("%s: %s is given more than %d times", command, option->name, CLI_LIST), false;
        option->list->items[option->list->count++] = value;
    } else if (option->choice) {
        if (!read_choice(option, value))
            return cli_error("%s: %s takes %s, not \"%s\"", command, option->name, name_choices(option->choices, words),
                             value),
                   false;
    } else if (option->percent) {
        if (!read_number(option, value))
            return cli_error("%s: %s takes a percentage from %.15g%% to %.15g%%, or a fraction below 1, not \"%s\"",
                             command, option->name, 100 * option->low, 100 * option->high, value),
                   false;
    } else if (!(option->whole ? read_whole : read_number)(option, value)) {
        return cli_error("%s: %s takes a %snumber from %.15g to %.15g, not \"%s\"", command, option->name,
                         option->whole ? "whole " : "", option->low, option->high, value),
               false;
    }
    return true;
}

static const struct cli_option *find_option(const struct cli_option *options, const char *name, size_t length)
{
    for (; options->name; options++)
        if (strlen(options->name) == length && memcmp(options->name, name, length) == 0)
            return options;
    return NULL;
}

int cli_options(const char *command, const char *help, const struct cli_option *options, int argc, char **argv)
{
    int left = 1;
    for (int i = 1; i < argc; i++) {
        if (cli_wants_help(argv[i])) {
            fputs(help, stdout);
            return -1;
        }
        if (argv[i][0] != '-' || argv[i][1] == '\0' || isdigit((unsigned char)argv[i][1])) {
            argv[left++] = argv[i];
            continue;
        }
        const size_t length = strcspn(argv[i], "=");
        const struct cli_option *const option = find_option(options, argv[i], length);
        const char *value = argv[i][length] ? argv[i] + length + 1 : NULL;
        if (!option)
            return cli_error("%s: unknown option \"%s\"; --help lists them", command, argv[i]), 0;
        if (option->flag) {
            *option->flag = true;
            if (!value)
                continue;
            if (!option->text)
                return cli_error("%s: %s takes no value", command, option->name), 0;
        }
        if (!value && i + 1 < argc) {
            value = argv[++i];
            if (strcmp(value, "--help") == 0) { // a file of that name is --db=--help
                fputs(help, stdout);
                return -1;
            }
        }
        if (!value)
            return cli_error("%s: %s wants a value", command, option->name), 0;
        if (!take_value(command, option, value))
            return 0;
    }
    return left;
}

int cli_only_options(const char *command, const char *help, const struct cli_option *options, int argc, char **argv)
{
    const int left = cli_options(command, help, options, argc, argv);
    return left > 1 ? cli_error("%s: unexpected argument \"%s\"; --help tells more", command, argv[1]), 0 : left;
}

struct fovea_engine *cli_engine(uint32_t workers)
{
    char message[200] = "";
    struct fovea_engine_options options = FOVEA_ENGINE_OPTIONS_INIT;
    options.workers = workers;
    options.message = message;
    options.message_size = sizeof message;
    struct fovea_engine *engine = NULL;
    const enum fovea_status status = fovea_engine_create(&options, &engine);
    if (status)
        cli_error("%s", *message ? message : fovea_status_string(status));
    return engine;
}

const char *const cli_settings[] = {"FOVEA_ISA",
                                    "FOVEA_PIN",
                                    "FOVEA_EXCLUDE",
                                    "FOVEA_PROFILE",
                                    "FOVEA_CACHES",
                                    "FOVEA_NUM_THREADS", // of the BLAS front end
                                    NULL};

const char *cli_setting(const char *name)
{
    const char *const text = fovea_environment(name);
    return text && *text ? text : NULL;
}

const char *cli_things(char text[CLI_THINGS], uint64_t count, const char *thing)
{
    const size_t length = strlen(thing);
    const char *const plural = count == 1 ? "" : thing[length - 1] == 's' ? "es" : "s";
    snprintf(text, CLI_THINGS, "%" PRIu64 " %s%s", count, thing, plural);
    return text;
}

// How many bytes of UTF-8 a character has, or 0 where these are none: a path, say, in Latin-1. Overlong forms,
// surrogates and what is beyond U+10FFFF are none.
static size_t utf8_length(const unsigned char *c)
{
    const size_t length = *c < 0x80 ? 1 : *c < 0xc2 ? 0 : *c < 0xe0 ? 2 : *c < 0xf0 ? 3 : *c < 0xf5 ? 4 : 0;
    for (size_t i = 1; i < length; i++)
        if ((c[i] & 0xc0) != 0x80)
            return 0;
    const bool wrong = (*c == 0xe0 && c[1] < 0xa0) || (*c == 0xed && c[1] > 0x9f) || (*c == 0xf0 && c[1] < 0x90) ||
                       (*c == 0xf4 && c[1] > 0x8f);
    return wrong ? 0 : length;
}

void cli_json_string(FILE *file, const char *text)
{
    fputc('"', file);
    for (const unsigned char *c = (const unsigned char *)text; *c;) {
        const size_t length = utf8_length(c);
        if (length == 0)
            fputs("\\ufffd", file);
        else if (*c == '"' || *c == '\\')
            fprintf(file, "\\%c", *c);
        else if (*c < 0x20)
            fprintf(file, "\\u%04x", *c);
        else
            fwrite(c, 1, length, file);
        c += length ? length : 1;
    }
    fputc('"', file);
}

int cli_columns(void)
{
    struct winsize size;
    return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col != 0 ? size.ws_col : CLI_COLUMNS;
}

void cli_progress(const char *what, size_t done, size_t total)
{
    enum { WIDTH = 40 };
    static const char bar[WIDTH + 1] = "########################################";
    if (!isatty(STDERR_FILENO) || total == 0)
        return;
    char count[48], line[200];
    const int length = snprintf(count, sizeof count, "] %zu/%zu", done, total), columns = cli_columns() - 1,
              room = columns - length - (int)strlen(what) - 2,
              width = room < 0       ? 0
                      : room < WIDTH ? room
                                     : WIDTH;
    snprintf(line, sizeof line, "%s [%-*.*s%s", what, width, (int)(done * (size_t)width / total), bar, count);
    fprintf(stderr, "\r%.*s", columns, line); // what wraps cannot be overwritten
    if (done == total)
        fputc('\n', stderr);
}
