// SPDX-License-Identifier: Apache-2.0
// bench/instructions.c - single steps between two stops of a child.
#include "bench/instructions.h"

#include <signal.h>
#include <stddef.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static void be_counted(void (*run)(void *arg), void *arg)
{
    if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) != 0)
        _exit(1);
    raise(SIGSTOP); // counting begins
    run(arg);
    raise(SIGSTOP); // and ends
    _exit(0);
}

// Waits for the child's next stop and says by which signal it is; 0 where it has ended.
static int stopped(pid_t child)
{
    int status;
    return waitpid(child, &status, 0) == child && WIFSTOPPED(status) ? WSTOPSIG(status) : 0;
}

// Steps from the first stop to the second: the call, and what is around it.
static bool count_steps(void (*run)(void *arg), void *arg, double seconds, uint64_t *count)
{
    enum { CLOCK_EVERY = 1024 };
    const double end = now() + seconds;
    const pid_t child = fork();
    if (child == 0)
        be_counted(run, arg);
    if (child < 0)
        return false;
    int signal = stopped(child);
    if (signal == 0)
        return false;
    bool counting = signal == SIGSTOP;
    for (*count = 0; counting; ++*count) {
        if (ptrace(PTRACE_SINGLESTEP, child, NULL, NULL) != 0 || (*count % CLOCK_EVERY == 0 && now() > end))
            break;
        signal = stopped(child);
        counting = signal == SIGTRAP;
    }
    const bool done = signal == SIGSTOP && *count > 0;
    if (signal != 0) {
        kill(child, SIGKILL);
        waitpid(child, NULL, 0);
    }
    return done;
}

static void nothing(void *arg)
{
    (void)arg;
}

bool bench_instructions(void (*run)(void *arg), void *arg, double seconds, uint64_t *count)
{
    uint64_t around;
    if (!count_steps(nothing, NULL, seconds, &around) || !count_steps(run, arg, seconds, count) || *count < around)
        return false;
    *count -= around;
    return true;
}
