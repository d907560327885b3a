// SPDX-License-Identifier: Apache-2.0
// tests/unit/attention_results.h - all that calls, returned weights and states make of a case, and its comparison.
#ifndef FOVEA_TESTS_UNIT_ATTENTION_RESULTS_H
#define FOVEA_TESTS_UNIT_ATTENTION_RESULTS_H

#include "tests/support/operator.h"
#include "tests/unit/attention_case.h"

enum attention_kind {
    ATTENTION_OUT,
    ATTENTION_LSE,
    ATTENTION_ENTROPY,
    ATTENTION_LARGEST,
    ATTENTION_TOP,
    ATTENTION_WEIGHTS,
    ATTENTION_KEY_SUMS,
    ATTENTION_KINDS
};
struct attention_result {
    float *of[ATTENTION_KINDS];
};

/// The call, then its weights.
struct attention_result attention_run(struct attention_case *c, const struct fovea_engine *engine, enum test_way way);
/// Leaves the call without its keys before `first`, a multiple of 16.
void attention_evict(struct attention_case *c, size_t first);
/// How many keys of case `number` were evicted: some that end within a chunk and most pages, or none.
static inline size_t attention_evicted(const struct attention_case *c, uint64_t number)
{
    return number % 3 == 0 && c->args.kv_len > 16 ? 16 : 0;
}
/// Keys one to three chunks at a time in a state: OUT and LSE.
struct attention_result attention_stream(struct attention_case *c, const struct fovea_engine *engine);
/// Checks that all kinds up to `last` have the same bits. what: of which engine, and how they were computed.
void attention_compare(const struct attention_case *c, const struct attention_result *expected,
                       const struct attention_result *got, int last, const char *what);
/// Checks the call, and the state of its keys, on every ISA.
void attention_on_all(struct attention_case *c, struct fovea_engine *const *engines,
                      const struct attention_result *expected);
/// Whether some query of the batch entry sees key j by the masks: a bias of -inf hides nothing here.
bool attention_needs(const struct attention_case *c, size_t b, size_t j);
/// Checks that every kind was compared.
void attention_compared(void);

#endif
