// SPDX-License-Identifier: Apache-2.0
// cblas/sgemm.c - sgemm_ and cblas_sgemm: parameters checked as the reference BLAS does, operands swapped for the
// engine.
//
// BLAS is column-major and the engine row-major: a column-major matrix is the transpose of the row-major one that lies
// in the same memory, so C = op(A) op(B) is asked for as C' = op(B)' op(A)'. A product of two floats does not depend on
// their order, so neither does a bit of C.
#include "cblas/front.h"

static const struct fovea_cblas_routine routine = {"SGEMM ", "cblas_sgemm", {{4, 5}, {9, 11}}};

// A call in column-major order, transposes as fovea_cblas_letter gives them.
struct call {
    int trans_a, trans_b, m, n, k;
    float alpha;
    const float *a;
    int lda;
    const float *b;
    int ldb;
    float beta;
    float *c;
    int ldc;
};

static bool holds(int ld, int rows)
{
    return ld >= (rows > 1 ? rows : 1);
}

// The number of the first wrong parameter of SGEMM, or 0.
static int wrong(const struct call *call)
{
    const bool turned_a = call->trans_a == FOVEA_TRANS, turned_b = call->trans_b == FOVEA_TRANS;
    return call->trans_a < 0                                 ? 1
           : call->trans_b < 0                               ? 2
           : call->m < 0                                     ? 3
           : call->n < 0                                     ? 4
           : call->k < 0                                     ? 5
           : !holds(call->lda, turned_a ? call->k : call->m) ? 8
           : !holds(call->ldb, turned_b ? call->n : call->k) ? 10
           : !holds(call->ldc, call->m)                      ? 13
                                                             : 0;
}

// A C of one column is one row of its transpose, C' = B' A', which has 16 lanes where the column has one (49x1x694 5.6
// times as fast). Each element stays the chain it is.
static void turn_column(struct fovea_cblas_product *product)
{
    const struct fovea_cblas_product column = *product;
    const struct fovea_cblas_desc *const from = &column.desc;
    struct fovea_cblas_desc *const d = &product->desc;
    product->a = column.b;
    product->a_step = from->trans_b == FOVEA_TRANS ? 1 : (ptrdiff_t)from->ldb;
    product->b = column.a;
    product->c_step = (ptrdiff_t)from->ldc;
    d->trans_a = FOVEA_NO_TRANS;
    d->trans_b = from->trans_a == FOVEA_TRANS ? FOVEA_NO_TRANS : FOVEA_TRANS;
    d->m = 1;
    d->n = d->ldc = from->m;
    d->lda = from->k;
    d->ldb = from->lda;
}

// Returns the number of the first wrong parameter, having done nothing, or 0.
static int multiply(const struct call *call)
{
    const int info = wrong(call);
    if (info != 0) {
        return info;
    }
    struct fovea_cblas_product product = {.a_step = 1, .c_step = 1};
    struct fovea_cblas_desc *const d = &product.desc;
    d->trans_a = (enum fovea_transpose)call->trans_b;
    d->trans_b = (enum fovea_transpose)call->trans_a;
    d->m = (size_t)call->n;
    d->n = (size_t)call->m;
    d->k = (size_t)call->k;
    d->lda = (size_t)call->ldb;
    d->ldb = (size_t)call->lda;
    d->ldc = (size_t)call->ldc;
    d->alpha = call->alpha;
    d->beta = call->beta;
    product.a = call->b;
    product.b = call->a;
    product.c = call->c;
    if (d->n == 1 && d->m > 1) {
        turn_column(&product);
    }
    fovea_cblas_multiply(&product);
    return 0;
}

void sgemm_(const char *trans_a, const char *trans_b, const int *m, const int *n, const int *k, const float *alpha,
            const float *a, const int *lda, const float *b, const int *ldb, const float *beta, float *c, const int *ldc)
{
    const struct call call = {fovea_cblas_letter(*trans_a),
                              fovea_cblas_letter(*trans_b),
                              *m,
                              *n,
                              *k,
                              *alpha,
                              a,
                              *lda,
                              b,
                              *ldb,
                              *beta,
                              c,
                              *ldc};
    const int info = multiply(&call);
    if (info != 0) {
        fovea_cblas_fortran_error(&routine, info);
    }
}

void cblas_sgemm(int layout, int trans_a, int trans_b, int m, int n, int k, float alpha, const float *a, int lda,
                 const float *b, int ldb, float beta, float *c, int ldc)
{
    const bool row_major = layout == FOVEA_CBLAS_ROW_MAJOR;
    const int ta = fovea_cblas_number(trans_a), tb = fovea_cblas_number(trans_b);
    int info = 0;
    if (!row_major && layout != FOVEA_CBLAS_COLUMN_MAJOR) {
        info = 1;
    } else if (ta < 0 || tb < 0) { // before the swap: their numbers stay
        info = ta < 0 ? 2 : 3;
    } else {
        const struct call column_major = {ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc};
        const struct call swapped = {tb, ta, n, m, k, alpha, b, ldb, a, lda, beta, c, ldc};
        info = multiply(row_major ? &swapped : &column_major);
        info += info != 0; // counted behind the layout
    }
    if (info != 0) {
        fovea_cblas_error(&routine, row_major, info);
    }
}
