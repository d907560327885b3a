// SPDX-License-Identifier: Apache-2.0
// tests/unit/attention_pages.c - keys in pages give the bits of keys in one block, whatever the page size, layout,
// masks, ISA and threads, in all that a call, returned weights and states make of them; pages that nobody sees are
// inaccessible, their entries in the table garbage.
#include "fovea/attention_state.h"
#include "fovea/attention_weights.h"
#include "tests/support/engines.h"
#include "tests/support/memory.h"
#include "tests/support/operator.h"
#include "tests/support/test.h"
#include "tests/unit/attention_case.h"

enum { PANEL = 16, CHUNK = 128, UNIT = 1024 }; ///< UNIT: floats of a 4 KiB page
enum kind { OUT, LSE, ENTROPY, LARGEST, TOP, WEIGHTS, KEY_SUMS, KINDS };
static const char *const kind_names[KINDS] = {"out",     "lse",     "entropy", "largest weight",
                                              "its key", "weights", "key sums"};

static struct fovea_engine *engines[TEST_ISAS];
static size_t compared[KINDS]; ///< elements, in all cases

// The keys of a case in pages of a pool.
struct pool {
    struct fovea_strides k_strides, v_strides;
    size_t page_keys, pages_each, pages; // pages_each: entries of the table for a batch entry
    uint32_t *table;
    float *k, *v;
};

// True if some query of the batch entry sees key j by the masks: a bias of -inf hides nothing here.
static bool needed(const struct attention_case *c, size_t b, size_t j)
{
    struct attention_case structural = *c;
    structural.desc.bias = 0;
    for (size_t h = 0; h < c->desc.heads; h++)
        for (size_t i = 0; i < c->args.q_len; i++)
            if (attention_case_sees(&structural, b, h, i, j))
                return true;
    return false;
}

static bool page_needed(const struct attention_case *c, const struct pool *p, size_t b, size_t page)
{
    for (size_t j = page * p->page_keys; j < (page + 1) * p->page_keys && j < c->args.kv_len; j++)
        if (needed(c, b, j))
            return true;
    return false;
}

// Keys and values of one page, taken from the case; what lies past the last key stays NaN.
static void fill_page(const struct attention_case *c, const struct pool *p, size_t b, size_t page, size_t to)
{
    const size_t d = c->desc.qk_dim, dv = c->desc.v_dim;
    const bool panels = c->desc.k_layout == FOVEA_K_PANELS;
    for (size_t h = 0; h < c->desc.kv_heads; h++)
        for (size_t n = 0; n < p->page_keys && page * p->page_keys + n < c->args.kv_len; n++) {
            const size_t j = page * p->page_keys + n;
            const float *const k = c->args.k + b * c->k.batch + h * c->k.head;
            float *const into = p->k + to * p->k_strides.batch + h * p->k_strides.head;
            for (size_t i = 0; i < d; i++) {
                if (panels)
                    into[n / PANEL * PANEL * d + i * PANEL + n % PANEL] =
                        k[j / PANEL * PANEL * d + i * PANEL + j % PANEL];
                else
                    into[n * p->k_strides.row + i] = k[j * c->k.row + i];
            }
            memcpy(p->v + to * p->v_strides.batch + h * p->v_strides.head + n * p->v_strides.row,
                   c->args.v + b * c->v.batch + h * c->v.head + j * c->v.row, dv * sizeof *p->v);
        }
}

static struct pool make_pool(struct attention_case *c)
{
    static const uint16_t sizes[] = {16, 32, 64, 128, 256, 384};
    struct check_rng *const rng = &c->rng;
    const struct fovea_attention_desc *const d = &c->desc;
    struct pool p = {.page_keys = sizes[check_below(rng, 6)]};
    p.pages_each = (d->kv_len + p.page_keys - 1) / p.page_keys;
    p.pages = c->args.batch * p.pages_each + 3;
    const size_t gap = check_below(rng, 5);
    // A page of the pool begins at a page of memory, so that it can be hidden.
    p.k_strides.row = d->k_layout == FOVEA_K_PANELS ? 0 : d->qk_dim + gap;
    p.k_strides.head = p.page_keys * (d->k_layout == FOVEA_K_PANELS ? d->qk_dim : d->qk_dim + gap);
    p.k_strides.batch = (d->kv_heads * p.k_strides.head + UNIT - 1) / UNIT * UNIT;
    p.v_strides = (struct fovea_strides){0, p.page_keys * (d->v_dim + gap), d->v_dim + gap};
    p.v_strides.batch = (d->kv_heads * p.v_strides.head + UNIT - 1) / UNIT * UNIT;
    p.k = test_floats(p.pages * p.k_strides.batch, TEST_LOW);
    p.v = test_floats(p.pages * p.v_strides.batch, TEST_LOW);
    p.table = test_memory(c->args.batch * p.pages_each * sizeof *p.table, TEST_HIGH);
    uint32_t *const order = test_memory(p.pages * sizeof *order, TEST_HIGH); // pages in a shuffled order
    test_shuffle(order, (uint32_t)p.pages, &rng->state);
    bool *const used = test_memory(p.pages * sizeof *used, TEST_HIGH);
    memset(used, 0, p.pages * sizeof *used);
    for (size_t b = 0; b < c->args.batch; b++)
        for (size_t page = 0; page < p.pages_each; page++) {
            const size_t at = b * p.pages_each + page;
            p.table[at] = UINT32_MAX;
            if (!page_needed(c, &p, b, page))
                continue;
            p.table[at] = order[at];
            used[order[at]] = true;
            fill_page(c, &p, b, page, order[at]);
        }
    for (size_t page = 0; page < p.pages; page++)
        if (!used[page]) {
            test_hide(p.k + page * p.k_strides.batch, p.k_strides.batch);
            test_hide(p.v + page * p.v_strides.batch, p.v_strides.batch);
        }
    return p;
}

// All that is made of a case.
struct result {
    float *of[KINDS];
};

static size_t count_of(const struct attention_case *c, enum kind kind)
{
    const size_t heads = c->args.batch * c->desc.heads, rows = heads * c->args.q_len, keys = c->args.kv_len;
    const size_t counts[KINDS] = {c->out_floats, rows, 0, 0, 0, rows * keys, heads * keys};
    return kind >= ENTROPY && kind <= TOP && c->desc.statistics ? rows : counts[kind];
}

static void compare(const struct attention_case *c, const struct result *expected, const struct result *got, int last,
                    const char *what, int e)
{
    for (int k = 0; k <= last; k++) {
        const size_t n = count_of(c, (enum kind)k);
        CHECK_SAME(expected->of[k], got->of[k], n, "%s: pages of %zu, %s: %s: %s", c->text, c->desc.page_keys,
                   test_isas[e], what, kind_names[k]);
        compared[k] += n;
    }
}

// The call, then its weights.
static struct result run(struct attention_case *c, int e, enum test_way way)
{
    struct result r;
    for (int k = 0; k < KINDS; k++)
        r.of[k] = test_floats(count_of(c, (enum kind)k), TEST_HIGH);
    memcpy(r.of[OUT], c->out_before, c->out_floats * sizeof(float));
    c->args.out = r.of[OUT];
    c->args.lse = r.of[LSE];
    c->args.entropy = c->desc.statistics ? r.of[ENTROPY] : NULL;
    c->args.max_weight = c->desc.statistics ? r.of[LARGEST] : NULL;
    c->args.max_key = c->desc.statistics ? (uint32_t *)(void *)r.of[TOP] : NULL;
    const enum fovea_status status = test_run(&test_attention, engines[e], &c->desc, &c->args, way, c->rng.state);
    CHECK(!status, "%s: %s: %s", c->text, test_isas[e], fovea_status_string(status));
    const size_t keys = c->args.kv_len, head = c->args.q_len * keys;
    const struct fovea_attention_weights_args weights = {.call = &c->args,
                                                         .weights = r.of[WEIGHTS],
                                                         .strides = {c->desc.heads * head, head, keys},
                                                         .key_sums = r.of[KEY_SUMS]};
    const struct test_session s = test_plan(&test_attention, engines[e], &c->desc, 1);
    CHECK(!fovea_attention_weights(s.plan, &weights, s.scratch, NULL), "%s: weights", c->text);
    return r;
}

// Keys one to three chunks at a time in a state.
static struct result stream(struct attention_case *c, int e)
{
    const struct result r = {{test_floats(c->out_floats, TEST_HIGH), test_floats(count_of(c, LSE), TEST_HIGH)}};
    const struct test_session s = test_plan(&test_attention, engines[e], &c->desc, 1);
    size_t bytes = 0;
    CHECK(!fovea_attention_state_size(s.plan, c->args.batch, c->args.q_len, 2, &bytes), "%s", c->text);
    void *const state = test_memory((bytes + 63) / 64 * 64, TEST_HIGH);
    CHECK(!fovea_attention_state_init(s.plan, c->args.batch, c->args.q_len, 2, state), "%s", c->text);
    struct fovea_attention_args block = c->args;
    for (size_t first = 0; first < c->args.kv_len; first = block.kv_len) {
        const size_t end = first + CHUNK * (1 + check_below(&c->rng, 3));
        block.kv_begin = first;
        block.kv_len = end < c->args.kv_len ? end : c->args.kv_len;
        if (c->desc.segments) { // (batch, kv_len) of this call
            uint32_t *const ids = test_memory(block.batch * block.kv_len * sizeof *ids, TEST_HIGH);
            for (size_t b = 0; b < block.batch; b++)
                memcpy(ids + b * block.kv_len, c->args.kv_segments + b * c->args.kv_len, block.kv_len * sizeof *ids);
            block.kv_segments = ids;
        }
        CHECK(!fovea_attention_state_accumulate(s.plan, &block, state, s.scratch, NULL), "%s: accumulate", c->text);
    }
    memcpy(r.of[OUT], c->out_before, c->out_floats * sizeof(float));
    c->args.out = r.of[OUT];
    c->args.lse = r.of[LSE];
    CHECK(!fovea_attention_state_finish(s.plan, state, &c->args, s.scratch, NULL), "%s: finish", c->text);
    return r;
}

static void run_case(uint64_t number)
{
    struct attention_case c;
    attention_draw(&c, number, true, 400000);
    const struct result expected = run(&c, 0, TEST_SERIAL);
    const struct pool p = make_pool(&c);
    c.desc.page_keys = p.page_keys;
    c.desc.k = p.k_strides;
    c.desc.v = p.v_strides;
    c.batch_strides[1] = p.k_strides.batch;
    c.batch_strides[2] = p.v_strides.batch;
    c.args.k = p.k;
    c.args.v = p.v;
    c.args.pages = p.table;
    c.args.pages_batch = p.pages_each;
    for (int e = 0; e < TEST_ISAS; e++) {
        if (!engines[e])
            continue;
        for (size_t i = 0; i < FOVEA_ATTENTION_CLASSES; i++) { // every second case asks for what comes next
            struct fovea_attention_tuning *const tuning = &test_tuning(engines[e])->attention[i];
            tuning->near = tuning->near_tiles = number % 2 != 0 ? 1 : 1 << 20;
        }
        const struct result got = run(&c, e, (enum test_way)check_below(&c.rng, TEST_WAYS));
        compare(&c, &expected, &got, KEY_SUMS, "a call", e);
        const struct result streamed = stream(&c, e);
        compare(&c, &expected, &streamed, LSE, "a state", e);
    }
    test_memory_reset();
}

int main(void)
{
    const bool small = getenv("FOVEA_TEST_SMALL") != NULL;
    test_engines(engines);
    for (uint64_t number = 50001; number <= (small ? 50060 : 50300); number++)
        run_case(number);
    for (int k = 0; k < KINDS; k++)
        CHECK(compared[k] > 0, "no case has %s", kind_names[k]);
    test_engines_free(engines);
    return test_done();
}
