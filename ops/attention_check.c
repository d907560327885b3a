// SPDX-License-Identifier: Apache-2.0
// ops/attention_check.c - validates a call of an attention plan, and says what is wrong with it.
#include "ops/attention.h"

struct fovea_attention_desc fovea_attention_all_queries(const struct fovea_attention_layout *plan,
                                                        const struct fovea_attention_args *args)
{
    struct fovea_attention_desc queries = fovea_attention_call(plan, args);
    if (args->q_starts == NULL) {
        return queries;
    }
    queries.batch = 1;
    queries.q_len = args->q_starts[args->batch];
    queries.kv_len = 0;
    return queries;
}

// Checks that entries [first, end) of a ragged batch, whose starts are those of queries ("q") or keys ("kv"), ascend
// and have at most `most` of these.
static enum fovea_status check_starts(const char *of, const uint32_t *starts, size_t first, size_t end, size_t most,
                                      const struct fovea_why *why)
{
    for (size_t b = first; b < end; b++) {
        FOVEA_REQUIRE(starts[b + 1] >= starts[b] && starts[b + 1] - starts[b] <= most, FOVEA_ERR_SHAPE, why,
                      "attention: args.%s_starts[%zu] is %u, [%zu] is %u: they ascend by at most args.%s_len, %zu", of,
                      b, (unsigned)starts[b], b + 1, (unsigned)starts[b + 1], of, most);
    }
    return FOVEA_OK;
}

// Checks the starts of the first `entries` entries (all or none), and their total extent.
static enum fovea_status check_ragged(const struct fovea_attention_layout *plan,
                                      const struct fovea_attention_args *args, size_t entries,
                                      const struct fovea_why *why)
{
    if (args->q_starts == NULL) {
        FOVEA_REQUIRE(args->kv_starts == NULL, FOVEA_ERR_NULL, why, "attention: args.kv_starts without q_starts");
        return FOVEA_OK;
    }
    FOVEA_TRY(check_starts("q", args->q_starts, 0, entries, args->q_len, why));
    const struct fovea_attention_desc queries = fovea_attention_all_queries(plan, args);
    FOVEA_TRY(fovea_attention_check_inputs(&queries, why));
    struct fovea_attention_desc keys = fovea_attention_call(plan, args);
    keys.q_len = 0;
    if (args->kv_starts != NULL) {
        FOVEA_REQUIRE(keys.page_keys == 0 && keys.k_layout == FOVEA_K_ROWS && args->kv_begin == 0,
                      FOVEA_ERR_UNSUPPORTED, why, "attention: args.kv_starts with pages, panels or kv_begin");
        FOVEA_TRY(check_starts("kv", args->kv_starts, 0, entries, args->kv_len, why));
        keys.batch = 1;
        keys.kv_len = args->kv_starts[args->batch];
    }
    return fovea_attention_check_inputs(&keys, why);
}

enum fovea_status fovea_attention_check_live(const struct fovea_attention_desc *d, const uint32_t *live, size_t count,
                                             const char *whole, const struct fovea_why *why)
{
    FOVEA_REQUIRE(live != NULL || count == 0, FOVEA_ERR_NULL, why, // without a list all heads are live
                  "%s: args.live_heads is NULL, but live_count is %zu", whole, count);
    for (size_t i = 0; live != NULL && i < count; i++) {
        FOVEA_REQUIRE(live[i] < d->heads, FOVEA_ERR_SHAPE, why, "%s: args.live_heads[%zu] is %u of %zu heads", whole, i,
                      (unsigned)live[i], d->heads);
        FOVEA_REQUIRE(i == 0 || live[i] > live[i - 1], FOVEA_ERR_VALUE, why,
                      "%s: args.live_heads[%zu] is %u, not above the %u before it", whole, i, (unsigned)live[i],
                      (unsigned)live[i - 1]);
    }
    return FOVEA_OK;
}

// What a call must provide if the descriptor asks for it. Providing what was not asked for is an error, because it
// would silently be ignored, above all a mask.
#define ASKED_FOR(X)                                                                                                   \
    X(kv_lens, d->kv_len_kind != FOVEA_KV_LEN_ALL)                                                                     \
    X(mask, d->mask != FOVEA_MASK_NONE)                                                                                \
    X(bias, d->bias)                                                                                                   \
    X(blocks, d->blocks)                                                                                               \
    X(q_segments, d->segments)                                                                                         \
    X(kv_segments, d->segments)                                                                                        \
    X(additive, d->scoring == FOVEA_SCORING_ADDITIVE)                                                                  \
    X(pages, d->page_keys != 0)
#define MAY_HAVE(X) X(entropy, d->statistics) X(max_weight, d->statistics) X(max_key, d->statistics)
#define NOT_MORE(name, asked)                                                                                          \
    FOVEA_REQUIRE((asked) || args->name == NULL, FOVEA_ERR_VALUE, why,                                                 \
                  "attention: args." #name " is given, but the plan has none");
#define NOT_LESS(name, asked)                                                                                          \
    FOVEA_REQUIRE(!(asked) || args->name != NULL, FOVEA_ERR_NULL, why,                                                 \
                  "attention: args." #name " is NULL, but the plan asks for it");

// entries: whether the entries of a ragged batch are checked one by one.
static enum fovea_status check_inputs(const struct fovea_attention_layout *plan,
                                      const struct fovea_attention_args *args, bool entries,
                                      const struct fovea_why *why)
{
    FOVEA_REQUIRE_POINTERS("attention", why, {"plan", plan}, {"args", args});
    FOVEA_REQUIRE(fovea_is_plan(plan, FOVEA_PLAN_ATTENTION), FOVEA_ERR_STRUCT, why,
                  "attention: the plan is not an attention plan");
    const struct fovea_attention_desc *const d = &plan->desc;
    FOVEA_REQUIRE_LIMITS("attention", why, {"args.batch", args->batch, d->batch}, {"args.q_len", args->q_len, d->q_len},
                         {"args.kv_len", args->kv_len, d->kv_len});
    const struct fovea_size flags[] = {{"args.eval", args->eval}, {"args.kv_new_queries", args->kv_new_queries}};
    FOVEA_TRY(fovea_check_flags(flags, FOVEA_COUNT(flags), "attention", why));
    if (args->batch == 0 || d->heads == 0) {
        return FOVEA_OK;
    }
    // No entry has more than q_len queries: none where that is 0.
    FOVEA_TRY(check_ragged(plan, args, entries ? args->batch : 0, why));
    const size_t rows =
        args->q_starts != NULL ? (size_t)args->q_starts[args->batch] - args->q_starts[0] : args->batch * args->q_len;
    FOVEA_REQUIRE(rows <= plan->rows, FOVEA_ERR_SHAPE, why,
                  "attention: args.%s %zu rows, more than the plan's rows, %zu",
                  args->q_starts != NULL ? "q_starts gives" : "batch and q_len give", rows, plan->rows);
    if (args->q_len == 0) {
        return FOVEA_OK;
    }
    FOVEA_REQUIRE(args->q != NULL, FOVEA_ERR_NULL, why, "attention: args.q is NULL");
    FOVEA_REQUIRE(args->kv_begin % FOVEA_PANEL == 0, FOVEA_ERR_ALIGN, why,
                  "attention: args.kv_begin %zu is no multiple of %d", args->kv_begin, (int)FOVEA_PANEL);
    if (args->batch_strides != NULL && args->q_starts == NULL) {
        const struct fovea_attention_desc call = fovea_attention_call(plan, args);
        FOVEA_TRY(fovea_attention_check_inputs(&call, why));
    }
    FOVEA_TRY(fovea_attention_check_live(d, args->live_heads, args->live_count, "attention", why));
    ASKED_FOR(NOT_MORE)
    MAY_HAVE(NOT_MORE)
    NOT_LESS(q_segments, d->segments) // read even without keys
    if (args->kv_len == 0) {
        return FOVEA_OK;
    }
    FOVEA_REQUIRE_POINTERS("attention", why, {"args.k", args->k}, {"args.v", args->v});
    ASKED_FOR(NOT_LESS)
    return FOVEA_OK;
}
#undef ASKED_FOR
#undef MAY_HAVE
#undef NOT_MORE
#undef NOT_LESS

static enum fovea_status check_call(const struct fovea_attention_layout *plan, const struct fovea_attention_args *args,
                                    bool entries, const struct fovea_why *why)
{
    FOVEA_TRY(check_inputs(plan, args, entries, why));
    if (args->batch == 0 || plan->desc.heads == 0 || args->q_len == 0) {
        return FOVEA_OK;
    }
    FOVEA_REQUIRE(args->out != NULL, FOVEA_ERR_NULL, why, "attention: args.out is NULL");
    if (args->batch_strides == NULL && args->q_starts == NULL) {
        return FOVEA_OK; // as the plan's
    }
    const struct fovea_attention_desc call = fovea_attention_all_queries(plan, args);
    return fovea_attention_check_out(&call, why);
}

enum fovea_status fovea_attention_check(const struct fovea_attention_layout *plan,
                                        const struct fovea_attention_args *args, const struct fovea_why *why)
{
    return check_inputs(plan, args, true, why);
}

enum fovea_status fovea_attention_check_call(const struct fovea_attention_layout *plan,
                                             const struct fovea_attention_args *args, const struct fovea_why *why)
{
    return check_call(plan, args, true, why);
}

enum fovea_status fovea_attention_check_whole(const struct fovea_attention_layout *plan,
                                              const struct fovea_attention_args *args)
{
    return check_call(plan, args, false, NULL);
}

// Starts of other entries are not trusted: the rows of this entry must be between the first start and the last.
enum fovea_status fovea_attention_check_entry(const struct fovea_attention_args *args, size_t b)
{
    FOVEA_TRY(check_starts("q", args->q_starts, b, b + 1, args->q_len, NULL));
    FOVEA_CHECK(args->q_starts[b] >= args->q_starts[0] && args->q_starts[b + 1] <= args->q_starts[args->batch],
                FOVEA_ERR_SHAPE);
    if (args->kv_starts == NULL) {
        return FOVEA_OK;
    }
    FOVEA_TRY(check_starts("kv", args->kv_starts, b, b + 1, args->kv_len, NULL));
    FOVEA_CHECK(args->kv_starts[b + 1] <= args->kv_starts[args->batch], FOVEA_ERR_SHAPE);
    return FOVEA_OK;
}
