// SPDX-License-Identifier: Apache-2.0
// fovea/rowwise.h - operators on the rows of a matrix: LayerNorm, RMSNorm, softmax, activations, addition,
// dropout, rotary positions.
//
// Error bounds are in docs/numerics.md: EXP2 in section 1 (0.80 ulp), GELU, GELU_TANH and SILU in section 5; TANH, SIN
// and COS are SLEEF's u10 functions, 1.0 ulp (section 1 names them). RELU is exact, ADD one rounding, DROPOUT a
// product with the rounded 1 / (1 - dropout) (section 6), ROTARY three roundings (section 5). Softmax and norms:
// section 4.
#ifndef FOVEA_ROWWISE_H
#define FOVEA_ROWWISE_H

#include "fovea/engine.h"
#include "fovea/executor.h"

#ifdef __cplusplus
extern "C" {
#endif

enum fovea_rowwise_op {
    FOVEA_ROWWISE_SOFTMAX = 0,     ///< each row; a row of -inf gives zeros
    FOVEA_ROWWISE_LOG_SOFTMAX = 1, ///< each row; a row of -inf gives -inf
    FOVEA_ROWWISE_LAYERNORM = 2,   ///< each row: (x - mean) / sqrt(var + eps) * gamma + beta
    FOVEA_ROWWISE_ADD = 3,         ///< y = x + x2, the residual connection
    FOVEA_ROWWISE_RELU = 4,
    FOVEA_ROWWISE_GELU = 5,
    FOVEA_ROWWISE_GELU_TANH = 6,
    FOVEA_ROWWISE_TANH = 7,
    FOVEA_ROWWISE_EXP2 = 8,
    FOVEA_ROWWISE_SIN = 9,
    FOVEA_ROWWISE_COS = 10,
    FOVEA_ROWWISE_SILU = 11,    ///< x / (1 + exp(-x))
    FOVEA_ROWWISE_RMSNORM = 12, ///< each row: x / sqrt(mean of x^2 + eps) * gamma + beta
    FOVEA_ROWWISE_DROPOUT = 13, ///< +0, or x / (1 - dropout): by (args.seed, args.site, number of the element) alone
    FOVEA_ROWWISE_DROPOUT_ADD = 14, ///< DROPOUT of x, + x2: the residual connection of a sublayer in training
    FOVEA_ROWWISE_ROTARY = 15, ///< rotary positions (Su et al., arXiv:2104.09864): in each head of a row pairs (a, b)
                               ///< of its first rotary_dim elements become (a cos - b sin, b cos + a sin)
};

/// rows x cols elements with a stride between rows for each matrix (elements, at least cols).
struct fovea_rowwise_desc {
    uint32_t struct_size; ///< sizeof(struct fovea_rowwise_desc)
    enum fovea_rowwise_op op;
    size_t rows, cols;
    size_t ldx, ldx2, ldy; ///< ldx2 for ADD and DROPOUT_ADD only
    float eps;             ///< LAYERNORM and RMSNORM, default 1e-5; at least 0
    float dropout;         ///< DROPOUT and DROPOUT_ADD, 0 <= p < 1 of the elements are dropped; default 0: none
    // ROTARY:
    size_t heads;             ///< of a row, at least 1; divides cols
    size_t rotary_dim;        ///< even, at most cols / heads; 0 turns nothing
    uint32_t rotary_adjacent; ///< 0: element i goes with element i + rotary_dim / 2 (NeoX, Llama of Hugging Face); 1: 2
                              ///< i with 2 i + 1 (GPT-J, "interleaved")
    size_t rotary_positions;  ///< rows of args.cos and args.sin
};
#define FOVEA_ROWWISE_DESC_INIT                                                                                        \
    {                                                                                                                  \
        sizeof(struct fovea_rowwise_desc), FOVEA_ROWWISE_SOFTMAX, 0, 0, 0, 0, 0, 1e-5f, 0, 0, 0, 0, 0                  \
    }

/// One plan serves any number of rows up to its capacity.
struct fovea_rowwise_args {
    const float *x;
    const float *x2;    ///< ADD, DROPOUT_ADD
    const float *gamma; ///< LAYERNORM and RMSNORM, cols elements, or NULL
    const float *beta;  ///< LAYERNORM and RMSNORM, cols elements, or NULL
    float *y;           ///< may be x or x2 with the same stride
    size_t rows;        ///< of this call, at most the plan's
    // DROPOUT and DROPOUT_ADD: element (r, c) has the number element + r * cols + c, whatever the strides. What is
    // drawn depends on (seed; site, number), so a sequence computed in pieces draws what it draws at once.
    uint64_t seed;
    uint32_t site;    ///< tells the dropouts of a model apart
    uint32_t eval;    ///< 1: no dropout in this call: the bits of dropout 0, which are those of x and of ADD
    uint64_t element; ///< the number of element (0, 0)
    // ROTARY: row r stands at positions[r] or, where that is NULL, at position + r % len.
    const float *cos, *sin;    ///< (rotary_positions, rotary_dim / 2) dense
    const uint32_t *positions; ///< NULL, or of each row, below rotary_positions
    size_t position, len;      ///< without positions: len, at least 1, rows are a sequence
};

/// As fovea/gemm.h. A row-wise plan has one phase and needs no memory. Errors of the plan: NULL, STRUCT, ENUM, STRIDE,
/// OVERFLOW, VALUE (eps, dropout), SHAPE (heads, rotary_dim), ALIGN (plan); of a run: NULL, STRUCT (another's plan),
/// SHAPE (rows above the plan's, a position that cos and sin have not, len 0), STRIDE (y is x or x2, another stride),
/// VALUE (no workers).
FOVEA_API size_t fovea_rowwise_plan_size(void);
FOVEA_API enum fovea_status fovea_rowwise_plan(const struct fovea_engine *engine, const struct fovea_rowwise_desc *desc,
                                               void *plan);
FOVEA_API enum fovea_status fovea_explain_rowwise(const struct fovea_engine *engine,
                                                  const struct fovea_rowwise_desc *desc, char *text, size_t text_size);
FOVEA_API enum fovea_status fovea_explain_rowwise_call(const void *plan, const struct fovea_rowwise_args *args,
                                                       char *text, size_t text_size);
FOVEA_API enum fovea_status fovea_rowwise(const void *plan, const struct fovea_rowwise_args *args, void *shared,
                                          void *scratch, const struct fovea_executor *executor);
FOVEA_API uint32_t fovea_rowwise_tasks(const void *plan, const struct fovea_rowwise_args *args, uint32_t phase);
FOVEA_API enum fovea_status fovea_rowwise_task(const void *plan, const struct fovea_rowwise_args *args, void *shared,
                                               void *scratch, uint32_t phase, uint32_t task);
FOVEA_API enum fovea_status fovea_rowwise_once(const struct fovea_engine *engine, const struct fovea_rowwise_desc *desc,
                                               const struct fovea_rowwise_args *args);

#ifdef __cplusplus
}
#endif

#endif
