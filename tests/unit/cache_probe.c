// SPDX-License-Identifier: Apache-2.0
// tests/unit/cache_probe.c - the caches a sysfs tree describes, and what damaged trees give.
#include "dispatch/cpu.h"
#include "tests/support/test.h"

#include <sys/stat.h>
#include <unistd.h>

static char root[] = "/tmp/fovea_cache_XXXXXX";

// One indexN folder; NULL leaves a file out.
struct index {
    const char *type, *level, *size, *ways;
};

static void put(unsigned index, const char *name, const char *text)
{
    char path[128];
    snprintf(path, sizeof path, "%s/index%u/%s", root, index, name);
    FILE *const file = text ? fopen(path, "w") : NULL;
    if (!file)
        return;
    fprintf(file, "%s\n", text);
    fclose(file);
}

static void clear(void)
{
    static const char *const names[] = {"type", "level", "size", "ways_of_associativity"};
    char path[128];
    for (unsigned i = 0; i < 8; i++) {
        for (size_t j = 0; j < 4; j++) {
            snprintf(path, sizeof path, "%s/index%u/%s", root, i, names[j]);
            unlink(path);
        }
        snprintf(path, sizeof path, "%s/index%u", root, i);
        rmdir(path);
    }
}

// Builds the tree and reads it. Returns what fovea_cache_from_sysfs does.
static int read_tree(const struct index *indices, unsigned count, struct fovea_machine *m)
{
    char path[128];
    clear();
    for (unsigned i = 0; i < count; i++) {
        snprintf(path, sizeof path, "%s/index%u", root, i);
        mkdir(path, 0700);
        put(i, "type", indices[i].type);
        put(i, "level", indices[i].level);
        put(i, "size", indices[i].size);
        put(i, "ways_of_associativity", indices[i].ways);
    }
    *m = (struct fovea_machine){0};
    return fovea_cache_from_sysfs(root, m);
}
#define TREE(m, ...)                                                                                                   \
    read_tree((const struct index[]){__VA_ARGS__}, sizeof((const struct index[]){__VA_ARGS__}) / sizeof(struct index), \
              m)

static void test_trees(void)
{
    struct fovea_machine m;
    CHECK(TREE(&m, {"Data", "1", "48K", "12"}, {"Instruction", "1", "32K", "8"}, {"Unified", "2", "2048K", "16"},
               {"Unified", "3", "105M", "15"}) == 1,
          "a whole tree");
    CHECK(m.l1d_bytes == 48 << 10 && m.l1d_ways == 12 && m.l2_bytes == 2 << 20 && m.l2_ways == 16 &&
              m.l3_bytes == 105 << 20 && m.l3_ways == 15,
          "%u %u %u", m.l1d_bytes, m.l2_bytes, m.l3_bytes);
    CHECK(TREE(&m, {"Data", "1", "64K", NULL}, {"Unified", "2", "512K", "junk"}) == 1, "without ways, without L3");
    CHECK(m.l1d_bytes == 64 << 10 && m.l2_bytes == 512 << 10 && m.l3_bytes == 0 && m.l1d_ways == 1 && m.l2_ways == 1,
          "%u %u %u", m.l1d_bytes, m.l2_bytes, m.l3_bytes);
    CHECK(TREE(&m, {"Instruction", "1", "32K", "8"}, {"Unified", "2", "256K", "8"}) == 0, "no L1d");
    CHECK(TREE(&m, {"Data", "1", "32K", "8"}) == 0, "no L2");
    static const char *const sizes[] = {"",     "K",       "32", "0K", "-32K", "32G", "99999999999999999999K",
                                        "lots", "4194304K"};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        CHECK(TREE(&m, {"Data", "1", sizes[i], "8"}, {"Unified", "2", "256K", "8"}) == 0 && m.l1d_bytes == 0,
              "a size of \"%s\" is %u", sizes[i], m.l1d_bytes);
    CHECK(TREE(&m, {"Data", "junk", "32K", "8"}, {"Data", NULL, "32K", "8"}, {"Data", "4", "32K", "8"},
               {"Unified", "0", "256K", "8"}) == 0,
          "levels that are none");
    CHECK(TREE(&m, {NULL, NULL, NULL, NULL}) == 0, "an empty folder");
    clear();
    CHECK(fovea_cache_from_sysfs(root, &m) == 0, "an empty tree");
    CHECK(fovea_cache_from_sysfs("/nonexistent", &m) == 0, "no tree");
}

// Whatever this machine tells, the engine gets sizes it can use.
static void test_here(void)
{
    struct fovea_machine m = {0};
    fovea_cache_probe(&m);
    CHECK(m.l1d_bytes >= 4096 && m.l2_bytes >= m.l1d_bytes && m.l1d_ways && m.l2_ways, "%u %u", m.l1d_bytes,
          m.l2_bytes);
    CHECK(strcmp(m.cache_source, "sysfs") == 0 || strcmp(m.cache_source, "cpuid") == 0 ||
              strcmp(m.cache_source, "default") == 0,
          "source \"%s\"", m.cache_source);
    struct fovea_machine cpuid = {0};
    if (fovea_cache_from_cpuid(&cpuid))
        CHECK(cpuid.l1d_bytes >= 4096 && cpuid.l2_bytes >= cpuid.l1d_bytes, "%u %u", cpuid.l1d_bytes, cpuid.l2_bytes);
}

int main(void)
{
    if (!mkdtemp(root)) {
        perror("FAIL mkdtemp");
        return 1;
    }
    test_trees();
    test_here();
    rmdir(root);
    return test_done();
}
