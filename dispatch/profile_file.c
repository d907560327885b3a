// SPDX-License-Identifier: Apache-2.0
// dispatch/profile_file.c - what a profile is valid for, where it is searched, and which owners are trusted.
#undef _GNU_SOURCE // which a parent project may define: its strerror_r is another one
#include "dispatch/beyond.h"
#include "dispatch/cpu.h"
#include "dispatch/environment.h"
#include "dispatch/profile.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static uint64_t hash_text(uint64_t hash, const char *text)
{
    return fovea_fnv(hash, text, strlen(text) + 1);
}

// Hashes the kernels, the classes, their numbers and the tables of defaults (beyond.def): what a profile's words
// mean, and what they were compared with.
static uint64_t hash_registers(void)
{
    uint64_t hash = FOVEA_FNV;
    for (int i = 0; i < FOVEA_VARIANTS; i++) {
        const struct fovea_variant_facts *const facts = &fovea_variant_facts[i];
        const uint32_t numbers[] = {facts->required,  facts->mr,         facts->nr,           facts->masks,
                                    facts->ahead,     facts->packs,      facts->lead,         facts->touch,
                                    facts->side_rows, facts->quiet_rows, facts->queries,      facts->l1_queries,
                                    facts->fetches,   facts->copies,     facts->last_queries, facts->beside_rows,
                                    facts->near_rows, facts->busy_rows};
        hash = hash_text(hash, fovea_class_names[fovea_slot_number(facts->slot)].name);
        hash = hash_text(hash, facts->name);
        hash = fovea_fnv(hash, numbers, sizeof numbers);
    }
    for (int i = 0; i < FOVEA_TUNED_CLASSES; i++)
        hash = hash_text(hash_text(hash, fovea_class_names[i].of), fovea_class_names[i].name);
    for (int kind = FOVEA_TUNED_GEMM; kind < FOVEA_TUNED_SLOT; kind++) {
        uint32_t count;
        const struct fovea_tunable *const tunables = fovea_tunables((enum fovea_tuned_operator)kind, &count);
        for (uint32_t i = 0; i < count; i++) {
            const uint32_t range[] = {tunables[i].smallest, tunables[i].largest};
            hash = fovea_fnv(hash_text(hash, tunables[i].name), range, sizeof range);
        }
    }
    return fovea_fnv(hash, fovea_beyonds, sizeof fovea_beyonds);
}

struct fovea_profile_key fovea_profile_key(const struct fovea_machine *machine)
{
    struct fovea_profile_key key;
    memset(&key, 0, sizeof key);
    snprintf(key.library, sizeof key.library, "%d.%d.%d", FOVEA_VERSION_MAJOR, FOVEA_VERSION_MINOR,
             FOVEA_VERSION_PATCH);
    key.registers = hash_registers();
    snprintf(key.cpu, sizeof key.cpu, "%s", machine->brand);
    key.signature = fovea_cpu_signature();
    key.features = machine->cpu;
    key.l1d_bytes = machine->l1d_bytes;
    key.l2_bytes = machine->l2_reported_bytes;
    key.l3_bytes = machine->l3_bytes;
    return key;
}

bool fovea_profile_place(struct fovea_profile_place *place, bool system, const char *folder, const char *name)
{
    const int length = snprintf(place->path, sizeof place->path, "%s%s", folder, name);
    place->system = system;
    place->too_long = length < 0 || (size_t)length >= sizeof place->path;
    return length != 0;
}

static void add_place(struct fovea_profile_place *places, uint32_t *count, bool system, const char *folder,
                      const char *name)
{
    *count += (uint32_t)fovea_profile_place(&places[*count], system, folder, name);
}

uint32_t fovea_profile_places(struct fovea_profile_place places[FOVEA_PROFILE_PLACES])
{
    uint32_t count = 0;
    const char *const file = fovea_environment("FOVEA_PROFILE"), *const home = fovea_environment("HOME");
    const char *const config = fovea_environment("XDG_CONFIG_HOME");
    if (file && *file) {
        if (strcmp(file, "none") != 0)
            add_place(places, &count, false, file, "");
        return count;
    }
    if (config && *config == '/')
        add_place(places, &count, false, config, "/fovea/profile");
    else if (home && *home == '/')
        add_place(places, &count, false, home, "/.config/fovea/profile");
    add_place(places, &count, true, "/var/lib/fovea/profile", "");
    add_place(places, &count, true, "/etc/fovea/profile", "");
    return count;
}

// Trusts files of root and of the user that nobody else may write.
static const char *distrust(const struct stat *status, bool system)
{
    const bool stranger = status->st_uid != 0 && (system || status->st_uid != geteuid());
    return !S_ISREG(status->st_mode)                                  ? "not a file"
           : status->st_mode & (system ? S_IWGRP | S_IWOTH : S_IWOTH) ? "others may write it"
           : stranger                                                 ? "it belongs to another user"
           : status->st_size >= FOVEA_PROFILE_BYTES_MAX               ? "too long"
                                                                      : NULL;
}

// What failed, and the system's message for it; strerror's buffer may belong to another thread.
static void say_error(const char *what, int error, char why[FOVEA_PROFILE_WHY])
{
    char words[80];
    snprintf(why, FOVEA_PROFILE_WHY, "%s: %s", what, strerror_r(error, words, sizeof words) == 0 ? words : "unknown");
}

enum fovea_profile_found fovea_profile_read(const struct fovea_profile_place *place,
                                            const struct fovea_profile_key *expected, char *text,
                                            struct fovea_profile *out, char why[FOVEA_PROFILE_WHY])
{
    if (place->too_long) {
        snprintf(why, FOVEA_PROFILE_WHY, "its path is too long");
        return FOVEA_PROFILE_REFUSED;
    }
    const int file = open(place->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    struct stat status;
    if (file < 0) {
        say_error("cannot be opened", errno, why);
        return access(place->path, F_OK) == 0 ? FOVEA_PROFILE_REFUSED : FOVEA_PROFILE_NONE;
    }
    const bool known = fstat(file, &status) == 0;
    const char *const reason = known ? distrust(&status, place->system) : NULL;
    size_t size = 0;
    ssize_t got = 0;
    while (known && !reason && (got = read(file, text + size, FOVEA_PROFILE_BYTES_MAX - size)) > 0)
        size += (size_t)got;
    const int error = !known || got < 0 ? errno : 0;
    close(file);
    if (reason)
        snprintf(why, FOVEA_PROFILE_WHY, "%s", reason);
    else if (error)
        say_error("cannot be read", error, why);
    const bool good = !reason && !error && fovea_profile_parse(text, size, expected, out, why);
    return good ? FOVEA_PROFILE_GOOD : FOVEA_PROFILE_REFUSED;
}
