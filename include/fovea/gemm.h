// SPDX-License-Identifier: Apache-2.0
// fovea/gemm.h - C = act(alpha * op(A) op(B) + beta * C + bias) + residual, f32, row-major. A packed B may have
// elements of 16 or 8 bits.
#ifndef FOVEA_GEMM_H
#define FOVEA_GEMM_H

#include "fovea/engine.h"
#include "fovea/executor.h"
#include "fovea/type.h"

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

/// A GEMM. Sizes may be 0. Leading dimensions are in elements. Start from FOVEA_GEMM_DESC_INIT: a descriptor that is
/// zero except for struct_size has batch 0 and alpha 0, and computes nothing.
struct fovea_gemm_desc {
    uint32_t struct_size; ///< sizeof(struct fovea_gemm_desc)
    enum fovea_transpose trans_a, trans_b;
    uint32_t b_packed; ///< 1: args.b is a blob made by fovea_pack, or another function below with b_type, for this k
                       ///< and n; trans_b and ldb are ignored
    size_t m, n, k;
    size_t lda, ldb, ldc;
    float alpha;                      ///< default 1; with 0 neither A nor B is read. Must be finite
    float beta;                       ///< default 0; with 0 C is never read. Must be finite
    enum fovea_activation activation; ///< default none
    uint32_t residual;                ///< 1: args.residual, m x n with leading dimension ldr, is added last
    size_t ldr;
    uint32_t gated; ///< 1: op(B) has n columns in pairs, gate and value side by side; C and the residual have n/2:
                    ///< C[i,j] = act(v[i,2j]) * v[i,2j+1] + residual[i,j] (SwiGLU with SILU). n must be even, beta 0
    size_t batch;   ///< default 1: number of GEMMs of this shape; entry e begins at a + e * batch_a and so on
    /// Strides between batch entries, in floats. 0 for A, B or the residual means that all entries share it. With a
    /// packed B and several entries batch_b is a multiple of 16. Entries of C either follow one another, or lie side by
    /// side in rows of ldc, as heads do; they must not share an element.
    size_t batch_a, batch_b, batch_c, batch_r;
    /// Default FOVEA_F32. Of a packed B: the type of its blob. A blob of 16-bit elements takes half of the memory, one
    /// of FOVEA_S8 little more than a quarter; with AVX-512 one or two rows of C take about as much less time, more
    /// rows and AVX2 gain less. C has the bits of a product with what these elements stand for, an f32 each. B that is
    /// not packed is FOVEA_F32.
    enum fovea_type b_type;
};
#define FOVEA_GEMM_DESC_INIT                                                                                           \
    {                                                                                                                  \
        sizeof(struct fovea_gemm_desc), FOVEA_NO_TRANS, FOVEA_NO_TRANS, 0, 0, 0, 0, 0, 0, 0, 1.0f, 0.0f,               \
            FOVEA_ACTIVATION_NONE, 0, 0, 0, 1, 0, 0, 0, 0, FOVEA_F32                                                   \
    }
/// The same, for callers without C's macros. size is sizeof(*desc). Errors: NULL, STRUCT.
FOVEA_API enum fovea_status fovea_gemm_desc_init(struct fovea_gemm_desc *desc, size_t size);

/// One plan serves any number of rows up to its capacity: few rows mostly take no longer than under a plan of their
/// own. B need not begin with a cache line, but over a B from memory that does few rows take a few per cent less.
struct fovea_gemm_args {
    const float *a;
    const void *b; ///< floats, or the packed blob
    float *c;
    const float *bias;     ///< n elements, which all entries of a batch share, or NULL
    const float *residual; ///< required if the descriptor asks for it; may be c itself
    size_t m;              ///< rows of this call (of each batch entry), at most the plan's; 0 computes nothing and
                           ///< returns OK
};

/// Size of a plan in bytes. A plan begins with its struct fovea_work, must be 64-byte aligned, and may be copied to
/// another aligned place.
FOVEA_API size_t fovea_gemm_plan_size(void);
/// Validates the descriptor and fills plan. The engine must outlive it.
/// Errors: NULL, STRUCT, ENUM, OVERFLOW, STRIDE, SHAPE (gated, n odd), VALUE, ALIGN (plan).
FOVEA_API enum fovea_status fovea_gemm_plan(const struct fovea_engine *engine, const struct fovea_gemm_desc *desc,
                                            void *plan);
/// Writes one line that says what a plan would do and why, or why there is none. Returns what fovea_gemm_plan would.
/// The line is truncated to text_size, for which FOVEA_EXPLAIN_BYTES is enough; text may be NULL.
FOVEA_API enum fovea_status fovea_explain_gemm(const struct fovea_engine *engine, const struct fovea_gemm_desc *desc,
                                               char *text, size_t text_size);
/// Writes one line that says what is wrong with a call, or what it would compute, and by which plan where that is not
/// the given one. Returns what fovea_gemm would, except that memory and executor are not checked.
FOVEA_API enum fovea_status fovea_explain_gemm_call(const void *plan, const struct fovea_gemm_args *args, char *text,
                                                    size_t text_size);
/// Runs a plan on an executor (NULL: in the calling thread). The plan's fovea_work gives the sizes of shared and
/// scratch.
///
/// Aliasing: C may be the residual (with ldr = ldc and batch_r = batch_c); otherwise it must not overlap A, B, the bias
/// or the residual. shared and scratch must not overlap any operand. Only these strides are checked, not overlap.
///
/// Only the header of a packed blob is checked; see fovea_pack_check for all of it.
///
/// Accuracy: |acc - exact| <= k u / (1 - k u) * sum |A| |B|, u = 2^-24. Each later step adds one rounding, an
/// activation the error of its function (docs/numerics.md).
///
/// Errors: NULL, STRUCT (not a plan of a GEMM), SHAPE (m above the plan's), ALIGN, FORMAT (not a blob of this shape
/// and type), STRIDE (C is the residual, but ldr or batch_r differs), VALUE (no workers; a residual that was not
/// planned).
FOVEA_API enum fovea_status fovea_gemm(const void *plan, const struct fovea_gemm_args *args, void *shared,
                                       void *scratch, const struct fovea_executor *executor);
/// The same, task by task. The tasks of a phase may run in any order and on any threads, each with its own scratch.
/// fovea_gemm_tasks gives their number, 0 if args are invalid. fovea_gemm_task returns SHAPE for a task that does not
/// exist.
FOVEA_API uint32_t fovea_gemm_tasks(const void *plan, const struct fovea_gemm_args *args, uint32_t phase);
FOVEA_API enum fovea_status fovea_gemm_task(const void *plan, const struct fovea_gemm_args *args, void *shared,
                                            void *scratch, uint32_t phase, uint32_t task);
/// Plans, allocates, runs in the calling thread, frees: for callers who just want the product. Errors: also MEMORY.
FOVEA_API enum fovea_status fovea_gemm_once(const struct fovea_engine *engine, const struct fovea_gemm_desc *desc,
                                            const struct fovea_gemm_args *args);

/// Size in bytes of the packed blob of a k x n operand B. Errors: NULL, OVERFLOW.
FOVEA_API enum fovea_status fovea_pack_size(size_t k, size_t n, size_t *bytes);
/// Packs op(B) (see enum fovea_transpose) into blob, which is 64-byte aligned and `bytes` long. The layout is f32-p16:
/// a header of 64 bytes (magic, layout, k, n, checksum), then panels of 16 columns, k-major, columns zero-padded;
/// docs/architecture.md specifies every byte. A blob is relocatable, may be stored and mapped, and gives the same bits
/// on every ISA. For large blobs call fovea_advise_huge_pages before packing.
/// Errors: NULL, ENUM, OVERFLOW, STRIDE, ALIGN, MEMORY (blob too short).
FOVEA_API enum fovea_status fovea_pack(const struct fovea_engine *engine, enum fovea_transpose trans, size_t k,
                                       size_t n, const float *b, size_t ldb, void *blob, size_t bytes);
/// Packs the operand of a gated GEMM, k x 2n: column j of op(gate) becomes column 2j, column j of op(value) becomes 2j
/// + 1; each is k x n. fovea_pack_size(k, 2 n, ...) gives the size of the blob. Errors: as fovea_pack.
FOVEA_API enum fovea_status fovea_pack_gated(const struct fovea_engine *engine, enum fovea_transpose trans, size_t k,
                                             size_t n, const float *gate, size_t ldg, const float *value, size_t ldv,
                                             void *blob, size_t bytes);
/// The same three for elements of a given type, that of b and of the blob: nothing is rounded, and f32 weights are
/// rounded to 16 bits before (to 8 by fovea_pack_s8). Leading dimensions are in elements. FOVEA_F32 gives the layout
/// above. The layouts bf16-p16 and f16-p16 are 16-bit elements in the same order, with zeros after the last panel up to
/// a multiple of 64 bytes. Tensors of type BF16 or F16 in a safetensors file can be packed as they are. Errors: also
/// ENUM (type; FOVEA_S8, of which only the size is known here).
FOVEA_API enum fovea_status fovea_pack_size_typed(enum fovea_type type, size_t k, size_t n, size_t *bytes);
FOVEA_API enum fovea_status fovea_pack_typed(const struct fovea_engine *engine, enum fovea_type type,
                                             enum fovea_transpose trans, size_t k, size_t n, const void *b, size_t ldb,
                                             void *blob, size_t bytes);
FOVEA_API enum fovea_status fovea_pack_gated_typed(const struct fovea_engine *engine, enum fovea_type type,
                                                   enum fovea_transpose trans, size_t k, size_t n, const void *gate,
                                                   size_t ldg, const void *value, size_t ldv, void *blob, size_t bytes);
/// Packs elements of a type, FOVEA_F32, BF16 or F16, as 8-bit integers: the blob has type FOVEA_S8 and little more than
/// a quarter of the size of one of f32; fovea_pack_size_typed gives it. Each 64 steps of a column share a scale: the
/// largest magnitude among them divided by 127, rounded to 15 bits. An element becomes the integer nearest to its
/// quotient by the scale (ties to even, from -127 to 127). From then on it is the product of these two, which f32 holds
/// exactly, at most 0.51 scales from what it was if that is not denormal. The layout is s8-p16 (docs/architecture.md).
/// Errors: as fovea_pack_typed; VALUE (an element is NaN, or so large that its scale would be 2^112 or more: the blob
/// is none then, its header is zeros).
FOVEA_API enum fovea_status fovea_pack_s8(const struct fovea_engine *engine, enum fovea_type type,
                                          enum fovea_transpose trans, size_t k, size_t n, const void *b, size_t ldb,
                                          void *blob, size_t bytes);
FOVEA_API enum fovea_status fovea_pack_gated_s8(const struct fovea_engine *engine, enum fovea_type type,
                                                enum fovea_transpose trans, size_t k, size_t n, const void *gate,
                                                size_t ldg, const void *value, size_t ldv, void *blob, size_t bytes);
/// Packs integers that have their scales, as quantized models store them: element [p,j] is b times the scale [p /
/// group, j], for any int8_t. trans and the leading dimensions are those of b and of scales, which is ceil(k / group) x
/// n (with FOVEA_TRANS both lie transposed). group is a multiple of 64, or k and more for one scale for each column: in
/// PyTorch's order FOVEA_TRANS, k, and lds 1. (Smaller groups, as the 32 of ggml's Q8_0, and zero points have no such
/// blob; as f32 they can be rounded by fovea_pack_s8.) Scales are rounded to 15 bits, ties to even, which changes none
/// that was bf16 or f16. For a gated GEMM b and scales have the columns of gate and value in turns, with FOVEA_TRANS
/// their rows. Errors: also VALUE (another group; or, as above, a scale that is negative, NaN, or 2^112 or more once it
/// is rounded).
FOVEA_API enum fovea_status fovea_pack_scaled_s8(const struct fovea_engine *engine, enum fovea_transpose trans,
                                                 size_t k, size_t n, const int8_t *b, size_t ldb, const float *scales,
                                                 size_t lds, size_t group, void *blob, size_t bytes);
/// Checks a blob that came from elsewhere, including its checksum (which detects damage, not malice): that it was made
/// for this k and n, with elements of any type, is complete within `bytes`, and undamaged. Errors: NULL, ALIGN, FORMAT.
FOVEA_API enum fovea_status fovea_pack_check(const void *blob, size_t bytes, size_t k, size_t n);
/// Reads k and n from the header of such a blob, for callers who map one without knowing them. With its type
/// fovea_pack_size_typed then gives its size. The panels are not read. Errors: NULL, ALIGN, FORMAT (not a blob, or
/// longer than `bytes`).
FOVEA_API enum fovea_status fovea_pack_shape(const void *blob, size_t bytes, size_t *k, size_t *n);
/// Reads the type of its elements. The same errors.
FOVEA_API enum fovea_status fovea_pack_type(const void *blob, size_t bytes, enum fovea_type *type);

#ifdef __cplusplus
}
#endif

#endif
