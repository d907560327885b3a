// SPDX-License-Identifier: Apache-2.0
// tests/cblas/call.c - draws BLAS calls, runs them, and computes what they must give from copies of op(A) and op(B).
#include "tests/cblas/call.h"
#include "tests/support/memory.h"
#include "tests/support/test.h"

struct fovea_engine *call_engine(void)
{
    struct fovea_engine_options options = FOVEA_ENGINE_OPTIONS_INIT;
    options.isa = options.pin = options.exclude = "";
    struct fovea_engine *engine = NULL;
    if (fovea_engine_create(&options, &engine)) {
        fprintf(stderr, "FAIL no engine\n");
        exit(1);
    }
    return engine;
}

// A matrix of rows x columns in the call's layout: its leading dimension and the floats it spans.
static size_t span(const struct call *call, uint64_t *seed, int rows, int columns, int *ld)
{
    const int inner = call->row_major ? columns : rows, outer = call->row_major ? rows : columns;
    *ld = (inner > 1 ? inner : 1) + (test_below(seed, 2) ? (int)test_below(seed, 20) : 0);
    return inner == 0 || outer == 0 ? 0 : (size_t)(outer - 1) * (size_t)*ld + (size_t)inner;
}

static size_t vector_span(uint64_t *seed, int n, int *step)
{
    static const int steps[] = {1, 1, 1, -1, 2, -2, 7, -5};
    *step = steps[test_below(seed, sizeof steps / sizeof *steps)];
    return n == 0 ? 0 : (size_t)(n - 1) * (size_t)abs(*step) + 1;
}

static float *fill(uint64_t *seed, size_t n)
{
    float *const x = test_floats(n, test_below(seed, 2) ? TEST_HIGH : TEST_LOW);
    for (size_t i = 0; i < n; i++)
        x[i] = test_float(seed);
    return x;
}

void call_factors(struct call *call, uint64_t *seed, bool any)
{
    static const float some[] = {1, 0, 1, -1.7f, 0.3f, 0};
    static const float bad[] = {NAN, INFINITY, -INFINITY};
    call->alpha = some[test_below(seed, 5)];
    call->beta = some[1 + test_below(seed, 5)];
    if (any && test_below(seed, 4) == 0)
        call->alpha = bad[test_below(seed, 3)];
    if (any && test_below(seed, 4) == 0)
        call->beta = bad[test_below(seed, 3)];
    for (size_t i = 0; call->beta == 0 && i < call->c_floats; i++)
        call->c[i] = NAN; // C is not read
}

struct call call_of_size(uint64_t *seed, bool vector, int m, int n, int k)
{
    struct call call = {.function = test_below(seed, 2) ? CALL_CBLAS : CALL_FORTRAN,
                        .vector = vector,
                        .trans_a = (int)test_below(seed, 3),
                        .trans_b = vector ? 0 : (int)test_below(seed, 3),
                        .m = m,
                        .n = n,
                        .k = k,
                        .alpha = 1};
    call.row_major = call.function == CALL_CBLAS && test_below(seed, 2);
    call.a_floats = span(&call, seed, call.trans_a ? k : m, call.trans_a ? m : k, &call.lda);
    if (vector) {
        call.b_floats = vector_span(seed, k, &call.ldb);
        call.c_floats = vector_span(seed, m, &call.ldc);
    } else {
        call.b_floats = span(&call, seed, call.trans_b ? n : k, call.trans_b ? k : n, &call.ldb);
        call.c_floats = span(&call, seed, m, n, &call.ldc);
    }
    call.a = fill(seed, call.a_floats);
    call.b = fill(seed, call.b_floats);
    call.c = fill(seed, call.c_floats);
    return call;
}

struct call call_draw(uint64_t *seed, int most)
{
    const bool vector = test_below(seed, 3) == 0;
    int size[3];
    for (int i = 0; i < 3; i++)
        size[i] = (int)test_below(seed, test_below(seed, 4) ? (uint32_t)most : 5);
    struct call call = call_of_size(seed, vector, size[0], vector ? 1 : size[1], size[2]);
    call_factors(&call, seed, true);
    return call;
}

void call_run(const struct call *call)
{
    static const int numbers[] = {111, 112, 113};
    static const char letters[] = "nTc";
    const struct call *const q = call;
    const int layout = q->row_major ? FOVEA_CBLAS_ROW_MAJOR : FOVEA_CBLAS_COLUMN_MAJOR;
    const int rows = q->trans_a ? q->k : q->m, columns = q->trans_a ? q->m : q->k; // of the stored A
    if (q->vector && q->function == CALL_CBLAS)
        cblas_sgemv(layout, numbers[q->trans_a], rows, columns, q->alpha, q->a, q->lda, q->b, q->ldb, q->beta, q->c,
                    q->ldc);
    else if (q->vector)
        sgemv_(&letters[q->trans_a], &rows, &columns, &q->alpha, q->a, &q->lda, q->b, &q->ldb, &q->beta, q->c, &q->ldc);
    else if (q->function == CALL_CBLAS)
        cblas_sgemm(layout, numbers[q->trans_a], numbers[q->trans_b], q->m, q->n, q->k, q->alpha, q->a, q->lda, q->b,
                    q->ldb, q->beta, q->c, q->ldc);
    else
        sgemm_(&letters[q->trans_a], &letters[q->trans_b], &q->m, &q->n, &q->k, &q->alpha, q->a, &q->lda, q->b, &q->ldb,
               &q->beta, q->c, &q->ldc);
}

// Where element (i, j) of a stored matrix lies.
static size_t at(const struct call *call, int i, int j, int ld)
{
    return call->row_major ? (size_t)i * (size_t)ld + (size_t)j : (size_t)j * (size_t)ld + (size_t)i;
}

// Where element i of a vector of n lies.
static size_t step_at(int i, int n, int step)
{
    return (size_t)(step > 0 ? i : n - 1 - i) * (size_t)abs(step);
}

static size_t c_at(const struct call *call, int i, int j)
{
    return call->vector ? step_at(i, call->m, call->ldc) : at(call, i, j, call->ldc);
}

// The sums op(A) op(B), row-major m x n, by fovea_gemm on copies.
static float *sums_of(const struct call *call, const struct fovea_engine *engine)
{
    const size_t m = (size_t)call->m, n = (size_t)call->n, k = (size_t)call->k;
    float *const a = test_alloc(m * k * sizeof *a), *const b = test_alloc(k * n * sizeof *b);
    float *const c = test_alloc(m * n * sizeof *c);
    for (int i = 0; i < call->m; i++)
        for (int p = 0; p < call->k; p++)
            a[(size_t)i * k + (size_t)p] =
                call->a[call->trans_a ? at(call, p, i, call->lda) : at(call, i, p, call->lda)];
    for (int p = 0; p < call->k; p++)
        for (int j = 0; j < call->n; j++)
            b[(size_t)p * n + (size_t)j] = call->b[call->vector    ? step_at(p, call->k, call->ldb)
                                                   : call->trans_b ? at(call, j, p, call->ldb)
                                                                   : at(call, p, j, call->ldb)];
    struct fovea_gemm_desc desc = FOVEA_GEMM_DESC_INIT;
    desc.m = m, desc.n = desc.ldb = desc.ldc = n, desc.k = desc.lda = k;
    const struct fovea_gemm_args args = {.a = a, .b = b, .c = c, .m = m};
    if (fovea_gemm_once(engine, &desc, &args))
        exit(1); // no result to compare with
    free(a);
    free(b);
    return c;
}

float *call_expect(const struct call *call, const struct fovea_engine *engine)
{
    float *const c = test_alloc(call->c_floats * sizeof *c);
    for (size_t i = 0; i < call->c_floats; i++)
        c[i] = call->c[i];
    if (call->m == 0 || call->n == 0 || (call->vector && call->k == 0))
        return c;
    const bool read = call->alpha != 0 && call->k != 0;
    float *const sums = read ? sums_of(call, engine) : NULL;
    for (int i = 0; i < call->m; i++)
        for (int j = 0; j < call->n; j++) {
            float *const e = &c[c_at(call, i, j)];
            const float before = *e;
            if (read) {
                *e = sums[(size_t)i * (size_t)call->n + (size_t)j] * call->alpha;
                *e = call->beta == 0 ? *e : fmaf(call->beta, before, *e);
            } else {
                *e = call->beta == 0 ? 0 : call->beta == 1 ? before : call->beta * before;
            }
        }
    free(sums);
    return c;
}

bool call_right(const struct call *call, const struct fovea_engine *engine)
{
    float *const expected = call_expect(call, engine);
    call_run(call);
    const size_t differs = test_differ(expected, call->c, call->c_floats);
    if (differs != call->c_floats)
        fprintf(stderr,
                "%s %s %s-major trans %d %d, %d x %d x %d, ld %d %d %d, alpha %g beta %g: float %zu is %a, not %a\n",
                call->vector ? "gemv" : "gemm", call->function == CALL_CBLAS ? "cblas" : "Fortran",
                call->row_major ? "row" : "column", call->trans_a, call->trans_b, call->m, call->n, call->k, call->lda,
                call->ldb, call->ldc, (double)call->alpha, (double)call->beta, differs, (double)call->c[differs],
                (double)expected[differs]);
    free(expected);
    return differs == call->c_floats;
}
