// SPDX-License-Identifier: Apache-2.0
// tests/golden/golden.h - golden.safetensors, which make.py made with PyTorch, and how far fovea may be from it.
//
// The file is made in float64, so what differs is fovea's own rounding. Tolerances are absolute plus relative: 1e-6 for
// one operator (some 20 roundings of numbers about 1), 5e-6 for attention with its projections and for layers (a chain
// of six of them, through a norm that divides by a deviation below 1).
#ifndef FOVEA_TESTS_GOLDEN_GOLDEN_H
#define FOVEA_TESTS_GOLDEN_GOLDEN_H

#include "fovea/fovea.h"
#include "tests/support/engines.h"
#include "tests/support/test.h"

#include <stdbool.h>

static const double OPERATOR = 1e-6, LAYER = 5e-6;

static struct fovea_safetensors *file;
static const struct fovea_engine *engine;
static const char *isa;
static double largest; // error found

static inline const struct fovea_tensor *tensor(const char *name)
{
    const struct fovea_tensor *const t = fovea_safetensors_find(file, name);
    if (!t) {
        fprintf(stderr, "FAIL golden.safetensors has no \"%s\"\n", name);
        exit(1);
    }
    return t;
}

static inline const float *floats(const char *name)
{
    return tensor(name)->data;
}

static inline const float *part(const char *prefix, const char *name)
{
    char full[160];
    snprintf(full, sizeof full, "%s.%s", prefix, name);
    const struct fovea_tensor *const t = fovea_safetensors_find(file, full);
    return t ? t->data : NULL;
}

/// how: "" or " in pieces", for the message.
static inline void compare(const char *name, const char *how, enum fovea_status status, const float *got,
                           double tolerance)
{
    const struct fovea_tensor *const t = tensor(name);
    const float *const want = t->data;
    const size_t n = t->bytes / sizeof *want;
    double worst = 0;
    for (size_t i = 0; i < n; i++) {
        const double error = fabs((double)got[i] - (double)want[i]) / (1 + fabs((double)want[i]));
        worst = error <= worst ? worst : error; // a NaN is taken
    }
    CHECK(status == FOVEA_OK && worst <= tolerance, "%s%s, %s: %s, off by %g, tolerance %g", name, how, isa,
          fovea_status_string(status), worst, tolerance);
    largest = worst > largest ? worst : largest;
}

// The packed weight and the bias (NULL where the file has none) of one Linear.
static inline struct fovea_linear linear(const char *prefix, const char *name)
{
    char full[96];
    size_t bytes = 0;
    snprintf(full, sizeof full, "%s.%s.weight", prefix, name);
    const struct fovea_tensor *const w = tensor(full);
    const size_t outputs = w->shape[0], inputs = w->shape[1];
    CHECK(!fovea_pack_size(inputs, outputs, &bytes), "%s", full);
    void *const blob = test_alloc(bytes);
    CHECK(!fovea_pack(engine, FOVEA_TRANS, inputs, outputs, w->data, inputs, blob, bytes), "%s", full);
    snprintf(full, sizeof full, "%s.bias", name);
    return (struct fovea_linear){blob, part(prefix, full)};
}

static inline struct fovea_mha_weights projections(const char *prefix)
{
    return (struct fovea_mha_weights){
        .q = linear(prefix, "q"), .k = linear(prefix, "k"), .v = linear(prefix, "v"), .o = linear(prefix, "o")};
}

static inline void free_projections(const struct fovea_mha_weights *w)
{
    free((void *)(uintptr_t)w->q.weight);
    free((void *)(uintptr_t)w->k.weight);
    free((void *)(uintptr_t)w->v.weight);
    free((void *)(uintptr_t)w->o.weight);
}

/// Opens the file and runs all of `test` on every ISA.
static inline int golden_main(void (*test)(void))
{
    char message[200] = "";
    CHECK(!fovea_safetensors_open(GOLDEN_FILE, &file, message, sizeof message), "%s", message);
    for (int i = 0; i < TEST_ISAS && file; i++) {
        struct fovea_engine *const made = test_engine(test_isas[i], NULL);
        if (!made) {
            printf("skip %s: this CPU or build lacks it\n", test_isas[i]);
            continue;
        }
        engine = made;
        isa = test_isas[i];
        test();
        fovea_engine_destroy(made);
    }
    printf("largest error: %.2g\n", largest);
    fovea_safetensors_close(file);
    return test_done();
}

/// The strides of a tensor of four dims.
static inline struct fovea_strides dense(const struct fovea_tensor *t)
{
    return (struct fovea_strides){t->shape[1] * t->shape[2] * t->shape[3], t->shape[2] * t->shape[3], t->shape[3]};
}

#endif
