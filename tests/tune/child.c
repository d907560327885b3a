// SPDX-License-Identifier: Apache-2.0
// tests/tune/child.c - questions that answer, lie, crash in every way, leave and hang: each gets its verdict, whoever
// stands beside it, and the asking process lives on.
#include "tests/support/test.h"
#include "tune/child.h"
#include "tune/measure.h"

#include <math.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

enum ask { SAME, DIFFERS, ILL, SEGV, BUS, FPE, ABORT, LEAVES, SPINS, SLEEPS, STOPPED, KILLED, LIMITED };

static const struct {
    enum ask ask;
    enum tune_verdict verdict;
} cases[] = {
    {SAME, TUNE_SAME},      {ILL, TUNE_CRASHES},    {DIFFERS, TUNE_DIFFERS}, {SEGV, TUNE_CRASHES},
    {BUS, TUNE_CRASHES},    {SAME, TUNE_SAME},      {FPE, TUNE_CRASHES},     {ABORT, TUNE_CRASHES},
    {LEAVES, TUNE_CRASHES}, {SPINS, TUNE_HANGS},    {DIFFERS, TUNE_DIFFERS}, {SLEEPS, TUNE_UNKNOWN},
    {STOPPED, TUNE_SAME},   {KILLED, TUNE_UNKNOWN}, {LIMITED, TUNE_UNKNOWN}, {SAME, TUNE_SAME},
};
enum { CASES = sizeof cases / sizeof *cases };

static int changed; // by the child alone

static bool question(void *arg, uint32_t i)
{
    volatile int *nowhere = NULL;
    volatile int spin = 1;
    changed = 1;
    CHECK(arg == &changed, "the argument");
    switch (cases[i].ask) {
    case SAME:
        return true;
    case DIFFERS:
        return false;
    case SEGV:
        *nowhere = 1;
        return true;
    case ILL:
        raise(SIGILL);
        return true;
    case BUS:
        raise(SIGBUS);
        return true;
    case FPE:
        raise(SIGFPE);
        return true;
    case ABORT:
        abort();
    case LEAVES:
        _exit(0);
    case STOPPED: // as is the whole group of a program that is to end
        raise(SIGTERM), raise(SIGHUP), raise(SIGINT);
        return true;
    case KILLED: // as by a system short of memory
        raise(SIGKILL);
        return true;
    case LIMITED: // as by a limit on CPU time
        raise(SIGXCPU);
        return true;
    case SPINS:
        while (spin)
            continue;
        return true;
    default:
        sleep(1000);
        return true;
    }
}

static void on_signal(int number)
{
    fprintf(stderr, "FAIL: signal %d reached the asking process\n", number);
    _exit(1);
}

static volatile sig_atomic_t stop;

static void on_alarm(int number)
{
    (void)number;
    stop = 1;
}

// What is asked when it is to stop has no answer, and is waited for no longer.
static void test_stop(void)
{
    enum tune_verdict verdicts[CASES];
    signal(SIGALRM, on_alarm);
    alarm(1);
    struct tune_patience patience = {.silence = 1000, .work = 1000, .until = INFINITY};
    tune_ask(CASES - 3, question, &changed, &patience, &stop, verdicts); // up to the one that sleeps, past a loop
    CHECK(verdicts[0] == TUNE_SAME && verdicts[9] == TUNE_UNKNOWN && verdicts[11] == TUNE_UNKNOWN, "it was to stop");
}

// Who spins is found out long before who sleeps, unless answers take as long; and in the end nobody is waited for.
static void test_patience(void)
{
    enum { SPINNER = 9, SLEEPER = 11 };
    enum tune_verdict verdicts[CASES];
    struct tune_patience spins = {.silence = 1000, .work = 0.2, .until = INFINITY};
    tune_ask(SPINNER + 1, question, &changed, &spins, NULL, verdicts);
    CHECK(verdicts[SPINNER] == TUNE_HANGS, "a loop");
    struct tune_patience over = {.silence = 1000, .work = 1000, .longest = 1000, .until = tune_now() + 0.5};
    tune_ask(CASES, question, &changed, &over, NULL, verdicts);
    CHECK(verdicts[0] == TUNE_SAME && verdicts[SPINNER] == TUNE_UNKNOWN && verdicts[SLEEPER] == TUNE_UNKNOWN,
          "the time was over");
    struct tune_patience slow = {.silence = 0.5, .work = 0.1, .longest = 1000, .until = INFINITY};
    tune_ask(SPINNER + 1, question, &changed, &slow, NULL, verdicts);
    CHECK(verdicts[SPINNER] == TUNE_HANGS, "silence, where answers take long");
}

int main(void)
{
    enum tune_verdict verdicts[CASES];
    signal(SIGILL, on_signal); // handlers of the parent do not save the child
    signal(SIGBUS, on_signal);
    struct tune_patience patience = {.silence = 1.5, .work = 0.5, .until = INFINITY};
    tune_ask(CASES, question, &changed, &patience, NULL, verdicts);
    for (int i = 0; i < CASES; i++)
        CHECK(verdicts[i] == cases[i].verdict, "question %d: %s", i, tune_verdict_names[verdicts[i]]);
    CHECK(changed == 0, "the child changed this process");
    tune_ask(0, question, &changed, &patience, NULL, verdicts);
    test_stop();
    test_patience();
    return test_done();
}
