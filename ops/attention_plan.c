// SPDX-License-Identifier: Apache-2.0
// ops/attention_plan.c - validates an attention problem, and counts its memory and tasks.
#include "ops/attention.h"
#include <math.h>
#include <string.h>

enum fovea_status fovea_attention_desc_init(struct fovea_attention_desc *desc, size_t size)
{
    FOVEA_CHECK(desc != NULL, FOVEA_ERR_NULL);
    FOVEA_CHECK(size == sizeof *desc, FOVEA_ERR_STRUCT);
    memset(desc, 0, sizeof *desc);
    desc->struct_size = sizeof *desc;
    desc->scale = FOVEA_SCALE_DEFAULT;
    desc->window_left = desc->window_right = FOVEA_WINDOW_ALL;
    return FOVEA_OK;
}

// *elements = the extent of a tensor whose innermost rows are `row` long; 0 if it is empty.
static bool extent(const struct fovea_attention_axis *axes, size_t count, size_t row, size_t *elements)
{
    size_t step = 0, last = row;
    for (size_t i = 0; i < count; i++) {
        if (axes[i].size == 0) {
            *elements = 0;
            return true;
        }
        if (!fovea_mul(axes[i].size - 1, axes[i].stride, &step) || !fovea_add(last, step, &last)) {
            return false;
        }
    }
    *elements = last;
    return true;
}

// size: bytes of an element.
static enum fovea_status check_extent(const char *name, const struct fovea_attention_axis *axes, size_t count,
                                      size_t row, size_t size, const struct fovea_why *why)
{
    size_t elements = 0, bytes = 0;
    FOVEA_REQUIRE(extent(axes, count, row, &elements) && fovea_mul(elements, size, &bytes), FOVEA_ERR_OVERFLOW, why,
                  "attention: %s does not fit in memory", name);
    return FOVEA_OK;
}

// Checks a tensor of rows of `dim` elements.
static enum fovea_status check_rows(const char *name, const struct fovea_attention_desc *d,
                                    const struct fovea_strides *strides, size_t heads, size_t len, size_t dim,
                                    size_t size, const struct fovea_why *why)
{
    const struct fovea_attention_axis axes[3] = {
        {d->batch, strides->batch}, {heads, strides->head}, {len, strides->row}};
    FOVEA_REQUIRE(strides->row >= dim || strides->row == 0, FOVEA_ERR_STRIDE, why,
                  "attention: %s.row is %zu, less than the %zu elements of a row", name, strides->row, dim);
    return check_extent(name, axes, 3, dim, size, why);
}

// For K or V in pages it is only checked that one page fits in memory; only the table of a call knows how many there
// are.
static struct fovea_attention_desc one_page(const struct fovea_attention_desc *d)
{
    struct fovea_attention_desc page = *d;
    if (d->page_keys != 0) {
        page.batch = fovea_min(d->batch, 1);
        page.kv_len = d->page_keys;
    }
    return page;
}

static enum fovea_status check_k(const struct fovea_attention_desc *d, const struct fovea_why *why)
{
    const size_t size = fovea_type_bytes(d->kv_type);
    if (d->k_layout == FOVEA_K_ROWS) {
        FOVEA_REQUIRE(d->k.row != 0, FOVEA_ERR_STRIDE, why,
                      "attention: k.row is 0, less than the %zu elements of a row: k_layout is FOVEA_K_ROWS",
                      d->qk_dim);
        return check_rows("k", d, &d->k, d->kv_heads, d->kv_len, d->qk_dim, size, why);
    }
    const size_t panels = fovea_ceil_div(d->kv_len, FOVEA_PANEL), panel = FOVEA_PANEL * d->qk_dim;
    const struct fovea_attention_axis axes[3] = {{d->batch, d->k.batch}, {d->kv_heads, d->k.head}, {panels, panel}};
    return check_extent("k", axes, 3, panel, size, why);
}

size_t fovea_attention_within(const struct fovea_attention_axis axes[3], size_t of, size_t row)
{
    const size_t stride = axes[of].stride;
    for (size_t i = 0; i < 3; i++) {
        const bool inner = axes[i].stride < stride || (axes[i].stride == stride && i < of);
        row += inner && axes[i].size > 1 ? (axes[i].size - 1) * axes[i].stride : 0;
    }
    return row;
}

enum fovea_status fovea_attention_check_out(const struct fovea_attention_desc *d, const struct fovea_why *why)
{
    static const char *const names[3] = {"batch", "head", "row"};
    const struct fovea_attention_axis axes[3] = {
        {d->batch, d->out.batch}, {d->heads, d->out.head}, {d->q_len, d->out.row}};
    FOVEA_TRY(check_extent("out", axes, 3, d->v_dim, sizeof(float), why));
    for (size_t i = 0; i < 3 && d->batch != 0 && d->heads != 0 && d->q_len != 0; i++) {
        const size_t within = fovea_attention_within(axes, i, d->v_dim);
        FOVEA_REQUIRE(axes[i].size == 1 || axes[i].stride >= within, FOVEA_ERR_STRIDE, why,
                      "attention: rows of out overlap: out.%s is %zu, within which lie %zu elements", names[i],
                      axes[i].stride, within);
    }
    return FOVEA_OK;
}

enum fovea_status fovea_attention_check_inputs(const struct fovea_attention_desc *d, const struct fovea_why *why)
{
    FOVEA_TRY(check_rows("q", d, &d->q, d->heads, d->q_len, d->qk_dim, sizeof(float), why));
    const struct fovea_attention_desc page = one_page(d);
    FOVEA_TRY(check_k(&page, why));
    return check_rows("v", &page, &d->v, d->kv_heads, page.kv_len, d->v_dim, fovea_type_bytes(d->kv_type), why);
}

static enum fovea_status check_shape(const struct fovea_attention_desc *d, const struct fovea_why *why)
{
    FOVEA_REQUIRE(d->heads == 0 || d->heads % d->kv_heads == 0, FOVEA_ERR_SHAPE, why,
                  "attention: heads %zu is no multiple of kv_heads %zu", d->heads, d->kv_heads);
    const struct fovea_size dims[] = {{"qk_dim", d->qk_dim}, {"v_dim", d->v_dim}};
    const struct fovea_size lengths[] = {{"q_len", d->q_len}, {"kv_len", d->kv_len}};
    FOVEA_TRY(
        fovea_check_within(dims, FOVEA_COUNT(dims), 1, FOVEA_ATTENTION_DIM_MAX, FOVEA_ERR_SHAPE, "attention", why));
    return fovea_check_within(lengths, FOVEA_COUNT(lengths), 0, UINT32_MAX, FOVEA_ERR_OVERFLOW, "attention", why);
}

// The masks, the map of blocks and the bias.
static enum fovea_status check_masks(const struct fovea_attention_desc *d, const struct fovea_why *why)
{
    FOVEA_REQUIRE(!d->blocks || (d->block_rows != 0 && d->block_keys != 0), FOVEA_ERR_SHAPE, why,
                  "attention: block_rows is %zu, block_keys %zu: both are at least 1", d->block_rows, d->block_keys);
    const bool bits = d->mask == FOVEA_MASK_BITS;
    const struct fovea_attention_axis mask[4] = {
        {d->batch, d->mask_batch},
        {d->heads, d->mask_head},
        {d->q_len, d->mask_row},
        {bits ? fovea_ceil_div(d->kv_len, 8) : d->kv_len, bits ? 1 : d->mask_key}};
    const struct fovea_attention_axis blocks[4] = {
        {d->batch, d->blocks_batch},
        {d->heads, d->blocks_head},
        {d->blocks ? fovea_ceil_div(d->q_len, d->block_rows) : 0, d->blocks_row},
        {d->blocks ? fovea_ceil_div(d->kv_len, d->block_keys) : 0, 1}};
    const struct fovea_attention_axis bias[4] = {
        {d->batch, d->bias_batch}, {d->heads, d->bias_head}, {d->q_len, d->bias_row}, {d->kv_len, d->bias_key}};
    FOVEA_TRY(d->mask ? check_extent("mask", mask, 4, 1, 1, why) : FOVEA_OK);
    FOVEA_TRY(d->blocks ? check_extent("blocks", blocks, 4, 1, 1, why) : FOVEA_OK);
    return d->bias ? check_extent("bias", bias, 4, 1, sizeof(float), why) : FOVEA_OK;
}

enum fovea_status fovea_attention_check_scores(float scale, float softcap, const char *whole,
                                               const struct fovea_why *why)
{
    FOVEA_REQUIRE(isfinite(scale), FOVEA_ERR_VALUE, why, "%s: scale is not finite", whole);
    FOVEA_REQUIRE(softcap == 0 || (isfinite(softcap) && softcap > 0 && isfinite(1.0f / softcap)), FOVEA_ERR_VALUE, why,
                  "%s: softcap is %g, not above 0 with a finite inverse", whole, (double)softcap);
    return FOVEA_OK;
}

static enum fovea_status check_desc(const struct fovea_attention_desc *d, const struct fovea_why *why)
{
    const struct fovea_size flags[] = {{"causal", d->causal},
                                       {"bias", d->bias},
                                       {"segments", d->segments},
                                       {"blocks", d->blocks},
                                       {"statistics", d->statistics}};
    FOVEA_TRY(fovea_check_flags(flags, FOVEA_COUNT(flags), "attention", why));
    const struct fovea_limit enums[] = {{"mask", (unsigned)d->mask, FOVEA_MASK_BITS},
                                        {"k_layout", (unsigned)d->k_layout, FOVEA_K_PANELS},
                                        {"kv_type", (unsigned)d->kv_type, FOVEA_F16},
                                        {"kv_len_kind", (unsigned)d->kv_len_kind, FOVEA_KV_LEN_BATCH_ROW},
                                        {"scoring", (unsigned)d->scoring, FOVEA_SCORING_ADDITIVE}};
    FOVEA_TRY(fovea_check_enums(enums, FOVEA_COUNT(enums), "attention", why));
    FOVEA_REQUIRE(d->page_keys == 0 || (d->page_keys % FOVEA_PANEL == 0 && d->page_keys <= UINT32_MAX &&
                                        (FOVEA_CHUNK % d->page_keys == 0 || d->page_keys % FOVEA_CHUNK == 0)),
                  FOVEA_ERR_VALUE, why, "attention: page_keys is %zu, neither 16, 32 or 64 nor a multiple of 128",
                  d->page_keys);
    FOVEA_TRY(fovea_attention_check_scores(d->scale, d->softcap, "attention", why));
    FOVEA_REQUIRE(d->scoring == FOVEA_SCORING_DOT || d->scale == FOVEA_SCALE_DEFAULT, FOVEA_ERR_VALUE, why,
                  "attention: additive scores have no scale");
    FOVEA_REQUIRE(d->dropout >= 0 && d->dropout < 1, FOVEA_ERR_VALUE, why,
                  "attention: dropout is %g, not at least 0 and below 1", (double)d->dropout);
    FOVEA_TRY(check_shape(d, why));
    FOVEA_TRY(fovea_attention_check_inputs(d, why));
    FOVEA_TRY(fovea_attention_check_out(d, why));
    return check_masks(d, why);
}

static size_t splits_of(const struct fovea_attention_layout *plan)
{
    return fovea_max(fovea_ceil_div(plan->desc.kv_len, FOVEA_SPLIT), 1);
}

// Counts the tasks of a call whose entries have q_len queries, at the plan's kv_len. There are most at the plan's
// capacities, except for a block that heads of fewer queries may have, and no more than one for each row and split.
static enum fovea_status count(const struct fovea_attention_layout *plan, size_t q_len, const struct fovea_why *why)
{
    const struct fovea_attention_desc *const d = &plan->desc;
    size_t rows = 0;
    FOVEA_REQUIRE(fovea_mul(plan->group, q_len, &rows), FOVEA_ERR_OVERFLOW, why,
                  "attention: heads / kv_heads %zu x q_len %zu overflow", plan->group, q_len);
    const struct fovea_attention_grid grid = fovea_attention_grid(plan, d->batch, q_len, d->kv_len);
    const size_t tiles = grid.tiles + (grid.prefill ? plan->group : 0);
    const size_t of_head = fovea_min(fovea_product(fovea_product(d->batch, tiles), grid.splits),
                                     fovea_product(fovea_product(plan->group, plan->rows), splits_of(plan)));
    FOVEA_REQUIRE(fovea_product(grid.heads, of_head) <= UINT32_MAX, FOVEA_ERR_OVERFLOW, why,
                  "attention: batch, heads, q_len and kv_len make more tasks than 32 bits count");
    return FOVEA_OK;
}

// Counts the states that decoding keeps in shared memory. They are a small part of the cache they are computed from:
// per 1024 keys and query head as many rows as do not use prefill, fewer than 64 of an entry.
static enum fovea_status place_states(struct fovea_attention_layout *plan, const struct fovea_why *why)
{
    const struct fovea_attention_desc *const d = &plan->desc;
    const size_t queries = fovea_min(plan->rows, fovea_product(d->batch, plan->few)), splits = splits_of(plan);
    size_t floats = 0;
    // A single split is finished where it is computed.
    FOVEA_REQUIRE(fovea_mul(queries, d->heads, &floats) && fovea_mul(floats, splits > 1 ? splits : 0, &floats) &&
                      fovea_mul(floats, plan->row_floats, &floats) &&
                      fovea_mul(floats, sizeof(float), &plan->work.shared_bytes),
                  FOVEA_ERR_OVERFLOW, why, "attention: shared memory for kv_len %zu overflows", d->kv_len);
    plan->query_floats = queries == 0 ? 0 : floats / queries;
    return FOVEA_OK;
}

// For every 8th entry of a ragged batch the first task numbers of two phases are stored after the states.
static enum fovea_status place_landmarks(struct fovea_attention_layout *plan, const struct fovea_why *why)
{
    const struct fovea_attention_desc *const d = &plan->desc;
    const bool computes = d->batch != 0 && d->heads != 0 && d->q_len != 0; // then each entry has at least one task
    plan->landmarks_at = plan->work.shared_bytes / sizeof(float);
    plan->landmarks = computes ? (d->batch - 1) / FOVEA_ATTENTION_LANDMARK : 0;
    plan->work.phases = plan->landmarks == 0 ? FOVEA_ATTENTION_PHASES - 1 : FOVEA_ATTENTION_PHASES;
    size_t bytes = 0;
    FOVEA_REQUIRE(fovea_add(plan->work.shared_bytes, 2 * plan->landmarks * sizeof(uint32_t), &bytes) &&
                      fovea_add(bytes, FOVEA_ALIGNMENT, &bytes),
                  FOVEA_ERR_OVERFLOW, why, "attention: shared memory for batch %zu overflows", d->batch);
    plan->work.shared_bytes = fovea_round_up(bytes - FOVEA_ALIGNMENT, FOVEA_ALIGNMENT);
    return FOVEA_OK;
}

// Lays out a worker's scratch; the sizes of tasks are already known.
static void lay_out(struct fovea_attention_layout *plan)
{
    const struct fovea_attention_desc *const d = &plan->desc;
    const size_t tile = plan->kernels->attention_prefill.queries, block = plan->kernels->attention_decode.queries;
    const size_t tile_state = fovea_attention_state_floats(true, tile, tile, d->v_dim);
    const size_t block_state = fovea_attention_state_floats(false, block, block, d->v_dim);
    const size_t chunk = FOVEA_CHUNK * (d->qk_dim + d->v_dim);
    // Elements of 16 bits are copied by decoding, too, where a mask scatters the keys that are seen.
    const bool gathers =
        fovea_attention_gathers(plan, plan->prefills) || (d->kv_type != FOVEA_F32 && fovea_attention_is_masked(d));
    plan->q_floats = tile * d->qk_dim;
    plan->block_q_floats = block * d->qk_dim;
    plan->state_floats = fovea_max(fovea_max(tile_state, block_state), FOVEA_CHUNK * block) + plan->statistics * tile;
    plan->dense_at = fovea_round_up(fovea_attention_scratch(d->qk_dim, d->v_dim), FOVEA_PANEL);
    plan->compact_at = plan->dense_at + (gathers ? chunk : 0);
    plan->q_at = plan->compact_at + (fovea_attention_compacts(plan) ? chunk : 0);
    plan->states_at =
        plan->q_at + fovea_max(plan->tiles_most * plan->q_floats, plan->blocks_most * plan->block_q_floats);
    plan->block_state_floats = block_state + plan->statistics * block;
    // Room for two states of a tile is also room for those of two splits of a block.
    plan->copy_at = plan->states_at + fovea_max(2 * plan->tiles_most * plan->state_floats,
                                                fovea_max(plan->blocks_most, 2) * plan->block_state_floats);
    plan->pointers_at = plan->copy_at + fovea_attention_copy_floats(plan);
    const size_t pointers = plan->kernels->attention_prefill.fetches ? FOVEA_ATTENTION_POINTERS : 0;
    plan->tiles_at = plan->pointers_at + pointers * sizeof(float *) / sizeof(float);
    plan->work.scratch_bytes =
        plan->tiles_at * sizeof(float) +
        fovea_round_up(fovea_max(plan->tiles_most, plan->blocks_most) * sizeof(struct fovea_attention_tile),
                       FOVEA_ALIGNMENT);
}

float fovea_attention_default_scale(const struct fovea_attention_desc *desc)
{
    return desc->scoring == FOVEA_SCORING_ADDITIVE ? 1.0f : 1.0f / sqrtf((float)desc->qk_dim);
}

enum fovea_status fovea_attention_make(const struct fovea_engine *engine, const struct fovea_attention_desc *desc,
                                       struct fovea_attention_layout *plan, const struct fovea_why *why)
{
    FOVEA_REQUIRE_POINTERS("attention", why, {"engine", engine}, {"desc", desc});
    FOVEA_REQUIRE(desc->struct_size == sizeof *desc, FOVEA_ERR_STRUCT, why, "attention: struct_size is %u, not %zu",
                  (unsigned)desc->struct_size, sizeof *desc);
    struct fovea_attention_desc own = *desc;
    own.kv_heads = desc->kv_heads != 0 ? desc->kv_heads : desc->heads;
    FOVEA_TRY(check_desc(&own, why));
    const struct fovea_kernels *const kernels = fovea_engine_kernels(engine);
    *plan = (struct fovea_attention_layout){
        .kernels = kernels,
        .tuning = &kernels->tuning.attention[fovea_heads_of(desc->qk_dim, desc->v_dim)],
        .desc = own,
        .group = own.kv_heads == 0 ? 0 : own.heads / own.kv_heads,
        .statistics = desc->statistics ? 3 : 0,
        .row_floats = 2 + (desc->statistics ? 2 : 0) + desc->v_dim,
        .rows = fovea_most_rows(desc->batch, desc->q_len, desc->rows),
    };
    plan->prefill = desc->k_layout == FOVEA_K_ROWS ? plan->tuning->prefill_rows : plan->tuning->prefill;
    plan->few = fovea_min(desc->q_len, plan->prefill - 1);
    plan->prefills = desc->q_len > plan->few;
    plan->tiles_most = fovea_min(plan->tuning->tiles, FOVEA_ATTENTION_TILES_MAX);
    plan->blocks_most = FOVEA_ATTENTION_TILES_MAX;
    plan->tiles_most =
        plan->prefills ? fovea_attention_grid(plan, desc->batch, desc->q_len, desc->kv_len).each_most : 1;
    plan->blocks_most = fovea_attention_grid(plan, desc->batch, plan->few, desc->kv_len).each_most;
    if (desc->scale == FOVEA_SCALE_DEFAULT) {
        plan->desc.scale = fovea_attention_default_scale(desc);
    }
    plan->cap_inverse = desc->softcap != 0 ? 1.0f / desc->softcap : 0;
    plan->keep_scale = 1.0f / (1.0f - desc->dropout);
    plan->threshold = (uint32_t)((double)desc->dropout * 0x1p32);
    plan->work.kind = FOVEA_PLAN_ATTENTION;
    lay_out(plan);
    FOVEA_TRY(count(plan, plan->few, why));
    FOVEA_TRY(plan->prefills ? count(plan, desc->q_len, why) : FOVEA_OK);
    FOVEA_TRY(place_states(plan, why));
    return place_landmarks(plan, why);
}

size_t fovea_attention_plan_size(void)
{
    return fovea_round_up(sizeof(struct fovea_attention_layout), FOVEA_ALIGNMENT);
}

enum fovea_status fovea_attention_plan(const struct fovea_engine *engine, const struct fovea_attention_desc *desc,
                                       void *plan)
{
    FOVEA_CHECK(plan != NULL, FOVEA_ERR_NULL);
    FOVEA_CHECK(fovea_aligned(plan), FOVEA_ERR_ALIGN);
    struct fovea_attention_layout made;
    FOVEA_TRY(fovea_attention_make(engine, desc, &made, NULL));
    *(struct fovea_attention_layout *)plan = made;
    return FOVEA_OK;
}
