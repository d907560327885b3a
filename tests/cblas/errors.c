// SPDX-License-Identifier: Apache-2.0
// tests/cblas/errors.c - every wrong parameter is told by its number and leaves C alone.
//
// HANDLERS 0: the program has no handler, a line goes to stderr. 1: it has its own xerbla_ and cblas_xerbla. 2: it has
// netlib's flag too, with which a handler itself undoes the swap of row-major operands. 3: it has xerbla_ alone, which
// is told of the C functions too, by Fortran's names and numbers.
#include "cblas/front.h"
#include "tests/support/test.h"
#include <unistd.h>

enum { M = 5, N = 6, K = 7, FLOATS = 100, NONE = -1 };

// What was told last.
static char told[64];
static int number = NONE;

#if HANDLERS == 2
FOVEA_API extern int RowMajorStrg;
int RowMajorStrg;
static int undo_swap(const char *routine, int info)
{
    static const int gemm[] = {0, 1, 2, 3, 5, 4, 6, 7, 8, 11, 10, 9, 12, 13, 14};
    static const int gemv[] = {0, 1, 2, 4, 3, 5, 6, 7, 8, 9, 10, 11, 12};
    return !RowMajorStrg ? info : strstr(routine, "gemm") ? gemm[info] : gemv[info];
}
#elif HANDLERS == 1
static int undo_swap(const char *routine, int info)
{
    (void)routine;
    return info;
}
#endif

#if HANDLERS > 0
FOVEA_API void xerbla_(const char *routine, const int *info, size_t length);
void xerbla_(const char *routine, const int *info, size_t length)
{
    snprintf(told, sizeof told, "%.*s", (int)length, routine);
    number = *info;
}
#endif

#if HANDLERS == 1 || HANDLERS == 2
FOVEA_API void cblas_xerbla(int info, const char *routine, const char *format, ...);
void cblas_xerbla(int info, const char *routine, const char *format, ...)
{
    (void)format;
    snprintf(told, sizeof told, "%s", routine);
    number = undo_swap(routine, info);
}
#endif

// A call with every parameter right, of which one is then made wrong.
struct parameters {
    bool row_major, fortran, vector;
    int layout, trans_a, trans_b, m, n, k, lda, ldb, ldc;
};

static void run(const struct parameters *p, float *c)
{
    static const float a[FLOATS], b[FLOATS], alpha = 1, beta = 2;
    const char ta = p->trans_a == 111 ? 'N' : p->trans_a == 112 ? 'T' : 'X';
    const char tb = p->trans_b == 111 ? 'n' : p->trans_b == 112 ? 't' : ' ';
    if (p->fortran && p->vector)
        sgemv_(&ta, &p->m, &p->n, &alpha, a, &p->lda, b, &p->ldb, &beta, c, &p->ldc);
    else if (p->fortran)
        sgemm_(&ta, &tb, &p->m, &p->n, &p->k, &alpha, a, &p->lda, b, &p->ldb, &beta, c, &p->ldc);
    else if (p->vector)
        cblas_sgemv(p->layout, p->trans_a, p->m, p->n, alpha, a, p->lda, b, p->ldb, beta, c, p->ldc);
    else
        cblas_sgemm(p->layout, p->trans_a, p->trans_b, p->m, p->n, p->k, alpha, a, p->lda, b, p->ldb, beta, c, p->ldc);
}

// Runs with stderr in a pipe and compares the line with what is expected; "" for silence.
static void run_piped(const struct parameters *p, float *c, const char *expected)
{
    int ends[2];
    char line[200] = "";
    fflush(stderr);
    const int before = dup(STDERR_FILENO);
    CHECK(pipe(ends) == 0 && dup2(ends[1], STDERR_FILENO) >= 0, "pipe");
    run(p, c);
    fflush(stderr);
    dup2(before, STDERR_FILENO); // the last writer of the pipe but ends[1]
    close(before);
    close(ends[1]);
    const ssize_t got = read(ends[0], line, sizeof line - 1);
    close(ends[0]);
    CHECK(got >= 0 && strcmp(line, expected) == 0, "\"%s\" instead of \"%s\"", line, expected);
}

// position: the number of the wrong parameter in this function's own list, 0 where all are right.
static void check(const struct parameters *p, int position)
{
    static const char *const names[2][2] = {{"cblas_sgemm", "SGEMM"}, {"cblas_sgemv", "SGEMV"}};
    const bool fortran = p->fortran || HANDLERS == 3; // by whose names and numbers it is told
    const char *const name = names[p->vector][fortran];
    const int expected = position == 0 ? NONE : position - (fortran && !p->fortran);
    float c[FLOATS];
    for (int i = 0; i < FLOATS; i++)
        c[i] = 3;
    char line[200] = "";
    if (HANDLERS == 0 && position != 0 && p->fortran)
        snprintf(line, sizeof line, " ** On entry to %s parameter number %2d had an illegal value\n", name, position);
    if (HANDLERS == 0 && position != 0 && !p->fortran)
        snprintf(line, sizeof line, "Parameter %d to routine %s was incorrect\n", position, name);
    number = NONE;
    told[0] = '\0';
    run_piped(p, c, line);
    if (HANDLERS > 0) {
        char padded[64];
        snprintf(padded, sizeof padded, fortran ? "%-6s" : "%s", name);
        CHECK(number == expected, "%s: %d instead of %d", name, number, expected);
        CHECK(position == 0 || strcmp(told, padded) == 0, "\"%s\" instead of \"%s\"", told, padded);
    }
    if (position != 0)
        for (int i = 0; i < FLOATS; i++)
            CHECK(memcmp(&c[i], &(float){3}, sizeof c[i]) == 0, "%s %d: C[%d]", name, position, i);
}

// Fortran has no layout before the others.
static void check_own(const struct parameters *p, int position)
{
    check(p, position - p->fortran);
}

static void gemm(const struct parameters *given)
{
    struct parameters p = *given;
    const bool row = p.row_major;
    p.m = M, p.n = N, p.k = K;
    p.lda = (p.trans_a == 111) == row ? K : M;
    p.ldb = (p.trans_b == 111) == row ? N : K;
    p.ldc = row ? N : M;
    check(&p, 0);
    struct parameters wrong = p;
#define WRONG(field, value, position)                                                                                  \
    do {                                                                                                               \
        wrong = p;                                                                                                     \
        wrong.field = (value);                                                                                         \
        check_own(&wrong, (position));                                                                                 \
    } while (0)
    if (!p.fortran)
        WRONG(layout, 100, 1);
    WRONG(trans_a, 110, 2);
    WRONG(trans_b, 114, 3);
    WRONG(m, -1, 4);
    WRONG(n, -1, 5);
    WRONG(k, -1, 6);
    WRONG(lda, p.lda - 1, 9);
    WRONG(ldb, p.ldb - 1, 11);
    WRONG(ldc, p.ldc - 1, 14);
    p.m = p.n = p.k = 0; // leading dimensions are at least 1
    WRONG(lda, 0, 9);
    WRONG(ldb, 0, 11);
    WRONG(ldc, 0, 14);
}

static void gemv(const struct parameters *given)
{
    struct parameters p = *given;
    p.vector = true;
    p.m = M, p.n = N, p.lda = p.row_major ? N : M, p.ldb = 1, p.ldc = -2;
    check(&p, 0);
    struct parameters wrong = p;
    if (!p.fortran)
        WRONG(layout, 0, 1);
    WRONG(trans_a, 0, 2);
    WRONG(m, -1, 3);
    WRONG(n, -1, 4);
    WRONG(lda, p.lda - 1, 7);
    WRONG(ldb, 0, 9);
    WRONG(ldc, 0, 12);
    p.m = p.n = 0;
    WRONG(lda, 0, 7);
#undef WRONG
}

int main(void)
{
    for (int way = 0; way < 3; way++)
        for (int trans = 0; trans < 4; trans++) {
            const struct parameters p = {.fortran = way == 2,
                                         .row_major = way == 0,
                                         .layout = way == 0 ? FOVEA_CBLAS_ROW_MAJOR : FOVEA_CBLAS_COLUMN_MAJOR,
                                         .trans_a = 111 + trans % 2,
                                         .trans_b = 111 + trans / 2};
            gemm(&p);
            if (trans < 2)
                gemv(&p);
        }
    return test_done();
}
