// SPDX-License-Identifier: Apache-2.0
// ops/attention_grid.c - how a call of attention is cut into tiles and tasks.
#include "ops/attention.h"

// How many trailing queries of a head to run with the decode kernel instead of prefill: up to `block` if they would
// need a tile of their own, up to block/2 if they would only add one 16-lane panel to a tile. Zen 4, AVX-512, block =
// 8: 50 and 100 tokens 1.25 and 1.09 times as fast, 56 and 200 1.09 and 1.02, 17 and 20 1.12 and 1.08; beyond that, 24
// and 40, 0.93 and 0.99. AVX2, block = 4: 50 and 100 1.15 and 1.03; beyond that, 20, 0.88. NEON, block = 4: 49 to 52
// tokens 10 to 16 % fewer instructions. The number of keys does not matter: 50 queries over 256 to 4096 1.18 to 1.20,
// 17 over 1024 1.32, 8 heads that share them 1.17 to 1.29, 100 queries of 32 heads on 8 1.05; AVX2 1.12 to 1.16, 1.14,
// 1.13 to 1.16, 0.96 to 1.02.
static size_t few_of(size_t rows, size_t most, size_t block)
{
    const size_t last = rows % most, few = last % FOVEA_PANEL;
    return rows > FOVEA_PANEL && few <= (last < FOVEA_PANEL ? block : block / 2) ? few : 0;
}

// The size of an element of K and V, in floats.
static double floats_of(const struct fovea_attention_desc *desc)
{
    return (double)fovea_type_bytes(desc->kv_type) / sizeof(float);
}

// Whether K and V exceed the size up to which decoding takes them to be in L2, where the blocks of a key head do not
// share its keys: rereading near keys costs nothing (0.98 to 1.0). The kernels for 16-bit elements lose nothing by
// prefetches in L2, where they wait for arithmetic, and gain if K and V are not there (Emerald Rapids, 0.96 to 1.3
// times as fast if they are, 1.3 to 1.8 if they are not).
static bool is_far(const struct fovea_attention_layout *plan, size_t batch, size_t kv_len)
{
    const struct fovea_attention_desc *const d = &plan->desc;
    const double keys = (double)batch * (double)d->kv_heads * (double)kv_len;
    return d->kv_type != FOVEA_F32 || fovea_is_far(plan->tuning->near, keys * (double)(d->qk_dim + d->v_dim));
}

// The most of `splits` splits that a window lets the queries of a call see.
static size_t splits_seen(const struct fovea_attention_layout *plan, size_t q_len, size_t splits)
{
    const struct fovea_attention_desc *const d = &plan->desc;
    const size_t right = d->causal ? 0 : d->window_right, far = (size_t)UINT32_MAX;
    return d->window_left > far || right > far ? splits
                                               : fovea_min(splits, (d->window_left + right + q_len) / FOVEA_SPLIT + 2);
}

struct fovea_attention_grid fovea_attention_grid(const struct fovea_attention_layout *plan, size_t batch, size_t q_len,
                                                 size_t kv_len)
{
    enum { TASKS_EACH = 4 }; // tasks per worker before tasks grow
    const struct fovea_kernels *const kernels = plan->kernels;
    struct fovea_attention_grid grid = {.prefill = q_len >= plan->prefill,
                                        .heads = plan->desc.heads == 0 ? 0 : plan->desc.kv_heads,
                                        .each_most = 1,
                                        .each = 1,
                                        .splits = 1};
    if (grid.prefill) {
        grid.rows = q_len;
        grid.most = fovea_min(plan->tuning->queries / FOVEA_PANEL * FOVEA_PANEL, kernels->attention_prefill.queries);
        grid.few = few_of(grid.rows, grid.most, kernels->attention_decode.last_queries);
        grid.tiles = plan->group * (fovea_ceil_div(grid.rows - grid.few, grid.most) + (grid.few != 0));
    } else {
        grid.rows = plan->group * q_len;
        grid.most = kernels->attention_decode.queries;
        grid.splits = fovea_max(fovea_ceil_div(kv_len, FOVEA_SPLIT), 1);
        grid.tiles = fovea_ceil_div(grid.rows, grid.most);
    }
    const size_t most = fovea_min(grid.prefill ? plan->tiles_most : plan->blocks_most, grid.tiles);
    // Skipped if there is one tile or block: it takes 2 % of the time of 4 queries and keys.
    if (most > 1 && (grid.prefill || is_far(plan, batch, kv_len))) {
        const size_t tasks = kernels->workers == 1 ? 1 : (size_t)TASKS_EACH * kernels->workers;
        const size_t share = batch * grid.heads * grid.tiles * splits_seen(plan, q_len, grid.splits) / tasks;
        grid.each_most = fovea_min(most, fovea_max(share, 1));
        grid.each = fovea_ceil_div(grid.tiles, fovea_ceil_div(grid.tiles, grid.each_most)); // of equal size
    }
    return grid;
}

size_t fovea_attention_grid_tasks(const struct fovea_attention_grid *grid, size_t batch,
                                  enum fovea_attention_phase phase)
{
    const size_t heads = batch * grid->heads;
    return phase == FOVEA_ATTENTION_COMPUTE ? heads * fovea_ceil_div(grid->tiles, grid->each) * grid->splits
           : grid->splits > 1               ? heads * grid->tiles
                                            : 0;
}

struct fovea_attention_rows fovea_attention_find(const struct fovea_attention_layout *plan,
                                                 const struct fovea_attention_args *args,
                                                 const struct fovea_attention_grid *grid, size_t index)
{
    struct fovea_attention_rows at = {.batch = grid->first + index / grid->tiles / grid->heads,
                                      .kv_head = index / grid->tiles % grid->heads};
    if (!grid->prefill) {
        at.first = index % grid->tiles * grid->most;
        at.rows = fovea_min(grid->most, grid->rows - at.first);
        return at;
    }
    const size_t of_head = grid->tiles / plan->group, whole = grid->rows - grid->few;
    const size_t last = grid->tiles - 1 - index % grid->tiles; // under causal order it has most keys
    const size_t query = fovea_min(last % of_head * grid->most, whole);
    at.first = last / of_head * args->q_len + query;
    at.prefill = query != whole;
    at.rows = at.prefill ? fovea_min(grid->most, whole - query) : grid->few;
    return at;
}

void fovea_attention_place(const struct fovea_attention_layout *plan, const struct fovea_attention_args *args,
                           const struct fovea_attention_grid *grid, size_t index, struct fovea_attention_tile *tile)
{
    const struct fovea_attention_rows at = fovea_attention_find(plan, args, grid, index);
    fovea_attention_tile(plan, args, &at, tile);
}

bool fovea_attention_decode_is_far(const struct fovea_attention_layout *plan, const struct fovea_attention_args *args)
{
    return args->q_starts != NULL || is_far(plan, args->batch, args->kv_len);
}

bool fovea_attention_prefill_is_far(const struct fovea_attention_layout *plan, const struct fovea_attention_args *args)
{
    const struct fovea_attention_desc *const d = &plan->desc;
    const double rows =
        (double)d->heads * (double)args->q_len + (double)d->kv_heads * (double)args->kv_len * floats_of(d);
    return args->q_starts != NULL ||
           fovea_is_far(plan->tuning->near_tiles, (double)args->batch * rows * (double)(d->qk_dim + d->v_dim));
}

bool fovea_attention_prefill_fetches(const struct fovea_attention_layout *plan, const struct fovea_attention_args *args)
{
    return plan->kernels->attention_prefill.fetches && fovea_attention_prefill_is_far(plan, args);
}

// Few rows over whole lines of K in rows prefetch the next keys of their own accord.
bool fovea_attention_is_busy(const struct fovea_attention_layout *plan, size_t rows)
{
    const struct fovea_attention_desc *const d = &plan->desc;
    const struct fovea_decode_kernel *const kernel = &plan->kernels->attention_decode;
    const bool lines = d->k_layout == FOVEA_K_ROWS && d->page_keys == 0 && d->qk_dim % FOVEA_PANEL == 0;
    return kernel->busy_rows != 0 && rows >= kernel->busy_rows && !(lines && rows <= kernel->near_rows);
}

// Tiles of the same task prefetch them, from the second chunk on, or have at least read them; the first chunk is
// prefetched by the task before, unless that is another thread's, or ends where a window does.
bool fovea_attention_block_follows(const struct fovea_attention_layout *plan, const struct fovea_attention_args *args,
                                   const struct fovea_attention_grid *grid)
{
    return grid->prefill && grid->each > 1 && plan->desc.page_keys == 0 && fovea_attention_prefill_is_far(plan, args);
}

// For few rows, by a kernel that can do it, over K in rows or over any K.
bool fovea_attention_is_beside(const struct fovea_attention_layout *plan, size_t rows)
{
    enum { OVER_ROWS = 1, OVER_ANY = 2 };
    return plan->desc.kv_type == FOVEA_F32 && rows <= plan->kernels->attention_decode.beside_rows &&
           plan->tuning->beside >= (plan->desc.k_layout == FOVEA_K_ROWS ? OVER_ROWS : OVER_ANY);
}

// A second prefetch arrives in time if there is more to do than to read: K to transpose, or three rows and more to
// multiply. It delays one and two rows over panels (dispatch/beyond.def). If not all of a chunk is prefetched twice,
// these prefetch nothing twice, and the others the next rows of K, or V.
enum fovea_attention_twice fovea_attention_asks_twice(const struct fovea_attention_layout *plan, size_t rows)
{
    enum { NEVER = 0, ALWAYS = 2 };
    const uint32_t whole = plan->tuning->whole;
    const bool slow = plan->desc.k_layout == FOVEA_K_ROWS || rows > FOVEA_DECODE_FEW;
    if (rows > plan->tuning->again || (!slow && whole != ALWAYS)) {
        return FOVEA_TWICE_NONE;
    }
    return whole == NEVER ? FOVEA_TWICE_SOME : FOVEA_TWICE_ALL;
}
