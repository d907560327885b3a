// SPDX-License-Identifier: Apache-2.0
// examples/gemm/gemm.c - a Linear with GELU, y = gelu(x W^T + b): packed once, planned once, run for any number of
// rows.
//
//     cc gemm.c $(pkg-config --cflags --libs fovea) && ./a.out
#include <fovea/fovea.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { INPUTS = 300, OUTPUTS = 200, ROWS_MAX = 64 };

static void must(enum fovea_status status, const char *what)
{
    if (status != FOVEA_OK) {
        fprintf(stderr, "%s: %s\n", what, fovea_status_string(status));
        exit(1);
    }
}

// Plans, blobs and work memory are 64-byte aligned.
static void *take(size_t bytes)
{
    void *const memory = aligned_alloc(64, (bytes + 64) / 64 * 64);
    if (!memory)
        exit(1);
    return memory;
}

int main(void)
{
    static float weight[OUTPUTS * INPUTS], bias[OUTPUTS], x[ROWS_MAX * INPUTS], y[ROWS_MAX * OUTPUTS], first[OUTPUTS];
    int differs = 0;
    for (int i = 0; i < OUTPUTS * INPUTS; i++)
        weight[i] = (float)(i % 17 - 8) / 32;
    for (int i = 0; i < ROWS_MAX * INPUTS; i++)
        x[i] = (float)(i % 13 - 6) / 8;

    struct fovea_engine_options options = FOVEA_ENGINE_OPTIONS_INIT;
    options.workers = 1; // all calls here are of one thread; by default plans are cut for all processors
    struct fovea_engine *engine;
    must(fovea_engine_create(&options, &engine), "engine");

    // A Linear's weight is [outputs, inputs]: B transposed. The blob can be stored and mapped, on any machine.
    size_t bytes;
    must(fovea_pack_size(INPUTS, OUTPUTS, &bytes), "pack size");
    void *const packed = take(bytes);
    must(fovea_pack(engine, FOVEA_TRANS, INPUTS, OUTPUTS, weight, INPUTS, packed, bytes), "pack");

    struct fovea_gemm_desc desc = FOVEA_GEMM_DESC_INIT;
    desc.b_packed = 1;
    desc.m = ROWS_MAX;
    desc.k = desc.lda = INPUTS;
    desc.n = desc.ldc = OUTPUTS;
    desc.activation = FOVEA_ACTIVATION_GELU;
    struct fovea_work *const plan = take(fovea_gemm_plan_size());
    must(fovea_gemm_plan(engine, &desc, plan), "plan");
    void *const shared = take(plan->shared_bytes), *const scratch = take(plan->scratch_bytes);

    char text[FOVEA_EXPLAIN_BYTES];
    must(fovea_explain_gemm(engine, &desc, text, sizeof text), "explain");
    puts(text);
    for (size_t rows = 1; rows <= ROWS_MAX; rows *= 4) {
        const struct fovea_gemm_args args = {.a = x, .b = packed, .c = y, .bias = bias, .m = rows};
        must(fovea_gemm(plan, &args, shared, scratch, NULL), "gemm");
        if (rows == 1)
            memcpy(first, y, sizeof first);
        const int same = memcmp(first, y, sizeof first) == 0;
        printf("%2zu rows: y[0][0] = %g, the first row has %s bits\n", rows, (double)y[0], same ? "the same" : "OTHER");
        differs |= !same;
    }
    free(plan);
    free(packed);
    free(shared);
    free(scratch);
    fovea_engine_destroy(engine);
    return differs;
}
