// SPDX-License-Identifier: Apache-2.0
// dispatch/cache.c - sizes and ways of the data caches: sysfs, CPUID (leaf 4, 0x8000001D, 0x80000005 and 6), a default.
#include "dispatch/cpu.h"

#include <stdio.h>
#include <string.h>

// The default: what every 64-bit server core since 2012 has at least. Underestimating a cache costs a few per cent,
// overestimating one costs far more.
static const struct fovea_machine default_caches = {
    .l1d_bytes = 32 << 10, .l1d_ways = 8, .l2_bytes = 256 << 10, .l2_ways = 8};

static void set_level(struct fovea_machine *machine, unsigned level, uint32_t bytes, uint32_t ways)
{
    uint32_t *const sizes[] = {&machine->l1d_bytes, &machine->l2_bytes, &machine->l3_bytes};
    uint32_t *const assoc[] = {&machine->l1d_ways, &machine->l2_ways, &machine->l3_ways};
    if (level >= 1 && level <= 3 && bytes) {
        *sizes[level - 1] = bytes;
        *assoc[level - 1] = ways ? ways : 1;
    }
}

static bool knows_l1_l2(const struct fovea_machine *machine)
{
    return machine->l1d_bytes && machine->l2_bytes;
}

// Reads the first line of root/indexN/name; empty if there is none.
static void read_attribute(const char *root, unsigned index, const char *name, char *text, int size)
{
    char path[256];
    text[0] = '\0';
    snprintf(path, sizeof path, "%s/index%u/%s", root, index, name);
    FILE *const file = fopen(path, "re");
    if (!file)
        return;
    if (!fgets(text, size, file))
        text[0] = '\0';
    fclose(file);
}

// "48K", "2048K", "32M" in bytes; 0 for anything else or above 2 GiB.
static uint32_t parse_size(const char *text)
{
    unsigned long value = 0;
    char unit = '\0', end = '\n'; // sysfs ends lines so
    if (*text < '0' || *text > '9' || sscanf(text, "%lu%c%c", &value, &unit, &end) < 2 || end != '\n' ||
        value > 2u << 20)
        return 0;
    const unsigned long bytes = unit == 'K' ? value << 10 : unit == 'M' ? value << 20 : 0;
    return bytes <= 2ul << 30 ? (uint32_t)bytes : 0;
}

bool fovea_cache_from_sysfs(const char *root, struct fovea_machine *machine)
{
    for (unsigned index = 0; index < 8; index++) {
        char type[32], level[32], size[32], ways[32];
        read_attribute(root, index, "type", type, sizeof type);
        if (strncmp(type, "Data", 4) != 0 && strncmp(type, "Unified", 7) != 0)
            continue;
        read_attribute(root, index, "level", level, sizeof level);
        read_attribute(root, index, "size", size, sizeof size);
        read_attribute(root, index, "ways_of_associativity", ways, sizeof ways);
        unsigned level_number = 0, way_count = 0;
        if (sscanf(level, "%u", &level_number) != 1)
            continue;
        if (sscanf(ways, "%u", &way_count) != 1)
            way_count = 0;
        set_level(machine, level_number, parse_size(size), way_count);
    }
    return knows_l1_l2(machine);
}

bool fovea_cache_from_registers(uint32_t l1d, uint32_t l2, uint32_t l3, struct fovea_machine *machine)
{
    // Encoding of associativity in leaf 0x80000006 (AMD64 Architecture Programmer's Manual 3, E.4.5): 1 to 4 stand for
    // themselves; 9 refers to leaf 0x8000001D, 15 is fully associative.
    static const uint8_t ways[16] = {0, 1, 2, 3, 4, 6, 8, 0, 16, 0, 32, 48, 64, 96, 128, 0};
    // The leaf reports the L3 of the package, up to 512 MiB, of which a core reaches only its own slice. No plan
    // depends on it; benchmarks and the tuner read twice its size when data should come from memory, so it is capped at
    // a slice of Zen 3 to Zen 5 without stacked cache.
    enum { L3_SLICE = 32 << 20 };
    const uint64_t package = (uint64_t)(l3 >> 18) << 19;
    set_level(machine, 1, (l1d >> 24) << 10, (l1d >> 16 & 0xff) == 0xff ? 0 : l1d >> 16 & 0xff);
    set_level(machine, 2, (l2 >> 16) << 10, ways[l2 >> 12 & 0xf]);
    set_level(machine, 3, package < L3_SLICE ? (uint32_t)package : L3_SLICE, ways[l3 >> 12 & 0xf]);
    return knows_l1_l2(machine);
}

#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>

bool fovea_cache_from_cpuid(struct fovea_machine *machine)
{
    // Both leaves have the same format; AMD's is 0x8000001D, and its leaf 4 is empty.
    const uint32_t leaves[] = {4, 0x8000001du};
    for (size_t l = 0; l < 2 && !knows_l1_l2(machine); l++) {
        for (uint32_t sub = 0; sub < 8; sub++) {
            uint32_t eax, ebx, ecx, edx;
            if (!__get_cpuid_count(leaves[l], sub, &eax, &ebx, &ecx, &edx) || (eax & 0x1f) == 0)
                break;
            const uint32_t type = eax & 0x1f, level = eax >> 5 & 7; // type 1: data, 3: unified
            const uint32_t line = (ebx & 0xfff) + 1, partitions = (ebx >> 12 & 0x3ff) + 1, ways = (ebx >> 22) + 1;
            if (type == 1 || type == 3)
                set_level(machine, level, line * partitions * ways * (ecx + 1), ways);
        }
    }
    if (!knows_l1_l2(machine)) { // bhyve shows its guests only these two
        uint32_t unused, l1d = 0, l2 = 0, l3 = 0;
        __get_cpuid(0x80000005u, &unused, &unused, &l1d, &unused);
        __get_cpuid(0x80000006u, &unused, &unused, &l2, &l3);
        return fovea_cache_from_registers(l1d, l2, l3, machine);
    }
    return true;
}

// Every L3 of an Intel CPU with AVX2 is in slices. Leaf 4 has a bit for it (complex indexing), and AMX implies a mesh,
// but both may be hidden from guests; only the vendor's name is always there.
bool fovea_cache_l3_hashed(void)
{
    uint32_t highest, name[3] = {0, 0, 0};
    return __get_cpuid(0, &highest, &name[0], &name[2], &name[1]) && memcmp(name, "GenuineIntel", sizeof name) == 0;
}
#else
bool fovea_cache_from_cpuid(struct fovea_machine *machine)
{
    (void)machine;
    return false;
}

bool fovea_cache_l3_hashed(void)
{
    return false;
}
#endif

bool fovea_cache_from_text(const char *text, struct fovea_machine *machine)
{
    char words[4][16] = {"", "", "", ""};
    const int count = sscanf(text, "%15[^,],%15[^,],%15[^,],%15[^,]", words[0], words[1], words[2], words[3]);
    const bool mesh = strcmp(words[3], "mesh") == 0;
    const bool hashed = mesh || strcmp(words[3], "hashed") == 0, wide = mesh || strcmp(words[3], "wide") == 0;
    size_t length = 0; // length of the words and commas, which must be the whole text
    for (int i = 0; i < count; i++)
        length += strlen(words[i]) + (i > 0);
    if (count < 2 || length != strlen(text) || (count == 4 && !hashed && !wide && strcmp(words[3], "plain") != 0))
        return false;
    uint32_t bytes[3] = {0, 0, 0};
    for (int i = 0; i < count && i < 3; i++) {
        bytes[i] = parse_size(words[i]);
        if (bytes[i] < 1u << 12)
            return false;
    }
    if (count == 4) {
        machine->l3_hashed = hashed;
        machine->wide512 = wide;
    }
    machine->l3_bytes = machine->l3_ways = 0;
    for (unsigned level = 1; level <= 3; level++)
        set_level(machine, level, bytes[level - 1], 8);
    return true;
}

void fovea_cache_probe(struct fovea_machine *machine)
{
    const char *source = "default";
    if (fovea_cache_from_sysfs("/sys/devices/system/cpu/cpu0/cache", machine)) {
        source = "sysfs";
    } else if (fovea_cache_from_cpuid(machine)) {
        source = "cpuid";
    } else {
        set_level(machine, 1, default_caches.l1d_bytes, default_caches.l1d_ways);
        set_level(machine, 2, default_caches.l2_bytes, default_caches.l2_ways);
    }
    snprintf(machine->cache_source, sizeof machine->cache_source, "%s", source);
    machine->l3_hashed = fovea_cache_l3_hashed();
    machine->wide512 = fovea_cpu_wide512();
}
