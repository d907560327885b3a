// SPDX-License-Identifier: Apache-2.0
// tests/conformance/onnx.c - ONNX's operator test vectors, on every ISA of this machine. Outputs are within
// 1e-5 + 1e-4 |x| of the reference, whose own arithmetic is NumPy's in f32.
//
// The cases lie in shared/conformance/onnx beside the checkout, or where FOVEA_CONFORMANCE_DIR points; without them the
// test is skipped (77). A case is run, or listed below with its reason, or the test fails.
#include "fovea/gemm.h"
#include "fovea/rowwise.h"
#include "tests/conformance/cases.h"
#include "tests/support/engines.h"
#include "tests/support/test.h"

// Cases that are not run: by name, or all of an operator.
#define HALF "no f16"
static const struct {
    const char *name, *why;
} not_run[] = {
    {"test_attention_24_qk_matmul_output_mode3_softmax_precision", HALF},
    {"test_attention_4d_gqa_causal_nonpad_decode_fp16", HALF},
    {"test_attention_4d_gqa_with_past_and_present_fp16", HALF},
    {"test_attention_local_window_ext_cache_float16_mask", HALF},
};

enum { NOT_RUN = sizeof not_run / sizeof *not_run };

// Its entry in the list, or NOT_RUN where the case is to be run.
static size_t listed(const struct onnx_case *c)
{
    size_t i = 0;
    while (i < NOT_RUN && strcmp(not_run[i].name, c->name) != 0 && strcmp(not_run[i].name, c->op) != 0)
        i++;
    return i;
}

static bool failed(enum fovea_status status, char *why, size_t size)
{
    if (status != FOVEA_OK)
        snprintf(why, size, "%s", fovea_status_string(status));
    return status != FOVEA_OK;
}

// A negative axis counts from the end.
static uint32_t axis_of(const struct onnx_case *c, uint32_t dims)
{
    const double axis = onnx_number(c, "axis", -1);
    return (uint32_t)(axis < 0 ? axis + dims : axis);
}

static size_t product(const uint64_t *shape, uint32_t from, uint32_t to)
{
    size_t n = 1;
    for (uint32_t i = from; i < to; i++)
        n *= shape[i];
    return n;
}

// y = alpha A B + beta C, C broadcast to y.
static bool run_gemm(const struct onnx_case *c, const struct fovea_engine *engine, char *why, size_t size)
{
    const struct onnx_tensor *const a = onnx_input(c, 0), *const b = onnx_input(c, 1), *const bias = onnx_input(c, 2),
                                    *const y = onnx_output(c, 0);
    struct fovea_gemm_desc d = FOVEA_GEMM_DESC_INIT;
    d.trans_a = onnx_number(c, "transA", 0) != 0 ? FOVEA_TRANS : FOVEA_NO_TRANS;
    d.trans_b = onnx_number(c, "transB", 0) != 0 ? FOVEA_TRANS : FOVEA_NO_TRANS;
    d.alpha = (float)onnx_number(c, "alpha", 1);
    d.beta = (float)onnx_number(c, "beta", 1);
    d.m = y->shape[0], d.n = d.ldc = y->shape[1], d.k = a->shape[d.trans_a ? 0 : 1];
    d.lda = a->shape[1], d.ldb = b->shape[1];
    float *const out = test_alloc(y->count * sizeof *out);
    for (size_t i = 0; i < y->count; i++)
        out[i] = ((const float *)bias->data)[(bias->shape[0] == 1 ? 0 : i / d.n * d.n) + i % d.n];
    const struct fovea_gemm_args args = {.a = a->data, .b = b->data, .c = out, .m = d.m};
    const bool ok = !failed(fovea_gemm_once(engine, &d, &args), why, size) && onnx_compare(y, out, why, size);
    free(out);
    return ok;
}

// LayerNormalization and RMSNormalization. Mean and InvStdDev are no outputs of fovea: Y alone is compared.
static bool run_norm(const struct onnx_case *c, const struct fovea_engine *engine, char *why, size_t size)
{
    const struct onnx_tensor *const x = onnx_input(c, 0), *const y = onnx_output(c, 0);
    const uint32_t axis = axis_of(c, x->dims);
    struct fovea_rowwise_desc d = FOVEA_ROWWISE_DESC_INIT;
    const bool rms = strcmp(c->op, "RMSNormalization") == 0; // it has no beta
    d.op = rms ? FOVEA_ROWWISE_RMSNORM : FOVEA_ROWWISE_LAYERNORM;
    d.rows = product(x->shape, 0, axis);
    d.cols = d.ldx = d.ldy = product(x->shape, axis, x->dims);
    d.eps = (float)onnx_number(c, "epsilon", (double)d.eps);
    float *const out = test_alloc(y->count * sizeof *out);
    const struct fovea_rowwise_args args = {.x = x->data,
                                            .gamma = onnx_input(c, 1)->data,
                                            .beta = rms ? NULL : onnx_input(c, 2)->data,
                                            .y = out,
                                            .rows = d.rows};
    const bool ok = !failed(fovea_rowwise_once(engine, &d, &args), why, size) && onnx_compare(y, out, why, size);
    free(out);
    return ok;
}

// Along any axis: (before, axis, behind) becomes rows of (before, behind) and back.
static bool run_softmax(const struct onnx_case *c, const struct fovea_engine *engine, char *why, size_t size)
{
    const struct onnx_tensor *const x = onnx_input(c, 0), *const y = onnx_output(c, 0);
    const uint32_t axis = axis_of(c, x->dims);
    const size_t n = x->shape[axis], behind = product(x->shape, axis + 1, x->dims);
    float *const rows = test_alloc(x->count * sizeof *rows), *const out = test_alloc(x->count * sizeof *out);
    for (size_t i = 0; i < x->count; i++) // i = (before * n + j) * behind + r
        rows[(i / (n * behind) * behind + i % behind) * n + i / behind % n] = ((const float *)x->data)[i];
    struct fovea_rowwise_desc d = FOVEA_ROWWISE_DESC_INIT;
    d.rows = x->count / n;
    d.cols = d.ldx = d.ldy = n;
    const struct fovea_rowwise_args args = {.x = rows, .y = rows, .rows = d.rows};
    bool ok = !failed(fovea_rowwise_once(engine, &d, &args), why, size);
    for (size_t i = 0; i < x->count; i++)
        out[i] = rows[(i / (n * behind) * behind + i % behind) * n + i / behind % n];
    ok = ok && onnx_compare(y, out, why, size);
    free(rows);
    free(out);
    return ok;
}

static bool run_gelu(const struct onnx_case *c, const struct fovea_engine *engine, char *why, size_t size)
{
    const struct onnx_tensor *const x = onnx_input(c, 0), *const y = onnx_output(c, 0);
    struct fovea_rowwise_desc d = FOVEA_ROWWISE_DESC_INIT;
    d.op = c->attributes && strcmp(c->attribute[0].text, "tanh") == 0 ? FOVEA_ROWWISE_GELU_TANH : FOVEA_ROWWISE_GELU;
    d.rows = 1;
    d.cols = d.ldx = d.ldy = x->count;
    float *const out = test_alloc(y->count * sizeof *out);
    const struct fovea_rowwise_args args = {.x = x->data, .y = out, .rows = 1};
    const bool ok = !failed(fovea_rowwise_once(engine, &d, &args), why, size) && onnx_compare(y, out, why, size);
    free(out);
    return ok;
}

// (B, H, S, D), or (B, S, H * D) with num_heads. Without position_ids the caches are (B, S, pairs).
static bool run_rotary(const struct onnx_case *c, const struct fovea_engine *engine, char *why, size_t size)
{
    const struct onnx_tensor *const x = onnx_input(c, 0), *const cosines = onnx_input(c, 1),
                                    *const sines = onnx_input(c, 2), *const ids = onnx_input(c, 3),
                                    *const y = onnx_output(c, 0);
    struct fovea_rowwise_desc d = FOVEA_ROWWISE_DESC_INIT;
    d.op = FOVEA_ROWWISE_ROTARY;
    d.cols = d.ldx = d.ldy = x->shape[x->dims - 1];
    d.rows = x->count / d.cols;
    d.heads = x->dims == 3 ? (size_t)onnx_number(c, "num_heads", 1) : 1;
    d.rotary_adjacent = onnx_number(c, "interleaved", 0) != 0;
    d.rotary_dim = 2 * cosines->shape[cosines->dims - 1];
    d.rotary_positions = 2 * cosines->count / d.rotary_dim;
    const size_t len = x->shape[x->dims - 2], heads = x->dims == 4 ? x->shape[1] : 1;
    uint32_t *const positions = test_alloc(d.rows * sizeof *positions);
    for (size_t r = 0; r < d.rows; r++) {
        const size_t token = r / len / heads * len + r % len;
        positions[r] = (uint32_t)(ids ? (size_t)((const int64_t *)ids->data)[token] : token);
    }
    float *const out = test_alloc(y->count * sizeof *out);
    const struct fovea_rowwise_args args = {
        .x = x->data, .y = out, .rows = d.rows, .cos = cosines->data, .sin = sines->data, .row_positions = positions};
    const bool ok = !failed(fovea_rowwise_once(engine, &d, &args), why, size) && onnx_compare(y, out, why, size);
    free(positions);
    free(out);
    return ok;
}

typedef bool runner(const struct onnx_case *c, const struct fovea_engine *engine, char *why, size_t size);
static const struct {
    const char *op;
    runner *run;
} runners[] = {
    {"Attention", onnx_attention},
    {"Gelu", run_gelu},
    {"Gemm", run_gemm},
    {"LayerNormalization", run_norm},
    {"RMSNormalization", run_norm},
    {"RotaryEmbedding", run_rotary},
    {"Softmax", run_softmax},
};

static void run_case(struct onnx_case *c, const char *folder, struct fovea_engine *const *engines)
{
    runner *run = NULL;
    for (size_t i = 0; i < sizeof runners / sizeof *runners; i++)
        if (strcmp(runners[i].op, c->op) == 0)
            run = runners[i].run;
    CHECK(run, "%s: operator %s is neither run nor listed", c->name, c->op);
    const bool loaded = run && onnx_load(folder, c);
    CHECK(loaded, "%s cannot be read", c->name);
    for (int i = 0; i < TEST_ISAS && loaded; i++) {
        char why[200] = "";
        if (engines[i])
            CHECK(run(c, engines[i], why, sizeof why), "%s, %s: %s", c->name, test_isas[i], why);
    }
    onnx_unload(c);
}

int main(void)
{
    const char *const given = getenv("FOVEA_CONFORMANCE_DIR");
    const char *const folder = given && *given ? given : ONNX_FOLDER;
    struct onnx_set all;
    size_t skipped = 0;
    char path[512];
    snprintf(path, sizeof path, "%s/cases.json", folder);
    FILE *const there = fopen(path, "r");
    if (!there) {
        printf("skip conformance_onnx: no test vectors in %s (FOVEA_CONFORMANCE_DIR, CONTRIBUTING.md)\n", folder);
        return 77;
    }
    fclose(there);
    CHECK(onnx_open(folder, &all) && all.count > 0, "cases.json is damaged");
    struct fovea_engine *engines[TEST_ISAS];
    test_engines(engines);
    bool used[NOT_RUN + 1] = {false};
    for (size_t i = 0; i < all.count; i++) {
        const size_t entry = listed(&all.cases[i]);
        used[entry] = true;
        skipped += entry < NOT_RUN;
        if (entry < NOT_RUN)
            printf("skip %s: %s\n", all.cases[i].name, not_run[entry].why);
        else
            run_case(&all.cases[i], folder, engines);
    }
    for (size_t i = 0; i < NOT_RUN; i++)
        CHECK(used[i], "%s is listed, and there is no such case", not_run[i].name);
    printf("%zu cases, %zu of them skipped\n", all.count, skipped);
    test_engines_free(engines);
    onnx_close(&all);
    return test_done();
}
