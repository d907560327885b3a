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
static bool read_tree(const struct index *indices, unsigned count, struct fovea_machine *m)
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
    CHECK(!fovea_cache_from_sysfs(root, &m), "an empty tree");
    CHECK(!fovea_cache_from_sysfs("/nonexistent", &m), "no tree");
}

// Registers of leaves 0x80000005 and 0x80000006 as machines have them.
static void test_registers(void)
{
    static const struct {
        const char *what;
        uint32_t l1d, l2, l3; // registers
        bool known;
        uint32_t bytes[3], ways[3];
    } cases[] = {
        {"Zen 5 under bhyve", 0x300c0140, 0x04006140, 0x0fe09140, true, {48 << 10, 1 << 20, 32 << 20}, {12, 8, 1}},
        {"Zen 2 of one slice", 0x20080140, 0x02006140, 0x00809140, true, {32 << 10, 512 << 10, 16 << 20}, {8, 8, 1}},
        {"K8, without L3", 0x40020140, 0x02008140, 0, true, {64 << 10, 512 << 10, 0}, {2, 16, 0}},
        {"fully associative", 0x10ff0140, 0x0100f140, 0, true, {16 << 10, 256 << 10, 0}, {1, 1, 0}},
        {"Intel, which tells L2 alone", 0, 0x01006040, 0, false, {0, 256 << 10, 0}, {0, 8, 0}},
        {"nothing", 0, 0, 0, false, {0, 0, 0}, {0, 0, 0}},
        {"all bits", UINT32_MAX, UINT32_MAX, UINT32_MAX, true, {255 << 10, 65535u << 10, 32 << 20}, {1, 1, 1}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct fovea_machine m = {0};
        const bool known = fovea_cache_from_registers(cases[i].l1d, cases[i].l2, cases[i].l3, &m);
        const uint32_t bytes[3] = {m.l1d_bytes, m.l2_bytes, m.l3_bytes}, ways[3] = {m.l1d_ways, m.l2_ways, m.l3_ways};
        CHECK(known == cases[i].known, "%s: %d", cases[i].what, known);
        CHECK(memcmp(bytes, cases[i].bytes, sizeof bytes) == 0 && memcmp(ways, cases[i].ways, sizeof ways) == 0,
              "%s: %u %u %u bytes, %u %u %u ways", cases[i].what, bytes[0], bytes[1], bytes[2], ways[0], ways[1],
              ways[2]);
    }
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
    test_registers();
    test_here();
    rmdir(root);
    return test_done();
}
