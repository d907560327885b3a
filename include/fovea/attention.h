// SPDX-License-Identifier: Apache-2.0
// fovea/attention.h - softmax(softcap(scale * Q K^T) + bias, masked) V, fused: no Lq x Lk memory.
//
// Notation: B is the batch, H the query heads, Hkv the key heads (H is a multiple of Hkv: grouped queries), Lq the
// queries, Lk the keys, d the qk_dim, dv the v_dim. Heads are addressed by a stride, so (B, L, H*d) as a projection
// writes it, (B, H, L, d), packed QKV and caches are all valid views.
//
// The result of a row depends only on its query, the keys and values it sees, and their positions, never on the other
// rows of the call. A sequence may therefore be computed at once, in pieces, or token by token with a cache, with
// identical bits.
//
// K and V of a key are not read if no query of its (batch, key head) sees it, by causal order, window, kv_len,
// segments, mask or block map. Exception: K in panels is read in whole panels of 16 keys, some of which may be hidden.
// Hidden keys may hold NaN there, but their memory must be mapped.
#ifndef FOVEA_ATTENTION_H
#define FOVEA_ATTENTION_H

#include "fovea/engine.h"
#include "fovea/executor.h"
#include "fovea/type.h"

#ifdef __cplusplus
extern "C" {
#endif

/// Sentinel for the default scale, 1/sqrt(qk_dim) rounded once. It is -FLT_MAX, not NaN, so that a NaN the caller
/// computed by mistake is still rejected.
#define FOVEA_SCALE_DEFAULT (-3.40282347e+38f)

/// The largest qk_dim and v_dim. A tile then takes about 900 KB of a worker's scratch, as much as the L2 of a server
/// core holds.
#define FOVEA_ATTENTION_DIM_MAX 512

/// A window that is unbounded on that side: the default.
#define FOVEA_WINDOW_ALL SIZE_MAX

/// Distances between batches, heads and rows, in elements. For inputs any of them may be 0 (broadcast), except the row
/// stride of a K in rows. A nonzero row stride is at least the length of a row (d or dv).
struct fovea_strides {
    size_t batch, head, row;
};

/// Layout of K in memory. V is always in rows.
enum fovea_k_layout {
    FOVEA_K_ROWS = 0,   ///< K[b,h,j,c] = k[b*batch + h*head + j*row + c]
    FOVEA_K_PANELS = 1, ///< Panels of 16 keys: k[b*batch + h*head + (j/16)*16*d + c*16 + j%16]; row is ignored. Whole
                        ///< panels must be readable. This is the layout of a fovea_kv_cache unless it has k_rows, and
                        ///< decoding streams it.
};

/// How a query and a key are scored.
enum fovea_scoring {
    FOVEA_SCORING_DOT = 0,      ///< scale * (q . k)
    FOVEA_SCORING_ADDITIVE = 1, ///< Sum of w[c] * tanh(q[c] + k[c]) over c: Bahdanau, Cho, Bengio, ICLR 2015. q and k
                                ///< are the projected query and key, w is args.additive. Costs one tanh for each c of
                                ///< each query and key, but no memory for them. scale must be FOVEA_SCALE_DEFAULT,
                                ///< which means 1 here.
};

/// How fovea_attention_args gives the number of keys.
enum fovea_kv_len {
    FOVEA_KV_LEN_ALL = 0,       ///< args.kv_len for every row
    FOVEA_KV_LEN_BATCH = 1,     ///< args.kv_lens[b]
    FOVEA_KV_LEN_BATCH_ROW = 2, ///< args.kv_lens[b * q_len + i]
};

/// Element type of args.mask.
enum fovea_mask {
    FOVEA_MASK_NONE = 0,
    FOVEA_MASK_BYTES = 1, ///< one byte per key, nonzero = attend
    FOVEA_MASK_BITS = 2,  ///< One bit per key, 1 = attend: bit j % 8 of byte j / 8. Its strides are in bytes and
                          ///< mask_key is ignored. Whole bytes must be readable.
};

/// An attention problem at its capacity; the lengths and pointers of a call are in fovea_attention_args. Sizes other
/// than d and dv may be 0. heads is a multiple of kv_heads. q_len and kv_len are below 2^32. Row i of a call has
/// position i + q_offset, key j has position j.
///
/// A score is computed in this order: s = scale * (q . k), or the additive score; s = softcap * tanh(s / softcap);
/// s = s + bias; s = s - slope * |position - j|. Row i sees key j if all of these allow it: causal order, window, key
/// count, segments, mask, block map, and a bias other than -inf. A sink is one more logit of the row's softmax, with
/// value 0.
struct fovea_attention_desc {
    uint32_t struct_size; ///< sizeof(struct fovea_attention_desc)
    uint32_t causal;      ///< 1: key j is visible to row i iff j <= i + q_offset
    size_t window_left;   ///< and only if j >= i + q_offset - window_left; default FOVEA_WINDOW_ALL
    size_t window_right;  ///< and only if j <= i + q_offset + window_right; default FOVEA_WINDOW_ALL
    size_t batch, heads;
    size_t kv_heads;              ///< a divisor of heads: grouped queries; 0, the default: as many as heads
    size_t q_len, kv_len;         ///< capacities: the most queries and keys of a call
    size_t rows;                  ///< The most queries of a call, of all entries together; 0, the default: batch x
                                  ///< q_len. Shared memory has room for so many. For ragged batches: a plan may allow
                                  ///< many entries and long entries without memory for many long entries. More than
                                  ///< the default means the default.
    size_t qk_dim, v_dim;         ///< 1 to FOVEA_ATTENTION_DIM_MAX
    enum fovea_scoring scoring;   ///< default FOVEA_SCORING_DOT
    float scale;                  ///< default FOVEA_SCALE_DEFAULT; finite
    float dropout;                ///< fraction p of the weights that is dropped, 0 <= p < 1; default 0: none
    float softcap;                ///< positive, with a finite inverse; default 0: scores are not capped
    enum fovea_k_layout k_layout; ///< default FOVEA_K_ROWS
    /// The elements of k and v; default FOVEA_F32. In 16 bits they take half of the memory. Decoding over K in panels
    /// from memory takes little more than half of the time for up to four query heads on a key head (with AVX2 for
    /// one). Everything else (prefill, K in rows, additive scores, keys between which many are hidden) reads a copy as
    /// f32 in scratch, and takes more time than with f32. Results have the bits of a call with the same numbers as f32.
    /// Strides are in elements.
    enum fovea_type kv_type;
    /// Strides of the operands; elements within a row are adjacent. out must not overlap itself: with its batch, head
    /// and row strides sorted in ascending order, each must be at least the extent that the smaller ones cover.
    struct fovea_strides q, k, v, out;
    enum fovea_kv_len kv_len_kind; ///< default FOVEA_KV_LEN_ALL
    enum fovea_mask mask;          ///< default FOVEA_MASK_NONE
    uint32_t bias;                 ///< 1: args.bias, f32; -inf hides the key from the row, -1e9 does not
    size_t mask_batch, mask_head, mask_row, mask_key; ///< In elements; 0 broadcasts. Heads are query heads.
    size_t bias_batch, bias_head, bias_row, bias_key;
    uint32_t segments; ///< 1: row i sees key j only if args.q_segments and args.kv_segments agree (packed sequences)
    uint32_t blocks;   ///< 1: args.blocks has one byte per block_rows rows x block_keys keys, nonzero = attend
    size_t block_rows, block_keys;                ///< at least 1 if blocks is 1; the last blocks may be partial
    uint32_t statistics;                          ///< 1: a call may ask for args.entropy, max_weight and max_key
    size_t blocks_batch, blocks_head, blocks_row; ///< In bytes; 0 broadcasts. Adjacent key blocks are adjacent bytes.
    /// 0, the default: keys are contiguous. Otherwise K and V are in pages of this many keys: a multiple of 16 that is
    /// a power of two up to 128, or a multiple of 128. k.batch and v.batch are then the strides between pages, and
    /// args.pages maps keys to pages. Pages of f32 are read in place, except by prefill and additive scores with pages
    /// of fewer than 128 keys, which gather them in scratch. For pages of 16-bit elements see kv_type.
    size_t page_keys;
};
/// Sets the defaults: scale 1/sqrt(d), unbounded windows, everything else 0. size is sizeof(*desc). Always start with
/// this call: a zeroed descriptor has scale 0 and windows of one key. Errors: NULL, STRUCT.
FOVEA_API enum fovea_status fovea_attention_desc_init(struct fovea_attention_desc *desc, size_t size);

/// Arguments of one call. Decoding over a cache, causal or with a window, needs q_offset, the position of the query:
/// left at 0 a causal query sees key 0 alone. A row that sees no key gives 0, with an LSE of -inf, or equal to its sink
/// if it has one. out and lse must not overlap an input, shared or scratch.
struct fovea_attention_args {
    const float *q;
    const void *k, *v; ///< elements of kv_type, aligned to an element
    float *out;
    float *lse; ///< NULL, or (batch, H, q_len) of this call, dense: natural log of the sum of the exponentials of the
                ///< scores
    size_t batch, q_len, kv_len; ///< Sizes of this call, each at most the plan's. 0 means 0, not the plan's value.
    /// Number of the first key in k and v, a multiple of 16. Without pages they point at that key, not at key 0, even
    /// where the earlier keys lie in front of it (in panels a key is qk_dim elements on). Earlier keys are hidden: they
    /// were evicted, or a state already contains them (fovea/attention_state.h). Everything else, tables of pages
    /// included, numbers keys from 0.
    size_t kv_begin;
    /// NULL, or 4 numbers: the batch strides of q, k, v and out, in this order, which replace the plan's in this call.
    /// Dense tensors shorter than the plan's capacity need them.
    const size_t *batch_strides;
    int64_t q_offset;         ///< Absolute position of row 0: 0 aligns the causal diagonal top-left, kv_len - q_len
                              ///< bottom-right. Values beyond +-2^62 are clamped to it.
    const int64_t *q_offsets; ///< NULL, or one per batch entry, replacing q_offset
    const uint32_t *kv_lens;  ///< indexed as kv_len_kind says, with the q_len of this call; each is clamped to kv_len
    /// NULL, or one per batch entry: entry b has only the first kv_past[b] + kv_new of the kv_len keys. In a cache of
    /// sequences of different lengths these are the keys it had and the new ones of this call. Positions do not follow
    /// from it: causal order and windows also need q_offsets, mostly the same numbers.
    const size_t *kv_past;
    size_t kv_new;           ///< ignored without kv_past
    uint32_t kv_new_queries; ///< 1: in place of kv_new, an entry has as many new keys as queries
    const uint8_t *mask;     ///< required if the descriptor asks for it, and NULL otherwise; likewise bias, blocks and
                             ///< segments
    const float *bias;
    const uint8_t *blocks;      ///< [b * blocks_batch + h * blocks_head + i / block_rows * blocks_row + j / block_keys]
    const uint32_t *q_segments; ///< (batch, q_len) of this call, dense. Ragged: entry b begins at q_starts[b].
    const uint32_t *kv_segments; ///< (batch, kv_len) of this call, dense. With kv_starts: entry b begins at
                                 ///< kv_starts[b].
    const float *additive;       ///< FOVEA_SCORING_ADDITIVE: (H, qk_dim) dense
    /// NULL, or ALiBi: H slopes, by which a score falls with each position of distance. They must be finite, which is
    /// not checked, as they are data. Positions are f32 here: from 2^24 on they are rounded before they are subtracted.
    const float *slopes;
    const float *sinks; ///< NULL, or H logits; -inf means no sink
    /// NULL, or live_count head numbers below H, ascending. The other heads are not computed: their out is 0 and their
    /// LSE -inf.
    const uint32_t *live_heads;
    size_t live_count; ///< 0 without live_heads
    /// Each is NULL or, if the descriptor has statistics, (batch, H, q_len) of this call, dense. They describe a row's
    /// weights before dropout: the entropy in nats (a sink counts as one more weight), the largest weight of a key, and
    /// the first key that has it. A row that sees no key gives 0, 0 and UINT32_MAX.
    float *entropy, *max_weight;
    uint32_t *max_key;
    uint64_t seed; ///< Seed of dropout. Whether a weight is dropped depends only on (seed; b, head, position, j).
    uint32_t eval; ///< 1: no dropout in this call
    /// Required if the descriptor has page_keys: key j of batch b is in page pages[b * pages_batch + j / page_keys].
    /// Neither a page in which no query sees a key nor its entry is read. All other entries are trusted.
    const uint32_t *pages;
    size_t pages_batch;
    /// NULL, or a ragged batch: batch + 1 ascending numbers. Entry b has q_starts[b + 1] - q_starts[b] queries, at most
    /// q_len, beginning at row q_starts[b] of q and out. The batch strides of q and out are ignored (but the plan's
    /// must be valid for q_len rows per entry). Its rows of lse begin at element q_starts[b] * H, as (H, queries);
    /// those of the statistics likewise. Its row lengths, if there are any, begin at kv_lens[q_starts[b]].
    const uint32_t *q_starts;
    /// NULL, or, together with q_starts, the same for the rows of k and v, at most kv_len per entry. Only for
    /// FOVEA_K_ROWS without pages.
    const uint32_t *kv_starts;
};

/// Size of a plan in bytes. A plan begins with its struct fovea_work, must be 64-byte aligned, and may be copied.
FOVEA_API size_t fovea_attention_plan_size(void);
/// Validates the descriptor and fills plan. The engine must outlive it.
///
/// Scratch is typically a few hundred KiB per worker. It depends on the descriptor and on the engine (its caches,
/// profile and number of workers), so read it from each plan. It grows with batch, heads, q_len and kv_len up to a
/// bound that depends on the head sizes: mostly below 1 MiB for 64 and 2 MiB for 128.
///
/// Shared memory is needed if an entry of a call may have few queries (fewer than 12 to 16, or than the tuning profile
/// says, at most 64), whose keys are then split among tasks. It holds dv + 2 floats (dv + 4 with statistics) for each
/// such query, each query head and 1024 keys, and none for up to 1024 keys. All entries may have few queries, but no
/// more than `rows` together. A plan of more than 8 batch entries, which may be ragged, adds 8 bytes for every 8
/// entries before the last. A call writes only what its own queries and keys need: where memory is committed as it is
/// touched, the rest costs nothing (32 heads of 128, plan: 64 entries, 512 rows, 32768 keys, 260 MiB; call: 64 single
/// queries after 3000 keys, 3.3 MiB). A plan of its own for single queries, q_len 1, asks for less: 32.5 MiB.
///
/// A plan of large capacities is no slower for short calls.
///
/// Errors: NULL, STRUCT, ENUM, SHAPE, OVERFLOW, STRIDE, VALUE, ALIGN (plan).
FOVEA_API enum fovea_status fovea_attention_plan(const struct fovea_engine *engine,
                                                 const struct fovea_attention_desc *desc, void *plan);
/// Writes one line that says what a plan would do, or why there is none. Returns what fovea_attention_plan would. The
/// line is truncated to text_size, for which FOVEA_EXPLAIN_BYTES is enough; text may be NULL.
FOVEA_API enum fovea_status fovea_explain_attention(const struct fovea_engine *engine,
                                                    const struct fovea_attention_desc *desc, char *text,
                                                    size_t text_size);
/// Writes one line that says what is wrong with a call, or what it would compute. Use it to find out which argument a
/// status refers to. Returns what fovea_attention would, except that memory and executor are not checked.
FOVEA_API enum fovea_status fovea_explain_attention_call(const void *plan, const struct fovea_attention_args *args,
                                                         char *text, size_t text_size);
/// Runs a plan on an executor (NULL: in the calling thread). The plan's fovea_work gives the sizes of shared and
/// scratch.
///
/// Errors: NULL (a pointer that the descriptor requires; kv_starts without q_starts; live_count without live_heads),
/// STRUCT (not a plan of attention), SHAPE (a size above the plan's, more queries than its `rows`, a live head >= H,
/// starts that do not ascend or are too far apart), STRIDE and OVERFLOW (batch_strides, or the rows of a ragged batch
/// together), ALIGN (shared, scratch; kv_begin), VALUE (live_heads that do not ascend, an argument that the descriptor
/// did not ask for, no workers), UNSUPPORTED (kv_starts with panels, pages or kv_begin), ENUM (eval or kv_new_queries
/// is neither 0 nor 1).
///
/// Accuracy, against exact arithmetic on the same inputs, with u = 2^-24: let D be the largest error of a score that
/// the row sees, (d + 3) u |scale| sum |q k| + u |s|, plus 7 u |s| with a softcap, plus u |s| with ALiBi (positions
/// below 2^24). Let C be the number of 128-key chunks, and R the spread of the row's scores in powers of 2, at most
/// 127. Then, to first order, |out - exact| <= 2 (D + (140 + 4 C + 3 R) u) max |v|, and the LSE is within
/// D + (140 + 4 C + 3 R) u + 2 u |LSE| where it is not -inf.
FOVEA_API enum fovea_status fovea_attention(const void *plan, const struct fovea_attention_args *args, void *shared,
                                            void *scratch, const struct fovea_executor *executor);
/// The same, task by task. The tasks of a phase may run in any order and on any threads, each with its own scratch.
/// fovea_attention_tasks gives their number, which depends on the lengths of the call; it is 0 if args are invalid. For
/// a ragged batch, fovea_attention_task validates only the starts of its own entry; fovea_attention_tasks, or phase 0
/// of a three-phase plan, validates all of them.
FOVEA_API uint32_t fovea_attention_tasks(const void *plan, const struct fovea_attention_args *args, uint32_t phase);
FOVEA_API enum fovea_status fovea_attention_task(const void *plan, const struct fovea_attention_args *args,
                                                 void *shared, void *scratch, uint32_t phase, uint32_t task);
/// Plans, allocates, runs in the calling thread, frees. Errors: also MEMORY.
FOVEA_API enum fovea_status fovea_attention_once(const struct fovea_engine *engine,
                                                 const struct fovea_attention_desc *desc,
                                                 const struct fovea_attention_args *args);

#ifdef __cplusplus
}
#endif

#endif
