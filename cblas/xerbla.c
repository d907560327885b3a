// SPDX-License-Identifier: Apache-2.0
// cblas/xerbla.c - tells of wrong parameters the way the reference BLAS does, but never ends the program by itself.
//
// The handlers are looked up, never exported: an application's own (LAPACK's testers, SciPy) must stay in force, also
// when this library comes first by LD_PRELOAD. Where the process has none, a line goes to stderr.
#include "cblas/front.h"
#include <stdio.h>
#include <string.h>

extern void xerbla_(const char *routine, const int *info, size_t length) __attribute__((weak));
extern void cblas_xerbla(int info, const char *routine, const char *format, ...) __attribute__((weak));
extern int RowMajorStrg __attribute__((weak)); // netlib's: tells its handlers to undo the swap of a row-major call

// Characters of a Fortran name without its padding.
static int letters(const char *name)
{
    return (int)strcspn(name, " ");
}

void fovea_cblas_fortran_error(const struct fovea_cblas_routine *routine, int info)
{
    if (xerbla_ != NULL) {
        xerbla_(routine->fortran, &info, strlen(routine->fortran));
        return;
    }
    fprintf(stderr, " ** On entry to %.*s parameter number %2d had an illegal value\n", letters(routine->fortran),
            routine->fortran, info);
}

// The caller's number of a parameter.
static int unswapped(const struct fovea_cblas_routine *routine, int info)
{
    for (size_t i = 0; i < sizeof routine->swaps / sizeof *routine->swaps; i++) {
        for (size_t side = 0; side < 2; side++) {
            if (routine->swaps[i][side] == info) {
                return routine->swaps[i][1 - side];
            }
        }
    }
    return info;
}

void fovea_cblas_error(const struct fovea_cblas_routine *routine, bool row_major, int info)
{
    const int own = row_major ? unswapped(routine, info) : info;
    if (cblas_xerbla != NULL && &RowMajorStrg != NULL) {
        RowMajorStrg = row_major;
        cblas_xerbla(info, routine->c, "");
        RowMajorStrg = 0;
    } else if (cblas_xerbla != NULL) { // a handler that has no flag to ask takes the number as it comes
        cblas_xerbla(own, routine->c, "");
    } else if (xerbla_ != NULL) { // Fortran has no layout before the other parameters
        const int fortran = own - 1;
        xerbla_(routine->fortran, &fortran, strlen(routine->fortran));
    } else {
        fprintf(stderr, "Parameter %d to routine %s was incorrect\n", own, routine->c);
    }
}
