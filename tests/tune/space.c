// SPDX-License-Identifier: Apache-2.0
// tests/tune/space.c - the space: what the registers hold and nothing twice; every candidate of every class gives the
// bits of the scalar path, on every ISA of this machine; and whether the test of gains knows chance from gain.
#include "tests/support/engines.h"
#include "tests/support/test.h"
#include "tune/case.h"
#include "tune/space.h"
#include "tune/stats.h"

// Small shapes of every class, for an L2 of 64 KiB, of which few and several rows have a quarter, or a sixteenth: B has
// 3.6, 14.5, 18.6 and 64.5 KiB.
static const size_t rows[] = {7, 20, 37, 261}; // more than FOVEA_KEEP_ROWS
static const size_t few_columns[] = {53, 68}, few_transposed[] = {13, 53}, more_columns[] = {53, 236}, steps = 70;

static const uint8_t none[FOVEA_VARIANTS];

static struct tune_case *make_case(const struct fovea_engine *engine, uint32_t class)
{
    const struct fovea_class of = fovea_class(class);
    for (int i = 0; i < 3 && of.kind == FOVEA_TUNED_SLOT; i++) {
        static const enum fovea_slot slots[] = {FOVEA_SLOT_attention_decode, FOVEA_SLOT_attention_decode_bf16,
                                                FOVEA_SLOT_attention_decode_f16};
        static const enum fovea_type types[] = {FOVEA_F32, FOVEA_BF16, FOVEA_F16};
        const struct tune_attention_shape shape = {
            .heads = 2, .q = 3, .kv = 144, .dim = 40, .panels = true, .type = types[i]};
        if (of.slot == slots[i])
            return tune_case_attention(engine, &shape);
    }
    if (of.kind == FOVEA_TUNED_SLOT && of.slot == FOVEA_SLOT_gemm_s8) {
        const struct tune_shape shape = {5, 75, 150, FOVEA_FORM_PACKED, 0, FOVEA_S8};
        return tune_case_gemm(engine, &shape);
    }
    if (of.kind == FOVEA_TUNED_SLOT)
        return tune_case_slot(class);
    if (of.kind == FOVEA_TUNED_ATTENTION) {
        static const size_t dims[] = {[FOVEA_HEADS_64] = 32, [FOVEA_HEADS_128] = 72, [FOVEA_HEADS_WIDE] = 136};
        const bool odd = of.heads == FOVEA_HEADS_128;
        const struct tune_attention_shape shape = {
            .heads = 2, .q = 50, .kv = 150, .dim = dims[of.heads], .causal = odd, .tokens = odd};
        return tune_case_attention(engine, &shape);
    }
    if (of.kind == FOVEA_TUNED_CACHE) { // 300 KiB, between the values of the border; one B, which stays
        const struct tune_shape shape = {5, 320, 240, FOVEA_FORM_NT, .near = SIZE_MAX};
        return tune_case_gemm(engine, &shape);
    }
    const struct fovea_gemm_class gemm = of.gemm;
    const size_t *const columns = gemm.rows >= FOVEA_SOME      ? more_columns
                                  : gemm.form == FOVEA_FORM_NT ? few_transposed
                                                               : few_columns;
    const struct tune_shape shape = {rows[gemm.rows], columns[gemm.far], steps, gemm.form, .near = 0};
    return tune_case_gemm(engine, &shape);
}

static void check_legal(const struct fovea_engine *engine, uint32_t class, const struct fovea_tuned *t)
{
    uint32_t count;
    const struct fovea_tunable *const tunables = fovea_tunables(fovea_class(class).kind, &count);
    for (uint32_t i = 0; i < count; i++)
        CHECK(t->values[i] >= tunables[i].smallest && t->values[i] <= tunables[i].largest, "%s %u", tunables[i].name,
              t->values[i]);
    if (t->kernel >= 0)
        CHECK((fovea_variant_facts[t->kernel].required & ~fovea_engine_choice(engine)->allowed) == 0, "%s",
              fovea_variant_facts[t->kernel].name);
}

static uint64_t check_class(const struct fovea_engine *engine, uint32_t class, uint32_t stride)
{
    struct fovea_tuned candidates[TUNE_CANDIDATES_MAX];
    const struct fovea_tuned model = tune_default(engine, class, none);
    struct tune_case *const c = make_case(engine, class);
    uint64_t ran = 0;
    // The problems of the border and of some slots are those of other classes.
    const bool own = fovea_class(class).kind == FOVEA_TUNED_GEMM || fovea_class(class).kind == FOVEA_TUNED_ATTENTION;
    CHECK(c && (!own || c->class == class), "class %u: the case is of class %u", class, c ? c->class : 999);
    for (uint32_t stage = 0; c && stage < tune_stages(class); stage++) {
        const uint32_t count = tune_space(engine, class, stage, &model, none, 0, candidates);
        for (uint32_t i = 0; i < count; i += stride) {
            check_legal(engine, class, &candidates[i]);
            for (uint32_t j = 0; j < i; j++)
                CHECK(!fovea_tuned_same(&candidates[i], &candidates[j]), "%s: twice", fovea_class_names[class].name);
            struct fovea_engine *const other = fovea_engine_copy_with(engine, class, &candidates[i]);
            void *const ready = c->kind->prepare(c, other);
            CHECK(ready && c->kind->same(ready, ready) && c->kind->verify(ready, TUNE_TASKS) &&
                      c->kind->verify(ready, TUNE_WITHIN),
                  "%s %s, stage %u, candidate %u: %s", fovea_class_names[class].of, fovea_class_names[class].name,
                  stage, i, c->name);
            ran++;
            if (ready)
                c->kind->release(ready);
            fovea_engine_destroy(other);
        }
    }
    if (c)
        c->kind->destroy(c);
    return ran;
}

// Every value of every number is offered in its stage: none is cut off where there are too many candidates.
static void check_complete(const struct fovea_engine *engine, uint32_t class)
{
    const struct fovea_tuned best = tune_default(engine, class, none);
    struct fovea_tuned candidates[TUNE_CANDIDATES_MAX];
    uint32_t count = 0;
    const struct fovea_tunable *const tunables = fovea_tunables(fovea_class(class).kind, &count);
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t found = tune_space(engine, class, tunables[i].stage, &best, none, 0, candidates);
        for (uint32_t v = 0; v < tunables[i].count; v++) {
            bool there = best.values[i] == tunables[i].values[v];
            for (uint32_t c = 0; c < found; c++)
                there = there || candidates[c].values[i] == tunables[i].values[v];
            CHECK(there, "%s: %s %u", fovea_class_names[class].name, tunables[i].name, tunables[i].values[v]);
        }
    }
}

// Where a quarter of L2 is left to the process, what the model makes of that is offered, kernel and numbers at once;
// nothing is offered twice, and nothing more where the two agree.
static void check_measured(const struct fovea_engine *engine, uint32_t class)
{
    struct fovea_machine real = *fovea_engine_machine(engine);
    const struct fovea_tuned best = tune_default(engine, class, none);
    struct fovea_tuned candidates[TUNE_CANDIDATES_MAX];
    const uint32_t honest = tune_space(engine, class, 0, &best, none, real.l2_bytes, candidates);
    CHECK(honest == tune_space(engine, class, 0, &best, none, 0, candidates), "%s: %u candidates of all of it",
          fovea_class_names[class].name, honest);
    CHECK(honest == tune_space(engine, class, 0, &best, none, 4 * (size_t)real.l2_bytes, candidates), "%s: of more",
          fovea_class_names[class].name);
    real.l2_bytes /= 4;
    const struct fovea_tuned wanted = fovea_tuned_default(&real, class, best.kernel);
    const uint32_t found = tune_space(engine, class, 0, &best, none, real.l2_bytes, candidates);
    bool there = fovea_tuned_same(&wanted, &best) || best.kernel < 0 || fovea_variant_facts[best.kernel].required == 0;
    for (uint32_t i = 0; i < found; i++) {
        there = there || fovea_tuned_same(&candidates[i], &wanted);
        for (uint32_t j = 0; j < i; j++)
            CHECK(!fovea_tuned_same(&candidates[i], &candidates[j]), "%s: twice", fovea_class_names[class].name);
    }
    CHECK(there, "%s: the model of the real L2 is not offered", fovea_class_names[class].name);
}

// The default of a slot is what an engine without a profile has; whatever replaces it takes as many rows, and is quiet
// for as many.
static void check_slot(const struct fovea_engine *engine, uint32_t class)
{
    const struct fovea_tuned best = tune_default(engine, class, none);
    struct fovea_tuned candidates[TUNE_CANDIDATES_MAX];
    if (fovea_class(class).kind != FOVEA_TUNED_SLOT)
        return;
    CHECK(best.kernel == fovea_tuned_get(fovea_engine_kernels(engine), class).kernel, "%s: the default is %s",
          fovea_class_names[class].name, fovea_variant_facts[best.kernel].name);
    const uint32_t found = tune_space(engine, class, 0, &best, none, 0, candidates);
    for (uint32_t i = 0; i < found; i++) {
        const struct fovea_variant_facts *const facts = &fovea_variant_facts[candidates[i].kernel];
        const struct fovea_variant_facts *const model = &fovea_variant_facts[best.kernel];
        CHECK(facts->mr >= model->mr && facts->queries >= model->queries && facts->quiet_rows >= model->quiet_rows,
              "%s in place of %s", facts->name, model->name);
    }
}

// Bans leave what is not banned; without any kernel but the scalar one nothing is offered.
static void check_bans(const struct fovea_engine *engine)
{
    uint8_t banned[FOVEA_VARIANTS] = {0};
    struct fovea_tuned candidates[TUNE_CANDIDATES_MAX];
    for (uint32_t rounds = 0; rounds < FOVEA_VARIANTS; rounds++) {
        const struct fovea_tuned best = tune_default(engine, 0, banned);
        const uint32_t count = tune_space(engine, 0, 0, &best, banned, 0, candidates);
        for (uint32_t i = 0; i < count; i++)
            CHECK(!banned[candidates[i].kernel], "%s is banned", fovea_variant_facts[candidates[i].kernel].name);
        if (fovea_variant_facts[best.kernel].required == 0) {
            CHECK(count == 0, "%u kernels beside the scalar one", count);
            return;
        }
        banned[best.kernel] = 1;
    }
    CHECK(0, "bans never end");
}

static void check_statistics(void)
{
    const double up[7] = {1, 2, 3, 4, 5, 6, 7}, mixed[6] = {1, -1, 2, -2, 3, -3}, one[5] = {5, -1, 4, 3, 2};
    CHECK(fabs(tune_signed_rank(up, 7) - 1.0 / 128) < 1e-12, "%g", tune_signed_rank(up, 7));
    CHECK(tune_signed_rank(mixed, 6) > 0.5, "%g", tune_signed_rank(mixed, 6));
    CHECK(fabs(tune_signed_rank(one, 5) - 2.0 / 32) < 1e-12, "%g", tune_signed_rank(one, 5));
    CHECK(tune_signed_rank(up, 0) == 1, "nothing");
    // Of chance alone: about one in a hundred below 0.01.
    uint64_t random = 11;
    int below = 0;
    for (int i = 0; i < 4000; i++) {
        double noise[15];
        for (int j = 0; j < 15; j++)
            noise[j] = test_float(&random) + test_float(&random);
        below += tune_signed_rank(noise, 15) < 0.01;
    }
    CHECK(below > 15 && below < 70, "%d of 4000 below 0.01", below);
}

int main(void)
{
    setenv("FOVEA_CACHES", "8K,64K,256K", 1);
    setenv("FOVEA_PROFILE", "none", 1);
    const uint32_t stride = getenv("FOVEA_TEST_SMALL") ? 7 : 1;
    uint64_t ran = 0;
    for (int isa = 0; isa < TEST_ISAS; isa++) {
        struct fovea_engine *const engine = test_engine(test_isas[isa], NULL);
        if (!engine)
            continue;
        for (uint32_t class = 0; class < FOVEA_TUNED_CLASSES; class ++)
            ran += check_class(engine, class, isa ? stride : 4 * stride); // the scalar path is slow, and defines
        for (uint32_t class = 0; class < FOVEA_TUNED_CLASSES; class ++) {
            check_complete(engine, class);
            check_measured(engine, class);
            check_slot(engine, class);
        }
        check_bans(engine);
        fovea_engine_destroy(engine);
    }
    check_statistics();
    printf("%llu candidates\n", (unsigned long long)ran);
    return test_done();
}
