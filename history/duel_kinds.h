// SPDX-License-Identifier: Apache-2.0
// history/duel_kinds.h - the kinds of cases, and what their numbers mean.
#ifndef FOVEA_HISTORY_DUEL_KINDS_H
#define FOVEA_HISTORY_DUEL_KINDS_H

#include "history/duel.h"

enum { DUEL_PACKED = 1, DUEL_TRANS = 2, DUEL_GELU = 4, DUEL_CAUSAL = 8 };

/// size: m, n, k; flags: PACKED, TRANS (B is n x k), GELU (with a bias).
struct duel_state *duel_gemm(const struct duel_case *with, const struct library *library,
                             const struct duel_operands *operands);
/// size: heads, queries, keys, dimension; flags: CAUSAL, the last query seeing all keys.
struct duel_state *duel_attention(const struct duel_case *with, const struct library *library,
                                  const struct duel_operands *operands);
/// size: rows, columns; flags: enum fovea_rowwise_op.
struct duel_state *duel_rowwise(const struct duel_case *with, const struct library *library,
                                const struct duel_operands *operands);

/// Memory of whole cache lines; never NULL for 0 bytes.
void *duel_alloc(size_t bytes);

#endif
