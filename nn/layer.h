// SPDX-License-Identifier: Apache-2.0
// nn/layer.h - the plan of an encoder or decoder layer.
#ifndef FOVEA_NN_LAYER_H
#define FOVEA_NN_LAYER_H

#include "fovea/layer.h"
#include "nn/mha.h"
#include "ops/rowwise.h"

/// The parts of a layer.
enum layer_part {
    LAYER_SELF,
    LAYER_CROSS,
    LAYER_NORM1,
    LAYER_NORM2,
    LAYER_NORM3,
    LAYER_NORM1_OUT, ///< sandwich-norm: norms of what the parts give
    LAYER_NORM2_OUT,
    LAYER_NORM3_OUT,
    LAYER_UP,
    LAYER_DOWN,
    LAYER_DROP_UP, ///< with dropout: dropout of the FFN's activations
    LAYER_ADD1,    ///< sandwich-norm, and the third also with dropout: dropout of what a part gives, and its residual
    LAYER_ADD2,
    LAYER_ADD3,
    LAYER_PARTS
};

/// Buffers of activations: the caller's x and y, and in shared memory one of the model's width and one of the FFN's.
enum layer_buffer { LAYER_X, LAYER_Y, LAYER_T, LAYER_H, LAYER_BUFFERS };

/// One step of a layer: out = part(in) (+ residual).
struct layer_step {
    enum layer_part part;
    enum layer_buffer in, out, residual;
};

struct layer_plan {
    struct fovea_composite composite; ///< first
    struct fovea_layer_desc desc;
    struct layer_step step[LAYER_PARTS]; ///< one per part of the composite
    size_t t, h;                         ///< offsets of the two buffers in shared memory, in bytes
    struct mha_plan self, cross;
    _Alignas(FOVEA_ALIGNMENT) struct fovea_rowwise_layout norm; ///< all norms have the same shape
    _Alignas(FOVEA_ALIGNMENT) struct fovea_gemm_layout up;
    _Alignas(FOVEA_ALIGNMENT) struct fovea_gemm_layout down;
    _Alignas(FOVEA_ALIGNMENT) struct fovea_rowwise_layout drop_up;
    _Alignas(FOVEA_ALIGNMENT) struct fovea_rowwise_layout add;
};

/// Whether no position sees a later one.
static inline bool fovea_layer_is_causal(const struct fovea_layer_desc *desc)
{
    return desc->decoder || desc->causal;
}

/// Checks what a descriptor says without an engine.
enum fovea_status fovea_layer_desc_check(const struct fovea_layer_desc *desc, const char *whole,
                                         const struct fovea_why *why);
fovea_part_args_fn fovea_layer_part_args;
/// The words of a layer for what it gives its attentions.
extern const struct mha_words fovea_layer_self_words, fovea_layer_cross_words;

enum fovea_status fovea_layer_check(const struct layer_plan *plan, const struct fovea_layer_args *args,
                                    const struct fovea_why *why);
/// fovea_layer_plan for a whole, with a reason.
enum fovea_status fovea_layer_make(const struct fovea_part_of *of, const struct fovea_layer_desc *desc,
                                   struct layer_plan *plan);

#endif
