// SPDX-License-Identifier: Apache-2.0
// tune/child.c - one byte per answer through a pipe; if a child ends early or is silent too long, the current question
// is to blame.
#include "tune/child.h"
#include "tune/measure.h"

#include <errno.h>
#include <math.h>
#include <poll.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

const char *const tune_verdict_names[] = {"unknown", "same", "differs", "crashes", "hangs"};

enum { FATAL_COUNT = 5 };
static const int fatal[FATAL_COUNT] = {SIGILL, SIGSEGV, SIGBUS, SIGFPE, SIGABRT}; // what wrong code ends by

// Runs in the child. If a question crashes, the child ends by the signal: the parent's handlers are not inherited.
static void answer(uint32_t first, uint32_t count, bool (*question)(void *arg, uint32_t i), void *arg, int to)
{
    static const int stops[] = {SIGINT, SIGTERM, SIGHUP}; // signals to the process group are meant for the parent
    const struct rlimit no_core = {0, 0};
    setrlimit(RLIMIT_CORE, &no_core);
    prctl(PR_SET_PDEATHSIG, SIGKILL); // it does not outlive its parent
    for (size_t i = 0; i < FATAL_COUNT; i++)
        signal(fatal[i], SIG_DFL);
    for (size_t i = 0; i < sizeof stops / sizeof *stops; i++)
        signal(stops[i], SIG_IGN);
    for (uint32_t i = first; i < count; i++) {
        const char byte = question(arg, i) ? 1 : 0;
        if (write(to, &byte, 1) != 1)
            break;
    }
    _exit(0);
}

static bool is_over(const volatile sig_atomic_t *stop)
{
    return stop && *stop;
}

// CPU seconds of a child; 0 if unknown.
static double worked(pid_t child)
{
    clockid_t clock;
    struct timespec t;
    const bool told = clock_getcpuclockid(child, &clock) == 0 && clock_gettime(clock, &t) == 0;
    return told ? (double)t.tv_sec + 1e-9 * (double)t.tv_nsec : 0;
}

enum wait { WAIT_ENDED, WAIT_ANSWERED, WAIT_HANGS, WAIT_GAVE_UP };

// Waits for a byte. The wait is split into slices, so that when parent and child are both stopped for a while only one
// slice is lost.
static enum wait wait_byte(int from, pid_t child, struct tune_patience *patience, const volatile sig_atomic_t *stop,
                           char *byte)
{
    const double slice = fmin(patience->silence / 8, 0.05), begin = worked(child);
    const double most = fmax(patience->work, 20 * patience->longest);
    struct pollfd poller = {.fd = from, .events = POLLIN};
    for (double silent = 0; !is_over(stop) && tune_now() < patience->until;) {
        const int ready = poll(&poller, 1, (int)(slice * 1000) + 1);
        if (ready < 0 && errno != EINTR)
            return WAIT_GAVE_UP;
        const double work = worked(child) - begin;
        if (ready > 0 && read(from, byte, 1) != 1)
            return WAIT_ENDED;
        if (ready > 0) {
            patience->longest = fmax(patience->longest, work);
            return WAIT_ANSWERED;
        }
        silent += ready == 0 ? slice : 0;
        if (work >= most)
            return WAIT_HANGS;
        if (silent >= patience->silence)
            return work >= patience->work / 10 ? WAIT_HANGS : WAIT_GAVE_UP; // kernels do not sleep: the machine did
    }
    return WAIT_GAVE_UP;
}

// The verdict on a question whose child ended before answering; unknown if somebody else ended it, for example the OOM
// killer, a limit on CPU time or a signal that somebody sent.
static enum tune_verdict verdict_of(int status)
{
    bool own = !WIFSIGNALED(status);
    for (size_t i = 0; i < FATAL_COUNT && !own; i++)
        own = WTERMSIG(status) == fatal[i];
    return own ? TUNE_CRASHES : TUNE_UNKNOWN;
}

// Reads the answers of one child from question `first` on; returns the first question without an answer.
static uint32_t listen_to(uint32_t first, uint32_t count, int from, pid_t child, struct tune_patience *patience,
                          const volatile sig_atomic_t *stop, enum tune_verdict *verdicts)
{
    int status = 0;
    uint32_t i = first;
    enum wait got = WAIT_ANSWERED;
    char byte = 0;
    while (i < count && (got = wait_byte(from, child, patience, stop, &byte)) == WAIT_ANSWERED)
        verdicts[i++] = byte ? TUNE_SAME : TUNE_DIFFERS;
    if (got == WAIT_HANGS || got == WAIT_GAVE_UP)
        kill(child, SIGKILL);
    while (waitpid(child, &status, 0) < 0 && errno == EINTR)
        continue;
    if (i < count)
        verdicts[i++] = got == WAIT_GAVE_UP ? TUNE_UNKNOWN : got == WAIT_HANGS ? TUNE_HANGS : verdict_of(status);
    return i;
}

void tune_ask(uint32_t count, bool (*question)(void *arg, uint32_t i), void *arg, struct tune_patience *patience,
              const volatile sig_atomic_t *stop, enum tune_verdict *verdicts)
{
    for (uint32_t i = 0; i < count; i++)
        verdicts[i] = TUNE_UNKNOWN;
    for (uint32_t next = 0; next < count && !is_over(stop) && tune_now() < patience->until;) {
        int ends[2];
        if (pipe(ends) != 0)
            return;
        fflush(NULL);
        const pid_t child = fork();
        if (child == 0) {
            close(ends[0]);
            answer(next, count, question, arg, ends[1]);
        }
        close(ends[1]);
        if (child > 0)
            next = listen_to(next, count, ends[0], child, patience, stop, verdicts);
        close(ends[0]);
        if (child < 0)
            return;
    }
}
