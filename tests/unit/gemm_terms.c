// SPDX-License-Identifier: Apache-2.0
// tests/unit/gemm_terms.c - what becomes of sums in the tiles of one ISA beside those of another: each micro-kernel as
// a profile may give it to the classes of an engine, whose other tiles are of its own. The bits are those of scalar.
#include "dispatch/adopt.h"
#include "fovea/fovea.h"
#include "tests/support/engines.h"
#include "tests/support/operator.h"
#include "tests/support/weights.h"
#include "tests/tune/random_profile.h"

enum { TERMS = 6 };
static const char *const terms[TERMS] = {"bias", "bias, ReLU", "alpha", "beta", "residual", "a residual that is C"};
static const size_t shapes[][3] = {{100, 100, 100}, {7, 100, 33}, {64, 64, 64}, {300, 50, 40}, {33, 200, 20}};

// C of m x n, which begins with numbers, so that what is read of it, and what is left of it, is seen.
static const float *product(const struct fovea_engine *engine, const size_t *shape, int term, bool packed)
{
    const size_t m = shape[0], n = shape[1], k = shape[2];
    struct fovea_gemm_desc d = FOVEA_GEMM_DESC_INIT;
    d.m = m, d.n = n, d.k = k, d.lda = k, d.ldb = d.ldc = d.ldr = n;
    d.b_packed = packed;
    d.alpha = term == 2 ? 0.75f : 1;
    d.beta = term == 3 ? -0.5f : 0;
    d.activation = term == 1 ? FOVEA_ACTIVATION_RELU : FOVEA_ACTIVATION_NONE;
    d.residual = term >= 4;
    const float *const b = test_seeded(k * n, 2);
    struct fovea_gemm_args args = {.a = test_seeded(m * k, 1), .b = b, .c = test_seeded(m * n, 3), .m = m};
    args.bias = term < 2 ? test_seeded(n, 4) : NULL;
    args.residual = term == 4 ? test_seeded(m * n, 5) : term == 5 ? args.c : NULL;
    if (packed)
        args.b = test_pack(engine, FOVEA_NO_TRANS, k, n, b, n);
    CHECK(test_run(&test_gemm, engine, &d, &args, TEST_SERIAL, 1) == FOVEA_OK, "run");
    return args.c;
}

static void test_engine_against(const struct fovea_engine *scalar, const struct fovea_engine *engine, const char *isa,
                                const char *kernel)
{
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++)
        for (int i = 0; i < 2 * TERMS; i++) {
            const size_t n = shapes[s][0] * shapes[s][1];
            const float *const want = product(scalar, shapes[s], i / 2, i % 2);
            const float *const got = product(engine, shapes[s], i / 2, i % 2);
            CHECK_SAME(want, got, n, "%s on %s, shape %zu, %s, %s", kernel, isa, s, terms[i / 2],
                       i % 2 ? "packed" : "natural");
            test_memory_reset();
        }
}

int main(void)
{
    const uint64_t profiles = getenv("FOVEA_TEST_SMALL") != NULL ? 1 : 3;
    static struct fovea_profile profile;
    struct fovea_engine *engines[TEST_ISAS];
    test_engines(engines);
    for (int e = 0; e < TEST_ISAS; e++) {
        if (engines[e] == NULL)
            continue;
        const uint32_t allowed = fovea_engine_choice(engines[e])->allowed;
        for (int32_t v = 0; v < FOVEA_VARIANTS; v++) {
            const struct fovea_variant_facts *const facts = &fovea_variant_facts[v];
            if (facts->slot != FOVEA_SLOT_gemm || (facts->required & ~allowed) != 0)
                continue;
            for (uint64_t seed = 1; seed <= profiles; seed++) {
                random_profile(fovea_engine_machine(engines[e]), allowed, seed, &profile);
                for (uint32_t class = 0; class < FOVEA_TUNED_CLASSES; class ++)
                    if (fovea_class_slot(class) == FOVEA_SLOT_gemm && fovea_class_is_tuned(class))
                        profile.tuned[class].kernel = v;
                const struct fovea_engine_options options = {
                    .struct_size = sizeof options, .isa = test_isas[e], .workers = 1};
                struct fovea_engine *engine = NULL;
                CHECK(fovea_engine_create_with(&options, &profile, &engine) == FOVEA_OK, "engine");
                test_engine_against(engines[0], engine, test_isas[e], facts->name);
                fovea_engine_destroy(engine);
            }
        }
    }
    test_engines_free(engines);
    return test_done();
}
