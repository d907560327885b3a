// SPDX-License-Identifier: Apache-2.0
// tests/cblas/install.c - an application's call of the installed libfovea_cblas.
#include <stdio.h>

void cblas_sgemm(int layout, int trans_a, int trans_b, int m, int n, int k, float alpha, const float *a, int lda,
                 const float *b, int ldb, float beta, float *c, int ldc);

int main(void)
{
    const float a[2 * 3] = {1, 2, 3, 4, 5, 6}, b[3 * 2] = {1, 0, 0, 1, 1, 1};
    float c[2 * 2] = {0};
    cblas_sgemm(101, 111, 111, 2, 2, 3, 1, a, 3, b, 2, 0, c, 2);
    printf("%g %g %g %g\n", (double)c[0], (double)c[1], (double)c[2], (double)c[3]);
    return !(c[0] == 4 && c[1] == 5 && c[2] == 10 && c[3] == 11);
}
