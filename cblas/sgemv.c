// SPDX-License-Identifier: Apache-2.0
// cblas/sgemv.c - sgemv_ and cblas_sgemv: y = alpha op(A) x + beta y as a product with one row.
//
// y' = x' op(A)': lanes are elements of y, each one chain over x, as everywhere in fovea. Vectors that are not
// contiguous pass through the thread's buffer.
#include "cblas/front.h"

static const struct fovea_cblas_routine routine = {"SGEMV ", "cblas_sgemv", {{3, 4}, {0, 0}}};

// A call in column-major order.
struct call {
    int trans, m, n;
    float alpha;
    const float *a;
    int lda;
    const float *x;
    int incx;
    float beta;
    float *y;
    int incy;
};

// The number of the first wrong parameter of SGEMV, or 0.
static int wrong(const struct call *call)
{
    return call->trans < 0                           ? 1
           : call->m < 0                             ? 2
           : call->n < 0                             ? 3
           : call->lda < (call->m > 1 ? call->m : 1) ? 6
           : call->incx == 0                         ? 8
           : call->incy == 0                         ? 11
                                                     : 0;
}

// Elements from where a vector of n lies to its first: vectors of a negative step are stored backwards.
static ptrdiff_t first_of(int step, int n)
{
    return step < 0 ? -(ptrdiff_t)step * (n - 1) : 0;
}

// Returns the number of the first wrong parameter, having done nothing, or 0.
static int multiply(const struct call *call)
{
    const int info = wrong(call);
    if (info != 0 || call->m == 0 || call->n == 0) { // an empty A leaves y, whatever beta is
        return info;
    }
    // A as it lies is row-major n x m, the transpose of what BLAS calls A.
    const bool turned = call->trans == FOVEA_TRANS;
    const int from = turned ? call->m : call->n, to = turned ? call->n : call->m;
    struct fovea_cblas_product product = {.desc = {.trans_a = FOVEA_NO_TRANS}};
    struct fovea_cblas_desc *const d = &product.desc;
    d->trans_b = turned ? FOVEA_TRANS : FOVEA_NO_TRANS;
    d->m = 1;
    d->n = d->ldc = (size_t)to;
    d->k = d->lda = (size_t)from;
    d->ldb = (size_t)call->lda;
    d->alpha = call->alpha;
    d->beta = call->beta;
    product.a = call->x + first_of(call->incx, from);
    product.a_step = call->incx;
    product.b = call->a;
    product.c = call->y + first_of(call->incy, to);
    product.c_step = call->incy;
    fovea_cblas_multiply(&product);
    return 0;
}

void sgemv_(const char *trans, const int *m, const int *n, const float *alpha, const float *a, const int *lda,
            const float *x, const int *incx, const float *beta, float *y, const int *incy)
{
    const struct call call = {fovea_cblas_letter(*trans), *m, *n, *alpha, a, *lda, x, *incx, *beta, y, *incy};
    const int info = multiply(&call);
    if (info != 0) {
        fovea_cblas_fortran_error(&routine, info);
    }
}

void cblas_sgemv(int layout, int trans, int m, int n, float alpha, const float *a, int lda, const float *x, int incx,
                 float beta, float *y, int incy)
{
    const bool row_major = layout == FOVEA_CBLAS_ROW_MAJOR;
    const int number = fovea_cblas_number(trans);
    int info = 0;
    if (!row_major && layout != FOVEA_CBLAS_COLUMN_MAJOR) {
        info = 1;
    } else if (number < 0) {
        info = 2;
    } else {
        const struct call call = {
            row_major ? !number : number, row_major ? n : m, row_major ? m : n, alpha, a, lda, x, incx, beta, y, incy};
        info = multiply(&call);
        info += info != 0; // counted behind the layout
    }
    if (info != 0) {
        fovea_cblas_error(&routine, row_major, info);
    }
}
