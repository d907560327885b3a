// SPDX-License-Identifier: Apache-2.0
// nn/mha.c - runs multi-head attention: the args of each part of a call, and appending to the cache.
#include "nn/mha.h"
#include "ops/kv_cache.h"
#include "ops/once.h"

static float *activation(void *shared, size_t offset)
{
    return shared ? (float *)(void *)((char *)shared + offset) : NULL;
}

static struct fovea_gemm_args linear(const struct fovea_linear *weights, const float *x, float *y, size_t rows)
{
    return (struct fovea_gemm_args){.a = x, .b = weights->weight, .c = y, .bias = weights->bias, .m = rows};
}

// In place.
static struct fovea_rowwise_args norm(const float *gamma, float *x, size_t rows)
{
    return (struct fovea_rowwise_args){.x = x, .gamma = gamma, .y = x, .rows = rows};
}

// In place, sequences of `len` rows, from those of the call or from 0 on.
static struct fovea_rowwise_args rotate(const struct fovea_mha_args *args, float *x, size_t rows, bool from_0,
                                        size_t len)
{
    return (struct fovea_rowwise_args){.x = x,
                                       .y = x,
                                       .rows = rows,
                                       .cos = args->rotary_cos,
                                       .sin = args->rotary_sin,
                                       .position = from_0 ? 0 : args->position,
                                       .positions = from_0 ? NULL : args->positions,
                                       .len = len,
                                       .starts = args->starts,
                                       .sequences = args->batch};
}

// The batch strides of q, k, v and o: what was projected lies densely by the lengths of this call, a cache by its
// capacity.
static void batch_strides(const struct mha_plan *plan, const struct fovea_mha_args *args, size_t *strides)
{
    const struct fovea_mha_desc *const desc = &plan->desc;
    struct fovea_strides k = {plan->kv_heads * args->kv_len * desc->qk_dim, 0, 0};
    struct fovea_strides v = {plan->kv_heads * args->kv_len * desc->v_dim, 0, 0};
    if (desc->page_keys != 0)
        fovea_kv_pages_strides(args->pool, &k, &v);
    else if (desc->keys != FOVEA_MHA_PROJECT)
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
    struct fovea_attention_args a = {
        .batch = args->batch, .q_len = args->q_len, .kv_len = fovea_mha_seen_keys(plan, args)};
    a.q = activation(shared, plan->q);
    a.out = activation(shared, plan->o);
    a.q_starts = args->q_len != 0 ? args->starts : NULL;
    if (desc->keys == FOVEA_MHA_PROJECT) {
        a.k = activation(shared, plan->k);
        a.v = activation(shared, plan->v);
        a.kv_starts = a.q_starts;
    } else {
        a.k = desc->page_keys != 0 ? args->pool->k : args->cache->k;
        a.v = desc->page_keys != 0 ? args->pool->v : args->cache->v;
    }
    a.pages = args->pages;
    a.pages_batch = args->pages_batch;
    a.q_offset = (int64_t)args->position;
    a.q_offsets = (const int64_t *)args->positions; // the same type but for its sign, and checked to have none
    a.kv_past = desc->keys == FOVEA_MHA_APPEND ? args->positions : NULL;
    a.kv_new = args->kv_len;
    a.kv_new_queries = args->starts != NULL;
    a.kv_lens = args->kv_lens;
    a.mask = args->mask;
    a.bias = args->bias;
    a.additive = args->additive;
    a.slopes = args->slopes;
    a.sinks = args->sinks;
    a.live_heads = args->live_heads;
    a.live_count = args->live_count;
    a.lse = args->attn_weights != NULL ? activation(shared, plan->lse) : NULL;
    a.seed = args->seed + args->site;
    a.eval = args->eval;
    return a;
}

// The second pass of the same call. Of a call that wants no weights it has no keys.
static void returned(const struct mha_plan *plan, const struct fovea_mha_args *args, void *shared,
                     struct fovea_part_args *out)
{
    const size_t keys = fovea_mha_seen_keys(plan, args), of_head = args->q_len * keys;
    batch_strides(plan, args, out->batch_strides);
    out->call = attention(plan, args, shared);
    out->call.batch_strides = out->batch_strides;
    out->call.kv_len = args->attn_weights != NULL ? keys : 0;
    out->weights = (struct fovea_attention_weights_args){
        .call = &out->call,
        .dropped = args->dropped_weights,
        .average = args->average_weights,
        .weights = args->attn_weights,
        .strides = {args->average_weights ? of_head : plan->desc.heads * of_head, of_head, keys}};
    out->pass = fovea_attention_pass(&plan->attention, &out->weights);
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
    const size_t q_rows = fovea_mha_q_rows(args), kv_rows = fovea_mha_new_rows(plan, args);
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
    case MHA_NORM_Q:
        out->rowwise = norm(w->q_norm, activation(shared, plan->q), q_rows * plan->desc.heads);
        break;
    case MHA_NORM_K:
        out->rowwise = norm(w->k_norm, activation(shared, plan->k), kv_rows * plan->kv_heads);
        break;
    case MHA_ROTATE_Q:
        out->rowwise = rotate(args, activation(shared, plan->q), q_rows, false, args->q_len);
        break;
    case MHA_ROTATE_K:
        out->rowwise =
            rotate(args, activation(shared, plan->k), kv_rows, plan->desc.keys != FOVEA_MHA_APPEND, args->kv_len);
        break;
    case MHA_APPEND_KV:
        out->mha = append(plan, args, shared);
        break;
    case MHA_ATTENTION:
        batch_strides(plan, args, out->batch_strides);
        out->attention = attention(plan, args, shared);
        out->attention.batch_strides = out->batch_strides;
        break;
    case MHA_WEIGHTS:
        returned(plan, args, shared, out);
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

static struct fovea_kv_news news_of(const struct fovea_job *job)
{
    const struct fovea_mha_args *const args = job->args;
    return (struct fovea_kv_news){.cache = args->cache,
                                  .pool = args->pool,
                                  .pages = args->pages,
                                  .pages_batch = args->pages_batch,
                                  .position = args->position,
                                  .len = args->kv_len,
                                  .positions = args->positions,
                                  .starts = args->starts,
                                  .k = args->key,
                                  .v = args->value};
}

static uint32_t begin_append(struct fovea_job *job)
{
    const struct fovea_kv_news news = news_of(job);
    job->append = fovea_kv_cut(&news);
    return (uint32_t)(((const struct fovea_mha_args *)job->args)->batch * job->append.pieces);
}

static void append_task(const struct fovea_job *job, void *scratch, uint32_t task)
{
    (void)scratch;
    const struct fovea_kv_news news = news_of(job);
    const struct fovea_engine *const engine = ((const struct mha_append *)job->plan)->engine;
    fovea_kv_write(engine, &news, &job->append, task / job->append.pieces, task % job->append.pieces);
}

const struct fovea_operator fovea_mha_append_operator = {.begin = begin_append, .task = append_task};

enum fovea_status fovea_mha(const void *plan, const struct fovea_mha_args *args, void *shared, void *scratch,
                            const struct fovea_executor *executor)
{
    FOVEA_TRY(fovea_mha_check(plan, args, &fovea_mha_words, NULL));
    if (args->batch == 0)
        return FOVEA_OK; // its pointers may be NULL
    return fovea_run(&fovea_composite_operator, plan, args, shared, scratch, executor);
}

uint32_t fovea_mha_tasks(const void *plan, const struct fovea_mha_args *args, uint32_t phase)
{
    if (fovea_mha_check(plan, args, &fovea_mha_words, NULL) || args->batch == 0)
        return 0;
    return fovea_count_tasks(&fovea_composite_operator, plan, args, phase);
}

enum fovea_status fovea_mha_task(const void *plan, const struct fovea_mha_args *args, void *shared, void *scratch,
                                 uint32_t phase, uint32_t task)
{
    FOVEA_TRY(fovea_mha_check(plan, args, &fovea_mha_words, NULL));
    FOVEA_CHECK(args->batch != 0, FOVEA_ERR_SHAPE);
    return fovea_run_task(&fovea_composite_operator, plan, args, shared, scratch, phase, task);
}

FOVEA_ONCE(mha)
