// SPDX-License-Identifier: Apache-2.0
// tests/tune/save.c - what saving a profile leaves alone: devices, links, and folders that nothing came into.
#include "fovea/fovea.h"
#include "tests/support/test.h"
#include "tune/write.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
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

int main(void)
{
    struct fovea_engine *engine = NULL;
    if (!mkdtemp(folder) || setenv("FOVEA_PROFILE", "none", 1) != 0 || fovea_engine_create(NULL, &engine))
        return 1;
    profile.key = fovea_profile_key(fovea_engine_machine(engine));
    test_no_file();
    test_link();
    test_folders();
    fovea_engine_destroy(engine);
    rmdir(folder);
    return test_done();
}
