// SPDX-License-Identifier: Apache-2.0
// tests/support/engines.c - an engine for each ISA of this machine.
#define _POSIX_C_SOURCE 200809L // setenv
#include "tests/support/engines.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const test_isas[TEST_ISAS] = {"scalar", "avx2", "avx512", "neon"};

void test_plain_environment(void)
{
    static const char *const settings[] = {"FOVEA_ISA", "FOVEA_PIN", "FOVEA_EXCLUDE", "FOVEA_CACHES"};
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++)
        unsetenv(settings[i]);
    setenv("FOVEA_PROFILE", "none", 1);
}

struct fovea_engine *test_engine(const char *isa, const struct fovea_tiling *tiling)
{
    struct fovea_engine *engine = NULL;
    char message[160] = "";
    struct fovea_engine_options options = FOVEA_ENGINE_OPTIONS_INIT;
    options.isa = isa;
    options.tiling = tiling;
    options.workers =
        isa != NULL && strcmp(isa, "scalar") != 0; // large tasks against small ones: the bits are the same
    options.message = message;
    options.message_size = sizeof message;
    const enum fovea_status status = fovea_engine_create(&options, &engine);
    if (status != FOVEA_OK && status != FOVEA_ERR_UNSUPPORTED) {
        fprintf(stderr, "FAIL no engine for %s: %s, %s\n", isa, fovea_status_string(status), message);
        exit(1);
    }
    return engine;
}

int test_engines(struct fovea_engine *engines[TEST_ISAS])
{
    int count = 0;
    for (int i = 0; i < TEST_ISAS; i++) {
        engines[i] = test_engine(test_isas[i], NULL);
        count += engines[i] != NULL;
        if (engines[i] == NULL)
            printf("skip %s: this CPU or build lacks it\n", test_isas[i]);
    }
    return count;
}

void test_engines_free(struct fovea_engine *engines[TEST_ISAS])
{
    for (int i = 0; i < TEST_ISAS; i++)
        fovea_engine_destroy(engines[i]);
}

void test_each_engine(void test(const struct fovea_engine *engine, const char *isa))
{
    struct fovea_engine *engines[TEST_ISAS];
    test_engines(engines);
    for (int i = 0; i < TEST_ISAS; i++) {
        if (engines[i] != NULL)
            test(engines[i], test_isas[i]);
    }
    test_engines_free(engines);
}

struct fovea_tuning *test_tuning(const struct fovea_engine *engine)
{
    return &((struct fovea_kernels *)fovea_engine_kernels(engine))->tuning; // allocated, by fovea_engine_create
}

void test_set_workers(const struct fovea_engine *engine, uint32_t workers)
{
    ((struct fovea_kernels *)fovea_engine_kernels(engine))->workers = workers;
}
