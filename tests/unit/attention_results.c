// SPDX-License-Identifier: Apache-2.0
// tests/unit/attention_results.c - all that calls, returned weights and states make of a case, and its comparison.
#include "tests/unit/attention_results.h"
#include "fovea/attention_state.h"
#include "fovea/attention_weights.h"
#include "ops/widen.h"
#include "tests/support/engines.h"
#include "tests/support/memory.h"
#include "tests/support/test.h"

enum { CHUNK = 128 };
static const char *const names[ATTENTION_KINDS] = {"out",     "lse",     "entropy", "largest weight",
                                                   "its key", "weights", "key sums"};
static size_t compared[ATTENTION_KINDS]; // elements, in all cases

static size_t count_of(const struct attention_case *c, enum attention_kind kind)
{
    const size_t heads = c->args.batch * c->desc.heads, rows = heads * c->args.q_len, keys = c->args.kv_len;
    const size_t counts[ATTENTION_KINDS] = {c->out_floats, rows, 0, 0, 0, rows * keys, heads * keys};
    return kind >= ATTENTION_ENTROPY && kind <= ATTENTION_TOP && c->desc.statistics ? rows : counts[kind];
}

void attention_compare(const struct attention_case *c, const struct attention_result *expected,
                       const struct attention_result *got, int last, const char *what)
{
    for (int k = 0; k <= last; k++) {
        const size_t n = count_of(c, (enum attention_kind)k);
        CHECK_SAME(expected->of[k], got->of[k], n, "%s: pages of %zu, %s: %s", c->text, c->desc.page_keys, what,
                   names[k]);
        compared[k] += n;
    }
}

void attention_compared(void)
{
    for (int k = 0; k < ATTENTION_KINDS; k++)
        CHECK(compared[k] > 0, "no case has %s", names[k]);
}

struct attention_result attention_run(struct attention_case *c, const struct fovea_engine *engine, enum test_way way)
{
    struct attention_result r;
    for (int k = 0; k < ATTENTION_KINDS; k++)
        r.of[k] = test_floats(count_of(c, (enum attention_kind)k), TEST_HIGH);
    memcpy(r.of[ATTENTION_OUT], c->out_before, c->out_floats * sizeof(float));
    c->args.out = r.of[ATTENTION_OUT];
    c->args.lse = r.of[ATTENTION_LSE];
    c->args.entropy = c->desc.statistics ? r.of[ATTENTION_ENTROPY] : NULL;
    c->args.max_weight = c->desc.statistics ? r.of[ATTENTION_LARGEST] : NULL;
    c->args.max_key = c->desc.statistics ? (uint32_t *)(void *)r.of[ATTENTION_TOP] : NULL;
    const enum fovea_status status = test_run(&test_attention, engine, &c->desc, &c->args, way, c->rng.state);
    CHECK(!status, "%s: %s", c->text, fovea_status_string(status));
    const size_t keys = c->args.kv_len, head = c->args.q_len * keys;
    const struct fovea_attention_weights_args weights = {.call = &c->args,
                                                         .weights = r.of[ATTENTION_WEIGHTS],
                                                         .strides = {c->desc.heads * head, head, keys},
                                                         .key_sums = r.of[ATTENTION_KEY_SUMS]};
    const struct test_session s = test_plan(&test_attention, engine, &c->desc, 1);
    CHECK(!fovea_attention_weights(s.plan, &weights, s.scratch, NULL), "%s: weights", c->text);
    return r;
}

void attention_evict(struct attention_case *c, size_t first)
{
    const size_t size = fovea_type_bytes(c->desc.kv_type), keys = first - c->args.kv_begin;
    const size_t k_row = c->desc.k_layout == FOVEA_K_PANELS ? c->desc.qk_dim : c->k.row;
    c->args.kv_begin = first;
    if (c->desc.page_keys == 0) { // pages number keys from 0
        c->args.k = (const char *)c->args.k + keys * k_row * size;
        c->args.v = (const char *)c->args.v + keys * c->v.row * size;
    }
}

struct attention_result attention_stream(struct attention_case *c, const struct fovea_engine *engine)
{
    const struct attention_result r = {
        {test_floats(c->out_floats, TEST_HIGH), test_floats(count_of(c, ATTENTION_LSE), TEST_HIGH)}};
    const struct test_session s = test_plan(&test_attention, engine, &c->desc, 1);
    size_t bytes = 0;
    CHECK(!fovea_attention_state_size(s.plan, c->args.batch, c->args.q_len, 2, &bytes), "%s", c->text);
    void *const state = test_memory(bytes, TEST_HIGH);
    CHECK(!fovea_attention_state_init(s.plan, c->args.batch, c->args.q_len, 2, state), "%s", c->text);
    for (size_t first = c->args.kv_begin, end; first < c->args.kv_len; first = end) {
        struct attention_case left = *c;
        attention_evict(&left, first);
        struct fovea_attention_args block = left.args;
        end = first - first % CHUNK + CHUNK * (1 + check_below(&c->rng, 3));
        end = block.kv_len = end < c->args.kv_len ? end : c->args.kv_len;
        if (c->desc.segments) { // (batch, kv_len) of this call
            uint32_t *const ids = test_memory(block.batch * block.kv_len * sizeof *ids, TEST_HIGH);
            for (size_t b = 0; b < block.batch; b++)
                memcpy(ids + b * block.kv_len, c->args.kv_segments + b * c->args.kv_len, block.kv_len * sizeof *ids);
            block.kv_segments = ids;
        }
        CHECK(!fovea_attention_state_accumulate(s.plan, &block, state, s.scratch, NULL), "%s: accumulate", c->text);
    }
    memcpy(r.of[ATTENTION_OUT], c->out_before, c->out_floats * sizeof(float));
    c->args.out = r.of[ATTENTION_OUT];
    c->args.lse = r.of[ATTENTION_LSE];
    CHECK(!fovea_attention_state_finish(s.plan, state, &c->args, s.scratch, NULL), "%s: finish", c->text);
    return r;
}

void attention_on_all(struct attention_case *c, struct fovea_engine *const *engines,
                      const struct attention_result *expected)
{
    for (int e = 0; e < TEST_ISAS; e++) {
        if (!engines[e])
            continue;
        const enum test_way way = (enum test_way)check_below(&c->rng, TEST_WAYS);
        const struct attention_result got = attention_run(c, engines[e], way);
        attention_compare(c, expected, &got, ATTENTION_KEY_SUMS, test_isas[e]);
        const struct attention_result streamed = attention_stream(c, engines[e]);
        attention_compare(c, expected, &streamed, ATTENTION_LSE, "a state");
    }
}

bool attention_needs(const struct attention_case *c, size_t b, size_t j)
{
    struct attention_case structural = *c;
    structural.desc.bias = 0;
    if (j < c->args.kv_begin)
        return false;
    for (size_t h = 0; h < c->desc.heads; h++)
        for (size_t i = 0; i < c->args.q_len; i++)
            if (attention_case_sees(&structural, b, h, i, j))
                return true;
    return false;
}
