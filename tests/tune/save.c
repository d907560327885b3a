// SPDX-License-Identifier: Apache-2.0
// tests/tune/save.c - what saving a profile leaves alone: devices, other files, links, folders that nothing came into.
#include "fovea/fovea.h"
#include "tests/support/test.h"
#include "tune/replace.h"
#include "tune/write.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char folder[] = "/tmp/fovea_save_XXXXXX";
static struct fovea_profile profile, back;
static char why[FOVEA_PROFILE_WHY];

// As root a rename could put the profile in the place of /dev/null.
static void test_no_file(void)
{
    char path[64];
    struct stat there;
    snprintf(path, sizeof path, "%s/pipe", folder);
    CHECK(mkfifo(path, 0600) == 0, "mkfifo");
    CHECK(!tune_can_save(path, false, why) && strstr(why, "not a file"), "asked: %s", why);
    CHECK(!tune_save(path, false, &profile, why) && strstr(why, "not a file"), "saved: %s", why);
    CHECK(lstat(path, &there) == 0 && S_ISFIFO(there.st_mode), "the pipe is a file now");
    unlink(path);
}

static bool fill(FILE *file, const void *arg)
{
    return fputs(arg, file) >= 0;
}

// FOVEA_PROFILE may name any file by mistake; a profile that is damaged, of another version, or cut short is none.
static void test_foreign(void)
{
    static const char *const kept[] = {"root:x:0:0\n", "fovea-profil", "\n", "fovea-profile"},
                             *const replaced[] = {"", "fovea-profile 1\n", "fovea-profile 27\nlibrary 9.0.0\n"};
    char path[64], text[64];
    struct stat there;
    snprintf(path, sizeof path, "%s/foreign", folder);
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++) {
        CHECK(replace_file(path, 0, fill, kept[i]) == 0, "%s", path);
        CHECK(!tune_can_save(path, false, why) && strstr(why, "no profile"), "%s, asked: %s", kept[i], why);
        CHECK(!tune_save(path, false, &profile, why) && strstr(why, "no profile"), "%s, saved: %s", kept[i], why);
        FILE *const file = fopen(path, "r");
        text[file ? fread(text, 1, sizeof text - 1, file) : 0] = '\0';
        CHECK(file && fclose(file) == 0 && strcmp(text, kept[i]) == 0, "%s is %s now", kept[i], text);
    }
    for (size_t i = 0; i < sizeof replaced / sizeof *replaced; i++) {
        CHECK(replace_file(path, 0, fill, replaced[i]) == 0 && tune_can_save(path, false, why), "%s", why);
        CHECK(tune_save(path, false, &profile, why) && stat(path, &there) == 0 && there.st_size > 100, "%s", why);
    }
    unlink(path);
}

static void test_link(void)
{
    char path[64], link[64];
    struct stat there;
    snprintf(path, sizeof path, "%s/profile", folder);
    snprintf(link, sizeof link, "%s/link", folder);
    CHECK(tune_save(path, false, &profile, why), "%s", why);
    CHECK(truncate(path, 0) == 0 && symlink("profile", link) == 0, "a link to an empty file");
    CHECK(tune_can_save(link, false, why) && tune_save(link, false, &profile, why), "%s", why);
    CHECK(lstat(link, &there) == 0 && S_ISLNK(there.st_mode), "the link is a file now");
    CHECK(tune_load(path, NULL, &back, why), "what it leads to: %s", why);
    unlink(link);
    unlink(path);
}

static void test_folders(void)
{
    char path[512], made[64];
    snprintf(made, sizeof made, "%s/made", folder);
    snprintf(path, sizeof path, "%s/%0300d", made, 0); // a name longer than any file system takes
    CHECK(!tune_can_save(path, true, why) && !tune_save(path, true, &profile, why) && *why, "a name of 300 digits");
    CHECK(access(made, F_OK) != 0, "its folder is left");
}

// A profile is read by all users whatever the mask, what else is written by those who read the old one.
static void test_rights(void)
{
    char path[64];
    struct stat there;
    snprintf(path, sizeof path, "%s/rights", folder);
    const mode_t mask = umask(077);
    CHECK(tune_save(path, false, &profile, why) && stat(path, &there) == 0 && (there.st_mode & 0777) == 0644, "%o",
          there.st_mode);
    CHECK(chmod(path, 0640) == 0 && replace_file(path, 0, fill, "page") == 0, "replaced");
    CHECK(stat(path, &there) == 0 && (there.st_mode & 0777) == 0640 && there.st_size == 4, "%o", there.st_mode);
    unlink(path);
    CHECK(replace_file(path, 0, fill, "page") == 0 && stat(path, &there) == 0 && (there.st_mode & 0777) == 0600, "%o",
          there.st_mode);
    umask(mask);
    unlink(path);
}

static bool fill_and_end(FILE *file, const void *arg)
{
    fputs(arg, file);
    fflush(file);
    return raise(SIGTERM) == 0;
}

// Who is ended while a file is filled leaves the old one, and none beside it: the folder is removed at the end.
static void test_signal(void)
{
    char path[64];
    struct stat there;
    int status = 0;
    snprintf(path, sizeof path, "%s/signal", folder);
    CHECK(replace_file(path, 0, fill, "page") == 0, "%s", path);
    const pid_t child = fork();
    if (child == 0)
        _exit(replace_file(path, 0, fill_and_end, "another page"));
    CHECK(waitpid(child, &status, 0) == child && WIFSIGNALED(status), "%d", status);
    CHECK(stat(path, &there) == 0 && there.st_size == 4, "the old one");
    unlink(path);
}

// Two names of one file, before it is there and after.
static void test_same(void)
{
    char path[64], others[3][80], inside[64], far[80];
    snprintf(path, sizeof path, "%s/same", folder);
    snprintf(inside, sizeof inside, "%s/inside", folder);
    snprintf(far, sizeof far, "%s/same", inside);
    snprintf(others[0], sizeof others[0], "%s//same", folder);
    snprintf(others[1], sizeof others[1], "%s/inside/../same", folder);
    snprintf(others[2], sizeof others[2], "%s/link/same", folder);
    CHECK(mkdir(inside, 0755) == 0 && snprintf(why, sizeof why, "%s/link", folder) > 0 && symlink(".", why) == 0,
          "made");
    for (int made = 0; made < 2; made++) {
        for (int i = 0; i < 3; i++)
            CHECK(replace_same(path, others[i]) && replace_same(others[i], path), "%s is not %s", path, others[i]);
        CHECK(!replace_same(path, far) && !replace_same(path, folder) && !replace_same("same", path), "others are");
        CHECK(replace_file(path, 0, fill, "page") == 0, "%s", path);
    }
    CHECK(replace_same("/nonesuch/a", "/nonesuch/a") && !replace_same("/nonesuch/a", "/nonesuch/b"), "no folder");
    unlink(path);
    unlink(why);
    rmdir(inside);
}

int main(void)
{
    struct fovea_engine *engine = NULL;
    if (!mkdtemp(folder) || setenv("FOVEA_PROFILE", "none", 1) != 0 || fovea_engine_create(NULL, &engine))
        return 1;
    profile.key = fovea_profile_key(fovea_engine_machine(engine));
    test_no_file();
    test_foreign();
    test_link();
    test_folders();
    test_rights();
    test_signal();
    test_same();
    fovea_engine_destroy(engine);
    CHECK(rmdir(folder) == 0, "something is left in %s", folder);
    return test_done();
}
