// SPDX-License-Identifier: Apache-2.0
// tests/unit/kv_cache.c - fovea_kv_append puts each key into its panel and each value into its row, and writes nothing
// else: any sizes, views and positions.
#include "fovea/kv_cache.h"
#include "tests/check/check.h"
#include "tests/support/memory.h"
#include "tests/support/test.h"

enum { PANEL = 16 };

// New keys and values: views with gaps between rows, heads side by side (k) or one after another (v).
struct news {
    size_t b, pos, len;
    struct fovea_strides ks, vs;
    float *k, *v;
};

static struct fovea_kv_cache draw_cache(struct check_rng *rng, size_t *k_elements, size_t *v_elements)
{
    struct fovea_kv_cache c = {.struct_size = sizeof c,
                               .batch = 1 + check_below(rng, 3),
                               .kv_heads = 1 + check_below(rng, 3),
                               .capacity = check_size(rng, 70),
                               .qk_dim = 1 + check_below(rng, 20),
                               .v_dim = 1 + check_below(rng, 20)};
    const size_t heads = c.batch * c.kv_heads, keys = (c.capacity + PANEL - 1) / PANEL * PANEL;
    CHECK(!fovea_kv_cache_size(&c, k_elements, v_elements), "size");
    CHECK(*k_elements == heads * keys * c.qk_dim && *v_elements == heads * c.capacity * c.v_dim, "%zu and %zu elements",
          *k_elements, *v_elements);
    c.k = test_floats(*k_elements, TEST_HIGH);
    c.v = test_floats(*v_elements, TEST_HIGH);
    return c;
}

static struct news draw_news(struct check_rng *rng, const struct fovea_kv_cache *c)
{
    const struct check_source source = {CHECK_BITS, 1, 0};
    struct news n = {.b = check_below(rng, c->batch), .pos = check_below(rng, c->capacity + 1)};
    n.len = check_below(rng, c->capacity - n.pos + 1);
    n.ks = (struct fovea_strides){0, c->qk_dim, c->kv_heads * c->qk_dim + 3};
    n.vs = (struct fovea_strides){0, n.len * (c->v_dim + 1), c->v_dim + 1};
    const size_t k_floats = n.len ? (n.len - 1) * n.ks.row + c->kv_heads * c->qk_dim : 0;
    const size_t v_floats = n.len ? (c->kv_heads - 1) * n.vs.head + (n.len - 1) * n.vs.row + c->v_dim : 0;
    n.k = test_floats(k_floats, TEST_HIGH);
    n.v = test_floats(v_floats, TEST_HIGH);
    check_fill(rng, &source, n.k, k_floats);
    check_fill(rng, &source, n.v, v_floats);
    return n;
}

// The same by definition.
static void place(const struct fovea_kv_cache *c, const struct news *n, float *k, float *v)
{
    const size_t keys = (c->capacity + PANEL - 1) / PANEL * PANEL;
    for (size_t h = 0; h < c->kv_heads; h++)
        for (size_t j = 0; j < n->len; j++) {
            const size_t head = n->b * c->kv_heads + h, key = n->pos + j;
            for (size_t p = 0; p < c->qk_dim; p++)
                k[head * keys * c->qk_dim + key / PANEL * PANEL * c->qk_dim + p * PANEL + key % PANEL] =
                    n->k[j * n->ks.row + h * n->ks.head + p];
            for (size_t p = 0; p < c->v_dim; p++)
                v[(head * c->capacity + key) * c->v_dim + p] = n->v[j * n->vs.row + h * n->vs.head + p];
        }
}

static void run_case(uint64_t number)
{
    struct check_rng rng = {number};
    size_t k_elements, v_elements;
    const struct fovea_kv_cache c = draw_cache(&rng, &k_elements, &v_elements);
    float *const k = test_floats(k_elements, TEST_HIGH), *const v = test_floats(v_elements, TEST_HIGH);
    for (int i = 0; i < 3; i++) {
        const struct news n = draw_news(&rng, &c);
        place(&c, &n, k, v);
        const enum fovea_status status = fovea_kv_append(&c, n.b, n.pos, n.len, n.k, n.ks, n.v, n.vs);
        CHECK(!status, "case %llu: %s", (unsigned long long)number, fovea_status_string(status));
        CHECK(memcmp(c.k, k, k_elements * sizeof *k) == 0 && memcmp(c.v, v, v_elements * sizeof *v) == 0,
              "case %llu: keys %zu to %zu of batch entry %zu", (unsigned long long)number, n.pos, n.pos + n.len, n.b);
    }
    test_memory_reset();
}

int main(void)
{
    for (uint64_t number = 1; number <= 300; number++)
        run_case(number);
    return test_done();
}
