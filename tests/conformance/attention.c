// SPDX-License-Identifier: Apache-2.0
// tests/conformance/attention.c - ONNX Attention on fovea: layouts are strides, past and present are a cache, and
// nonpad_kv_seqlen is a length and an offset for each batch entry.
#include "fovea/attention_weights.h"
#include "fovea/kv_cache.h"
#include "tests/conformance/cases.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    Q,
    K,
    V,
    MASK,
    PAST_KEY,
    PAST_VALUE,
    NONPAD,
    Y = 0,
    PRESENT_KEY,
    PRESENT_VALUE,
    QK_MATMUL,
    BATCH_MAX = 8,
    PANEL = 16
};

// A tensor as (B, heads, L, dim): 4-D as it stands, or 3-D (B, L, heads * dim).
struct view {
    size_t batch, heads, len, dim;
    struct fovea_strides strides;
};

static struct view view_of(const struct onnx_tensor *t, size_t heads_of_3d)
{
    struct view v = {.batch = t->shape[0]};
    if (t->dims == 4) {
        v.heads = t->shape[1], v.len = t->shape[2], v.dim = t->shape[3];
        v.strides = (struct fovea_strides){v.heads * v.len * v.dim, v.len * v.dim, v.dim};
    } else {
        v.heads = heads_of_3d, v.len = t->shape[1], v.dim = t->shape[2] / heads_of_3d;
        v.strides = (struct fovea_strides){v.len * t->shape[2], v.dim, t->shape[2]};
    }
    return v;
}

// One call in the making, and the memory it owns.
struct call {
    struct fovea_attention_desc desc;
    struct fovea_attention_args args;
    struct fovea_kv_cache cache; ///< where there is a past
    uint32_t lens[BATCH_MAX];
    int64_t offsets[BATCH_MAX];
};

static bool append(const struct fovea_kv_cache *cache, size_t pos, const struct onnx_tensor *keys,
                   const struct onnx_tensor *values, size_t heads)
{
    const struct view k = view_of(keys, heads), v = view_of(values, heads);
    for (size_t b = 0; b < k.batch; b++)
        if (fovea_kv_append(cache, b, pos, k.len, (const float *)keys->data + b * k.strides.batch, k.strides,
                            (const float *)values->data + b * v.strides.batch, v.strides))
            return false;
    return true;
}

// Past, then new keys and values, into a cache that the call reads.
static bool fill_cache(const struct onnx_case *c, struct call *call)
{
    const struct onnx_tensor *const past_key = onnx_input(c, PAST_KEY), *const past_value = onnx_input(c, PAST_VALUE);
    struct fovea_attention_desc *const d = &call->desc;
    const size_t past = past_key->shape[2], heads = d->kv_heads;
    size_t k_elements, v_elements;
    d->kv_len += past;
    call->cache = (struct fovea_kv_cache){.struct_size = sizeof call->cache,
                                          .batch = d->batch,
                                          .kv_heads = heads,
                                          .capacity = d->kv_len,
                                          .qk_dim = d->qk_dim,
                                          .v_dim = d->v_dim};
    if (fovea_kv_cache_size(&call->cache, &k_elements, &v_elements))
        return false;
    call->cache.k = calloc(k_elements + PANEL, sizeof(float));
    call->cache.v = calloc(v_elements + PANEL, sizeof(float));
    d->k_layout = FOVEA_K_PANELS;
    if (fovea_kv_cache_strides(&call->cache, &d->k, &d->v))
        return false;
    call->args.k = call->cache.k;
    call->args.v = call->cache.v;
    call->args.q_offset = (int64_t)past;
    return append(&call->cache, 0, past_key, past_value, heads) &&
           append(&call->cache, past, onnx_input(c, K), onnx_input(c, V), heads);
}

// Strides of a mask that broadcasts to (B, H, Lq, Lk) as in NumPy; false where it does not.
static bool mask_strides(const struct onnx_tensor *mask, const struct fovea_attention_desc *d, size_t strides[4])
{
    const size_t sizes[4] = {d->batch, d->heads, d->q_len, d->kv_len};
    size_t step = 1;
    memset(strides, 0, 4 * sizeof *strides);
    for (uint32_t i = 0; i < mask->dims; i++) { // from the last
        const size_t size = mask->shape[mask->dims - 1 - i];
        if (size != 1 && size != sizes[3 - i])
            return false;
        strides[3 - i] = size == 1 ? 0 : step;
        step *= size;
    }
    return true;
}

static bool place_mask(const struct onnx_case *c, struct call *call)
{
    const struct onnx_tensor *const mask = onnx_input(c, MASK);
    struct fovea_attention_desc *const d = &call->desc;
    size_t s[4];
    if (!mask)
        return true;
    if (!mask_strides(mask, d, s))
        return false;
    if (strcmp(mask->dtype, "bool") == 0) {
        d->mask = 1;
        d->mask_batch = s[0], d->mask_head = s[1], d->mask_row = s[2], d->mask_key = s[3];
        call->args.mask = mask->data;
    } else {
        d->bias = 1;
        d->bias_batch = s[0], d->bias_head = s[1], d->bias_row = s[2], d->bias_key = s[3];
        call->args.bias = mask->data;
    }
    return true;
}

// Key counts for each batch entry, whose last query sees the last key under causal order.
static void place_lengths(const struct onnx_case *c, struct call *call)
{
    const struct onnx_tensor *const nonpad = onnx_input(c, NONPAD);
    if (!nonpad)
        return;
    for (size_t b = 0; b < call->desc.batch; b++) {
        const int64_t len = ((const int64_t *)nonpad->data)[b];
        call->lens[b] = (uint32_t)len;
        call->offsets[b] = len - (int64_t)call->desc.q_len;
    }
    call->desc.kv_len_kind = FOVEA_KV_LEN_BATCH;
    call->args.kv_lens = call->lens;
    call->args.q_offsets = call->offsets;
}

// -1, the default, is no end.
static size_t window(const struct onnx_case *c, const char *name)
{
    const double size = onnx_number(c, name, -1);
    return size < 0 ? FOVEA_WINDOW_ALL : (size_t)size;
}

static bool prepare(const struct onnx_case *c, struct call *call)
{
    const size_t heads = (size_t)onnx_number(c, "q_num_heads", 1), kv_heads = (size_t)onnx_number(c, "kv_num_heads", 1);
    const struct view q = view_of(onnx_input(c, Q), heads), k = view_of(onnx_input(c, K), kv_heads),
                      v = view_of(onnx_input(c, V), kv_heads), y = view_of(onnx_output(c, Y), heads);
    struct fovea_attention_desc *const d = &call->desc;
    if (q.batch > BATCH_MAX || fovea_attention_desc_init(d, sizeof *d))
        return false;
    d->causal = onnx_number(c, "is_causal", 0) != 0;
    d->batch = q.batch, d->heads = q.heads, d->kv_heads = k.heads;
    d->q_len = q.len, d->kv_len = k.len, d->qk_dim = q.dim, d->v_dim = v.dim;
    d->scale = (float)onnx_number(c, "scale", (double)d->scale);
    d->softcap = (float)onnx_number(c, "softcap", 0);
    d->window_left = window(c, "left_window_size");
    d->window_right = window(c, "right_window_size");
    d->q = q.strides, d->k = k.strides, d->v = v.strides, d->out = y.strides;
    call->args.q = onnx_input(c, Q)->data;
    call->args.k = onnx_input(c, K)->data;
    call->args.v = onnx_input(c, V)->data;
    if (onnx_input(c, PAST_KEY) && !fill_cache(c, call))
        return false;
    place_lengths(c, call);
    call->args.batch = d->batch, call->args.q_len = d->q_len, call->args.kv_len = d->kv_len;
    return place_mask(c, call);
}

// present_key and present_value are (B, Hkv, L, dim): what the cache holds.
static bool compare_present(const struct onnx_case *c, const struct call *call, char *why, size_t size)
{
    const struct onnx_tensor *const key = onnx_output(c, PRESENT_KEY), *const value = onnx_output(c, PRESENT_VALUE);
    const struct fovea_attention_desc *const d = &call->desc;
    if (!key || !value)
        return true;
    const float *const cached = call->cache.k;
    float *const k = malloc(key->count * sizeof *k);
    const size_t per_head = d->kv_len * d->qk_dim;
    for (size_t i = 0; i < key->count; i++) {
        const size_t head = i / per_head, j = i % per_head / d->qk_dim, p = i % d->qk_dim;
        k[i] = cached[head * d->k.head + j / PANEL * PANEL * d->qk_dim + p * PANEL + j % PANEL];
    }
    const bool same = onnx_compare(key, k, why, size) && onnx_compare(value, call->cache.v, why, size);
    free(k);
    return same;
}

// qk_matmul_output by its mode: 0 scaled products, 1 softcapped, 2 biased and masked, 3 weights. The first two are the
// scores of a call without masks.
static bool compare_scores(const struct onnx_case *c, const struct fovea_engine *engine, const struct call *call,
                           char *why, size_t size)
{
    enum { PRODUCTS, CAPPED, MASKED, WEIGHTS };
    const struct onnx_tensor *const want = onnx_output(c, QK_MATMUL);
    const int mode = (int)onnx_number(c, "qk_matmul_output_mode", PRODUCTS);
    if (!want)
        return true;
    struct fovea_attention_desc d = call->desc;
    struct fovea_attention_args unmasked = call->args;
    if (mode == PRODUCTS || mode == CAPPED) {
        d.causal = d.bias = 0;
        d.window_left = d.window_right = FOVEA_WINDOW_ALL;
        d.mask = FOVEA_MASK_NONE;
        d.softcap = mode == CAPPED ? d.softcap : 0;
        d.kv_len_kind = FOVEA_KV_LEN_ALL;
        unmasked.mask = NULL, unmasked.bias = NULL, unmasked.kv_lens = NULL;
    }
    struct fovea_work *const plan = aligned_alloc(64, fovea_attention_plan_size());
    bool same = !fovea_attention_plan(engine, &d, plan);
    void *const scratch = aligned_alloc(64, (plan->scratch_bytes + 63) / 64 * 64);
    float *const got = malloc(want->count * sizeof *got);
    const struct fovea_attention_weights_args args = {
        .call = &unmasked,
        .returned = mode == WEIGHTS ? FOVEA_RETURN_WEIGHTS : FOVEA_RETURN_SCORES,
        .weights = got,
        .strides = {d.heads * d.q_len * d.kv_len, d.q_len * d.kv_len, d.kv_len},
    };
    same = same && !fovea_attention_weights(plan, &args, scratch, NULL) && onnx_compare(want, got, why, size);
    free(plan);
    free(scratch);
    free(got);
    return same;
}

bool onnx_attention(const struct onnx_case *c, const struct fovea_engine *engine, char *why, size_t size)
{
    struct call call = {.args = {0}};
    const struct onnx_tensor *const y = onnx_output(c, Y);
    float *const out = malloc(y->count * sizeof *out);
    call.args.out = out;
    bool ok = prepare(c, &call);
    call.args.lse = malloc((call.desc.batch * call.desc.heads * call.desc.q_len + 1) * sizeof *out);
    if (!ok) {
        snprintf(why, size, "the case cannot be expressed");
    } else {
        const enum fovea_status status = fovea_attention_once(engine, &call.desc, &call.args);
        if (status != FOVEA_OK)
            fovea_explain_attention(engine, &call.desc, why, size);
        ok = status == FOVEA_OK && onnx_compare(y, out, why, size) && compare_present(c, &call, why, size) &&
             compare_scores(c, engine, &call, why, size);
    }
    free(call.args.lse);
    free(call.cache.k);
    free(call.cache.v);
    free(out);
    return ok;
}
