// SPDX-License-Identifier: Apache-2.0
// fovea/gemm.h - C = act(alpha * op(A) op(B) + beta * C + bias) + residual, f32, row-major.
#ifndef FOVEA_GEMM_H
#define FOVEA_GEMM_H

#include "fovea/engine.h"
#include "fovea/executor.h"

#ifdef __cplusplus
extern "C" {
#endif

enum fovea_transpose {
    FOVEA_NO_TRANS = 0, ///< A is m x k with lda >= k; B is k x n with ldb >= n
    FOVEA_TRANS = 1,    ///< A is stored k x m with lda >= m; B is stored n x k with ldb >= k (a Linear's weight)
};

enum fovea_activation {
    FOVEA_ACTIVATION_NONE = 0,
    FOVEA_ACTIVATION_RELU = 1,
    FOVEA_ACTIVATION_GELU = 2,      ///< 0.5 x (1 + erf(x / sqrt 2))
    FOVEA_ACTIVATION_GELU_TANH = 3, ///< 0.5 x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3)))
    FOVEA_ACTIVATION_TANH = 4,
    FOVEA_ACTIVATION_SILU = 5, ///< x / (1 + exp(-x))
};

/// A GEMM. Sizes may be 0. Leading dimensions are in elements. Begin with FOVEA_GEMM_DESC_INIT: a descriptor of zeros
/// (but for struct_size) is of 0 GEMMs with alpha 0, and computes nothing.
struct fovea_gemm_desc {
    uint32_t struct_size; ///< sizeof(struct fovea_gemm_desc)
    enum fovea_transpose trans_a, trans_b;
    uint32_t b_packed; ///< 1: args.b is a blob made by fovea_pack for this k and n; trans_b and ldb are ignored
    size_t m, n, k;
    size_t lda, ldb, ldc;
    float alpha;                      ///< default 1; 0 reads neither A nor B. Not NaN or infinite
    float beta;                       ///< default 0; 0 never reads C. Not NaN or infinite
    enum fovea_activation activation; ///< default none
    uint32_t residual;                ///< 1: args.residual, m x n with leading dimension ldr, is added last
    size_t ldr;
    uint32_t gated; ///< 1: op(B) has n columns in pairs, gate and value side by side, and C, the residual n / 2:
                    ///< C[i,j] = act(v[i,2j]) * v[i,2j+1] + residual[i,j] (SwiGLU with SILU). n even, beta 0
    size_t batch;   ///< default 1: that many GEMMs of these shapes; entry e begins at a + e * batch_a and so on
    /// In floats; 0 for A, B or the residual: shared by all entries; of several packed B a multiple of 16. Entries of C
    /// lie behind one another, or side by side in rows of ldc, as heads do; they share no element.
    size_t batch_a, batch_b, batch_c, batch_r;
};
#define FOVEA_GEMM_DESC_INIT                                                                                           \
    {                                                                                                                  \
        sizeof(struct fovea_gemm_desc), FOVEA_NO_TRANS, FOVEA_NO_TRANS, 0, 0, 0, 0, 0, 0, 0, 1.0f, 0.0f,               \
            FOVEA_ACTIVATION_NONE, 0, 0, 0, 1, 0, 0, 0, 0                                                              \
    }

/// One plan serves any number of rows up to its capacity.
struct fovea_gemm_args {
    const float *a;
    const void *b; ///< floats, or the packed blob
    float *c;
    const float *bias;     ///< n elements, or NULL
    const float *residual; ///< where the descriptor asks for it; may be c itself
    size_t m;              ///< rows of this call (of each entry), at most the plan's; 0 computes nothing, and is OK
};

/// Bytes of a plan. A plan begins with its struct fovea_work, is 64-byte aligned and may be copied to such a place.
FOVEA_API size_t fovea_gemm_plan_size(void);
/// Validates the descriptor and fills plan. The engine must outlive it.
/// Errors: NULL, STRUCT, ENUM, OVERFLOW, STRIDE, SHAPE (gated, n odd), VALUE, ALIGN (plan).
FOVEA_API enum fovea_status fovea_gemm_plan(const struct fovea_engine *engine, const struct fovea_gemm_desc *desc,
                                            void *plan);
/// Writes one line that says what a plan would do and because of what, or why there is none; returns what
/// fovea_gemm_plan would. The line, some 600 bytes, is cut to text_size; text may be NULL.
FOVEA_API enum fovea_status fovea_explain_gemm(const struct fovea_engine *engine, const struct fovea_gemm_desc *desc,
                                               char *text, size_t text_size);
/// Writes one line that says what is wrong with a call, or what it would compute; returns what fovea_gemm would, but
/// for its memories and executor.
FOVEA_API enum fovea_status fovea_explain_gemm_call(const void *plan, const struct fovea_gemm_args *args, char *text,
                                                    size_t text_size);
/// Runs a plan on an executor (NULL: in this thread). shared and scratch as plan's fovea_work says.
/// C may be the residual (with ldr = ldc and batch_r = batch_c) and aliases nothing else. Of the blob only the header
/// is checked, see fovea_pack_check. |acc - exact| <= k u / (1 - k u) * sum |A| |B|, u = 2^-24; each later step adds
/// one rounding, an activation the error of its function (docs/numerics.md). Errors: NULL, STRUCT (no plan of a GEMM),
/// SHAPE (m above the plan's), ALIGN, FORMAT (a foreign blob), STRIDE (ldr, batch_r), VALUE (no workers; a residual
/// that was not planned).
FOVEA_API enum fovea_status fovea_gemm(const void *plan, const struct fovea_gemm_args *args, void *shared,
                                       void *scratch, const struct fovea_executor *executor);
/// The same task by task: tasks of a phase in any order, on any threads, each with a scratch of its own. The number of
/// tasks is 0 where args are wrong; a task that is not there gives SHAPE.
FOVEA_API uint32_t fovea_gemm_tasks(const void *plan, const struct fovea_gemm_args *args, uint32_t phase);
FOVEA_API enum fovea_status fovea_gemm_task(const void *plan, const struct fovea_gemm_args *args, void *shared,
                                            void *scratch, uint32_t phase, uint32_t task);
/// Plans, allocates, runs in this thread, frees. For whoever just wants the product. Also MEMORY.
FOVEA_API enum fovea_status fovea_gemm_once(const struct fovea_engine *engine, const struct fovea_gemm_desc *desc,
                                            const struct fovea_gemm_args *args);

/// Bytes of the packed blob of a k x n operand B. Errors: NULL, OVERFLOW.
FOVEA_API enum fovea_status fovea_pack_size(size_t k, size_t n, size_t *bytes);
/// Packs op(B) (see enum fovea_transpose) into blob: 64-byte aligned, `bytes` long. The blob is layout f32-p16: a
/// header of 64 bytes (magic, layout, k, n, checksum), then panels of 16 columns, k-major, columns zero-padded;
/// docs/architecture.md says which byte is what. It is relocatable, may be stored and mapped, and is read by every ISA
/// with the same bits. Large ones profit from fovea_advise_huge_pages before they are packed.
/// Errors: NULL, ENUM, OVERFLOW, STRIDE, ALIGN, MEMORY (blob too short).
FOVEA_API enum fovea_status fovea_pack(const struct fovea_engine *engine, enum fovea_transpose trans, size_t k,
                                       size_t n, const float *b, size_t ldb, void *blob, size_t bytes);
/// Packs the operand of a gated GEMM, k x 2n: column j of op(gate) becomes column 2j, of op(value) 2j + 1; each is
/// k x n. fovea_pack_size(k, 2 n, ...) says how long the blob is. Errors: as fovea_pack.
FOVEA_API enum fovea_status fovea_pack_gated(const struct fovea_engine *engine, enum fovea_transpose trans, size_t k,
                                             size_t n, const float *gate, size_t ldg, const float *value, size_t ldv,
                                             void *blob, size_t bytes);
/// Checks a blob that came from elsewhere, its checksum too: made for this k and n, whole within `bytes`, undamaged.
/// Errors: NULL, ALIGN, FORMAT.
FOVEA_API enum fovea_status fovea_pack_check(const void *blob, size_t bytes, size_t k, size_t n);
/// Reads k and n from the header of such a blob, for whoever maps one without knowing them; fovea_pack_size then says
/// where it ends. The panels are not read. Errors: NULL, ALIGN, FORMAT (foreign, or longer than `bytes`).
FOVEA_API enum fovea_status fovea_pack_shape(const void *blob, size_t bytes, size_t *k, size_t *n);

#ifdef __cplusplus
}
#endif

#endif
