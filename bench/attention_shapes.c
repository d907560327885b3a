// SPDX-License-Identifier: Apache-2.0
// bench/attention_shapes.c - the attention of models that people run. Decoding reads its cache from memory, or from L2.
#include "bench/attention_shapes.h"
#include "bench/bench.h"

enum {
    BOTH = ATTENTION_FULL | ATTENTION_CAUSAL,
    DECODE = ATTENTION_DECODE | ATTENTION_DECODE_ROWS,
    DECODE_L2 = ATTENTION_DECODE_L2 | ATTENTION_DECODE_ROWS_L2,
    DECODE_HALVES = ATTENTION_DECODE_BF16 | ATTENTION_DECODE_F16,
    MASKS = ATTENTION_PADDED | ATTENTION_WINDOW | ATTENTION_MASK,
    TERMS = ATTENTION_SOFTCAP | ATTENTION_ALIBI | ATTENTION_DROPOUT | ATTENTION_STATISTICS,
};

const struct attention_shape attention_shapes[] = {
    {"smoke", BENCH_SMOKE, BOTH | MASKS | TERMS, 1, 2, 1, 60, 140, 16},
    {"smoke", BENCH_SMOKE, DECODE | DECODE_L2 | DECODE_HALVES | ATTENTION_DECODE_MASK, 1, 2, 1, 2, 140, 16},

    {"MiniLM-L6", BENCH_STANDARD, ATTENTION_FULL, 1, 12, 12, 128, 128, 32},
    {"MiniLM-L6", BENCH_STANDARD, ATTENTION_FULL, 1, 12, 12, 512, 512, 32},
    {"BERT-base", BENCH_STANDARD, ATTENTION_FULL, 1, 12, 12, 128, 128, 64},
    {"BERT-base", BENCH_ALL, ATTENTION_FULL, 8, 12, 12, 128, 128, 64},
    {"BERT-base", BENCH_STANDARD, ATTENTION_FULL | ATTENTION_PADDED, 1, 12, 12, 512, 512, 64},
    {"BERT-base, short", BENCH_ALL, ATTENTION_FULL, 1, 12, 12, 4, 4, 64},
    {"BERT-base, short", BENCH_ALL, ATTENTION_FULL, 1, 12, 12, 8, 8, 64},
    {"BERT-base, short", BENCH_ALL, ATTENTION_FULL, 1, 12, 12, 12, 12, 64},
    {"BERT-base, short", BENCH_STANDARD, ATTENTION_FULL, 1, 12, 12, 16, 16, 64},
    {"BERT-base, short", BENCH_ALL, ATTENTION_FULL, 1, 12, 12, 32, 32, 64},
    {"BERT-base, short", BENCH_ALL, ATTENTION_FULL, 1, 12, 12, 64, 64, 64},
    {"few queries", BENCH_ALL, ATTENTION_FULL, 1, 12, 12, 4, 64, 64},
    {"few queries", BENCH_ALL, ATTENTION_FULL, 1, 12, 12, 8, 128, 64},
    {"few queries", BENCH_ALL, ATTENTION_FULL, 1, 12, 12, 13, 128, 64},
    {"d = 128, short", BENCH_ALL, ATTENTION_FULL, 1, 8, 8, 32, 32, 128},
    {"BERT-large", BENCH_ALL, ATTENTION_FULL, 1, 16, 16, 384, 384, 64},
    {"ViT-B/32", BENCH_STANDARD, ATTENTION_FULL, 1, 12, 12, 50, 50, 64},
    {"ViT-B/16", BENCH_STANDARD, ATTENTION_FULL, 1, 12, 12, 197, 197, 64},
    {"ViT-L/14", BENCH_STANDARD, ATTENTION_FULL, 1, 16, 16, 257, 257, 64},
    {"CLIP text", BENCH_STANDARD, ATTENTION_CAUSAL, 1, 8, 8, 77, 77, 64},
    {"Whisper encoder", BENCH_STANDARD, ATTENTION_FULL, 1, 6, 6, 1500, 1500, 64},
    {"Whisper cross", BENCH_STANDARD, DECODE, 1, 6, 6, 1, 1500, 64},
    {"GPT-2", BENCH_ALL, ATTENTION_CAUSAL, 1, 12, 12, 128, 128, 64},
    {"GPT-2", BENCH_STANDARD, ATTENTION_CAUSAL, 1, 12, 12, 1024, 1024, 64},
    {"GPT-2 decode", BENCH_STANDARD, DECODE, 1, 12, 12, 1, 1024, 64},
    {"long", BENCH_STANDARD, BOTH | MASKS | TERMS, 1, 2, 2, 4096, 4096, 64},
    {"Llama-3-8B", BENCH_STANDARD, BOTH, 1, 32, 8, 512, 512, 128},
    {"Llama-3-8B", BENCH_ALL, ATTENTION_CAUSAL, 1, 32, 8, 2048, 2048, 128},
    {"Llama-3-8B chunk", BENCH_ALL, ATTENTION_CAUSAL, 1, 32, 8, 512, 4096, 128},
    {"Llama-3-8B decode", BENCH_STANDARD, DECODE | ATTENTION_DECODE_MASK, 1, 32, 8, 1, 4096, 128},
    {"multi-head decode", BENCH_STANDARD, DECODE, 1, 8, 8, 1, 4096, 128},
    {"multi-head decode", BENCH_STANDARD, DECODE_L2, 1, 2, 2, 1, 256, 64}, // 256 KiB: half of a small L2
    {"grouped decode", BENCH_STANDARD, DECODE_L2, 1, 8, 1, 1, 512, 64},
    {"grouped decode", BENCH_STANDARD, DECODE_L2, 1, 4, 2, 1, 256, 64},
    {"grouped decode, short", BENCH_STANDARD, DECODE, 1, 4, 2, 1, 512, 64}, // an L2 of 1 MiB could hold it
    {"multi-head decode, short", BENCH_ALL, DECODE, 1, 2, 2, 1, 512, 64},
    {"grouped decode, short", BENCH_ALL, DECODE, 1, 8, 2, 1, 512, 64},
    {"grouped decode, short", BENCH_ALL, DECODE, 1, 8, 1, 1, 512, 64},
    {"GPT-2 decode", BENCH_ALL, DECODE_HALVES, 1, 12, 12, 1, 1024, 64},
    {"multi-head decode", BENCH_ALL, DECODE_HALVES, 1, 8, 8, 1, 4096, 128},
    {"Llama-3-8B decode", BENCH_ALL, DECODE_HALVES, 1, 32, 8, 1, 4096, 128},
    {"Qwen2.5-0.5B decode", BENCH_ALL, DECODE_HALVES, 1, 14, 2, 1, 8192, 64},
    {"Llama-3-8B decode", BENCH_ALL, DECODE, 1, 32, 8, 1, 16384, 128},
    {"Llama-3-8B speculative", BENCH_STANDARD, ATTENTION_DECODE, 1, 32, 8, 8, 4096, 128},
    {"Qwen2.5-0.5B", BENCH_ALL, ATTENTION_CAUSAL, 1, 14, 2, 2048, 2048, 64},
    {"Qwen2.5-0.5B decode", BENCH_STANDARD, DECODE, 1, 14, 2, 1, 8192, 64},
    {"SD U-Net", BENCH_ALL, ATTENTION_FULL, 1, 8, 8, 4096, 4096, 40},
    {"SD U-Net cross", BENCH_ALL, ATTENTION_FULL, 2, 8, 8, 4096, 77, 40},
    {"d = 96", BENCH_ALL, ATTENTION_CAUSAL, 1, 32, 32, 1024, 1024, 96},
    {"Gemma", BENCH_ALL, ATTENTION_CAUSAL, 1, 8, 1, 512, 512, 256},
    {"ragged", BENCH_ALL, ATTENTION_FULL, 1, 8, 8, 333, 517, 72},
};
const size_t attention_shapes_count = sizeof attention_shapes / sizeof *attention_shapes;
