// SPDX-License-Identifier: Apache-2.0
// tests/unit/gemm.c - the GEMM operator: float64 within the documented bound, and the scalar engine's bits on every
// ISA, for any transposes, strides, epilogue, packing, tiling, threads, order of tasks and capacity.
//
// Every buffer is exactly as long as the call may touch and lies against inaccessible pages; what C holds between its
// rows must survive. Cases are functions of their number.
#include "dispatch/adopt.h"
#include "fovea/gemm.h"
#include "tests/check/bounds.h"
#include "tests/check/check.h"
#include "tests/check/half.h"
#include "tests/check/oracle.h"
#include "tests/support/engines.h"
#include "tests/support/memory.h"
#include "tests/support/operator.h"
#include "tests/support/s8.h"
#include "tests/support/test.h"
#include "tests/support/weights.h"
#include "tests/tune/random_profile.h"

struct problem {
    struct check_rng rng;
    struct fovea_gemm_desc desc;
    struct fovea_gemm_args args; ///< but for c
    struct fovea_tiling tiling;
    bool alias; ///< the residual is C itself
    bool plain; ///< C = A B, and the profile's tiling
    const float *b;
    const uint16_t *halves; ///< b as elements of desc.b_type, if that has 16 bits
    float *c_before, *c;    ///< of c_floats elements each
    size_t c_floats;
    bool exact; ///< values are such that the oracle applies
    char text[240];
};

// Elements from the first to behind the last of a matrix.
static size_t extent(size_t rows, size_t cols, size_t ld)
{
    return rows == 0 || cols == 0 ? 0 : (rows - 1) * ld + cols;
}

static size_t some_ld(struct check_rng *rng, size_t cols)
{
    return cols + (check_chance(rng, 50) ? check_below(rng, 19) : 0);
}

static float some_factor(struct check_rng *rng, float usual)
{
    static const float factors[] = {0, 1, -1, 0.5f, 0.30000001f, -1.7f};
    return check_chance(rng, 40) ? usual : factors[check_below(rng, sizeof factors / sizeof *factors)];
}

static float *some_matrix(struct problem *p, size_t floats, const struct check_source *source)
{
    float *const x = test_floats(floats, check_chance(&p->rng, 70) ? TEST_HIGH : TEST_LOW);
    check_fill(&p->rng, source, x, floats);
    return x;
}

static void draw_desc(struct problem *p, size_t m, size_t n, size_t k)
{
    struct check_rng *const rng = &p->rng;
    struct fovea_gemm_desc *const d = &p->desc;
    *d = (struct fovea_gemm_desc)FOVEA_GEMM_DESC_INIT;
    p->args.m = m;
    d->m = m + (check_chance(rng, 30) ? check_below(rng, 40) : 0);
    d->n = n;
    d->k = k;
    d->trans_a = check_chance(rng, 50) ? FOVEA_TRANS : FOVEA_NO_TRANS;
    d->trans_b = check_chance(rng, 50) ? FOVEA_TRANS : FOVEA_NO_TRANS;
    d->lda = some_ld(rng, d->trans_a == FOVEA_TRANS ? d->m : k);
    d->ldb = some_ld(rng, d->trans_b == FOVEA_TRANS ? k : n);
    d->ldc = d->ldr = some_ld(rng, n);
    d->b_packed = check_chance(rng, 50);
    d->b_type = d->b_packed ? (enum fovea_type)check_below(rng, FOVEA_S8 + 1) : FOVEA_F32;
    if (p->plain)
        return;
    d->alpha = some_factor(rng, 1);
    d->beta = some_factor(rng, 0);
    d->activation = check_chance(rng, 50) ? FOVEA_ACTIVATION_NONE
                                          : (enum fovea_activation)check_below(rng, FOVEA_ACTIVATION_SILU + 1);
    d->residual = check_chance(rng, 40);
    p->alias = d->residual && check_chance(rng, 50);
    if (d->residual && !p->alias)
        d->ldr = some_ld(rng, n);
}

// Rounds B to elements of 16 bits.
static const uint16_t *narrow(enum fovea_type type, float *b, size_t floats)
{
    uint16_t *const halves = test_memory(floats * sizeof *halves, TEST_HIGH);
    for (size_t i = 0; i < floats; i++) {
        halves[i] = half_of(type, b[i]);
        b[i] = half_value(type, halves[i]);
    }
    return halves;
}

// Values of A, B, C and the vectors. Where alpha is 0, A and B are absent; where C is not read, it is full of NaN.
static void draw_values(struct problem *p)
{
    struct check_rng *const rng = &p->rng;
    const struct fovea_gemm_desc *const d = &p->desc;
    struct check_source source = check_source(rng, 1);
    if (p->exact)
        source.kind = CHECK_UNIFORM;
    const size_t m = p->args.m, n = d->n, k = d->k;
    if (d->alpha != 0) {
        p->args.a = some_matrix(p, d->trans_a == FOVEA_TRANS ? extent(k, m, d->lda) : extent(m, k, d->lda), &source);
        const size_t floats = d->trans_b == FOVEA_TRANS ? extent(n, k, d->ldb) : extent(k, n, d->ldb);
        const struct check_source finite = {CHECK_UNIFORM, source.scale, 0};
        float *const b = some_matrix(p, floats, d->b_type == FOVEA_S8 ? &finite : &source);
        p->halves = d->b_type == FOVEA_BF16 || d->b_type == FOVEA_F16 ? narrow(d->b_type, b, floats) : NULL;
        if (d->b_type == FOVEA_S8)
            s8_round(d->trans_b, k, n, b, d->ldb);
        p->b = b;
    }
    p->args.bias = !p->plain && check_chance(rng, 50) ? some_matrix(p, n, &source) : NULL;
    p->c_floats = extent(m, n, d->ldc);
    p->c_before = some_matrix(p, p->c_floats, &source);
    p->c = some_matrix(p, p->c_floats, &source);
    if (d->residual && !p->alias)
        p->args.residual = some_matrix(p, extent(m, n, d->ldr), &source);
    if (d->beta == 0 && !p->alias)
        for (size_t i = 0; i < m; i++)
            check_poison(p->c_before + i * d->ldc, n);
}

// Packs B with the engine `packer` where the case asks for it.
static void place_b(struct problem *p, const struct fovea_engine *packer)
{
    const struct fovea_gemm_desc *const d = &p->desc;
    p->args.b = p->b;
    if (!d->b_packed || d->alpha == 0)
        return;
    size_t bytes = 0;
    CHECK(fovea_pack_size_typed(d->b_type, d->k, d->n, &bytes) == FOVEA_OK, "%s", p->text);
    void *const blob = test_memory(bytes, TEST_HIGH);
    const void *const source = p->halves != NULL ? (const void *)p->halves : p->b;
    const enum fovea_status status =
        d->b_type == FOVEA_S8
            ? fovea_pack_s8(packer, FOVEA_F32, d->trans_b, d->k, d->n, source, d->ldb, blob, bytes)
            : fovea_pack_typed(packer, d->b_type, d->trans_b, d->k, d->n, source, d->ldb, blob, bytes);
    CHECK(status == FOVEA_OK, "%s: packing: %s", p->text, fovea_status_string(status));
    p->args.b = blob;
}

static void describe(struct problem *p, uint64_t number)
{
    const struct fovea_gemm_desc *const d = &p->desc;
    snprintf(p->text, sizeof p->text,
             "case %llu: %zux%zux%zu of %zu rows, %c%c%s, ld %zu %zu %zu %zu, alpha %g, beta %g, act %d%s%s, tiling %u "
             "%u %u",
             (unsigned long long)number, p->args.m, d->n, d->k, d->m, d->trans_a ? 't' : 'n', d->trans_b ? 't' : 'n',
             !d->b_packed              ? ""
             : d->b_type == FOVEA_F32  ? " packed"
             : d->b_type == FOVEA_BF16 ? " packed bf16"
             : d->b_type == FOVEA_F16  ? " packed f16"
                                       : " packed s8",
             d->lda, d->ldb, d->ldc, d->ldr, (double)d->alpha, (double)d->beta, (int)d->activation,
             p->args.bias ? ", bias" : "",
             p->alias      ? ", residual is C"
             : d->residual ? ", residual"
                           : "",
             p->tiling.kc, p->tiling.mc, p->tiling.nc);
}

// C[i,j] in float64 with the bound of docs/numerics.md section 2: gamma_k sum |A||B|, then a rounding for each step.
static struct check_exact exact(const struct problem *p, size_t i, size_t j)
{
    const struct fovea_gemm_desc *const d = &p->desc;
    double acc = 0, magnitude = 0;
    for (size_t q = 0; q < d->k && d->alpha != 0; q++) {
        const double a = p->args.a[d->trans_a ? q * d->lda + i : i * d->lda + q];
        const double b = p->b[d->trans_b ? j * d->ldb + q : q * d->ldb + j];
        acc += a * b;
        magnitude += fabs(a * b);
    }
    struct check_exact v = {d->alpha * acc, check_gamma((double)d->k) * magnitude * fabs((double)d->alpha)};
    if (d->alpha != 1)
        v.bound += CHECK_U * fabs(v.value);
    if (d->beta != 0) {
        v.value += (double)d->beta * p->c_before[i * d->ldc + j];
        v.bound += CHECK_U * fabs(v.value);
    }
    if (p->args.bias) {
        v.value += p->args.bias[j];
        v.bound += CHECK_U * fabs(v.value);
    }
    if (d->activation != FOVEA_ACTIVATION_NONE) {
        // No activation is steeper than gelu's 1.129. Twice the ulp: v may lie just below a power of two, its f32 not.
        const struct check_exact a = oracle_activation((uint32_t)d->activation, v.value);
        v = (struct check_exact){a.value, 2 * a.bound + 1.13 * v.bound};
    }
    if (d->residual) {
        v.value += p->alias ? p->c_before[i * d->ldc + j] : p->args.residual[i * d->ldr + j];
        v.bound += CHECK_U * fabs(v.value);
    }
    v.bound = v.bound * (1 + 16 * CHECK_U) + (double)(d->k + 8) * 0x1p-149; // roundings of roundings; denormals
    return v;
}

static void compare_oracle(const struct problem *p, const float *c)
{
    const size_t n = p->desc.n, count = p->args.m * n, step = count > 300 ? count / 293 : 1;
    size_t wrong = 0, first = count;
    for (size_t at = 0; at < count; at += step) {
        const struct check_exact e = exact(p, at / n, at % n);
        if (!(fabs((double)c[at / n * p->desc.ldc + at % n] - e.value) <= e.bound)) {
            first = wrong++ ? first : at;
        }
    }
    CHECK(wrong == 0, "%s: %zu elements of C are farther from float64 than the bound, the first is [%zu,%zu]", p->text,
          wrong, first / (n ? n : 1), first % (n ? n : 1));
}

// Runs into p->c, which begins as C was before.
static void run(struct problem *p, const struct fovea_engine *engine, enum test_way way)
{
    memcpy(p->c, p->c_before, p->c_floats * sizeof *p->c);
    p->args.c = p->c;
    if (p->alias)
        p->args.residual = p->c;
    const enum fovea_status status = test_run(&test_gemm, engine, &p->desc, &p->args, way, p->rng.state);
    CHECK(status == FOVEA_OK, "%s: %s", p->text, fovea_status_string(status));
}

static void compare_bits(const struct problem *p, const float *expected, const char *isa, enum test_way way)
{
    CHECK_SAME(expected, p->c, p->c_floats, "%s: %s %s", p->text, isa, test_way_names[way]);
}

static void check_gaps(const struct problem *p, const float *c)
{
    size_t wrong = 0;
    for (size_t i = 0; i < p->c_floats; i++)
        wrong += i % p->desc.ldc >= p->desc.n && memcmp(c + i, p->c_before + i, sizeof *c) != 0;
    CHECK(wrong == 0, "%s: %zu elements between the rows of C were written", p->text, wrong);
}

// An engine as the case wants it: the default one, with a tiling, or with any legal profile.
static struct fovea_engine *engine_of(const struct problem *p, const char *isa, uint64_t number)
{
    struct fovea_engine *engine = test_engine(isa, &p->tiling);
    if (engine == NULL || number % 4 != 1)
        return engine;
    static struct fovea_profile profile;
    const struct fovea_engine_options options = {.struct_size = sizeof options, .isa = isa, .workers = 1};
    random_profile(fovea_engine_machine(engine), fovea_engine_choice(engine)->allowed, number, &profile);
    fovea_engine_destroy(engine);
    CHECK(fovea_engine_create_with(&options, &profile, &engine) == FOVEA_OK, "%s", p->text);
    return engine;
}

// The scalar engine without tiling is the definition; all others follow.
static void run_case(uint64_t number, size_t m, size_t n, size_t k)
{
    struct problem p = {.rng = {number}, .exact = number % 5 != 0, .plain = number % 3 == 0};
    draw_desc(&p, m, n, k);
    draw_values(&p);
    if (!p.plain && check_chance(&p.rng, 60))
        p.tiling = (struct fovea_tiling){(uint32_t)check_size(&p.rng, 300), (uint32_t)check_size(&p.rng, 100),
                                         (uint32_t)check_size(&p.rng, 300)};
    describe(&p, number);
    struct fovea_engine *const scalar = test_engine("scalar", NULL);
    place_b(&p, scalar);
    run(&p, scalar, TEST_SERIAL);
    float *const expected = test_floats(p.c_floats, TEST_HIGH);
    memcpy(expected, p.c, p.c_floats * sizeof *expected);
    if (p.exact)
        compare_oracle(&p, expected);
    check_gaps(&p, expected);
    static const struct fovea_tiling none;
    const bool alike = number % 4 != 1 && memcmp(&p.tiling, &none, sizeof none) == 0; // the scalar engine and `scalar`
    for (int i = 0; i < TEST_ISAS; i++) {
        struct fovea_engine *const engine = engine_of(&p, test_isas[i], number);
        if (engine == NULL)
            continue;
        place_b(&p, engine);
        const enum test_way ways[] = {TEST_SERIAL, number % 4 == 0 ? TEST_THREADS : TEST_TASKS};
        for (size_t w = i == 0 && alike ? 1 : 0; w < 2; w++) {
            run(&p, engine, ways[w]);
            compare_bits(&p, expected, test_isas[i], ways[w]);
        }
        fovea_engine_destroy(engine);
    }
    if (p.desc.b_packed) { // unpacked is the same
        p.desc.b_packed = 0;
        p.desc.b_type = FOVEA_F32;
        place_b(&p, scalar);
        run(&p, scalar, TEST_SERIAL);
        compare_bits(&p, expected, "scalar unpacked", TEST_SERIAL);
    }
    fovea_engine_destroy(scalar);
    test_memory_reset();
}

// The one-call form gives the same.
static void test_once(void)
{
    enum { M = 37, N = 53, K = 29 };
    struct problem p = {.rng = {99}, .exact = true};
    draw_desc(&p, M, N, K);
    p.desc.b_packed = 0;
    p.desc.b_type = FOVEA_F32;
    draw_values(&p);
    describe(&p, 99);
    struct fovea_engine *const engine = test_engine("scalar", NULL);
    place_b(&p, engine);
    run(&p, engine, TEST_SERIAL);
    float *const c = test_floats(p.c_floats, TEST_HIGH);
    memcpy(c, p.c_before, p.c_floats * sizeof *c);
    p.args.c = c;
    if (p.alias)
        p.args.residual = c;
    CHECK(fovea_gemm_once(engine, &p.desc, &p.args) == FOVEA_OK, "%s", p.text);
    compare_bits(&p, c, "once", TEST_SERIAL);
    fovea_engine_destroy(engine);
    test_memory_reset();
}

int main(void)
{
    const bool small = getenv("FOVEA_TEST_SMALL") != NULL;
    uint64_t number = 1;
    // Every tile edge: rows around mr of all micro-kernels, columns around panels and around nr, few steps.
    static const uint8_t ns[] = {1, 15, 16, 17, 31, 47, 48, 49, 63, 64, 65}, ks[] = {0, 1, 2, 17};
    for (size_t m = 0; m <= 17; m += small ? 5 : 1)
        for (size_t j = 0; j < sizeof ns; j += small ? 3 : 1)
            run_case(number++, m, ns[j], ks[(m + j) % sizeof ks]);
    for (int i = 0; i < (small ? 150 : 600); i++) {
        struct check_rng rng = {number};
        const size_t m = check_size(&rng, 100), n = check_size(&rng, 150), k = check_size(&rng, 100);
        run_case(number++, m, n, k);
    }
    // More steps than a k block, more rows and columns than a task.
    run_case(number++, 3, 20, 1009);
    run_case(number++, 129, 257, 67);
    if (!small) {
        run_case(number++, 509, 100, 130);
        run_case(number++, 67, 1301, 41);
        run_case(number++, 1, 3000, 97);
    }
    // So many rows that several tasks share copies of A and of B, in every form.
    for (size_t i = 0; i < 24 && !small; i++)
        run_case(number++, 260 + 23 * i, 40 + 11 * i, 30 + 5 * i);
    // Few rows and a B that no L2 holds.
    for (size_t m = 1; m <= 16; m += small ? 3 : 1)
        run_case(number++, m, 1493 + m, 403);
    for (size_t m = 1; m <= 8; m += small ? 3 : 1) // rows of B that meet in few sets of L1, and some steps more than 8
        run_case(number++, m, 1024, 300 + m);
    // Rows that meet in few sets of L1.
    for (size_t m = 12; m <= 48; m += small ? 18 : 6)
        run_case(number++, m, 512, 512);
    // Few steps and many columns, whose C is written along its rows.
    static const uint16_t wide[] = {511, 512, 519, 784, 1040}, few[] = {1, 16, 65, 128, 129};
    for (size_t i = 0; i < (small ? 24 : 120); i++) {
        struct check_rng rng = {number};
        run_case(number++, check_below(&rng, i % 8 == 0 ? 200 : 70), wide[i % 5], few[i / 5 % 5]);
    }
    // Last columns that are computed apart, alone and after panels.
    for (size_t n = 1; n <= 9; n += small ? 3 : 1)
        for (size_t panels = 0; panels <= 4; panels += small ? 4 : 1)
            run_case(number++, 7 + (11 * n + 5 * panels) % 60, panels * 16 + n, 31 + (n + 9 * panels) % 40);
    // The same plainly, by any profile: micro-kernels one panel wide are among its choices.
    for (uint64_t i = 0, next = 12 * number + 9; i < (small ? 120 : 400); i++, next += 12)
        run_case(next, 8 + i % 40, i % 3 == 0 ? 16 + i % 9 : 1 + i % 8, 32 + i % 29);
    test_once();
    return test_done();
}
