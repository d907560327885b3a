// SPDX-License-Identifier: Apache-2.0
// tests/unit/errors_ops.c - bad input for GEMM and row-wise operators: each descriptor and each call differs from a
// good one in one thing, named by the expression that does it.
#include "ops/gemm.h"
#include "tests/support/engines.h"
#include "tests/unit/refuse.h"

static struct fovea_engine *engine;

enum { M = 40, N = 70, K = 30 };

static float *some(size_t n)
{
    float *const x = test_floats(n, TEST_HIGH);
    for (size_t i = 0; i < n; i++)
        x[i] = (float)(i % 7);
    return x;
}

static void test_gemm_descs(void)
{
    struct fovea_gemm_desc good = FOVEA_GEMM_DESC_INIT, bad;
    float *const c = test_floats(M * N, TEST_HIGH);
    good.m = M, good.n = good.ldb = good.ldc = good.ldr = N, good.k = good.lda = K;
    good.beta = 0.5f;                         // so that there is scratch
    good.trans_a = FOVEA_TRANS, good.lda = M; // so that there may be shared memory
    const struct fovea_gemm_args args = {.a = some(M * K), .b = some(K * N), .c = c, .m = M};
    const struct refuse r = refuse_begin(&test_gemm, engine, &good, &args, c, M * N);
    refuse_common(&r);
    const size_t huge = SIZE_MAX / 4;
    struct fovea_gemm_args wrong;
    BAD_ARGS(wrong.residual = args.a, FOVEA_ERR_VALUE); // which was not planned
    BAD_DESC(bad.struct_size = 0, FOVEA_ERR_STRUCT);
    BAD_DESC(bad.struct_size += 8, FOVEA_ERR_STRUCT);
    BAD_DESC(bad.struct_size -= 8, FOVEA_ERR_STRUCT);
    BAD_DESC(bad.trans_a = (enum fovea_transpose)2, FOVEA_ERR_ENUM);
    BAD_DESC(bad.trans_b = (enum fovea_transpose)(-1), FOVEA_ERR_ENUM);
    BAD_DESC(bad.activation = (enum fovea_activation)6, FOVEA_ERR_ENUM);
    BAD_DESC(bad.activation = (enum fovea_activation)(-1), FOVEA_ERR_ENUM);
    BAD_DESC(bad.b_packed = 2, FOVEA_ERR_ENUM);
    BAD_DESC_TOLD((bad.b_packed = 1, bad.b_type = (enum fovea_type)4), FOVEA_ERR_ENUM,
                  "gemm: b_type is 4, not within 0 to 3");
    BAD_DESC_TOLD(bad.b_type = FOVEA_BF16, FOVEA_ERR_VALUE, "gemm: b_type is bf16, but B is not packed");
    BAD_DESC(bad.residual = 7, FOVEA_ERR_ENUM);
    BAD_DESC(bad.lda = M - 1, FOVEA_ERR_STRIDE);
    BAD_DESC((bad.trans_a = FOVEA_NO_TRANS, bad.lda = K - 1), FOVEA_ERR_STRIDE);
    BAD_DESC(bad.ldb = N - 1, FOVEA_ERR_STRIDE);
    BAD_DESC((bad.trans_b = FOVEA_TRANS, bad.ldb = K - 1), FOVEA_ERR_STRIDE);
    BAD_DESC(bad.ldc = N - 1, FOVEA_ERR_STRIDE);
    BAD_DESC((bad.residual = 1, bad.ldr = N - 1), FOVEA_ERR_STRIDE);
    BAD_DESC(bad.alpha = NAN, FOVEA_ERR_VALUE);
    BAD_DESC(bad.alpha = INFINITY, FOVEA_ERR_VALUE);
    BAD_DESC(bad.beta = -INFINITY, FOVEA_ERR_VALUE);
    BAD_DESC(bad.beta = NAN, FOVEA_ERR_VALUE);
    BAD_DESC((bad.m = huge, bad.lda = huge), FOVEA_ERR_OVERFLOW);
    BAD_DESC((bad.n = huge, bad.ldb = huge, bad.ldc = huge), FOVEA_ERR_OVERFLOW);
    BAD_DESC((bad.m = SIZE_MAX, bad.lda = SIZE_MAX), FOVEA_ERR_OVERFLOW);
    BAD_DESC(bad.k = huge, FOVEA_ERR_OVERFLOW);
    BAD_DESC(bad.ldc = SIZE_MAX, FOVEA_ERR_OVERFLOW);
    BAD_DESC((bad.b_packed = 1, bad.k = huge, bad.alpha = 1), FOVEA_ERR_OVERFLOW);
    BAD_DESC((bad.b_packed = 1, bad.b_type = FOVEA_F16, bad.k = huge, bad.alpha = 1), FOVEA_ERR_OVERFLOW);
    BAD_DESC((bad.residual = 1, bad.ldr = SIZE_MAX / 8), FOVEA_ERR_OVERFLOW);
    test_memory_reset();
}

/// args.b is the blob.
static void refuse_damaged(const struct refuse *r, const struct fovea_gemm_args *args, char *blob)
{
    static const struct {
        const char *what;
        size_t at;
    } damage[] = {{"magic", 0}, {"version", 8},     {"type", 12},    {"k", 16},
                  {"n", 24},    {"data_bytes", 32}, {"padding", 48}, {"the end of the padding", 63}};
    for (size_t i = 0; i < sizeof damage / sizeof *damage; i++) {
        blob[damage[i].at] ^= 1;
        refuse_args(r, damage[i].what, args, FOVEA_ERR_FORMAT);
        blob[damage[i].at] ^= 1;
    }
}

static void test_gemm_args(void)
{
    struct fovea_gemm_desc good = FOVEA_GEMM_DESC_INIT;
    struct fovea_gemm_args wrong;
    float *const c = test_floats(M * N, TEST_HIGH);
    good.m = M, good.n = good.ldc = N, good.ldr = N + 1, good.k = good.lda = K;
    good.residual = good.b_packed = 1;
    size_t bytes = 0;
    CHECK(!fovea_pack_size(K, N, &bytes), "size");
    char *const blob = test_memory(bytes + 64, TEST_HIGH);
    CHECK(!fovea_pack(engine, FOVEA_NO_TRANS, K, N, some(K * N), N, blob, bytes), "pack");
    const struct fovea_gemm_args args = {.a = some(M * K), .b = blob, .c = c, .residual = some(M * (N + 1)), .m = M};
    const struct refuse r = refuse_begin(&test_gemm, engine, &good, &args, c, M * N);
    refuse_common(&r);
    BAD_ARGS_TOLD(wrong.a = NULL, FOVEA_ERR_NULL, "gemm: args.a is NULL");
    BAD_ARGS_TOLD(wrong.b = NULL, FOVEA_ERR_NULL, "gemm: args.b is NULL");
    BAD_ARGS(wrong.c = NULL, FOVEA_ERR_NULL);
    BAD_ARGS(wrong.residual = NULL, FOVEA_ERR_NULL);
    BAD_ARGS(wrong.m = M + 1, FOVEA_ERR_SHAPE);
    BAD_ARGS(wrong.m = SIZE_MAX, FOVEA_ERR_SHAPE);
    BAD_ARGS(wrong.residual = c, FOVEA_ERR_STRIDE); // aliases C with another leading dimension
    BAD_ARGS_TOLD(wrong.b = blob + 32, FOVEA_ERR_ALIGN,
                  "gemm: args.b is not 64-byte aligned, as a blob of fovea_pack is");
    refuse_damaged(&r, &args, blob);
    const struct fovea_gemm_args nothing = {.m = 0};
    CHECK(!fovea_gemm(r.plan, &nothing, r.shared, r.scratch, NULL), "no rows need no pointers");
    test_memory_reset();
}

// Plans that are nothing but tiles, whose calls go a shorter way: natural B, which has scratch as it ends within a
// panel, and packed.
static void test_gemm_bare(uint32_t b_packed)
{
    struct fovea_gemm_desc good = FOVEA_GEMM_DESC_INIT;
    struct fovea_gemm_args wrong;
    float *const c = test_floats(M * N, TEST_HIGH);
    good.m = M, good.n = good.ldb = good.ldc = N, good.k = good.lda = K;
    good.b_packed = b_packed;
    size_t bytes = 0;
    CHECK(!fovea_pack_size(K, N, &bytes), "size");
    char *const blob = test_memory(bytes + 64, TEST_HIGH);
    CHECK(!fovea_pack(engine, FOVEA_NO_TRANS, K, N, some(K * N), N, blob, bytes), "pack");
    const struct fovea_gemm_args args = {.a = some(M * K), .b = b_packed ? (void *)blob : some(K * N), .c = c, .m = M};
    const struct refuse r = refuse_begin(&test_gemm, engine, &good, &args, c, M * N);
    CHECK(((const struct fovea_gemm_layout *)r.plan)->is_bare, "packed %u: not the shorter way", (unsigned)b_packed);
    refuse_common(&r);
    BAD_ARGS_TOLD(wrong.a = NULL, FOVEA_ERR_NULL, "gemm: args.a is NULL");
    BAD_ARGS_TOLD(wrong.b = NULL, FOVEA_ERR_NULL, "gemm: args.b is NULL");
    BAD_ARGS(wrong.c = NULL, FOVEA_ERR_NULL);
    BAD_ARGS(wrong.residual = args.a, FOVEA_ERR_VALUE); // which was not planned
    BAD_ARGS(wrong.m = M + 1, FOVEA_ERR_SHAPE);
    if (b_packed) {
        BAD_ARGS(wrong.b = blob + 32, FOVEA_ERR_ALIGN);
        refuse_damaged(&r, &args, blob);
    }
    test_memory_reset();
}

static void test_rowwise_errors(void)
{
    struct fovea_rowwise_desc good = FOVEA_ROWWISE_DESC_INIT, bad;
    struct fovea_rowwise_args wrong;
    float *const y = test_floats(M * N, TEST_HIGH);
    good.op = FOVEA_ROWWISE_ADD;
    good.rows = M;
    good.cols = good.ldy = N;
    good.ldx = good.ldx2 = N + 1;
    const struct fovea_rowwise_args args = {.x = some(M * (N + 1)), .x2 = some(M * (N + 1)), .y = y, .rows = M};
    const struct refuse r = refuse_begin(&test_rowwise, engine, &good, &args, y, M * N);
    refuse_common(&r);
    BAD_DESC(bad.struct_size = 0, FOVEA_ERR_STRUCT);
    BAD_DESC(bad.struct_size = 1000, FOVEA_ERR_STRUCT);
    BAD_DESC(bad.op = (enum fovea_rowwise_op)(FOVEA_ROWWISE_ROTARY + 1), FOVEA_ERR_ENUM);
    BAD_DESC(bad.op = (enum fovea_rowwise_op)(-1), FOVEA_ERR_ENUM);
    BAD_DESC(bad.ldx = N - 1, FOVEA_ERR_STRIDE);
    BAD_DESC(bad.ldx2 = N - 1, FOVEA_ERR_STRIDE);
    BAD_DESC(bad.ldy = N - 1, FOVEA_ERR_STRIDE);
    BAD_DESC(bad.rows = SIZE_MAX / 8, FOVEA_ERR_OVERFLOW);
    BAD_DESC(bad.ldy = SIZE_MAX / 8, FOVEA_ERR_OVERFLOW);
    BAD_DESC((bad.cols = SIZE_MAX, bad.ldx = bad.ldx2 = bad.ldy = SIZE_MAX), FOVEA_ERR_OVERFLOW);
    BAD_DESC((bad.op = FOVEA_ROWWISE_LAYERNORM, bad.eps = -1), FOVEA_ERR_VALUE);
    BAD_DESC((bad.op = FOVEA_ROWWISE_LAYERNORM, bad.eps = NAN), FOVEA_ERR_VALUE);
    BAD_DESC((bad.op = FOVEA_ROWWISE_LAYERNORM, bad.eps = INFINITY), FOVEA_ERR_VALUE);
    BAD_DESC((bad.op = FOVEA_ROWWISE_RMSNORM, bad.eps = -1), FOVEA_ERR_VALUE);
    BAD_ARGS_TOLD(wrong.x = NULL, FOVEA_ERR_NULL, "rowwise: args.x is NULL");
    BAD_ARGS(wrong.x2 = NULL, FOVEA_ERR_NULL);
    BAD_ARGS_TOLD(wrong.y = NULL, FOVEA_ERR_NULL, "rowwise: args.y is NULL");
    BAD_ARGS(wrong.rows = M + 1, FOVEA_ERR_SHAPE);
    BAD_ARGS_TOLD(wrong.eval = 2, FOVEA_ERR_ENUM, "rowwise: args.eval is 2, neither 0 nor 1");
    BAD_ARGS(wrong.x = y, FOVEA_ERR_STRIDE); // in place with another stride
    BAD_ARGS(wrong.x2 = y, FOVEA_ERR_STRIDE);
    BAD_ARGS_TOLD(wrong.gamma = args.x, FOVEA_ERR_VALUE, "rowwise: args.gamma is given, but ADD does not read it");
    BAD_ARGS(wrong.beta = args.x, FOVEA_ERR_VALUE);
    BAD_ARGS(wrong.cos = args.x, FOVEA_ERR_VALUE);
    BAD_ARGS(wrong.sin = args.x, FOVEA_ERR_VALUE);
    BAD_ARGS(wrong.row_positions = (const uint32_t *)(const void *)args.x, FOVEA_ERR_VALUE);
    BAD_ARGS(wrong.positions = &args.rows, FOVEA_ERR_VALUE);
    BAD_ARGS(wrong.starts = (const uint32_t *)(const void *)args.x, FOVEA_ERR_VALUE);
    BAD_ARGS((wrong.rows = 1, wrong.x = NULL), FOVEA_ERR_NULL);
    const struct fovea_rowwise_args nothing = {.rows = 0}, of_null = {.rows = 1};
    CHECK(!fovea_rowwise(r.plan, &nothing, r.shared, r.scratch, NULL), "no rows need no pointers");
    good.cols = 0;
    CHECK(fovea_rowwise_once(engine, &good, &of_null) == FOVEA_OK, "nor do no columns");
    good.cols = 1;
    CHECK(fovea_rowwise_once(engine, &good, &of_null) == FOVEA_ERR_NULL, "one column does");
    test_memory_reset();
}

static void test_once(void)
{
    struct fovea_gemm_desc gemm = FOVEA_GEMM_DESC_INIT;
    struct fovea_rowwise_desc rowwise = FOVEA_ROWWISE_DESC_INIT;
    const struct fovea_gemm_args gemm_args = {.m = 0};
    CHECK(fovea_gemm_once(NULL, &gemm, &gemm_args) == FOVEA_ERR_NULL, "engine NULL");
    CHECK(fovea_gemm_once(engine, NULL, &gemm_args) == FOVEA_ERR_NULL, "desc NULL");
    CHECK(fovea_gemm_once(engine, &gemm, NULL) == FOVEA_ERR_NULL, "args NULL");
    CHECK(fovea_gemm_once(engine, &gemm, &gemm_args) == FOVEA_OK, "nothing to do");
    CHECK(fovea_rowwise_once(engine, &rowwise, NULL) == FOVEA_ERR_NULL, "args NULL");
}

#define SAME_DEFAULTS(what, type, init)                                                                                \
    do {                                                                                                               \
        static const struct type of_macro = init;                                                                      \
        struct type made;                                                                                              \
        memset(&made, 0, sizeof made);                                                                                 \
        CHECK(what(NULL, sizeof made) == FOVEA_ERR_NULL && what(&made, sizeof made - 8) == FOVEA_ERR_STRUCT &&         \
                  made.struct_size == 0,                                                                               \
              #what " refuses");                                                                                       \
        CHECK(what(&made, sizeof made) == FOVEA_OK && memcmp(&made, &of_macro, sizeof made) == 0, #what);              \
    } while (0)

// What callers without macros start from.
static void test_defaults(void)
{
    SAME_DEFAULTS(fovea_engine_options_init, fovea_engine_options, FOVEA_ENGINE_OPTIONS_INIT);
    SAME_DEFAULTS(fovea_gemm_desc_init, fovea_gemm_desc, FOVEA_GEMM_DESC_INIT);
    SAME_DEFAULTS(fovea_rowwise_desc_init, fovea_rowwise_desc, FOVEA_ROWWISE_DESC_INIT);
}

int main(void)
{
    engine = test_engine("scalar", NULL);
    test_gemm_descs();
    test_gemm_args();
    test_gemm_bare(0);
    test_gemm_bare(1);
    test_rowwise_errors();
    test_once();
    test_defaults();
    fovea_engine_destroy(engine);
    return test_done();
}
