// SPDX-License-Identifier: Apache-2.0
// bench/fovea_work.c - the memory that a plan of fovea asks for.
#include "bench/fovea.h"
#include "bench/memory.h"

void *bench_work_plan(struct bench_work *work, size_t plan_bytes)
{
    work->plan_bytes = plan_bytes;
    work->plan = bench_alloc(plan_bytes);
    return work->plan;
}

bool bench_work_make(struct bench_work *work, const struct fovea_executor *executor)
{
    const struct fovea_work *const wanted = work->plan;
    work->shared_bytes = wanted->shared_bytes;
    work->scratch_bytes = wanted->scratch_bytes * (executor ? executor->workers : 1);
    work->shared = bench_alloc(work->shared_bytes);
    work->scratch = bench_alloc(work->scratch_bytes);
    return work->shared && work->scratch;
}

void bench_work_free(struct bench_work *work)
{
    bench_free(work->plan, work->plan_bytes);
    bench_free(work->shared, work->shared_bytes);
    bench_free(work->scratch, work->scratch_bytes);
    *work = (struct bench_work){0};
}
