// SPDX-License-Identifier: Apache-2.0
// cli/tune_start.c - what a search begins with: another profile, numbers set by hand, or the profile it will replace.
#include "cli/tune.h"

#include <string.h>

// Whether an engine as this one would use a kernel that a profile chooses.
static bool may_use(const struct fovea_engine *engine, const struct fovea_profile *profile, int32_t kernel)
{
    return fovea_variant_is_allowed(fovea_engine_choice(engine), kernel) && !profile->quarantine[kernel];
}

// The kernel of a class, from its name; false having said why not.
static bool set_kernel(const struct fovea_engine *engine, uint32_t class, const char *text, const char *value,
                       struct fovea_profile *start)
{
    struct fovea_tuned *const tuned = &start->tuned[class];
    const int32_t kernel = fovea_variant_find(value, strlen(value));
    const char *why = NULL;
    if (tuned->kernel < 0)
        why = "has no kernel to choose";
    else if (kernel < 0)
        why = "cannot have it: no kernel has that name; fovea info --all lists them";
    else if (fovea_variant_facts[kernel].slot != fovea_variant_facts[tuned->kernel].slot)
        why = "cannot have it: it is of another slot";
    else if (!may_use(engine, start, kernel))
        why = "cannot have it here: fovea info --all says why";
    if (why)
        return cli_error("tune: --set %s: class %s %s", text, fovea_class_names[class].name, why), false;
    tuned->kernel = kernel;
    return true;
}

// One number or kernel of a class, from what is behind the dot of --set `text`; false having said what is wrong.
static bool set_in_class(const struct fovea_engine *engine, uint32_t class, const char *text, const char *name,
                         const char *value, struct fovea_profile *start)
{
    struct fovea_tuned *const tuned = &start->tuned[class];
    const size_t length = (size_t)(value - name) - 1; // before the equals sign
    uint32_t count;
    const struct fovea_tunable *const tunables = fovea_tunables(fovea_class(class).kind, &count);
    if (!start->has[class])
        *tuned = cli_tune_default(engine, start, class);
    start->has[class] = 1;
    memset(&start->evidence[class], 0, sizeof start->evidence[class]); // it is not what was measured any more
    if (length == 6 && memcmp(name, "kernel", 6) == 0)
        return set_kernel(engine, class, text, value, start);
    for (uint32_t i = 0; i < count; i++)
        if (strlen(tunables[i].name) == length && memcmp(tunables[i].name, name, length) == 0) {
            const uint32_t low = tunables[i].smallest, high = tunables[i].largest;
            uint64_t number;
            if (!cli_whole(&value, &number) || *value || number < low || number > high)
                return cli_error("tune: --set %s: %s is a whole number from %u to %u", text, tunables[i].name, low,
                                 high),
                       false;
            tuned->values[i] = (uint32_t)number;
            return true;
        }
    return cli_error("tune: --set %s: class %s has no number \"%.*s\"; fovea tune --show --json has all", text,
                     fovea_class_names[class].name, (int)length, name),
           false;
}

// Whether the first letters of --set name a class.
static bool means(const char *text, size_t length, uint32_t class)
{
    const char *const name = fovea_class_names[class].name;
    return (strlen(name) == length && memcmp(name, text, length) == 0) ||
           (length == 3 && memcmp(text, "all", 3) == 0 && fovea_class(class).kind == FOVEA_TUNED_GEMM);
}

static bool set_all(const struct fovea_engine *engine, const struct cli_tune_arguments *a, struct fovea_profile *start)
{
    for (size_t i = 0; i < a->set.count; i++) {
        const char *const text = a->set.items[i], *const dot = strchr(text, '.'), *const equals = strchr(text, '=');
        if (!dot || !equals || dot > equals)
            return cli_error("tune: --set %s: it is CLASS.NUMBER=VALUE, as in some-far-nt.kc=512", text), false;
        const size_t length = (size_t)(dot - text);
        bool any = false;
        for (uint32_t class = 0; class < FOVEA_TUNED_CLASSES; class ++) {
            if (!means(text, length, class))
                continue;
            any = true;
            if (!set_in_class(engine, class, text, dot + 1, equals + 1, start))
                return false;
        }
        if (!any)
            return cli_error("tune: --set %s: no class \"%.*s\"; fovea tune --show --all lists them", text, (int)length,
                             text),
                   false;
    }
    return true;
}

// The profile that is to be replaced, zeros where there is none for this machine. False where it must not be.
static bool read_old(const struct fovea_engine *engine, const struct cli_tune_arguments *a, const char *path,
                     struct fovea_profile *old)
{
    char why[FOVEA_PROFILE_WHY];
    const struct fovea_profile_key key = fovea_profile_key(fovea_engine_machine(engine));
    static struct fovea_profile force; // what is in force now: other places may have more in quarantine
    char text[FOVEA_PROFILE_WHY];
    bool found = false;
    if (fovea_profile_look(NULL, &key, &force, &found, text, sizeof text) != FOVEA_OK)
        found = false;
    if (!tune_load(path, &key, old, why)) {
        memset(old, 0, sizeof *old);
        if (found)
            fovea_profile_ban(old, force.quarantine);
        return true;
    }
    if (found)
        fovea_profile_ban(old, force.quarantine);
    const bool ours = old->isa == fovea_engine_choice(engine)->allowed;
    if (!a->force && (!ours || old->level > a->tune.level)) {
        if (ours)
            cli_error("tune: %s is of level %s; --force replaces it", path, fovea_profile_levels[old->level]);
        else
            cli_error("tune: %s is for another ISA cap; --force replaces it", path);
        return false;
    }
    if (!ours) { // kernels that are wrong here are so under any cap
        memset(old->has, 0, sizeof old->has);
        old->level = FOVEA_LEVEL_ESTIMATE;
    }
    return true;
}

bool cli_tune_begin(const struct fovea_engine *engine, struct cli_tune_arguments *a, const char *path,
                    struct fovea_profile *start)
{
    char why[FOVEA_PROFILE_WHY];
    static struct fovea_profile old;
    if (!read_old(engine, a, path, &old))
        return false;
    a->tune.start = start;
    a->tune.keep = !a->from && !a->set.count;
    if (a->tune.keep) {
        *start = old;
        return true;
    }
    const struct fovea_profile_key key = fovea_profile_key(fovea_engine_machine(engine));
    if (a->from && !tune_load(a->from, &key, start, why)) {
        if (!tune_load(a->from, NULL, start, why)) {
            cli_error("tune: %s: %s", a->from, why);
            return false;
        }
        start->l2_measured_bytes = 0; // of another machine
    }
    memset(start->evidence, 0, sizeof start->evidence); // of wherever that was made
    start->key = key;
    if (old.l2_measured_bytes > start->l2_measured_bytes)
        start->l2_measured_bytes = old.l2_measured_bytes;
    for (uint32_t i = 0; i < FOVEA_VARIANTS; i++)
        start->quarantine[i] = old.quarantine[i] ? old.quarantine[i] : start->quarantine[i];
    for (uint32_t class = 0; class < FOVEA_TUNED_CLASSES; class ++)
        if (start->has[class] && start->tuned[class].kernel >= 0 && !may_use(engine, start, start->tuned[class].kernel))
            tune_forget(start, class);
    return set_all(engine, a, start);
}
