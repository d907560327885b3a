// SPDX-License-Identifier: Apache-2.0
// tests/golden/layers.c - encoder and decoder layers give what PyTorch gives, decoders also in pieces with caches.
#include "tests/golden/golden.h"

// One layer's weights, and a call of it on layer.x and layer.memory.
struct layer {
    struct fovea_layer_weights weights;
    struct fovea_layer_desc desc;
    struct fovea_layer_args args;
};

// The gate and up as one operand of pairs.
static struct fovea_linear gated(const char *prefix)
{
    const size_t inputs = tensor("gated.up.weight")->shape[1], outputs = tensor("gated.up.weight")->shape[0];
    size_t bytes = 0;
    CHECK(!fovea_pack_size(inputs, 2 * outputs, &bytes), "%s", prefix);
    void *const blob = test_alloc(bytes);
    float *const bias = test_alloc(2 * outputs * sizeof *bias);
    CHECK(!fovea_pack_gated(engine, FOVEA_TRANS, inputs, outputs, part(prefix, "gate.weight"), inputs,
                            part(prefix, "up.weight"), inputs, blob, bytes),
          "%s", prefix);
    for (size_t j = 0; j < outputs; j++) {
        bias[2 * j] = part(prefix, "gate.bias")[j];
        bias[2 * j + 1] = part(prefix, "up.bias")[j];
    }
    return (struct fovea_linear){blob, bias};
}

static struct fovea_layer_weights layer_weights(const char *prefix, bool decoder)
{
    char self[64], cross[64];
    snprintf(self, sizeof self, "%s.self_attention", prefix);
    snprintf(cross, sizeof cross, "%s.cross_attention", prefix);
    struct fovea_layer_weights w = {.self_attention = projections(self),
                                    .norm1 = {part(prefix, "norm1.weight"), part(prefix, "norm1.bias")},
                                    .norm3 = {part(prefix, "norm3.weight"), part(prefix, "norm3.bias")},
                                    .up = part(prefix, "gate.weight") ? gated(prefix) : linear(prefix, "up"),
                                    .down = linear(prefix, "down")};
    if (decoder) {
        w.cross_attention = projections(cross);
        w.norm2 = (struct fovea_norm){part(prefix, "norm2.weight"), part(prefix, "norm2.bias")};
    }
    return w;
}

// A gate makes the layer one of RMSNorm and gated feed-forward. lens are those of make.py, of x or of the memory, or
// NULL for whole ones.
static struct layer make(const char *prefix, bool decoder, const uint32_t *lens)
{
    const struct fovea_tensor *const x = tensor("layer.x"), *const memory = tensor("layer.memory");
    struct layer l = {.weights = layer_weights(prefix, decoder)};
    struct fovea_layer_desc *const d = &l.desc;
    fovea_layer_desc_init(d, sizeof *d);
    d->decoder = decoder;
    d->batch = x->shape[0], d->len = x->shape[1], d->width = x->shape[2];
    d->memory_len = decoder ? memory->shape[1] : 0;
    d->gated = part(prefix, "gate.weight") != NULL;
    d->norm_kind = d->gated ? FOVEA_NORM_RMS : FOVEA_NORM_LAYER;
    d->heads = 3, d->qk_dim = d->v_dim = d->width / d->heads, d->ffn = 40;
    l.args = (struct fovea_layer_args){.x = x->data,
                                       .memory = decoder ? memory->data : NULL,
                                       .batch = d->batch,
                                       .len = d->len,
                                       .memory_len = d->memory_len,
                                       .beams = 1,
                                       .lens = decoder ? NULL : lens,
                                       .memory_lens = decoder ? lens : NULL};
    return l;
}

static void destroy(struct layer *l)
{
    free_projections(&l->weights.self_attention);
    if (l->desc.decoder)
        free_projections(&l->weights.cross_attention);
    if (l->desc.gated)
        free((void *)(uintptr_t)l->weights.up.bias);
    free((void *)(uintptr_t)l->weights.up.weight);
    free((void *)(uintptr_t)l->weights.down.weight);
}

// Plans and runs all at once.
static enum fovea_status run_whole(const struct layer *l, float *y)
{
    struct fovea_work *const plan = test_alloc(fovea_layer_plan_size());
    enum fovea_status status = fovea_layer_plan(engine, &l->desc, plan);
    struct fovea_layer_args args = l->args;
    args.weights = &l->weights;
    args.y = y;
    if (status == FOVEA_OK) {
        void *const shared = test_alloc(plan->shared_bytes), *const scratch = test_alloc(plan->scratch_bytes);
        status = fovea_layer(plan, &args, shared, scratch, NULL);
        free(shared);
        free(scratch);
    }
    free(plan);
    return status;
}

static struct fovea_kv_cache make_cache(const struct fovea_layer_desc *d, size_t capacity)
{
    struct fovea_kv_cache c = {.struct_size = sizeof c,
                               .batch = d->batch,
                               .kv_heads = d->heads,
                               .capacity = capacity,
                               .qk_dim = d->qk_dim,
                               .v_dim = d->v_dim};
    size_t k = 0, v = 0;
    CHECK(!fovea_kv_cache_size(&c, &k, &v), "cache");
    c.k = test_alloc(k * sizeof(float));
    c.v = test_alloc(v * sizeof(float));
    return c;
}

// Projects the memory into the cache that cross-attention reads.
static enum fovea_status fill_cross_cache(const struct layer *l, const struct fovea_kv_cache *cache)
{
    const struct fovea_layer_desc *const d = &l->desc;
    struct fovea_mha_desc mha;
    fovea_mha_desc_init(&mha, sizeof mha);
    mha.keys = FOVEA_MHA_APPEND;
    mha.batch = d->batch, mha.heads = d->heads, mha.kv_len = mha.new_len = d->memory_len;
    mha.qk_dim = d->qk_dim, mha.v_dim = d->v_dim;
    mha.query_width = mha.key_width = mha.value_width = mha.out_width = d->width;
    const struct fovea_mha_args args = {.weights = &l->weights.cross_attention,
                                        .key = l->args.memory,
                                        .value = l->args.memory,
                                        .batch = d->batch,
                                        .kv_len = d->memory_len,
                                        .cache = cache};
    return fovea_mha_once(engine, &mha, &args);
}

// Positions [first, first + n) of (batch, len, width), gathered into or scattered from dense rows.
static void copy_piece(const struct fovea_layer_desc *d, size_t first, size_t n, const float *from, size_t from_len,
                       float *to, size_t to_len)
{
    for (size_t b = 0; b < d->batch; b++)
        memcpy(to + (b * to_len + (to_len == n ? 0 : first)) * d->width,
               from + (b * from_len + (from_len == n ? 0 : first)) * d->width, n * d->width * sizeof *to);
}

// A decoder with caches, `piece` positions in each call, from one plan.
static enum fovea_status run_pieces(const struct layer *l, size_t piece, float *y)
{
    const size_t len = l->desc.len, floats = l->desc.batch * piece * l->desc.width;
    const struct fovea_kv_cache self = make_cache(&l->desc, len), cross = make_cache(&l->desc, l->desc.memory_len);
    struct fovea_layer_desc d = l->desc;
    struct fovea_work *const plan = test_alloc(fovea_layer_plan_size());
    float *const in = test_alloc(floats * sizeof *in), *const out = test_alloc(floats * sizeof *out);
    d.cached = 1;
    d.len = piece;
    d.kv_len = len;
    enum fovea_status status = fovea_layer_plan(engine, &d, plan);
    void *const shared = test_alloc(status ? 0 : plan->shared_bytes);
    void *const scratch = test_alloc(status ? 0 : plan->scratch_bytes);
    status = status ? status : fill_cross_cache(l, &cross);
    for (size_t first = 0, n; first < len && status == FOVEA_OK; first += n) {
        n = len - first < piece ? len - first : piece;
        struct fovea_layer_args args = l->args;
        args.weights = &l->weights;
        args.x = in, args.y = out, args.memory = NULL, args.len = n, args.position = first;
        args.self_cache = &self, args.cross_cache = &cross;
        copy_piece(&d, first, n, l->args.x, len, in, n);
        status = fovea_layer(plan, &args, shared, scratch, NULL);
        copy_piece(&d, first, n, out, n, y, len);
    }
    free(self.k), free(self.v), free(cross.k), free(cross.v);
    free(in), free(out), free(plan), free(shared), free(scratch);
    return status;
}

// Both places of norms and two activations with one set of weights.
static void cases(const char *prefix, const char *infix, bool decoder, const uint32_t *lens)
{
    static const char *const places[2] = {"post", "pre"}, *const words[2][2] = {{"relu", "gelu"}, {"silu", "gelu"}};
    static const enum fovea_activation activations[2][2] = {{FOVEA_ACTIVATION_RELU, FOVEA_ACTIVATION_GELU},
                                                            {FOVEA_ACTIVATION_SILU, FOVEA_ACTIVATION_GELU}};
    struct layer l = make(prefix, decoder, lens);
    float *const y = test_alloc(tensor("layer.x")->bytes);
    for (int pre = 0; pre < 2; pre++)
        for (int i = 0; i < 2; i++) {
            char name[64];
            snprintf(name, sizeof name, "%s%s.%s_%s", prefix, infix, places[pre], words[l.desc.gated][i]);
            l.desc.norm = pre ? FOVEA_NORM_PRE : FOVEA_NORM_POST;
            l.desc.activation = activations[l.desc.gated][i];
            compare(name, "", run_whole(&l, y), y, LAYER);
            for (size_t piece = 1; decoder && piece <= 4; piece += 3)
                compare(name, " in pieces", run_pieces(&l, piece, y), y, LAYER);
        }
    free(y);
    destroy(&l);
}

static void test_all(void)
{
    static const uint32_t encoder_lens[2] = {9, 4}, memory_lens[2] = {11, 7};
    cases("encoder", "", false, encoder_lens);
    cases("encoder", ".whole", false, NULL);
    cases("decoder", "", true, memory_lens);
    cases("decoder", ".whole", true, NULL);
    cases("gated", "", true, memory_lens); // with RMSNorm
}

int main(void)
{
    return golden_main(test_all);
}
