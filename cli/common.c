// SPDX-License-Identifier: Apache-2.0
// cli/common.c - errors, engine, JSON strings, progress.
#include "cli/cli.h"

#include <stdarg.h>
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

void cli_json_string(FILE *file, const char *text)
{
    fputc('"', file);
    for (const unsigned char *c = (const unsigned char *)text; *c; c++) {
        if (*c == '"' || *c == '\\')
            fprintf(file, "\\%c", *c);
        else if (*c < 0x20)
            fprintf(file, "\\u%04x", *c);
        else
            fputc(*c, file);
    }
    fputc('"', file);
}

void cli_progress(const char *what, size_t done, size_t total)
{
    enum { WIDTH = 40 };
    static const char bar[WIDTH + 1] = "########################################";
    if (!isatty(STDERR_FILENO) || total == 0)
        return;
    const int filled = (int)(done * WIDTH / total);
    fprintf(stderr, "\r%s [%-*.*s] %zu/%zu", what, WIDTH, filled, bar, done, total);
    if (done == total)
        fputc('\n', stderr);
}
