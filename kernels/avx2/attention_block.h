// SPDX-License-Identifier: Apache-2.0
// kernels/avx2/attention_block.h - a whole tile of prefill, 4 rows by 24 queries, in assembly.
//
// A step is 12 FMAs, 3 loads of B and 4 broadcasts of A: 19 instructions and 7 loads, the fewest for 16 registers. From
// intrinsics gcc keeps one of the sums in memory and generates 20 to 21 instructions, 8 of which load. Loads matter
// when the other hyper-thread is busy: FMAs that take B from memory save one instruction each and lose 10 to 25 %.
//
// ymm0 to ymm11 are the sums, row by row; ymm12 to ymm14 are B; ymm15 takes elements of A.
#ifndef FOVEA_KERNELS_AVX2_ATTENTION_BLOCK_H
#define FOVEA_KERNELS_AVX2_ATTENTION_BLOCK_H

#include "kernels/avx2/vec.h"

// clang-format off
#define BLOCK_REG "ymm"
#define BLOCK_BYTES "32"
#define BLOCK_CLEAR(x) "vxorps %%xmm" x ", %%xmm" x ", %%xmm" x "\n\t"
#define BLOCK_ROWS(X) X("0", "0", "1", "2") X("192", "3", "4", "5") X("384", "6", "7", "8") X("576", "9", "10", "11")
#define BLOCK_B0 "12"
#define BLOCK_B1 "13"
#define BLOCK_B2 "14"
#define BLOCK_CLOBBERS "ymm0", "ymm1", "ymm2", "ymm3", "ymm4", "ymm5", "ymm6", "ymm7", "ymm8", "ymm9", "ymm10", \
    "ymm11", "ymm12", "ymm13", "ymm14", "ymm15"
#define BLOCK_HAS_TAIL 0 // 256-bit stores delay nothing
#define BLOCK_TAIL(FORM, step, END)
#define BLOCK_INTO_L1(FORM, step) // 0.96 to 1.0 times as fast on Zen 4

#define BLOCK_NEAR(step, p)                                                                             \
    BLOCK_B(p)                                                                                          \
    BLOCK_FMA(step "*" p "(%[a0])", "15", "0", "1", "2")                                                \
    BLOCK_FMA(step "*" p "+4(%[a0])", "15", "3", "4", "5")                                              \
    BLOCK_FMA(step "*" p "+8(%[a0])", "15", "6", "7", "8")                                              \
    BLOCK_FMA(step "*" p "+12(%[a0])", "15", "9", "10", "11")
#define BLOCK_APART(step, p)                                                                            \
    BLOCK_B(p)                                                                                          \
    BLOCK_FMA(step "*" p "(%[a0])", "15", "0", "1", "2")                                                \
    BLOCK_FMA(step "*" p "(%[a0],%[s])", "15", "3", "4", "5")                                           \
    BLOCK_FMA(step "*" p "(%[a0],%[s],2)", "15", "6", "7", "8")                                         \
    BLOCK_FMA(step "*" p "(%[a1])", "15", "9", "10", "11")
// clang-format on

#include "kernels/common/attention_block.h"

#endif
