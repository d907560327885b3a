// SPDX-License-Identifier: Apache-2.0
// ops/attention_explain.c - the facts of an attention plan, and their reasons, in one line.
#include "ops/attention.h"
#include "ops/facts.h"
#include <stdio.h>

// What is prefetched, and where to.
static const char *fetched(const struct fovea_attention_facts *facts)
{
    static const char *const words[] = {
        [FOVEA_ASKS_NOTHING] = "",
        [FOVEA_ASKS_BESIDE] = ", from beyond L2, not asked for ahead",
        [FOVEA_ASKS_ONCE] = ", from beyond L2",
        [FOVEA_ASKS_SOME_TWICE] = ", from beyond L2, some of it asked for twice",
        [FOVEA_ASKS_ALL_TWICE] = ", from beyond L2, all of it asked for twice",
    };
    return !facts->prefill  ? words[facts->blocks[0].asks]
           : facts->into_l1 ? ", fetched into L1"
           : facts->far     ? ", fetched ahead"
                            : "";
}

void fovea_attention_say(const struct fovea_attention_layout *plan, char *text, size_t size)
{
    static const char *const into[] = {[FOVEA_INTO_L2] = "",
                                       [FOVEA_INTO_L1] = ", prefetched into L1",
                                       [FOVEA_INTO_L2_PARTS] = ", prefetched in parts"};
    const struct fovea_attention_desc *const d = &plan->desc;
    struct fovea_attention_facts f;
    fovea_attention_facts(plan, &f);
    snprintf(text, size,
             "attention: batch %zu, heads %zu/%zu, %zux%zu, dims %zu and %zu, f32%s%s%s%s, k in %s%s%s%s%s%s, kernel "
             "%s, %zu task%s of %zu row%s%s%s, shared %zu B, scratch %zu B",
             d->batch, d->heads, d->kv_heads, d->q_len, d->kv_len, d->qk_dim, d->v_dim,
             d->scoring == FOVEA_SCORING_ADDITIVE ? ", additive" : "", d->causal ? ", causal" : "",
             d->mask ? ", mask" : "", d->bias ? ", bias" : "", d->k_layout == FOVEA_K_PANELS ? "panels" : "rows",
             d->page_keys ? " of pages" : "", f.copy_k ? ", k copied" : "", f.copy_v ? ", v copied" : "", fetched(&f),
             into[f.blocks[0].into], f.kernel, f.tasks, f.tasks == 1 ? "" : "s", f.rows, f.rows == 1 ? "" : "s",
             f.each > 1 ? " and more that share keys" : "", f.few != 0 ? ", the last few of a head as in decoding" : "",
             plan->work.shared_bytes, plan->work.scratch_bytes);
}

void fovea_attention_reasons(const struct fovea_attention_layout *plan, char *text, size_t size)
{
    static const char *const widths[] = {
        [FOVEA_HEADS_64] = "at most 64", [FOVEA_HEADS_128] = "65 to 128", [FOVEA_HEADS_WIDE] = "more than 128"};
    const size_t qk_dim = plan->desc.qk_dim, v_dim = plan->desc.v_dim, wide = qk_dim > v_dim ? qk_dim : v_dim;
    snprintf(text, size, "a head has %zu element%s: %s", wide, wide == 1 ? "" : "s",
             widths[fovea_heads_of(qk_dim, v_dim)]);
}

enum fovea_status fovea_explain_attention(const struct fovea_engine *engine, const struct fovea_attention_desc *desc,
                                          char *text, size_t text_size)
{
    const struct fovea_why why = {text, text_size};
    struct fovea_attention_layout plan;
    char what[640];
    FOVEA_TRY(fovea_attention_make(engine, desc, &plan, &why));
    fovea_attention_say(&plan, what, sizeof what);
    fovea_say(&why, "%s", what);
    return FOVEA_OK;
}
