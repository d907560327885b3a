// SPDX-License-Identifier: Apache-2.0
// ops/facts.h - what a plan will do, as facts that can be compared and printed.
//
// The tuner asks whether two candidates plan the same work, so what a number of kernels/tuning.def changes about a call
// is among these; what is only reserved for it is not, nor why it is so. Every member is a name or a size_t: there is
// no padding, and facts are the same where their bytes are.
#ifndef FOVEA_OPS_FACTS_H
#define FOVEA_OPS_FACTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct fovea_gemm_layout;
struct fovea_attention_layout;

/// How a plan of GEMM comes by B.
enum fovea_gemm_reads {
    FOVEA_READS_NOTHING,  ///< there is nothing to multiply
    FOVEA_READS_BLOB,     ///< panels that were packed beforehand
    FOVEA_READS_ROWS,     ///< rows of a transposed B where they lie (ops/gemm_bt.c)
    FOVEA_READS_STEPS,    ///< a few rows of a natural B at a time (ops/gemm_bn.c)
    FOVEA_READS_PASSING,  ///< packed as all rows pass, or first for several threads
    FOVEA_READS_SHARED,   ///< packed on the way and kept, or first for several threads
    FOVEA_READS_ON_WAY,   ///< packed on the way
    FOVEA_READS_IN_PLACE, ///< natural rows where they lie
};

/// What is prefetched of it, beside the next group of strips.
enum fovea_gemm_fetches {
    FOVEA_FETCHES_NONE,
    FOVEA_FETCHES_NOTHING,  ///< on purpose: so few rows that hardware alone follows
    FOVEA_FETCHES_FOLLOWED, ///< it passes once in one tile, nothing asked for
    FOVEA_FETCHES_LED,      ///< `lead` lines ahead, into L1
    FOVEA_FETCHES_STREAM,   ///< panels that are one stream
    FOVEA_FETCHES_ROWS,     ///< the next rows of a transposed B, into L2
    FOVEA_FETCHES_ROWS_L1,  ///< the same into L1
    FOVEA_FETCHES_APART,    ///< rows taken far apart, each `lead` lines ahead; 0: nothing
};

/// Whether C is computed transposed, and how A is read then (ops/gemm_flip.c).
enum fovea_gemm_flips { FOVEA_FLIPS_NOT, FOVEA_FLIPS_ROWS, FOVEA_FLIPS_STEPS };

struct fovea_gemm_facts {
    const char *kernel, *edge; ///< the micro-kernel, and that of the last columns, or NULL
    size_t direct, along;      ///< tile after tile, and along the rows of C (ops/gemm_direct.c): 1 or 0
    size_t passes;             ///< along, as B stays in L2 while the rows pass
    size_t copy_a, fetch_a;    ///< A is copied, and what is copied next prefetched
    size_t flips;              ///< of enum fovea_gemm_flips
    size_t reads, fetches;     ///< of the two enums; what is fetched is of A where it flips
    size_t lead;
    size_t side;         ///< rows of a transposed B at a time, or of A where it flips
    size_t step_columns; ///< of C at a time, where B is read a few rows at a time; of its transpose where it flips
    size_t ahead;        ///< the next group of strips is prefetched
    size_t kc, chunk;    ///< k steps of a block, rows that pass a group
    size_t columns;      ///< of a strip
    size_t group;        ///< strips
    size_t tasks;
};

/// What a plan, of fovea_gemm_plan, does for as many rows as it has.
void fovea_gemm_facts(const struct fovea_gemm_layout *plan, struct fovea_gemm_facts *facts);
/// Whether two do the same.
bool fovea_gemm_same(const struct fovea_gemm_layout *a, const struct fovea_gemm_layout *b);
/// The number of its class (kernels/classes.h).
uint32_t fovea_gemm_class_of(const struct fovea_gemm_layout *plan);
/// Its facts in words, and what its class, or its way, is owed to.
void fovea_gemm_say(const struct fovea_gemm_layout *plan, char *text, size_t size);
void fovea_gemm_reasons(const struct fovea_gemm_layout *plan, char *text, size_t size);

/// What decoding asks memory for ahead of its use.
enum fovea_attention_asks {
    FOVEA_ASKS_NOTHING, ///< keys are near
    FOVEA_ASKS_BESIDE,  ///< nothing: V is read beside the next K
    FOVEA_ASKS_ONCE,
    FOVEA_ASKS_SOME_TWICE,
    FOVEA_ASKS_ALL_TWICE,
};

/// Rows that are decoded together.
struct fovea_attention_block_facts {
    const char *kernel; ///< NULL: there are none
    size_t rows;
    size_t asks, into; ///< of fovea_attention_asks, and of enum fovea_into
};

struct fovea_attention_facts {
    const char *kernel;
    size_t prefill;                               ///< rows are a tile's lanes: 1 or 0
    size_t rows, each, tasks;                     ///< of a tile or block, at most; of those of a task; of these
    size_t copy_k, copy_v;                        ///< by prefill
    size_t far, into_l1;                          ///< prefill prefetches, and into L1
    size_t few;                                   ///< last rows of a head that are decoded all the same
    struct fovea_attention_block_facts blocks[2]; ///< a whole one, which decoding alone has, and the last
};

/// The same for attention: a call of as many queries and keys as the plan has.
void fovea_attention_facts(const struct fovea_attention_layout *plan, struct fovea_attention_facts *facts);
bool fovea_attention_same(const struct fovea_attention_layout *a, const struct fovea_attention_layout *b);
uint32_t fovea_attention_class_of(const struct fovea_attention_layout *plan);
void fovea_attention_say(const struct fovea_attention_layout *plan, char *text, size_t size);
void fovea_attention_reasons(const struct fovea_attention_layout *plan, char *text, size_t size);

#endif
