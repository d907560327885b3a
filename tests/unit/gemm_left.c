// SPDX-License-Identifier: Apache-2.0
// tests/unit/gemm_left.c - where a kernel for special shapes is excluded and only the scalar one is left, plans take
// tiles, which are faster, and give the same bits.
#include "fovea/fovea.h"
#include "ops/facts.h"
#include "tests/support/engines.h"
#include "tests/support/memory.h"
#include "tests/support/operator.h"
#include "tests/support/test.h"

#include <stdbool.h>
#include <string.h>

enum { LARGE = 1 << 20 };

// Products that a kernel takes by the numbers set below.
static const struct {
    const char *slot;
    size_t m, n, k;
    bool a_turned, b_turned, direct;
} cases[] = {
    {"gemm_bt", 1, 100, 130, false, true, false},  {"gemm_bt", 8, 100, 130, false, true, false},
    {"gemm_bt", 100, 1, 130, false, false, true},  {"gemm_bt", 100, 3, 130, false, true, false},
    {"gemm_bn", 1, 100, 130, false, false, false}, {"gemm_bn", 8, 112, 130, true, false, false},
    {"gemm_bn", 100, 1, 130, true, false, true},   {"gemm_bn", 100, 3, 130, true, true, false},
    {"gemm_edge", 48, 36, 70, false, false, true}, {"gemm_edge", 49, 52, 70, false, true, true},
};
enum { CASES = sizeof cases / sizeof *cases };

// An engine for an ISA without the kernels of a slot (NULL: with all) but the scalar one.
static struct fovea_engine *engine_without(const struct fovea_engine *other, const char *isa, const char *slot)
{
    struct fovea_engine_options options = FOVEA_ENGINE_OPTIONS_INIT;
    struct fovea_engine *engine = NULL;
    char names[400] = "", message[160] = "";
    for (uint32_t i = 0; slot != NULL && i < fovea_engine_variants(other); i++) {
        struct fovea_variant v;
        CHECK(!fovea_engine_variant(other, i, &v), "variant %u", (unsigned)i);
        const size_t used = strlen(names);
        if (strcmp(v.slot, slot) == 0 && strcmp(v.isa, "scalar") != 0)
            snprintf(names + used, sizeof names - used, "%s%s", used != 0 ? "," : "", v.name);
    }
    options.workers = 1, options.isa = isa, options.exclude = names, options.profile = "none";
    options.message = message, options.message_size = sizeof message;
    if (fovea_engine_create(&options, &engine) != FOVEA_OK) {
        fprintf(stderr, "FAIL no engine for %s without %s: %s\n", isa, names, message);
        exit(1);
    }
    return engine;
}

static void set_numbers(const struct fovea_engine *engine, bool direct)
{
    test_tuning(engine)->cache.near = direct ? LARGE : 1; // KiB: every B here is far, unless it is to be near
    for (size_t i = 0; i < FOVEA_GEMM_CLASSES; i++) {
        struct fovea_gemm_tuning *const t = &test_tuning(engine)->gemm[i];
        t->direct = direct ? LARGE : 0, t->along = 0;
        t->bt_rows = t->bn_rows = t->bn_alias = t->bn_split = 8;
        t->edge_columns = 8;
    }
}

// C of a case, computed by a kernel of its slot or not.
static const float *product(const struct fovea_engine *engine, const char *isa, size_t i, bool by_slot)
{
    struct fovea_gemm_desc d = FOVEA_GEMM_DESC_INIT;
    struct fovea_gemm_facts facts;
    uint64_t random = i;
    d.m = cases[i].m, d.n = d.ldc = cases[i].n, d.k = cases[i].k;
    d.trans_a = cases[i].a_turned ? FOVEA_TRANS : FOVEA_NO_TRANS, d.lda = cases[i].a_turned ? d.m : d.k;
    d.trans_b = cases[i].b_turned ? FOVEA_TRANS : FOVEA_NO_TRANS, d.ldb = cases[i].b_turned ? d.k : d.n;
    float *const a = test_floats(d.m * d.k, TEST_HIGH), *const b = test_floats(d.k * d.n, TEST_HIGH),
                 *const c = test_floats(d.m * d.n, TEST_HIGH);
    for (size_t p = 0; p < d.m * d.k; p++)
        a[p] = test_float(&random);
    for (size_t p = 0; p < d.k * d.n; p++)
        b[p] = test_float(&random);
    set_numbers(engine, cases[i].direct);
    const struct test_session session = test_plan(&test_gemm, engine, &d, 1);
    fovea_gemm_facts((const struct fovea_gemm_layout *)session.plan, &facts);
    const char *const kernel = facts.edge != NULL ? facts.edge : facts.kernel;
    CHECK((strncmp(kernel, cases[i].slot, strlen(cases[i].slot)) == 0) == by_slot, "%s, case %zu, %s: kernel %s", isa,
          i, cases[i].slot, kernel);
    CHECK(by_slot || strncmp(facts.kernel, "gemm_f32_", 9) == 0, "%s, case %zu: kernel %s", isa, i, facts.kernel);
    const struct fovea_gemm_args args = {.a = a, .b = b, .c = c, .m = d.m};
    for (enum test_way way = 0; way < TEST_WAYS; way++)
        CHECK(!test_run(&test_gemm, engine, &d, &args, way, 1 + i), "%s, case %zu", isa, i);
    return c;
}

static void test_isa(const struct fovea_engine *engine, const char *isa)
{
    const bool scalar = strcmp(isa, "scalar") == 0;
    struct fovea_engine *const all = engine_without(engine, isa, NULL);
    for (size_t i = 0; i < CASES; i++) {
        struct fovea_engine *const left = engine_without(engine, isa, cases[i].slot);
        const float *const want = product(all, isa, i, true), *const got = product(left, isa, i, scalar);
        CHECK_SAME(want, got, cases[i].m * cases[i].n, "%s, case %zu", isa, i);
        fovea_engine_destroy(left);
        test_memory_reset();
    }
    fovea_engine_destroy(all);
}

int main(void)
{
    test_plain_environment();
    test_each_engine(test_isa);
    return test_done();
}
