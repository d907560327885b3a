// SPDX-License-Identifier: Apache-2.0
// ops/facts.h - what a plan will do, as facts that can be compared and printed.
//
// The tuner compares the facts of two candidates to find out whether they plan the same work. So everything that a
// number of kernels/tuning.def can change about a call of the plan's rows, over a B that begins with a cache line, is a
// fact; memory that is only reserved is not, nor are reasons, nor hints that the kernel ignores (kernels/kernel.h).
// Every member is a name or a size_t: there is no padding, so facts are equal if their bytes are.
#ifndef FOVEA_OPS_FACTS_H
#define FOVEA_OPS_FACTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct fovea_gemm_layout;
struct fovea_attention_layout;

/// How a GEMM plan reads B.
enum fovea_gemm_reads {
    FOVEA_READS_NOTHING,  ///< there is nothing to multiply
    FOVEA_READS_BLOB,     ///< panels of a prepacked blob
    FOVEA_READS_ROWS,     ///< rows of a transposed B in place (ops/gemm_bt.c)
    FOVEA_READS_STEPS,    ///< a few rows of a natural B at a time (ops/gemm_bn.c)
    FOVEA_READS_PASSING,  ///< packed on the fly, each strip for all rows, or beforehand for several threads
    FOVEA_READS_SHARED,   ///< packed on the fly and kept, or beforehand for several threads
    FOVEA_READS_ON_WAY,   ///< packed on the fly
    FOVEA_READS_IN_PLACE, ///< natural rows in place
    FOVEA_READS_FEW,      ///< a blob by the kernel for few rows (ops/gemm_few.c)
    FOVEA_READS_WIDENED,  ///< a blob of smaller elements, widened to panels of f32 on the fly
};

/// What is prefetched of B, apart from the next group of strips.
enum fovea_gemm_fetches {
    FOVEA_FETCHES_UNSAID,   ///< nothing to say: the call packs B, or hardware follows it in place
    FOVEA_FETCHES_OFF,      ///< deliberately nothing: so few rows that the hardware prefetcher suffices
    FOVEA_FETCHES_FOLLOWED, ///< it is read once by one tile, without software prefetches
    FOVEA_FETCHES_LED,      ///< `lead` lines ahead, into L1
    FOVEA_FETCHES_STREAM,   ///< panels read as one stream
    FOVEA_FETCHES_ROWS,     ///< rows of a transposed B, into L2
    FOVEA_FETCHES_TWICE,    ///< the same, each line asked for twice
    FOVEA_FETCHES_ROWS_L1,  ///< the next ones, into L1
    FOVEA_FETCHES_PANELS,   ///< panels of a blob read once, into L1
    FOVEA_FETCHES_APART,    ///< rows that are far apart, each `lead` lines ahead; 0: nothing
};

/// Whether C is computed transposed, and how A is then read (ops/gemm_flip.c).
enum fovea_gemm_flips { FOVEA_FLIPS_NOT, FOVEA_FLIPS_ROWS, FOVEA_FLIPS_STEPS };

struct fovea_gemm_facts {
    const char *kernel, *edge; ///< the micro-kernel, and that of the last columns, or NULL
    const char *first;         ///< that of the first rows, which packs B (ops/gemm_first.c), or NULL
    size_t first_fetches;      ///< what that prefetches of B, in its first group
    size_t direct, along;      ///< 1 or 0: tile after tile; along the rows of C (ops/gemm_direct.c)
    size_t passes;             ///< along, because B stays in L2 while the rows are streamed
    size_t copy_a, fetch_a;    ///< a is copied; what is copied next is prefetched
    size_t flips;              ///< an enum fovea_gemm_flips
    size_t reads, fetches;     ///< values of the two enums; fetches is about A if it flips
    size_t lead;
    size_t touch;        ///< pages ahead of which a line is prefetched as well, or 0
    size_t side;         ///< rows of a transposed B read at a time, or of A if it flips
    size_t step_columns; ///< columns of C at a time if B is read a few rows at a time; of its transpose if it flips
    size_t ahead;        ///< the next group of strips is prefetched
    size_t kc;           ///< k steps of a block
    size_t columns;      ///< columns of a strip
    size_t chunk, group; ///< rows that are processed per group; strips of a group. 0 if it is direct
    size_t tasks;
};

/// The facts of a plan made by fovea_gemm_plan, for its full number of rows.
void fovea_gemm_facts(const struct fovea_gemm_layout *plan, struct fovea_gemm_facts *facts);
/// Whether two plans do the same.
bool fovea_gemm_same(const struct fovea_gemm_layout *a, const struct fovea_gemm_layout *b);
/// The number of a plan's class (kernels/classes.h).
uint32_t fovea_gemm_class_of(const struct fovea_gemm_layout *plan);
/// The facts in words; and the reasons for its class or its way.
void fovea_gemm_say(const struct fovea_gemm_layout *plan, char *text, size_t size);
void fovea_gemm_reasons(const struct fovea_gemm_layout *plan, char *text, size_t size);

/// What decoding prefetches.
enum fovea_attention_asks {
    FOVEA_ASKS_NOTHING, ///< nothing: keys are near; a kernel may fetch rows of K all the same
    FOVEA_ASKS_BESIDE,  ///< nothing: V is read interleaved with the next K
    FOVEA_ASKS_IN_CASE, ///< what costs little if they are near, as they are thought to be
    FOVEA_ASKS_ONCE,
    FOVEA_ASKS_SOME_TWICE,
    FOVEA_ASKS_ALL_TWICE,
};

/// A block: rows that are decoded together.
struct fovea_attention_block_facts {
    const char *kernel; ///< NULL: there are no such rows
    size_t rows;
    size_t asks, into; ///< values of enum fovea_attention_asks and of enum fovea_into
};

struct fovea_attention_facts {
    const char *kernel;
    size_t prefill;                               ///< 1: queries are the lanes of tiles; 0: decoding
    size_t rows, each, tasks;                     ///< most rows of a tile or block; tiles or blocks of a task; number
                                                  ///< of tasks
    size_t copy_k, copy_v;                        ///< prefill copies K, and V
    size_t far, into_l1;                          ///< prefill prefetches; and into L1
    size_t few;                                   ///< number of last rows of a head that are decoded in spite of
                                                  ///< prefill
    struct fovea_attention_block_facts blocks[2]; ///< a full block, which only decoding has, and the last one
};

/// The same for attention, for a call with the plan's number of queries and keys.
void fovea_attention_facts(const struct fovea_attention_layout *plan, struct fovea_attention_facts *facts);
bool fovea_attention_same(const struct fovea_attention_layout *a, const struct fovea_attention_layout *b);
uint32_t fovea_attention_class_of(const struct fovea_attention_layout *plan);
void fovea_attention_say(const struct fovea_attention_layout *plan, char *text, size_t size);
void fovea_attention_reasons(const struct fovea_attention_layout *plan, char *text, size_t size);

#endif
