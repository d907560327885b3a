// SPDX-License-Identifier: Apache-2.0
// cli/replace.c - a file written beside its place and then put there.
#include "cli/cli.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

// The file has the rights of the one that it replaces, else those of a new one: those of a temporary one are fewer.
static void take_rights(int descriptor, const char *place)
{
    struct stat old;
    const mode_t mask = umask(0);
    umask(mask);
    fchmod(descriptor, stat(place, &old) == 0 ? old.st_mode & 0777 : 0666 & ~mask);
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

// Whether an old file is kept until the new one is whole, and where that is put: links to files are followed, and stay
// links. A pipe or a device has nothing to keep, and is written where it is, as is a file without a name (/dev/stdout).
static bool is_kept(const char *path, char place[PATH_MAX])
{
    struct stat there;
    if (stat(path, &there) == 0)
        return S_ISREG(there.st_mode) && realpath(path, place);
    snprintf(place, PATH_MAX, "%s", path);
    return true;
}

bool cli_can_replace(const char *command, const char *path)
{
    char place[PATH_MAX], beside[PATH_MAX];
    struct stat there;
    int wrong = 0;
    if (is_kept(path, place)) {
        const int descriptor = make_beside(place, beside);
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

// Writes a new file beside `place` and renames it; what went wrong, or 0.
static int replace(const char *place, cli_fill *fill, const void *arg)
{
    char beside[PATH_MAX];
    const int descriptor = make_beside(place, beside);
    if (descriptor < 0)
        return errno;
    FILE *const file = fdopen(descriptor, "w");
    int wrong = file ? 0 : errno;
    if (file) {
        take_rights(descriptor, place);
        wrong = fill_file(file, fill, arg);
        if (fclose(file) != 0 && !wrong)
            wrong = errno;
    } else {
        close(descriptor);
    }
    if (!wrong && rename(beside, place) != 0)
        wrong = errno;
    if (wrong)
        unlink(beside);
    return wrong;
}

// Writes where it is; what went wrong, or 0.
static int overwrite(const char *path, cli_fill *fill, const void *arg)
{
    FILE *const file = fopen(path, "we");
    if (!file)
        return errno;
    const int wrong = fill_file(file, fill, arg);
    return fclose(file) != 0 && !wrong ? errno : wrong;
}

int cli_replace(const char *command, const char *path, cli_fill *fill, const void *arg)
{
    char place[PATH_MAX];
    const int wrong = strcmp(path, "-") == 0 ? fill_file(stdout, fill, arg)
                      : is_kept(path, place) ? replace(place, fill, arg)
                                             : overwrite(path, fill, arg);
    return wrong ? cli_error("%s: %s: %s", command, path, strerror(wrong)) : CLI_OK;
}
