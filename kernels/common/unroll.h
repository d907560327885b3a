// SPDX-License-Identifier: Apache-2.0
// kernels/common/unroll.h - FV_UNROLL: the following loop, of at most 16 iterations, is unrolled completely;
// FV_UNROLL_4: four iterations at a time; FV_ROLLED: not at all.
//
// For arrays of vectors that must be kept in registers: a remaining loop over them makes them an array in memory. clang
// 14 obeys gcc's pragma too late for that, and gcc knows none of clang's.
#ifndef FOVEA_KERNELS_COMMON_UNROLL_H
#define FOVEA_KERNELS_COMMON_UNROLL_H

#if defined(__clang__)
#define FV_UNROLL _Pragma("clang loop unroll(full)")
#define FV_UNROLL_4 _Pragma("clang loop unroll_count(4)")
#define FV_ROLLED _Pragma("clang loop unroll(disable)")
#else
#define FV_UNROLL _Pragma("GCC unroll 16")
#define FV_UNROLL_4 _Pragma("GCC unroll 4")
#define FV_ROLLED _Pragma("GCC unroll 1")
#endif

#endif
