// SPDX-License-Identifier: Apache-2.0
// tune/write.c - writes a profile to a new file next to the old one, and renames it.
#include "tune/write.h"
#include "dispatch/environment.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct page {
    char *text;
    size_t used;
};

static void say(struct page *page, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void say(struct page *page, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    const size_t room = FOVEA_PROFILE_BYTES_MAX - page->used;
    const int length = vsnprintf(page->text + page->used, room, format, args);
    va_end(args);
    page->used += length > 0 && (size_t)length < room ? (size_t)length : 0;
}

static void say_millionths(struct page *page, const char *name, uint32_t value)
{
    say(page, " %s=%u.%06u", name, value / 1000000, value % 1000000);
}

static void say_class(struct page *page, const struct fovea_profile *profile, uint32_t class)
{
    const struct fovea_tuned *const tuned = &profile->tuned[class];
    const struct fovea_evidence *const e = &profile->evidence[class];
    uint32_t count;
    const struct fovea_tunable *const tunables = fovea_tunables(fovea_class(class).kind, &count);
    say(page, "%s %s", fovea_class_names[class].of, fovea_class_names[class].name);
    if (tuned->kernel >= 0)
        say(page, " %s", fovea_variant_facts[tuned->kernel].name);
    for (uint32_t i = 0; i < count; i++)
        say(page, " %s=%u", tunables[i].name, tuned->values[i]);
    say_millionths(page, "gain", e->gain);
    say_millionths(page, "low", e->low);
    say_millionths(page, "high", e->high);
    say_millionths(page, "p", e->p);
    say(page, " pairs=%u\n", e->pairs);
}

size_t tune_write(const struct fovea_profile *profile, char text[FOVEA_PROFILE_BYTES_MAX])
{
    const struct fovea_profile_key *const key = &profile->key;
    struct page page = {text, 0};
    say(&page, "fovea-profile 1\nlibrary %s\nregisters %016" PRIx64 "\ncpu %s\nsignature %x\nfeatures %x\n",
        key->library, key->registers, key->cpu, key->signature, key->features);
    say(&page, "caches %u %u %u\nisa %x\nlevel %s\n", key->l1d_bytes, key->l2_bytes, key->l3_bytes, profile->isa,
        fovea_profile_levels[profile->level]);
    for (uint32_t i = 0; i < FOVEA_VARIANTS; i++)
        if (profile->quarantine[i])
            say(&page, "quarantine %s %s\n", fovea_variant_facts[i].name,
                fovea_quarantine_names[profile->quarantine[i]]);
    for (uint32_t class = 0; class < FOVEA_TUNED_CLASSES; class ++)
        if (profile->has[class])
            say_class(&page, profile, class);
    say(&page, "checksum %016" PRIx64 "\n", fovea_fnv(FOVEA_FNV, text, page.used));
    return page.used;
}

// Creates the folders above path, like mkdir -p, and counts those it created; returns the errno of one that could not
// be created, or 0.
static int make_folders(const char *path, uint32_t *made)
{
    int code = 0;
    *made = 0;
    char folder[PATH_MAX] = "";
    snprintf(folder, sizeof folder, "%s", path);
    for (char *slash = strchr(folder + (*folder != '\0'), '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        if (mkdir(folder, 0755) == 0)
            ++*made;
        else if (errno != EEXIST && code == 0)
            code = errno;
        *slash = '/';
    }
    return code;
}

// Takes away as many again, the innermost first, as far as nobody else has put something into them.
static void unmake_folders(const char *path, uint32_t made)
{
    char folder[PATH_MAX] = "";
    snprintf(folder, sizeof folder, "%s", path);
    while (made > 0) {
        char *const slash = strrchr(folder, '/');
        if (!slash)
            return;
        *slash = '\0';
        if (rmdir(folder) == 0)
            made--;
        else if (errno != ENOENT) // of two slashes in a row the first
            return;
    }
}

static bool write_all(int file, const char *text, size_t size)
{
    for (size_t done = 0; done < size;) {
        const ssize_t wrote = write(file, text + done, size - done);
        if (wrote < 0 && errno != EINTR)
            return false;
        done += wrote > 0 ? (size_t)wrote : 0;
    }
    return true;
}

// The new name must survive a crash, too.
static void sync_folder(const char *path)
{
    char folder[PATH_MAX];
    snprintf(folder, sizeof folder, "%s", path);
    char *const slash = strrchr(folder, '/');
    if (slash)
        slash[slash == folder] = '\0';
    const int file = open(slash ? folder : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (file >= 0) {
        fsync(file);
        close(file);
    }
}

// Where a file that is saved as `path` is put: links to files are followed, and stay links. False where something else
// than a file is there: a rename would take its place, and the program of root may rename over /dev/null.
static bool find_place(const char *path, char place[PATH_MAX], char why[FOVEA_PROFILE_WHY])
{
    struct stat there;
    if (stat(path, &there) != 0) {
        snprintf(place, PATH_MAX, "%s", path);
        return true;
    }
    if (S_ISREG(there.st_mode) && realpath(path, place))
        return true;
    snprintf(why, FOVEA_PROFILE_WHY, "%s",
             S_ISREG(there.st_mode)   ? strerror(errno)
             : S_ISDIR(there.st_mode) ? strerror(EISDIR)
                                      : "not a file");
    return false;
}

// Creates a new file next to path and writes its name; -1 on failure.
static int open_beside(const char *path, char name[PATH_MAX], char why[FOVEA_PROFILE_WHY])
{
    const int length = snprintf(name, PATH_MAX, "%s.XXXXXX", path);
    const bool fits = *path != '\0' && length > 0 && length < PATH_MAX;
    const int file = fits ? mkstemp(name) : -1;
    if (file < 0)
        snprintf(why, FOVEA_PROFILE_WHY, "%s", fits ? strerror(errno) : "no name of a file");
    return file;
}

bool tune_can_save(const char *path, bool folders, char why[FOVEA_PROFILE_WHY])
{
    char place[PATH_MAX], name[PATH_MAX];
    if (!find_place(path, place, why))
        return false;
    uint32_t made = 0;
    const int unmade = folders ? make_folders(place, &made) : 0;
    const int file = open_beside(place, name, why);
    if (file >= 0) {
        close(file);
        unlink(name);
    } else if (unmade) {
        snprintf(why, FOVEA_PROFILE_WHY, "%s", strerror(unmade));
    }
    unmake_folders(place, made);
    return file >= 0;
}

// Writes a new file beside `place` and renames it.
static bool replace(const char *place, const char *text, size_t size, char why[FOVEA_PROFILE_WHY])
{
    char name[PATH_MAX];
    const int file = open_beside(place, name, why);
    if (file < 0)
        return false;
    bool ok = write_all(file, text, size) && fchmod(file, 0644) == 0 && fsync(file) == 0;
    ok = close(file) == 0 && ok;
    ok = ok && rename(name, place) == 0;
    if (ok) {
        sync_folder(place);
    } else {
        snprintf(why, FOVEA_PROFILE_WHY, "%s", strerror(errno));
        unlink(name);
    }
    return ok;
}

bool tune_save(const char *path, bool folders, const struct fovea_profile *profile, char why[FOVEA_PROFILE_WHY])
{
    char place[PATH_MAX], *const text = malloc(FOVEA_PROFILE_BYTES_MAX);
    uint32_t made = 0;
    snprintf(why, FOVEA_PROFILE_WHY, "no memory");
    bool ok = text && find_place(path, place, why);
    if (ok) {
        if (folders)
            make_folders(place, &made); // what it lacks is told by what follows
        ok = replace(place, text, tune_write(profile, text), why);
        if (!ok)
            unmake_folders(place, made);
    }
    free(text);
    return ok;
}

bool tune_load(const char *path, const struct fovea_profile_key *expected, struct fovea_profile *profile,
               char why[FOVEA_PROFILE_WHY])
{
    struct fovea_profile_place *const place = calloc(1, sizeof *place);
    char *const text = malloc(FOVEA_PROFILE_BYTES_MAX);
    snprintf(why, FOVEA_PROFILE_WHY, place && text ? "no name of a file" : "no memory");
    const bool ok = place && text && fovea_profile_place(place, false, path, "") &&
                    fovea_profile_read(place, expected, text, profile, why) == FOVEA_PROFILE_GOOD;
    free(place);
    free(text);
    return ok;
}

// Whether a path is below HOME, and there is no such folder. Accounts of services have one that is not meant to be, as
// Debian's /nonexistent, and root could make it.
static bool is_homeless(const char *path)
{
    const char *const home = fovea_environment("HOME");
    const size_t length = home ? strlen(home) : 0;
    struct stat there;
    return length != 0 && strncmp(path, home, length) == 0 && (home[length - 1] == '/' || path[length] == '/') &&
           stat(home, &there) != 0 && errno == ENOENT;
}

bool tune_destination(bool system, char *path, size_t size)
{
    struct fovea_profile_place places[FOVEA_PROFILE_PLACES] = {{"", false, false}};
    const uint32_t count = fovea_profile_places(places);
    for (uint32_t i = 0; i < count && !system; i++)
        if (!places[i].system && !places[i].too_long)
            return snprintf(path, size, "%s", places[i].path) > 0 && !is_homeless(path);
    snprintf(path, size, "%s", system ? "/var/lib/fovea/profile" : "");
    return system;
}
