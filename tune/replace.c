// SPDX-License-Identifier: Apache-2.0
// tune/replace.c - writes a new file next to the old one, and renames it.
#include "tune/replace.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int replace_place(const char *path, char place[PATH_MAX])
{
    struct stat there;
    if (stat(path, &there) != 0)
        return (size_t)snprintf(place, PATH_MAX, "%s", path) < PATH_MAX ? 0 : ENAMETOOLONG;
    if (S_ISDIR(there.st_mode))
        return EISDIR;
    if (!S_ISREG(there.st_mode))
        return REPLACE_NO_FILE;
    return realpath(path, place) ? 0 : errno;
}

// Returns a descriptor of a new file beside `place`, or -1 with errno.
static int make_beside(const char *place, char beside[PATH_MAX])
{
    const int length = snprintf(beside, PATH_MAX, "%s.XXXXXX", place);
    if (*place == '\0' || length >= PATH_MAX) {
        errno = *place ? ENAMETOOLONG : ENOENT;
        return -1;
    }
    return mkostemp(beside, O_CLOEXEC);
}

int replace_possible(const char *place)
{
    char beside[PATH_MAX];
    const int descriptor = make_beside(place, beside);
    if (descriptor < 0)
        return errno;
    close(descriptor);
    unlink(beside);
    return 0;
}

// A temporary file has fewer rights than a new one.
static int give_rights(int descriptor, const char *place, mode_t mode)
{
    struct stat old;
    const mode_t mask = umask(0);
    umask(mask);
    if (mode == 0)
        mode = stat(place, &old) == 0 ? old.st_mode & 0777 : 0666 & ~mask;
    return fchmod(descriptor, mode) == 0 ? 0 : errno;
}

int replace_filled(FILE *file, replace_fill *fill, const void *arg)
{
    errno = 0;
    if (!fill(file, arg))
        errno = ENOMEM;
    else if (fflush(file) == 0 && !ferror(file))
        return 0;
    return errno ? errno : EIO;
}

// The folder that a path is in.
static void find_folder(const char *path, char folder[PATH_MAX])
{
    snprintf(folder, PATH_MAX, "%s", path);
    char *const slash = strrchr(folder, '/');
    if (slash)
        slash[slash == folder] = '\0';
    else
        snprintf(folder, PATH_MAX, ".");
}

// The new name must survive a crash, too.
static void sync_folder(const char *path)
{
    char folder[PATH_MAX];
    find_folder(path, folder);
    const int file = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (file >= 0) {
        fsync(file);
        close(file);
    }
}

// What the file will hold. While it is made there is no new file, which a signal would leave.
static int make_text(replace_fill *fill, const void *arg, char **text, size_t *size)
{
    FILE *const memory = open_memstream(text, size);
    if (!memory)
        return errno;
    const int wrong = replace_filled(memory, fill, arg);
    return fclose(memory) != 0 && !wrong ? errno : wrong;
}

static int write_all(int file, const char *text, size_t size)
{
    for (size_t done = 0; done < size;) {
        const ssize_t wrote = write(file, text + done, size - done);
        if (wrote < 0 && errno != EINTR)
            return errno;
        done += wrote > 0 ? (size_t)wrote : 0;
    }
    return 0;
}

static int write_beside(const char *place, mode_t mode, const char *text, size_t size)
{
    char beside[PATH_MAX];
    const int file = make_beside(place, beside);
    if (file < 0)
        return errno;
    int wrong = give_rights(file, place, mode);
    if (!wrong)
        wrong = write_all(file, text, size);
    if (!wrong && fsync(file) != 0)
        wrong = errno;
    if (close(file) != 0 && !wrong)
        wrong = errno;
    if (!wrong && rename(beside, place) != 0)
        wrong = errno;
    if (wrong)
        unlink(beside);
    else
        sync_folder(place);
    return wrong;
}

int replace_file(const char *place, mode_t mode, replace_fill *fill, const void *arg)
{
    char *text = NULL;
    size_t size = 0;
    sigset_t stops, before;
    int wrong = make_text(fill, arg, &text, &size);
    sigemptyset(&stops);
    sigaddset(&stops, SIGINT);
    sigaddset(&stops, SIGTERM);
    sigaddset(&stops, SIGHUP);
    sigprocmask(SIG_BLOCK, &stops, &before);
    if (!wrong)
        wrong = write_beside(place, mode, text, size);
    sigprocmask(SIG_SETMASK, &before, NULL);
    free(text);
    return wrong;
}

bool replace_same(const char *a, const char *b)
{
    char folders[2][PATH_MAX];
    struct stat x, y;
    const bool there = stat(a, &x) == 0;
    if (there != (stat(b, &y) == 0))
        return false;
    if (!there) { // they will be one where their names and their folders are
        const char *const slash = strrchr(a, '/'), *const other = strrchr(b, '/');
        if (strcmp(slash ? slash + 1 : a, other ? other + 1 : b) != 0)
            return false;
        find_folder(a, folders[0]);
        find_folder(b, folders[1]);
        if (stat(folders[0], &x) != 0 || stat(folders[1], &y) != 0)
            return strcmp(a, b) == 0;
    }
    return x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}
