// SPDX-License-Identifier: Apache-2.0
// tests/support/engines.h - an engine for each ISA of this machine.
#ifndef FOVEA_TESTS_SUPPORT_ENGINES_H
#define FOVEA_TESTS_SUPPORT_ENGINES_H

#include "fovea/engine.h"
#include "kernels/table.h"

/// Every ISA fovea knows, the defining one first.
enum { TEST_ISAS = 4 };
extern const char *const test_isas[TEST_ISAS];

/// Takes out of the environment whatever would change an engine; no tuning profile is read.
void test_plain_environment(void);

/// An engine capped at isa, or NULL where the CPU lacks it. Exits where there is none for another reason.
struct fovea_engine *test_engine(const char *isa, const struct fovea_tiling *tiling);

/// One engine for each ISA, NULL where the CPU lacks it. Returns how many there are and prints a line for each that is
/// not.
int test_engines(struct fovea_engine *engines[TEST_ISAS]);
void test_engines_free(struct fovea_engine *engines[TEST_ISAS]);
/// Runs the test with an engine for each ISA that the CPU has.
void test_each_engine(void test(const struct fovea_engine *engine, const char *isa));

/// The numbers that plans of an engine, not NULL, read, to be changed as a profile may.
struct fovea_tuning *test_tuning(const struct fovea_engine *engine);
/// Makes it an engine for so many workers.
void test_set_workers(const struct fovea_engine *engine, uint32_t workers);

#endif
