// SPDX-License-Identifier: Apache-2.0
// tune/write.c - a profile as text, and where it is kept.
#include "tune/write.h"
#include "dispatch/environment.h"
#include "tune/replace.h"

#include <errno.h>
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
    if (profile->l2_measured_bytes)
        say(&page, "l2 %u\n", profile->l2_measured_bytes);
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

enum { FOREIGN = REPLACE_NO_FILE - 1 };

// What went wrong, in words.
static bool fail(int wrong, char why[FOVEA_PROFILE_WHY])
{
    snprintf(why, FOVEA_PROFILE_WHY, "%s",
             wrong == REPLACE_NO_FILE ? "not a file"
             : wrong == FOREIGN       ? "there is a file that is no profile"
                                      : strerror(wrong));
    return false;
}

// Whether a file there is something else than a profile, of whatever version and however damaged. FOVEA_PROFILE, which
// most programs only read, may name any file by mistake, and root may write them all. An empty one holds nothing.
static bool is_foreign(const char *place)
{
    char begin[] = "fovea-profile ";
    const size_t length = sizeof begin - 1;
    FILE *const file = fopen(place, "re");
    const size_t read = file ? fread(begin, 1, length, file) : 0;
    if (!file)
        return errno != ENOENT; // what cannot be read may be anything
    fclose(file);
    return read != 0 && (read < length || memcmp(begin, "fovea-profile ", length) != 0);
}

// Where a profile of that path is put; 0, or what is wrong.
static int find_place(const char *path, char place[PATH_MAX])
{
    const int wrong = replace_place(path, place);
    return !wrong && is_foreign(place) ? FOREIGN : wrong;
}

bool tune_can_save(const char *path, bool folders, char why[FOVEA_PROFILE_WHY])
{
    char place[PATH_MAX];
    uint32_t made = 0;
    int wrong = find_place(path, place);
    if (!wrong) {
        const int unmade = folders ? make_folders(place, &made) : 0;
        wrong = replace_possible(place);
        wrong = wrong && unmade ? unmade : wrong;
        unmake_folders(place, made);
    }
    return !wrong || fail(wrong, why);
}

static bool fill(FILE *file, const void *text)
{
    fputs(text, file); // the stream remembers what went wrong
    return true;
}

bool tune_save(const char *path, bool folders, const struct fovea_profile *profile, char why[FOVEA_PROFILE_WHY])
{
    enum { RIGHTS = 0644 }; // everybody's programs read it, and trust none that others may write
    char place[PATH_MAX], *const text = malloc(FOVEA_PROFILE_BYTES_MAX);
    uint32_t made = 0;
    int wrong = text ? find_place(path, place) : ENOMEM;
    if (!wrong) {
        if (folders)
            make_folders(place, &made); // what it lacks is told by what follows
        tune_write(profile, text);
        wrong = replace_file(place, RIGHTS, fill, text);
        if (wrong)
            unmake_folders(place, made);
    }
    free(text);
    return !wrong || fail(wrong, why);
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
