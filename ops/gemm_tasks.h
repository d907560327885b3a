// SPDX-License-Identifier: Apache-2.0
// ops/gemm_tasks.h - how a GEMM plan cuts C into tasks, and the memory that these take.
#ifndef FOVEA_OPS_GEMM_TASKS_H
#define FOVEA_OPS_GEMM_TASKS_H

#include "ops/gemm.h"

/// How m rows are cut into tasks; `even`: takes some us more, to make a few workers finish together. fovea_gemm_count:
/// the number of tasks of a phase (ops/gemm_grid.c).
struct fovea_gemm_grid fovea_gemm_grid(const struct fovea_gemm_layout *plan, size_t m, bool even);
/// Least work of a task, in k steps of one element of C: 20 us on a core of 77 G steps/s (two AVX-512 FMA ports at 2.4
/// GHz).
enum { FOVEA_TASK_STEPS = 3 << 19 };
/// Work of `rows` x `columns` of C, in steps, by which tasks are cut.
double fovea_gemm_work(const struct fovea_gemm_layout *plan, size_t rows, double columns);
/// How many workers should share work worth this many tasks: one if below two, otherwise all that then have 5 us each.
size_t fovea_gemm_workers(const struct fovea_gemm_layout *plan, double worth);
/// Replaces the pieces of a grid of m rows, with at most `rows` and `groups` pieces, if the plan's workers then finish
/// sooner. worth: the product in units of tasks of 20 us (ops/gemm_balance.c).
void fovea_gemm_balance(const struct fovea_gemm_layout *plan, size_t m, double worth, size_t rows, size_t groups,
                        struct fovea_gemm_grid *grid);
/// Whether every task has at least a whole batch entry of m rows.
bool fovea_gemm_whole(const struct fovea_gemm_layout *plan, size_t m);
/// Floats of acc that a task needs at most.
size_t fovea_gemm_acc(const struct fovea_gemm_layout *plan);
uint32_t fovea_gemm_count(const struct fovea_gemm_layout *plan, const struct fovea_gemm_grid *grid, size_t m,
                          uint32_t phase);
/// Sets work, and what lies where in it (ops/gemm_memory.c). Errors: OVERFLOW.
enum fovea_status fovea_gemm_measure(struct fovea_gemm_layout *plan, const struct fovea_why *why);
/// Smallest number of rows for which a problem that is not direct packs natural rows of B.
size_t fovea_gemm_packed_from(const struct fovea_gemm_layout *plan);
/// Rows of A or columns of B that a task of phase 0 prepares, in whole panels (ops/gemm_grid.c).
size_t fovea_gemm_group(const struct fovea_gemm_layout *plan, const struct fovea_gemm_grid *grid, size_t m);

#endif
