// SPDX-License-Identifier: Apache-2.0
// history/report_context.c - the facts of a report: Google Benchmark's context, and what is added to it.
#include "history/report_context.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool report_fact(struct report *report, const char *name, const char *value)
{
    struct history_fact *fact = NULL;
    for (size_t i = 0; i < report->fact_count && !fact; i++)
        if (strcmp(report->facts[i].name, name) == 0)
            fact = &report->facts[i];
    char *const copy = strdup(value);
    if (fact && copy) {
        free((char *)fact->value);
        fact->value = copy;
        return true;
    }
    struct history_fact *const facts = realloc(report->facts, (report->fact_count + 1) * sizeof *facts);
    if (facts)
        report->facts = facts;
    char *const own = strdup(name);
    if (!facts || !copy || !own) {
        free(copy);
        free(own);
        return false;
    }
    facts[report->fact_count++] = (struct history_fact){own, copy};
    return true;
}

const char *report_find(const struct report *report, const char *name)
{
    for (size_t i = 0; i < report->fact_count; i++)
        if (strcmp(report->facts[i].name, name) == 0)
            return report->facts[i].value;
    return NULL;
}

// A fact that is text as it is, anything else as JSON writes it, lists of numbers without brackets.
static bool add_fact(struct report *report, const char *name, json_t *value)
{
    if (json_is_string(value))
        return report_fact(report, name, json_string_value(value));
    char *const text = json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT | JSON_REAL_PRECISION(6));
    if (!text)
        return false;
    const size_t length = strlen(text);
    if (json_is_array(value) && length >= 2)
        text[length - 1] = '\0';
    const bool added = report_fact(report, name, text + json_is_array(value));
    free(text);
    return added;
}

// "caches": [{"type": "Data", "level": 1, "size": 32768, ...}, ...] as l1d_bytes, l1i_bytes, l2_bytes, l3_bytes.
static bool add_caches(struct report *report, json_t *caches)
{
    size_t i;
    json_t *cache;
    json_array_foreach(caches, i, cache)
    {
        const char *const type = json_string_value(json_object_get(cache, "type"));
        const json_int_t level = json_integer_value(json_object_get(cache, "level"));
        char name[32], value[32];
        snprintf(name, sizeof name, "l%d%s_bytes", (int)level,
                 !type || level != 1         ? ""
                 : strcmp(type, "Data") == 0 ? "d"
                                             : "i");
        snprintf(value, sizeof value, "%lld", (long long)json_integer_value(json_object_get(cache, "size")));
        if (!report_fact(report, name, value))
            return false;
    }
    return true;
}

bool report_context(struct report *report, json_t *context)
{
    const char *name;
    json_t *value;
    json_object_foreach(context, name, value)
    {
        const bool caches = strcmp(name, "caches") == 0;
        if (!(caches ? add_caches(report, value) : add_fact(report, name, value)))
            return false;
    }
    const char *const date = report_find(report, "date");
    if (date && !report_date(date, &report->date))
        report->date = 0;
    return true;
}
