// SPDX-License-Identifier: Apache-2.0
// cblas/front.h - the BLAS functions libfovea_cblas exports, and what its files share.
#ifndef FOVEA_CBLAS_FRONT_H
#define FOVEA_CBLAS_FRONT_H

#include "fovea/gemm.h"
#include <stdbool.h>

// The prototypes of netlib's cblas.h and of Fortran compilers; the lengths of character arguments that the latter pass
// last are not needed and not named.
FOVEA_API void cblas_sgemm(int layout, int trans_a, int trans_b, int m, int n, int k, float alpha, const float *a,
                           int lda, const float *b, int ldb, float beta, float *c, int ldc);
FOVEA_API void cblas_sgemv(int layout, int trans, int m, int n, float alpha, const float *a, int lda, const float *x,
                           int incx, float beta, float *y, int incy);
FOVEA_API void sgemm_(const char *trans_a, const char *trans_b, const int *m, const int *n, const int *k,
                      const float *alpha, const float *a, const int *lda, const float *b, const int *ldb,
                      const float *beta, float *c, const int *ldc);
FOVEA_API void sgemv_(const char *trans, const int *m, const int *n, const float *alpha, const float *a, const int *lda,
                      const float *x, const int *incx, const float *beta, float *y, const int *incy);

enum { FOVEA_CBLAS_ROW_MAJOR = 101, FOVEA_CBLAS_COLUMN_MAJOR = 102 };

/// enum fovea_transpose of a Fortran letter or a CBLAS number; -1 for any other. The conjugate is the transpose.
static inline int fovea_cblas_letter(char letter)
{
    const char lower = (char)(letter | 0x20);
    return lower == 'n' ? FOVEA_NO_TRANS : lower == 't' || lower == 'c' ? FOVEA_TRANS : -1;
}

static inline int fovea_cblas_number(int trans)
{
    return trans == 111 ? FOVEA_NO_TRANS : trans == 112 || trans == 113 ? FOVEA_TRANS : -1;
}

/// What a plan depends on: the fields of struct fovea_gemm_desc that a BLAS routine sets. There is no padding, which
/// has no value, so plans are the same if these bytes are.
struct fovea_cblas_desc {
    size_t m, n, k;
    size_t lda, ldb, ldc;
    enum fovea_transpose trans_a, trans_b;
    float alpha, beta;
};
_Static_assert(sizeof(struct fovea_cblas_desc) ==
                   6 * sizeof(size_t) + 2 * sizeof(enum fovea_transpose) + 2 * sizeof(float),
               "struct fovea_cblas_desc has padding, or a field that is not counted here");

/// C = alpha op(A) op(B) + beta C as the engine sees it, row-major. Sizes and factors are any.
struct fovea_cblas_product {
    struct fovea_cblas_desc desc;
    const float *a, *b;
    float *c;
    /// Where m is 1, elements from A[0,p] to A[0,p+1] and from C[0,j] to C[0,j+1]: vectors of BLAS. Otherwise 1.
    ptrdiff_t a_step, c_step;
};
void fovea_cblas_multiply(const struct fovea_cblas_product *product);

/// The same by the definition, in straight loops: needs no engine and no memory.
void fovea_cblas_define(const struct fovea_cblas_product *product);

/// Made at the first call and kept.
struct fovea_cblas_state {
    const struct fovea_engine *engine; ///< NULL: none could be had
    uint32_t threads;                  ///< what FOVEA_NUM_THREADS asks for, at least 1
    bool tells;                        ///< FOVEA_VERBOSE is 2: a line for each product
};
const struct fovea_cblas_state *fovea_cblas_state(void);

enum {
    FOVEA_CBLAS_ALIGNMENT = 64,    ///< of plans and work memory
    FOVEA_CBLAS_PLAN_BYTES = 2048, ///< more than fovea_gemm_plan_size()
};

/// What each thread that calls keeps.
struct fovea_cblas_thread {
    _Alignas(FOVEA_CBLAS_ALIGNMENT) unsigned char plan[FOVEA_CBLAS_PLAN_BYTES]; ///< of desc
    struct fovea_cblas_desc desc;                                               ///< m 0: no plan yet
    void *buffer;                                                               ///< of buffer_bytes, or NULL
    size_t buffer_bytes;
};
/// The calling thread's; NULL where there is no memory. Freed with its buffer when the thread ends.
struct fovea_cblas_thread *fovea_cblas_thread(void);
/// At least that many bytes, aligned, until the thread's next call; NULL where there are not so many, or they are above
/// the bound.
void *fovea_cblas_buffer(struct fovea_cblas_thread *thread, size_t bytes);
/// Before the first of them: makes the key by which threads find theirs.
void fovea_cblas_thread_init(void);

/// Lends the pool's threads for one call; false where another call has them or there are none.
bool fovea_cblas_pool_take(struct fovea_executor *executor);
void fovea_cblas_pool_give_back(void);
/// Makes the pool survive fork: a child starts threads of its own when it first wants them.
void fovea_cblas_pool_init(void);

/// A routine, as error handlers know it.
struct fovea_cblas_routine {
    const char *fortran; ///< six letters, padded with blanks
    const char *c;
    uint8_t swaps[2][2]; ///< parameters of the C function that row-major calls swap
};
/// Tells of a wrong parameter of the Fortran routine, or of the C function. There `info` counts the way netlib's does:
/// as if row-major operands had been swapped by the caller.
void fovea_cblas_fortran_error(const struct fovea_cblas_routine *routine, int info);
void fovea_cblas_error(const struct fovea_cblas_routine *routine, bool row_major, int info);

#endif
