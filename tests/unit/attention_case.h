// SPDX-License-Identifier: Apache-2.0
// tests/unit/attention_case.h - random attention problems of every kind, and their float64 results with a bound.
#ifndef FOVEA_TESTS_UNIT_ATTENTION_CASE_H
#define FOVEA_TESTS_UNIT_ATTENTION_CASE_H

#include "fovea/attention.h"
#include "tests/check/check.h"
#include "tests/check/oracle.h"

/// One problem: a plan's descriptor (with capacities that may be larger), the args of one call and its memory.
struct attention_case {
    struct check_rng rng;
    struct fovea_attention_desc desc;
    struct fovea_attention_args args;
    struct fovea_strides q, k, v, out; ///< of the call: the descriptor's, or with args.batch_strides
    size_t batch_strides[4];
    float *out_before; ///< what out holds before the call: out_floats elements, as in args.out
    size_t out_floats, lse_floats;
    bool exact; ///< values are such that the oracle applies
    char text[600];
};

/// Draws a problem of at most `work` multiply-adds or so; a function of number alone. Memory is that of
/// tests/support/memory.h, each tensor as long as the call may touch.
void attention_draw(struct attention_case *c, uint64_t number, bool exact, size_t work);

/// True if row i of head h of batch b sees key j: masks, and a bias that is not -inf.
bool attention_case_sees(const struct attention_case *c, size_t b, size_t h, size_t i, size_t j);

/// The score of a query and a key: scaled, biased; the masks are not looked at.
struct check_exact attention_exact_score(const struct attention_case *c, size_t b, size_t h, size_t i, size_t j);

/// The output row (v_dim elements) and its LSE in float64, from the definition of softmax and nothing else.
void attention_exact(const struct attention_case *c, size_t b, size_t h, size_t i, struct check_exact *out,
                     struct check_exact *lse);

/// Statistics of a row's weights; at_key is the exact weight of `key` (UINT32_MAX: 0). Beside a large sink the weight
/// of a key that is seen may be 0, too.
struct attention_exact_statistics {
    struct check_exact entropy, largest;
    double at_key;
    bool seen; ///< some key
};
struct attention_exact_statistics attention_exact_statistics(const struct attention_case *c, size_t b, size_t h,
                                                             size_t i, uint32_t key);

#endif
