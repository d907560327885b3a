// SPDX-License-Identifier: Apache-2.0
// tests/unit/attention_pages.c - keys in pages give the bits of keys in one block, whatever the page size, layout,
// types, masks, evicted keys, ISA and threads, in all that a call, returned weights and states make of them; pages that
// nobody sees are inaccessible, their entries in the table garbage.
#include "tests/support/engines.h"
#include "tests/support/memory.h"
#include "tests/support/test.h"
#include "tests/unit/attention_half.h"
#include "tests/unit/attention_results.h"

enum { PANEL = 16, UNIT = 1024 }; ///< UNIT: floats of a 4 KiB page

static struct fovea_engine *engines[TEST_ISAS];

// The keys of a case in pages of a pool.
struct pool {
    struct fovea_strides k_strides, v_strides;
    size_t page_keys, pages_each, pages; // pages_each: entries of the table for a batch entry
    uint32_t *table;
    bool *used;
    float *k, *v;
};

static bool page_needed(const struct attention_case *c, const struct pool *p, size_t b, size_t page)
{
    for (size_t j = page * p->page_keys; j < (page + 1) * p->page_keys && j < c->args.kv_len; j++)
        if (attention_needs(c, b, j))
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
            const float *const k = (const float *)c->args.k + b * c->k.batch + h * c->k.head;
            float *const into = p->k + to * p->k_strides.batch + h * p->k_strides.head;
            for (size_t i = 0; i < d; i++) {
                if (panels)
                    into[n / PANEL * PANEL * d + i * PANEL + n % PANEL] =
                        k[j / PANEL * PANEL * d + i * PANEL + j % PANEL];
                else
                    into[n * p->k_strides.row + i] = k[j * c->k.row + i];
            }
            memcpy(p->v + to * p->v_strides.batch + h * p->v_strides.head + n * p->v_strides.row,
                   (const float *)c->args.v + b * c->v.batch + h * c->v.head + j * c->v.row, dv * sizeof *p->v);
        }
}

// unit: elements of which a page is a multiple.
static struct pool make_pool(struct attention_case *c, size_t unit)
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
    p.k_strides.batch = (d->kv_heads * p.k_strides.head + unit - 1) / unit * unit;
    p.v_strides = (struct fovea_strides){0, p.page_keys * (d->v_dim + gap), d->v_dim + gap};
    p.v_strides.batch = (d->kv_heads * p.v_strides.head + unit - 1) / unit * unit;
    p.k = test_floats(p.pages * p.k_strides.batch, TEST_LOW);
    p.v = test_floats(p.pages * p.v_strides.batch, TEST_LOW);
    p.table = test_memory(c->args.batch * p.pages_each * sizeof *p.table, TEST_HIGH);
    uint32_t *const order = test_memory(p.pages * sizeof *order, TEST_HIGH); // pages in a shuffled order
    test_shuffle(order, (uint32_t)p.pages, &rng->state);
    p.used = test_memory(p.pages * sizeof *p.used, TEST_HIGH);
    memset(p.used, 0, p.pages * sizeof *p.used);
    for (size_t b = 0; b < c->args.batch; b++)
        for (size_t page = 0; page < p.pages_each; page++) {
            const size_t at = b * p.pages_each + page;
            p.table[at] = UINT32_MAX;
            if (!page_needed(c, &p, b, page))
                continue;
            p.table[at] = order[at];
            p.used[order[at]] = true;
            fill_page(c, &p, b, page, order[at]);
        }
    return p;
}

// K or V of a pool as elements of a type; pages that are not used are inaccessible.
static const void *store(const struct pool *p, enum fovea_type type, const float *x, size_t stride)
{
    const size_t floats = type == FOVEA_F32 ? stride : stride / 2; // of a page
    const void *const pages = type == FOVEA_F32 ? x : (const void *)attention_halves(type, x, p->pages * stride);
    for (size_t page = 0; page < p->pages; page++)
        if (!p->used[page])
            test_hide((const float *)pages + page * floats, floats);
    return pages;
}

static void run_case(uint64_t number)
{
    struct attention_case c;
    const enum fovea_type type = (enum fovea_type)(number / 2 % 3);
    attention_draw(&c, number, true, 400000);
    if (type != FOVEA_F32)
        attention_round_case(&c, type);
    struct attention_case whole = c;
    c.args.kv_begin = attention_evicted(&c, number);
    attention_evict(&whole, c.args.kv_begin);
    const struct attention_result expected = attention_run(&whole, engines[0], TEST_SERIAL);
    const struct pool p = make_pool(&c, type == FOVEA_F32 ? UNIT : 2 * UNIT);
    c.desc.page_keys = p.page_keys;
    c.desc.k = p.k_strides;
    c.desc.v = p.v_strides;
    c.batch_strides[1] = p.k_strides.batch;
    c.batch_strides[2] = p.v_strides.batch;
    c.desc.kv_type = type;
    c.args.k = store(&p, type, p.k, p.k_strides.batch);
    c.args.v = store(&p, type, p.v, p.v_strides.batch);
    c.args.pages = p.table;
    c.args.pages_batch = p.pages_each;
    for (int e = 0; e < TEST_ISAS; e++)
        for (size_t i = 0; i < FOVEA_ATTENTION_CLASSES && engines[e];
             i++) { // every second case asks for what comes next
            struct fovea_attention_tuning *const tuning = &test_tuning(engines[e])->attention[i];
            tuning->near = tuning->near_tiles = number % 2 != 0 ? 1 : 1 << 20;
        }
    attention_on_all(&c, engines, &expected);
    test_memory_reset();
}

int main(void)
{
    const bool small = getenv("FOVEA_TEST_SMALL") != NULL;
    test_engines(engines);
    for (uint64_t number = 50001; number <= (small ? 50060 : 50300); number++)
        run_case(number);
    attention_compared();
    test_engines_free(engines);
    return test_done();
}
