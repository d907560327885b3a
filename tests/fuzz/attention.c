// SPDX-License-Identifier: Apache-2.0
// tests/fuzz/attention.c - any attention descriptor: a status and a reason; a small one that is planned runs in exactly
// its memory, reads nothing behind its tensors and gives the scalar path's bits.
#include "fovea/attention.h"
#include "tests/check/half.h"
#include "tests/fuzz/fuzz.h"
#include "tests/support/memory.h"
#include "tests/support/operator.h"
#include <stdbool.h>

static struct fovea_attention_desc wild(struct fuzz_input *in)
{
    struct fovea_attention_desc d;
    FUZZ_CHECK(!fovea_attention_desc_init(&d, sizeof d));
    d.struct_size = fuzz_byte(in) < 250 ? d.struct_size : fuzz_bits(in);
    d.causal = fuzz_flag(in, 2);
    d.mask = (enum fovea_mask)fuzz_flag(in, 3);
    d.bias = fuzz_flag(in, 2);
    d.segments = fuzz_flag(in, 2);
    d.blocks = fuzz_flag(in, 2);
    d.softcap = fuzz_byte(in) % 4 ? 0 : fuzz_float(in);
    d.dropout = fuzz_byte(in) % 4 ? 0 : fuzz_float(in);
    d.k_layout = (enum fovea_k_layout)fuzz_flag(in, 2);
    d.kv_type = (enum fovea_type)fuzz_flag(in, FOVEA_F16 + 1);
    d.kv_len_kind = (enum fovea_kv_len)fuzz_flag(in, 3);
    d.scale = fuzz_byte(in) % 2 ? FOVEA_SCALE_DEFAULT : fuzz_float(in);
    size_t *const sizes[] = {
        &d.batch,        &d.heads,      &d.kv_heads,   &d.q_len,        &d.kv_len,      &d.qk_dim,     &d.v_dim,
        &d.q.batch,      &d.q.head,     &d.q.row,      &d.k.batch,      &d.k.head,      &d.k.row,      &d.v.batch,
        &d.v.head,       &d.v.row,      &d.out.batch,  &d.out.head,     &d.out.row,     &d.mask_batch, &d.mask_head,
        &d.mask_row,     &d.mask_key,   &d.bias_batch, &d.bias_head,    &d.bias_row,    &d.bias_key,   &d.window_left,
        &d.window_right, &d.block_rows, &d.block_keys, &d.blocks_batch, &d.blocks_head, &d.blocks_row};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        *sizes[i] = fuzz_size(in);
    if (fuzz_byte(in) % 2) // else hardly any is a multiple
        d.kv_heads = d.heads;
    d.rows = fuzz_size(in);
    return d;
}

// (B, H, L, dim) or (B, L, H, dim), with gaps; an input's batches or heads may be one and the same.
static struct fovea_strides strides(struct fuzz_input *in, size_t heads, size_t len, size_t dim, int input)
{
    const uint8_t bits = fuzz_byte(in), gap = fuzz_byte(in) % 3;
    struct fovea_strides s;
    if (bits & 1) {
        s.row = dim + gap;
        s.head = len * s.row + gap;
        s.batch = heads * s.head;
    } else {
        s.head = dim + gap;
        s.row = heads * s.head + gap;
        s.batch = len * s.row;
    }
    if (input && bits / 2 % 8 == 0)
        s.batch = 0;
    if (input && bits / 16 % 8 == 0)
        s.head = 0;
    return s;
}

static struct fovea_attention_desc valid(struct fuzz_input *in)
{
    struct fovea_attention_desc d;
    FUZZ_CHECK(!fovea_attention_desc_init(&d, sizeof d));
    static const uint32_t keys_most[] = {20, 40, 150, 300, 1100};
    const uint32_t group = 1 + fuzz_byte(in) % 3;
    d.batch = fuzz_byte(in) % 3;
    d.kv_heads = 1 + fuzz_byte(in) % 2;
    d.heads = group * d.kv_heads;
    d.kv_len = fuzz_below(in, keys_most[fuzz_byte(in) % 5]);
    d.q_len = fuzz_below(in, d.kv_len > 300 ? 4 : 24);
    d.qk_dim = 1 + fuzz_below(in, d.kv_len > 100 ? 9 : 40);
    d.v_dim = 1 + fuzz_below(in, d.kv_len > 100 ? 9 : 40);
    d.causal = fuzz_byte(in) % 2;
    d.mask = (enum fovea_mask)(fuzz_byte(in) % 3);
    d.bias = fuzz_byte(in) % 2;
    const uint8_t terms = fuzz_byte(in);
    d.segments = terms & 1;
    d.blocks = terms >> 1 & 1;
    d.softcap = terms & 4 ? 3 : 0;
    d.dropout = terms & 8 ? 0.3f : 0;
    d.window_left = terms & 16 ? fuzz_below(in, 200) : FOVEA_WINDOW_ALL;
    d.window_right = terms & 32 ? fuzz_below(in, 200) : FOVEA_WINDOW_ALL;
    d.block_rows = 1 + fuzz_below(in, 50);
    d.block_keys = 1 + fuzz_below(in, 150);
    d.blocks_row = (d.kv_len + d.block_keys - 1) / d.block_keys;
    d.kv_len_kind = (enum fovea_kv_len)(fuzz_byte(in) % 3);
    d.k_layout = (enum fovea_k_layout)(fuzz_byte(in) % 2);
    d.kv_type = fuzz_byte(in) % 2 ? FOVEA_F32 : (enum fovea_type)(fuzz_byte(in) % (FOVEA_F16 + 1));
    d.scale = fuzz_byte(in) % 2 ? FOVEA_SCALE_DEFAULT : 0.5f;
    d.q = strides(in, d.heads, d.q_len, d.qk_dim, 1);
    d.k = strides(in, d.kv_heads, d.kv_len, d.qk_dim, 1);
    d.v = strides(in, d.kv_heads, d.kv_len, d.v_dim, 1);
    d.out = strides(in, d.heads, d.q_len, d.v_dim, 0);
    if (d.k_layout == FOVEA_K_PANELS) {
        d.k.head = (d.kv_len + 15) / 16 * 16 * d.qk_dim;
        d.k.batch = d.kv_heads * d.k.head;
    }
    const uint8_t bits = fuzz_byte(in); // which dimensions of mask and bias are broadcast
    d.mask_key = bits & 1;
    d.mask_row = bits & 2 ? d.kv_len : 0;
    d.mask_head = bits & 4 ? d.q_len * d.kv_len : 0;
    d.mask_batch = bits & 8 ? d.heads * d.q_len * d.kv_len : 0;
    d.bias_key = bits >> 4 & 1;
    d.bias_row = bits & 32 ? d.kv_len : 0;
    d.bias_head = bits & 64 ? d.q_len * d.kv_len : 0;
    d.bias_batch = bits & 128 ? d.heads * d.q_len * d.kv_len : 0;
    return d;
}

// Elements from the first to behind the last; 0 where a size is 0, SIZE_MAX where there are too many for a test.
static size_t extent(const size_t sizes[4], const size_t steps[4])
{
    size_t last = 0;
    for (int i = 0; i < 4; i++) {
        if (sizes[i] == 0)
            return 0;
        if (sizes[i] > 4096 || steps[i] > 1 << 20 || (last += (sizes[i] - 1) * steps[i]) > 1 << 20)
            return SIZE_MAX;
    }
    return last + 1;
}

static size_t tensor_extent(const struct fovea_strides *s, size_t batch, size_t heads, size_t len, size_t dim)
{
    const size_t sizes[] = {batch, heads, len, dim}, steps[] = {s->batch, s->head, s->row, 1};
    return extent(sizes, steps);
}

// How large everything is in one call.
struct extents {
    size_t q, k, v, out, mask, bias, blocks;
};

static struct extents measure(const struct fovea_attention_desc *d, const struct fovea_attention_args *a)
{
    const size_t scores[] = {a->batch, d->heads, a->q_len, a->kv_len};
    const size_t mask[] = {d->mask_batch, d->mask_head, d->mask_row, d->mask_key};
    const size_t bias[] = {d->bias_batch, d->bias_head, d->bias_row, d->bias_key};
    const size_t bytes[] = {a->batch, d->heads, a->q_len, (a->kv_len + 7) / 8};
    const size_t bits[] = {d->mask_batch, d->mask_head, d->mask_row, 1};
    const size_t rows = d->blocks ? d->block_rows : 1, keys = d->blocks ? d->block_keys : 1;
    const size_t tiles[] = {a->batch, d->heads, (a->q_len + rows - 1) / rows, (a->kv_len + keys - 1) / keys};
    const size_t blocks[] = {d->blocks_batch, d->blocks_head, d->blocks_row, 1};
    const struct fovea_strides panels = {d->k.batch, d->k.head, 16 * d->qk_dim};
    return (struct extents){
        .q = tensor_extent(&d->q, a->batch, d->heads, a->q_len, d->qk_dim),
        .k = d->k_layout == FOVEA_K_PANELS
                 ? tensor_extent(&panels, a->batch, d->kv_heads, (a->kv_len + 15) / 16, 16 * d->qk_dim)
                 : tensor_extent(&d->k, a->batch, d->kv_heads, a->kv_len, d->qk_dim),
        .v = tensor_extent(&d->v, a->batch, d->kv_heads, a->kv_len, d->v_dim),
        .out = tensor_extent(&d->out, a->batch, d->heads, a->q_len, d->v_dim),
        .mask = d->mask == FOVEA_MASK_BITS ? extent(bytes, bits)
                : d->mask                  ? extent(scores, mask)
                                           : 0,
        .bias = d->bias ? extent(scores, bias) : 0,
        .blocks = d->blocks ? extent(tiles, blocks) : 0,
    };
}

static int too_large(const struct fovea_attention_desc *d, const struct fovea_attention_args *a,
                     const struct extents *e)
{
    const size_t all[] = {e->q, e->k, e->v, e->out, e->mask, e->bias, e->blocks};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (all[i] > 1 << 18)
            return 1;
    return a->batch * d->heads * a->q_len > 1 << 12 || a->batch * d->heads * a->q_len * a->kv_len > 1 << 16;
}

static const float *random_floats(size_t n, uint64_t seed)
{
    float *const x = test_floats(n, TEST_HIGH);
    fuzz_fill(x, n, seed, 1);
    return x;
}

// Elements of K or V.
static const void *random_keys(enum fovea_type type, size_t n, uint64_t seed)
{
    const float *const x = random_floats(n, seed);
    uint16_t *const halves = test_memory(n * sizeof *halves, TEST_HIGH);
    for (size_t i = 0; i < n && type != FOVEA_F32; i++)
        halves[i] = half_of(type, x[i]);
    return type == FOVEA_F32 ? (const void *)x : halves;
}

static const uint8_t *random_mask(size_t n, uint64_t seed)
{
    uint8_t *const mask = test_memory(n, TEST_HIGH);
    const uint32_t hidden = 1 + test_below(&seed, 5);
    for (size_t i = 0; i < n; i++)
        mask[i] = test_below(&seed, hidden) == 0 ? (uint8_t)test_random(&seed) : 0;
    return mask;
}

static const uint32_t *random_lens(size_t n, size_t most, uint64_t seed)
{
    uint32_t *const lens = test_memory(n * sizeof *lens, TEST_HIGH);
    for (size_t i = 0; i < n; i++)
        lens[i] = test_below(&seed, 9) ? test_below(&seed, (uint32_t)most + 1) : UINT32_MAX;
    return lens;
}

static const uint32_t *random_ids(size_t n, uint64_t seed)
{
    uint32_t *const ids = test_memory(n * sizeof *ids, TEST_HIGH);
    for (size_t i = 0; i < n; i++)
        ids[i] = i > 0 && test_below(&seed, 20) ? ids[i - 1] : test_below(&seed, 3);
    return ids;
}

// Starts of a ragged batch whose entries have at most `most` rows, but for one in some batches.
static const uint32_t *random_starts(size_t batch, size_t most, uint64_t seed, bool *fits)
{
    uint32_t *const starts = test_memory((batch + 1) * sizeof *starts, TEST_HIGH);
    const size_t wrong = test_below(&seed, 3) ? batch : test_below(&seed, (uint32_t)batch + 1);
    starts[0] = 0;
    for (size_t b = 0; b < batch; b++)
        starts[b + 1] = b != wrong                          ? starts[b] + test_below(&seed, (uint32_t)most + 1)
                        : starts[b] && test_below(&seed, 2) ? starts[b] - 1
                                                            : starts[b] + (uint32_t)most + 1;
    *fits = wrong >= batch;
    return starts;
}

static void run(const struct fovea_attention_desc *d, struct fuzz_input *in)
{
    const uint64_t seed = fuzz_bits(in);
    const uint8_t bits = fuzz_byte(in);
    struct fovea_attention_args a = {.batch = d->batch, .q_len = d->q_len, .kv_len = d->kv_len};
    if (bits & 1) { // fewer than planned
        a.batch -= a.batch > 1;
        a.q_len = fuzz_below(in, (uint32_t)(a.q_len < 4096 ? a.q_len : 4096) + 1);
        a.kv_len = fuzz_below(in, (uint32_t)(a.kv_len < 4096 ? a.kv_len : 4096) + 1);
    }
    bool fits = true;
    a.q_starts = bits & 64 ? random_starts(a.batch, a.q_len, seed + 11, &fits) : NULL;
    const size_t queries = !a.q_starts ? a.batch * a.q_len : fits ? a.q_starts[a.batch] : 0;
    struct fovea_attention_desc own = *d; // with memory for just these queries, or for more
    own.rows = bits & 128 && queries ? queries : d->rows;
    if (d->rows && queries > d->rows)
        return;
    struct extents e = measure(d, &a);
    if (a.q_starts) { // one after another, whatever the batch strides
        e.q = tensor_extent(&d->q, 1, d->heads, queries, d->qk_dim);
        e.out = tensor_extent(&d->out, 1, d->heads, queries, d->v_dim);
    }
    if (too_large(d, &a, &e))
        return;
    a.q = random_floats(e.q, seed);
    a.k = random_keys(d->kv_type, e.k, seed + 1);
    a.v = random_keys(d->kv_type, e.v, seed + 2);
    a.mask = d->mask ? random_mask(e.mask, seed + 3) : NULL;
    a.bias = d->bias ? random_floats(e.bias, seed + 4) : NULL;
    a.blocks = d->blocks ? random_mask(e.blocks, seed + 6) : NULL;
    a.q_segments = d->segments ? random_ids(queries, seed + 7) : NULL;
    a.kv_segments = d->segments ? random_ids(a.batch * a.kv_len, seed + 8) : NULL;
    a.slopes = bits & 16 ? random_floats(d->heads, seed + 9) : NULL;
    a.sinks = bits & 32 ? random_floats(d->heads, seed + 10) : NULL;
    a.seed = seed;
    const size_t lens = d->kv_len_kind == FOVEA_KV_LEN_BATCH_ROW ? queries : a.batch;
    a.kv_lens = d->kv_len_kind != FOVEA_KV_LEN_ALL ? random_lens(lens, a.kv_len, seed + 5) : NULL;
    a.q_offset = bits & 2 ? (int64_t)a.kv_len - (int64_t)a.q_len : bits & 4 ? (int64_t)(seed << 40) : 0;
    const size_t rows = d->heads * queries;
    float *out[2], *lse[2];
    for (uint32_t i = 0; i < 2; i++) {
        a.out = out[i] = test_floats(e.out, TEST_HIGH);
        lse[i] = test_floats(rows, TEST_HIGH);
        a.lse = bits & 8 ? lse[i] : NULL;
        const enum test_way way = i ? (enum test_way)(bits / 16 % TEST_WAYS) : TEST_SERIAL;
        const enum fovea_status status = test_run(&test_attention, fuzz_engine(i * (1 + bits)), &own, &a, way, seed);
        // Rows of one entry may lie where another's are, where those of a batch had strides of their own.
        FUZZ_CHECK(!status || (a.q_starts && status == (fits ? FOVEA_ERR_STRIDE : FOVEA_ERR_SHAPE)));
        FUZZ_CHECK(fits || status || a.batch == 0 || d->heads == 0);
        if (status)
            return;
    }
    FUZZ_CHECK(test_differ(out[0], out[1], e.out) == e.out); // gaps are NaN in both
    FUZZ_CHECK(test_differ(lse[0], lse[1], rows) == rows);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input in = {data, size};
    const int is_wild = fuzz_byte(&in) % 4 == 0;
    const struct fovea_attention_desc d = is_wild ? wild(&in) : valid(&in);
    char text[FOVEA_EXPLAIN_BYTES] = "";
    static _Alignas(64) unsigned char plan[4096];
    FUZZ_CHECK(fovea_attention_plan_size() <= sizeof plan);
    memset(plan, 0x5a, sizeof plan);
    const enum fovea_status status = fovea_attention_plan(fuzz_engine((uint32_t)size), &d, plan);
    FUZZ_CHECK(status == fovea_explain_attention(fuzz_engine((uint32_t)size), &d, text, sizeof text) && *text);
    if (!is_wild && status)
        fprintf(stderr, "%s\n", text);
    FUZZ_CHECK(is_wild || status == FOVEA_OK);
    for (size_t i = 0; status && i < sizeof plan; i++)
        FUZZ_CHECK(plan[i] == 0x5a);
    const struct fovea_work *const work = (const struct fovea_work *)(const void *)plan;
    struct fovea_attention_desc written_out = d;
    written_out.kv_heads = d.kv_heads ? d.kv_heads : d.heads;
    if (!status && work->shared_bytes < 1 << 22 && work->scratch_bytes < 1 << 22)
        run(&written_out, &in);
    test_memory_reset();
    return 0;
}

size_t fuzz_seed(uint32_t index, uint8_t *out)
{
    uint64_t random = index;
    for (size_t i = 0; i < 100; i++)
        out[i] = (uint8_t)test_random(&random);
    return index < 8 ? 100 : 0;
}
