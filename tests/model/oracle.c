// SPDX-License-Identifier: Apache-2.0
// tests/model/oracle.c - a Transformer in float64, naive loops written from fovea/layer.h and fovea/transformer.h.
#include "tests/model/oracle.h"

#include "tests/support/test.h"

static double *zeros(size_t n)
{
    double *const x = test_alloc(n * sizeof *x);
    for (size_t i = 0; i < n; i++)
        x[i] = 0;
    return x;
}

static double *linear(const struct oracle_linear *w, size_t rows, const double *x)
{
    double *const y = zeros(rows * w->outputs);
    for (size_t r = 0; r < rows; r++)
        for (size_t j = 0; j < w->outputs; j++) {
            double sum = w->bias ? (double)w->bias[j] : 0;
            for (size_t i = 0; i < w->inputs; i++)
                sum += x[r * w->inputs + i] * (double)w->weight[j * w->inputs + i];
            y[r * w->outputs + j] = sum;
        }
    return y;
}

static double *normalise(enum fovea_norm_kind kind, const struct fovea_norm *norm, double eps, size_t rows,
                         size_t width, const double *x)
{
    double *const y = zeros(rows * width);
    for (size_t r = 0; r < rows; r++) {
        double mean = 0, variance = 0;
        for (size_t i = 0; i < width && kind == FOVEA_NORM_LAYER; i++)
            mean += x[r * width + i] / (double)width;
        for (size_t i = 0; i < width; i++)
            variance += (x[r * width + i] - mean) * (x[r * width + i] - mean) / (double)width;
        for (size_t i = 0; i < width; i++)
            y[r * width + i] = (x[r * width + i] - mean) / sqrt(variance + eps) *
                                   (norm->gamma ? (double)norm->gamma[i] : 1) +
                               (norm->beta ? (double)norm->beta[i] : 0);
    }
    return y;
}

static double activate(enum fovea_activation activation, double x)
{
    switch (activation) {
    case FOVEA_ACTIVATION_RELU:
        return x < 0 ? 0 : x;
    case FOVEA_ACTIVATION_GELU:
        return 0.5 * x * (1 + erf(x / sqrt(2)));
    case FOVEA_ACTIVATION_GELU_TANH:
        return 0.5 * x * (1 + tanh(sqrt(2 / acos(-1)) * (x + 0.044715 * x * x * x)));
    case FOVEA_ACTIVATION_TANH:
        return tanh(x);
    case FOVEA_ACTIVATION_SILU:
        return x / (1 + exp(-x));
    default:
        return x;
    }
}

// How the scores of one row and head are made, and the keys that it sees: from `first` to before `end`.
struct view {
    double scale, softcap, slope, sink;
    size_t position, first, end;
};

// Softmax of one row of one head over the keys it sees, times V, added to out.
static void attend(const struct view *view, const double *q, size_t d, const double *k, size_t k_row, const double *v,
                   size_t dv, size_t v_row, double *out)
{
    double *const p = zeros(view->end + 1);
    double most = view->sink, sum = 0;
    for (size_t j = view->first; j < view->end; j++) {
        for (size_t c = 0; c < d; c++)
            p[j] += q[c] * k[j * k_row + c] * view->scale;
        p[j] = view->softcap != 0 ? view->softcap * tanh(p[j] / view->softcap) : p[j];
        p[j] -= view->slope * fabs((double)view->position - (double)j);
        most = p[j] > most ? p[j] : most;
    }
    sum = exp(view->sink - most);
    for (size_t j = view->first; j < view->end; j++)
        sum += p[j] = exp(p[j] - most);
    for (size_t j = view->first; j < view->end; j++)
        for (size_t c = 0; c < dv; c++)
            out[c] += p[j] / sum * v[j * v_row + c];
    free(p);
}

// What row i sees of a head in self-attention, of which `valid` keys count.
static struct view view_of(const struct fovea_layer_desc *desc, const struct oracle_layer *layer, size_t d, size_t h,
                           size_t i, size_t valid)
{
    struct view view = {.scale = desc->scale == FOVEA_SCALE_DEFAULT ? 1 / sqrt((double)d) : (double)desc->scale,
                        .softcap = (double)desc->softcap,
                        .slope = layer->slopes ? (double)layer->slopes[h] : 0,
                        .sink = layer->sinks ? (double)layer->sinks[h] : -INFINITY,
                        .position = i,
                        .first = i > desc->window_left ? i - desc->window_left : 0,
                        .end = valid};
    if (desc->decoder && i < view.end)
        view.end = i + 1;
    if (desc->window_right < valid && i + desc->window_right < view.end)
        view.end = i + desc->window_right + 1;
    return view;
}

static void normalise_heads(const struct fovea_norm *norm, double eps, size_t heads, size_t d, double *x)
{
    double *const y = normalise(FOVEA_NORM_RMS, norm, eps, heads, d, x);
    memcpy(x, y, heads * d * sizeof *x);
    free(y);
}

// Self-attention, or, of a memory, cross-attention.
static double *attention(const struct fovea_layer_desc *desc, const struct oracle_layer *layer, size_t len,
                         const double *x, const double *memory, size_t kv_len, size_t valid)
{
    const struct oracle_linear *const w = memory ? layer->cross : layer->self;
    const size_t heads = desc->heads, d = w[0].outputs / heads, dv = w[2].outputs / heads;
    double *const q = linear(&w[0], len, x), *const k = linear(&w[1], kv_len, memory ? memory : x);
    if (desc->qk_norm && !memory) {
        const struct fovea_norm of_q = {.gamma = layer->q_norm}, of_k = {.gamma = layer->k_norm};
        normalise_heads(&of_q, (double)desc->eps, len * heads, d, q);
        normalise_heads(&of_k, (double)desc->eps, kv_len * heads, d, k);
    }
    double *const v = linear(&w[2], kv_len, memory ? memory : x), *const o = zeros(len * heads * dv);
    for (size_t i = 0; i < len; i++)
        for (size_t h = 0; h < heads; h++) {
            const struct view all = {.scale = 1 / sqrt((double)d), .sink = -INFINITY, .end = valid};
            const struct view view = memory ? all : view_of(desc, layer, d, h, i, valid);
            attend(&view, q + (i * heads + h) * d, d, k + h * d, heads * d, v + h * dv, dv, heads * dv,
                   o + (i * heads + h) * dv);
        }
    double *const out = linear(&w[3], len, o);
    free(q);
    free(k);
    free(v);
    free(o);
    return out;
}

static double *ffn(const struct fovea_layer_desc *desc, const struct oracle_layer *layer, size_t len, const double *x)
{
    double *const h = linear(&layer->up, len, x), *const gate = desc->gated ? linear(&layer->gate, len, x) : NULL;
    for (size_t i = 0; i < len * desc->ffn; i++)
        h[i] = gate ? activate(desc->activation, gate[i]) * h[i] : activate(desc->activation, h[i]);
    double *const y = linear(&layer->down, len, h);
    free(gate);
    free(h);
    return y;
}

enum part { SELF, CROSS, FFN };

void oracle_run_layer(const struct fovea_layer_desc *desc, const struct oracle_layer *layer, size_t len, size_t valid,
                      const double *memory, size_t memory_len, double *x)
{
    const size_t n = len * desc->width;
    for (enum part part = SELF; part <= FFN; part++) {
        if (part == CROSS && !desc->decoder)
            continue;
        const struct fovea_norm *const norm = &layer->norm[part];
        double *const in = desc->norm != FOVEA_NORM_POST
                               ? normalise(desc->norm_kind, norm, (double)desc->eps, len, desc->width, x)
                               : memcpy(zeros(n), x, n * sizeof *x);
        double *y =
            part == SELF    ? attention(desc, layer, len, in, NULL, len, valid)
            : part == CROSS ? attention(desc, layer, len, in, memory, memory_len, memory_len)
                            : ffn(desc, layer, len, in);
        if (desc->norm == FOVEA_NORM_SANDWICH) {
            double *const given = y;
            y = normalise(desc->norm_kind, &layer->norm_out[part], (double)desc->eps, len, desc->width, given);
            free(given);
        }
        for (size_t i = 0; i < n; i++)
            x[i] += y[i];
        free(in);
        free(y);
        if (desc->norm == FOVEA_NORM_POST) {
            double *const normed = normalise(desc->norm_kind, norm, (double)desc->eps, len, desc->width, x);
            memcpy(x, normed, n * sizeof *x);
            free(normed);
        }
    }
}

// ---- The whole model, tensors by name ----------------------------------------------------------------------------

static const float *tensor(const struct fovea_safetensors *file, const char *prefix, const char *name, const char *kind)
{
    char full[160];
    snprintf(full, sizeof full, "%s%s%s", prefix, name, kind);
    const struct fovea_tensor *const t = fovea_safetensors_find(file, full);
    return t ? t->data : NULL;
}

static struct oracle_linear find_linear(const struct fovea_safetensors *file, const char *prefix, const char *name,
                                        size_t inputs, size_t outputs)
{
    return (struct oracle_linear){tensor(file, prefix, name, ".weight"), tensor(file, prefix, name, ".bias"), inputs,
                                  outputs};
}

static struct fovea_norm find_norm(const struct fovea_safetensors *file, const char *prefix, const char *name)
{
    return (struct fovea_norm){tensor(file, prefix, name, ".weight"), tensor(file, prefix, name, ".bias")};
}

static void find_attention(const struct fovea_transformer_config *c, const struct fovea_safetensors *file,
                           const char *prefix, const char *name, struct oracle_linear out[4])
{
    const size_t qk = c->heads * c->qk_dim, v = c->heads * c->v_dim;
    char full[96];
    snprintf(full, sizeof full, "%s%s.", prefix, name);
    out[0] = find_linear(file, full, "q", c->d_model, qk);
    out[1] = find_linear(file, full, "k", c->d_model, qk);
    out[2] = find_linear(file, full, "v", c->d_model, v);
    out[3] = find_linear(file, full, "o", v, c->d_model);
}

static double *embed(const struct fovea_transformer_config *c, const struct fovea_safetensors *file, const char *side,
                     size_t len, const uint32_t *tokens)
{
    const float *const table = tensor(file, side, "_embedding", ".weight");
    const float *const learned = tensor(file, side, "_positions", ".weight");
    const size_t d = c->d_model;
    double *const x = zeros(len * d);
    for (size_t i = 0; i < len; i++)
        for (size_t j = 0; j < d; j++) {
            const double angle = (double)i / pow(10000, (double)(j / 2 * 2) / (double)d);
            const double position = c->positions == FOVEA_POSITIONS_LEARNED ? (double)learned[i * d + j]
                                    : c->positions == FOVEA_POSITIONS_NONE  ? 0
                                    : j % 2                                 ? cos(angle)
                                                                            : sin(angle);
            x[i * d + j] = (double)table[tokens[i] * d + j] * (c->scale_embeddings ? sqrt((double)d) : 1) + position;
        }
    return x;
}

// Runs the encoder or the decoder, its final norm included.
static double *run_stack(const struct fovea_transformer_config *c, const struct fovea_safetensors *file,
                         const char *stack, size_t layers, size_t len, size_t valid, const double *memory,
                         size_t memory_len, double *x)
{
    struct fovea_layer_desc desc;
    CHECK(!fovea_layer_desc_init(&desc, sizeof desc), "init");
    desc.decoder = memory != NULL;
    desc.norm = c->norm;
    desc.norm_kind = c->norm_kind;
    desc.activation = c->activation;
    desc.gated = c->gated;
    desc.eps = c->eps;
    desc.width = c->d_model;
    desc.heads = c->heads;
    desc.ffn = c->ffn;
    char prefix[64];
    for (size_t i = 0; i < layers; i++) {
        struct oracle_layer layer = {0};
        snprintf(prefix, sizeof prefix, "%s.layers.%zu.", stack, i);
        find_attention(c, file, prefix, "self_attention", layer.self);
        find_attention(c, file, prefix, "cross_attention", layer.cross);
        layer.norm[SELF] = find_norm(file, prefix, "norm1");
        layer.norm[CROSS] = find_norm(file, prefix, "norm2");
        layer.norm[FFN] = find_norm(file, prefix, memory ? "norm3" : "norm2");
        if (c->gated)
            layer.gate = find_linear(file, prefix, "ffn.gate", c->d_model, c->ffn);
        layer.up = find_linear(file, prefix, "ffn.up", c->d_model, c->ffn);
        layer.down = find_linear(file, prefix, "ffn.down", c->ffn, c->d_model);
        oracle_run_layer(&desc, &layer, len, valid, memory, memory_len, x);
    }
    if (!c->final_norm)
        return x;
    const struct fovea_norm norm = find_norm(file, stack, ".norm");
    double *const y = normalise(c->norm_kind, &norm, (double)c->eps, len, c->d_model, x);
    free(x);
    return y;
}

void oracle_log_probs(const struct fovea_transformer_config *c, const struct fovea_safetensors *file, size_t len,
                      size_t valid, const uint32_t *source, size_t target_len, const uint32_t *target, double *out)
{
    double *const memory = run_stack(c, file, "encoder", c->encoder_layers, len, valid, NULL, 0,
                                     embed(c, file, "source", len, source));
    double *const x = run_stack(c, file, "decoder", c->decoder_layers, target_len, target_len, memory, valid,
                                embed(c, file, "target", target_len, target));
    const struct oracle_linear output = find_linear(file, "", "output", c->d_model, c->target_vocab);
    double *const logits = linear(&output, target_len, x);
    for (size_t i = 0; i < target_len; i++) {
        const double *const row = logits + i * c->target_vocab;
        double most = -INFINITY, sum = 0;
        for (size_t v = 0; v < c->target_vocab; v++)
            most = row[v] > most ? row[v] : most;
        for (size_t v = 0; v < c->target_vocab; v++)
            sum += exp(row[v] - most);
        for (size_t v = 0; v < c->target_vocab; v++)
            out[i * c->target_vocab + v] = row[v] - most - log(sum);
    }
    free(memory);
    free(x);
    free(logits);
}
