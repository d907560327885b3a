// SPDX-License-Identifier: Apache-2.0
// tests/unit/attention_ragged.c - a ragged batch gives each entry the bits it has alone: prefilling and decoding
// entries side by side, keys ragged too, in a cache or in pages, on every ISA, in any order of tasks.
#include "fovea/kv_cache.h"
#include "tests/check/check.h"
#include "tests/support/engines.h"
#include "tests/support/memory.h"
#include "tests/support/operator.h"
#include "tests/support/test.h"

enum { FEW = 6, ENTRIES = 20, KV_HEADS = 2, HEADS = 4, D = 24, DV = 20, PAGE = 32 };
enum keys { RAGGED, CACHED, PAGED };

static struct fovea_engine *engines[TEST_ISAS];

struct batch {
    enum keys keys;
    size_t entries; // FEW, or so many that tasks look for theirs by landmarks
    uint32_t q_starts[ENTRIES + 1], kv_starts[ENTRIES + 1], kv_lens[ENTRIES];
    int64_t offsets[ENTRIES];
    size_t q_most, kv_most;
    float *q, *k, *v, *out, *lse; // (rows, heads, dim)
    float *want_out, *want_lse;   // each entry alone
    struct fovea_kv_cache cache;
    struct fovea_kv_pages pool;
    uint32_t *table;
    size_t table_row;
};

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
    CHECK(!fovea_kv_cache_size(&t->cache, &nk, &nv), "cache");
    t->cache.k = test_floats(nk, TEST_HIGH), t->cache.v = test_floats(nv, TEST_HIGH);
    t->table_row = (t->kv_most + PAGE - 1) / PAGE;
    t->pool = (struct fovea_kv_pages){.struct_size = sizeof t->pool, .page_keys = PAGE, .kv_heads = KV_HEADS};
    t->pool.pages = t->entries * t->table_row, t->pool.qk_dim = D, t->pool.v_dim = DV;
    CHECK(!fovea_kv_pages_size(&t->pool, &nk, &nv), "pool");
    t->pool.k = test_floats(nk, TEST_HIGH), t->pool.v = test_floats(nv, TEST_HIGH);
    t->table = test_memory(t->pool.pages * sizeof *t->table, TEST_HIGH);
    for (uint32_t i = 0; i < t->pool.pages; i++)
        t->table[i] = (uint32_t)t->pool.pages - 1 - i;
    for (size_t b = 0; b < t->entries; b++) {
        const float *const keys = t->k + t->kv_starts[b] * k.row, *const values = t->v + t->kv_starts[b] * v.row;
        CHECK(!fovea_kv_append(&t->cache, b, 0, t->kv_lens[b], keys, k, values, v), "append");
        CHECK(!fovea_kv_pages_append(&t->pool, t->table + b * t->table_row, 0, t->kv_lens[b], keys, k, values, v),
              "append");
    }
}

static void draw(struct batch *t, uint64_t seed)
{
    static const uint16_t q_lens[] = {0, 1, 1, 1, 3, 15, 16, 17, 48, 70}, kv_lens[] = {0, 1, 20, 128, 300, 1100};
    struct check_rng rng = {seed};
    *t = (struct batch){.keys = (enum keys)(seed % 3), .entries = seed % 4 == 0 ? ENTRIES : FEW};
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
    t->out = test_floats(t->q_starts[t->entries] * HEADS * DV, TEST_HIGH);
    t->lse = test_floats(t->q_starts[t->entries] * HEADS, TEST_HIGH);
    fill_caches(t);
}

static struct fovea_attention_desc describe(const struct batch *t, size_t batch)
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

// Each entry alone, its keys in rows, on the scalar engine.
static void compute_alone(struct batch *t)
{
    const struct fovea_attention_desc d = describe(t, 1);
    t->want_out = test_floats(t->q_starts[t->entries] * HEADS * DV, TEST_HIGH);
    t->want_lse = test_floats(t->q_starts[t->entries] * HEADS, TEST_HIGH);
    for (size_t b = 0; b < t->entries; b++) {
        const size_t first = t->q_starts[b];
        const struct fovea_attention_args args = {.q = t->q + first * HEADS * D,
                                                  .k = t->k + t->kv_starts[b] * (size_t)(KV_HEADS * D),
                                                  .v = t->v + t->kv_starts[b] * (size_t)(KV_HEADS * DV),
                                                  .out = t->want_out + first * HEADS * DV,
                                                  .lse = t->want_lse + first * HEADS,
                                                  .batch = 1,
                                                  .q_len = t->q_starts[b + 1] - first,
                                                  .kv_len = t->kv_lens[b],
                                                  .q_offset = t->offsets[b]};
        CHECK(!test_run(&test_attention, engines[0], &d, &args, TEST_SERIAL, 1), "alone");
    }
}

static void run_case(uint64_t seed)
{
    struct batch t;
    draw(&t, seed);
    compute_alone(&t);
    struct fovea_attention_desc d = describe(&t, t.entries + 1 + seed % 2 * 8); // more landmarks than the call has
    struct fovea_attention_args args = {.q = t.q, .k = t.k, .v = t.v, .out = t.out, .lse = t.lse, .batch = t.entries};
    args.q_len = t.q_most, args.kv_len = t.kv_most;
    args.q_starts = t.q_starts;
    args.q_offsets = t.offsets;
    if (t.keys == RAGGED) {
        args.kv_starts = t.kv_starts;
    } else {
        d.kv_len_kind = FOVEA_KV_LEN_BATCH;
        d.k_layout = FOVEA_K_PANELS;
        args.kv_lens = t.kv_lens;
    }
    if (t.keys == CACHED) {
        CHECK(!fovea_kv_cache_strides(&t.cache, &d.k, &d.v), "strides");
        args.k = t.cache.k, args.v = t.cache.v;
    } else if (t.keys == PAGED) {
        CHECK(!fovea_kv_pages_strides(&t.pool, &d.k, &d.v), "strides");
        d.page_keys = PAGE;
        args.k = t.pool.k, args.v = t.pool.v;
        args.pages = t.table, args.pages_batch = t.table_row;
    }
    for (int e = 0; e < TEST_ISAS; e++) {
        if (!engines[e])
            continue;
        const enum test_way way = (enum test_way)((seed + (uint64_t)e) % TEST_WAYS);
        memset(t.out, 0xff, t.q_starts[t.entries] * HEADS * DV * sizeof *t.out);
        memset(t.lse, 0xff, t.q_starts[t.entries] * HEADS * sizeof *t.lse);
        const enum fovea_status status = test_run(&test_attention, engines[e], &d, &args, way, seed);
        CHECK(!status, "%s", fovea_status_string(status));
        const size_t n = t.q_starts[t.entries] * HEADS, at = test_differ(t.want_out, t.out, n * DV);
        CHECK(at == n * DV && test_differ(t.want_lse, t.lse, n) == n, "seed %llu, keys %d, %s, %s: out[%zu] differs",
              (unsigned long long)seed, (int)t.keys, test_isas[e], test_way_names[way], at);
    }
    test_memory_reset();
}

static void test_errors(void)
{
    struct batch t;
    draw(&t, 3);
    const struct fovea_attention_desc d = describe(&t, FEW);
    const struct fovea_attention_args good = {.q = t.q,
                                              .k = t.k,
                                              .v = t.v,
                                              .out = t.out,
                                              .batch = FEW,
                                              .q_len = t.q_most,
                                              .kv_len = t.kv_most,
                                              .q_starts = t.q_starts,
                                              .kv_starts = t.kv_starts};
    struct fovea_attention_args args = good;
    uint32_t starts[FEW + 1] = {0, 5, 4, 4, 4, 4, 4};
#define REFUSED(status, what) CHECK(test_run(&test_attention, engines[0], &d, &args, TEST_SERIAL, 1) == (status), what)
    args.q_starts = NULL;
    REFUSED(FOVEA_ERR_NULL, "keys alone are ragged");
    args.q_starts = starts;
    REFUSED(FOVEA_ERR_SHAPE, "descending");
    starts[1] = starts[2] = starts[3] = starts[4] = starts[5] = starts[6] = (uint32_t)t.q_most + 1;
    REFUSED(FOVEA_ERR_SHAPE, "too long");
    args = good;
    args.kv_starts = starts;
    args.kv_len = t.q_most;
    REFUSED(FOVEA_ERR_SHAPE, "too many keys");
    args = good;
    args.q_len = 0;
    REFUSED(FOVEA_ERR_SHAPE, "more queries than none");
    args.q_starts = (const uint32_t[FEW + 1]){0};
    args.k = NULL;
    REFUSED(FOVEA_OK, "no queries");
    args = good;
    args.batch_strides = (const size_t[]){1, 7, 7, 1}; // of rows, which have none
    REFUSED(FOVEA_OK, "batch strides are ignored");
    struct fovea_attention_desc heads = d; // each of q_most rows: those of a ragged batch pass from one to another
    heads.out = (struct fovea_strides){t.q_most * HEADS * DV, t.q_most * DV, DV};
    CHECK(test_run(&test_attention, engines[0], &heads, &good, TEST_SERIAL, 1) == FOVEA_ERR_STRIDE, "rows of out meet");
    struct fovea_attention_desc panels = d;
    panels.k_layout = FOVEA_K_PANELS;
    CHECK(test_run(&test_attention, engines[0], &panels, &good, TEST_SERIAL, 1) == FOVEA_ERR_UNSUPPORTED, "panels");
    panels.page_keys = 48;
    CHECK(test_run(&test_attention, engines[0], &panels, &good, TEST_SERIAL, 1) == FOVEA_ERR_VALUE, "pages of 48");
    panels.page_keys = 64;
    args = good;
    args.kv_starts = NULL;
    CHECK(test_run(&test_attention, engines[0], &panels, &args, TEST_SERIAL, 1) == FOVEA_ERR_NULL, "no table");
    test_memory_reset();
}

// A task checks the starts of its entry: one that goes wrong behind the first phase fails, the others run.
static void test_tasks(void)
{
    struct batch t;
    draw(&t, 4);
    const struct fovea_attention_desc d = describe(&t, ENTRIES);
    uint32_t q_starts[ENTRIES + 1], kv_starts[ENTRIES + 1];
    for (uint32_t b = 0; b <= ENTRIES; b++) // a task each
        q_starts[b] = kv_starts[b] = b;
    const struct fovea_attention_args args = {.q = t.q,
                                              .k = t.k,
                                              .v = t.v,
                                              .out = t.out,
                                              .batch = ENTRIES,
                                              .q_len = 1,
                                              .kv_len = 1,
                                              .q_starts = q_starts,
                                              .kv_starts = kv_starts};
    void *const plan = test_memory(fovea_attention_plan_size(), TEST_HIGH);
    CHECK(!fovea_attention_plan(engines[0], &d, plan), "plan");
    const struct fovea_work *const work = plan;
    void *const shared = test_memory((work->shared_bytes + 63) / 64 * 64, TEST_HIGH);
    void *const scratch = test_memory(work->scratch_bytes, TEST_HIGH);
    CHECK(work->phases == 3 && fovea_attention_tasks(plan, &args, 0) == 1 &&
              fovea_attention_tasks(plan, &args, 1) == ENTRIES * KV_HEADS && fovea_attention_tasks(plan, &args, 2) == 0,
          "%u phases", (unsigned)work->phases);
    CHECK(!fovea_attention_task(plan, &args, shared, scratch, 0, 0), "phase 0");
    for (int wrong = 0; wrong < 2; wrong++) {
        uint32_t *const starts = wrong == 0 ? q_starts : kv_starts;
        starts[11] = ENTRIES + 1; // entry 10 is too long, entry 11 descends; the next landmark is entry 16
        for (uint32_t task = 0; task < ENTRIES * KV_HEADS; task++) {
            const uint32_t entry = task / KV_HEADS;
            const enum fovea_status status = fovea_attention_task(plan, &args, shared, scratch, 1, task);
            CHECK((entry > 10 && entry < 16) || status == (entry == 10 ? FOVEA_ERR_SHAPE : FOVEA_OK), "task %u: %s",
                  (unsigned)task, fovea_status_string(status));
        }
        CHECK(fovea_attention_tasks(plan, &args, 1) == 0, "tasks of starts that descend");
        CHECK(fovea_attention_task(plan, &args, shared, scratch, 0, 0) == FOVEA_ERR_SHAPE, "phase 0 of them");
        starts[11] = 11;
    }
    CHECK(fovea_attention_task(plan, &args, shared, scratch, 1, ENTRIES * KV_HEADS) == FOVEA_ERR_SHAPE, "past");
    CHECK(fovea_attention_task(plan, &args, shared, scratch, 0, 1) == FOVEA_ERR_SHAPE, "past the first");
    CHECK(fovea_attention_task(plan, &args, shared, scratch, 2, 0) == FOVEA_ERR_SHAPE, "none");
    CHECK(fovea_attention_task(plan, &args, shared, scratch, 3, 0) == FOVEA_ERR_SHAPE, "no phase");
    CHECK(fovea_attention_task(plan, &args, NULL, scratch, 1, 0) == FOVEA_ERR_NULL, "no memory");
    test_memory_reset();
}

int main(void)
{
    const bool small = getenv("FOVEA_TEST_SMALL") != NULL;
    test_engines(engines);
    for (uint64_t seed = 1; seed <= (small ? 9 : 45); seed++)
        run_case(seed);
    test_errors();
    test_tasks();
    test_engines_free(engines);
    return test_done();
}
