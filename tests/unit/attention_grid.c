// SPDX-License-Identifier: Apache-2.0
// tests/unit/attention_grid.c - which queries of a head are lanes and which are rows, and what is fetched, is what the
// sizes and the profile say; fovea_explain_attention says so, too.
#include "fovea/attention.h"
#include "ops/facts.h"
#include "tests/support/engines.h"
#include "tests/support/test.h"

#include <stdbool.h>

static const char few_says[] = ", the last few of a head as in decoding", l1_says[] = ", fetched into L1",
                  ahead_says[] = ", fetched ahead", far_says[] = ", from beyond L2",
                  all_says[] = ", from beyond L2, all of it asked for twice",
                  some_says[] = ", from beyond L2, some of it asked for twice", k_says[] = ", k copied",
                  v_says[] = ", v copied";

static const char *explain_of(const struct fovea_engine *engine, size_t heads, size_t kv_heads, size_t queries,
                              size_t keys, enum fovea_k_layout layout, enum fovea_type type, size_t dim)
{
    static char text[FOVEA_EXPLAIN_BYTES];
    struct fovea_attention_desc d;
    fovea_attention_desc_init(&d, sizeof d);
    d.batch = 1;
    d.heads = heads;
    d.kv_heads = kv_heads;
    d.q_len = queries;
    d.kv_len = keys;
    d.qk_dim = d.v_dim = dim;
    d.k_layout = layout;
    d.kv_type = type;
    d.q = d.out = (struct fovea_strides){0, dim, heads * dim};
    d.k = d.v = (struct fovea_strides){0, dim, kv_heads * dim};
    const enum fovea_status status = fovea_explain_attention(engine, &d, text, sizeof text);
    CHECK(status == FOVEA_OK, "%s: %s", fovea_status_string(status), text);
    return text;
}

static const char *explain_k(const struct fovea_engine *engine, size_t heads, size_t queries, size_t keys,
                             enum fovea_k_layout layout)
{
    return explain_of(engine, heads, heads, queries, keys, layout, FOVEA_F32, 64);
}

static const char *explain(const struct fovea_engine *engine, size_t heads, size_t queries, size_t keys)
{
    return explain_k(engine, heads, queries, keys, FOVEA_K_ROWS);
}

// A call shares no more than the states of its rows, one of each split, and nothing where there is one split, beside
// two numbers for every 8 entries of a batch, should it be ragged; what a
// worker needs does not depend on how many keys there are, once they are far, nor on the queries once they fill the
// tiles of a task.
static void test_memory(const struct fovea_engine *engine, const char *isa)
{
    // batch, heads, kv_heads, q_len, kv_len, qk_dim and v_dim, statistics
    static const size_t sizes[][7] = {
        {1, 1, 1, 1, 4096, 64, 0},    {1, 1, 1, 1, 4096, 1, 0},       {3, 32, 8, 1, 4097, 128, 0},
        {1, 32, 8, 5, 131072, 80, 0}, {2, 18, 1, 1, 65536, 64, 1},    {1, 4, 4, 1, 1024, 64, 0},
        {1, 1, 1, 1, 60, 64, 1},      {1, 12, 12, 4096, 4096, 64, 0}, {1, 2, 2, 512, 9000, 64, 1},
        {8, 2, 1, 1, 2048, 64, 0},    {9, 2, 1, 1, 2048, 64, 0},      {40, 2, 1, 3, 60, 64, 0},
    };
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        const size_t *const s = sizes[i], few = s[3] < 15 ? s[3] : 15; // queries that decoding takes, at most
        size_t scratch[2] = {0, 0};
        for (size_t longer = 0; longer < 2; longer++) {
            const size_t keys = s[4] << longer * 4, queries = s[3] << longer * (s[3] > 1000 ? 4 : 0);
            struct fovea_attention_desc d;
            fovea_attention_desc_init(&d, sizeof d);
            d.batch = s[0], d.heads = s[1], d.kv_heads = s[2], d.q_len = queries, d.kv_len = keys;
            d.qk_dim = d.v_dim = s[5];
            d.statistics = (uint32_t)s[6];
            d.q = d.out = (struct fovea_strides){queries * s[1] * s[5], s[5], s[1] * s[5]};
            d.k = d.v = (struct fovea_strides){keys * s[2] * s[5], s[5], s[2] * s[5]};
            void *const plan = aligned_alloc(64, fovea_attention_plan_size());
            CHECK(plan && fovea_attention_plan(engine, &d, plan) == FOVEA_OK, "plan %zu", i);
            const struct fovea_work *const work = plan;
            const size_t splits = (keys + 1023) / 1024, floats = s[5] + 2 + (s[6] ? 2 : 0);
            const size_t bound = s[0] * s[1] * few * splits * floats * sizeof(float);
            const bool all = s[3] <= 5; // queries are all for decoding, whatever the ISA
            const size_t ragged = (s[0] - 1) / 8 * 8, most = ((splits > 1 ? bound : 0) + ragged + 63) / 64 * 64;
            CHECK(work->shared_bytes >= ragged && work->shared_bytes <= most && (!all || work->shared_bytes == most) &&
                      work->shared_bytes % 64 == 0,
                  "%s, %zu: %zu bytes are shared, not %zu", isa, i, work->shared_bytes, most);
            scratch[longer] = work->scratch_bytes;
            free(plan);
        }
        CHECK(scratch[0] == scratch[1], "%s, %zu: scratch %zu, of more keys and queries %zu", isa, i, scratch[0],
              scratch[1]);
    }
}

// Of tiles of 48 queries the last ones are a block: up to 8 (AVX-512) or 4, half as many where they would be one more
// panel of a tile.
static void test_few(const struct fovea_engine *engine, const char *isa)
{
    static const struct {
        size_t queries, avx512, avx2;
    } cases[] = {{16, 0, 0}, {17, 1, 1}, {18, 1, 1}, {19, 1, 0}, {20, 1, 0}, {21, 0, 0},  {32, 0, 0}, {48, 0, 0},
                 {49, 1, 1}, {52, 1, 1}, {53, 1, 0}, {56, 1, 0}, {57, 0, 0}, {100, 1, 1}, {144, 0, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *const text = explain(engine, 12, cases[i].queries, 70);
        const size_t want = strcmp(isa, "avx512") == 0   ? cases[i].avx512
                            : strcmp(isa, "scalar") == 0 ? 0
                                                         : cases[i].avx2;
        CHECK((strstr(text, few_says) != NULL) == want && strstr(text, "prefill"), "%s, %zu queries: %s", isa,
              cases[i].queries, text);
    }
    const char *const text = explain(engine, 12, 11, 70);
    CHECK(!strstr(text, few_says) && strstr(text, "decode"), "%s, 11 queries: %s", isa, text);
}

// A profile may want lanes for fewer: all of them, then.
static void test_profile(const struct fovea_engine *engine, const char *isa)
{
    struct fovea_attention_tuning *const t = &test_tuning(engine)->attention[0];
    const struct fovea_attention_tuning before = *t;
    t->prefill = t->prefill_rows = 8;
    const char *const text = explain(engine, 12, 8, 70);
    CHECK(!strstr(text, few_says) && strstr(text, "prefill") && strstr(text, "12 tasks of 8 rows"), "%s: %s", isa,
          text);
    static const enum fovea_k_layout layouts[] = {FOVEA_K_PANELS, FOVEA_K_ROWS};
    for (size_t i = 0; i < 4; i++) { // each layout by its own limit
        t->prefill = i & 1 ? 8 : 16;
        t->prefill_rows = i & 1 ? 16 : 8;
        const bool lanes = (layouts[i / 2] == FOVEA_K_ROWS) != (i & 1);
        const char *const said = explain_k(engine, 12, 8, 70, layouts[i / 2]);
        CHECK(strstr(said, lanes ? "prefill" : "decode"), "%s, layout %zu, limits %zu: %s", isa, i / 2, i & 1, said);
    }
    *t = before;
}

static void test_near(const struct fovea_engine *engine, const char *isa)
{
    struct fovea_attention_tuning *const t = &test_tuning(engine)->attention[0];
    const struct fovea_attention_tuning before = *t;
    t->near = 1;          // KiB
    t->near_tiles = 1024; // of 2 heads of 64, 512 keys and as many queries
    t->into_l1 = 1;
    t->again = 0;
    const bool reaches = strcmp(isa, "avx512") == 0; // the only kernel with prefetches into L1
    CHECK(!strstr(explain(engine, 2, 512, 512), l1_says), "%s: near", isa);
    CHECK(!strstr(explain(engine, 2, 512, 512), ahead_says), "%s: near", isa);
    const bool fetches = strcmp(isa, "avx512") == 0 || strcmp(isa, "avx2") == 0; // the others follow no list
    const char *const far = explain(engine, 2, 512, 513);
    CHECK((strstr(far, l1_says) != NULL) == reaches && (strstr(far, ahead_says) != NULL) == (fetches && !reaches),
          "%s: %s", isa, far);
    t->near = 1024; // 1024 keys
    t->near_tiles = 1;
    CHECK(!strstr(explain(engine, 2, 1, 1024), far_says), "%s: near, decoding", isa);
    CHECK(strstr(explain(engine, 2, 1, 1025), far_says), "%s: far, decoding", isa);
    *t = before;
}

// Blocks of rows of one key head share far keys.
static void test_blocks(const struct fovea_engine *engine, const char *isa)
{
    static const char says[] = " and more that share keys";
    struct fovea_attention_tuning *const t = &test_tuning(engine)->attention[0];
    const struct fovea_attention_tuning before = *t;
    t->near = 1024; // of 2 key heads, 1024 keys
    CHECK(!strstr(explain_of(engine, 16, 2, 8, 1024, FOVEA_K_ROWS, FOVEA_F32, 64), says), "%s: near", isa);
    const char *const text = explain_of(engine, 16, 2, 8, 1025, FOVEA_K_ROWS, FOVEA_F32, 64);
    CHECK(strstr(text, says) != NULL, "%s: %s", isa, text);
    CHECK(!strstr(explain_of(engine, 16, 2, 2, 1025, FOVEA_K_ROWS, FOVEA_F32, 64), says), "%s: one block", isa);
    *t = before;
}

// What decoding asks for twice of K and V that are far: nothing for more rows than the profile says, all of a chunk
// from so many rows on, by `whole`, for K in rows and in panels, and for fewer some of it, but of one and two over
// panels nothing.
static void test_twice(const struct fovea_engine *engine, const char *isa)
{
    enum { AGAIN = 6, NEVER = AGAIN + 1 };
    static const size_t rows[] = {1, 2, 3, AGAIN, NEVER}, all_from[3][2] = {{NEVER, NEVER}, {1, 3}, {1, 1}};
    struct fovea_attention_tuning *const t = &test_tuning(engine)->attention[0];
    const struct fovea_attention_tuning before = *t;
    t->near = 1;
    t->again = AGAIN;
    t->beside = 0;
    for (t->decode_into = 0; t->decode_into <= FOVEA_INTO_L2_PARTS; t->decode_into++) {
        const char *const text = explain(engine, 2, 1, 1024);
        CHECK((strstr(text, ", prefetched into L1") != NULL) == (t->decode_into == FOVEA_INTO_L1) &&
                  (strstr(text, ", prefetched in parts") != NULL) == (t->decode_into == FOVEA_INTO_L2_PARTS),
              "%s: %s", isa, text);
    }
    t->decode_into = before.decode_into;
    for (uint32_t whole = 0; whole < 3; whole++) {
        t->whole = whole;
        for (size_t i = 0; i < 2 * sizeof rows / sizeof *rows; i++) {
            const size_t r = rows[i / 2], from = all_from[whole][i % 2];
            const bool all = r <= AGAIN && r >= from, some = r <= AGAIN && r < from && (i % 2 == 0 || r > 2);
            const char *const text = explain_k(engine, 2, r, 1024, i % 2 == 0 ? FOVEA_K_ROWS : FOVEA_K_PANELS);
            CHECK((strstr(text, all_says) != NULL) == all && (strstr(text, some_says) != NULL) == some &&
                      strstr(text, far_says),
                  "%s, whole %u, %zu rows: %s", isa, (unsigned)whole, r, text);
        }
    }
    *t = before;
}

// V beside the next K, of which nothing is asked for: few rows, by AVX2, over K in rows or over any.
static void test_beside(const struct fovea_engine *engine, const char *isa)
{
    static const size_t most[3][2] = {{0, 0}, {2, 0}, {2, 2}}; // rows, over K in rows and in panels
    struct fovea_attention_tuning *const t = &test_tuning(engine)->attention[0];
    const struct fovea_attention_tuning before = *t;
    t->near = 1;
    for (t->beside = 0; t->beside < 3; t->beside++) {
        for (size_t i = 0; i < 6; i++) {
            const size_t rows = 1 + i / 2;
            const char *const text = explain_k(engine, 2, rows, 1024, i % 2 == 0 ? FOVEA_K_ROWS : FOVEA_K_PANELS);
            CHECK((strstr(text, ", not asked for ahead") != NULL) ==
                      (strcmp(isa, "avx2") == 0 && rows <= most[t->beside][i % 2]),
                  "%s, beside %u, %zu rows: %s", isa, (unsigned)t->beside, rows, text);
        }
    }
    *t = before;
}

// K and V that L2 could hold are asked for all the same where many rows wait for arithmetic, unless the kernel does.
static void test_busy(const struct fovea_engine *engine, const char *isa)
{
    const struct fovea_decode_kernel *const kernel = &fovea_engine_kernels(engine)->attention_decode;
    const size_t busy = kernel->busy_rows;
    struct fovea_attention_tuning *const t = &test_tuning(engine)->attention[0];
    const struct fovea_attention_tuning before = *t;
    for (size_t i = 0; i < 48; i++) {
        const size_t rows = 1 + i / 8, dim = i / 4 % 2 == 0 ? 64 : 40; // the kernel takes whole lines
        const bool far = i / 2 % 2 != 0;
        t->near = far ? 1 : 1024;
        const bool in_rows = i % 2 == 0, own = in_rows && dim == 64 && rows <= kernel->near_rows;
        const char *const text =
            explain_of(engine, 1, 1, rows, 1024, in_rows ? FOVEA_K_ROWS : FOVEA_K_PANELS, FOVEA_F32, dim);
        CHECK((strstr(text, ", asked for ahead in case") != NULL) == (!far && busy != 0 && rows >= busy && !own),
              "%s, far %d, %zu rows: %s", isa, far, rows, text);
    }
    *t = before;
}

// K and V are copied from as many tiles on as the profile says, V whose rows are multiples of 4 KiB apart always,
// unless a copy as f32 is read anyway. The scalar engine is one of several workers, with tasks of one tile.
static void test_copies(const struct fovea_engine *engine, const char *isa)
{
    static const struct {
        size_t heads, queries;
        uint32_t copy_k, copy_v;
        bool k, v;
        enum fovea_type type;
    } cases[] = {{1, 192, 4, 4, true, true, FOVEA_F32},      {1, 192, 5, 5, false, false, FOVEA_F32},
                 {1, 144, 4, 3, false, true, FOVEA_F32},     {1, 192, 17, 17, false, false, FOVEA_F32},
                 {16, 48, 17, 17, false, true, FOVEA_F32},   {8, 48, 17, 17, false, false, FOVEA_F32},
                 {16, 48, 17, 17, false, false, FOVEA_BF16}, {16, 48, 17, 1, false, true, FOVEA_F16},
                 {1, 48, 2, 1, false, true, FOVEA_F32},      {1, 11, 1, 1, false, false, FOVEA_F32}};
    struct fovea_attention_tuning *const t = &test_tuning(engine)->attention[0];
    const struct fovea_attention_tuning before = *t;
    const bool copies = strcmp(isa, "avx512") == 0 || strcmp(isa, "avx2") == 0; // the others read K and V in place
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        t->tiles = 4;
        t->copy_k = cases[i].copy_k;
        t->copy_v = cases[i].copy_v;
        const size_t heads = cases[i].heads;
        const char *const text =
            explain_of(engine, heads, heads, cases[i].queries, 128, FOVEA_K_ROWS, cases[i].type, 64);
        CHECK((strstr(text, k_says) != NULL) == (copies && cases[i].k) &&
                  (strstr(text, v_says) != NULL) == (copies && cases[i].v),
              "%s, case %zu: %s", isa, i, text);
    }
    *t = before;
}

// Bytes of scratch of a plan for far tiles that are to copy K and V, and its facts.
static size_t scratch_of(const struct fovea_engine *engine, struct fovea_attention_facts *facts)
{
    struct fovea_attention_desc d;
    fovea_attention_desc_init(&d, sizeof d);
    d.batch = 1, d.heads = d.kv_heads = 2, d.q_len = 192, d.kv_len = 512, d.qk_dim = d.v_dim = 64;
    d.q = d.k = d.v = d.out = (struct fovea_strides){0, 64, 128};
    void *const plan = aligned_alloc(64, fovea_attention_plan_size());
    CHECK(plan && fovea_attention_plan(engine, &d, plan) == FOVEA_OK, "a plan");
    fovea_attention_facts(plan, facts);
    const size_t bytes = ((const struct fovea_work *)plan)->scratch_bytes;
    free(plan);
    return bytes;
}

// A kernel that follows no list of prefetches, or makes no copies, has neither in its plans: no memory, and no facts,
// so other numbers are the same plan.
static void test_ignored(const struct fovea_engine *engine, const char *isa)
{
    enum { COPIES = 128 * 64 + 130 * 64, POINTERS = 1024 }; // floats of K and V; pointers
    struct fovea_prefill_kernel *const kernel =
        &((struct fovea_kernels *)fovea_engine_kernels(engine))->attention_prefill; // allocated
    const struct fovea_prefill_kernel real = *kernel;
    struct fovea_attention_tuning *const t = &test_tuning(engine)->attention[0];
    const struct fovea_attention_tuning before = *t;
    t->near_tiles = t->copy_k = t->copy_v = 1;
    struct fovea_attention_facts facts;
    kernel->fetches = kernel->copies = 0;
    const size_t none = scratch_of(engine, &facts);
    CHECK(!facts.far && !facts.into_l1 && !facts.copy_k && !facts.copy_v, "%s: hints that the kernel ignores", isa);
    kernel->fetches = 1;
    const size_t fetches = scratch_of(engine, &facts);
    CHECK(facts.far && !facts.copy_k && !facts.copy_v && fetches == none + POINTERS * sizeof(void *),
          "%s: a list takes %zu bytes", isa, fetches - none);
    kernel->copies = 1;
    const size_t both = scratch_of(engine, &facts);
    CHECK(facts.far && facts.copy_k && facts.copy_v && both == fetches + COPIES * sizeof(float),
          "%s: copies take %zu bytes", isa, both - fetches);
    *kernel = real;
    *t = before;
}

static void test_engine_of(const struct fovea_engine *engine, const char *isa)
{
    test_few(engine, isa);
    test_memory(engine, isa);
    test_profile(engine, isa);
    test_near(engine, isa);
    test_twice(engine, isa);
    test_beside(engine, isa);
    test_busy(engine, isa);
    test_blocks(engine, isa);
    test_copies(engine, isa);
    test_ignored(engine, isa);
}

int main(void)
{
    test_each_engine(test_engine_of);
    return test_done();
}
