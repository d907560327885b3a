// SPDX-License-Identifier: Apache-2.0
// tests/model/narrow.h - a random Transformer in a file with 16-bit elements.
#ifndef FOVEA_TESTS_MODEL_NARROW_H
#define FOVEA_TESTS_MODEL_NARROW_H

#include "tests/model/random_model.h"

/// Makes a file of the same model whose tensor i has elements of types[i]. Numbers are rounded to those types in both
/// models, so that they are the same. Nothing can fail in a test: it exits.
void random_model_narrow(struct random_model *wide, const enum fovea_type *types, struct random_model *narrow);

#endif
