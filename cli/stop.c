// SPDX-License-Identifier: Apache-2.0
// cli/stop.c - signals that ask a command to end, which has something to keep first.
#include "cli/cli.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

volatile sig_atomic_t cli_stop;
static const char *answer;

static void on_stop(int number)
{
    const int before = errno;
    const bool told = answer && !cli_stop && write(STDERR_FILENO, answer, strlen(answer)) > 0;
    (void)told; // or nobody is there
    cli_stop = number;
    errno = before;
}

// Unless it is ignored, as a shell asks of what runs in the background, and nohup. What is being written is written to
// its end.
static void catch_stop(int number, int flags)
{
    const struct sigaction stop = {.sa_handler = on_stop, .sa_flags = SA_RESTART | flags};
    struct sigaction was;
    if (sigaction(number, NULL, &was) == 0 && was.sa_handler != SIG_IGN)
        sigaction(number, &stop, NULL);
}

// A second Ctrl-C ends at once. A terminal may say twice that it closes, and what is written to it then fails, which
// must not end what has something to save.
void cli_catch_stops(const char *said)
{
    answer = said;
    catch_stop(SIGINT, (int)SA_RESETHAND);
    catch_stop(SIGTERM, (int)SA_RESETHAND);
    catch_stop(SIGHUP, 0);
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
