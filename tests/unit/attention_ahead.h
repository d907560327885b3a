// SPDX-License-Identifier: Apache-2.0
// tests/unit/attention_ahead.h - the kernels of attention_ahead_kernel.c and _halves.c, and whom they tell what they
// prefetch.
#ifndef FOVEA_TESTS_UNIT_ATTENTION_AHEAD_H
#define FOVEA_TESTS_UNIT_ATTENTION_AHEAD_H

#include "kernels/kernel.h"

void attention_ahead_ask(const void *line, int level); // 3: into L1
fovea_decode_fn attention_ahead_kernel, attention_ahead_halves;

#endif
