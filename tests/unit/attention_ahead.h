// SPDX-License-Identifier: Apache-2.0
// tests/unit/attention_ahead.h - the kernel of attention_ahead_kernel.c, and whom it tells what it prefetches.
#ifndef FOVEA_TESTS_UNIT_ATTENTION_AHEAD_H
#define FOVEA_TESTS_UNIT_ATTENTION_AHEAD_H

#include "kernels/kernel.h"

void attention_ahead_ask(const void *line);
void attention_ahead_kernel(const struct fovea_decode_chunk *decode);

#endif
