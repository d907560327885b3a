// SPDX-License-Identifier: Apache-2.0
// bench/table.h - the lines of a suite for people.
#ifndef FOVEA_BENCH_TABLE_H
#define FOVEA_BENCH_TABLE_H

#include "bench/versus.h"

/// The head: the machine, its peak at this moment, the columns.
void table_head(const char *cpu, const char *isa, const struct fovea_executor *executor, bool peers);
/// The parts of a line, in this order; the last ends it.
void table_pace(const char *name, double gflops, const struct pace *pace, size_t work_bytes);
void table_versus(const struct versus *versus, const char *peer);
void table_epilogue(const struct bench_interval *over_plain);
void table_instructions(uint64_t instructions);
void table_end(bool disturbed, double stolen, double interrupted);
/// A line without times: its instructions.
void table_untimed(const char *name, uint64_t instructions);
/// A line that came to nothing.
void table_error(const char *name, const char *what);

#endif
