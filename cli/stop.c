// SPDX-License-Identifier: Apache-2.0
// cli/stop.c - signals that ask a command to end, which has something to keep first.
#include "cli/cli.h"

#include <string.h>
#include <unistd.h>

volatile sig_atomic_t cli_stop;
static const char *answer;

static void on_stop(int number)
{
    if (answer && !cli_stop && write(STDERR_FILENO, answer, strlen(answer)) < 0)
        answer = NULL; // nobody is there
    cli_stop = number;
}

// A terminal may say twice that it closes, and what is written to it then fails, which must not end what has something
// to save. Under nohup it says nothing.
void cli_catch_stops(const char *said)
{
    const struct sigaction once = {.sa_handler = on_stop, .sa_flags = (int)SA_RESETHAND},
                           always = {.sa_handler = on_stop};
    struct sigaction was;
    answer = said;
    sigaction(SIGINT, &once, NULL);
    sigaction(SIGTERM, &once, NULL);
    if (sigaction(SIGHUP, NULL, &was) == 0 && was.sa_handler != SIG_IGN)
        sigaction(SIGHUP, &always, NULL);
    signal(SIGPIPE, SIG_IGN);
}

void cli_end_as_asked(void)
{
    if (!cli_stop)
        return;
    fflush(stdout);
    signal(cli_stop, SIG_DFL);
    raise(cli_stop);
}
