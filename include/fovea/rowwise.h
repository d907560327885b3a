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
    FOVEA_ROWWISE_SOFTMAX = 0,     ///< each row; a row of only -inf gives zeros
    FOVEA_ROWWISE_LOG_SOFTMAX = 1, ///< each row; a row of only -inf gives -inf
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
    FOVEA_ROWWISE_DROPOUT = 13, ///< +0, or x / (1 - dropout); which one depends only on (args.seed, args.site, number
                                ///< of the element)
    FOVEA_ROWWISE_DROPOUT_ADD = 14, ///< DROPOUT of x, plus x2: the residual connection of a sublayer in training
    FOVEA_ROWWISE_ROTARY = 15, ///< rotary positions (Su et al., arXiv:2104.09864): in each head of a row, the pairs (a,
                               ///< b) of its first rotary_dim elements become (a cos - b sin, b cos + a sin)
};

/// A matrix of rows x cols elements. ldx, ldx2 and ldy are the strides between rows of x, x2 and y, in elements, at
/// least cols.
struct fovea_rowwise_desc {
    uint32_t struct_size; ///< sizeof(struct fovea_rowwise_desc)
    enum fovea_rowwise_op op;
    size_t rows, cols;
    size_t ldx, ldx2, ldy; ///< ldx2 for ADD and DROPOUT_ADD only
    float eps;             ///< LAYERNORM and RMSNORM, default 1e-5; at least 0
    float dropout;         ///< DROPOUT and DROPOUT_ADD: fraction p of the elements that is dropped, 0 <= p < 1; default
                           ///< 0: none
    // ROTARY:
    size_t heads;             ///< heads per row, at least 1; divides cols
    size_t rotary_dim;        ///< elements of each head to rotate: even, at most cols / heads; 0: none
    uint32_t rotary_adjacent; ///< 0: element i is paired with element i + rotary_dim / 2 (NeoX, Llama of Hugging Face).
                              ///< 1: element 2i is paired with 2i + 1 (GPT-J, Llama as Meta stores it, "interleaved").
    size_t rotary_positions;  ///< rows of args.cos and args.sin
};
#define FOVEA_ROWWISE_DESC_INIT                                                                                        \
    {                                                                                                                  \
        sizeof(struct fovea_rowwise_desc), FOVEA_ROWWISE_SOFTMAX, 0, 0, 0, 0, 0, 1e-5f, 0, 0, 0, 0, 0                  \
    }
/// The same, for callers without C's macros. size is sizeof(*desc). Errors: NULL, STRUCT.
FOVEA_API enum fovea_status fovea_rowwise_desc_init(struct fovea_rowwise_desc *desc, size_t size);

/// Arguments of one call. A plan serves any number of rows up to its capacity. y may be x, or x2, if both have the same
/// stride; apart from that y must not overlap an input, not even partially: a row may be read after another has been
/// written. This is not checked.
struct fovea_rowwise_args {
    const float *x;
    const float *x2;    ///< ADD, DROPOUT_ADD
    const float *gamma; ///< LAYERNORM and RMSNORM, cols elements, or NULL
    const float *beta;  ///< LAYERNORM and RMSNORM, cols elements, or NULL
    float *y;           ///< may be x or x2, with the same stride
    size_t rows;        ///< rows of this call, at most the plan's
    // DROPOUT and DROPOUT_ADD: element (r, c) has the number element + r * cols + c, whatever the strides. What is
    // dropped depends only on (seed; site, number), so a sequence computed in pieces drops the same elements as when
    // computed at once.
    uint64_t seed;
    uint32_t site;    ///< distinguishes the dropouts of a model
    uint32_t eval;    ///< 1: no dropout in this call; the bits are those of dropout 0: x, or x + x2
    uint64_t element; ///< the number of element (0, 0)
    // ROTARY: row r has position row_positions[r] or, if that is NULL, the position of its sequence's first row plus
    // its number in the sequence. Sequences have len rows each or, in a ragged batch, those that starts says. position,
    // positions and starts are as in fovea_mha_args.
    /// (rotary_positions, rotary_dim / 2) dense: for pair i at position p most models have the cosine and sine of
    /// p * pow(10000, -2.0 * i / rotary_dim). Another libm may round them differently: where bits have to be equal on
    /// all machines, store the tables.
    const float *cos, *sin;
    const uint32_t *row_positions; ///< NULL, or one per row, each below rotary_positions; position, positions and
                                   ///< starts must then be 0 and NULL
    size_t position;               ///< of the first row of every sequence
    const size_t *positions;       ///< NULL, or one per sequence, replacing position, which must then be 0
    size_t len;                    ///< at least 1; ignored with row_positions or starts
    /// NULL, or `sequences` + 1 ascending numbers from 0 to rows: sequence s is the rows from starts[s] to before
    /// starts[s + 1]. It may have none.
    const uint32_t *starts;
    size_t sequences; ///< ignored without starts
};

/// As in fovea/gemm.h. A row-wise plan has one phase and needs neither shared nor scratch. Errors of the plan: NULL,
/// STRUCT, ENUM, STRIDE, OVERFLOW, VALUE (eps, dropout), SHAPE (heads, rotary_dim), ALIGN (plan). Errors of a run:
/// NULL, STRUCT (not a row-wise plan), SHAPE (rows above the plan's, a position beyond rotary_positions, len 0,
/// starts), STRIDE (y is x or x2 with another stride), VALUE (no workers; a pointer that the operator does not read,
/// for example x2 of a norm; position beside positions; position, positions or starts beside row_positions), ENUM
/// (eval).
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
