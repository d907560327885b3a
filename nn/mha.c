// SPDX-License-Identifier: Apache-2.0
// nn/mha.c - runs multi-head attention: the args of each part of a call, and appending to the cache.
#include "nn/mha.h"
#include "ops/once.h"
#include "ops/pack.h"

#include <stdio.h>

// The rows of keys a call projects.
static size_t new_rows(const struct mha_plan *plan, const struct fovea_mha_args *args)
{
    return plan->desc.keys == FOVEA_MHA_CACHED ? 0 : args->kv_len;
}

// The keys its queries may see.
static size_t seen_keys(const struct mha_plan *plan, const struct fovea_mha_args *args)
{
    return plan->desc.keys == FOVEA_MHA_APPEND ? args->position + args->kv_len : args->kv_len;
}

static float *activation(void *shared, size_t offset)
{
    return shared ? (float *)(void *)((char *)shared + offset) : NULL;
}

static struct fovea_gemm_args linear(const struct fovea_linear *weights, const float *x, float *y, size_t rows)
{
    return (struct fovea_gemm_args){.a = x, .b = weights->weight, .c = y, .bias = weights->bias, .m = rows};
}

// The batch strides of q, k, v and o: what was projected lies densely by the lengths of this call, a cache by its
// capacity.
static void batch_strides(const struct mha_plan *plan, const struct fovea_mha_args *args, size_t *strides)
{
    const struct fovea_mha_desc *const desc = &plan->desc;
    struct fovea_strides k = {desc->heads * args->kv_len * desc->qk_dim, 0, 0};
    struct fovea_strides v = {desc->heads * args->kv_len * desc->v_dim, 0, 0};
    if (desc->keys != FOVEA_MHA_PROJECT)
        fovea_kv_cache_strides(args->cache, &k, &v);
    strides[0] = desc->heads * args->q_len * desc->qk_dim;
    strides[1] = k.batch;
    strides[2] = v.batch;
    strides[3] = desc->heads * args->q_len * desc->v_dim;
}

static struct fovea_attention_args attention(const struct mha_plan *plan, const struct fovea_mha_args *args,
                                             void *shared)
{
    const struct fovea_mha_desc *const desc = &plan->desc;
    struct fovea_attention_args a = {.batch = args->batch, .q_len = args->q_len, .kv_len = seen_keys(plan, args)};
    a.q = activation(shared, plan->q);
    a.out = activation(shared, plan->o);
    if (desc->keys == FOVEA_MHA_PROJECT) {
        a.k = activation(shared, plan->k);
        a.v = activation(shared, plan->v);
    } else {
        a.k = args->cache->k;
        a.v = args->cache->v;
    }
    a.q_offset = (int64_t)args->position;
    a.kv_lens = args->kv_lens;
    a.mask = args->mask;
    a.seed = args->seed + args->site;
    a.eval = args->eval;
    return a;
}

// The append part takes the args of the whole call, with key and value pointing to what was projected.
static struct fovea_mha_args append(const struct mha_plan *plan, const struct fovea_mha_args *args, void *shared)
{
    struct fovea_mha_args a = *args;
    a.key = activation(shared, plan->k);
    a.value = activation(shared, plan->v);
    return a;
}

void fovea_mha_part_args(const void *composite, const void *call, void *shared, uint32_t part,
                         struct fovea_part_args *out)
{
    const struct mha_plan *const plan = composite;
    const struct fovea_mha_args *const args = call;
    const size_t q_rows = args->batch * args->q_len, kv_rows = args->batch * new_rows(plan, args);
    const struct fovea_mha_weights *const w = args->weights;
    switch ((enum mha_part)plan->part_of[part]) {
    case MHA_Q:
        out->gemm = linear(&w->q, args->query, activation(shared, plan->q), q_rows);
        break;
    case MHA_K:
        out->gemm = linear(&w->k, args->key, activation(shared, plan->k), kv_rows);
        break;
    case MHA_V:
        out->gemm = linear(&w->v, args->value, activation(shared, plan->v), kv_rows);
        break;
    case MHA_APPEND_KV:
        out->mha = append(plan, args, shared);
        break;
    case MHA_ATTENTION:
        batch_strides(plan, args, out->batch_strides);
        out->attention = attention(plan, args, shared);
        out->attention.batch_strides = out->batch_strides;
        break;
    case MHA_DROP:
        out->rowwise = (struct fovea_rowwise_args){.x = activation(shared, plan->y),
                                                   .x2 = args->residual,
                                                   .y = args->out,
                                                   .rows = q_rows,
                                                   .seed = args->seed,
                                                   .site = args->site,
                                                   .eval = args->eval};
        break;
    default:
        out->gemm = linear(&w->o, activation(shared, plan->o),
                           plan->desc.out_dropout != 0 ? activation(shared, plan->y) : args->out, q_rows);
        out->gemm.residual = plan->desc.out_dropout != 0 ? NULL : args->residual;
        break;
    }
}

static uint32_t begin_append(struct fovea_job *job)
{
    return (uint32_t)((const struct fovea_mha_args *)job->args)->batch;
}

static void append_task(const struct fovea_job *job, void *scratch, uint32_t b)
{
    (void)scratch;
    const struct fovea_mha_args *const args = job->args;
    const struct fovea_kv_cache *const c = args->cache;
    const struct fovea_strides k = {0, c->qk_dim, c->kv_heads * c->qk_dim}, v = {0, c->v_dim, c->kv_heads * c->v_dim};
    const size_t first = b * args->kv_len;
    fovea_kv_append(c, b, args->position, args->kv_len, args->key + first * k.row, k, args->value + first * v.row, v);
}

const struct fovea_operator fovea_mha_append_operator = {.begin = begin_append, .task = append_task};

static enum fovea_status check_cache(const struct mha_plan *plan, const struct fovea_mha_args *args, const char *whole,
                                     const struct fovea_why *why)
{
    const struct fovea_mha_desc *const d = &plan->desc;
    const struct fovea_kv_cache *const cache = args->cache;
    FOVEA_REQUIRE(cache && cache->k && cache->v, FOVEA_ERR_NULL, why, "%s: the cache, its k or its v is NULL", whole);
    FOVEA_REQUIRE(cache->struct_size == sizeof *cache, FOVEA_ERR_STRUCT, why,
                  "%s: the cache's struct_size is %u, not %zu", whole, (unsigned)cache->struct_size, sizeof *cache);
    FOVEA_REQUIRE(cache->k_rows <= 1, FOVEA_ERR_ENUM, why, "%s: the cache's k_rows is %u, neither 0 nor 1", whole,
                  (unsigned)cache->k_rows);
    FOVEA_REQUIRE(cache->k_rows == 0, FOVEA_ERR_UNSUPPORTED, why, "%s: the cache has K in rows, not in panels", whole);
    FOVEA_REQUIRE(cache->batch >= args->batch, FOVEA_ERR_SHAPE, why,
                  "%s: the cache's batch %zu is below the call's %zu", whole, cache->batch, args->batch);
    FOVEA_REQUIRE(cache->kv_heads == d->heads && cache->capacity == d->kv_len && cache->qk_dim == d->qk_dim &&
                      cache->v_dim == d->v_dim,
                  FOVEA_ERR_SHAPE, why,
                  "%s: the cache has %zu heads of %zu and %zu and a capacity of %zu, the plan %zu of %zu and %zu, %zu",
                  whole, cache->kv_heads, cache->qk_dim, cache->v_dim, cache->capacity, d->heads, d->qk_dim, d->v_dim,
                  d->kv_len);
    struct fovea_strides k, v;
    FOVEA_REQUIRE(fovea_kv_cache_strides(cache, &k, &v) == FOVEA_OK, FOVEA_ERR_OVERFLOW, why,
                  "%s: the cache does not fit in memory", whole); // a batch that overflows
    return FOVEA_OK;
}

enum fovea_status fovea_linear_check(const struct fovea_linear *linear, size_t inputs, size_t outputs,
                                     const char *whole, const char *part, const struct fovea_why *why)
{
    FOVEA_REQUIRE(linear->weight, FOVEA_ERR_NULL, why, "%s: the weight of %s is NULL", whole, part);
    FOVEA_REQUIRE(fovea_aligned(linear->weight), FOVEA_ERR_ALIGN, why, "%s: the blob of %s is not 64-byte aligned",
                  whole, part);
    if (!fovea_blob_matches(linear->weight, inputs, outputs)) {
        char name[64];
        snprintf(name, sizeof name, "%s: the weight of %s", whole, part);
        fovea_blob_tell(why, name, linear->weight, inputs, outputs);
        return FOVEA_ERR_FORMAT;
    }
    return FOVEA_OK;
}

// The sizes of a call and its cache.
static enum fovea_status check_sizes(const struct mha_plan *plan, const struct fovea_mha_args *args, const char *whole,
                                     const struct fovea_why *why)
{
    const struct fovea_mha_desc *const d = &plan->desc;
    const size_t new_max = d->keys == FOVEA_MHA_APPEND ? d->new_len : d->kv_len;
    FOVEA_REQUIRE(args->kv_len <= new_max, FOVEA_ERR_SHAPE, why, "%s: %zu keys are more than the plan's %zu", whole,
                  args->kv_len, new_max);
    FOVEA_REQUIRE(args->position <= PTRDIFF_MAX - args->kv_len, FOVEA_ERR_SHAPE, why, "%s: position %zu is too large",
                  whole, args->position);
    if (d->keys == FOVEA_MHA_PROJECT)
        return FOVEA_OK;
    FOVEA_REQUIRE(d->keys == FOVEA_MHA_CACHED || seen_keys(plan, args) <= d->kv_len, FOVEA_ERR_SHAPE, why,
                  "%s: %zu keys at position %zu are more than the cache's %zu", whole, args->kv_len, args->position,
                  d->kv_len);
    return check_cache(plan, args, whole, why);
}

// What a descriptor asks for, and a call then must have; what it did not ask for would silently be missing.
#define ASKED_FOR(name, asked)                                                                                         \
    FOVEA_REQUIRE(!(asked) || args->name, FOVEA_ERR_NULL, why, "%s: args." #name " is NULL, but the plan asks for it", \
                  whole);                                                                                              \
    FOVEA_REQUIRE((asked) || !args->name, FOVEA_ERR_VALUE, why, "%s: args." #name " is given, but the plan has none",  \
                  whole);

enum fovea_status fovea_mha_check(const struct mha_plan *plan, const struct fovea_mha_args *args, const char *whole,
                                  const struct fovea_why *why)
{
    FOVEA_REQUIRE(plan && args, FOVEA_ERR_NULL, why, "%s: plan or args is NULL", whole);
    FOVEA_REQUIRE(fovea_is_plan(plan, FOVEA_PLAN_MHA), FOVEA_ERR_STRUCT, why, "%s: the plan is none of mha", whole);
    const struct fovea_mha_desc *const d = &plan->desc;
    FOVEA_REQUIRE(args->batch <= d->batch && args->q_len <= d->q_len, FOVEA_ERR_SHAPE, why,
                  "%s: batch %zu and %zu queries are more than the plan's %zu and %zu", whole, args->batch, args->q_len,
                  d->batch, d->q_len);
    if (args->batch == 0)
        return FOVEA_OK;
    FOVEA_TRY(check_sizes(plan, args, whole, why));
    const struct fovea_mha_weights *const w = args->weights;
    FOVEA_REQUIRE(w, FOVEA_ERR_NULL, why, "%s: args.weights is NULL", whole);
    const size_t qk = d->heads * d->qk_dim, v = d->heads * d->v_dim;
    if (args->q_len) {
        FOVEA_REQUIRE(args->query && args->out, FOVEA_ERR_NULL, why, "%s: args.query or out is NULL", whole);
        FOVEA_REQUIRE(!d->residual || args->residual, FOVEA_ERR_NULL, why,
                      "%s: args.residual is NULL, but the plan asks for it", whole);
        FOVEA_TRY(fovea_linear_check(&w->q, d->query_width, qk, whole, "q", why));
        FOVEA_TRY(fovea_linear_check(&w->o, v, d->out_width, whole, "o", why));
    }
    if (new_rows(plan, args)) {
        FOVEA_REQUIRE(args->key && args->value, FOVEA_ERR_NULL, why, "%s: args.key or value is NULL", whole);
        FOVEA_TRY(fovea_linear_check(&w->k, d->key_width, qk, whole, "k", why));
        FOVEA_TRY(fovea_linear_check(&w->v, d->value_width, v, whole, "v", why));
    }
    ASKED_FOR(kv_lens, d->kv_len_kind != FOVEA_KV_LEN_ALL)
    ASKED_FOR(mask, d->mask != FOVEA_MASK_NONE)
    FOVEA_REQUIRE(d->residual || !args->residual, FOVEA_ERR_VALUE, why,
                  "%s: args.residual is given, but the plan has none", whole);
    return FOVEA_OK;
}
#undef ASKED_FOR

enum fovea_status fovea_explain_mha_call(const void *plan, const struct fovea_mha_args *args, char *text,
                                         size_t text_size)
{
    const struct fovea_why why = {text, text_size};
    FOVEA_TRY(fovea_mha_check(plan, args, "mha", &why));
    fovea_say(&why, "mha: batch %zu, q_len %zu, kv_len %zu, position %zu", args->batch, args->q_len, args->kv_len,
              args->position);
    return FOVEA_OK;
}

enum fovea_status fovea_mha(const void *plan, const struct fovea_mha_args *args, void *shared, void *scratch,
                            const struct fovea_executor *executor)
{
    FOVEA_TRY(fovea_mha_check(plan, args, "mha", NULL));
    if (args->batch == 0)
        return FOVEA_OK; // its pointers may be NULL
    return fovea_run(&fovea_composite_operator, plan, args, shared, scratch, executor);
}

uint32_t fovea_mha_tasks(const void *plan, const struct fovea_mha_args *args, uint32_t phase)
{
    if (fovea_mha_check(plan, args, "mha", NULL) || args->batch == 0)
        return 0;
    return fovea_count_tasks(&fovea_composite_operator, plan, args, phase);
}

enum fovea_status fovea_mha_task(const void *plan, const struct fovea_mha_args *args, void *shared, void *scratch,
                                 uint32_t phase, uint32_t task)
{
    FOVEA_TRY(fovea_mha_check(plan, args, "mha", NULL));
    FOVEA_CHECK(args->batch != 0, FOVEA_ERR_SHAPE);
    return fovea_run_task(&fovea_composite_operator, plan, args, shared, scratch, phase, task);
}

FOVEA_ONCE(mha)
