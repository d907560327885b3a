// SPDX-License-Identifier: Apache-2.0
// tests/model/one_layer.c - one layer through its own functions: memory of another width, beams that share a memory,
// in place, task by task in exactly the memory asked for, in chunks with caches; against the float64 oracle.
#include "fovea/fovea.h"
#include "tests/model/oracle.h"
#include "tests/support/engines.h"
#include "tests/support/keys.h"
#include "tests/support/memory.h"
#include "tests/support/operator.h"
#include "tests/support/test.h"

#include <stdbool.h>

enum { WIDTH = 36, MEMORY_WIDTH = 20, HEADS = 3, QK = 10, V = 17, INNER = 50 };
enum { MEMORIES = 2, BEAMS = 3, BATCH = MEMORIES * BEAMS, LEN = 21, MEMORY_LEN = 18, CHUNK = 8 };

static const char *const places[] = {"post", "pre", "sandwich"};

// The weights of one decoder layer, as float64 and fovea want them.
struct weights {
    struct oracle_layer oracle;
    struct fovea_layer_weights packed;
};

static const float *random_floats(size_t n, float centre, float scale, uint64_t *seed)
{
    float *const x = test_floats(n, TEST_HIGH);
    for (size_t i = 0; i < n; i++)
        x[i] = centre + scale * test_float(seed);
    return x;
}

static void make_linear(const struct fovea_engine *engine, size_t inputs, size_t outputs, uint64_t *seed,
                        struct oracle_linear *oracle, struct fovea_linear *packed)
{
    *oracle = (struct oracle_linear){random_floats(inputs * outputs, 0, 1.5f / sqrtf((float)inputs), seed),
                                     test_below(seed, 3) ? random_floats(outputs, 0, 0.1f, seed) : NULL, inputs,
                                     outputs};
    *packed = (struct fovea_linear){test_packed(engine, oracle->weight, inputs, outputs), oracle->bias};
}

static void make_attention(const struct fovea_engine *engine, size_t key_width, uint64_t *seed,
                           struct oracle_linear oracle[4], struct fovea_mha_weights *packed)
{
    make_linear(engine, WIDTH, HEADS * QK, seed, &oracle[0], &packed->q);
    make_linear(engine, key_width, HEADS * QK, seed, &oracle[1], &packed->k);
    make_linear(engine, key_width, HEADS * V, seed, &oracle[2], &packed->v);
    make_linear(engine, HEADS * V, WIDTH, seed, &oracle[3], &packed->o);
}

// The gate beside up, and both as one operand.
static void make_gated(const struct fovea_engine *engine, uint64_t *seed, struct weights *w)
{
    struct oracle_linear *const halves[2] = {&w->oracle.gate, &w->oracle.up};
    struct fovea_linear unused;
    float *const bias = test_floats(2 * INNER, TEST_HIGH);
    for (size_t i = 0; i < 2; i++) {
        make_linear(engine, WIDTH, INNER, seed, halves[i], &unused);
        for (size_t j = 0; j < INNER; j++)
            bias[2 * j + i] = halves[i]->bias ? halves[i]->bias[j] : 0;
    }
    size_t bytes;
    CHECK(!fovea_pack_size(WIDTH, 2 * INNER, &bytes), "size of a blob");
    void *const blob = test_memory(bytes, TEST_HIGH);
    CHECK(!fovea_pack_gated(engine, FOVEA_TRANS, WIDTH, INNER, halves[0]->weight, WIDTH, halves[1]->weight, WIDTH, blob,
                            bytes),
          "packing");
    w->packed.up = (struct fovea_linear){blob, bias};
}

static void make_weights(const struct fovea_engine *engine, uint64_t seed, bool gated, struct weights *w)
{
    make_attention(engine, WIDTH, &seed, w->oracle.self, &w->packed.self_attention);
    make_attention(engine, MEMORY_WIDTH, &seed, w->oracle.cross, &w->packed.cross_attention);
    if (gated)
        make_gated(engine, &seed, w);
    else
        make_linear(engine, WIDTH, INNER, &seed, &w->oracle.up, &w->packed.up);
    make_linear(engine, INNER, WIDTH, &seed, &w->oracle.down, &w->packed.down);
    w->oracle.slopes = gated ? random_floats(HEADS, 0.1f, 0.05f, &seed) : NULL;
    w->oracle.sinks = gated ? random_floats(HEADS, 0, 1, &seed) : NULL;
    w->oracle.q_norm = w->packed.self_attention.q_norm = gated ? random_floats(QK, 1, 0.3f, &seed) : NULL;
    w->oracle.k_norm = w->packed.self_attention.k_norm = gated ? random_floats(QK, 1, 0.3f, &seed) : NULL;
    struct fovea_norm *const norms[] = {&w->packed.norm1, &w->packed.norm2, &w->packed.norm3};
    for (int i = 0; i < 3; i++) {
        norms[i]->gamma = test_below(&seed, 3) ? random_floats(WIDTH, 1, 0.2f, &seed) : NULL;
        norms[i]->beta = test_below(&seed, 3) ? random_floats(WIDTH, 0, 0.2f, &seed) : NULL;
        w->oracle.norm[i] = *norms[i];
    }
}

// The norms of what the parts give; an encoder has no second one.
static void make_norms_out(uint64_t *seed, bool decoder, struct weights *w)
{
    struct fovea_norm *const norms[] = {&w->packed.norm1_out, &w->packed.norm2_out, &w->packed.norm3_out};
    for (int i = 0; i < 3; i++) {
        w->oracle.norm_out[i] = (struct fovea_norm){random_floats(WIDTH, 1, 0.2f, seed),
                                                    i == 1 ? random_floats(WIDTH, 0, 0.2f, seed) : NULL};
        *norms[i] = i != 1 || decoder ? w->oracle.norm_out[i] : (struct fovea_norm){NULL, NULL};
    }
}

// Gated layers have RMSNorm besides, and in self-attention a window, a softcap, a scale, norms, slopes and sinks.
static struct fovea_layer_desc layer_desc(enum fovea_norm_place norm, bool gated, uint32_t decoder)
{
    struct fovea_layer_desc desc;
    CHECK(!fovea_layer_desc_init(&desc, sizeof desc), "init");
    desc.decoder = decoder;
    desc.norm = norm;
    desc.norm_kind = gated ? FOVEA_NORM_RMS : FOVEA_NORM_LAYER;
    desc.activation = gated ? FOVEA_ACTIVATION_SILU : FOVEA_ACTIVATION_GELU;
    desc.gated = gated;
    desc.window_left = gated ? 6 : FOVEA_WINDOW_ALL;
    desc.window_right = gated && !decoder ? 4 : FOVEA_WINDOW_ALL;
    desc.softcap = gated ? 3 : 0;
    desc.qk_norm = gated;
    desc.scale = gated ? 0.4f : FOVEA_SCALE_DEFAULT;
    desc.batch = BATCH;
    desc.beams = decoder ? BEAMS : 1;
    desc.len = LEN;
    desc.memory_len = decoder ? MEMORY_LEN : 0;
    desc.width = WIDTH;
    desc.memory_width = decoder ? MEMORY_WIDTH : 0;
    desc.heads = HEADS;
    desc.qk_dim = QK;
    desc.v_dim = V;
    desc.ffn = INNER;
    return desc;
}

static const uint32_t memory_lens[MEMORIES] = {MEMORY_LEN, 11}, lens[BATCH] = {LEN, 3, 0, LEN + 9, 20, 1};

static double *widen(const float *x, size_t n)
{
    double *const y = test_memory(n * sizeof *y, TEST_HIGH);
    for (size_t i = 0; i < n; i++)
        y[i] = (double)x[i];
    return y;
}

// The bound is that of tests/model/layers.c, for one layer.
static void against_oracle(const char *what, const struct fovea_layer_desc *desc, const struct weights *w,
                           const float *x, const float *memory, const float *y)
{
    double worst = 0;
    for (size_t b = 0; b < BATCH; b++) {
        double *const expected = widen(x + b * LEN * WIDTH, LEN * WIDTH);
        const size_t m = b / BEAMS, valid = desc->decoder || lens[b] > LEN ? LEN : lens[b];
        const double *const own_memory = widen(memory + m * MEMORY_LEN * MEMORY_WIDTH, MEMORY_LEN * MEMORY_WIDTH);
        oracle_run_layer(desc, &w->oracle, LEN, valid, own_memory, memory_lens[m], expected);
        for (size_t i = 0; i < LEN * WIDTH; i++) {
            const double off = fabs((double)y[b * LEN * WIDTH + i] - expected[i]);
            worst = off > worst || isnan(off) ? off : worst;
        }
    }
    CHECK(worst <= 4 * 3 * sqrt(HEADS * V) * 0x1p-24, "%s: %g from float64", what, worst);
}

// What this kind of layer takes: lengths of its own, or a memory and those of it.
static void give_inputs(const struct fovea_layer_desc *desc, const struct weights *w, const float *memory,
                        const uint32_t *own_lens, const uint32_t *lens_of_memory, struct fovea_layer_args *args)
{
    args->weights = &w->packed;
    args->slopes = w->oracle.slopes;
    args->sinks = w->oracle.sinks;
    args->lens = desc->decoder ? NULL : own_lens;
    args->memory = desc->decoder ? memory : NULL;
    args->memory_len = desc->memory_len;
    args->beams = desc->beams;
    args->memory_lens = desc->decoder ? lens_of_memory : NULL;
}

static void test_whole(const char *isa, const struct fovea_engine *engine, const struct fovea_layer_desc *desc,
                       const struct weights *w, const float *x, const float *memory, float *expected, int keep)
{
    const size_t n = BATCH * LEN * WIDTH;
    float *const y = test_floats(n, TEST_HIGH);
    struct fovea_layer_args args = {.x = x, .y = y, .batch = BATCH, .len = LEN};
    give_inputs(desc, w, memory, lens, memory_lens, &args);
    char what[80];
    for (enum test_way way = TEST_SERIAL; way < TEST_WAYS; way++) {
        snprintf(what, sizeof what, "%s, %s-norm %s%s, %s", isa, places[desc->norm],
                 desc->gated ? "gated " : "", desc->decoder ? "decoder" : "encoder", test_way_names[way]);
        memcpy(y, x, n * sizeof *y);
        args.x = way == TEST_THREADS ? y : x; // in place
        const enum fovea_status status = test_run(&test_layer, engine, desc, &args, way, 3);
        CHECK(!status, "%s: %s", what, fovea_status_string(status));
        if (keep && way == TEST_SERIAL) {
            memcpy(expected, y, n * sizeof *y);
            against_oracle(what, desc, w, x, memory, y);
        }
        CHECK_SAME(expected, y, n, "%s", what);
    }
}

// Without lengths all positions count.
static void test_no_lens(const char *isa, const struct fovea_engine *engine, const struct fovea_layer_desc *desc,
                         const struct weights *w, const float *x, const float *memory)
{
    static const uint32_t all[BATCH] = {LEN, LEN, LEN, LEN, LEN, LEN}, all_memory[MEMORIES] = {MEMORY_LEN, MEMORY_LEN};
    const size_t n = BATCH * LEN * WIDTH;
    float *y[2];
    for (int i = 0; i < 2; i++) {
        y[i] = test_floats(n, TEST_HIGH);
        struct fovea_layer_args args = {.x = x, .y = y[i], .batch = BATCH, .len = LEN};
        give_inputs(desc, w, memory, i ? NULL : all, i ? NULL : all_memory, &args);
        const enum fovea_status status = test_run(&test_layer, engine, desc, &args, TEST_SERIAL, 0);
        CHECK(!status, "%s, %s lengths: %s", isa, i ? "without" : "with", fovea_status_string(status));
    }
    CHECK_SAME(y[0], y[1], n, "%s, without lengths", isa);
}

// The keys and values of the memories, projected once by multi-head attention without queries.
static struct fovea_kv_cache fill_cross(const struct fovea_engine *engine, const struct weights *w, const float *memory)
{
    const struct fovea_kv_cache cache = test_cache(MEMORIES, HEADS, MEMORY_LEN, QK, V);
    struct fovea_mha_desc desc;
    CHECK(!fovea_mha_desc_init(&desc, sizeof desc), "init");
    desc.keys = FOVEA_MHA_APPEND;
    desc.batch = MEMORIES;
    desc.heads = HEADS;
    desc.kv_len = desc.new_len = MEMORY_LEN;
    desc.qk_dim = QK;
    desc.v_dim = V;
    desc.query_width = desc.out_width = WIDTH;
    desc.key_width = desc.value_width = MEMORY_WIDTH;
    const struct fovea_mha_args args = {.weights = &w->packed.cross_attention, .key = memory, .value = memory,
                                        .batch = MEMORIES, .kv_len = MEMORY_LEN, .cache = &cache};
    const enum fovea_status status = test_run(&test_mha, engine, &desc, &args, TEST_TASKS, 4);
    CHECK(!status, "filling the cross cache: %s", fovea_status_string(status));
    return cache;
}

// Chunks of 7, 1, 1, 8 and 4 positions give the bits of all 21 at once.
static void test_cached(const char *isa, const struct fovea_engine *engine, const struct fovea_layer_desc *whole,
                        const struct weights *w, const float *x, const float *memory, const float *expected)
{
    static const size_t chunks[] = {7, 1, 1, CHUNK, 4};
    const struct fovea_kv_cache cross = fill_cross(engine, w, memory), self = test_cache(BATCH, HEADS, LEN, QK, V);
    struct fovea_layer_desc desc = *whole;
    desc.cached = 1;
    desc.len = CHUNK;
    desc.kv_len = LEN;
    struct fovea_layer_args args = {.weights = &w->packed, .batch = BATCH, .memory_len = MEMORY_LEN, .beams = BEAMS,
                                    .memory_lens = memory_lens, .self_cache = &self, .cross_cache = &cross,
                                    .slopes = w->oracle.slopes, .sinks = w->oracle.sinks};
    for (size_t i = 0; i < sizeof chunks / sizeof *chunks; i++) {
        const size_t row = chunks[i] * WIDTH;
        float *const in = test_floats(BATCH * row, TEST_HIGH), *const out = test_floats(BATCH * row, TEST_HIGH);
        for (size_t b = 0; b < BATCH; b++)
            memcpy(in + b * row, x + (b * LEN + args.position) * WIDTH, row * sizeof *in);
        args.x = in;
        args.y = out;
        args.len = chunks[i];
        const enum fovea_status status = test_run(&test_layer, engine, &desc, &args, (enum test_way)(i % TEST_WAYS), i);
        CHECK(!status, "%s: chunk at %zu: %s", isa, args.position, fovea_status_string(status));
        size_t wrong = 0;
        for (size_t b = 0; b < BATCH; b++)
            wrong += test_differ(out + b * row, expected + (b * LEN + args.position) * WIDTH, row) != row;
        CHECK(wrong == 0, "%s, %s-norm: chunk at %zu: %zu sequences differ from the whole", isa,
              places[whole->norm], args.position, wrong);
        args.position += chunks[i];
    }
}

static void test_norm_place(struct fovea_engine *const engines[TEST_ISAS], enum fovea_norm_place norm, bool gated,
                            uint64_t seed)
{
    struct weights w = {0};
    make_weights(engines[0], seed, gated, &w);
    const float *const x = random_floats(BATCH * LEN * WIDTH, 0, 1.5f, &seed);
    const float *const memory = random_floats(MEMORIES * MEMORY_LEN * MEMORY_WIDTH, 0, 1.5f, &seed);
    float *const expected = test_floats(BATCH * LEN * WIDTH, TEST_LOW);
    struct weights of_encoder = w;
    of_encoder.packed.norm2 = (struct fovea_norm){NULL, NULL};
    if (norm == FOVEA_NORM_SANDWICH) {
        make_norms_out(&seed, true, &w);
        make_norms_out(&seed, false, &of_encoder);
    }
    for (uint32_t decoder = 0; decoder < 2; decoder++) {
        const struct weights *const own = decoder ? &w : &of_encoder;
        const struct fovea_layer_desc desc = layer_desc(norm, gated, decoder);
        for (int i = 0; i < TEST_ISAS; i++)
            if (engines[i])
                test_whole(test_isas[i], engines[i], &desc, own, x, memory, expected, i == 0);
        test_no_lens(test_isas[0], engines[0], &desc, own, x, memory);
    }
    const struct fovea_layer_desc of_decoder = layer_desc(norm, gated, 1);
    for (int i = 0; i < TEST_ISAS; i++)
        if (engines[i])
            test_cached(test_isas[i], engines[i], &of_decoder, &w, x, memory, expected);
    test_memory_reset();
}

int main(void)
{
    struct fovea_engine *engines[TEST_ISAS];
    test_engines(engines);
    for (uint64_t seed = 1; seed <= 3; seed++)
        for (int gated = 0; gated < 2; gated++) {
            test_norm_place(engines, FOVEA_NORM_POST, gated, seed);
            test_norm_place(engines, FOVEA_NORM_PRE, gated, seed);
            test_norm_place(engines, FOVEA_NORM_SANDWICH, gated, seed);
        }
    test_engines_free(engines);
    return test_done();
}
