// SPDX-License-Identifier: Apache-2.0
// tests/bench/ways.c - prints in which way instructions are counted here, and counts: of 1000, 2000 and 3000 rounds of
// a loop, and of a product. tests/bench/count.py runs it under the tools that count.
#include "bench/instructions.h"
#include "fovea/fovea.h"

#include <inttypes.h>
#include <stdio.h>

enum { N = 40, ROUNDS = 1000, LOOPS = 3 };

static void loop(void *arg)
{
    volatile size_t *const sum = arg;
    for (size_t i = sum[1]; i > 0; i--)
        sum[0] += i;
}

static void product(void *arg)
{
    static float a[N * N], b[N * N], c[N * N];
    struct fovea_gemm_desc desc = FOVEA_GEMM_DESC_INIT;
    desc.m = desc.n = desc.k = desc.lda = desc.ldb = desc.ldc = N;
    fovea_gemm_once(arg, &desc, &(struct fovea_gemm_args){.a = a, .b = b, .c = c, .m = N});
}

static void print_count(void (*run)(void *arg), void *arg)
{
    static const double patience = 60;
    uint64_t count = 0;
    run(arg);
    printf(" %" PRIu64, bench_instructions(run, arg, patience, &count) ? count : 0);
    fflush(stdout); // a child that is stepped through has none of it
}

static __attribute__((noinline)) void print_counts(struct fovea_engine *engine)
{
    printf("%s", bench_instructions_way());
    fflush(stdout);
    for (size_t i = 1; i <= LOOPS; i++) {
        size_t sum[] = {0, ROUNDS * i};
        print_count(loop, sum);
    }
    print_count(product, engine);
    putchar('\n');
}

int main(void)
{
    enum { PAGE = 4096 };
    _Alignas(PAGE) char room[1];
    struct fovea_engine *engine = NULL;
    if (fovea_engine_create(NULL, &engine) != FOVEA_OK)
        return 1;
    // The stack begins anywhere, and libc takes 3 steps more where a short memset or memcpy there meets the end of a
    // page: with something on it that is aligned to one it is at the same place of a page in every run.
    __asm__ volatile("" : : "r"(room) : "memory");
    print_counts(engine);
    fovea_engine_destroy(engine);
    return 0;
}
