// SPDX-License-Identifier: Apache-2.0
// tune/report.c - writes an HTML page with SVG plots: no script, no other file.
//
// One plot per class: candidates in the order they were tried, vertically the incumbent's time over theirs, on a scale
// of 0.8 to 1.2. Stages alternate in shade; candidates that did not give the scalar path's bits are crosses at the
// bottom.
#include "tune/report.h"

#include <math.h>

enum { WIDTH = 520, HEIGHT = 150, LEFT = 40, STEP_MAX = 16 };

static const char style[] =
    "body{font:15px/1.45 system-ui,sans-serif;margin:2em auto;max-width:72em;padding:0 1em;color:#1d2433;"
    "background:#fff}"
    "h1{font-size:1.4em}svg{display:block}"
    "figure{display:inline-block;margin:0 1.5em 1em 0;vertical-align:top}figcaption{font-size:.9em}"
    "text{font-size:11px;fill:#5a6478}.axis{stroke:#c4cad6}.one{stroke:#8a93a6;stroke-dasharray:3 3}"
    ".t0{fill:#2f6fd6}.t1{fill:#7a9fe0}.bad{stroke:#c43c3c;stroke-width:2}.muted{color:#5a6478}"
    "@media(prefers-color-scheme:dark){body{background:#14171d;color:#dfe4ee}text{fill:#98a2b5}"
    ".axis{stroke:#3a4150}.t0{fill:#6ea0ff}.t1{fill:#40639f}.muted{color:#98a2b5}}";

static double height_of(double gain)
{
    const double clipped = fmin(1.2, fmax(0.8, gain));
    return (1.2 - clipped) / 0.4 * (HEIGHT - 30) + 8;
}

static void print_words(FILE *file, const struct tune_trial *trial)
{
    uint32_t count;
    const struct fovea_tunable *const tunables = fovea_tunables(fovea_class(trial->class).kind, &count);
    if (trial->tuned.kernel >= 0)
        fprintf(file, "%s", fovea_variant_facts[trial->tuned.kernel].name);
    for (uint32_t i = 0; i < count; i++)
        fprintf(file, " %s %u", tunables[i].name, trial->tuned.values[i]);
}

static void print_trial(FILE *file, const struct tune_trial *trial, double x)
{
    if (trial->verdict == TUNE_SAME && trial->gain > 0)
        fprintf(file, "<circle class=\"t%u\" cx=\"%.1f\" cy=\"%.1f\" r=\"3.5\"><title>", trial->stage % 2, x,
                height_of(trial->gain));
    else if (trial->verdict > TUNE_SAME)
        fprintf(file, "<path class=\"bad\" d=\"M%.1f %dl6 6m0-6l-6 6\"><title>", x - 3, HEIGHT - 16);
    else
        return;
    print_words(file, trial);
    if (trial->gain > 0)
        fprintf(file, ": %.3fx, %u pairs", trial->gain, trial->pairs);
    else
        fprintf(file, ": %s", tune_verdict_names[trial->verdict]);
    fprintf(file, "</title></%s>\n", trial->gain > 0 ? "circle" : "path");
}

static void print_class(FILE *file, const struct tune_result *r, uint32_t class)
{
    size_t count = 0, at = 0;
    for (size_t i = 0; i < r->trial_count; i++)
        count += r->trials[i].class == class;
    if (count == 0)
        return;
    const double step = fmin(STEP_MAX, (double)(WIDTH - LEFT - 10) / (double)count);
    fprintf(file, "<figure><figcaption>%s %s", fovea_class_names[class].of, fovea_class_names[class].name);
    if (r->profile.has[class])
        fprintf(file, ": <b>%.3fx</b> (%.3f-%.3f)", r->profile.evidence[class].gain * 1e-6,
                r->profile.evidence[class].low * 1e-6, r->profile.evidence[class].high * 1e-6);
    else
        fprintf(file, " <span class=\"muted\">default kept</span>");
    fprintf(file, "</figcaption>\n<svg width=\"%d\" height=\"%d\" role=\"img\" aria-label=\"candidates of %s\">\n",
            WIDTH, HEIGHT, fovea_class_names[class].name);
    fprintf(file, "<path class=\"axis\" d=\"M%d 4V%d\"/>\n", LEFT - 6, HEIGHT - 18);
    for (int percent = 80; percent <= 120; percent += 10)
        fprintf(file, "<text x=\"2\" y=\"%.1f\">%.1f</text>\n", height_of(percent / 100.0) + 4, percent / 100.0);
    fprintf(file, "<path class=\"one\" d=\"M%d %.1fH%d\"/>\n", LEFT - 6, height_of(1), WIDTH - 6);
    for (size_t i = 0; i < r->trial_count; i++)
        if (r->trials[i].class == class)
            print_trial(file, &r->trials[i], LEFT + step * (double)at++);
    fprintf(file, "</svg></figure>\n");
}

void tune_report(FILE *file, const struct fovea_engine *engine, const struct tune_result *r)
{
    const struct fovea_machine *const machine = fovea_engine_machine(engine);
    fprintf(
        file,
        "<!doctype html>\n<html lang=\"en\"><meta charset=\"utf-8\"><meta name=\"viewport\" "
        "content=\"width=device-width\"><title>fovea tune</title><style>%s</style>\n<h1>What fovea tune tried</h1>\n",
        style);
    fprintf(
        file,
        "<p>%s, %s; caches %u, %u, %u KiB. Level %s: %u classes in %.1f s, %zu candidates, %llu pairs, of which %llu "
        "were disturbed and do not count.</p>\n",
        *machine->brand ? machine->brand : "this CPU", machine->features, machine->l1d_bytes >> 10,
        fovea_profile_l2(&r->profile) >> 10, machine->l3_bytes >> 10, fovea_profile_levels[r->profile.level],
        r->classes_done, r->seconds, r->trial_count, (unsigned long long)r->pairs, (unsigned long long)r->disturbed);
    fprintf(file,
            "<p class=\"muted\">Upwards: the incumbent's time over the candidate's, 1.1 being 10 %% faster. Shades are "
            "stages: the kernel, then numbers that belong together. Each mark has its candidate as a tooltip; a red "
            "cross did not give the scalar path's bits.</p>\n");
    for (uint32_t class = 0; class < FOVEA_TUNED_CLASSES; class ++)
        print_class(file, r, class);
    fprintf(file, "</html>\n");
}
