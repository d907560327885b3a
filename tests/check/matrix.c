// SPDX-License-Identifier: Apache-2.0
// tests/check/matrix.c - what to run and what has run: selection by name, allowed skips, the matrix at the end.
#include "tests/check/program.h"

#include <fnmatch.h>
#include <stdio.h>
#include <string.h>

enum { isas_max = 16 };

/// Whether the name matches one of the globs in a list with commas.
static bool matches(const char *globs, const char *name)
{
    char glob[128];
    for (int length; sscanf(globs, "%127[^,]%n", glob, &length) == 1; globs += length + (globs[length] == ',')) {
        if (fnmatch(glob, name, 0) == 0)
            return true;
    }
    return false;
}

bool check_selected(const struct check_options *o, const struct check_variant *v)
{
    return (!o->only || matches(o->only, v->name)) && (!o->isa || strcmp(o->isa, v->isa) == 0);
}

bool check_skip_listed(const char *path, const char *name, char *reason, size_t size)
{
    FILE *const file = fopen(path, "r");
    if (file == NULL)
        return false;
    char line[512], test[32], glob[128], text[256];
    bool listed = false;
    while (!listed && fgets(line, sizeof line, file) != NULL) {
        if (line[0] == '#' || sscanf(line, "%31s %127s %255[^\n]", test, glob, text) != 3)
            continue;
        listed = strcmp(test, "check") == 0 && fnmatch(glob, name, 0) == 0;
    }
    fclose(file);
    if (listed)
        snprintf(reason, size, "%s", text);
    return listed;
}

/// The ISAs in the order of the registers; returns their number.
static size_t list_isas(const char **isas)
{
    size_t count = 0;
    for (size_t i = 0; i < check_variants_count; i++) {
        size_t at = 0;
        while (at < count && strcmp(isas[at], check_variants[i].isa) != 0)
            at++;
        if (at == count && count < isas_max)
            isas[count++] = check_variants[i].isa;
    }
    return count;
}

static void print_cell(const struct check_result *results, const char *slot, const char *isa)
{
    char cell[32] = "-";
    uint64_t variants = 0, passed = 0, failed = 0, skipped = 0;
    for (size_t i = 0; i < check_variants_count; i++) {
        if (strcmp(check_variants[i].slot, slot) != 0 || strcmp(check_variants[i].isa, isa) != 0)
            continue;
        variants += results[i].selected && !results[i].skipped;
        skipped += results[i].skipped;
        passed += results[i].passed;
        failed += results[i].failed;
    }
    if (failed != 0)
        snprintf(cell, sizeof cell, "%llu FAILED", (unsigned long long)failed);
    else if (variants != 0)
        snprintf(cell, sizeof cell, "%llu x %llu", (unsigned long long)variants,
                 (unsigned long long)(passed / variants));
    else if (skipped != 0)
        snprintf(cell, sizeof cell, "skip");
    printf(" %12s", cell);
}

int check_print_matrix(const struct check_result *results, uint64_t extra_failures)
{
    const char *isas[isas_max];
    const size_t isa_count = list_isas(isas);
    printf("%-21s", "variants x cases");
    for (size_t k = 0; k < isa_count; k++)
        printf(" %12s", isas[k]);
    printf("\n");
#define FOVEA_SLOT(family, slot)                                                                                       \
    printf("%-21s", #slot);                                                                                            \
    for (size_t k = 0; k < isa_count; k++)                                                                             \
        print_cell(results, #slot, isas[k]);                                                                           \
    printf("\n");
#include "kernels/slots.def"
#undef FOVEA_SLOT
    uint64_t passed = 0, failed = extra_failures, skipped = 0;
    for (size_t i = 0; i < check_variants_count; i++) {
        passed += results[i].passed;
        failed += results[i].failed;
        skipped += results[i].skipped;
    }
    printf("%llu passed, %llu failed, %llu skipped\n", (unsigned long long)passed, (unsigned long long)failed,
           (unsigned long long)skipped);
    return failed == 0 ? 0 : 1;
}
