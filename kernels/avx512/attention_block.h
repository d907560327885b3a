// SPDX-License-Identifier: Apache-2.0
// kernels/avx512/attention_block.h - a whole tile of prefill, 8 rows by 48 queries, in assembly.
//
// A step is 24 FMAs, 3 loads of B and 8 broadcasts of A: 35 instructions. From intrinsics gcc generates 35 to 39 (it
// copies sums between registers and spills pointers). The number matters because a core whose other hyper-thread is
// busy issues two instructions a cycle: 24 FMAs in 35 instructions are then 69 % of the peak, in 38 63 %. If three rows
// were broadcast within their FMAs there would be 32 instructions, 75 %; but that is two more loads per row, and an
// idle core has only two load ports: Granite Rapids, d = 64 and 128, 128 to 4096 tokens, without them 1.02 to 1.055
// times as fast, with one row of them 1.01 to 1.02; Cascade Lake 1.01, all 8 rows 0.9.
//
// zmm0 to zmm23 are the sums, row by row; zmm27 and zmm31 alternately hold elements of A; zmm28 to zmm30 are B.
#ifndef FOVEA_KERNELS_AVX512_ATTENTION_BLOCK_H
#define FOVEA_KERNELS_AVX512_ATTENTION_BLOCK_H

#include "kernels/avx512/vec.h"

// clang-format off
#define BLOCK_REG "zmm"
#define BLOCK_BYTES "64"
#define BLOCK_CLEAR(x) "vpxord %%zmm" x ", %%zmm" x ", %%zmm" x "\n\t"
#define BLOCK_ROWS(X)                                                                                   \
    X("0", "0", "1", "2") X("192", "3", "4", "5") X("384", "6", "7", "8") X("576", "9", "10", "11")     \
    X("768", "12", "13", "14") X("960", "15", "16", "17") X("1152", "18", "19", "20") X("1344", "21", "22", "23")
#define BLOCK_B0 "28"
#define BLOCK_B1 "29"
#define BLOCK_B2 "30"
#define BLOCK_CLOBBERS "zmm0", "zmm1", "zmm2", "zmm3", "zmm4", "zmm5", "zmm6", "zmm7", "zmm8", "zmm9", "zmm10", \
    "zmm11", "zmm12", "zmm13", "zmm14", "zmm15", "zmm16", "zmm17", "zmm18", "zmm19", "zmm20", "zmm21", "zmm22", \
    "zmm23", "zmm27", "zmm28", "zmm29", "zmm30", "zmm31"
#define BLOCK_INTO_L1 BLOCK_LOOP_INTO_L1

#define BLOCK_NEAR(step, p)                                                                             \
    BLOCK_B(p)                                                                                          \
    BLOCK_FMA(step "*" p "(%[a0])", "27", "0", "1", "2")                                                \
    BLOCK_FMA(step "*" p "+4(%[a0])", "31", "3", "4", "5")                                              \
    BLOCK_FMA(step "*" p "+8(%[a0])", "27", "6", "7", "8")                                              \
    BLOCK_FMA(step "*" p "+12(%[a0])", "31", "9", "10", "11")                                           \
    BLOCK_FMA(step "*" p "+16(%[a0])", "27", "12", "13", "14")                                          \
    BLOCK_FMA(step "*" p "+20(%[a0])", "31", "15", "16", "17")                                          \
    BLOCK_FMA(step "*" p "+24(%[a0])", "27", "18", "19", "20")                                          \
    BLOCK_FMA(step "*" p "+28(%[a0])", "31", "21", "22", "23")
#define BLOCK_APART(step, p)                                                                            \
    BLOCK_B(p)                                                                                          \
    BLOCK_FMA(step "*" p "(%[a0])", "27", "0", "1", "2")                                                \
    BLOCK_FMA(step "*" p "(%[a0],%[s])", "31", "3", "4", "5")                                           \
    BLOCK_FMA(step "*" p "(%[a0],%[s],2)", "27", "6", "7", "8")                                         \
    BLOCK_FMA(step "*" p "(%[a1])", "31", "9", "10", "11")                                              \
    BLOCK_FMA(step "*" p "(%[a1],%[s])", "27", "12", "13", "14")                                        \
    BLOCK_FMA(step "*" p "(%[a1],%[s],2)", "31", "15", "16", "17")                                      \
    BLOCK_FMA(step "*" p "(%[a2])", "27", "18", "19", "20")                                             \
    BLOCK_FMA(step "*" p "(%[a2],%[s])", "31", "21", "22", "23")
// clang-format on

#include "kernels/common/attention_block.h"

#endif
