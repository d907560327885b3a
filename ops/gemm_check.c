// SPDX-License-Identifier: Apache-2.0
// ops/gemm_check.c - the defaults of a GEMM descriptor; validates one, and says what is wrong with it.
#include "ops/gemm.h"
#include "ops/pack.h"
#include <math.h>

enum fovea_status fovea_gemm_desc_init(struct fovea_gemm_desc *desc, size_t size)
{
    static const struct fovea_gemm_desc defaults = FOVEA_GEMM_DESC_INIT;
    FOVEA_CHECK(desc != NULL, FOVEA_ERR_NULL);
    FOVEA_CHECK(size == sizeof *desc, FOVEA_ERR_STRUCT);
    *desc = defaults;
    return FOVEA_OK;
}

// Checks the sizes of one stored matrix. `name` is the letter of its leading dimension, as in lda.
static enum fovea_status check_matrix(char name, size_t rows, size_t cols, size_t ld, const struct fovea_why *why)
{
    FOVEA_REQUIRE(ld >= cols, FOVEA_ERR_STRIDE, why, "gemm: ld%c %zu is smaller than a row of %zu", name, ld, cols);
    size_t bytes = 0; // a kernel may compute addresses of a few rows that it does not read
    FOVEA_REQUIRE(fovea_mul(ld, FOVEA_PANEL * sizeof(float), &bytes) && fovea_extent(rows, cols, ld, &bytes),
                  FOVEA_ERR_OVERFLOW, why, "gemm: %zu rows with ld%c %zu do not fit in memory", rows, name, ld);
    return FOVEA_OK;
}

// Whether entries of C share no element: they follow one another, or are side by side in the same rows, as the heads of
// a layer are.
static bool entries_apart(const struct fovea_gemm_desc *d, size_t columns)
{
    size_t entry = 0, others = 0;
    const bool behind = fovea_extent(d->m, columns, d->ldc, &entry) && d->batch_c >= entry / sizeof(float);
    const bool beside = d->batch_c >= columns && d->batch > 1 && fovea_mul(d->batch - 1, d->batch_c, &others) &&
                        others <= d->ldc - columns;
    return d->batch <= 1 || behind || beside;
}

enum fovea_status fovea_gemm_check(const struct fovea_gemm_desc *d, const struct fovea_why *why)
{
    FOVEA_REQUIRE(d->struct_size == sizeof *d, FOVEA_ERR_STRUCT, why, "gemm: struct_size is %u, not %zu",
                  (unsigned)d->struct_size, sizeof *d);
    const struct fovea_size flags[] = {{"trans_a", d->trans_a},
                                       {"b_packed", d->b_packed},
                                       {"trans_b", d->b_packed ? 0 : d->trans_b},
                                       {"residual", d->residual},
                                       {"gated", d->gated}};
    FOVEA_TRY(fovea_check_flags(flags, FOVEA_COUNT(flags), "gemm", why));
    const struct fovea_limit enums[] = {{"activation", (unsigned)d->activation, FOVEA_ACTIVATION_SILU},
                                        {"b_type", (unsigned)d->b_type, FOVEA_S8}};
    FOVEA_TRY(fovea_check_enums(enums, FOVEA_COUNT(enums), "gemm", why));
    FOVEA_REQUIRE(d->b_packed || d->b_type == FOVEA_F32, FOVEA_ERR_VALUE, why,
                  "gemm: b_type is %s, but B is not packed", fovea_type_names[d->b_type]);
    FOVEA_REQUIRE(isfinite(d->alpha), FOVEA_ERR_VALUE, why, "gemm: alpha is not finite");
    FOVEA_REQUIRE(isfinite(d->beta), FOVEA_ERR_VALUE, why, "gemm: beta is not finite");
    if (d->trans_a == FOVEA_TRANS) {
        FOVEA_TRY(check_matrix('a', d->k, d->m, d->lda, why));
    } else {
        FOVEA_TRY(check_matrix('a', d->m, d->k, d->lda, why));
    }
    if (d->b_packed) {
        size_t bytes = 0;
        FOVEA_REQUIRE(fovea_pack_size_typed(d->b_type, d->k, d->n, &bytes) == FOVEA_OK, FOVEA_ERR_OVERFLOW, why,
                      "gemm: B of %zu x %zu does not fit in memory", d->k, d->n);
    } else if (d->trans_b == FOVEA_TRANS) {
        FOVEA_TRY(check_matrix('b', d->n, d->k, d->ldb, why));
    } else {
        FOVEA_TRY(check_matrix('b', d->k, d->n, d->ldb, why));
    }
    FOVEA_REQUIRE(!d->gated || d->n % 2 == 0, FOVEA_ERR_SHAPE, why, "gemm: gated needs pairs, n is %zu", d->n);
    FOVEA_REQUIRE(!d->gated || d->beta == 0, FOVEA_ERR_VALUE, why, "gemm: gated needs beta 0");
    const size_t columns = d->gated ? d->n / 2 : d->n;
    FOVEA_TRY(check_matrix('c', d->m, columns, d->ldc, why));
    FOVEA_TRY(d->residual ? check_matrix('r', d->m, columns, d->ldr, why) : FOVEA_OK);
    const size_t strides[] = {d->batch_a, d->batch_b, d->batch_c, d->batch_r};
    for (size_t i = 0; i < FOVEA_COUNT(strides); i++) {
        size_t bytes = 0;
        FOVEA_REQUIRE(fovea_mul(strides[i], sizeof(float), &bytes) && fovea_mul(bytes, d->batch, &bytes),
                      FOVEA_ERR_OVERFLOW, why, "gemm: %zu entries %zu floats apart do not fit in memory", d->batch,
                      strides[i]);
    }
    FOVEA_REQUIRE(entries_apart(d, columns), FOVEA_ERR_STRIDE, why, "gemm: entries of C, %zu floats apart, overlap",
                  d->batch_c);
    FOVEA_REQUIRE(d->batch <= 1 || !d->b_packed || d->batch_b % FOVEA_PANEL == 0, FOVEA_ERR_STRIDE, why,
                  "gemm: blobs %zu floats apart are not 64-byte aligned", d->batch_b);
    return FOVEA_OK;
}
