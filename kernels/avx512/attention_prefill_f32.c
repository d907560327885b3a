// SPDX-License-Identifier: Apache-2.0
// kernels/avx512/attention_prefill_f32.c - one chunk of keys against a tile of queries, lanes are queries, on AVX-512.
#include "kernels/avx512/vec.h"
#define FV_TILE_ROWS 8
#define FV_TILE_VECS 3
#define FV_REGISTER(v) __asm__("" : "+v"(v))
#define FV_BLOCK
#include "kernels/avx512/attention_block.h"
#include "kernels/common/attention_tile.h"
#define FV_GEMM fovea_gemm_f32_9x48_avx512
#define FV_GEMM_MR 8
#define FV_GEMM_NR 48
#include "kernels/common/attention_prefill_f32.inc"
