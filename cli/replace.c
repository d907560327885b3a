// SPDX-License-Identifier: Apache-2.0
// cli/replace.c - what a command writes where its option says: a file, a pipe, a device or standard output.
#include "cli/cli.h"
#include "tune/replace.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

// A pipe or a device has no old content to keep, and is written where it is, as is a file without a name (/dev/stdout).
bool cli_can_replace(const char *command, const char *path)
{
    char place[PATH_MAX];
    struct stat there;
    int wrong = replace_place(path, place);
    if (!wrong)
        wrong = replace_possible(place);
    else if (stat(path, &there) == 0 && !S_ISDIR(there.st_mode))
        wrong = access(path, W_OK) == 0 ? 0 : errno;
    return !wrong || (cli_error("%s: %s: %s", command, path, strerror(wrong)), false);
}

// Writes where it is; what went wrong, or 0.
static int overwrite(const char *path, cli_fill *fill, const void *arg)
{
    FILE *const file = fopen(path, "we");
    if (!file)
        return errno;
    const int wrong = replace_filled(file, fill, arg);
    return fclose(file) != 0 && !wrong ? errno : wrong;
}

int cli_replace(const char *command, const char *path, cli_fill *fill, const void *arg)
{
    char place[PATH_MAX];
    const int wrong = strcmp(path, "-") == 0            ? replace_filled(stdout, fill, arg)
                      : replace_place(path, place) == 0 ? replace_file(place, 0, fill, arg)
                                                        : overwrite(path, fill, arg);
    return wrong ? cli_error("%s: %s: %s", command, path, strerror(wrong)) : CLI_OK;
}

bool cli_are_apart(const char *command, const char *option, const char *path, const char *other, const char *what)
{
    if (!path || !other || !replace_same(path, other))
        return true;
    return cli_error("%s: %s %s: %s", command, option, path, what), false;
}
