// SPDX-License-Identifier: Apache-2.0
// tests/tune/child.c - questions that answer, lie, crash in every way, leave and hang: each gets its verdict, whoever
// stands beside it, and the asking process lives on.
#include "tests/support/test.h"
#include "tune/child.h"

#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

enum ask { SAME, DIFFERS, ILL, SEGV, BUS, FPE, ABORT, LEAVES, SPINS, SLEEPS };

static const struct {
    enum ask ask;
    enum tune_verdict verdict;
    int signal;
} cases[] = {
    {SAME, TUNE_SAME, 0},          {ILL, TUNE_CRASHES, SIGILL},    {DIFFERS, TUNE_DIFFERS, 0},
    {SEGV, TUNE_CRASHES, SIGSEGV}, {BUS, TUNE_CRASHES, SIGBUS},    {SAME, TUNE_SAME, 0},
    {FPE, TUNE_CRASHES, SIGFPE},   {ABORT, TUNE_CRASHES, SIGABRT}, {LEAVES, TUNE_CRASHES, 0},
    {SPINS, TUNE_HANGS, 0},        {DIFFERS, TUNE_DIFFERS, 0},     {SLEEPS, TUNE_HANGS, 0},
    {SAME, TUNE_SAME, 0},
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

int main(void)
{
    enum tune_verdict verdicts[CASES];
    int signals[CASES];
    signal(SIGILL, on_signal); // handlers of the parent do not save the child
    signal(SIGBUS, on_signal);
    tune_ask(CASES, question, &changed, 1.5, verdicts, signals);
    for (int i = 0; i < CASES; i++)
        CHECK(verdicts[i] == cases[i].verdict && (signals[i] == cases[i].signal || cases[i].ask == SEGV),
              "question %d: %s, signal %d", i, tune_verdict_names[verdicts[i]], signals[i]);
    CHECK(changed == 0, "the child changed this process");
    tune_ask(0, question, &changed, 1, verdicts, signals);
    return test_done();
}
