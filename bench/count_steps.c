// SPDX-License-Identifier: Apache-2.0
// bench/count_steps.c - single steps between two stops of a child (ptrace): every ISA, 3 to 40 us an instruction.
#include "bench/instructions.h"

#include <signal.h>
#include <stddef.h>
#include <sys/prctl.h>
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
    prctl(PR_SET_PDEATHSIG, SIGKILL);
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
static bool count(void (*run)(void *arg), void *arg, double seconds, uint64_t *steps)
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
    for (*steps = 0; counting; ++*steps) {
        if (ptrace(PTRACE_SINGLESTEP, child, NULL, NULL) != 0 || (*steps % CLOCK_EVERY == 0 && now() > end))
            break;
        signal = stopped(child);
        counting = signal == SIGTRAP;
    }
    const bool done = signal == SIGSTOP && *steps > 0;
    if (signal != 0) {
        kill(child, SIGKILL);
        waitpid(child, NULL, 0);
    }
    return done;
}

static bool here(void)
{
    return true;
}

const struct bench_way bench_way_steps = {"steps", here, count};
