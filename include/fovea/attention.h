// SPDX-License-Identifier: Apache-2.0
// fovea/attention.h - softmax(softcap(scale * Q K^T) + bias, masked) V, fused: no Lq x Lk memory.
//
// Letters: B batch, H query heads, Hkv key heads (H a multiple of Hkv: grouped queries), Lq queries, Lk keys,
// d the qk_dim, dv the v_dim. A head is a stride: (B, L, H*d) as a projection writes it, (B, H, L, d), packed QKV and
// caches are all views.
//
// The result of a row depends on its query, on the keys and values it sees, and on their positions: not on the other
// rows of the call, so a sequence may be computed at once, in pieces, or token by token with a cache, to the same bits.
// K and V of a key that no query of its (batch, key head) sees by causal order, window, kv_len, segments, mask or block
// map are not read; but K in panels by whole panels of 16 keys, some of which may be hidden: NaN there is legal,
// unmapped memory is not.
#ifndef FOVEA_ATTENTION_H
#define FOVEA_ATTENTION_H

#include "fovea/engine.h"
#include "fovea/executor.h"

#ifdef __cplusplus
extern "C" {
#endif

/// The default scale: 1/sqrt(qk_dim), rounded once. A number nobody uses: a NaN would hide a caller's mistake.
#define FOVEA_SCALE_DEFAULT (-3.40282347e+38f)

/// A window without an end on that side: the default.
#define FOVEA_WINDOW_ALL SIZE_MAX

/// Elements between batches, heads and rows. Any of them may be 0 (broadcast) for inputs, but for the row of a K in
/// rows; a row stride other than 0 is at least the row (d or dv).
struct fovea_strides {
    size_t batch, head, row;
};

/// How K lies in memory. V always lies in rows.
enum fovea_k_layout {
    FOVEA_K_ROWS = 0,   ///< K[b,h,j,c] = k[b*batch + h*head + j*row + c]
    FOVEA_K_PANELS = 1, ///< panels of 16 keys: k[b*batch + h*head + (j/16)*16*d + c*16 + j%16]; row is ignored.
                        ///< Of a fovea_kv_cache, unless it has rows; decoding streams it. Whole panels must be readable
};

/// What a query and a key make of one another.
enum fovea_scoring {
    FOVEA_SCORING_DOT = 0,      ///< scale * (q . k)
    FOVEA_SCORING_ADDITIVE = 1, ///< sum of w[c] * tanh(q[c] + k[c]) over c: Bahdanau, Cho, Bengio, ICLR 2015. q and k
                                ///< are the projected query and key, w is args.additive. A tanh for each c of each
                                ///< query and key, and no memory for them; scale is FOVEA_SCALE_DEFAULT and means 1
};

/// Where the number of keys comes from, in fovea_attention_args.
enum fovea_kv_len {
    FOVEA_KV_LEN_ALL = 0,       ///< args.kv_len for every row
    FOVEA_KV_LEN_BATCH = 1,     ///< args.kv_lens[b]
    FOVEA_KV_LEN_BATCH_ROW = 2, ///< args.kv_lens[b * q_len + i]
};

/// What lies behind args.mask.
enum fovea_mask {
    FOVEA_MASK_NONE = 0,
    FOVEA_MASK_BYTES = 1, ///< a byte for each key, nonzero = attend
    FOVEA_MASK_BITS = 2,  ///< a bit for each key, 1 = attend: bit j % 8 of byte j / 8. Its strides are in bytes,
                          ///< mask_key is ignored; whole bytes must be readable
};

/// An attention problem at its capacity; lengths and pointers are args. Sizes may be 0 but for d and dv; heads is a
/// multiple of kv_heads; q_len and kv_len are below 2^32. Row i of a call stands at position i + q_offset, key j at j.
///
/// Scores, in this order: s = scale * (q . k), or additive; s = softcap * tanh(s / softcap); s + bias; s - slope *
/// |position - j|. Row i sees key j where all of these say so: causal order, window, key count, segments, mask, block
/// map, a bias that is not -inf. A sink is one more logit of the row's softmax, whose value is 0.
struct fovea_attention_desc {
    uint32_t struct_size; ///< sizeof(struct fovea_attention_desc)
    uint32_t causal;      ///< 1: key j is visible to row i iff j <= i + q_offset
    size_t window_left;   ///< and iff j >= i + q_offset - window_left; default FOVEA_WINDOW_ALL
    size_t window_right;  ///< and iff j <= i + q_offset + window_right; default FOVEA_WINDOW_ALL
    size_t batch, heads, kv_heads;
    size_t q_len, kv_len;              ///< capacities: the most queries and keys of a call
    size_t qk_dim, v_dim;              ///< 1 to 512
    enum fovea_scoring scoring;        ///< default FOVEA_SCORING_DOT
    float scale;                       ///< default FOVEA_SCALE_DEFAULT; finite
    float dropout;                     ///< 0 <= p < 1 of the weights are dropped; 0, the default: none
    float softcap;                     ///< above 0, with a finite inverse; 0, the default: scores are not capped
    enum fovea_k_layout k_layout;      ///< default FOVEA_K_ROWS
    struct fovea_strides q, k, v, out; ///< unit stride inside a row; no two rows of out overlap, and of its batches,
                                       ///< heads and rows those of a larger stride lie outside those of a smaller one
    enum fovea_kv_len kv_len_kind; ///< default FOVEA_KV_LEN_ALL
    enum fovea_mask mask;          ///< default FOVEA_MASK_NONE
    uint32_t bias;                 ///< 1: args.bias, f32; -inf hides the key from the row, -1e9 does not
    size_t mask_batch, mask_head, mask_row, mask_key; ///< strides in elements; 0 broadcasts. Heads are query heads
    size_t bias_batch, bias_head, bias_row, bias_key;
    uint32_t segments; ///< 1: row i sees key j iff args.q_segments and args.kv_segments agree (packed sequences)
    uint32_t blocks;   ///< 1: args.blocks, a byte for block_rows rows by block_keys keys, nonzero = attend
    size_t block_rows, block_keys;                ///< at least 1 where blocks is 1; the last blocks may be partial
    uint32_t statistics;                          ///< 1: args.entropy, max_weight and max_key may be asked for
    size_t blocks_batch, blocks_head, blocks_row; ///< strides in bytes; 0 broadcasts; adjacent key blocks are adjacent
    /// 0, the default: keys lie one after another. Or a multiple of 16: K and V lie in pages of so many keys (a power
    /// of two up to 128, or a multiple of 128), k.batch and v.batch are the strides between pages, and args.pages says
    /// which page holds which keys. Pages are read in place, but for prefill and additive scores in pages of fewer than
    /// 128 keys, which are gathered in scratch.
    size_t page_keys;
};
/// Fills in the defaults: scale 1/sqrt(d), windows without end, everything else 0. size is sizeof(*desc). Begin with
/// it: a descriptor of zeros has the scale 0 and windows of one key. Errors: NULL, STRUCT.
FOVEA_API enum fovea_status fovea_attention_desc_init(struct fovea_attention_desc *desc, size_t size);

/// One call. A row that sees no key gives 0, and -inf as its LSE (its sink, where there is one). out and lse
/// must not overlap an input, shared or scratch.
struct fovea_attention_args {
    const float *q, *k, *v;
    float *out;
    float *lse; ///< NULL, or (batch, H, q_len) of this call, dense: natural log of the sum of exp of the scores
    size_t batch, q_len, kv_len; ///< of this call, each at most the plan's; 0 means 0
    /// The key that k and v begin with; those before it are hidden: they were evicted, or a state has them already
    /// (fovea/attention_state.h). A multiple of 16. Everything else counts keys from 0, tables of pages too.
    size_t kv_begin;
    /// NULL, or the batch strides of q, k, v and out in this call in place of the plan's: dense tensors of another
    /// length than the plan's capacity have others.
    const size_t *batch_strides;
    int64_t q_offset; ///< absolute position of row 0. 0 = top-left, kv_len - q_len = bottom-right. Beyond 2^62 either
                      ///< way it is taken for that
    const int64_t *q_offsets; ///< NULL, or one for each batch in place of q_offset
    const uint32_t *kv_lens;  ///< as kv_len_kind says, with the q_len of this call; each is clamped to kv_len
    const uint8_t *mask;      ///< where the descriptor asks for it, like bias, blocks and segments
    const float *bias;
    const uint8_t *blocks;      ///< [b * blocks_batch + h * blocks_head + i / block_rows * blocks_row + j / block_keys]
    const uint32_t *q_segments; ///< (batch, q_len) of this call, dense; ragged: those of entry b from q_starts[b] on
    const uint32_t *kv_segments; ///< (batch, kv_len) of this call, dense; with kv_starts from kv_starts[b] on
    const float *additive;       ///< FOVEA_SCORING_ADDITIVE: (H, qk_dim) dense
    /// NULL, or ALiBi: H of them, finite (as data, that is not checked), the fall of a score with each position.
    /// Positions are f32 there: from 2^24 on they are rounded before they are subtracted.
    const float *slopes;
    const float *sinks; ///< NULL, or H logits; -inf is none
    /// NULL, or live_count head numbers below H, ascending: the other heads are not computed, and give 0 and -inf.
    const uint32_t *live_heads;
    size_t live_count; ///< 0 without live_heads
    /// Each NULL, or (batch, H, q_len) of this call, dense, where the descriptor has statistics. Of a row's weights
    /// before dropout: the entropy in nats (a sink counts as one more weight), the largest weight of a key, and the
    /// first key that has it. A row that sees no key gives 0, 0 and UINT32_MAX.
    float *entropy, *max_weight;
    uint32_t *max_key;
    uint64_t seed; ///< of dropout: a weight is dropped or not by (seed; b, head, position, j) alone
    uint32_t eval; ///< 1: no dropout in this call
    /// Where the descriptor asks for pages: key j of batch b lies in page pages[b * pages_batch + j / page_keys].
    /// Entries of pages in which no query sees a key are not read, nor are such pages; the others are trusted.
    const uint32_t *pages;
    size_t pages_batch;
    /// NULL, or ragged: batch + 1 ascending numbers. Entry b has the q_starts[b + 1] - q_starts[b] queries that begin
    /// at row q_starts[b] of q and out, whose batch strides are ignored here (the plan's have to suit q_len rows an
    /// entry); at most q_len. Its rows of lse begin at element q_starts[b] * H, (H, queries), those of the statistics
    /// likewise, and its row lengths, where there are some, at kv_lens[q_starts[b]].
    const uint32_t *q_starts;
    /// NULL, or with q_starts: the same for the rows of k and v, at most kv_len each. FOVEA_K_ROWS without pages only.
    const uint32_t *kv_starts;
};

/// Bytes of a plan. A plan begins with its struct fovea_work, is 64-byte aligned and may be copied.
FOVEA_API size_t fovea_attention_plan_size(void);
/// Validates the descriptor and fills plan. Scratch, mostly some hundred KiB a worker, depends on the descriptor and
/// the engine (its caches, its profile, its workers): read it from each plan; it grows with batch, heads, q_len and
/// kv_len to a bound that depends on the head sizes: mostly below 1 MiB for 64 and 2 MiB for 128. Shared
/// memory is for few queries at a time (fewer than 12 to 16, or than the tuning profile says, at most 64), whose keys
/// are split among tasks: per query head and 1024 keys that many rows of dv + 2 floats at most, dv + 4 with statistics,
/// and none for up to 1024 keys; and in plans of more than 8 entries, which
/// may be ragged, 8 bytes for every 8 entries before the last.
/// Errors: NULL, STRUCT, ENUM, SHAPE, OVERFLOW, STRIDE, VALUE, ALIGN (plan).
FOVEA_API enum fovea_status fovea_attention_plan(const struct fovea_engine *engine,
                                                 const struct fovea_attention_desc *desc, void *plan);
/// Writes one line that says what a plan would do, or why there is none; returns what fovea_attention_plan would.
FOVEA_API enum fovea_status fovea_explain_attention(const struct fovea_engine *engine,
                                                    const struct fovea_attention_desc *desc, char *text,
                                                    size_t text_size);
/// Writes one line that says what is wrong with a call, or what it would compute; returns what fovea_attention would,
/// but for its memories and executor. For whoever wonders which of the args a status means.
FOVEA_API enum fovea_status fovea_explain_attention_call(const void *plan, const struct fovea_attention_args *args,
                                                         char *text, size_t text_size);
/// Runs a plan on an executor (NULL: in this thread). shared and scratch as plan's fovea_work says.
/// Errors: NULL (a pointer that the descriptor asks for; kv_starts or live_count alone), STRUCT (no plan of attention),
/// SHAPE (a size above the plan's, a head that is not there, starts that do not ascend or are too far apart), STRIDE
/// and OVERFLOW (batch_strides, or all rows of a ragged batch), ALIGN (memories; kv_begin), VALUE (live_heads that do
/// not ascend, anything that the descriptor did not ask for, no workers), UNSUPPORTED (kv_starts with panels, pages or
/// kv_begin).
///
/// Accuracy against exact arithmetic on the same inputs, u being 2^-24: let D be the largest error of a score that the
/// row sees, (d + 3) u |scale| sum |q k| + u |s|, with a softcap 7 u |s| and with ALiBi u |s| more (and positions below
/// 2^24); C its chunks of 128 keys; R the spread of its scores in powers of 2, at most 127. Then, to first order, |out
/// - exact| <= 2 (D + (140 + 4 C + 3 R) u) max |v|, and the LSE is within D + (140 + 4 C + 3 R) u + 2 u |LSE| where it
/// is not -inf.
FOVEA_API enum fovea_status fovea_attention(const void *plan, const struct fovea_attention_args *args, void *shared,
                                            void *scratch, const struct fovea_executor *executor);
/// The same task by task: tasks of a phase in any order, on any threads, each with a scratch of its own. Their number
/// depends on the lengths of the call; 0 where args are in error. Of a ragged batch a task looks at the starts of its
/// own entry: that the others are in error only fovea_attention_tasks and phase 0 of three say.
FOVEA_API uint32_t fovea_attention_tasks(const void *plan, const struct fovea_attention_args *args, uint32_t phase);
FOVEA_API enum fovea_status fovea_attention_task(const void *plan, const struct fovea_attention_args *args,
                                                 void *shared, void *scratch, uint32_t phase, uint32_t task);
/// Plans, allocates, runs in this thread, frees.
FOVEA_API enum fovea_status fovea_attention_once(const struct fovea_engine *engine,
                                                 const struct fovea_attention_desc *desc,
                                                 const struct fovea_attention_args *args);

#ifdef __cplusplus
}
#endif

#endif
