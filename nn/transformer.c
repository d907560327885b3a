// SPDX-License-Identifier: Apache-2.0
// nn/transformer.c - creates a Transformer object: plans, one block of memory, weights, positions.
#include "nn/transformer.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void *fovea_arena_take(struct arena *arena, size_t count, size_t bytes)
{
    const size_t at = arena->used;
    size_t own;
    if (!fovea_mul(count, bytes, &own) || !fovea_add(own, FOVEA_ALIGNMENT - 1, &own) ||
        !fovea_add(at, own / FOVEA_ALIGNMENT * FOVEA_ALIGNMENT, &arena->used))
        arena->failed = 1;
    return arena->base && !arena->failed ? arena->base + at : NULL;
}

static enum fovea_status check(const struct fovea_transformer_config *c, const struct fovea_transformer_options *o,
                               const struct fovea_why *why)
{
    FOVEA_REQUIRE_POINTERS("transformer", why, {"config", c}, {"options", o});
    FOVEA_REQUIRE(c->struct_size == sizeof *c, FOVEA_ERR_STRUCT, why,
                  "transformer: struct_size of config is %u, not %zu", c->struct_size, sizeof *c);
    FOVEA_REQUIRE(o->struct_size == sizeof *o, FOVEA_ERR_STRUCT, why,
                  "transformer: struct_size of options is %u, not %zu", o->struct_size, sizeof *o);
    FOVEA_REQUIRE((unsigned)c->positions <= FOVEA_POSITIONS_NONE, FOVEA_ERR_ENUM, why,
                  "transformer: positions is %u, not within 0 to %d", (unsigned)c->positions, FOVEA_POSITIONS_NONE);
    const struct fovea_size flags[] = {{"norm", (unsigned)c->norm}, // files have no norms of a sandwich
                                       {"norm_kind", (unsigned)c->norm_kind},
                                       {"gated", c->gated},
                                       {"final_norm", c->final_norm},
                                       {"scale_embeddings", c->scale_embeddings},
                                       {"round_s8", o->round_s8}};
    FOVEA_TRY(fovea_check_flags(flags, FOVEA_COUNT(flags), "transformer", why));
    const struct fovea_size sizes[] = {{"d_model", c->d_model},
                                       {"target_vocab", c->target_vocab},
                                       {"source_vocab", c->source_vocab},
                                       {"decoder_layers", c->decoder_layers},
                                       {"workers", o->workers},
                                       {"batch", o->batch},
                                       {"beam", o->beam},
                                       {"max_source", o->max_source},
                                       {"max_target", o->max_target}};
    const struct fovea_size *const zero = fovea_find_zero(sizes, FOVEA_COUNT(sizes));
    FOVEA_REQUIRE(!zero, FOVEA_ERR_SHAPE, why, "transformer: %s is 0", zero->name);
    const struct {
        const char *name;
        size_t token, vocab;
    } tokens[] = {{"pad", c->pad, c->source_vocab}, {"bos", c->bos, c->target_vocab}, {"eos", c->eos, c->target_vocab}};
    for (size_t i = 0; i < FOVEA_COUNT(tokens); i++)
        FOVEA_REQUIRE(tokens[i].token < tokens[i].vocab, FOVEA_ERR_SHAPE, why, "transformer: %s %zu is no token of %zu",
                      tokens[i].name, tokens[i].token, tokens[i].vocab);
    FOVEA_REQUIRE(o->batch <= UINT32_MAX / o->beam && o->beam <= UINT32_MAX / c->target_vocab, FOVEA_ERR_OVERFLOW, why,
                  "transformer: batch x beam x vocabulary overflows");
    return fovea_dropout_check(o->dropout, "dropout", "transformer", why);
}

static enum fovea_status describe_layer(const struct fovea_transformer *model, struct fovea_layer_desc *desc)
{
    const struct fovea_transformer_config *const c = &model->config;
    FOVEA_TRY(fovea_layer_desc_init(desc, sizeof *desc));
    desc->norm = c->norm;
    desc->norm_kind = c->norm_kind;
    desc->activation = c->activation;
    desc->gated = c->gated;
    desc->eps = c->eps;
    desc->batch = model->options.batch;
    desc->len = model->options.max_source;
    desc->width = c->d_model;
    desc->heads = c->heads;
    desc->qk_dim = c->qk_dim;
    desc->v_dim = c->v_dim;
    desc->ffn = c->ffn;
    desc->weight_type = model->weight_type;
    desc->dropout = model->options.dropout;
    return FOVEA_OK;
}

static enum fovea_status plan_layers(struct fovea_transformer *model, const struct fovea_why *why)
{
    const struct fovea_transformer_options *const o = &model->options;
    const struct fovea_part_of encoder = {model->engine, "transformer: encoder layer", why},
                               decoder = {model->engine, "transformer: decoder layer", why};
    struct fovea_layer_desc desc;
    FOVEA_TRY(describe_layer(model, &desc));
    FOVEA_TRY(fovea_layer_make(&encoder, &desc, &model->encode_layer));
    desc.decoder = 1;
    desc.len = o->max_target;
    desc.memory_len = o->max_source;
    FOVEA_TRY(fovea_layer_make(&decoder, &desc, &model->decode_layer));
    desc.cached = 1;
    desc.dropout = 0;
    desc.len = 1;
    desc.beams = o->beam;
    desc.batch = o->batch * o->beam;
    desc.kv_len = o->max_target;
    FOVEA_TRY(fovea_layer_make(&decoder, &desc, &model->step_layer));

    struct fovea_mha_desc fill;
    FOVEA_TRY(fovea_mha_desc_init(&fill, sizeof fill));
    fill.keys = FOVEA_MHA_APPEND;
    fill.batch = o->batch;
    fill.heads = model->config.heads;
    fill.kv_len = fill.new_len = o->max_source;
    fill.qk_dim = model->config.qk_dim;
    fill.v_dim = model->config.v_dim;
    fill.weight_type = model->weight_type;
    fill.query_width = fill.key_width = fill.value_width = fill.out_width = model->config.d_model;
    return fovea_mha_make(&decoder, &fill, &fovea_mha_words, &model->fill_cross);
}

static enum fovea_status plan_rows(struct fovea_transformer *model, const struct fovea_why *why)
{
    const struct fovea_part_of of = {model->engine, "transformer", why};
    const struct fovea_transformer_config *const c = &model->config;
    struct fovea_rowwise_desc rows = FOVEA_ROWWISE_DESC_INIT;
    rows.op = c->norm_kind == FOVEA_NORM_RMS ? FOVEA_ROWWISE_RMSNORM : FOVEA_ROWWISE_LAYERNORM;
    rows.rows = model->rows;
    rows.cols = rows.ldx = rows.ldx2 = rows.ldy = c->d_model;
    rows.eps = c->eps;
    FOVEA_TRY(fovea_part_rowwise(&of, "final norm: ", &rows, &model->norm));
    rows.op = FOVEA_ROWWISE_DROPOUT;
    rows.dropout = model->options.dropout;
    FOVEA_TRY(fovea_part_rowwise(&of, "dropout: ", &rows, &model->drop));
    rows.op = FOVEA_ROWWISE_LOG_SOFTMAX;
    rows.cols = rows.ldx = rows.ldx2 = rows.ldy = c->target_vocab;
    FOVEA_TRY(fovea_part_rowwise(&of, "log-softmax: ", &rows, &model->log_softmax));
    struct fovea_gemm_desc gemm = FOVEA_GEMM_DESC_INIT;
    gemm.b_packed = 1;
    gemm.b_type = model->weight_type;
    gemm.m = model->rows;
    gemm.k = gemm.lda = c->d_model;
    gemm.n = gemm.ldc = c->target_vocab;
    return fovea_part_gemm(&of, "output: ", &gemm, &model->to_vocab);
}

static enum fovea_status make_plans(struct fovea_transformer *model, const struct fovea_why *why)
{
    const struct fovea_transformer_options *const o = &model->options;
    size_t source, target;
    FOVEA_REQUIRE(fovea_mul(o->batch, o->max_source, &source) && fovea_mul(o->batch, o->max_target, &target),
                  FOVEA_ERR_OVERFLOW, why, "transformer: batch x length overflows");
    model->rows = fovea_max(fovea_max(source, target), o->batch * o->beam);
    FOVEA_TRY(plan_layers(model, why));
    return plan_rows(model, why);
}

static void layout_caches(struct fovea_transformer *model, struct arena *arena, struct fovea_kv_cache **caches,
                          size_t batch, size_t capacity)
{
    const struct fovea_transformer_config *const c = &model->config;
    *caches = fovea_arena_take(arena, c->decoder_layers, sizeof **caches);
    for (size_t i = 0; i < c->decoder_layers; i++) {
        struct fovea_kv_cache cache = {.struct_size = sizeof cache,
                                       .batch = batch,
                                       .kv_heads = c->heads,
                                       .capacity = capacity,
                                       .qk_dim = c->qk_dim,
                                       .v_dim = c->v_dim};
        size_t k, v;
        if (fovea_kv_cache_size(&cache, &k, &v)) {
            arena->failed = 1;
            return;
        }
        cache.k = fovea_arena_take(arena, k, sizeof(float));
        cache.v = fovea_arena_take(arena, v, sizeof(float));
        if (*caches)
            (*caches)[i] = cache;
    }
}

// Shared and scratch memory serve one plan at a time, so the largest sizes suffice.
static void layout_work(struct fovea_transformer *model, struct arena *arena)
{
    const struct fovea_work *const works[] = {&model->encode_layer.composite.work,
                                              &model->decode_layer.composite.work,
                                              &model->step_layer.composite.work,
                                              &model->fill_cross.composite.work,
                                              &model->norm.work,
                                              &model->drop.work,
                                              &model->log_softmax.work,
                                              &model->to_vocab.work};
    size_t shared = 0, scratch = 0;
    for (size_t i = 0; i < FOVEA_COUNT(works); i++) {
        shared = fovea_max(shared, works[i]->shared_bytes);
        scratch = fovea_max(scratch, works[i]->scratch_bytes);
    }
    model->shared = fovea_arena_take(arena, shared, 1);
    model->scratch = fovea_arena_take(arena, model->options.workers, fovea_round_up(scratch, FOVEA_ALIGNMENT));
}

static enum fovea_status layout(struct fovea_transformer *model, const struct fovea_safetensors *file,
                                struct arena *arena, const struct fovea_why *why)
{
    const struct fovea_transformer_config *const c = &model->config;
    const struct fovea_transformer_options *const o = &model->options;
    const size_t row = c->d_model * sizeof(float);
    FOVEA_TRY(fovea_transformer_load(model, file, arena, why));
    if (c->positions == FOVEA_POSITIONS_SINUSOIDAL) {
        const size_t most = fovea_max(o->max_source, o->max_target);
        model->source_positions = model->target_positions = fovea_arena_take(arena, most, row);
    }
    model->source_lens = fovea_arena_take(arena, o->batch, sizeof *model->source_lens);
    model->memory = fovea_arena_take(arena, o->batch * o->max_source, row);
    model->x = fovea_arena_take(arena, model->rows, row);
    model->log_probs = fovea_arena_take(arena, o->batch * o->beam, c->target_vocab * sizeof(float));
    layout_caches(model, arena, &model->cross_cache, o->batch, o->max_source);
    for (int i = 0; i < (o->beam > 1 ? CACHES : 1); i++)
        layout_caches(model, arena, &model->self_cache[i], o->batch * o->beam, o->max_target);
    layout_work(model, arena);
    fovea_search_layout(model, arena);
    FOVEA_REQUIRE(!arena->failed, FOVEA_ERR_OVERFLOW, why, "transformer: its memory overflows");
    return FOVEA_OK;
}

// sin and cos of pos / 10000^(2i/d) in alternating columns. The angle is rounded to f32; the deterministic sin and cos
// kernels then make the table the same on every machine.
static enum fovea_status fill_sinusoids(struct fovea_transformer *model)
{
    const size_t d = model->config.d_model, half = d / 2 + d % 2;
    const size_t most = fovea_max(model->options.max_source, model->options.max_target);
    float *const angles = model->memory, *const values = model->x; // one row each, unused while the model is created
    struct fovea_rowwise_desc desc = FOVEA_ROWWISE_DESC_INIT;
    desc.rows = 1;
    desc.cols = desc.ldx = desc.ldx2 = desc.ldy = half;
    for (size_t pos = 0; pos < most; pos++) {
        float *const row = model->source_positions + pos * d;
        for (size_t i = 0; i < half; i++)
            angles[i] = (float)pos * (float)pow(10000.0, -2.0 * (double)i / (double)d);
        for (int phase = 0; phase < 2; phase++) {
            desc.op = phase ? FOVEA_ROWWISE_COS : FOVEA_ROWWISE_SIN;
            const struct fovea_rowwise_args args = {.x = angles, .y = values, .rows = 1};
            FOVEA_TRY(fovea_rowwise_once(model->engine, &desc, &args));
            for (size_t i = 0; 2 * i + (size_t)phase < d; i++)
                row[2 * i + (size_t)phase] = values[i];
        }
    }
    return FOVEA_OK;
}

static enum fovea_status build(struct fovea_transformer *model, const struct fovea_safetensors *file, char **memory,
                               const struct fovea_why *why)
{
    FOVEA_TRY(fovea_transformer_type(file, &model->file_type, why));
    model->weight_type = model->options.round_s8 ? FOVEA_S8 : model->file_type;
    FOVEA_TRY(make_plans(model, why));
    struct arena arena = {NULL, 0, 0};
    FOVEA_TRY(layout(model, NULL, &arena, why));
    *memory = aligned_alloc(FOVEA_ALIGNMENT, arena.used);
    FOVEA_REQUIRE(*memory, FOVEA_ERR_MEMORY, why, "transformer: no memory for %zu bytes", arena.used);
    arena = (struct arena){*memory, 0, 0};
    FOVEA_TRY(layout(model, file, &arena, why));
    return model->config.positions == FOVEA_POSITIONS_SINUSOIDAL ? fill_sinusoids(model) : FOVEA_OK;
}

enum fovea_status fovea_transformer_create(const struct fovea_engine *engine, const struct fovea_safetensors *file,
                                           const struct fovea_transformer_config *config,
                                           const struct fovea_transformer_options *options,
                                           struct fovea_transformer **out, char *message, size_t message_size)
{
    const struct fovea_why why = {message, message_size};
    FOVEA_REQUIRE_POINTERS("transformer", &why, {"engine", engine}, {"file", file}, {"out", out});
    FOVEA_TRY(check(config, options, &why));
    // Each layer has several tensors. This bounds the cost of a bad number of layers.
    const size_t tensors = fovea_safetensors_count(file);
    FOVEA_REQUIRE(config->encoder_layers <= tensors && config->decoder_layers <= tensors, FOVEA_ERR_FORMAT, &why,
                  "transformer: %zu and %zu layers in a file of %zu tensors", config->encoder_layers,
                  config->decoder_layers, tensors);
    struct fovea_transformer *const model = aligned_alloc(FOVEA_ALIGNMENT, sizeof *model);
    FOVEA_REQUIRE(model, FOVEA_ERR_MEMORY, &why, "transformer: no memory");
    *model = (struct fovea_transformer){.engine = engine, .config = *config, .options = *options};
    const enum fovea_status status = build(model, file, &model->block, &why);
    if (status) {
        fovea_transformer_destroy(model);
        return status;
    }
    *out = model;
    fovea_say(&why, "%s", "");
    return FOVEA_OK;
}

void fovea_transformer_destroy(struct fovea_transformer *model)
{
    if (!model)
        return;
    free(model->block);
    free(model);
}

enum fovea_status fovea_transformer_train(struct fovea_transformer *model, uint32_t on, uint64_t seed)
{
    FOVEA_CHECK(model, FOVEA_ERR_NULL);
    FOVEA_CHECK(on <= 1, FOVEA_ERR_ENUM);
    model->train = on;
    model->seed = seed;
    return FOVEA_OK;
}

const struct fovea_transformer_config *fovea_transformer_config_of(const struct fovea_transformer *model)
{
    return model ? &model->config : NULL;
}
