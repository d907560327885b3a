// SPDX-License-Identifier: Apache-2.0
// tune/shapes.c - which problems represent a class.
//
// A table of shapes for caches of 256 KiB to 2 MiB; a class is represented by the first ones that fall into it on this
// machine. A crossover is only found if there are problems on both sides of it, so the rows of a class are between the
// values of tuning.def (few: 4 and 6; several: 16 and 18; some: 36, 54, 72, 108, 144; many: 216, 256, 512). Sizes that
// are not multiples of a tile are included besides those of models, among them a long k, a B from memory whose rows do
// not alias (without one, numbers were chosen for rows of powers of two that are 0.90 to 0.96 for others), and two
// whose rows do (with 48 rows of 512 columns alone, alias_rows of 90 was chosen, 1.025, and 77 of 2048 are 0.88). Calls
// are short, about 0.01 to 3 ms, so that many pairs fit into the time.
#include "tune/shapes.h"

const struct tune_size tune_gemm_shapes[] = {
    // few rows: decoding
    {1, 4096, 1024},
    {8, 1536, 2048},
    {3, 1000, 1100},
    {4, 256, 256},
    {1, 192, 320},
    {4, 2048, 512},
    {8, 200, 160},
    {6, 320, 200},
    {3, 128, 128},
    {5, 150, 100},
    {2, 64, 160},
    {1, 64, 64},
    {1, 448, 512},
    // several rows: a handful of sentences, drafts, the shortest prompts
    {12, 1024, 1024},
    {11, 1100, 700},
    {16, 768, 1536},
    {24, 2048, 512},
    {16, 160, 384},
    {32, 768, 768},
    {24, 256, 256},
    {17, 500, 3000},
    {32, 128, 64},
    {13, 100, 300},
    {16, 96, 128},
    {28, 64, 200},
    {24, 48, 80},
    {20, 512, 448},
    // some rows: prompts and the products of attention
    {48, 512, 1024},
    {72, 2048, 640},
    {96, 2304, 768},
    {128, 1024, 512},
    {64, 64, 64},
    {65, 400, 3000},
    {128, 384, 320},
    {170, 384, 768},
    {98, 110, 104},
    {48, 300, 200},
    {160, 128, 64},
    {120, 1100, 512},
    {96, 448, 512},
    // many rows: long prompts, batches, images
    {200, 1536, 768},
    {520, 640, 1024},
    {300, 384, 1024},
    {256, 256, 256},
    {1400, 400, 400},
    {210, 300, 3000},
    {640, 192, 192},
    {520, 384, 600},
    {210, 350, 350},
    {197, 64, 197},
    {1024, 128, 256},
    {257, 448, 512},
    {220, 1024, 768},
    {544, 480, 512},
    {360, 900, 1024},
    {256, 2048, 512},
};
const size_t tune_gemm_shape_count = sizeof tune_gemm_shapes / sizeof *tune_gemm_shapes;

// For each head width: prompts, some with more heads than stay in L2 (without one a task of one tile was chosen, 1.03x
// of two heads and 0.91x of eight; with one of six tiles V in place, 1.03x, which is 0.91x to 0.97x with more); one
// whose rows are 4 KiB apart (without it tasks of two tiles, 1.05x, which are 0.89x there); chunks with as many queries
// as each value of `prefill` (the fewest queries that a value moves to prefill gain least: with values that had no
// chunk of their own 8 was chosen where 8 queries are then 0.5 to 0.9 as fast, and 12 where one layout gains 1.03 to
// 1.08 and others lose as much); some token by token and some head by head (rows of K that are far apart are slow for
// decoding, and prefill may copy them; sixteen fill a vector); and decoding steps whose K and V have sizes between the
// values of `near`: 384 KiB, 1, 4 and 12 MiB, several of them from memory (with one of a single query, what suited its
// places there was chosen, 1.03x, and a step of other heads was at 0.97x).
// clang-format off
const struct tune_attention_shape tune_attention_shapes[FOVEA_ATTENTION_CLASSES][TUNE_CASES_MAX] = {
    [FOVEA_HEADS_64] = {
        {4, 256, 256, 64, false, false, .near = 0},
        {12, 400, 400, 64, true, true, .near = 0},
        {12, 256, 256, 64, false, true, .near = 0},
        {16, 288, 288, 64, false, true, .near = 0},
        {4, 28, 768, 64, false, true, .near = 0},
        {4, 16, 768, 64, false, true, .near = 0},
        {4, 14, 768, 64, false, true, .near = 0},
        {4, 12, 768, 64, false, false, .near = 0},
        {8, 12, 512, 64, false, true, .near = 0},
        {4, 8, 768, 64, false, false, .near = 0},
        {4, 1, 192, 64, false, false, .near = 0},
        {4, 1, 512, 64, false, false, .near = 0},
        {4, 4, 2048, 64, false, false, .near = 0},
        {8, 1, 3072, 64, false, false, .near = 0},
        {6, 1, 1500, 64, false, false, .near = 0},
        {16, 1, 640, 64, false, false, .near = 0},
    },
    [FOVEA_HEADS_128] = {
        {2, 192, 256, 128, false, false, .near = 0},
        {12, 200, 200, 128, true, true, .near = 0},
        {8, 256, 256, 128, false, true, .near = 0},
        {2, 28, 512, 128, false, true, .near = 0},
        {2, 16, 768, 128, false, true, .near = 0},
        {2, 14, 512, 128, false, true, .near = 0},
        {2, 12, 768, 128, false, false, .near = 0},
        {4, 12, 384, 128, false, true, .near = 0},
        {2, 8, 768, 128, false, false, .near = 0},
        {2, 1, 192, 128, false, false, .near = 0},
        {2, 1, 512, 128, false, false, .near = 0},
        {2, 4, 2048, 128, false, false, .near = 0},
        {4, 1, 3072, 128, false, false, .near = 0},
        {6, 1, 1100, 128, false, false, .near = 0},
    },
    [FOVEA_HEADS_WIDE] = {
        {1, 192, 192, 256, false, false, .near = 0},
        {4, 256, 256, 256, false, true, .near = 0},
        {1, 28, 512, 256, false, false, .near = 0},
        {2, 16, 512, 256, false, true, .near = 0},
        {1, 14, 512, 256, false, false, .near = 0},
        {1, 12, 512, 256, false, false, .near = 0},
        {1, 8, 512, 256, false, false, .near = 0},
        {1, 1, 192, 256, false, false, .near = 0},
        {1, 1, 512, 256, false, false, .near = 0},
        {2, 1, 1024, 256, false, false, .near = 0},
        {2, 1, 3072, 256, false, false, .near = 0},
    },
};
// clang-format on

// For the slot of decoding: one to eight queries, heads of 64 and 128, K in rows and in panels, in L2 and from memory.
// With the one problem of tests/check, four queries over 2 MiB in rows, the variant for halves was chosen on Zen 5
// (1.12x), with which four queries over panels from memory are at 0.81x and 32 heads on 8 at 0.76x.
static const struct tune_attention_shape decode_shapes[] = {
    {4, 1, 512, 64, .panels = false},   {4, 1, 512, 64, .panels = true},   {8, 1, 3072, 64, .panels = false},
    {6, 1, 2560, 64, .panels = true},   {4, 2, 512, 64, .panels = true},   {4, 4, 2048, 64, .panels = false},
    {4, 4, 2048, 64, .panels = true},   {4, 4, 256, 64, .panels = false},  {4, 8, 1536, 64, .panels = true},
    {4, 8, 768, 64, .panels = false},   {4, 1, 3072, 128, .panels = true}, {2, 4, 2048, 128, .panels = true},
    {2, 4, 2048, 128, .panels = false}, {2, 8, 768, 128, .panels = true},
};
enum { DECODE_SHAPES = sizeof decode_shapes / sizeof *decode_shapes };

// For the slot of few rows over a packed B of 8-bit integers, from memory and in L2: on Zen 5 the variant for halves is
// 1.03 to 1.18 times as fast for one to four rows, and 0.9 to 1.0 times for twelve to 16.
static const struct tune_shape s8_shapes[] = {
    {1, 1024, 1024, FOVEA_FORM_PACKED, .type = FOVEA_S8}, {2, 768, 1024, FOVEA_FORM_PACKED, .type = FOVEA_S8},
    {4, 1536, 768, FOVEA_FORM_PACKED, .type = FOVEA_S8},  {8, 1024, 1024, FOVEA_FORM_PACKED, .type = FOVEA_S8},
    {12, 768, 1024, FOVEA_FORM_PACKED, .type = FOVEA_S8}, {16, 1536, 768, FOVEA_FORM_PACKED, .type = FOVEA_S8},
    {1, 96, 128, FOVEA_FORM_PACKED, .type = FOVEA_S8},    {4, 96, 128, FOVEA_FORM_PACKED, .type = FOVEA_S8},
    {12, 96, 128, FOVEA_FORM_PACKED, .type = FOVEA_S8},
};
enum { S8_SHAPES = sizeof s8_shapes / sizeof *s8_shapes };
_Static_assert((int)DECODE_SHAPES <= (int)TUNE_CASES_MAX && (int)S8_SHAPES <= (int)TUNE_CASES_MAX,
               "raise TUNE_CASES_MAX");

const struct tune_slot_shapes *tune_slot_shapes_of(enum fovea_slot slot)
{
    static const struct tune_slot_shapes slots[] = {
        {FOVEA_SLOT_attention_decode, FOVEA_F32, decode_shapes, NULL, DECODE_SHAPES},
        {FOVEA_SLOT_attention_decode_bf16, FOVEA_BF16, decode_shapes, NULL, DECODE_SHAPES},
        {FOVEA_SLOT_attention_decode_f16, FOVEA_F16, decode_shapes, NULL, DECODE_SHAPES},
        {FOVEA_SLOT_gemm_s8, FOVEA_S8, NULL, s8_shapes, S8_SHAPES},
    };
    for (size_t i = 0; i < sizeof slots / sizeof *slots; i++)
        if (slots[i].slot == slot)
            return &slots[i];
    return NULL;
}

// Sizes of B between the values of `near`, 192 and 384 KiB, 0.75 and 1.5 MiB, or, for few rows, a part of them. A B
// that stays in L2, as measured, is there in each call; one that does not comes from memory if the rows are few, as
// weights do (fovea_near_of).
const struct tune_shape tune_border_shapes[] = {
    {4, 64, 48, FOVEA_FORM_NT, .near = 0},        {24, 128, 96, FOVEA_FORM_NN, .near = 0},
    {96, 256, 192, FOVEA_FORM_PACKED, .near = 0}, {4, 96, 64, FOVEA_FORM_NT, .near = 0},
    {24, 192, 128, FOVEA_FORM_NN, .near = 0},     {96, 384, 256, FOVEA_FORM_PACKED, .near = 0},
    {4, 128, 96, FOVEA_FORM_NT, .near = 0},       {24, 256, 192, FOVEA_FORM_NN, .near = 0},
    {96, 512, 384, FOVEA_FORM_PACKED, .near = 0}, {4, 192, 128, FOVEA_FORM_NT, .near = 0},
    {24, 384, 256, FOVEA_FORM_NN, .near = 0},     {96, 768, 512, FOVEA_FORM_PACKED, .near = 0},
};
const size_t tune_border_shape_count = sizeof tune_border_shapes / sizeof *tune_border_shapes;
_Static_assert(sizeof tune_border_shapes / sizeof *tune_border_shapes <= TUNE_CASES_MAX, "raise TUNE_CASES_MAX");

bool tune_is_tuned_on(size_t m, size_t n, size_t k)
{
    for (size_t i = 0; i < tune_gemm_shape_count; i++)
        if (tune_gemm_shapes[i].m == m && tune_gemm_shapes[i].n == n && tune_gemm_shapes[i].k == k)
            return true;
    for (size_t i = 0; i < tune_border_shape_count; i++)
        if (tune_border_shapes[i].m == m && tune_border_shapes[i].n == n && tune_border_shapes[i].k == k)
            return true;
    return false;
}
