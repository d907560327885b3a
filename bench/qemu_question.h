// SPDX-License-Identifier: Apache-2.0
// bench/qemu_question.h - how a program in qemu-user asks the plugin that counts its instructions.
//
// lseek(pipe, BENCH_QEMU_QUESTION, SEEK_SET): nonsense on a pipe, so it does nothing anywhere. The plugin sees the
// system call, and writes the count of instructions until now, 8 bytes, into that pipe: qemu-user and its guest share
// files.
#ifndef FOVEA_BENCH_QEMU_QUESTION_H
#define FOVEA_BENCH_QEMU_QUESTION_H

#include <stdint.h>

static const int64_t BENCH_QEMU_QUESTION = 0x666f7665613f3f3f; // "fovea???"

#endif
