// SPDX-License-Identifier: Apache-2.0
// ops/attention.h - what an attention plan holds, how a call is cut into tasks, and one tile of query rows.
#ifndef FOVEA_OPS_ATTENTION_H
#define FOVEA_OPS_ATTENTION_H

#include "fovea/attention.h"
#include "kernels/kernel.h"
#include "ops/run.h"

enum {
    FOVEA_ATTENTION_TILES_MAX = 16,  ///< of a task, and blocks
    FOVEA_ATTENTION_POINTERS = 1024, ///< that a tile and a chunk may prefetch
    /// Entries of a ragged batch from one whose first task stands in shared memory to the next: a task's is one of so
    /// many. Tasks of 0.3 us, of 16 keys and one or two queries in turns: 0.1 us more each than where all are alike.
    FOVEA_ATTENTION_LANDMARK = 8,
};

/// The phases of a call. A plan of so few entries that it has no landmarks begins with the second.
enum fovea_attention_phase {
    FOVEA_ATTENTION_LOOK_ROUND, ///< ragged batches: one task notes the landmarks
    FOVEA_ATTENTION_COMPUTE,
    FOVEA_ATTENTION_JOIN, ///< merges the splits of decoding
    FOVEA_ATTENTION_PHASES
};

/// The plan behind fovea_attention_plan.
struct fovea_attention_layout {
    struct fovea_work work;
    const struct fovea_kernels *kernels;
    const struct fovea_attention_tuning *tuning; ///< of this class of head sizes
    struct fovea_attention_desc desc;            ///< scale is a number
    size_t group;                                ///< query heads that share a key head
    // A worker's scratch, where its parts begin, in floats and on cache lines: the kernel's own; a chunk gathered from
    // small pages; the scaled queries of each tile of a task; two states of each, or two blocks of scores; what is
    // copied of a chunk's K and V; pointers to what is fetched; the tiles themselves.
    size_t pages_at, q_at, states_at, copy_at, pointers_at, tiles_at;
    size_t q_floats, state_floats;             ///< of one tile
    size_t block_q_floats, block_state_floats; ///< queries and state of one block
    size_t tiles_most;                         ///< of a task of prefill
    size_t blocks_most;                        ///< of one of decoding
    float cap_inverse;                         ///< 1 / softcap where there is one
    float keep_scale;                          ///< 1 / (1 - dropout)
    uint32_t threshold;                        ///< dropout: words below drop their weight
    size_t statistics;   ///< 3, or 0 without them: floats that a state of a call has more, for each row
    size_t row_floats;   ///< a row's state of a split in shared memory: m, l, statistics and O
    size_t entry_floats; ///< shared memory of one entry of a ragged batch
    /// Ragged batches: every 8th entry but the first is a landmark, how many there are, and where in shared memory, in
    /// floats, their first tasks lie: those of COMPUTE, then those of JOIN.
    size_t landmarks, landmarks_at;
};

struct fovea_attention_grid fovea_attention_grid(const struct fovea_attention_layout *plan, size_t batch, size_t q_len,
                                                 size_t kv_len);

/// The tasks of COMPUTE or JOIN in so many entries that are cut like this.
size_t fovea_attention_grid_tasks(const struct fovea_attention_grid *grid, size_t batch,
                                  enum fovea_attention_phase phase);

/// Whether K and V of a call, and with `queries` Q and the output, are more than is read without fetching ahead. That
/// of an entry of a ragged batch, which does not know of the others, is taken for it.
bool fovea_attention_is_far(const struct fovea_attention_layout *plan, const struct fovea_attention_args *args,
                            bool queries);

/// What decoding asks for once more of a chunk of K and V from memory, just before it reads it, where so many rows meet
/// it.
enum fovea_attention_twice { FOVEA_TWICE_NONE, FOVEA_TWICE_SOME, FOVEA_TWICE_ALL };
enum fovea_attention_twice fovea_attention_asks_twice(const struct fovea_attention_layout *plan, size_t rows);

/// Whether decoding so many rows reads V of a chunk beside the next one's K, and asks for nothing.
bool fovea_attention_is_beside(const struct fovea_attention_layout *plan, size_t rows);

/// The entry of a ragged batch that a task belongs to.
struct fovea_attention_at {
    size_t number, before; ///< its number; tasks of the entries before it
    struct fovea_attention_grid grid;
};
/// Of COMPUTE or JOIN; landmarks is where they lie, NULL where they are not noted. No such task: the number is the
/// batch, and `before`, with SIZE_MAX as the task, all tasks.
struct fovea_attention_at fovea_attention_seek(const struct fovea_attention_layout *plan,
                                               const struct fovea_attention_args *args, const uint32_t *landmarks,
                                               enum fovea_attention_phase phase, size_t task);
/// Notes them.
void fovea_attention_look_round(const struct fovea_attention_layout *plan, const struct fovea_attention_args *args,
                                uint32_t *landmarks);
/// Entry b of a ragged batch as a call of its own, in which b is still its number. batch_strides: room for four.
struct fovea_attention_args fovea_attention_entry(const struct fovea_attention_layout *plan,
                                                  const struct fovea_attention_args *args, size_t b,
                                                  size_t *batch_strides);
/// Checks the plan and what a call reads, all but out; the call with out.
enum fovea_status fovea_attention_check(const struct fovea_attention_layout *plan,
                                        const struct fovea_attention_args *args, const struct fovea_why *why);
enum fovea_status fovea_attention_check_call(const struct fovea_attention_layout *plan,
                                             const struct fovea_attention_args *args, const struct fovea_why *why);
/// The call but for the entries of a ragged batch, of which there may be many; and one of these.
enum fovea_status fovea_attention_check_whole(const struct fovea_attention_layout *plan,
                                              const struct fovea_attention_args *args);
enum fovea_status fovea_attention_check_entry(const struct fovea_attention_args *args, size_t b);

/// A list of heads that live, in the args of `whole`. Errors: NULL, SHAPE, VALUE.
enum fovea_status fovea_attention_check_live(const struct fovea_attention_desc *desc, const uint32_t *live,
                                             size_t count, const char *whole, const struct fovea_why *why);

/// What runs once the plan and args are validated.
extern const struct fovea_operator fovea_attention_operator;

/// fovea_attention_plan on any struct; `why` says what is wrong.
enum fovea_status fovea_attention_make(const struct fovea_engine *engine, const struct fovea_attention_desc *desc,
                                       struct fovea_attention_layout *plan, const struct fovea_why *why);

/// Whether q, k and v of these sizes and strides fit in memory. Errors: OVERFLOW, STRIDE.
enum fovea_status fovea_attention_check_inputs(const struct fovea_attention_desc *desc, const struct fovea_why *why);

/// The same of out, no rows of which overlap.
enum fovea_status fovea_attention_check_out(const struct fovea_attention_desc *desc, const struct fovea_why *why);

/// The plan's descriptor with the sizes and batch strides of a call.
struct fovea_attention_desc fovea_attention_call(const struct fovea_attention_layout *plan,
                                                 const struct fovea_attention_args *args);

/// All queries of a ragged batch as those of one entry, without keys: q and out of the call are so long.
struct fovea_attention_desc fovea_attention_all_queries(const struct fovea_attention_layout *plan,
                                                        const struct fovea_attention_args *args);

/// Query rows that go through the keys together. Row g * q_len + i of a key head is query i of the g-th of its heads.
struct fovea_attention_tile {
    const struct fovea_attention_layout *plan;
    const struct fovea_attention_args *args;
    size_t batch, kv_head;
    bool prefill;                      ///< a tile; false: a block
    struct fovea_strides q, k, v, out; ///< of this call
    size_t first, rows;                ///< rows [first, first + rows) of the key head
    size_t first_head, first_query;    ///< the query head of the first row, of all, and which of its queries it is
    /// Causal order, windows and counts: row r sees keys [begin[r], end[r]), but for those that other masks hide; a row
    /// that sees none has 0 and 0. Some row sees keys of [begin_least, end_most), all see [begin_most, end_least).
    size_t begin_least, begin_most, end_least, end_most;
    size_t begin[FOVEA_TILE_ROWS_MAX], end[FOVEA_TILE_ROWS_MAX];
    bool one_mask;                      ///< all rows have the same
    size_t mask[FOVEA_TILE_ROWS_MAX];   ///< where a row of args.mask begins
    size_t bias[FOVEA_TILE_ROWS_MAX];   ///< where a row of args.bias begins
    size_t blocks[FOVEA_TILE_ROWS_MAX]; ///< where a row of args.blocks begins
    size_t segments;                    ///< different segments of the rows, ascending, and the rows of each
    uint32_t segment[FOVEA_TILE_ROWS_MAX];
    uint64_t segment_rows[FOVEA_TILE_ROWS_MAX];
    float fall[FOVEA_TILE_ROWS_MAX], position[FOVEA_TILE_ROWS_MAX]; ///< ALiBi: -slope, position of the query
    float sink[FOVEA_TILE_ROWS_MAX];
    uint32_t query[FOVEA_TILE_ROWS_MAX], head[FOVEA_TILE_ROWS_MAX]; ///< as dropout names them
};
void fovea_attention_tile(const struct fovea_attention_layout *plan, const struct fovea_attention_args *args,
                          size_t batch, size_t kv_head, size_t first, size_t rows, struct fovea_attention_tile *tile);

/// Rows [first, first + rows) of a key head.
struct fovea_attention_rows {
    size_t batch, kv_head, first, rows;
    bool prefill; ///< they are a tile; false: a block
};
/// Tile or block `index` of a call: of its first key head, of the second, ...
struct fovea_attention_rows fovea_attention_find(const struct fovea_attention_layout *plan,
                                                 const struct fovea_attention_args *args,
                                                 const struct fovea_attention_grid *grid, size_t index);
/// The same with what its rows see.
void fovea_attention_place(const struct fovea_attention_layout *plan, const struct fovea_attention_args *args,
                           const struct fovea_attention_grid *grid, size_t index, struct fovea_attention_tile *tile);

/// Where the queries, or keys, of a batch entry begin in arrays that have an element for each: (batch, length), or
/// ragged.
static inline size_t fovea_attention_first_query(const struct fovea_attention_args *args, size_t batch)
{
    return args->q_starts != NULL ? args->q_starts[batch] : batch * args->q_len;
}
static inline size_t fovea_attention_first_key(const struct fovea_attention_args *args, size_t batch)
{
    return args->kv_starts != NULL ? args->kv_starts[batch] : batch * args->kv_len;
}
/// Whether the call computes a query head.
bool fovea_attention_lives(const struct fovea_attention_args *args, size_t head);

/// Where the first row of a tile begins in a tensor with these strides, and where each of its rows does.
size_t fovea_attention_offset(const struct fovea_attention_tile *tile, struct fovea_strides strides);
void fovea_attention_offsets(const struct fovea_attention_tile *tile, struct fovea_strides strides,
                             size_t offsets[FOVEA_TILE_ROWS_MAX]);

/// What the rows of a tile see of some keys.
enum fovea_attention_sight { FOVEA_SEE_NOTHING, FOVEA_SEE_SOME, FOVEA_SEE_ALL };
/// Classes keys [key, key + keys) of a chunk before anything of K or V is read. SOME: bit r of visible[j] is set where
/// row r sees key + j.
enum fovea_attention_sight fovea_attention_see(const struct fovea_attention_tile *tile, size_t key, size_t keys,
                                               uint64_t *visible);
/// Whether every row sees all of these keys, as far as that is known without asking a mask.
static inline bool fovea_attention_all_see(const struct fovea_attention_tile *tile, size_t key, size_t keys)
{
    const struct fovea_attention_desc *const d = &tile->plan->desc;
    return !d->mask && !d->blocks && !d->segments && key >= tile->begin_most && key + keys <= tile->end_least;
}
/// Fills in what fovea_attention_see needs to know of the tile's segments.
void fovea_attention_segments(struct fovea_attention_tile *tile);

/// The kernel that meets the tile's keys; a state has room for as many queries as it takes, however few there are.
const struct fovea_attention_kernel *fovea_attention_kernel_of(const struct fovea_attention_tile *tile);
/// The tile's queries, scaled, as the kernels of prefill (transposed) or of decoding (rows) take them.
void fovea_attention_queries(const struct fovea_attention_tile *tile, float *q);

/// The state in `memory`: m, l, then O, as the kernels of this way want it; rows_most is a multiple of 16. It takes
/// fovea_attention_state_floats elements.
struct fovea_attention_state fovea_attention_state_in(float *memory, bool prefill, size_t rows, size_t rows_most,
                                                      size_t v_dim);
size_t fovea_attention_state_floats(bool prefill, size_t rows, size_t rows_most, size_t v_dim);
/// A state of the tile in a call: where there are statistics they lie behind O.
struct fovea_attention_state fovea_attention_call_state(const struct fovea_attention_tile *tile, float *memory);
/// Ends the softmax in state->o, and writes it, the LSE and the statistics that are asked for.
void fovea_attention_finish(const struct fovea_attention_tile *tile, const struct fovea_attention_state *state);
/// Makes it the state of rows that have seen nothing.
void fovea_attention_clear(const struct fovea_attention_state *state);
/// The same of all but its O, which the first chunk sets.
void fovea_attention_begin(const struct fovea_attention_state *state);

/// What the kernels are told of one chunk of keys after another.
struct fovea_attention_view {
    const struct fovea_attention_tile *tile;
    struct fovea_attention_chunk chunk;
    struct fovea_attention_blocks blocks;
    uint64_t visible[FOVEA_CHUNK], keep[FOVEA_CHUNK];
    const float *bias[FOVEA_TILE_ROWS_MAX], *additive[FOVEA_TILE_ROWS_MAX];
};
/// What all chunks have in common, but for the state. q is scaled and lies as the kernel asks; scratch is the worker's.
void fovea_attention_view(const struct fovea_attention_tile *tile, const float *q, float *scratch,
                          struct fovea_attention_view *view);
/// view->chunk becomes the keys from `key` to the end of its chunk, at most to end > key; only chunk.keys is set and
/// false returned where no row sees any of them.
bool fovea_attention_look(struct fovea_attention_view *view, size_t key, size_t end);
/// Makes k and v of view->chunk those of its keys from `key` on, which lie in pages.
void fovea_attention_page(struct fovea_attention_view *view, size_t key);

/// A tile on its way through the keys of a split.
struct fovea_attention_part {
    const struct fovea_attention_tile *tile;
    const float *q; ///< scaled, as the kernel asks
    float *scratch; ///< the worker's
    struct fovea_attention_state state;
    bool fresh; ///< the state is made with the first keys that are seen, and not added to; it is false from then on
    /// Prefill: what it copies of a chunk, and what it is to prefetch. All may be NULL.
    struct fovea_attention_copy *copy;
    struct fovea_fetch_list *fetch;
    struct fovea_attention_compact *compact; ///< and which keys it has put side by side
    bool follows;                            ///< another part has just met the chunk, which is near then
    bool alone;                              ///< nothing else uses the scratch between its chunks
    uint32_t begun; ///< if alone: the kernel's word that it made scores of the chunk that comes next; 0 at first
};
/// Adds to the state what the part sees of the chunk from `key` on, or of its keys below `end`. False, and nothing is
/// written, where it sees nothing.
bool fovea_attention_step(struct fovea_attention_part *part, size_t key, size_t end);
/// The same of a split, chunk by chunk, for parts of one key head: all of them meet a chunk before the next one.
void fovea_attention_split(struct fovea_attention_part *parts, size_t count, size_t split);

/// What `tiles` tiles of prefill that go through a chunk together copy of it before they read it.
struct fovea_attention_copies {
    bool k, v;
};
struct fovea_attention_copies fovea_attention_copies(const struct fovea_attention_layout *plan, size_t tiles);
/// The floats of scratch that the plan's tasks need for it.
size_t fovea_attention_copy_floats(const struct fovea_attention_layout *plan);
/// Where they copy it to, in a worker's scratch; NULL: they do not.
struct fovea_attention_copy fovea_attention_copy(const struct fovea_attention_layout *plan, size_t tiles,
                                                 float *scratch);
/// Begins a chunk, of which nothing is there.
void fovea_attention_copy_anew(struct fovea_attention_copy *copy);

/// The keys of a chunk that lie side by side in the worker's scratch; none at its beginning.
struct fovea_attention_compact {
    uint64_t keys[FOVEA_CHUNK / 64];
    size_t tiles; ///< that meet the chunk
};
/// Whether tiles of the plan may see scattered keys, which are then put side by side: scratch has room for a chunk.
bool fovea_attention_compacts(const struct fovea_attention_layout *plan);
/// Makes the chunk in view one of those keys alone that its tile sees, where they are scattered.
void fovea_attention_compact(struct fovea_attention_view *view, struct fovea_attention_compact *compact);

/// A task of prefill. scratch is the worker's.
void fovea_attention_prefill(const struct fovea_attention_layout *plan, const struct fovea_attention_args *args,
                             const struct fovea_attention_grid *grid, float *scratch, uint32_t task);

#endif
