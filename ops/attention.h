// SPDX-License-Identifier: Apache-2.0
// ops/attention.h - the attention plan, how a call is cut into tasks, and one tile of query rows.
#ifndef FOVEA_OPS_ATTENTION_H
#define FOVEA_OPS_ATTENTION_H

#include "fovea/attention.h"
#include "kernels/table.h"
#include "ops/run.h"

enum {
    FOVEA_ATTENTION_TILES_MAX = 16,  ///< most tiles, or blocks, of a task
    FOVEA_ATTENTION_POINTERS = 1024, ///< most pointers that a tile may prefetch per chunk
    /// Entries of a ragged batch per landmark, an entry whose first task number is stored in shared memory. A task's
    /// entry is one of so many after a landmark. Tasks of 0.3 us, of 16 keys and one or two queries in turns, take 0.1
    /// us more each than if all entries are alike.
    FOVEA_ATTENTION_LANDMARK = 8,
};

/// The phases of a call. A plan with so few entries that it has no landmarks starts with the second.
enum fovea_attention_phase {
    FOVEA_ATTENTION_PREPARE, ///< ragged batches: one task computes the landmarks
    FOVEA_ATTENTION_COMPUTE,
    FOVEA_ATTENTION_JOIN, ///< merges the splits of decoding
    FOVEA_ATTENTION_PHASES
};

/// The plan behind fovea_attention_plan.
struct fovea_attention_layout {
    struct fovea_work work;
    const struct fovea_kernels *kernels;
    const struct fovea_attention_tuning *tuning; ///< the numbers of this class of head sizes
    struct fovea_attention_desc desc;            ///< scale is resolved to a number
    size_t group;                                ///< query heads that share a key head
    // Offsets of the parts of a worker's scratch, in floats, on cache lines. The kernel's own scratch comes first;
    // then: a copy of a chunk that is not read in place; a chunk reduced to keys that are seen; the scaled queries of
    // each tile of a task; two states of each tile, or two blocks of scores; the copies of a chunk's K and V; pointers
    // to prefetch; the tiles themselves.
    size_t dense_at, compact_at, q_at, states_at, copy_at, pointers_at, tiles_at;
    size_t q_floats, state_floats;             ///< of one tile
    size_t block_q_floats, block_state_floats; ///< queries and state of one block
    size_t tiles_most;                         ///< most tiles of a prefill task
    size_t blocks_most;                        ///< most blocks of a decoding task
    float cap_inverse;                         ///< 1 / softcap if there is one
    float keep_scale;                          ///< 1 / (1 - dropout)
    uint32_t threshold;                        ///< dropout: a Philox word below this drops its weight
    size_t statistics;   ///< floats per row that a call's state has for statistics: 3, or 0 without them
    size_t row_floats;   ///< floats per row of a split's state in shared memory: m, l, statistics and O
    size_t rows;         ///< the most queries of a call, of all entries
    size_t prefill;      ///< queries of a head from which on they are a tile's lanes, not decoded
    size_t few;          ///< the most queries of an entry that is decoded
    bool prefills;       ///< entries may have more
    size_t query_floats; ///< floats of shared memory per query of such an entry: its states, of all heads and splits
    /// Ragged batches: every 8th entry except the first is a landmark. The number of landmarks, and the offset in
    /// shared memory, in floats, of their first task numbers: those of COMPUTE, then those of JOIN.
    size_t landmarks, landmarks_at;
};

struct fovea_attention_grid fovea_attention_grid(const struct fovea_attention_layout *plan, size_t batch, size_t q_len,
                                                 size_t kv_len);

/// The number of tasks of COMPUTE or JOIN in `batch` entries that are cut like this.
size_t fovea_attention_grid_tasks(const struct fovea_attention_grid *grid, size_t batch,
                                  enum fovea_attention_phase phase);

/// Whether a call exceeds the size up to which it is taken to be in L2: by K and V in decoding, by Q and the output,
/// too, in prefill. An entry of a ragged batch always counts as far, as it does not know the size of the others.
bool fovea_attention_decode_is_far(const struct fovea_attention_layout *plan, const struct fovea_attention_args *args);
bool fovea_attention_prefill_is_far(const struct fovea_attention_layout *plan, const struct fovea_attention_args *args);
/// Whether tiles of prefill prefetch: those of a far call, if the kernel follows the list.
bool fovea_attention_prefill_fetches(const struct fovea_attention_layout *plan,
                                     const struct fovea_attention_args *args);
/// Whether decoding this many rows prefetches all the same: what L2 could hold need not be there, as a model of many
/// layers calls with another cache each time, and so many rows lose nothing by it.
bool fovea_attention_is_busy(const struct fovea_attention_layout *plan, size_t rows);
/// Whether the last few queries of a head, which run as a block of decoding, read keys that tiles of prefill have
/// prefetched.
bool fovea_attention_block_follows(const struct fovea_attention_layout *plan, const struct fovea_attention_args *args,
                                   const struct fovea_attention_grid *grid);

/// What decoding prefetches a second time of a chunk from memory, just before it reads it, with this many rows.
enum fovea_attention_twice { FOVEA_TWICE_NONE, FOVEA_TWICE_SOME, FOVEA_TWICE_ALL };
enum fovea_attention_twice fovea_attention_asks_twice(const struct fovea_attention_layout *plan, size_t rows);

/// Whether decoding this many rows reads V of a chunk interleaved with the next chunk's K, and prefetches nothing.
bool fovea_attention_is_beside(const struct fovea_attention_layout *plan, size_t rows);

/// The entry of a ragged batch that a task belongs to.
struct fovea_attention_at {
    size_t number, before; ///< its number; the number of tasks of the entries before it
    struct fovea_attention_grid grid;
};
/// Finds the entry of a task of COMPUTE or JOIN. landmarks: where they are stored, NULL if they are not. For a task
/// that does not exist, number is the batch; with task SIZE_MAX, `before` is then the number of all tasks.
struct fovea_attention_at fovea_attention_seek(const struct fovea_attention_layout *plan,
                                               const struct fovea_attention_args *args, const uint32_t *landmarks,
                                               enum fovea_attention_phase phase, size_t task);
/// Computes the landmarks.
void fovea_attention_set_landmarks(const struct fovea_attention_layout *plan, const struct fovea_attention_args *args,
                                   uint32_t *landmarks);
/// Entry b of a ragged batch as a call of its own, in which it still has the number b. batch_strides: room for four.
struct fovea_attention_args fovea_attention_entry(const struct fovea_attention_layout *plan,
                                                  const struct fovea_attention_args *args, size_t b,
                                                  size_t *batch_strides);
/// fovea_attention_check checks the plan and all that a call reads, everything but out; fovea_attention_check_call
/// checks out as well.
enum fovea_status fovea_attention_check(const struct fovea_attention_layout *plan,
                                        const struct fovea_attention_args *args, const struct fovea_why *why);
enum fovea_status fovea_attention_check_call(const struct fovea_attention_layout *plan,
                                             const struct fovea_attention_args *args, const struct fovea_why *why);
/// fovea_attention_check_whole checks a call except for the entries of a ragged batch, of which there may be many;
/// fovea_attention_check_entry checks one of these.
enum fovea_status fovea_attention_check_whole(const struct fovea_attention_layout *plan,
                                              const struct fovea_attention_args *args);
enum fovea_status fovea_attention_check_entry(const struct fovea_attention_args *args, size_t b);

/// Checks a list of live heads in the args of the operator named `whole`. Errors: NULL, SHAPE, VALUE.
enum fovea_status fovea_attention_check_live(const struct fovea_attention_desc *desc, const uint32_t *live,
                                             size_t count, const char *whole, const struct fovea_why *why);

/// The operator that runs once the plan and args are validated.
extern const struct fovea_operator fovea_attention_operator;

/// fovea_attention_plan into a struct that need not be aligned; `why` receives the reason of a failure.
enum fovea_status fovea_attention_make(const struct fovea_engine *engine, const struct fovea_attention_desc *desc,
                                       struct fovea_attention_layout *plan, const struct fovea_why *why);

/// The scale that FOVEA_SCALE_DEFAULT stands for.
float fovea_attention_default_scale(const struct fovea_attention_desc *desc);
/// Appends what a descriptor asks for beyond its sizes, for the lines of attention and of composites that contain it.
void fovea_attention_say_asked(const struct fovea_attention_desc *desc, const struct fovea_why *why);

/// Checks the scale and the softcap of an operator or a composite, `whole`. Errors: VALUE.
enum fovea_status fovea_attention_check_scores(float scale, float softcap, const char *whole,
                                               const struct fovea_why *why);
/// Checks that q, k and v of these sizes and strides fit in memory. Errors: OVERFLOW, STRIDE.
enum fovea_status fovea_attention_check_inputs(const struct fovea_attention_desc *desc, const struct fovea_why *why);

/// The batch, heads or rows of a tensor: how many, and the stride from one to the next.
struct fovea_attention_axis {
    size_t size, stride;
};
/// How many elements lie within one step of axis `of`: a row of so many elements, repeated along the axes of smaller
/// strides. A smaller stride makes rows overlap, if there are two steps.
size_t fovea_attention_within(const struct fovea_attention_axis axes[3], size_t of, size_t row);

/// The same for out, whose rows must not overlap.
enum fovea_status fovea_attention_check_out(const struct fovea_attention_desc *desc, const struct fovea_why *why);

/// The plan's descriptor with the sizes and batch strides of a call.
struct fovea_attention_desc fovea_attention_call(const struct fovea_attention_layout *plan,
                                                 const struct fovea_attention_args *args);

/// The same with all queries of a ragged batch as those of a single entry without keys, which gives the extent of the
/// call's q and out.
struct fovea_attention_desc fovea_attention_all_queries(const struct fovea_attention_layout *plan,
                                                        const struct fovea_attention_args *args);

/// Query rows that are processed together. Row g * q_len + i of a key head is query i of its g-th query head.
struct fovea_attention_tile {
    const struct fovea_attention_layout *plan;
    const struct fovea_attention_args *args;
    size_t batch, kv_head;
    bool prefill;                      ///< true: a prefill tile; false: a decoding block
    struct fovea_strides q, k, v, out; ///< of this call
    size_t first, rows;                ///< rows [first, first + rows) of the key head
    size_t first_head, first_query;    ///< query head of the first row, among all heads, and the number of its query
    /// What causal order, windows and counts allow: row r sees keys [begin[r], end[r]), except those that other masks
    /// hide; a row that sees none has 0 and 0. No row sees keys outside [begin_least, end_most); all rows see
    /// [begin_most, end_least).
    size_t begin_least, begin_most, end_least, end_most;
    size_t begin[FOVEA_TILE_ROWS_MAX], end[FOVEA_TILE_ROWS_MAX];
    bool one_mask;                      ///< all rows have the same mask
    size_t mask[FOVEA_TILE_ROWS_MAX];   ///< offset of the row in args.mask
    size_t bias[FOVEA_TILE_ROWS_MAX];   ///< offset of the row in args.bias
    size_t blocks[FOVEA_TILE_ROWS_MAX]; ///< offset of the row in args.blocks
    size_t segments;                    ///< number of different segments of the rows; below them in ascending order,
                                        ///< and the rows of each
    uint32_t segment[FOVEA_TILE_ROWS_MAX];
    uint64_t segment_rows[FOVEA_TILE_ROWS_MAX];
    float fall[FOVEA_TILE_ROWS_MAX], position[FOVEA_TILE_ROWS_MAX]; ///< ALiBi: -slope, position of the query
    float sink[FOVEA_TILE_ROWS_MAX];
    uint32_t query[FOVEA_TILE_ROWS_MAX], head[FOVEA_TILE_ROWS_MAX]; ///< as dropout numbers them
};

/// Rows [first, first + rows) of a key head.
struct fovea_attention_rows {
    size_t batch, kv_head, first, rows;
    bool prefill; ///< true: a tile; false: a block
};
/// Sets up the tile of these rows, including what they see.
void fovea_attention_tile(const struct fovea_attention_layout *plan, const struct fovea_attention_args *args,
                          const struct fovea_attention_rows *at, struct fovea_attention_tile *tile);
/// Tile or block number `index` of a call: those of its first key head, then of the second, ...
struct fovea_attention_rows fovea_attention_find(const struct fovea_attention_layout *plan,
                                                 const struct fovea_attention_args *args,
                                                 const struct fovea_attention_grid *grid, size_t index);
/// Sets up that tile or block.
void fovea_attention_place(const struct fovea_attention_layout *plan, const struct fovea_attention_args *args,
                           const struct fovea_attention_grid *grid, size_t index, struct fovea_attention_tile *tile);

/// The index of a batch entry's first query, or key, in arrays with one element for each: (batch, length), or ragged.
static inline size_t fovea_attention_first_query(const struct fovea_attention_args *args, size_t batch)
{
    return args->q_starts != NULL ? args->q_starts[batch] : batch * args->q_len;
}
static inline size_t fovea_attention_first_key(const struct fovea_attention_args *args, size_t batch)
{
    return args->kv_starts != NULL ? args->kv_starts[batch] : batch * args->kv_len;
}
/// Whether a query head is live, that is, computed by the call.
bool fovea_attention_lives(const struct fovea_attention_args *args, size_t head);

/// Keys [begin, end).
struct fovea_attention_range {
    size_t begin, end;
};
/// The keys that query i of a batch entry may see, by causal order, window and lengths; none is [0, 0).
struct fovea_attention_range fovea_attention_seen(const struct fovea_attention_layout *plan,
                                                  const struct fovea_attention_args *args, size_t batch, size_t i);

/// The offset of a tile's first row in a tensor with these strides, and the offsets of all of its rows.
size_t fovea_attention_offset(const struct fovea_attention_tile *tile, struct fovea_strides strides);
void fovea_attention_offsets(const struct fovea_attention_tile *tile, struct fovea_strides strides,
                             size_t offsets[FOVEA_TILE_ROWS_MAX]);

/// What the rows of a tile see of some keys.
enum fovea_attention_sight { FOVEA_SEE_NOTHING, FOVEA_SEE_SOME, FOVEA_SEE_ALL };
/// Classifies keys [key, key + keys) of a chunk before anything of K or V is read. SOME: bit r of visible[j] is set if
/// row r sees key + j.
enum fovea_attention_sight fovea_attention_see(const struct fovea_attention_tile *tile, size_t key, size_t keys,
                                               uint64_t *visible);
/// Whether rows may see less than the range of keys that causal order, windows and lengths allow.
static inline bool fovea_attention_is_masked(const struct fovea_attention_desc *desc)
{
    return desc->mask || desc->blocks || desc->segments;
}
/// Whether every row certainly sees all of the chunk from `key` on; false if that would require reading a mask.
static inline bool fovea_attention_all_see(const struct fovea_attention_tile *tile, size_t key)
{
    return !fovea_attention_is_masked(&tile->plan->desc) && key >= tile->begin_most &&
           key + FOVEA_CHUNK <= tile->end_least;
}
/// Sets up the tile's segments, which fovea_attention_see needs.
void fovea_attention_segments(struct fovea_attention_tile *tile);

/// The most queries of the tile's kernel. A state has room for so many, however few there are.
size_t fovea_attention_queries_most(const struct fovea_attention_tile *tile);
/// Writes the tile's queries, scaled, in the layout of the kernels: transposed (prefill) or rows (decoding).
void fovea_attention_queries(const struct fovea_attention_tile *tile, float *q);

/// The state in `memory`: m, l, then O, in the layout of the kernels (prefill or decoding); rows_most is a multiple of
/// 16. It takes fovea_attention_state_floats elements.
struct fovea_attention_state fovea_attention_state_in(float *memory, bool prefill, size_t rows, size_t rows_most,
                                                      size_t v_dim);
size_t fovea_attention_state_floats(bool prefill, size_t rows, size_t rows_most, size_t v_dim);
/// The state of a tile in a call; if there are statistics they follow O.
struct fovea_attention_state fovea_attention_call_state(const struct fovea_attention_tile *tile, float *memory);
/// Finishes the softmax in state->o, and writes it, the LSE and the requested statistics.
void fovea_attention_finish(const struct fovea_attention_tile *tile, const struct fovea_attention_state *state);
/// Resets it to the state of rows that have seen nothing.
void fovea_attention_clear(const struct fovea_attention_state *state);
/// The same, except for O, which the first chunk sets.
void fovea_attention_begin(const struct fovea_attention_state *state);

/// The keys and values of a chunk that have been copied into the worker's scratch, as bits; none at its beginning. Of a
/// K in panels the first key stands for its panel.
struct fovea_attention_dense {
    uint64_t k_done[FOVEA_CHUNK / 64], v_done[FOVEA_CHUNK / 64];
};

/// K or V of a key head. In panels a key counts qk_dim elements, and only the first of a panel has an address.
struct fovea_attention_matrix {
    const char *first;         ///< first element of the batch entry, or of page 0
    size_t page, row, columns; ///< in elements
    size_t size;               ///< of an element
    bool panels;
};

/// The arguments of the tile's kernel for one chunk of keys after another.
struct fovea_attention_view {
    const struct fovea_attention_tile *tile;
    struct fovea_attention_matrix k, v;
    bool gathers;                                    ///< every chunk is copied
    bool far;                                        ///< of a decoding block: hints.far of chunks that are not copied
    const struct fovea_decode_kernel *decode_kernel; ///< of a decoding block, once it has looked at a chunk
    struct fovea_attention_dense *dense;             ///< what has been copied of a chunk: set before it is looked at
    union {
        struct fovea_attention_chunk chunk; ///< with which both others begin
        struct fovea_prefill_chunk prefill; ///< a prefill tile
        struct fovea_decode_chunk decode;   ///< a decoding block
    };
    struct fovea_attention_blocks blocks;
    uint64_t visible[FOVEA_CHUNK], keep[FOVEA_CHUNK];
    const float *bias[FOVEA_TILE_ROWS_MAX], *additive[FOVEA_TILE_ROWS_MAX];
};
/// Sets what all chunks have in common, except the state and what is copied. q is scaled and in the kernel's layout;
/// scratch is the worker's.
void fovea_attention_view(const struct fovea_attention_tile *tile, const float *q, float *scratch,
                          struct fovea_attention_view *view);
/// Sets view->chunk to the keys from `key` to the end of its chunk, at most to end > key. If no row sees any of them,
/// sets only chunk.keys and returns false.
bool fovea_attention_look(struct fovea_attention_view *view, size_t key, size_t end);
/// Sets k, v and gathers of a view, whose tile is set.
void fovea_attention_matrices(struct fovea_attention_view *view);
/// Sets where K and V of view->chunk are, for keys from `key` on, and what reads them.
void fovea_attention_locate(struct fovea_attention_view *view, size_t key);
/// Whether tiles of prefill, or blocks of decoding, read a copy of each chunk: of small pages, or of 16-bit elements.
bool fovea_attention_gathers(const struct fovea_attention_layout *plan, bool prefill);

/// A tile on its way through the keys of a split.
struct fovea_attention_sweep {
    const struct fovea_attention_tile *tile;
    const float *q; ///< scaled, in the kernel's layout
    float *scratch; ///< the worker's
    struct fovea_attention_state state;
    bool fresh; ///< the first keys that are seen initialise the state instead of being added to it; false from then on
    struct fovea_attention_dense *dense; ///< what the blocks or tiles of a task share of a chunk
    /// A prefill tile: what it shares with the other tiles of its task. Any may be NULL.
    struct {
        struct fovea_attention_copy *copy; ///< copies of a chunk
        struct fovea_fetch_list *fetch;
        struct fovea_attention_compact *compact; ///< the keys that have been compacted
    } prefill;
    /// A decoding block.
    struct {
        bool follows;   ///< another block has just processed the chunk, or a tile prefetched it: it is in cache
        bool alone;     ///< nothing else uses the scratch between this block's chunks
        uint32_t begun; ///< if alone: set by the kernel if it has computed scores of the next chunk; initially 0
    } decode;
};
/// Adds to the state what the tile sees of the chunk from `key` on, or of its keys below `end`. Returns false and
/// writes nothing if it sees none. view: the tile's, by fovea_attention_view.
bool fovea_attention_step(struct fovea_attention_sweep *sweep, struct fovea_attention_view *view, size_t key,
                          size_t end);
/// The same for a whole split, chunk by chunk, for tiles of one key head: all of them process a chunk before the next
/// one.
void fovea_attention_split(struct fovea_attention_sweep *sweeps, size_t count, size_t split);

/// Whether `tiles` prefill tiles that process a chunk together copy its K and its V before they read them.
struct fovea_attention_copies {
    bool k, v;
};
struct fovea_attention_copies fovea_attention_copies(const struct fovea_attention_layout *plan, size_t tiles);
/// Floats of scratch that the plan's tasks need for the copies.
size_t fovea_attention_copy_floats(const struct fovea_attention_layout *plan);
/// Where the copies go in a worker's scratch; NULL: none are made.
struct fovea_attention_copy fovea_attention_copy(const struct fovea_attention_layout *plan, size_t tiles,
                                                 float *scratch);
/// Starts a new chunk, of which nothing is copied yet.
void fovea_attention_copy_anew(struct fovea_attention_copy *copy);

/// How many of these keys some row sees, and how many runs they make.
struct fovea_attention_runs {
    size_t keys, runs;
};
struct fovea_attention_runs fovea_attention_runs(const uint64_t *visible, size_t keys);

/// The keys of a chunk that have been compacted into the worker's scratch; none at its beginning.
struct fovea_attention_compact {
    uint64_t keys[FOVEA_CHUNK / 64];
    size_t tiles; ///< number of tiles that process the chunk
};
/// Whether tiles of the plan may see scattered keys, which are then compacted: scratch has room for a chunk.
bool fovea_attention_compacts(const struct fovea_attention_layout *plan);
/// Reduces the chunk in view to the keys that its tile sees, if they are scattered.
void fovea_attention_compact(struct fovea_attention_view *view, struct fovea_attention_compact *compact);

/// Runs prefill task `number` of a call. scratch is the worker's.
void fovea_attention_prefill(const struct fovea_attention_layout *plan, const struct fovea_attention_args *args,
                             const struct fovea_attention_grid *grid, float *scratch, uint32_t number);

#endif
