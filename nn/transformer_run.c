// SPDX-License-Identifier: Apache-2.0
// nn/transformer_run.c - encodes, decodes whole prefixes, and decodes step by step with caches, with the same bits.
#include "nn/transformer.h"

#include <math.h>

enum { LAYER_SITES = 4 }; // dropout sites per layer

// Checks that every token is in the vocabulary, before any is looked up.
static enum fovea_status check_tokens(const uint32_t *tokens, size_t count, size_t vocab)
{
    for (size_t i = 0; i < count; i++)
        FOVEA_CHECK(tokens[i] < vocab, FOVEA_ERR_VALUE);
    return FOVEA_OK;
}

// x[row] = embedding[token] * sqrt(d) + positions[first + row % len].
static void embed(const struct fovea_transformer *model, const float *embedding, const float *positions, size_t rows,
                  size_t len, size_t first, const uint32_t *tokens, float *x)
{
    const size_t d = model->config.d_model;
    const float scale = model->config.scale_embeddings ? sqrtf((float)d) : 1;
    for (size_t row = 0; row < rows; row++) {
        const float *const e = embedding + tokens[row] * d;
        const float *const p = positions ? positions + (first + row % len) * d : NULL;
        for (size_t c = 0; c < d; c++)
            x[row * d + c] = e[c] * scale + (p ? p[c] : 0);
    }
}

// In training, applies dropout to the embeddings in x, of the source or of the target.
static enum fovea_status drop_embeddings(struct fovea_transformer *model, size_t rows, int target, float *x,
                                         const struct fovea_executor *executor)
{
    if (!model->train || model->options.dropout == 0)
        return FOVEA_OK;
    const size_t layers = model->config.encoder_layers + model->config.decoder_layers;
    const struct fovea_rowwise_args args = {
        .x = x, .y = x, .rows = rows, .seed = model->seed, .site = (uint32_t)(LAYER_SITES * layers) + (uint32_t)target};
    return fovea_rowwise(&model->drop, &args, model->shared, model->scratch, executor);
}

static enum fovea_status final_norm(struct fovea_transformer *model, const struct fovea_norm *norm, size_t rows,
                                    float *x, const struct fovea_executor *executor)
{
    if (!model->config.final_norm)
        return FOVEA_OK;
    const struct fovea_rowwise_args args = {.x = x, .gamma = norm->gamma, .beta = norm->beta, .y = x, .rows = rows};
    return fovea_rowwise(&model->norm, &args, model->shared, model->scratch, executor);
}

// Applies the final linear and log-softmax to rows of x.
static enum fovea_status to_log_probs(struct fovea_transformer *model, size_t rows, float *log_probs,
                                      const struct fovea_executor *executor)
{
    FOVEA_TRY(final_norm(model, &model->decoder_norm, rows, model->x, executor));
    const struct fovea_gemm_args gemm = {
        .a = model->x, .b = model->output.weight, .c = log_probs, .bias = model->output.bias, .m = rows};
    FOVEA_TRY(fovea_gemm(&model->to_vocab, &gemm, model->shared, model->scratch, executor));
    const struct fovea_rowwise_args softmax = {.x = log_probs, .y = log_probs, .rows = rows};
    return fovea_rowwise(&model->log_softmax, &softmax, model->shared, model->scratch, executor);
}

static enum fovea_status check_executor(const struct fovea_transformer *model, const struct fovea_executor *executor)
{
    if (!executor)
        return FOVEA_OK;
    FOVEA_CHECK(executor->workers, FOVEA_ERR_VALUE);
    FOVEA_CHECK(executor->workers <= model->options.workers, FOVEA_ERR_SHAPE);
    FOVEA_CHECK(executor->parallel_for, FOVEA_ERR_NULL);
    return FOVEA_OK;
}

// Projects the encoder's output to keys and values, once for all steps.
static enum fovea_status fill_cross_caches(struct fovea_transformer *model, const struct fovea_executor *executor)
{
    for (size_t i = 0; i < model->config.decoder_layers; i++) {
        const struct fovea_mha_args args = {.weights = &model->decoder[i].cross_attention,
                                            .key = model->memory,
                                            .value = model->memory,
                                            .batch = model->batch,
                                            .kv_len = model->source_len,
                                            .cache = &model->cross_cache[i]};
        FOVEA_TRY(fovea_mha(&model->fill_cross, &args, model->shared, model->scratch, executor));
    }
    return FOVEA_OK;
}

enum fovea_status fovea_transformer_encode(struct fovea_transformer *model, size_t batch, size_t len,
                                           const uint32_t *tokens, const uint32_t *lens,
                                           const struct fovea_executor *executor)
{
    FOVEA_CHECK(model && (tokens || !batch || !len), FOVEA_ERR_NULL);
    FOVEA_CHECK(batch <= model->options.batch && len <= model->options.max_source, FOVEA_ERR_SHAPE);
    FOVEA_TRY(check_executor(model, executor));
    FOVEA_TRY(check_tokens(tokens, batch * len, model->config.source_vocab));
    model->encoded = 0; // until all of it has succeeded
    model->batch = batch;
    model->source_len = len;
    model->next_position = 0;
    for (size_t b = 0; b < batch; b++)
        model->source_lens[b] = lens ? lens[b] : (uint32_t)len;
    embed(model, model->source_embedding, model->source_positions, batch * len, len, 0, tokens, model->memory);
    FOVEA_TRY(drop_embeddings(model, batch * len, 0, model->memory, executor));
    for (size_t i = 0; i < model->config.encoder_layers; i++) {
        const struct fovea_layer_args args = {.weights = &model->encoder[i],
                                              .x = model->memory,
                                              .y = model->memory,
                                              .batch = batch,
                                              .len = len,
                                              .lens = model->source_lens,
                                              .seed = model->seed,
                                              .site = (uint32_t)(LAYER_SITES * i),
                                              .eval = !model->train};
        FOVEA_TRY(fovea_layer(&model->encode_layer, &args, model->shared, model->scratch, executor));
    }
    FOVEA_TRY(final_norm(model, &model->encoder_norm, batch * len, model->memory, executor));
    FOVEA_TRY(fill_cross_caches(model, executor));
    model->encoded = 1;
    return FOVEA_OK;
}

enum fovea_status fovea_transformer_decode(struct fovea_transformer *model, size_t len, const uint32_t *tokens,
                                           float *log_probs, const struct fovea_executor *executor)
{
    FOVEA_CHECK(model && ((tokens && log_probs) || !len || !model->batch), FOVEA_ERR_NULL);
    FOVEA_CHECK(model->encoded && len <= model->options.max_target, FOVEA_ERR_SHAPE);
    FOVEA_TRY(check_executor(model, executor));
    const size_t rows = model->batch * len;
    FOVEA_TRY(check_tokens(tokens, rows, model->config.target_vocab));
    embed(model, model->target_embedding, model->target_positions, rows, len, 0, tokens, model->x);
    FOVEA_TRY(drop_embeddings(model, rows, 1, model->x, executor));
    for (size_t i = 0; i < model->config.decoder_layers; i++) {
        const struct fovea_layer_args args = {.weights = &model->decoder[i],
                                              .x = model->x,
                                              .y = model->x,
                                              .memory = model->memory,
                                              .batch = model->batch,
                                              .len = len,
                                              .memory_len = model->source_len,
                                              .beams = 1,
                                              .memory_lens = model->source_lens,
                                              .seed = model->seed,
                                              .site = (uint32_t)(LAYER_SITES * (model->config.encoder_layers + i)),
                                              .eval = !model->train};
        FOVEA_TRY(fovea_layer(&model->decode_layer, &args, model->shared, model->scratch, executor));
    }
    return to_log_probs(model, rows, log_probs, executor);
}

enum fovea_status fovea_transformer_step_rows(struct fovea_transformer *model, size_t beams, size_t position,
                                              const uint32_t *tokens, float *log_probs,
                                              const struct fovea_executor *executor)
{
    FOVEA_CHECK(model && ((tokens && log_probs) || !model->batch), FOVEA_ERR_NULL);
    FOVEA_CHECK(position < model->options.max_target && beams <= model->options.beam, FOVEA_ERR_SHAPE);
    FOVEA_TRY(check_executor(model, executor));
    const size_t rows = model->batch * beams;
    FOVEA_TRY(check_tokens(tokens, rows, model->config.target_vocab));
    embed(model, model->target_embedding, model->target_positions, rows, 1, position, tokens, model->x);
    for (size_t i = 0; i < model->config.decoder_layers; i++) {
        const struct fovea_layer_args args = {.weights = &model->decoder[i],
                                              .x = model->x,
                                              .y = model->x,
                                              .batch = rows,
                                              .len = 1,
                                              .memory_len = model->source_len,
                                              .beams = beams,
                                              .position = position,
                                              .memory_lens = model->source_lens,
                                              .self_cache = &model->self_cache[CACHE_NOW][i],
                                              .cross_cache = &model->cross_cache[i]};
        FOVEA_TRY(fovea_layer(&model->step_layer, &args, model->shared, model->scratch, executor));
    }
    return to_log_probs(model, rows, log_probs, executor);
}

enum fovea_status fovea_transformer_step(struct fovea_transformer *model, size_t position, const uint32_t *tokens,
                                         float *log_probs, const struct fovea_executor *executor)
{
    FOVEA_CHECK(model, FOVEA_ERR_NULL);
    FOVEA_CHECK(model->encoded && position <= model->next_position, FOVEA_ERR_SHAPE);
    FOVEA_TRY(fovea_transformer_step_rows(model, 1, position, tokens, log_probs, executor));
    model->next_position = position + 1;
    return FOVEA_OK;
}
