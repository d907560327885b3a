// SPDX-License-Identifier: Apache-2.0
// cli/replace.c - a file written beside its place and then put there.
#include "cli/cli.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

// The file has the rights of a new one, not those of a temporary one.
static void open_to_readers(int descriptor)
{
    const mode_t mask = umask(0);
    umask(mask);
    fchmod(descriptor, 0666 & ~mask);
}

// Returns a descriptor of a new file beside path, or -1 with errno.
static int make_beside(const char *path, char beside[PATH_MAX])
{
    if ((size_t)snprintf(beside, PATH_MAX, "%s.XXXXXX", path) >= PATH_MAX) {
        errno = ENAMETOOLONG;
        return -1;
    }
    return mkstemp(beside);
}

// A pipe or a device has nothing to keep, and is written where it is.
static bool is_kept(const char *path)
{
    struct stat there;
    return stat(path, &there) != 0 || S_ISREG(there.st_mode);
}

bool cli_can_replace(const char *command, const char *path)
{
    char beside[PATH_MAX];
    struct stat there;
    int wrong = 0;
    if (is_kept(path)) {
        const int descriptor = make_beside(path, beside);
        wrong = descriptor < 0 ? errno : 0;
        if (descriptor >= 0) {
            close(descriptor);
            unlink(beside);
        }
    } else if (stat(path, &there) == 0 && S_ISDIR(there.st_mode)) {
        wrong = EISDIR;
    } else if (access(path, W_OK) != 0) {
        wrong = errno;
    }
    return !wrong || (cli_error("%s: %s: %s", command, path, strerror(wrong)), false);
}

// What went wrong, to be said after the file is closed; 0: nothing.
static int fill_file(FILE *file, cli_fill *fill, const void *arg)
{
    errno = 0;
    if (!fill(file, arg))
        errno = ENOMEM;
    else if (fflush(file) == 0 && !ferror(file))
        return 0;
    return errno ? errno : EIO;
}

static int replace(const char *command, const char *path, cli_fill *fill, const void *arg)
{
    char beside[PATH_MAX];
    const int descriptor = make_beside(path, beside);
    FILE *const file = descriptor < 0 ? NULL : fdopen(descriptor, "w");
    if (!file)
        return cli_error("%s: %s: %s", command, path, strerror(errno));
    open_to_readers(descriptor);
    int wrong = fill_file(file, fill, arg);
    if (fclose(file) != 0 && !wrong)
        wrong = errno;
    if (!wrong && rename(beside, path) != 0)
        wrong = errno;
    if (!wrong)
        return CLI_OK;
    unlink(beside);
    return cli_error("%s: %s: %s", command, path, strerror(wrong));
}

int cli_replace(const char *command, const char *path, cli_fill *fill, const void *arg)
{
    const bool standard = strcmp(path, "-") == 0;
    if (!standard && is_kept(path))
        return replace(command, path, fill, arg);
    FILE *const file = standard ? stdout : fopen(path, "we");
    if (!file)
        return cli_error("%s: %s: %s", command, path, strerror(errno));
    int wrong = fill_file(file, fill, arg);
    if (!standard && fclose(file) != 0 && !wrong)
        wrong = errno;
    return wrong ? cli_error("%s: %s: %s", command, path, strerror(wrong)) : CLI_OK;
}
