// SPDX-License-Identifier: Apache-2.0
// bench/layer_shapes.c - the layers of models that people run. Up to 16 rows read their weights from memory.
#include "bench/layer_shapes.h"
#include "bench/bench.h"

const struct layer_shape layer_shapes[] = {
    {"smoke", BENCH_SMOKE, LAYER_ENCODER | LAYER_ENCODER_PRE, 2, 20, 20, 48, 3, 3, 80},
    {"smoke", BENCH_SMOKE, LAYER_DECODE | LAYER_DECODE_BF16 | LAYER_DECODE_S8, 2, 1, 40, 48, 3, 3, 80},
    {"smoke", BENCH_SMOKE, LAYER_DECODE_GATED | LAYER_DECODE_GATED_BF16 | LAYER_DECODE_GATED_S8, 1, 2, 40, 64, 4, 2,
     80},
    {"smoke, prompt", BENCH_SMOKE, LAYER_DECODE_GATED, 1, 20, 20, 64, 4, 2, 80},

    {"MiniLM-L6", BENCH_STANDARD, LAYER_ENCODER, 1, 16, 16, 384, 12, 12, 1536},
    {"MiniLM-L6", BENCH_ALL, LAYER_ENCODER, 1, 64, 64, 384, 12, 12, 1536},
    {"MiniLM-L6", BENCH_STANDARD, LAYER_ENCODER, 1, 128, 128, 384, 12, 12, 1536},
    {"MiniLM-L6", BENCH_ALL, LAYER_ENCODER, 1, 512, 512, 384, 12, 12, 1536},
    {"MiniLM-L6, sentences", BENCH_STANDARD, LAYER_ENCODER, 8, 16, 16, 384, 12, 12, 1536},
    {"BERT-base, one row", BENCH_ALL, LAYER_ENCODER, 1, 1, 1, 768, 12, 12, 3072},
    {"BERT-base", BENCH_STANDARD, LAYER_ENCODER, 1, 16, 16, 768, 12, 12, 3072},
    {"BERT-base", BENCH_ALL, LAYER_ENCODER, 1, 64, 64, 768, 12, 12, 3072},
    {"BERT-base", BENCH_STANDARD, LAYER_ENCODER, 1, 128, 128, 768, 12, 12, 3072},
    {"BERT-base", BENCH_STANDARD, LAYER_ENCODER, 1, 512, 512, 768, 12, 12, 3072},
    {"BERT-base, sentences", BENCH_STANDARD, LAYER_ENCODER, 8, 16, 16, 768, 12, 12, 3072},
    {"BERT-base, batch", BENCH_ALL, LAYER_ENCODER, 8, 128, 128, 768, 12, 12, 3072},
    {"BERT-large", BENCH_ALL, LAYER_ENCODER, 1, 16, 16, 1024, 16, 16, 4096},
    {"BERT-large", BENCH_STANDARD, LAYER_ENCODER, 1, 128, 128, 1024, 16, 16, 4096},
    {"BERT-large", BENCH_ALL, LAYER_ENCODER, 1, 384, 384, 1024, 16, 16, 4096},
    {"ViT-B/32", BENCH_STANDARD, LAYER_ENCODER_PRE, 1, 50, 50, 768, 12, 12, 3072},
    {"ViT-B/16", BENCH_STANDARD, LAYER_ENCODER_PRE, 1, 197, 197, 768, 12, 12, 3072},
    {"ViT-L/14", BENCH_ALL, LAYER_ENCODER_PRE, 1, 257, 257, 1024, 16, 16, 4096},
    {"Whisper base encoder", BENCH_ALL, LAYER_ENCODER_PRE, 1, 1500, 1500, 512, 8, 8, 2048},

    {"GPT-2, decode", BENCH_STANDARD, LAYER_DECODE, 1, 1, 1024, 768, 12, 12, 3072},
    {"GPT-2, batch of 8", BENCH_ALL, LAYER_DECODE, 8, 1, 1024, 768, 12, 12, 3072},
    {"GPT-2, prompt", BENCH_STANDARD, LAYER_DECODE, 1, 128, 128, 768, 12, 12, 3072},
    {"Qwen2.5-0.5B, decode", BENCH_STANDARD, LAYER_DECODE_GATED, 1, 1, 1024, 896, 14, 2, 4864},
    {"Llama-3.2-1B, decode", BENCH_STANDARD, LAYER_DECODE_GATED, 1, 1, 1024, 2048, 32, 8, 8192},
    {"Llama-3.2-1B, speculative", BENCH_ALL, LAYER_DECODE_GATED, 1, 8, 1024, 2048, 32, 8, 8192},
    {"GPT-2, decode", BENCH_ALL, LAYER_DECODE_BF16 | LAYER_DECODE_S8, 1, 1, 1024, 768, 12, 12, 3072},
    {"GPT-2, batch of 8", BENCH_ALL, LAYER_DECODE_BF16 | LAYER_DECODE_S8, 8, 1, 1024, 768, 12, 12, 3072},
    {"Qwen2.5-0.5B, decode", BENCH_ALL, LAYER_DECODE_GATED_BF16 | LAYER_DECODE_GATED_S8, 1, 1, 1024, 896, 14, 2, 4864},
    {"Llama-3.2-1B, decode", BENCH_ALL, LAYER_DECODE_GATED_BF16 | LAYER_DECODE_GATED_S8, 1, 1, 1024, 2048, 32, 8, 8192},
    {"Llama-3.2-1B, speculative", BENCH_ALL, LAYER_DECODE_GATED_BF16 | LAYER_DECODE_GATED_S8, 1, 8, 1024, 2048, 32, 8,
     8192},
    {"Llama-3.2-1B, prompt", BENCH_STANDARD, LAYER_DECODE_GATED, 1, 128, 128, 2048, 32, 8, 8192},
};
const size_t layer_shapes_count = sizeof layer_shapes / sizeof *layer_shapes;
