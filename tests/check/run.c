// SPDX-License-Identifier: Apache-2.0
// tests/check/run.c - runs one case: its random numbers, its signals, its verdict.
#include "tests/check/run.h"

#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static sigjmp_buf escape;
static volatile sig_atomic_t in_case, signal_number;
static void *volatile signal_address;

static void on_signal(int number, siginfo_t *info, void *context)
{
    (void)context;
    if (!in_case) {
        signal(number, SIG_DFL);
        raise(number);
        return;
    }
    signal_number = number;
    signal_address = info->si_addr;
    siglongjmp(escape, 1);
}

void check_run_install_handlers(void)
{
    // A kernel that wrecks its stack still reports: the handler has its own.
    static unsigned char memory[1 << 16];
    const stack_t stack = {.ss_sp = memory, .ss_size = sizeof memory};
    struct sigaction action = {.sa_flags = SA_SIGINFO | SA_ONSTACK};
    action.sa_sigaction = on_signal;
    static const int signals[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE};
    bool ok = sigaltstack(&stack, NULL) == 0;
    for (size_t i = 0; i < sizeof signals / sizeof signals[0]; i++)
        ok &= sigaction(signals[i], &action, NULL) == 0;
    if (!ok) {
        perror("check: cannot install signal handlers");
        exit(2);
    }
}

static void fail_on_signal(struct check_case *c)
{
    static const struct {
        int number;
        const char *name;
    } names[] = {{SIGSEGV, "SIGSEGV"}, {SIGBUS, "SIGBUS"}, {SIGILL, "SIGILL"}, {SIGFPE, "SIGFPE"}};
    const char *name = "signal";
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (names[i].number == signal_number)
            name = names[i].name;
    }
    char where[160];
    check_locate(signal_address, where, sizeof where);
    check_fail(c, "%s %s, in %s", name, where, c->running ? c->running->name : "the test itself");
}

/// A number that depends on the seed, the variant's name and the case alone.
static uint64_t mix(uint64_t seed, const char *name, uint64_t index)
{
    struct check_rng rng = {seed};
    uint64_t h = check_next(&rng);
    for (; *name != '\0'; name++)
        h = (h ^ (unsigned char)*name) * 0x100000001b3u;
    rng.state = h ^ index * 0xd1342543de82ef95u;
    return check_next(&rng);
}

bool check_run_case(const struct check_variant *v, const struct check_options *options, uint64_t index, bool quiet)
{
    static struct check_case c; // static: its contents survive siglongjmp
    memset(&c, 0, sizeof c);
    c.variant = v;
    c.scalar = check_scalar(v->slot);
    c.seed = options->seed;
    c.index = index;
    c.quiet = quiet;
    c.rng.state = mix(options->seed, v->name, index);
    if (sigsetjmp(escape, 1) == 0) {
        in_case = 1;
        if (c.scalar == NULL)
            check_fail(&c, "slot %s has no scalar variant", v->slot);
        else
            v->family->run(&c);
    } else {
        fail_on_signal(&c);
    }
    in_case = 0;
    check_buffers_reset();
    if (c.failed && !quiet)
        fprintf(stderr, "     repeat: check --only=%s --seed=%llu --case=%llu\n", v->name,
                (unsigned long long)options->seed, (unsigned long long)index);
    return !c.failed;
}
