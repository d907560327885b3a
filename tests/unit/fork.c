// SPDX-License-Identifier: Apache-2.0
// tests/unit/fork.c - engines, plans and models survive fork: a child computes the parent's bits with what the parent
// made, while the parent goes on.
#include "fovea/fovea.h"
#include "tests/model/random_model.h"
#include "tests/support/engines.h"
#include "tests/support/test.h"
#include "tests/support/threads.h"

#include <sys/wait.h>
#include <unistd.h>

enum { M = 130, N = 200, K = 90, WORKERS = 3, BATCH = 2, LEN = 8, VOCAB = 13 };

// What is made before the fork, and its results there.
struct parent {
    struct fovea_work *plan;
    float *a, *b, *c;
    void *shared, *scratch;
    struct fovea_transformer *model;
    float c_expected[M * N], scores[BATCH];
    float log_probs[BATCH * LEN * VOCAB];
};

static const uint32_t tokens[BATCH * LEN] = {1, 4, 5, 6, 7, 8, 9, 2, 1, 4, 3, 2, 9, 9, 8, 7};

static void compute(struct parent *p, const struct fovea_executor *executor, float *c, float *scores, float *log_probs)
{
    struct fovea_hypothesis found[BATCH];
    const struct fovea_gemm_args args = {.a = p->a, .b = p->b, .c = c, .m = M};
    const enum fovea_status status[] = {
        fovea_gemm(p->plan, &args, p->shared, p->scratch, executor),
        fovea_transformer_search(p->model, BATCH, LEN, tokens, NULL, 3, found, executor),
        fovea_transformer_decode(p->model, LEN, tokens, log_probs, executor),
    };
    for (size_t i = 0; i < sizeof status / sizeof *status; i++)
        CHECK(!status[i], "call %zu: %s", i, fovea_status_string(status[i]));
    for (size_t b = 0; b < BATCH; b++)
        scores[b] = found[b].score;
}

static void compare(struct parent *p, const struct fovea_executor *executor, const char *who)
{
    float *const c = test_alloc(sizeof p->c_expected), *const log_probs = test_alloc(sizeof p->log_probs);
    float scores[BATCH];
    compute(p, executor, c, scores, log_probs);
    CHECK_SAME(p->c_expected, c, M * N, "%s", who);
    CHECK_SAME(p->scores, scores, BATCH, "%s", who);
    CHECK_SAME(p->log_probs, log_probs, BATCH * LEN * VOCAB, "%s", who);
    free(c);
    free(log_probs);
}

static void make(struct parent *p, const struct fovea_engine *engine)
{
    static const struct fovea_transformer_config config = {.struct_size = sizeof config,
                                                           .norm = FOVEA_NORM_PRE,
                                                           .activation = FOVEA_ACTIVATION_GELU,
                                                           .positions = FOVEA_POSITIONS_SINUSOIDAL,
                                                           .eps = 1e-5f,
                                                           .final_norm = 1,
                                                           .bos = 1,
                                                           .eos = 2,
                                                           .d_model = 32,
                                                           .heads = 2,
                                                           .qk_dim = 16,
                                                           .v_dim = 16,
                                                           .ffn = 64,
                                                           .encoder_layers = 1,
                                                           .decoder_layers = 1,
                                                           .source_vocab = VOCAB,
                                                           .target_vocab = VOCAB};
    struct fovea_gemm_desc gemm = FOVEA_GEMM_DESC_INIT;
    gemm.m = M, gemm.n = gemm.ldb = gemm.ldc = N, gemm.k = gemm.lda = K;
    p->plan = test_alloc(fovea_gemm_plan_size());
    CHECK(!fovea_gemm_plan(engine, &gemm, p->plan), "plan");
    p->shared = test_alloc(p->plan->shared_bytes);
    p->scratch = test_alloc(WORKERS * p->plan->scratch_bytes);
    p->a = test_alloc(M * K * sizeof *p->a);
    p->b = test_alloc(K * N * sizeof *p->b);
    uint64_t seed = 1;
    for (size_t i = 0; i < M * K; i++)
        p->a[i] = test_float(&seed);
    for (size_t i = 0; i < K * N; i++)
        p->b[i] = test_float(&seed);
    struct random_model weights;
    random_model_init(&weights, &config, 3, RANDOM_ALL);
    p->model = random_model_create(
        &weights, engine,
        (struct fovea_transformer_options){
            .workers = WORKERS, .batch = BATCH, .beam = 3, .max_source = LEN, .max_target = LEN + 4});
    random_model_free(&weights);
    compute(p, NULL, p->c_expected, p->scores, p->log_probs);
}

static void destroy(struct parent *p)
{
    fovea_transformer_destroy(p->model);
    free(p->plan);
    free(p->shared);
    free(p->scratch);
    free(p->a);
    free(p->b);
}

int main(void)
{
    static struct parent p;
    for (int i = 0; i < TEST_ISAS; i++) {
        struct fovea_engine *const engine = test_engine(test_isas[i], NULL);
        if (!engine)
            continue;
        make(&p, engine);
        fflush(NULL);
        const pid_t child = fork();
        if (child == 0) {
            struct test_threads threads;
            test_threads_init(&threads, WORKERS, 5);
            compare(&p, NULL, "child");
            compare(&p, &threads.executor, "child with threads");
            destroy(&p);
            fovea_engine_destroy(engine);
            fflush(NULL);
            _exit(test_failed != 0);
        }
        compare(&p, NULL, "parent");
        int status = 0;
        CHECK(child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0,
              "%s: the child ended with %d", test_isas[i], status);
        destroy(&p);
        fovea_engine_destroy(engine);
    }
    return test_done();
}
