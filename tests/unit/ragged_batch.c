// SPDX-License-Identifier: Apache-2.0
// tests/unit/ragged_batch.c - random ragged batches: prefilling and decoding entries, some of them empty.
#include "tests/unit/ragged_batch.h"
#include "tests/check/check.h"
#include "tests/support/memory.h"

#include <stdio.h>
#include <stdlib.h>

enum { PAGE = 32 };

static void must(enum fovea_status status)
{
    if (status) {
        fprintf(stderr, "FAIL a cache of keys: %s\n", fovea_status_string(status));
        exit(1);
    }
}

static float *random_floats(struct check_rng *rng, size_t n, float scale)
{
    const struct check_source source = {CHECK_UNIFORM, scale, 0};
    float *const x = test_floats(n, TEST_HIGH);
    check_fill(rng, &source, x, n);
    return x;
}

static void fill_caches(struct batch *t)
{
    const struct fovea_strides k = {0, D, KV_HEADS * D}, v = {0, DV, KV_HEADS * DV};
    size_t nk, nv;
    t->cache = (struct fovea_kv_cache){.struct_size = sizeof t->cache, .batch = t->entries, .kv_heads = KV_HEADS};
    t->cache.capacity = t->kv_most, t->cache.qk_dim = D, t->cache.v_dim = DV;
    t->cache.k_rows = t->k_rows;
    must(fovea_kv_cache_size(&t->cache, &nk, &nv));
    t->cache.k = test_floats(nk, TEST_HIGH), t->cache.v = test_floats(nv, TEST_HIGH);
    t->table_row = (t->kv_most + PAGE - 1) / PAGE;
    t->pool = (struct fovea_kv_pages){.struct_size = sizeof t->pool, .page_keys = PAGE, .kv_heads = KV_HEADS};
    t->pool.pages = t->entries * t->table_row, t->pool.qk_dim = D, t->pool.v_dim = DV;
    t->pool.k_rows = t->k_rows;
    must(fovea_kv_pages_size(&t->pool, &nk, &nv));
    t->pool.k = test_floats(nk, TEST_HIGH), t->pool.v = test_floats(nv, TEST_HIGH);
    t->table = test_memory(t->pool.pages * sizeof *t->table, TEST_HIGH);
    for (uint32_t i = 0; i < t->pool.pages; i++)
        t->table[i] = (uint32_t)t->pool.pages - 1 - i;
    for (size_t b = 0; b < t->entries; b++) {
        const float *const keys = t->k + t->kv_starts[b] * k.row, *const values = t->v + t->kv_starts[b] * v.row;
        must(fovea_kv_append(&t->cache, b, 0, t->kv_lens[b], keys, k, values, v));
        must(fovea_kv_pages_append(&t->pool, t->table + b * t->table_row, 0, t->kv_lens[b], keys, k, values, v));
    }
}

void ragged_draw(struct batch *t, uint64_t seed)
{
    static const uint16_t q_lens[] = {0, 1, 1, 1, 3, 15, 16, 17, 48, 70}, kv_lens[] = {0, 1, 20, 128, 300, 1100};
    struct check_rng rng = {seed};
    *t =
        (struct batch){.keys = (enum keys)(seed % 3), .k_rows = seed % 5 < 2, .entries = seed % 4 == 0 ? ENTRIES : FEW};
    for (size_t b = 0; b < t->entries; b++) {
        const size_t queries = q_lens[check_below(&rng, 10)], keys = kv_lens[check_below(&rng, 6)];
        t->q_starts[b + 1] = t->q_starts[b] + (uint32_t)queries;
        t->kv_starts[b + 1] = t->kv_starts[b] + (uint32_t)keys;
        t->kv_lens[b] = (uint32_t)keys;
        t->offsets[b] = (int64_t)keys - (int64_t)queries;
        t->q_most = queries > t->q_most ? queries : t->q_most;
        t->kv_most = keys > t->kv_most ? keys : t->kv_most;
    }
    t->kv_most += t->kv_most == 0;
    t->q = random_floats(&rng, t->q_starts[t->entries] * HEADS * D, 4);
    t->k = random_floats(&rng, t->kv_starts[t->entries] * KV_HEADS * D, 1);
    t->v = random_floats(&rng, t->kv_starts[t->entries] * KV_HEADS * DV, 1);
    fill_caches(t);
}

struct fovea_attention_desc ragged_describe(const struct batch *t, size_t batch)
{
    struct fovea_attention_desc d;
    fovea_attention_desc_init(&d, sizeof d);
    d.causal = 1;
    d.batch = batch, d.heads = HEADS, d.kv_heads = KV_HEADS;
    d.q_len = t->q_most, d.kv_len = t->kv_most, d.qk_dim = D, d.v_dim = DV;
    d.q = (struct fovea_strides){t->q_most * HEADS * D, D, HEADS * D};
    d.k = (struct fovea_strides){t->kv_most * KV_HEADS * D, D, KV_HEADS * D};
    d.v = (struct fovea_strides){t->kv_most * KV_HEADS * DV, DV, KV_HEADS * DV};
    d.out = (struct fovea_strides){t->q_most * HEADS * DV, DV, HEADS * DV};
    return d;
}

struct fovea_attention_args ragged_call(const struct batch *t, struct fovea_attention_desc *d)
{
    struct fovea_attention_args args = {.q = t->q, .k = t->k, .v = t->v, .batch = t->entries};
    args.q_len = t->q_most, args.kv_len = t->kv_most;
    args.q_starts = t->q_starts;
    args.q_offsets = t->offsets;
    if (t->keys == RAGGED) {
        args.kv_starts = t->kv_starts;
    } else {
        d->kv_len_kind = FOVEA_KV_LEN_BATCH;
        d->k_layout = t->k_rows ? FOVEA_K_ROWS : FOVEA_K_PANELS;
        args.kv_lens = t->kv_lens;
    }
    if (t->keys == CACHED) {
        must(fovea_kv_cache_strides(&t->cache, &d->k, &d->v));
        args.k = t->cache.k, args.v = t->cache.v;
    } else if (t->keys == PAGED) {
        must(fovea_kv_pages_strides(&t->pool, &d->k, &d->v));
        d->page_keys = PAGE;
        args.k = t->pool.k, args.v = t->pool.v;
        args.pages = t->table, args.pages_batch = t->table_row;
    }
    return args;
}

struct fovea_attention_args ragged_entry(const struct batch *t, size_t b)
{
    const size_t first = t->q_starts[b];
    return (struct fovea_attention_args){.q = t->q + first * HEADS * D,
                                         .k = t->k + t->kv_starts[b] * (size_t)(KV_HEADS * D),
                                         .v = t->v + t->kv_starts[b] * (size_t)(KV_HEADS * DV),
                                         .batch = 1,
                                         .q_len = t->q_starts[b + 1] - first,
                                         .kv_len = t->kv_lens[b],
                                         .q_offset = t->offsets[b]};
}
