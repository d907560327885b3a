// SPDX-License-Identifier: Apache-2.0
// tests/fuzz/plans.c - any descriptor of multi-head attention, a layer, a row-wise operator, a cache or pages: a status
// and a reason, a plan or memory that is left alone, and sizes that do not wrap around.
//
// Mostly a valid one in which a few fields become anything: so the later checks are reached.
#include "fovea/fovea.h"
#include "tests/fuzz/fuzz.h"

__extension__ typedef unsigned __int128 wide; // ISO C has none

static _Alignas(64) unsigned char plan[1 << 16];
static char text[FOVEA_EXPLAIN_BYTES];

// One of the fields; hardly ever another size of the struct.
static void spoil(struct fuzz_input *in, size_t *const *sizes, size_t size_count, uint32_t *const *flags,
                  size_t flag_count, float *const *floats, size_t float_count)
{
    const size_t at = fuzz_byte(in) % (size_count + flag_count + float_count);
    if (at < size_count)
        *sizes[at] = fuzz_size(in);
    else if (at < size_count + flag_count)
        *flags[at - size_count] = fuzz_flag(in, 4);
    else
        *floats[at - size_count - flag_count] = fuzz_float(in);
}

static void begin(size_t plan_bytes)
{
    FUZZ_CHECK(plan_bytes <= sizeof plan);
    memset(plan, 0x5a, plan_bytes);
    text[0] = '\0';
}

// What has become of a plan, and what the explanation of its descriptor says.
static void end(enum fovea_status status, enum fovea_status explained, size_t plan_bytes)
{
    FUZZ_CHECK(status == explained && *text && strlen(text) < sizeof text);
    for (size_t i = 0; status && i < plan_bytes; i++)
        FUZZ_CHECK(plan[i] == 0x5a);
    const struct fovea_work *const work = (const void *)plan;
    FUZZ_CHECK(status || (work->phases > 0 && work->shared_bytes < SIZE_MAX / 2 && work->scratch_bytes < SIZE_MAX / 2));
}

static void try_mha(struct fuzz_input *in, const struct fovea_engine *engine)
{
    struct fovea_mha_desc d;
    FUZZ_CHECK(!fovea_mha_desc_init(&d, sizeof d));
    const uint8_t bits = fuzz_byte(in);
    d.keys = (enum fovea_mha_keys)(bits % 3);
    d.batch = 2, d.heads = 4, d.kv_heads = 2, d.q_len = 3, d.kv_len = 64;
    d.new_len = d.keys == FOVEA_MHA_APPEND ? 3 : 0;
    d.page_keys = d.keys != FOVEA_MHA_PROJECT && bits & 8 ? 16 : 0;
    d.qk_dim = 8, d.v_dim = 8, d.query_width = d.key_width = d.value_width = d.out_width = 32;
    d.rotary_dim = bits & 16 ? 8 : 0, d.rotary_positions = bits & 16 ? 64 : 0;
    d.qk_norm = bits >> 5 & 1;
    size_t *const sizes[] = {&d.batch,           &d.heads,      &d.kv_heads,    &d.q_len,     &d.kv_len,
                             &d.new_len,         &d.page_keys,  &d.rows,        &d.qk_dim,    &d.v_dim,
                             &d.query_width,     &d.key_width,  &d.value_width, &d.out_width, &d.window_left,
                             &d.window_right,    &d.mask_batch, &d.mask_head,   &d.mask_row,  &d.mask_key,
                             &d.bias_batch,      &d.bias_head,  &d.bias_row,    &d.bias_key,  &d.rotary_dim,
                             &d.rotary_positions};
    uint32_t scoring = d.scoring, kind = d.kv_len_kind, mask = d.mask, weight = d.weight_type, kv = d.kv_type;
    uint32_t *const flags[] = {&scoring,           &kind,         &mask,   &weight,         &kv,
                               &d.causal,          &d.residual,   &d.bias, &d.need_weights, &d.qk_norm,
                               &d.rotary_adjacent, &d.struct_size};
    float *const floats[] = {&d.scale, &d.softcap, &d.dropout, &d.out_dropout, &d.qk_norm_eps};
    for (uint32_t edits = fuzz_byte(in) % 6; edits > 0; edits--)
        spoil(in, sizes, sizeof sizes / sizeof *sizes, flags, sizeof flags / sizeof *flags, floats,
              sizeof floats / sizeof *floats);
    d.scoring = (enum fovea_scoring)scoring, d.kv_len_kind = (enum fovea_kv_len)kind;
    d.mask = (enum fovea_mask)mask, d.weight_type = (enum fovea_type)weight, d.kv_type = (enum fovea_type)kv;
    begin(fovea_mha_plan_size());
    const enum fovea_status status = fovea_mha_plan(engine, &d, plan);
    end(status, fovea_explain_mha(engine, &d, text, sizeof text), fovea_mha_plan_size());
}

static void try_layer(struct fuzz_input *in, const struct fovea_engine *engine)
{
    struct fovea_layer_desc d;
    FUZZ_CHECK(!fovea_layer_desc_init(&d, sizeof d));
    const uint8_t bits = fuzz_byte(in), kind = bits % 4; // encoder, decoder, causal, causal and cached
    d.decoder = kind == 1, d.causal = kind >= 2, d.cached = kind == 3 || (kind == 1 && bits & 4);
    d.batch = 2, d.len = 3, d.memory_len = d.decoder ? 64 : 0, d.kv_len = d.cached ? 64 : 0;
    d.page_keys = d.cached && bits & 8 ? 16 : 0;
    d.width = 32, d.heads = 4, d.kv_heads = 2, d.qk_dim = 8, d.v_dim = 8, d.ffn = 48;
    d.gated = bits >> 4 & 1;
    d.rotary_dim = bits & 32 ? 8 : 0, d.rotary_positions = bits & 32 ? 64 : 0;
    size_t *const sizes[] = {&d.batch,        &d.len,        &d.memory_len,      &d.kv_len,       &d.page_keys,
                             &d.rows,         &d.beams,      &d.width,           &d.memory_width, &d.heads,
                             &d.qk_dim,       &d.v_dim,      &d.kv_heads,        &d.ffn,          &d.window_left,
                             &d.window_right, &d.rotary_dim, &d.rotary_positions};
    uint32_t place = d.norm, norm = d.norm_kind, activation = d.activation, weight = d.weight_type, kv = d.kv_type;
    uint32_t *const flags[] = {&place,    &norm,      &activation,        &weight,
                               &kv,       &d.causal,  &d.decoder,         &d.gated,
                               &d.cached, &d.qk_norm, &d.rotary_adjacent, &d.struct_size};
    float *const floats[] = {&d.eps, &d.softcap, &d.scale, &d.dropout};
    for (uint32_t edits = fuzz_byte(in) % 6; edits > 0; edits--)
        spoil(in, sizes, sizeof sizes / sizeof *sizes, flags, sizeof flags / sizeof *flags, floats,
              sizeof floats / sizeof *floats);
    d.norm = (enum fovea_norm_place)place, d.norm_kind = (enum fovea_norm_kind)norm;
    d.activation = (enum fovea_activation)activation;
    d.weight_type = (enum fovea_type)weight, d.kv_type = (enum fovea_type)kv;
    begin(fovea_layer_plan_size());
    const enum fovea_status status = fovea_layer_plan(engine, &d, plan);
    end(status, fovea_explain_layer(engine, &d, text, sizeof text), fovea_layer_plan_size());
}

static void try_rowwise(struct fuzz_input *in, const struct fovea_engine *engine)
{
    struct fovea_rowwise_desc d = FOVEA_ROWWISE_DESC_INIT;
    uint32_t op = fuzz_flag(in, FOVEA_ROWWISE_ROTARY + 1);
    d.rows = 5, d.cols = d.ldx = d.ldx2 = d.ldy = 32, d.heads = 4, d.rotary_dim = 8, d.rotary_positions = 9;
    size_t *const sizes[] = {&d.rows, &d.cols, &d.ldx, &d.ldx2, &d.ldy, &d.heads, &d.rotary_dim, &d.rotary_positions};
    uint32_t *const flags[] = {&op, &d.rotary_adjacent, &d.struct_size};
    float *const floats[] = {&d.eps, &d.dropout};
    for (uint32_t edits = fuzz_byte(in) % 6; edits > 0; edits--)
        spoil(in, sizes, sizeof sizes / sizeof *sizes, flags, sizeof flags / sizeof *flags, floats,
              sizeof floats / sizeof *floats);
    d.op = (enum fovea_rowwise_op)op;
    begin(fovea_rowwise_plan_size());
    const enum fovea_status status = fovea_rowwise_plan(engine, &d, plan);
    end(status, fovea_explain_rowwise(engine, &d, text, sizeof text), fovea_rowwise_plan_size());
}

// The last element lies within what the strides and the count of elements say.
static void check_extent(size_t outer, size_t heads, size_t rows, size_t dim, struct fovea_strides s, size_t elements)
{
    if (outer == 0 || heads == 0 || rows == 0 || dim == 0)
        return;
    const wide last = (wide)(outer - 1) * s.batch + (wide)(heads - 1) * s.head + (wide)(rows - 1) * s.row + dim;
    FUZZ_CHECK(last <= elements);
}

static void try_storage(struct fuzz_input *in)
{
    struct fovea_strides k, v;
    size_t k_count = 0, v_count = 0;
    const uint32_t k_rows = fuzz_flag(in, 2), type = fuzz_flag(in, FOVEA_F16 + 1);
    struct fovea_kv_cache cache = {.struct_size = sizeof cache,
                                   .k_rows = k_rows,
                                   .batch = fuzz_size(in),
                                   .kv_heads = fuzz_size(in),
                                   .capacity = fuzz_size(in),
                                   .qk_dim = fuzz_size(in),
                                   .v_dim = fuzz_size(in),
                                   .type = (enum fovea_type)type};
    const enum fovea_status sized = fovea_kv_cache_size(&cache, &k_count, &v_count);
    FUZZ_CHECK(sized == fovea_kv_cache_strides(&cache, &k, &v));
    if (!sized && k_rows)
        check_extent(cache.batch, cache.kv_heads, cache.capacity, cache.qk_dim, k, k_count);
    if (!sized)
        check_extent(cache.batch, cache.kv_heads, cache.capacity, cache.v_dim, v, v_count);
    static const uint32_t keys[] = {16, 32, 64, 128, 256, 0, 17, UINT32_MAX};
    struct fovea_kv_pages pool = {.struct_size = sizeof pool,
                                  .page_keys = keys[fuzz_byte(in) % 8],
                                  .pages = fuzz_size(in),
                                  .kv_heads = cache.kv_heads,
                                  .qk_dim = cache.qk_dim,
                                  .v_dim = cache.v_dim,
                                  .k_rows = k_rows,
                                  .type = (enum fovea_type)type};
    const enum fovea_status paged = fovea_kv_pages_size(&pool, &k_count, &v_count);
    FUZZ_CHECK(paged == fovea_kv_pages_strides(&pool, &k, &v));
    if (!paged)
        check_extent(pool.pages, pool.kv_heads, pool.page_keys, pool.v_dim, v, v_count);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input in = {data, size};
    const uint8_t kind = fuzz_byte(&in);
    const struct fovea_engine *const engine = fuzz_engine(kind / 4);
    switch (kind % 4) {
    case 0:
        try_mha(&in, engine);
        break;
    case 1:
        try_layer(&in, engine);
        break;
    case 2:
        try_rowwise(&in, engine);
        break;
    default:
        try_storage(&in);
    }
    return 0;
}

size_t fuzz_seed(uint32_t index, uint8_t *out)
{
    enum { SEEDS = 32, BYTES = 40 };
    uint64_t random = index + 1;
    for (size_t i = 0; i < BYTES; i++)
        out[i] = (uint8_t)test_random(&random);
    out[0] = (uint8_t)index;
    return index < SEEDS ? BYTES : 0;
}
