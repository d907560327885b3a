// SPDX-License-Identifier: Apache-2.0
// tune/case.h - the problems that candidates are verified and timed on.
//
// A case is one problem of a class with its operands. All candidates use the same operands, work memory and output in
// turn, so that none profits from the location of its memory.
#ifndef FOVEA_TUNE_CASE_H
#define FOVEA_TUNE_CASE_H

#include "dispatch/adopt.h"
#include "fovea/type.h"

#include <stdbool.h>

struct tune_end; // tune/measure.h

enum { TUNE_RUNS = 3 }; ///< most variants of which a case tells that they compute it

/// How a case is verified.
enum tune_way {
    TUNE_WHOLE,
    TUNE_TASKS,  ///< as a whole and, of a GEMM, task by task, as several threads do
    TUNE_WITHIN, ///< over operands that begin within a cache line, if it is timed over such; otherwise it is right
};

struct tune_case {
    const struct tune_case_kind *kind;
    uint32_t class;
    char name[64]; ///< "gemm 128x768x768 nt"
};

/// The operations of a case. `ready` is a candidate, that is an engine, prepared for it.
struct tune_case_kind {
    void (*destroy)(struct tune_case *c);
    void *(*prepare)(struct tune_case *c, const struct fovea_engine *engine); ///< NULL: refused, or no memory
    void (*release)(void *ready);
    bool (*same)(const void *a, const void *b); ///< two prepared candidates do the same work
    /// CPU time per call, over this many calls; `within`: over matrices from memory that begin within cache lines.
    double (*seconds)(void *ready, uint64_t calls, bool within);
    /// Gives the bits of the scalar path.
    bool (*verify)(void *ready, enum tune_way way);
    /// The variants that compute it, that of most of the work first; -1: none.
    void (*runs)(const void *ready, int32_t variants[TUNE_RUNS]);
};
/// What `runs` tells, of names of which some may be NULL.
void tune_runs_of(const char *const names[TUNE_RUNS], int32_t variants[TUNE_RUNS]);

/// The shape of a GEMM case.
struct tune_shape {
    size_t m, n, k;
    enum fovea_gemm_form form;
    size_t near;          ///< bytes of B that stay in L2; 0: the engine's border
    enum fovea_type type; ///< of the elements of a packed B: F32 or S8
};
/// A GEMM. Few and several rows use a walk if B is larger than what stays in L2. NULL if there is no memory.
struct tune_case *tune_case_gemm(const struct fovea_engine *engine, const struct tune_shape *shape);

/// Attention of one batch entry: `heads` heads of q queries over kv keys, `dim` wide.
struct tune_attention_shape {
    size_t heads, q, kv, dim;
    bool causal;
    bool tokens;          ///< K and V are (S, H, D), as a projection writes them, not (H, S, D)
    size_t near;          ///< bytes of K and V up to which few queries find them in cache; more come from memory
    bool panels;          ///< K is in panels, without tokens and of a multiple of 16 keys
    enum fovea_type type; ///< of the elements of K and V: F32, BF16 or F16
};
struct tune_case *tune_case_attention(const struct fovea_engine *engine, const struct tune_attention_shape *shape);

/// A slot's kernel, on the typical problem of its family in tests/check.
struct tune_case *tune_case_slot(uint32_t class);

/// Makes up to `most` cases of a class in this engine, from the tables in tune/shapes.c (for attention, slots and the
/// border all of them). Returns their number; 0 if there is no memory, or no time, for one of them: *complete is then
/// false, if it is not NULL. With some borders a class has no problems at all.
enum { TUNE_CASES_MAX = 16 };
uint32_t tune_cases(const struct fovea_engine *engine, uint32_t class, uint32_t most, const struct tune_end *end,
                    struct tune_case *cases[TUNE_CASES_MAX], bool *complete);
void tune_cases_destroy(struct tune_case *const *cases, uint32_t count);
/// Whether a GEMM of this shape is in those tables. The bench's held-out shapes must not be.
bool tune_is_tuned_on(size_t m, size_t n, size_t k);

#endif
