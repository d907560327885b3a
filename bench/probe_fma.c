// SPDX-License-Identifier: Apache-2.0
// bench/probe_fma.c - the FMA peak of each register width, and what takes a part of the core: a neighbour, interrupts.
//
// Twelve independent chains: at least latency x ports (4 x 2 on Skylake to Sapphire Rapids and Zen 5, 5 x 2 on Haswell,
// 4 x 2 on Neoverse N1; V1 and V2 have four ports of latency 4 and take sixteen). Inline assembly, so that the compiler
// neither folds nor moves it and this file needs no flags. The operands are zeros: the clock is then the highest that
// these instructions get, never a lower one.
//
// Where another program runs on the second thread of the core (on a rented machine it is not to be seen), each gets
// every other cycle of the front end. Multiply-adds alone need 2 instructions a cycle and hardly notice; a micro-kernel
// needs 3 and drops to 2/3 and less. So a second loop has a load to every second multiply-add: measured on a rented
// Cascade Lake it ran at 100 % of the first at some moments and at 45 to 90 % at others, and so did every product.
#include "bench/clock.h"
#include "bench/probe.h"
#include "bench/stats.h"

#include <string.h>

enum { STEPS = 3072, ROUNDS = 3 }; // 16 us for a loop on 512 bits at 2.3 GHz

// The chains, with L after every second.
#define TWELVE(X, L) X("2") X("3") L X("4") X("5") L X("6") X("7") L X("8") X("9") L X("10") X("11") L X("12") X("13") L

struct probe {
    const char *isa;
    void (*pure)(size_t steps), (*mixed)(size_t steps);
    double flops; // of a step
};

static const float zero[4];

#if defined(__x86_64__)

#define ZERO(i) "xorps %%xmm" i ", %%xmm" i "\n\t"
#define XMMS                                                                                                           \
    "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12",         \
        "xmm13", "xmm14"
#define LOOP(name, X, L, end)                                                                                          \
    static void name(size_t steps)                                                                                     \
    {                                                                                                                  \
        __asm__ volatile(ZERO("0") ZERO("1") TWELVE(ZERO, ) ".p2align 5\n1:\n\t" TWELVE(X, L)                          \
                             TWELVE(X, L) "dec %0\n\tjnz 1b\n\t" end                                                   \
                         : "+r"(steps)                                                                                 \
                         : "r"(zero)                                                                                   \
                         : XMMS, "cc");                                                                                \
    }
#define ZMM(i) "vfmadd231ps %%zmm0, %%zmm1, %%zmm" i "\n\t"
#define YMM(i) "vfmadd231ps %%ymm0, %%ymm1, %%ymm" i "\n\t"
#define MULADD(i) "mulss %%xmm0, %%xmm" i "\n\taddss %%xmm1, %%xmm" i "\n\t" // the baseline has no FMA

LOOP(avx512_pure, ZMM, , "vzeroupper")
LOOP(avx512_mixed, ZMM, "vbroadcastss (%1), %%zmm14\n\t", "vzeroupper")
LOOP(avx2_pure, YMM, , "vzeroupper")
LOOP(avx2_mixed, YMM, "vbroadcastss (%1), %%ymm14\n\t", "vzeroupper")
LOOP(scalar_pure, MULADD, , "")
LOOP(scalar_mixed, MULADD, "movss (%1), %%xmm14\n\t", "")

static const struct probe probes[] = {{"avx512", avx512_pure, avx512_mixed, 24 * 32},
                                      {"avx2", avx2_pure, avx2_mixed, 24 * 16},
                                      {"scalar", scalar_pure, scalar_mixed, 24 * 2}};

#elif defined(__aarch64__)

#define SIXTEEN(X, L) TWELVE(X, L) X("14") X("15") L X("16") X("17") L
#define ZERO(i) "movi v" i ".4s, #0\n\t"
#define VREGS                                                                                                          \
    "v0", "v1", "v2", "v3", "v4", "v5", "v6", "v7", "v8", "v9", "v10", "v11", "v12", "v13", "v14", "v15", "v16",       \
        "v17", "v18"
#define LOOP(name, X, L)                                                                                               \
    static void name(size_t steps)                                                                                     \
    {                                                                                                                  \
        __asm__ volatile(ZERO("0") ZERO("1") SIXTEEN(ZERO, ) "1:\n\t" SIXTEEN(X, L) "subs %0, %0, #1\n\tb.ne 1b"       \
                         : "+r"(steps)                                                                                 \
                         : "r"(zero)                                                                                   \
                         : VREGS, "cc");                                                                               \
    }
#define VEC(i) "fmla v" i ".4s, v0.4s, v1.4s\n\t"
#define ONE(i) "fmadd s" i ", s0, s1, s" i "\n\t"

LOOP(neon_pure, VEC, )
LOOP(neon_mixed, VEC, "ldr q18, [%1]\n\t")
LOOP(scalar_pure, ONE, )
LOOP(scalar_mixed, ONE, "ldr s18, [%1]\n\t")

static const struct probe probes[] = {{"neon", neon_pure, neon_mixed, 16 * 8},
                                      {"scalar", scalar_pure, scalar_mixed, 16 * 2}};

#else

// Another machine: what its compiler makes of independent chains.
static void scalar_pure(size_t steps)
{
    static volatile float sink;
    float x[12] = {0};
    while (steps--)
        for (size_t i = 0; i < 12; i++)
            x[i] = x[i] * 0.5f + zero[0];
    for (size_t i = 0; i < 12; i++)
        sink = x[i];
}

static const struct probe probes[] = {{"scalar", scalar_pure, scalar_pure, 12 * 2}};

#endif

struct run {
    void (*loop)(size_t steps);
};

static void run_loop(void *arg, uint32_t task, uint32_t worker)
{
    const struct run *const run = arg;
    (void)task;
    (void)worker;
    run->loop(STEPS);
}

// What reading the clock twice takes: CPU time is a system call, on one rented machine 0.45 us of the 10 of a loop.
static double clock_cost(uint32_t threads)
{
    enum { READINGS = 50 };
    double least = 1;
    for (int i = 0; i < READINGS; i++) {
        const double start = bench_seconds(threads), cost = bench_seconds(threads) - start;
        least = cost < least ? cost : least;
    }
    return least;
}

static double rate(void (*loop)(size_t steps), double flops, double cost, const struct fovea_executor *executor)
{
    struct run run = {loop};
    const double start = bench_seconds(executor->workers);
    executor->parallel_for(executor->state, executor->workers, run_loop, &run);
    return executor->workers * STEPS * flops / (bench_seconds(executor->workers) - start - cost);
}

static const struct probe *probe_of(const char *isa)
{
    for (size_t i = 0; i < sizeof probes / sizeof *probes; i++)
        if (strcmp(probes[i].isa, isa) == 0)
            return &probes[i];
    return NULL;
}

struct bench_peak bench_fma_peak(const char *isa, const struct fovea_executor *executor)
{
    const struct probe *const probe = probe_of(isa);
    if (!probe)
        return (struct bench_peak){0, 0};
    static double cost[2]; // of one thread's clock, and of several threads'
    double *const of_clock = &cost[executor->workers > 1], pure[ROUNDS], mixed[ROUNDS];
    *of_clock = *of_clock > 0 ? *of_clock : clock_cost(executor->workers);
    for (int round = 0; round < ROUNDS; round++) {
        pure[round] = rate(probe->pure, probe->flops, *of_clock, executor);
        mixed[round] = rate(probe->mixed, probe->flops, *of_clock, executor);
    }
    return (struct bench_peak){bench_quantile(pure, ROUNDS, 0.5), bench_quantile(mixed, ROUNDS, 0.5)};
}

double bench_interrupted(const char *isa)
{
    enum { LOOPS = 1000, SHORT = STEPS / 3 };
    static const double patience = 6e-3; // more than a tick of 250 a second, and not for ever in an emulator
    const struct probe *const probe = probe_of(isa);
    double seconds[LOOPS], all = 0, lost = 0, before = bench_seconds(1);
    size_t loops = 0;
    for (; probe && loops < LOOPS && all < patience; loops++) {
        probe->pure(SHORT);
        const double now = bench_seconds(1);
        seconds[loops] = now - before;
        all += now - before;
        before = now;
    }
    const double usual = loops != 0 ? bench_quantile(seconds, loops, 0.5) : 0;
    for (size_t i = 0; i < loops; i++)
        lost += seconds[i] > 2 * usual ? seconds[i] - usual : 0;
    return all > 0 ? lost / all : 0;
}
