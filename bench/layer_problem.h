// SPDX-License-Identifier: Apache-2.0
// bench/layer_problem.h - one line of the layer suite: weights of as many layers as it takes, and whether a result is
// right.
#ifndef FOVEA_BENCH_LAYER_PROBLEM_H
#define FOVEA_BENCH_LAYER_PROBLEM_H

#include "bench/layer_shapes.h"
#include "bench/race.h"
#include "fovea/type.h"

enum {
    LAYER_CACHED = LAYER_DECODE | LAYER_DECODE_GATED,
    LAYER_STREAM_ROWS = 16, ///< up to so many rows, weights come from memory
    LAYER_ROWS = 3,         ///< of the result that are compared
};

/// What a layer computes with. Matrices are inputs x outputs, so y = x W + b.
enum layer_operand {
    LAYER_W_QKV, ///< width x (heads + 2 kv_heads) dim: those of queries, of keys, of values, side by side
    LAYER_W_OUT,
    LAYER_W_GATE, ///< of a gated layer
    LAYER_W_UP,
    LAYER_W_DOWN,
    LAYER_B_QKV, ///< biases: of all kinds but the gated one
    LAYER_B_OUT,
    LAYER_B_UP,
    LAYER_B_DOWN,
    LAYER_GAMMA1,
    LAYER_BETA1, ///< of LayerNorm
    LAYER_GAMMA2,
    LAYER_BETA2,
    LAYER_K_CACHE, ///< (batch, kv_heads, keys, dim), of which the last len positions are a call's own
    LAYER_V_CACHE,
    LAYER_OPERANDS
};

struct layer_problem {
    const struct layer_shape *shape;
    enum layer_kind kind; ///< how it computes
    /// Of weights, and of caches, which is FOVEA_F32 or FOVEA_BF16. Their numbers are such, though they are stored as
    /// f32 here.
    enum fovea_type type, cache_type;
    uint32_t threads;
    size_t dim, position; ///< of a head; keys before those of a call
    float eps;
    struct {
        size_t rows, cols, at; ///< 0 rows: this kind has none; `at` floats behind the beginning of a layer
    } operands[LAYER_OPERANDS];
    size_t count, layer_floats; ///< layers that calls take in turns, one behind the other, and floats of each
    float *memory;              ///< the layers first
    size_t memory_bytes;
    float *x, *y;     ///< (batch, len, width)
    float *cos, *sin; ///< (keys, dim / 2): rotary positions
    double *expected; ///< LAYER_ROWS rows of layer 0's result
};

/// Allocates and fills (shape, kind and threads are set already). Where weights come from memory, those of all layers
/// are more than walk_bytes. False without memory.
bool layer_problem_make(struct layer_problem *problem, size_t walk_bytes);
void layer_problem_free(struct layer_problem *problem);
/// An operand of a layer; NULL where this kind has none.
float *layer_problem_operand(const struct layer_problem *problem, size_t layer, enum layer_operand which);
/// Multiply-adds of the products and of attention, of what causal order leaves, count twice; the weights and the cache
/// of a layer stream where they come from memory.
struct race_load layer_problem_load(const struct layer_problem *problem);
/// The race for it. Rows of the result are compared with float64, for layer 0: all within 5e-5, or
/// 1e-3 if keys and values of the call are rounded.
struct race_problem layer_problem_race(const struct layer_problem *problem);

/// Which sequence, and which of its rows in this call, is compared.
struct layer_row {
    size_t entry, row;
};
struct layer_row layer_problem_row(const struct layer_problem *problem, size_t number);
/// Computes these rows in float64 from the operands of layer 0, `expected` being there. False without memory.
bool layer_reference(const struct layer_problem *problem);

#endif
