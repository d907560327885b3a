// SPDX-License-Identifier: Apache-2.0
// bench/gemm_table.h - the lines of the GEMM suite for people.
#ifndef FOVEA_BENCH_GEMM_TABLE_H
#define FOVEA_BENCH_GEMM_TABLE_H

#include "bench/versus.h"

/// The head: the machine, its peak at this moment, the columns.
void gemm_table_head(const char *cpu, const char *isa, const struct fovea_executor *executor, bool peers);
/// The parts of a line, in this order; the last ends it.
void gemm_table_pace(const char *name, double gflops, const struct pace *pace);
void gemm_table_versus(const struct versus *versus, const char *peer);
void gemm_table_epilogue(const struct bench_interval *over_plain);
void gemm_table_instructions(uint64_t instructions);
void gemm_table_end(bool disturbed, double stolen);
/// A line without times: its instructions, or (where they are 0) why not.
void gemm_table_untimed(const char *name, uint64_t instructions, const char *error);

#endif
