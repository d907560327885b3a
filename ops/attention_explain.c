// SPDX-License-Identifier: Apache-2.0
// ops/attention_explain.c - says in one line what a plan of attention would do.
#include "ops/attention.h"

enum fovea_status fovea_explain_attention(const struct fovea_engine *engine, const struct fovea_attention_desc *desc,
                                          char *text, size_t text_size)
{
    const struct fovea_why why = {text, text_size};
    struct fovea_attention_layout plan;
    FOVEA_TRY(fovea_attention_make(engine, desc, &plan, &why));
    const struct fovea_attention_grid grid = fovea_attention_grid(&plan, desc->batch, desc->q_len, desc->kv_len);
    const struct fovea_attention_kernel *const kernel =
        grid.prefill ? &plan.kernels->attention_prefill : &plan.kernels->attention_decode;
    const struct fovea_attention_args all = {.batch = desc->batch, .q_len = desc->q_len, .kv_len = desc->kv_len};
    const bool far = fovea_attention_is_far(&plan, &all, grid.prefill);
    const bool into_l1 =
        far && grid.prefill && plan.tuning->into_l1 && kernel->mr != 0 && fovea_min(grid.rows, grid.most) >= kernel->mr;
    static const char *const twice[] = {", from beyond L2", ", from beyond L2, some of it asked for twice",
                                        ", from beyond L2, all of it asked for twice"}; // by fovea_attention_twice
    static const char *const into[] = {[FOVEA_INTO_L2] = "",
                                       [FOVEA_INTO_L1] = ", prefetched into L1",
                                       [FOVEA_INTO_L2_PARTS] = ", prefetched in parts"};
    const struct fovea_attention_copies copies =
        grid.prefill ? fovea_attention_copies(&plan, grid.each) : (struct fovea_attention_copies){false, false};
    const size_t tasks = desc->batch * grid.heads * fovea_ceil_div(grid.tiles, grid.each) * grid.splits;
    const size_t rows = fovea_min(grid.rows, grid.most);
    const bool beside = fovea_attention_is_beside(&plan, rows) && desc->page_keys == 0;
    fovea_say(
        &why,
        "attention: batch %zu, heads %zu/%zu, %zux%zu, dims %zu and %zu, f32%s%s%s%s, k in %s%s%s%s%s%s, kernel %s, "
        "%zu task%s of %zu row%s%s%s, shared %zu B, scratch %zu B",
        desc->batch, desc->heads, desc->kv_heads, desc->q_len, desc->kv_len, desc->qk_dim, desc->v_dim,
        desc->scoring == FOVEA_SCORING_ADDITIVE ? ", additive" : "", desc->causal ? ", causal" : "",
        desc->mask ? ", mask" : "", desc->bias ? ", bias" : "", desc->k_layout == FOVEA_K_PANELS ? "panels" : "rows",
        desc->page_keys ? " of pages" : "", copies.k ? ", k copied" : "", copies.v ? ", v copied" : "",
        into_l1        ? ", fetched into L1"
        : !far         ? ""
        : grid.prefill ? ", fetched ahead"
        : beside       ? ", from beyond L2, not asked for ahead"
                       : twice[fovea_attention_asks_twice(&plan, rows)],
        far && !grid.prefill && !beside ? into[plan.tuning->decode_into] : "", kernel->name, tasks,
        tasks == 1 ? "" : "s", rows, rows == 1 ? "" : "s", grid.each > 1 ? " and more that share keys" : "",
        grid.few != 0 ? ", the last few of a head as in decoding" : "", plan.work.shared_bytes,
        plan.work.scratch_bytes);
    return FOVEA_OK;
}
