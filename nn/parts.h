// SPDX-License-Identifier: Apache-2.0
// nn/parts.h - plans the operators that a composite is made of, and checks the fields that composites have in common.
//
// A reason begins with the whole, whose fields the caller knows: "layer: self_attention", then names the part.
#ifndef FOVEA_NN_PARTS_H
#define FOVEA_NN_PARTS_H

#include "ops/attention.h"
#include "ops/gemm.h"
#include "ops/rowwise.h"

/// Where a part is planned, and for whom.
struct fovea_part_of {
    const struct fovea_engine *engine;
    const char *whole;
    const struct fovea_why *why;
};

enum fovea_status fovea_part_gemm(const struct fovea_part_of *of, const char *part, const struct fovea_gemm_desc *desc,
                                  struct fovea_gemm_layout *plan);
enum fovea_status fovea_part_rowwise(const struct fovea_part_of *of, const char *part,
                                     const struct fovea_rowwise_desc *desc, struct fovea_rowwise_layout *plan);
enum fovea_status fovea_part_attention(const struct fovea_part_of *of, const struct fovea_attention_desc *desc,
                                       struct fovea_attention_layout *plan);

/// Heads and their dims: at least one head, a multiple of kv_heads where that is not 0. Errors: SHAPE.
enum fovea_status fovea_heads_check(size_t heads, size_t kv_heads, size_t qk_dim, size_t v_dim, const char *whole,
                                    const struct fovea_why *why);
/// Rotary positions of heads of qk_dim, where a call has positions below `most`. Errors: SHAPE.
enum fovea_status fovea_rotary_check(size_t rotary_dim, size_t qk_dim, size_t positions, size_t most, const char *whole,
                                     const struct fovea_why *why);
/// Appends the position of a call, or those of its batch entries, to its line.
void fovea_say_positions(size_t position, const size_t *positions, size_t batch, const struct fovea_why *why);
/// The eps of a norm, by the name of its field. Errors: VALUE.
enum fovea_status fovea_eps_check(float eps, const char *name, const char *whole, const struct fovea_why *why);
/// A share that is dropped, by the name of its field. Errors: VALUE.
enum fovea_status fovea_dropout_check(float dropout, const char *name, const char *whole, const struct fovea_why *why);

#endif
