// SPDX-License-Identifier: Apache-2.0
// ops/attention_explain.c - the facts of an attention plan, and their reasons, in one line; and what a call adds.
#include "ops/attention.h"
#include "ops/facts.h"
#include "ops/pack.h"
#include <math.h>
#include <stdio.h>

// What is prefetched, and where to.
static const char *fetched(const struct fovea_attention_facts *facts)
{
    static const char *const words[] = {
        [FOVEA_ASKS_NOTHING] = "",
        [FOVEA_ASKS_BESIDE] = ", from beyond L2, not asked for ahead",
        [FOVEA_ASKS_IN_CASE] = ", asked for ahead in case it is beyond L2",
        [FOVEA_ASKS_ONCE] = ", from beyond L2",
        [FOVEA_ASKS_SOME_TWICE] = ", from beyond L2, some of it asked for twice",
        [FOVEA_ASKS_ALL_TWICE] = ", from beyond L2, all of it asked for twice",
    };
    return !facts->prefill  ? words[facts->blocks[0].asks]
           : facts->into_l1 ? ", fetched into L1"
           : facts->far     ? ", fetched ahead"
                            : "";
}

// Windows and blocks, of two numbers each.
static void say_pairs(const struct fovea_attention_desc *d, const struct fovea_why *why)
{
    const bool left = d->window_left != FOVEA_WINDOW_ALL, right = d->window_right != FOVEA_WINDOW_ALL;
    if (left) {
        fovea_say_more(why, ", window %zu left", d->window_left);
    }
    if (right) {
        fovea_say_more(why, left ? ", %zu right" : ", window %zu right", d->window_right);
    }
    if (d->blocks) {
        fovea_say_more(why, ", blocks %zux%zu", d->block_rows, d->block_keys);
    }
}

// Which tensors are read again and again, as a stride of theirs is 0. Of pages only the table knows how many there are.
static void say_broadcast(const struct fovea_attention_desc *d, const struct fovea_why *why)
{
    enum { AXES = 4 };
    static const char *const over[AXES] = {"batch", "heads", "rows", "keys"};
    const bool paged = d->page_keys != 0, panels = d->k_layout == FOVEA_K_PANELS;
    const size_t batch = d->batch, heads = d->heads, kv_heads = d->kv_heads, rows = d->q_len, keys = d->kv_len;
    const struct {
        const char *name;
        bool asked;
        size_t size[AXES], stride[AXES];
    } tensors[] = {
        {"q", true, {batch, heads, rows}, {d->q.batch, d->q.head, d->q.row}},
        {"k", true, {paged ? 1 : batch, kv_heads, panels ? 1 : keys}, {d->k.batch, d->k.head, d->k.row}},
        {"v", true, {paged ? 1 : batch, kv_heads, keys}, {d->v.batch, d->v.head, d->v.row}},
        {"mask",
         d->mask != FOVEA_MASK_NONE,
         {batch, heads, rows, d->mask == FOVEA_MASK_BITS ? 1 : keys},
         {d->mask_batch, d->mask_head, d->mask_row, d->mask_key}},
        {"bias", d->bias, {batch, heads, rows, keys}, {d->bias_batch, d->bias_head, d->bias_row, d->bias_key}},
        {"blocks",
         d->blocks,
         {batch, heads, d->blocks ? fovea_ceil_div(rows, d->block_rows) : 0},
         {d->blocks_batch, d->blocks_head, d->blocks_row}},
    };
    const bool none = batch == 0 || heads == 0 || rows == 0 || keys == 0; // strides made of sizes are 0 then
    for (size_t t = 0; t < FOVEA_COUNT(tensors) && !none; t++) {
        bool begun = !tensors[t].asked;
        for (size_t axis = 0; axis < AXES && tensors[t].asked; axis++) {
            if (tensors[t].size[axis] > 1 && tensors[t].stride[axis] == 0) {
                fovea_say_more(why, begun ? " and %s%s" : ", %s broadcast over %s", begun ? "" : tensors[t].name,
                               over[axis]);
                begun = true;
            }
        }
    }
}

// Which inputs have rows that overlap, as where the strides of heads and rows were exchanged. Nothing forbids it, but
// few mean it. Stride 0 is a broadcast.
static void say_overlaps(const struct fovea_attention_desc *d, const struct fovea_why *why)
{
    enum { AXES = 3 };
    const bool panels = d->k_layout == FOVEA_K_PANELS, pages = d->page_keys != 0;
    const size_t batch = pages ? 1 : d->batch, keys = pages ? d->page_keys : d->kv_len;
    const size_t k_rows = panels ? fovea_ceil_div(keys, FOVEA_PANEL) : keys;
    const size_t k_row = panels ? FOVEA_PANEL * d->qk_dim : d->qk_dim;
    const struct {
        const char *name;
        size_t row;
        struct fovea_attention_axis axes[AXES];
    } tensors[] = {
        {"q", d->qk_dim, {{d->batch, d->q.batch}, {d->heads, d->q.head}, {d->q_len, d->q.row}}},
        {"k", k_row, {{batch, d->k.batch}, {d->kv_heads, d->k.head}, {k_rows, panels ? k_row : d->k.row}}},
        {"v", d->v_dim, {{batch, d->v.batch}, {d->kv_heads, d->v.head}, {keys, d->v.row}}},
    };
    for (size_t t = 0; t < FOVEA_COUNT(tensors); t++) {
        const struct fovea_attention_axis *const axes = tensors[t].axes;
        bool overlap = false;
        for (size_t i = 0; i < AXES; i++) {
            overlap |= axes[i].size > 1 && axes[i].stride != 0 &&
                       axes[i].stride < fovea_attention_within(axes, i, tensors[t].row);
        }
        if (overlap) {
            fovea_say_more(why, ", rows of %s overlap", tensors[t].name);
        }
    }
}

void fovea_attention_say_asked(const struct fovea_attention_desc *d, const struct fovea_why *why)
{
    static const char *const lengths[] = {"", "lengths by batch", "lengths by row"};
    static const char *const masks[] = {"", "mask bytes", "mask bits"};
    const struct fovea_asked asked[] = {
        {d->scoring == FOVEA_SCORING_ADDITIVE, "additive", NAN},
        {d->causal, "causal", NAN},
        {d->scale != fovea_attention_default_scale(d), "scale", (double)d->scale},
        {d->softcap != 0, "softcap", (double)d->softcap},
        {d->dropout != 0, "dropout", (double)d->dropout},
        {d->kv_len_kind != FOVEA_KV_LEN_ALL, lengths[d->kv_len_kind], NAN},
        {d->mask != FOVEA_MASK_NONE, masks[d->mask], NAN},
        {d->bias, "bias", NAN},
        {d->segments, "segments", NAN},
        {d->statistics, "statistics", NAN},
    };
    fovea_say_asked(why, asked, FOVEA_COUNT(asked));
    say_pairs(d, why);
    say_broadcast(d, why);
}

void fovea_attention_say(const struct fovea_attention_layout *plan, char *text, size_t size)
{
    static const char *const into[] = {[FOVEA_INTO_L2] = "",
                                       [FOVEA_INTO_L1] = ", prefetched into L1",
                                       [FOVEA_INTO_L2_PARTS] = ", prefetched in parts"};
    const struct fovea_attention_desc *const d = &plan->desc;
    const struct fovea_why line = {text, size};
    const struct fovea_asked asked[] = {{d->page_keys != 0, "in pages of", (double)d->page_keys},
                                        {d->rows != 0, "rows", (double)d->rows}};
    struct fovea_attention_facts f;
    fovea_attention_facts(plan, &f);
    fovea_say(&line, "attention: batch %zu, heads %zu/%zu, %zux%zu, dims %zu and %zu, f32", d->batch, d->heads,
              d->kv_heads, d->q_len, d->kv_len, d->qk_dim, d->v_dim);
    fovea_attention_say_asked(d, &line);
    say_overlaps(d, &line);
    fovea_say_more(&line, ", k in %s", d->k_layout == FOVEA_K_PANELS ? "panels" : "rows");
    if (d->kv_type != FOVEA_F32) {
        fovea_say_more(&line, ", k and v of %s", fovea_type_names[d->kv_type]);
    }
    fovea_say_asked(&line, asked, FOVEA_COUNT(asked));
    fovea_say_more(
        &line, "%s%s%s%s, kernel %s, %zu task%s of %zu row%s%s%s, shared_bytes %zu, scratch_bytes %zu",
        f.copy_k ? ", k copied" : "", f.copy_v ? ", v copied" : "", fetched(&f), into[f.blocks[0].into], f.kernel,
        f.tasks, f.tasks == 1 ? "" : "s", f.rows, f.rows == 1 ? "" : "s", f.each > 1 ? " and more that share keys" : "",
        f.few != 0 ? ", the last few of a head as in decoding" : "", plan->work.shared_bytes, plan->work.scratch_bytes);
    const struct fovea_size sizes[] = {{"batch", d->batch}, {"heads", d->heads}, {"q_len", d->q_len}};
    fovea_say_nothing(&line, sizes, FOVEA_COUNT(sizes));
}

void fovea_attention_reasons(const struct fovea_attention_layout *plan, char *text, size_t size)
{
    static const char *const widths[] = {
        [FOVEA_HEADS_64] = "at most 64", [FOVEA_HEADS_128] = "65 to 128", [FOVEA_HEADS_WIDE] = "more than 128"};
    const size_t qk_dim = plan->desc.qk_dim, v_dim = plan->desc.v_dim, wide = fovea_max(qk_dim, v_dim);
    snprintf(text, size, "a head has %zu element%s: %s", wide, wide == 1 ? "" : "s",
             widths[fovea_heads_of(qk_dim, v_dim)]);
}

enum fovea_status fovea_explain_attention(const struct fovea_engine *engine, const struct fovea_attention_desc *desc,
                                          char *text, size_t text_size)
{
    const struct fovea_why why = {text, text_size};
    struct fovea_attention_layout plan;
    FOVEA_TRY(fovea_attention_make(engine, desc, &plan, &why));
    fovea_attention_say(&plan, text, text_size);
    return FOVEA_OK;
}

// The last row of the first entry, where it does not see all keys: that tells a wrong position or length.
static void say_seen(const struct fovea_attention_layout *plan, const struct fovea_attention_args *args,
                     const struct fovea_why *why)
{
    size_t strides[4];
    const struct fovea_attention_args entry =
        args->q_starts != NULL ? fovea_attention_entry(plan, args, 0, strides) : *args;
    if (entry.q_len == 0 || entry.kv_len == 0) {
        return;
    }
    const struct fovea_attention_range seen = fovea_attention_seen(plan, &entry, 0, entry.q_len - 1);
    const char *const of = args->batch > 1 ? " of entry 0" : "";
    if (seen.begin == seen.end) {
        fovea_say_more(why, ", the last row%s sees no key", of);
    } else if (seen.begin != 0 || seen.end != entry.kv_len) {
        fovea_say_more(why, ", the last row%s sees keys %zu to %zu", of, seen.begin, seen.end - 1);
    }
}

enum fovea_status fovea_explain_attention_call(const void *plan, const struct fovea_attention_args *args, char *text,
                                               size_t text_size)
{
    const struct fovea_why why = {text, text_size};
    FOVEA_TRY(fovea_attention_check_call(plan, args, &why));
    fovea_say(&why, "attention: batch %zu, q_len %zu, kv_len %zu, q_offset %lld", args->batch, args->q_len,
              args->kv_len, (long long)args->q_offset);
    const struct fovea_attention_desc *const d = &((const struct fovea_attention_layout *)plan)->desc;
    const bool apart = args->batch > 1 && args->q_starts == NULL && args->batch_strides == NULL;
    const bool placed = d->causal || d->window_left != FOVEA_WINDOW_ALL || d->window_right != FOVEA_WINDOW_ALL;
    const struct fovea_asked asked[] = {
        {args->q_offsets != NULL, "q_offsets", NAN},
        {placed && args->batch > 1 && args->kv_past != NULL && args->q_offsets == NULL, "one q_offset", NAN},
        {args->kv_past != NULL, "kv_past and new keys", args->kv_new_queries ? NAN : (double)args->kv_new},
        {args->q_starts != NULL, "ragged", NAN},
        {apart && (args->q_len < d->q_len || args->kv_len < d->kv_len), "batch strides as planned", NAN},
        {d->page_keys != 0 && args->batch > 1 && args->pages_batch == 0, "one table of pages", NAN},
        {args->lse != NULL, "lse", NAN},
        {args->slopes != NULL, "ALiBi", NAN},
        {args->sinks != NULL, "sinks", NAN},
        {args->live_heads != NULL, "live heads", (double)args->live_count},
        {args->eval != 0, "no dropout", NAN},
    };
    const struct fovea_size sizes[] = {{"args.batch", args->batch}, {"args.q_len", args->q_len}, {"heads", d->heads}};
    fovea_say_asked(&why, asked, FOVEA_COUNT(asked));
    fovea_say_nothing(&why, sizes, FOVEA_COUNT(sizes));
    const bool rows = fovea_find_zero(sizes, FOVEA_COUNT(sizes)) == NULL;
    if (rows && args->kv_len == 0) {
        fovea_say_more(&why, ", no row sees a key: args.kv_len is 0");
    } else if (rows) {
        say_seen(plan, args, &why);
    }
    fovea_say_unchecked(&why, plan);
    return FOVEA_OK;
}
