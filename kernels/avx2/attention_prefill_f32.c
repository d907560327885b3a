// SPDX-License-Identifier: Apache-2.0
// kernels/avx2/attention_prefill_f32.c - one chunk of keys against a tile of queries, lanes are queries, on AVX2.
#include "kernels/avx2/vec.h"
#define FV_TILE_ROWS 4
#define FV_TILE_VECS 3
#define FV_REGISTER(v) __asm__("" : "+x"(v))
#define FV_BLOCK
#include "kernels/avx2/attention_block.h"
#include "kernels/common/attention_tile.h"
#define FV_GEMM fovea_gemm_f32_6x16_avx2
#define FV_GEMM_MR 4
#define FV_GEMM_NR 16
#include "kernels/common/attention_prefill_f32.inc"
