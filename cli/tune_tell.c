// SPDX-License-Identifier: Apache-2.0
// cli/tune_tell.c - what `fovea tune` says while it searches, and at the end.
#include "cli/tune.h"

#include <math.h>
#include <string.h>
#include <unistd.h>

// A terminal gets a bar, whose text is cut to the terminal's width: a wrapped line could not be overwritten. Else there
// is a line for each stage of a class.
void cli_tune_tell(void *arg, const struct tune_progress *p)
{
    static char last[160];
    const bool terminal = isatty(STDERR_FILENO);
    (void)arg;
    if (!terminal && strcmp(last, p->what) == 0)
        return;
    snprintf(last, sizeof last, "%s", p->what);
    char left[32] = "";
    if (isfinite(p->budget))
        snprintf(left, sizeof left, ", %.*f s left", p->budget < 10, fmax(0, p->budget - p->elapsed));
    if (!terminal) {
        fprintf(stderr, "tune: %2u/%u %s%s\n", p->done, p->total, p->what, left);
        return;
    }
    enum { WIDTH = 24 };
    static const char bar[WIDTH + 1] = "########################";
    const int columns = cli_columns(), filled = p->total ? (int)(p->done * WIDTH / p->total) : 0;
    char best[64];
    int room = columns - 1 - snprintf(best, sizeof best, ", best %.3fx%s", fmax(1, p->best), left);
    fputs("\r\033[K", stderr);
    if (columns >= CLI_COLUMNS) // on a narrow one the words say more
        room -= fprintf(stderr, "[%-*.*s] ", WIDTH, filled, bar);
    fprintf(stderr, "%.*s%.*s", room > 0 ? room : 0, p->what, columns - 1, best);
}

void cli_tune_end(const struct tune_result *r, const char *path)
{
    uint32_t proved = 0, given = 0, quarantined = 0;
    for (uint32_t i = 0; i < FOVEA_TUNED_CLASSES; i++) {
        proved += r->profile.has[i] && r->profile.evidence[i].pairs != 0;
        given += r->profile.has[i] && r->profile.evidence[i].pairs == 0;
    }
    for (uint32_t i = 0; i < FOVEA_VARIANTS; i++)
        quarantined += r->profile.quarantine[i] != 0;
    char text[2][CLI_THINGS];
    if (r->classes) // level estimate searches none
        fprintf(stderr, "%s%u of %s searched in %.1f s%s, %u better than the default; %s, %llu of them disturbed\n",
                isatty(STDERR_FILENO) ? "\r\033[K" : "", r->classes_done, cli_things(text[0], r->classes, "class"),
                r->seconds, r->interrupted ? " (interrupted)" : "", proved, cli_things(text[1], r->pairs, "pair"),
                (unsigned long long)r->disturbed);
    if (r->profile.l2_measured_bytes)
        fprintf(stderr, "the L2 has %u KiB, as measured, where this machine reports %u: the defaults are of that\n",
                r->profile.l2_measured_bytes >> 10, r->profile.key.l2_bytes >> 10);
    if (given)
        fprintf(stderr, "%u given by --set or --from and not measured here\n", given);
    if (r->failures)
        fprintf(stderr, "%s did not give the scalar path's bits; %s in quarantine\n",
                cli_things(text[0], r->failures, "candidate"), cli_things(text[1], quarantined, "kernel"));
    if (r->classes_left)
        fprintf(stderr,
                "%s left out and as before: operands that come from memory need more of it than is free, or more than "
                "a tenth of the time\n",
                cli_things(text[0], r->classes_left, "class"));
    if (path)
        fprintf(stderr, "wrote %s\n", path);
    else
        fprintf(stderr, "nothing was %s, and nothing is written\n",
                r->interrupted ? "found before it was interrupted" : "searched");
}
