// SPDX-License-Identifier: Apache-2.0
// history/report.c - Google Benchmark's JSON: every repetition's figures as values.
#include "history/report.h"
#include "history/metric.h"
#include "history/report_context.h"
#include "history/text.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// What the values' and facts' strings lie in.
struct memory {
    json_t **texts;
    size_t text_count;
};

struct reader {
    struct report *report;
    size_t room; // of values
    char *message;
    size_t message_size;
};

static bool refuse(const struct reader *reader, const char *why)
{
    snprintf(reader->message, reader->message_size, "%s", why);
    return false;
}

static bool add_value(struct reader *reader, const char *benchmark, const char *metric, double value)
{
    struct report *const report = reader->report;
    if (!text_is_plain(benchmark) || !text_is_plain(metric)) // a terminal would obey them
        return refuse(reader, "a benchmark or metric whose name has control characters");
    if (!metric_is_figure(value))
        return true;
    if (report->value_count == reader->room) {
        const size_t room = reader->room ? 2 * reader->room : 1024;
        struct report_value *const values = realloc(report->values, room * sizeof *values);
        if (!values)
            return refuse(reader, "no memory");
        report->values = values;
        reader->room = room;
    }
    report->values[report->value_count] = (struct report_value){benchmark, metric, report->value_count, value};
    report->value_count++;
    return true;
}

static double time_unit(const json_t *entry)
{
    static const struct {
        const char *name;
        double seconds;
    } units[] = {{"ns", 1e-9}, {"us", 1e-6}, {"ms", 1e-3}, {"s", 1}};
    const char *const name = json_string_value(json_object_get(entry, "time_unit"));
    for (size_t i = 0; name && i < sizeof units / sizeof *units; i++)
        if (strcmp(name, units[i].name) == 0)
            return units[i].seconds;
    return 0;
}

// Numbers of an entry that count, but measure nothing.
static bool bookkeeping(const char *name)
{
    static const char *const names[] = {
        "family_index", "per_family_instance_index", "repetitions", "repetition_index", "threads", "iterations"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    return false;
}

static bool read_entry(struct reader *reader, json_t *entry)
{
    const char *const type = json_string_value(json_object_get(entry, "run_type"));
    const char *name = json_string_value(json_object_get(entry, "run_name"));
    if (!name)
        name = json_string_value(json_object_get(entry, "name"));
    if (!name || !*name)
        return refuse(reader, "not a report of Google Benchmark: a benchmark without a name");
    if (type && strcmp(type, "aggregate") == 0)
        return true;
    if (json_is_true(json_object_get(entry, "error_occurred")) || json_is_true(json_object_get(entry, "skipped"))) {
        reader->report->failed++;
        return true;
    }
    const double unit = time_unit(entry);
    const json_t *const time = json_object_get(entry, "real_time"); // null, once NaN: only counters were taken
    if (unit == 0 || !(json_is_number(time) || json_is_null(time)))
        return refuse(reader, "not a report of Google Benchmark: a benchmark without real_time and time_unit");
    const char *metric;
    json_t *value;
    json_object_foreach(entry, metric, value)
    {
        const bool timed = strcmp(metric, "real_time") == 0 || strcmp(metric, "cpu_time") == 0;
        if (json_is_number(value) && !bookkeeping(metric) &&
            !add_value(reader, name, metric, json_number_value(value) * (timed ? unit : 1)))
            return false;
    }
    return true;
}

// A reason is one line: what Jansson repeats of the text may hold line feeds, or what a terminal obeys.
static void refuse_json(const struct reader *reader, const json_error_t *error)
{
    snprintf(reader->message, reader->message_size, "not JSON, or cut off: line %d: %.120s", error->line, error->text);
    for (char *c = reader->message; *c; c++)
        *c = (unsigned char)*c < 0x20 || *c == 0x7f ? '?' : *c;
}

static json_t *parse(const struct reader *reader, const char *text, size_t size)
{
    json_error_t error;
    char *const plain = text_plain_json(text, &size);
    json_t *const root = plain ? json_loadb(plain, size, JSON_REJECT_DUPLICATES, &error) : NULL;
    free(plain);
    if (!plain)
        refuse(reader, "no memory");
    else if (!root)
        refuse_json(reader, &error);
    return root;
}

static bool read_text(struct reader *reader, json_t *root, bool first)
{
    json_t *const context = json_object_get(root, "context"), *const entries = json_object_get(root, "benchmarks");
    if (!json_is_object(context) || !json_is_array(entries))
        return refuse(reader, "not a report of Google Benchmark: it has no context and benchmarks");
    bool done = !first || report_context(reader->report, context) || refuse(reader, "no memory");
    size_t i;
    json_t *entry;
    json_array_foreach(entries, i, entry)
    {
        if (done)
            done = read_entry(reader, entry);
    }
    return done;
}

static int compare_values(const void *a, const void *b)
{
    const struct report_value *const x = a, *const y = b;
    const int benchmark = strcmp(x->benchmark, y->benchmark), metric = strcmp(x->metric, y->metric);
    return benchmark ? benchmark : metric ? metric : (x->order > y->order) - (x->order < y->order);
}

bool report_parse(const char *const *texts, const size_t *sizes, size_t count, struct report *report, char *message,
                  size_t message_size)
{
    struct reader reader = {report, 0, message, message_size};
    *report = (struct report){.digest = {text_hash_basis[0], text_hash_basis[1]}};
    struct memory *const memory = calloc(1, sizeof *memory);
    if (memory)
        memory->texts = calloc(count, sizeof *memory->texts);
    report->memory = memory;
    bool done = memory && memory->texts ? true : refuse(&reader, "no memory");
    for (size_t i = 0; i < count && done; i++) {
        memory->texts[i] = parse(&reader, texts[i], sizes[i]);
        memory->text_count += memory->texts[i] != NULL;
        done = memory->texts[i] && read_text(&reader, memory->texts[i], i == 0);
        for (size_t j = 0; j < TEXT_HASHES; j++)
            report->digest[j] = text_hash(report->digest[j], texts[i], sizes[i]);
    }
    if (done && report->value_count == 0)
        done = refuse(&reader, report->failed ? "every benchmark of it has failed" : "it holds no benchmark");
    if (done)
        qsort(report->values, report->value_count, sizeof *report->values, compare_values);
    else
        report_free(report);
    return done;
}

bool report_read(const char *path, struct report *report, char *message, size_t message_size)
{
    char *text, why[300];
    size_t size;
    if (!text_read(path, &text, &size, message, message_size))
        return false;
    const bool done = report_parse((const char *const[]){text}, &size, 1, report, why, sizeof why);
    if (!done)
        snprintf(message, message_size, "%s: %s", path, why);
    free(text);
    return done;
}

void report_free(struct report *report)
{
    struct memory *const memory = report->memory;
    for (size_t i = 0; memory && i < memory->text_count; i++)
        json_decref(memory->texts[i]);
    if (memory)
        free(memory->texts);
    for (size_t i = 0; i < report->fact_count; i++) {
        free((char *)report->facts[i].name);
        free((char *)report->facts[i].value);
    }
    free(memory);
    free(report->facts);
    free(report->values);
    *report = (struct report){0};
}
