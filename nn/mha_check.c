// SPDX-License-Identifier: Apache-2.0
// nn/mha_check.c - validates a call of multi-head attention, and says what is wrong with it.
#include "nn/mha.h"
#include "ops/pack.h"

#include <math.h>
#include <stdio.h>

const struct mha_words fovea_mha_words = {.whole = "mha",
                                          .q_len = "q_len",
                                          .query = "query",
                                          .cache = "cache",
                                          .pool = "pool",
                                          .new_len = "new_len",
                                          .capacity = "kv_len"};

// A size of a cache or a pool that has to be the plan's, whose name there is the same.
struct planned {
    const char *name;
    size_t value, planned;
};

static enum fovea_status check_planned(const struct planned *sizes, size_t count, const char *of, const char *whole,
                                       const struct fovea_why *why)
{
    for (size_t i = 0; i < count; i++)
        FOVEA_REQUIRE(sizes[i].value == sizes[i].planned, FOVEA_ERR_SHAPE, why,
                      "%s: args.%s->%s is %zu, not the plan's %zu", whole, of, sizes[i].name, sizes[i].value,
                      sizes[i].planned);
    return FOVEA_OK;
}

// How a cache or a pool has its keys: in panels, of elements of the plan's type.
static enum fovea_status check_layout(uint32_t k_rows, enum fovea_type type, enum fovea_type planned, const char *of,
                                      const char *whole, const struct fovea_why *why)
{
    FOVEA_REQUIRE(k_rows <= 1, FOVEA_ERR_ENUM, why, "%s: args.%s->k_rows is %u, neither 0 nor 1", whole, of,
                  (unsigned)k_rows);
    FOVEA_REQUIRE((unsigned)type <= FOVEA_F16, FOVEA_ERR_ENUM, why, "%s: args.%s->type is %u, not within 0 to %d",
                  whole, of, (unsigned)type, FOVEA_F16);
    FOVEA_REQUIRE(k_rows == 0, FOVEA_ERR_UNSUPPORTED, why, "%s: args.%s has K in rows, not in panels", whole, of);
    FOVEA_REQUIRE(type == planned, FOVEA_ERR_FORMAT, why, "%s: args.%s has %s elements, not %s", whole, of,
                  fovea_type_names[type], fovea_type_names[planned]);
    return FOVEA_OK;
}

static enum fovea_status check_cache(const struct mha_plan *plan, const struct fovea_mha_args *args,
                                     const struct mha_words *words, const struct fovea_why *why)
{
    const struct fovea_mha_desc *const d = &plan->desc;
    const struct fovea_kv_cache *const cache = args->cache;
    const char *const whole = words->whole, *const of = words->cache;
    FOVEA_REQUIRE(cache, FOVEA_ERR_NULL, why, "%s: args.%s is NULL", whole, of);
    FOVEA_REQUIRE(cache->struct_size == sizeof *cache, FOVEA_ERR_STRUCT, why, "%s: args.%s->struct_size is %u, not %zu",
                  whole, of, (unsigned)cache->struct_size, sizeof *cache);
    FOVEA_REQUIRE(cache->k && cache->v, FOVEA_ERR_NULL, why, "%s: args.%s->%s is NULL", whole, of,
                  cache->k ? "v" : "k");
    FOVEA_TRY(check_layout(cache->k_rows, cache->type, d->kv_type, of, whole, why));
    FOVEA_REQUIRE(cache->batch >= args->batch, FOVEA_ERR_SHAPE, why, "%s: args.%s->batch is %zu, below the call's %zu",
                  whole, of, cache->batch, args->batch);
    FOVEA_REQUIRE(cache->capacity == d->kv_len, FOVEA_ERR_SHAPE, why,
                  "%s: args.%s->capacity is %zu, not the plan's %s, %zu", whole, of, cache->capacity, words->capacity,
                  d->kv_len);
    const struct planned sizes[] = {{"kv_heads", cache->kv_heads, plan->kv_heads},
                                    {"qk_dim", cache->qk_dim, d->qk_dim},
                                    {"v_dim", cache->v_dim, d->v_dim}};
    FOVEA_TRY(check_planned(sizes, FOVEA_COUNT(sizes), of, whole, why));
    struct fovea_strides k, v;
    FOVEA_REQUIRE(fovea_kv_cache_strides(cache, &k, &v) == FOVEA_OK, FOVEA_ERR_OVERFLOW, why,
                  "%s: args.%s does not fit in memory", whole, of); // the batch overflows
    return FOVEA_OK;
}

// The pool, and that it has the pages of the keys that are appended.
static enum fovea_status check_pool(const struct mha_plan *plan, const struct fovea_mha_args *args,
                                    const struct mha_words *words, const struct fovea_why *why)
{
    const struct fovea_mha_desc *const d = &plan->desc;
    const struct fovea_kv_pages *const pool = args->pool;
    const char *const whole = words->whole, *const of = words->pool;
    FOVEA_REQUIRE(pool && args->pages, FOVEA_ERR_NULL, why, "%s: args.%s is NULL", whole, pool ? "pages" : of);
    FOVEA_REQUIRE(pool->struct_size == sizeof *pool, FOVEA_ERR_STRUCT, why, "%s: args.%s->struct_size is %u, not %zu",
                  whole, of, (unsigned)pool->struct_size, sizeof *pool);
    FOVEA_REQUIRE(pool->k && pool->v, FOVEA_ERR_NULL, why, "%s: args.%s->%s is NULL", whole, of, pool->k ? "v" : "k");
    FOVEA_TRY(check_layout(pool->k_rows, pool->type, d->kv_type, of, whole, why));
    const struct planned sizes[] = {{"page_keys", pool->page_keys, d->page_keys},
                                    {"kv_heads", pool->kv_heads, plan->kv_heads},
                                    {"qk_dim", pool->qk_dim, d->qk_dim},
                                    {"v_dim", pool->v_dim, d->v_dim}};
    FOVEA_TRY(check_planned(sizes, FOVEA_COUNT(sizes), of, whole, why));
    struct fovea_strides k, v;
    FOVEA_REQUIRE(fovea_kv_pages_strides(pool, &k, &v) == FOVEA_OK, FOVEA_ERR_OVERFLOW, why,
                  "%s: args.%s does not fit in memory", whole, of);
    for (size_t b = 0; d->keys == FOVEA_MHA_APPEND && b < args->batch; b++) {
        const size_t position = args->positions ? args->positions[b] : args->position;
        const size_t news = fovea_mha_news(args, b);
        const size_t pages = news != 0 ? fovea_ceil_div(position + news, d->page_keys) : 0;
        const uint32_t *const table = args->pages + b * args->pages_batch;
        FOVEA_REQUIRE(args->batch == 1 || pages <= args->pages_batch, FOVEA_ERR_SHAPE, why,
                      "%s: entry %zu has %zu pages, more than args.pages_batch, %zu", whole, b, pages,
                      args->pages_batch);
        for (size_t page = position / d->page_keys; page < pages; page++)
            FOVEA_REQUIRE(table[page] < pool->pages, FOVEA_ERR_SHAPE, why,
                          "%s: args.pages[%zu] is %u, not below args.%s->pages, %zu", whole,
                          b * args->pages_batch + page, (unsigned)table[page], of, pool->pages);
    }
    return FOVEA_OK;
}

enum fovea_status fovea_linear_check(const struct fovea_linear *linear, enum fovea_type type, size_t inputs,
                                     size_t outputs, const char *whole, const char *part, const struct fovea_why *why)
{
    FOVEA_REQUIRE(linear->weight, FOVEA_ERR_NULL, why, "%s: the weight of %s is NULL", whole, part);
    FOVEA_REQUIRE(fovea_aligned(linear->weight), FOVEA_ERR_ALIGN, why,
                  "%s: the weight of %s is not 64-byte aligned, as a blob of fovea_pack is", whole, part);
    const struct fovea_operand operand = {type, inputs, outputs};
    const struct fovea_blob header = fovea_blob_header(operand);
    if (!fovea_blob_has(linear->weight, &header)) {
        char name[64];
        snprintf(name, sizeof name, "%s: the weight of %s", whole, part);
        fovea_blob_tell(why, name, linear->weight, operand);
        return FOVEA_ERR_FORMAT;
    }
    return FOVEA_OK;
}

// The position of a batch entry, as a reason names it.
struct place {
    char name[64];
};
static struct place place_of(const struct fovea_mha_args *args, size_t b)
{
    struct place place;
    if (args->positions)
        snprintf(place.name, sizeof place.name, "args.positions[%zu] is %zu", b, args->positions[b]);
    else
        snprintf(place.name, sizeof place.name, "args.position is %zu", args->position);
    return place;
}

// Checks the position of a batch entry: that its new keys fit into the cache, and that the tables of cosines and sines
// cover its queries and new keys.
static enum fovea_status check_position(const struct mha_plan *plan, const struct fovea_mha_args *args, size_t b,
                                        const char *whole, const struct fovea_why *why)
{
    const struct fovea_mha_desc *const d = &plan->desc;
    const bool appends = d->keys == FOVEA_MHA_APPEND;
    const size_t position = args->positions ? args->positions[b] : args->position, all = d->rotary_positions;
    const size_t news = fovea_mha_news(args, b), queries = args->starts && args->q_len ? news : args->q_len;
    FOVEA_REQUIRE(position <= PTRDIFF_MAX - news, FOVEA_ERR_SHAPE, why, "%s: %s, too large", whole,
                  place_of(args, b).name);
    FOVEA_REQUIRE(!appends || position + news <= d->kv_len, FOVEA_ERR_SHAPE, why,
                  "%s: %s, and %zu key%s from there on are more than the plan's kv_len, %zu", whole,
                  place_of(args, b).name, news, news == 1 ? "" : "s", d->kv_len);
    const size_t rows = appends ? fovea_max(queries, news) : queries;
    FOVEA_REQUIRE(d->rotary_dim == 0 || rows == 0 || (rows <= all && position <= all - rows), FOVEA_ERR_SHAPE, why,
                  "%s: %s, and %zu row%s from there on are more than the plan's rotary_positions, %zu", whole,
                  place_of(args, b).name, rows, rows == 1 ? "" : "s", all);
    return FOVEA_OK;
}

// Checks the rows of the sequences of a ragged batch.
static enum fovea_status check_starts(const struct mha_plan *plan, const struct fovea_mha_args *args,
                                      const struct mha_words *words, const struct fovea_why *why)
{
    const char *const whole = words->whole;
    const uint32_t *const starts = args->starts;
    const bool fills = args->q_len == 0 && plan->desc.keys != FOVEA_MHA_CACHED; // rows are keys alone
    const size_t most = fills ? args->kv_len : args->q_len;
    FOVEA_REQUIRE(starts[0] == 0, FOVEA_ERR_SHAPE, why, "%s: args.starts[0] is %u, not 0", whole, (unsigned)starts[0]);
    for (size_t b = 0; b < args->batch; b++) {
        FOVEA_REQUIRE(starts[b] <= starts[b + 1], FOVEA_ERR_SHAPE, why,
                      "%s: args.starts[%zu] is %u, below the %u before it", whole, b + 1, (unsigned)starts[b + 1],
                      (unsigned)starts[b]);
        FOVEA_REQUIRE(starts[b + 1] - starts[b] <= most, FOVEA_ERR_SHAPE, why,
                      "%s: entry %zu has %u rows, more than args.%s, %zu", whole, b,
                      (unsigned)(starts[b + 1] - starts[b]), fills ? "kv_len" : words->q_len, most);
    }
    FOVEA_REQUIRE(fills || plan->desc.keys == FOVEA_MHA_CACHED || args->kv_len == args->q_len, FOVEA_ERR_SHAPE, why,
                  "%s: args.kv_len is %zu, but args.q_len %zu: in a ragged batch a row is a query and a key", whole,
                  args->kv_len, args->q_len);
    FOVEA_REQUIRE(plan->desc.keys != FOVEA_MHA_APPEND || args->positions, FOVEA_ERR_NULL, why,
                  "%s: args.positions is NULL, but args.starts is given", whole);
    FOVEA_REQUIRE(!args->attn_weights, FOVEA_ERR_UNSUPPORTED, why, "%s: args.attn_weights of a ragged batch", whole);
    return FOVEA_OK;
}

// Checks the sizes of a call and its cache.
static enum fovea_status check_sizes(const struct mha_plan *plan, const struct fovea_mha_args *args,
                                     const struct mha_words *words, const struct fovea_why *why)
{
    const char *const whole = words->whole;
    const struct fovea_mha_desc *const d = &plan->desc;
    const size_t new_max = d->keys == FOVEA_MHA_APPEND ? d->new_len : d->kv_len;
    FOVEA_REQUIRE(args->kv_len <= new_max, FOVEA_ERR_SHAPE, why, "%s: args.kv_len is %zu, more than the plan's %s, %zu",
                  whole, args->kv_len, d->keys == FOVEA_MHA_APPEND ? "new_len" : "kv_len", new_max);
    FOVEA_REQUIRE(d->keys != FOVEA_MHA_PROJECT || !args->cache, FOVEA_ERR_VALUE, why,
                  "%s: args.cache is given, but the plan projects all keys", whole);
    FOVEA_REQUIRE(d->page_keys == 0 || !args->cache, FOVEA_ERR_VALUE, why,
                  "%s: args.cache is given, but the plan's keys are in pages", whole);
    FOVEA_REQUIRE(d->page_keys != 0 || (!args->pool && !args->pages), FOVEA_ERR_VALUE, why,
                  "%s: args.%s is given, but the plan has no page_keys", whole, args->pool ? "pool" : "pages");
    FOVEA_REQUIRE(!args->positions || args->position == 0, FOVEA_ERR_VALUE, why,
                  "%s: args.position is %zu, beside args.positions", whole, args->position);
    FOVEA_TRY(args->starts ? check_starts(plan, args, words, why) : FOVEA_OK);
    const struct fovea_limit rows[] = {{words->query, fovea_mha_q_rows(args), plan->q_rows},
                                       {"key", fovea_mha_new_rows(plan, args), plan->kv_rows}};
    for (size_t i = 0; i < FOVEA_COUNT(rows); i++)
        FOVEA_REQUIRE(rows[i].value <= rows[i].most, FOVEA_ERR_SHAPE, why,
                      "%s: args.%s has %zu rows, more than the plan's rows, %zu", whole, rows[i].name, rows[i].value,
                      rows[i].most);
    for (size_t b = 0; b < (args->positions || args->starts ? args->batch : 1); b++)
        FOVEA_TRY(check_position(plan, args, b, whole, why));
    return d->keys == FOVEA_MHA_PROJECT ? FOVEA_OK
           : d->page_keys != 0          ? check_pool(plan, args, words, why)
                                        : check_cache(plan, args, words, why);
}

// Checks live heads and returned weights.
static enum fovea_status check_more(const struct mha_plan *plan, const struct fovea_mha_args *args, const char *whole,
                                    const struct fovea_why *why)
{
    FOVEA_REQUIRE(plan->desc.need_weights || !args->attn_weights, FOVEA_ERR_VALUE, why,
                  "%s: args.attn_weights is given, but the plan has no need_weights", whole);
    const struct fovea_size flags[] = {{"args.eval", args->eval},
                                       {"args.average_weights", args->average_weights},
                                       {"args.dropped_weights", args->dropped_weights}};
    FOVEA_TRY(fovea_check_flags(flags, FOVEA_COUNT(flags), whole, why));
    for (size_t i = 1; i < FOVEA_COUNT(flags); i++)
        FOVEA_REQUIRE(args->attn_weights || !flags[i].value, FOVEA_ERR_VALUE, why,
                      "%s: %s is 1, but args.attn_weights is NULL", whole, flags[i].name);
    return fovea_attention_check_live(&plan->attention.desc, args->live_heads, args->live_count, whole, why);
}

// A call must provide what the descriptor asks for; providing what it did not ask for is an error, because it would
// silently be ignored.
#define ASKED_FOR(name, asked)                                                                                         \
    FOVEA_REQUIRE(!(asked) || args->name, FOVEA_ERR_NULL, why, "%s: args." #name " is NULL, but the plan asks for it", \
                  whole);                                                                                              \
    FOVEA_REQUIRE((asked) || !args->name, FOVEA_ERR_VALUE, why, "%s: args." #name " is given, but the plan has none",  \
                  whole);

enum fovea_status fovea_mha_check(const struct mha_plan *plan, const struct fovea_mha_args *args,
                                  const struct mha_words *words, const struct fovea_why *why)
{
    const char *const whole = words->whole;
    FOVEA_REQUIRE_POINTERS(whole, why, {"plan", plan}, {"args", args});
    FOVEA_REQUIRE(fovea_is_plan(plan, FOVEA_PLAN_MHA), FOVEA_ERR_STRUCT, why, "%s: the plan is not an mha plan", whole);
    const struct fovea_mha_desc *const d = &plan->desc;
    FOVEA_REQUIRE_LIMITS(whole, why, {"args.batch", args->batch, d->batch}, {"args.q_len", args->q_len, d->q_len});
    if (args->batch == 0)
        return FOVEA_OK;
    FOVEA_TRY(check_sizes(plan, args, words, why));
    const struct fovea_mha_weights *const w = args->weights;
    FOVEA_REQUIRE_POINTERS(whole, why, {"args.weights", w});
    FOVEA_REQUIRE(d->qk_norm || (!w->q_norm && !w->k_norm), FOVEA_ERR_VALUE, why,
                  "%s: the weights have %s, but the plan has no qk_norm", whole, w->q_norm ? "q_norm" : "k_norm");
    if (fovea_mha_q_rows(args)) {
        FOVEA_REQUIRE_POINTERS(whole, why, {"args.query", args->query}, {"args.out", args->out});
        FOVEA_REQUIRE(!d->residual || args->residual, FOVEA_ERR_NULL, why,
                      "%s: args.residual is NULL, but the plan asks for it", whole);
        FOVEA_TRY(fovea_linear_check(&w->q, d->weight_type, d->query_width, d->heads * d->qk_dim, whole, "q", why));
        FOVEA_TRY(fovea_linear_check(&w->o, d->weight_type, d->heads * d->v_dim, d->out_width, whole, "o", why));
    }
    if (fovea_mha_new_rows(plan, args)) {
        FOVEA_REQUIRE_POINTERS(whole, why, {"args.key", args->key}, {"args.value", args->value});
        FOVEA_TRY(fovea_linear_check(&w->k, d->weight_type, d->key_width, plan->kv_heads * d->qk_dim, whole, "k", why));
        FOVEA_TRY(
            fovea_linear_check(&w->v, d->weight_type, d->value_width, plan->kv_heads * d->v_dim, whole, "v", why));
    }
    ASKED_FOR(kv_lens, d->kv_len_kind != FOVEA_KV_LEN_ALL)
    ASKED_FOR(mask, d->mask != FOVEA_MASK_NONE)
    ASKED_FOR(bias, d->bias)
    ASKED_FOR(additive, d->scoring == FOVEA_SCORING_ADDITIVE)
    ASKED_FOR(rotary_cos, d->rotary_dim)
    ASKED_FOR(rotary_sin, d->rotary_dim)
    FOVEA_REQUIRE(d->residual || !args->residual, FOVEA_ERR_VALUE, why,
                  "%s: args.residual is given, but the plan has none", whole);
    return check_more(plan, args, whole, why);
}
#undef ASKED_FOR

enum fovea_status fovea_explain_mha_call(const void *plan, const struct fovea_mha_args *args, char *text,
                                         size_t text_size)
{
    const struct fovea_why why = {text, text_size};
    FOVEA_TRY(fovea_mha_check(plan, args, &fovea_mha_words, &why));
    const struct fovea_asked asked[] = {
        {args->starts != NULL, "rows", args->starts && args->batch ? (double)args->starts[args->batch] : 0},
        {args->slopes != NULL, "ALiBi", NAN},
        {args->sinks != NULL, "sinks", NAN},
        {args->live_heads != NULL, "live heads", (double)args->live_count},
        {args->attn_weights != NULL, args->average_weights ? "average weights" : "weights", NAN},
        {args->eval != 0, "no dropout", NAN},
    };
    const bool appends = ((const struct mha_plan *)plan)->desc.keys == FOVEA_MHA_APPEND;
    const struct fovea_size sizes[] = {{"args.batch", args->batch}, {"args.q_len", appends ? 1 : args->q_len}};
    fovea_say(&why, "mha: batch %zu, q_len %zu, kv_len %zu", args->batch, args->q_len, args->kv_len);
    fovea_say_positions(args->position, args->positions, args->batch, &why);
    fovea_say_asked(&why, asked, FOVEA_COUNT(asked));
    fovea_say_nothing(&why, sizes, FOVEA_COUNT(sizes));
    const bool writes = args->kv_len == 0 && fovea_find_zero(sizes, FOVEA_COUNT(sizes)) == NULL;
    if (writes && !appends)
        fovea_say_more(&why, ", no query sees a key: args.kv_len is 0");
    if (writes && appends)
        fovea_say_more(&why, ", nothing is appended, queries see what the cache has already: args.kv_len is 0");
    fovea_say_unchecked(&why, plan);
    return FOVEA_OK;
}
