// SPDX-License-Identifier: Apache-2.0
// tests/golden/returned.c - what attention gives beside its output, dropout, and keys in pieces, beside PyTorch: four
// heads on two of K and V, many rows in one call, and a few.
#include "tests/golden/golden.h"

enum { OFFSET = 70, CUT = 48, PARTS = 2 };
static const uint64_t SEED = 0x123456789ABCDEF0;

// A plan with its memories, and the call of all rows.
struct session {
    struct fovea_attention_desc desc;
    struct fovea_attention_args args;
    struct fovea_work *plan;
    void *shared, *scratch;
    float *out, *lse, *entropy, *max_weight;
    uint32_t *max_key;
    size_t rows; // of batch * heads * q_len
};

static struct session begin(float dropout)
{
    const struct fovea_tensor *const q = tensor("returned.q"), *const k = tensor("returned.k"),
                                     *const v = tensor("returned.v"), *const out = tensor("returned.out");
    struct session s = {.rows = q->shape[0] * q->shape[1] * q->shape[2]};
    struct fovea_attention_desc *const d = &s.desc;
    fovea_attention_desc_init(d, sizeof *d);
    d->batch = q->shape[0], d->heads = q->shape[1], d->kv_heads = k->shape[1];
    d->q_len = q->shape[2], d->kv_len = k->shape[2], d->qk_dim = q->shape[3], d->v_dim = v->shape[3];
    d->q = dense(q), d->k = dense(k), d->v = dense(v), d->out = dense(out);
    d->causal = d->statistics = 1;
    d->dropout = dropout;
    s.plan = test_alloc(fovea_attention_plan_size());
    CHECK(!fovea_attention_plan(engine, d, s.plan), "plan");
    s.shared = test_alloc(s.plan->shared_bytes), s.scratch = test_alloc(s.plan->scratch_bytes);
    s.out = test_alloc(out->bytes);
    s.lse = test_alloc(s.rows * sizeof(float));
    s.entropy = test_alloc(s.rows * sizeof(float)), s.max_weight = test_alloc(s.rows * sizeof(float));
    s.max_key = test_alloc(s.rows * sizeof(uint32_t));
    s.args = (struct fovea_attention_args){.q = q->data,
                                           .k = k->data,
                                           .v = v->data,
                                           .out = s.out,
                                           .lse = s.lse,
                                           .entropy = s.entropy,
                                           .max_weight = s.max_weight,
                                           .max_key = s.max_key,
                                           .batch = d->batch,
                                           .q_len = d->q_len,
                                           .kv_len = d->kv_len,
                                           .q_offset = OFFSET,
                                           .seed = SEED};
    return s;
}

static void end(struct session *s)
{
    void *const all[] = {s->plan, s->shared, s->scratch, s->out, s->lse, s->entropy, s->max_weight, s->max_key};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        free(all[i]);
}

static enum fovea_status run(const struct session *s)
{
    return fovea_attention(s->plan, &s->args, s->shared, s->scratch, NULL);
}

static void test_statistics(void)
{
    struct session s = begin(0);
    const enum fovea_status status = run(&s);
    compare("returned.out", "", status, s.out, OPERATOR);
    compare("returned.lse", "", status, s.lse, OPERATOR);
    compare("returned.entropy", "", status, s.entropy, OPERATOR);
    compare("returned.max_weight", "", status, s.max_weight, OPERATOR);
    const uint8_t *const max_key = tensor("returned.max_key")->data;
    for (size_t i = 0; i < s.rows; i++)
        CHECK(s.max_key[i] == max_key[i], "row %zu: key %u, expected %u", i, s.max_key[i], max_key[i]);
    end(&s);
}

// The last call's weights, each sort into a tensor's shape.
static void weights_case(const struct session *s, const char *name, uint32_t dropped, uint32_t average)
{
    const struct fovea_tensor *const t = tensor(name);
    float *const weights = test_alloc(t->bytes);
    const struct fovea_attention_desc *const d = &s->desc;
    const size_t head = d->q_len * d->kv_len;
    const struct fovea_attention_weights_args args = {
        .call = &s->args,
        .dropped = dropped,
        .average = average,
        .weights = weights,
        .strides = {.batch = average ? head : d->heads * head, .head = head, .row = d->kv_len}};
    compare(name, "", fovea_attention_weights(s->plan, &args, s->scratch, NULL), weights, OPERATOR);
    free(weights);
}

static void test_weights(void)
{
    struct session s = begin(0);
    CHECK(!run(&s), "the first pass");
    weights_case(&s, "returned.weights", 0, 0);
    weights_case(&s, "returned.average", 0, 1);
    float *const keys = test_alloc(tensor("returned.key_sums")->bytes), *const heads = test_alloc(
                                                                            tensor("returned.head_sums")->bytes);
    const struct fovea_attention_weights_args sums = {.call = &s.args, .key_sums = keys, .head_sums = heads};
    const enum fovea_status status = fovea_attention_weights(s.plan, &sums, s.scratch, NULL);
    compare("returned.key_sums", "", status, keys, OPERATOR);
    compare("returned.head_sums", "", status, heads, OPERATOR);
    free(keys);
    free(heads);
    end(&s);
}

static void test_dropout(void)
{
    struct session s = begin(0.25f);
    compare("returned.dropped.out", "", run(&s), s.out, OPERATOR);
    weights_case(&s, "returned.dropped", 1, 0);
    weights_case(&s, "returned.weights", 0, 0);
    s.args.eval = 1;
    compare("returned.out", ", eval", run(&s), s.out, OPERATOR);
    end(&s);
}

// A few rows of a call are computed by other kernels than many, and draw what they would in it.
static void test_pieces(void)
{
    enum { ROWS = 3 };
    struct session s = begin(0.25f);
    enum fovea_status status = FOVEA_OK;
    s.args.lse = s.args.entropy = s.args.max_weight = NULL;
    s.args.max_key = NULL;
    for (size_t first = 0; first < s.desc.q_len && !status; first += ROWS) {
        s.args.q = floats("returned.q") + first * s.desc.q.row;
        s.args.out = s.out + first * s.desc.out.row;
        s.args.q_len = ROWS;
        s.args.q_offset = (int64_t)(OFFSET + first);
        status = run(&s);
    }
    compare("returned.dropped.out", " in pieces", status, s.out, OPERATOR);
    end(&s);
}

// Keys up to CUT and those behind it as two states, one merged into the other.
static void test_states(void)
{
    struct session s = begin(0);
    void *state[PARTS];
    enum fovea_status status = FOVEA_OK;
    for (size_t i = 0; i < PARTS && !status; i++) {
        struct fovea_attention_args block = s.args;
        size_t bytes = 0;
        block.kv_begin = i * CUT;
        block.k = (const float *)block.k + i * CUT * s.desc.k.row;
        block.v = (const float *)block.v + i * CUT * s.desc.v.row;
        block.kv_len = i + 1 < PARTS ? CUT : s.desc.kv_len;
        CHECK(!fovea_attention_state_size(s.plan, block.batch, block.q_len, PARTS, &bytes), "size");
        state[i] = test_alloc(bytes);
        status = fovea_attention_state_init(s.plan, block.batch, block.q_len, PARTS, state[i]);
        status = status ? status : fovea_attention_state_accumulate(s.plan, &block, state[i], s.scratch, NULL);
    }
    status = status ? status : fovea_attention_state_merge(s.plan, state[0], state[1], s.scratch, NULL);
    status = status ? status : fovea_attention_state_finish(s.plan, state[0], &s.args, s.scratch, NULL);
    compare("returned.out", " from states", status, s.out, OPERATOR);
    compare("returned.lse", " from states", status, s.lse, OPERATOR);
    for (size_t i = 0; i < PARTS; i++)
        free(state[i]);
    end(&s);
}

static void test_all(void)
{
    test_statistics();
    test_weights();
    test_dropout();
    test_pieces();
    test_states();
}

int main(void)
{
    return golden_main(test_all);
}
