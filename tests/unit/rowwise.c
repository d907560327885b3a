// SPDX-License-Identifier: Apache-2.0
// tests/unit/rowwise.c - the row-wise operators: float64 within the documented bound, and the scalar engine's bits on
// every ISA, for any strides, in place, any threads, order of tasks and capacity.
#include "fovea/rowwise.h"
#include "tests/check/bounds.h"
#include "tests/check/check.h"
#include "tests/check/oracle.h"
#include "tests/support/engines.h"
#include "tests/support/memory.h"
#include "tests/support/operator.h"
#include "tests/support/test.h"

enum { OPS = FOVEA_ROWWISE_RMSNORM + 1, COLS_MAX = 40000 };

// The slot of each operator's kernel, as the oracles name them.
static const char *const slots[OPS] = {"softmax", "log_softmax", "layernorm", "add", "relu", "gelu",   "gelu_tanh",
                                       "tanh",    "exp2",        "sin",       "cos", "silu", "rmsnorm"};

enum place { APART, Y_IS_X, Y_IS_X2, PLACES };

struct problem {
    struct check_rng rng;
    struct fovea_rowwise_desc desc;
    struct fovea_rowwise_args args;
    enum place place;
    float *x, *x2, *y, *y_before;
    size_t floats[3]; ///< of x, x2, y
    bool exact;       ///< values are such that the oracle applies
    char text[200];
};

static bool is_norm(enum fovea_rowwise_op op)
{
    return op == FOVEA_ROWWISE_LAYERNORM || op == FOVEA_ROWWISE_RMSNORM;
}

static size_t extent(size_t rows, size_t cols, size_t ld)
{
    return rows == 0 || cols == 0 ? 0 : (rows - 1) * ld + cols;
}

static float *copy_of(const float *x, size_t n, enum test_side side)
{
    float *const copy = test_floats(n, side);
    memcpy(copy, x, n * sizeof *x);
    return copy;
}

static float *some_vector(struct problem *p, size_t n, const struct check_source *source)
{
    float *const x = test_floats(n, TEST_HIGH);
    check_fill(&p->rng, source, x, n);
    return x;
}

static void draw(struct problem *p, enum fovea_rowwise_op op, size_t rows, size_t cols)
{
    static const float scales[] = {0.01f, 1, 6, 20, 150}, epsilons[] = {1e-5f, 1e-12f, 0.1f, 0};
    struct check_rng *const rng = &p->rng;
    struct fovea_rowwise_desc *const d = &p->desc;
    *d = (struct fovea_rowwise_desc)FOVEA_ROWWISE_DESC_INIT;
    d->op = op;
    d->rows = rows + (check_chance(rng, 30) ? check_below(rng, 50) : 0);
    d->cols = cols;
    size_t *const lds[] = {&d->ldx, &d->ldx2, &d->ldy};
    const bool dense = check_chance(rng, 40);
    for (size_t i = 0; i < 3; i++)
        *lds[i] = cols + (dense ? 0 : check_below(rng, 20));
    d->eps = epsilons[check_below(rng, 4)];
    p->place = (enum place)check_below(rng, op == FOVEA_ROWWISE_ADD ? PLACES : PLACES - 1);
    if (p->place == Y_IS_X)
        d->ldy = d->ldx;
    else if (p->place == Y_IS_X2)
        d->ldy = d->ldx2;
    struct check_source source = check_source(rng, scales[check_below(rng, 5)]);
    if (p->exact)
        source.kind = CHECK_UNIFORM;
    for (size_t i = 0; i < 3; i++)
        p->floats[i] = extent(rows, cols, *lds[i]);
    p->x = some_vector(p, p->floats[0], &source);
    p->x2 = some_vector(p, p->floats[1], &source);
    p->y_before = some_vector(p, p->floats[2], &source);
    p->args.rows = rows;
    if (is_norm(op)) {
        p->args.gamma = check_chance(rng, 60) ? some_vector(p, cols, &source) : NULL;
        p->args.beta = check_chance(rng, 60) ? some_vector(p, cols, &source) : NULL;
    }
}

// Runs into p->y; the inputs lie in fresh copies, which must survive unless they are the output.
static void run(struct problem *p, const struct fovea_engine *engine, enum test_way way)
{
    const enum test_side side = way == TEST_SERIAL ? TEST_HIGH : TEST_LOW;
    float *const x = copy_of(p->x, p->floats[0], side), *const x2 = copy_of(p->x2, p->floats[1], side);
    p->y = p->place == Y_IS_X ? x : p->place == Y_IS_X2 ? x2 : copy_of(p->y_before, p->floats[2], side);
    p->args.x = x;
    p->args.x2 = p->desc.op == FOVEA_ROWWISE_ADD ? x2 : NULL;
    p->args.y = p->y;
    const enum fovea_status status = test_run(&test_rowwise, engine, &p->desc, &p->args, way, p->rng.state);
    CHECK(status == FOVEA_OK, "%s: %s", p->text, fovea_status_string(status));
    CHECK(p->place == Y_IS_X || memcmp(x, p->x, p->floats[0] * sizeof *x) == 0, "%s: x was written", p->text);
    CHECK(p->place == Y_IS_X2 || memcmp(x2, p->x2, p->floats[1] * sizeof *x2) == 0, "%s: x2 was written", p->text);
}

// Row r in float64; asks about sixteen elements of a long row.
static size_t wrong_in_row(const struct problem *p, size_t r, const float *y, struct check_exact *norm)
{
    const struct fovea_rowwise_desc *const d = &p->desc;
    const float *const x = p->x + r * d->ldx, *const got = y + r * d->ldy;
    size_t wrong = 0;
    if (is_norm(d->op))
        oracle_norm(slots[d->op], d->cols, d->eps, x, p->args.gamma, p->args.beta, norm);
    for (size_t i = 0; i<d->cols; i += d->cols> 16 ? d->cols / 16 : 1) {
        struct check_exact e = norm[i];
        if (d->op == FOVEA_ROWWISE_ADD) {
            e.value = (double)x[i] + (double)p->x2[r * d->ldx2 + i];
            e.bound = CHECK_U * fabs(e.value);
        } else if (!is_norm(d->op)) {
            e = oracle_unary(slots[d->op], d->cols, x, i);
        }
        const bool same = isinf(e.value) && (double)got[i] == e.value; // exp2 beyond 128
        wrong += !same && !(fabs((double)got[i] - e.value) <= e.bound);
    }
    return wrong;
}

static void compare_oracle(const struct problem *p, const float *y)
{
    static struct check_exact norm[COLS_MAX];
    const struct fovea_rowwise_desc *const d = &p->desc;
    if (is_norm(d->op) && (d->eps == 0 || d->cols < 2))
        return; // no variance to divide by: the bits say it all
    size_t wrong = 0;
    for (size_t r = 0; r < p->args.rows; r += 1 + p->args.rows / 16)
        wrong += wrong_in_row(p, r, y, norm);
    CHECK(wrong == 0, "%s: %zu elements are farther from float64 than the bound", p->text, wrong);
}

static void check_gaps(const struct problem *p, const float *y)
{
    const float *const before = p->place == Y_IS_X ? p->x : p->place == Y_IS_X2 ? p->x2 : p->y_before;
    size_t wrong = 0;
    for (size_t i = 0; i < p->floats[2]; i++)
        wrong += i % p->desc.ldy >= p->desc.cols && memcmp(y + i, before + i, sizeof *y) != 0;
    CHECK(wrong == 0, "%s: %zu elements between the rows of y were written", p->text, wrong);
}

static void run_case(uint64_t number, enum fovea_rowwise_op op, size_t rows, size_t cols)
{
    struct problem p = {.rng = {number}, .exact = number % 3 != 0};
    draw(&p, op, rows, cols);
    snprintf(p.text, sizeof p.text, "case %llu: op %d, %zux%zu of %zu rows, ld %zu %zu %zu, place %d%s%s",
             (unsigned long long)number, (int)op, rows, cols, p.desc.rows, p.desc.ldx, p.desc.ldx2, p.desc.ldy,
             (int)p.place, p.args.gamma ? ", gamma" : "", p.args.beta ? ", beta" : "");
    float *expected = NULL;
    for (int i = 0; i < TEST_ISAS; i++) {
        struct fovea_engine *const engine = test_engine(test_isas[i], NULL);
        if (!engine)
            continue;
        for (int way = 0; way < TEST_WAYS; way++) {
            run(&p, engine, (enum test_way)way);
            if (!expected) { // scalar, serial: the definition
                expected = p.y;
                check_gaps(&p, expected);
                if (p.exact)
                    compare_oracle(&p, expected);
            }
            CHECK_SAME(expected, p.y, p.floats[2], "%s: %s %s", p.text, test_isas[i], test_way_names[way]);
        }
        fovea_engine_destroy(engine);
    }
    test_memory_reset();
}

// What the header promises of rows of -inf and numerics.md of SiLU, and that no operator takes a NaN for a number.
static void test_special(void)
{
    enum { N = 37 };
    struct fovea_engine *const engine = test_engine("scalar", NULL);
    struct fovea_rowwise_desc d = FOVEA_ROWWISE_DESC_INIT;
    float x[N], y[N];
    d.rows = 1;
    d.cols = d.ldx = d.ldy = d.ldx2 = N;
    struct fovea_rowwise_args args = {.x = x, .y = y, .rows = 1};
    for (size_t i = 0; i < N; i++)
        x[i] = -INFINITY;
    CHECK(!fovea_rowwise_once(engine, &d, &args) && y[0] == 0 && y[N - 1] == 0, "softmax of a row of -inf gives %g",
          (double)y[0]);
    d.op = FOVEA_ROWWISE_LOG_SOFTMAX;
    CHECK(!fovea_rowwise_once(engine, &d, &args) && y[0] == -INFINITY && y[N - 1] == -INFINITY,
          "log-softmax of a row of -inf gives %g", (double)y[0]);
    d.op = FOVEA_ROWWISE_SILU;
    CHECK(!fovea_rowwise_once(engine, &d, &args) && isnan(y[0]), "silu of -inf gives %g", (double)y[0]);
    x[0] = INFINITY, x[1] = -0.0f, x[2] = -100;
    CHECK(!fovea_rowwise_once(engine, &d, &args) && y[0] == INFINITY, "silu of inf gives %g", (double)y[0]);
    for (size_t i = 1; i < 3; i++)
        CHECK(y[i] == 0 && signbit(y[i]), "silu of %g gives %g", (double)x[i], (double)y[i]);
    for (size_t i = 0; i < N; i++)
        x[i] = i == 20 ? NAN : (float)i;
    for (int op = 0; op < OPS; op++) {
        d.op = (enum fovea_rowwise_op)op;
        args.x2 = d.op == FOVEA_ROWWISE_ADD ? x : NULL;
        CHECK(!fovea_rowwise_once(engine, &d, &args) && isnan(y[20]), "op %d takes a NaN for %g", op, (double)y[20]);
    }
    fovea_engine_destroy(engine);
}

int main(void)
{
    const bool small = getenv("FOVEA_TEST_SMALL") != NULL;
    uint64_t number = 1;
    for (int op = 0; op < OPS; op++) {
        run_case(number++, (enum fovea_rowwise_op)op, 0, 5);
        run_case(number++, (enum fovea_rowwise_op)op, 5, 0);
        for (size_t cols = 1; cols <= 67; cols += small ? 11 : 3)
            run_case(number++, (enum fovea_rowwise_op)op, cols % 4 + 1, cols);
        for (int i = 0; i < (small ? 3 : 30); i++) {
            struct check_rng rng = {number};
            const size_t rows = check_size(&rng, 70), cols = check_size(&rng, 300);
            run_case(number++, (enum fovea_rowwise_op)op, rows, cols);
        }
        run_case(number++, (enum fovea_rowwise_op)op, 701, 29);                  // many tasks of whole rows
        run_case(number++, (enum fovea_rowwise_op)op, 3, small ? 17000 : 39989); // rows cut into tasks of 16384
    }
    test_special();
    return test_done();
}
