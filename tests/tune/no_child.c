// SPDX-License-Identifier: Apache-2.0
// tests/tune/no_child.c - where no child process can be started nothing is verified: what a search would go on with is
// the choice it had, or the default, and nothing is adopted; and a run in which that was so has not its level.
#include "tests/support/test.h"
#include "tune/search.h"
#include "tune/tune.h"

#include <dlfcn.h>
#include <errno.h>
#include <sys/types.h>

static uint32_t forks, most = UINT32_MAX; // so many succeed

// In the place of the C library's.
pid_t fork(void)
{
    pid_t (*real)(void);
    void *const found = dlsym(RTLD_NEXT, "fork");
    memcpy(&real, &found, sizeof real);
    if (forks++ < most)
        return real();
    errno = EAGAIN;
    return -1;
}

// A search without stages: a start, and its proof against the default, on more problems.
static void check_proof(const struct fovea_engine *engine, uint32_t class, uint32_t children)
{
    static struct tune_racer racers[TUNE_CANDIDATES_MAX];
    struct tune_effort effort = tune_efforts[FOVEA_LEVEL_QUICK];
    struct tune_search s = {.engine = engine,
                            .effort = &effort,
                            .start = tune_now(),
                            .class = class,
                            .class_deadline = INFINITY,
                            .end.deadline = tune_now() + 60,
                            .patience = {.silence = 5, .work = 1},
                            .racers = racers,
                            .track.isa = "scalar"};
    effort.passes = 0;
    const struct fovea_tuned model = tune_default(engine, class, s.quarantine);
    struct fovea_tuned from = model;
    from.values[0]--; // one step of k less: as fast, and no default
    s.best = model;   // as who searches a class sets it
    s.track.count = tune_cases(engine, class, effort.cases, &s.end, s.track.cases, NULL);
    CHECK(s.track.count != 0 && tune_widens(&s), "a class whose proof has more problems");
    forks = 0;
    most = children;
    tune_search_class(&s, &from, false);
    CHECK(fovea_tuned_same(&s.best, &model) || fovea_tuned_same(&s.best, &from), "%u children: best has kc %u",
          children, s.best.values[0]);
    CHECK(!s.adopted || forks <= children, "%u children: adopted", children);
    tune_cases_destroy(s.track.cases, s.track.count);
    free(s.trials);
}

static void check_run(const struct fovea_engine *engine)
{
    const struct tune_options options = {.engine = engine, .level = FOVEA_LEVEL_QUICK};
    struct tune_result result;
    forks = most = 0;
    const bool ok = tune_run(&options, &result);
    CHECK(ok && forks != 0 && result.classes_done == 0 && result.profile.level == FOVEA_LEVEL_ESTIMATE,
          "no child: %u of %u classes searched, level %u", result.classes_done, result.classes, result.profile.level);
    tune_result_free(&result);
}

int main(void)
{
    struct fovea_engine *engine;
    setenv("FOVEA_CACHES", "32K,1M,32M,plain", 1);
    setenv("FOVEA_PROFILE", "none", 1);
    if (fovea_engine_create(NULL, &engine))
        return 1;
    const uint32_t class = fovea_gemm_number((struct fovea_gemm_class){FOVEA_FEW, false, FOVEA_FORM_NN});
    for (uint32_t children = 0; children < 5; children++)
        check_proof(engine, class, children);
    check_run(engine);
    fovea_engine_destroy(engine);
    return test_done();
}
