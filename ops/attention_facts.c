// SPDX-License-Identifier: Apache-2.0
// ops/attention_facts.c - the facts of an attention plan, number by number.
#include "ops/attention.h"
#include "ops/facts.h"
#include "ops/widen.h"
#include <string.h>

// A call with all queries and keys.
static struct fovea_attention_args whole(const struct fovea_attention_layout *plan)
{
    const struct fovea_attention_desc *const d = &plan->desc;
    return (struct fovea_attention_args){.batch = d->batch, .q_len = d->q_len, .kv_len = d->kv_len};
}

// follows: as fovea_attention_block_follows, for a block among tiles.
static enum fovea_attention_asks asks_of(const struct fovea_attention_layout *plan, size_t rows, bool follows)
{
    static const enum fovea_attention_asks asks[] = {[FOVEA_TWICE_NONE] = FOVEA_ASKS_ONCE,
                                                     [FOVEA_TWICE_SOME] = FOVEA_ASKS_SOME_TWICE,
                                                     [FOVEA_TWICE_ALL] = FOVEA_ASKS_ALL_TWICE};
    const struct fovea_attention_args args = whole(plan);
    const bool copies = fovea_attention_gathers(plan, false);
    return copies || follows ? FOVEA_ASKS_NOTHING
           : !fovea_attention_decode_is_far(plan, &args)
               ? fovea_attention_is_busy(plan, rows) ? FOVEA_ASKS_IN_CASE : FOVEA_ASKS_NOTHING
           : fovea_attention_is_beside(plan, rows) && plan->desc.page_keys == 0
               ? FOVEA_ASKS_BESIDE
               : asks[fovea_attention_asks_twice(plan, rows)];
}

static const char *decode_kernel(const struct fovea_attention_layout *plan)
{
    const bool copies = fovea_attention_gathers(plan, false);
    return fovea_decode_of(plan->kernels, copies ? FOVEA_F32 : plan->desc.kv_type)->name;
}

static struct fovea_attention_block_facts block_of(const struct fovea_attention_layout *plan, size_t rows, bool follows)
{
    const enum fovea_attention_asks asks = asks_of(plan, rows, follows);
    return (struct fovea_attention_block_facts){.kernel = decode_kernel(plan),
                                                .rows = rows,
                                                .asks = asks,
                                                .into = asks > FOVEA_ASKS_BESIDE ? plan->tuning->decode_into : 0};
}

void fovea_attention_facts(const struct fovea_attention_layout *plan, struct fovea_attention_facts *facts)
{
    const struct fovea_attention_desc *const d = &plan->desc;
    const struct fovea_attention_grid grid = fovea_attention_grid(plan, d->batch, d->q_len, d->kv_len);
    memset(facts, 0, sizeof *facts);
    facts->prefill = grid.prefill;
    facts->rows = fovea_min(grid.rows, grid.most);
    facts->each = grid.each;
    facts->tasks = fovea_attention_grid_tasks(&grid, d->batch, FOVEA_ATTENTION_COMPUTE);
    if (!grid.prefill) {
        const size_t last = grid.rows % grid.most;
        facts->kernel = decode_kernel(plan);
        facts->blocks[0] = block_of(plan, facts->rows, false);
        if (grid.rows > grid.most && last != 0) {
            facts->blocks[1] = block_of(plan, last, false);
        }
        return;
    }
    const struct fovea_prefill_kernel *const kernel = &plan->kernels->attention_prefill;
    const struct fovea_attention_copies copies = fovea_attention_copies(plan, grid.each);
    const struct fovea_attention_args args = whole(plan);
    facts->kernel = kernel->name;
    facts->copy_k = copies.k;
    facts->copy_v = copies.v;
    facts->far = fovea_attention_prefill_fetches(plan, &args);
    facts->into_l1 =
        facts->far && plan->tuning->into_l1 && kernel->l1_queries != 0 && facts->rows >= kernel->l1_queries;
    facts->few = grid.few;
    if (grid.few != 0) {
        facts->blocks[1] = block_of(plan, grid.few, fovea_attention_block_follows(plan, &args, &grid));
    }
}

bool fovea_attention_same(const struct fovea_attention_layout *a, const struct fovea_attention_layout *b)
{
    struct fovea_attention_facts of_a, of_b;
    fovea_attention_facts(a, &of_a);
    fovea_attention_facts(b, &of_b);
    return memcmp(&of_a, &of_b, sizeof of_a) == 0;
}

uint32_t fovea_attention_class_of(const struct fovea_attention_layout *plan)
{
    return fovea_attention_number(fovea_heads_of(plan->desc.qk_dim, plan->desc.v_dim));
}
