// SPDX-License-Identifier: Apache-2.0
// kernels/avx512/gemm_steps.h - a tile of the AVX-512 GEMM in assembly: sums in, k loop, sums out.
//
// M rows by V panels: zmm0 to zmm(M * V - 1) are the sums, row by row, zmm27, 28, 29 and 26 the panels of B, zmm31 an
// element of A. Lanes are columns of C and a k step is a rank-1 update, so each element is the one ascending fma chain
// that docs/numerics.md asks for. A broadcast is a plain load for the load ports; a permute would take a slot of an FMA
// port, and so do a part of the additions that move pointers, and copies of sums.
//
// Four steps a turn, with constant offsets where A and B allow it (Granite Rapids, of the peak: natural B in L2, 128
// and 256 cubes 93 % by one step a turn, 98 to 99 by four, 512 cube 85 and 95; packed, 504x576x512, 1.04 times as
// fast, of which elements of A broadcast inside three FMAs each, one instruction less but two loads more, lose 0.02).
// gcc, given intrinsics, copies sums where it lays out several steps, turns a load of B that has few uses into an
// operand of each (75 % of the peak), and adds to make addresses that it could write into the load.
#ifndef FOVEA_KERNELS_AVX512_GEMM_STEPS_H
#define FOVEA_KERNELS_AVX512_GEMM_STEPS_H

#if !defined(__AVX512F__)
#error "compile with -mavx512f -mavx512bw -mavx512dq -mavx512vl -mavx2 -mfma -mf16c"
#endif

#include "kernels/avx512/gemm_rows.h"
#include "kernels/avx512/gemm_tail.h"
#include "kernels/avx512/gemm_terms.h"
#include "kernels/fault.h"

_Static_assert(FOVEA_FAULT_GEMM_MUL_ADD == 1, "GEMM_FMA has the number");

// clang-format off
// The sums of a row: what begins them, and C, of whose last panel the lanes of %[kc] exist.
#define GEMM_CLEAR(s) "vpxord %%zmm" s ", %%zmm" s ", %%zmm" s "\n\t"
#define GEMM_ZERO_1(s0) GEMM_CLEAR(s0)
#define GEMM_ZERO_2(s0, s1) GEMM_CLEAR(s0) GEMM_CLEAR(s1)
#define GEMM_ZERO_3(s0, s1, s2) GEMM_ZERO_2(s0, s1) GEMM_CLEAR(s2)
#define GEMM_ZERO_4(s0, s1, s2, s3) GEMM_ZERO_3(s0, s1, s2) GEMM_CLEAR(s3)
#define GEMM_ZERO(V, last, A, ...) GEMM_ZERO_##V(__VA_ARGS__)
#define GEMM_IN(at, s) "vmovups " at "(%[row]), %%zmm" s "\n\t"
#define GEMM_IN_LAST(at, s) "vmovups " at "(%[row]), %%zmm" s "%{%[kc]%}%{z%}\n\t"
#define GEMM_LOAD_1(s0) GEMM_IN_LAST("", s0)
#define GEMM_LOAD_2(s0, s1) GEMM_IN("", s0) GEMM_IN_LAST("64", s1)
#define GEMM_LOAD_3(s0, s1, s2) GEMM_IN("", s0) GEMM_IN("64", s1) GEMM_IN_LAST("128", s2)
#define GEMM_LOAD_4(s0, s1, s2, s3) GEMM_IN("", s0) GEMM_IN("64", s1) GEMM_IN("128", s2) GEMM_IN_LAST("192", s3)
#define GEMM_LOAD(V, last, A, ...) GEMM_LOAD_##V(__VA_ARGS__) "add %[c_row], %[row]\n\t"
#define GEMM_OUT(at, s) "vmovups %%zmm" s ", " at "(%[row])\n\t"
#define GEMM_OUT_LAST(at, s) "vmovups %%zmm" s ", " at "(%[row])%{%[kc]%}\n\t"
#define GEMM_STORE_1(s0) GEMM_OUT_LAST("", s0)
#define GEMM_STORE_2(s0, s1) GEMM_OUT("", s0) GEMM_OUT_LAST("64", s1)
#define GEMM_STORE_3(s0, s1, s2) GEMM_OUT("", s0) GEMM_OUT("64", s1) GEMM_OUT_LAST("128", s2)
#define GEMM_STORE_4(s0, s1, s2, s3) GEMM_OUT("", s0) GEMM_OUT("64", s1) GEMM_OUT("128", s2) GEMM_OUT_LAST("192", s3)
#define GEMM_STORE(V, last, A, ...) GEMM_STORE_##V(__VA_ARGS__) "add %[c_row], %[row]\n\t"

// The panels of B, `at` bytes on; MASK of the last one: nothing, or its lanes that exist (GEMM_KB).
#define GEMM_B_1(last, at, MASK) "vmovups " at "(%[b]), %%" GEMM_##last "27" MASK "\n\t"
#define GEMM_B_2(last, at, MASK) GEMM_B_1(zmm, at, "") "vmovups " at "(%[b],%[p1]), %%zmm28" MASK "\n\t"
#define GEMM_B_3(last, at, MASK) GEMM_B_2(zmm, at, "") "vmovups " at "(%[b],%[p1],2), %%zmm29" MASK "\n\t"
#define GEMM_B_4(last, at, MASK) GEMM_B_3(zmm, at, "") "vmovups " at "(%[b],%[p3]), %%zmm26" MASK "\n\t"
// The same of natural rows, `p` of them on, whose panels are adjacent.
#define GEMM_ROW_AT_0 "(%[b])"
#define GEMM_ROW_AT_1 "(%[b],%[b_k])"
#define GEMM_ROW_AT_2 "(%[b],%[b_k],2)"
#define GEMM_ROW_AT_3 "(%[b],%[b_k3])"
#define GEMM_ROW_1(last, p, MASK) "vmovups " GEMM_ROW_AT_##p ", %%" GEMM_##last "27" MASK "\n\t"
#define GEMM_ROW_2(last, p, MASK) GEMM_ROW_1(zmm, p, "") "vmovups 64" GEMM_ROW_AT_##p ", %%zmm28" MASK "\n\t"
#define GEMM_ROW_3(last, p, MASK) GEMM_ROW_2(zmm, p, "") "vmovups 128" GEMM_ROW_AT_##p ", %%zmm29" MASK "\n\t"
#define GEMM_ROW_4(last, p, MASK) GEMM_ROW_3(zmm, p, "") "vmovups 192" GEMM_ROW_AT_##p ", %%zmm26" MASK "\n\t"

// A row's FMAs; w: zmm or ymm. That of one panel broadcasts the element itself: as many loads, and fewer instructions,
// so that more steps are in flight where they wait for memory (12x768x3072, natural B: 2 times as fast).
#define GEMM_zmm "zmm"
#define GEMM_ymm "ymm"
#define GEMM_TO_zmm "%{1to16%}"
#define GEMM_TO_ymm "%{1to8%}"
#if FOVEA_FAULT != 1 // FOVEA_FAULT_IS(GEMM_MUL_ADD), which the preprocessor cannot read
#define GEMM_FMA(w, a, b, s) "vfmadd231ps " a ", %%" w b ", %%" w s "\n\t"
#else
#define GEMM_FMA(w, a, b, s) "vmulps " a ", %%" w b ", %%" w "30\n\tvaddps %%" w "30, %%" w s ", %%" w s "\n\t"
#endif
#define GEMM_FMA_OF(w, b, s) GEMM_FMA(GEMM_##w, "%%" GEMM_##w "31", b, s)
#define GEMM_FMA_INSIDE(w, A, b, s) GEMM_FMA(GEMM_##w, A GEMM_TO_##w, b, s)
#define GEMM_FMAS_1(A, w, s0) GEMM_FMA_INSIDE(w, A, "27", s0)
#define GEMM_FMAS_2(A, w, s0, s1) "vbroadcastss " A ", %%zmm31\n\t" GEMM_FMA_OF(zmm, "27", s0) GEMM_FMA_OF(w, "28", s1)
#define GEMM_FMAS_3(A, w, s0, s1, s2) GEMM_FMAS_2(A, zmm, s0, s1) GEMM_FMA_OF(w, "29", s2)
#define GEMM_FMAS_4(A, w, s0, s1, s2, s3) GEMM_FMAS_3(A, zmm, s0, s1, s2) GEMM_FMA_OF(w, "26", s3)
#define GEMM_FMAS(V, last, A, ...) GEMM_FMAS_##V(A, last, __VA_ARGS__)
// Those of a row that a pointer is for, beside two or three panels, broadcast it themselves, too: one instruction less
// for one or two loads more. (An operand with an index is split in two by the front end, so it saves nothing.) Emerald
// Rapids, core alone, and beside a busy hyper-thread, which takes half of the front end: 32 cube 1.02 and 1.07, 24
// (beside a busy one only) 1.02 to 1.05, 48 1.013 and 1.0 to 1.02, 64 and 128, whose last strips are such tiles, 1.01
// and 1.01, packed, 128 rows and more, 1.0 and 1.02, few rows from memory 1.00. Beside four panels 1.0 and 0.96 to 0.98
// of that, with a pointer for two rows each 0.99 and 1.0.
#define GEMM_OWN_1 GEMM_FMAS_1
#define GEMM_OWN_2(A, w, s0, s1) GEMM_FMA_INSIDE(zmm, A, "27", s0) GEMM_FMA_INSIDE(w, A, "28", s1)
#define GEMM_OWN_3(A, w, s0, s1, s2) GEMM_OWN_2(A, zmm, s0, s1) GEMM_FMA_INSIDE(w, A, "29", s2)
#define GEMM_OWN_4 GEMM_FMAS_4
#define GEMM_FMAS_OWN(V, last, A, ...) GEMM_OWN_##V(A, last, __VA_ARGS__)
#define GEMM_ZERO_OWN GEMM_ZERO
#define GEMM_LOAD_OWN GEMM_LOAD
#define GEMM_STORE_OWN GEMM_STORE

// Step p of a turn. NEAR: k steps of A are adjacent, and B is packed panels. These are prefetched into L1 eight steps
// ahead: where B streams from L2, FMAs that are scheduled on a load that then misses L1 are issued again (Cascade Lake,
// 9x48: 90 % of the peak without, 97 with). One panel is not, as its one stream is slower from memory with it
// (gemm_f32_16x16.c). NATURAL: k steps of A are adjacent, and so are the panels of a row of B, whose four steps have
// addresses of their own: 35 instructions a step of 6x64 where APART has 37, 40 of 12x32 where it has 43. That is no
// faster on a core that has nothing else to do, and 1.02 to 1.03 times as fast where another hyper-thread takes half of
// its decoding (Emerald Rapids, cubes of 32 to 128; not measured elsewhere). APART: any strides; of panels, those under
// a transposed A that is read in place, which are not prefetched. LED: any, and what lies at `ahead` as B at b is
// prefetched into L1, two panels beside the loads and two behind the FMAs (8 rows over panels from memory: all of them
// beside the loads, or all but the first behind the FMAs, 0.95).
#define GEMM_NEAR_FETCH_1(p)
#define GEMM_NEAR_FETCH_2(p) "prefetcht0 512+64*" #p "(%[b])\n\tprefetcht0 512+64*" #p "(%[b],%[p1])\n\t"
#define GEMM_NEAR_FETCH_3(p) GEMM_NEAR_FETCH_2(p) "prefetcht0 512+64*" #p "(%[b],%[p1],2)\n\t"
#define GEMM_NEAR_FETCH_4(p) GEMM_NEAR_FETCH_3(p) "prefetcht0 512+64*" #p "(%[b],%[p3])\n\t"
#define GEMM_NEAR(M, V, last, p, AHEAD) \
    GEMM_B_##V(last, "64*" #p, "") GEMM_NEAR_FETCH_##V(p) GEMM_##AHEAD(V) \
    GEMM_ROWS_##M(GEMM_FMAS, V, last, "4*" #p)
// Eight steps ahead of a tail's there is nothing of these panels.
#define GEMM_NEAR_TAIL_B(V, last, p) GEMM_B_##V(last, "64*" #p, "")
#define GEMM_NEAR_NEXT(M, n) "add $64*" #n ", %[b]\n\t" GEMM_MOVES_##M("$4*" #n)
#define GEMM_NEAR_STRIDES(V) GEMM_PANEL_STRIDES_##V(p1, p3, tile->b_panel)
#define GEMM_NATURAL(M, V, last, p, AHEAD) \
    GEMM_ROW_##V(last, p, "") GEMM_##AHEAD(V) GEMM_ROWS_##M(GEMM_FMAS, V, last, "4*" #p)
#define GEMM_NATURAL_TAIL_B(V, last, p) GEMM_ROW_##V(last, p, GEMM_ENDS_AT_##p)
#define GEMM_ENDS_AT_0 ""
#define GEMM_ENDS_AT_1 ""
#define GEMM_ENDS_AT_2 ""
#define GEMM_ENDS_AT_3 GEMM_KB
#define GEMM_NATURAL_ON_1 "add %[b_k], %[b]\n\t"
#define GEMM_NATURAL_ON_4 "lea (%[b],%[b_k],4), %[b]\n\t"
#define GEMM_NATURAL_NEXT(M, n) GEMM_NATURAL_ON_##n GEMM_MOVES_##M("$4*" #n)
#define GEMM_NATURAL_STRIDES(V) , [b_k] "r"(tile->b_k * 4), [b_k3] "r"(tile->b_k * 12)
#define GEMM_NATURAL_MASKED(M, V, last) GEMM_ROW_##V(last, 0, GEMM_KB) GEMM_ROWS_##M(GEMM_FMAS, V, last, "") \
    GEMM_NATURAL_NEXT(M, 1)
#define GEMM_APART(M, V, last, p, AHEAD) \
    GEMM_B_##V(last, "", "") GEMM_##AHEAD(V) GEMM_ROWS_##M(GEMM_FMAS, V, last, "") GEMM_APART_MOVE(M)
#define GEMM_APART_MOVE(M) "add %[b_k], %[b]\n\t" GEMM_MOVES_##M("%[a_k]")
#define GEMM_APART_NEXT(M, n)
#define GEMM_APART_STRIDES(V) GEMM_NEAR_STRIDES(V), [a_k] "r"(tile->a_k * 4), [b_k] "r"(tile->b_k * 4)
#define GEMM_APART_MASKED(M, V, last) GEMM_B_##V(last, "", GEMM_KB) GEMM_ROWS_##M(GEMM_FMAS, V, last, "") \
    GEMM_APART_MOVE(M)
// PACKING: as NATURAL, but each row is prefetched into L1 eight steps ahead, and with PACK stored in panels, too. Such
// a tile takes 1.4 to 2.5 times as long as others, as three lines of a row come and three of copies go (without the
// prefetch 2.3 to 3 times; 16 and 24 steps ahead, or prefetching where copies go, the same), but less than packing
// before it (Zen 4).
#define GEMM_PACKING_FETCH_1 "prefetcht0 (%[b],%[b_k],8)\n\t"
#define GEMM_PACKING_FETCH_2 GEMM_PACKING_FETCH_1 "prefetcht0 64(%[b],%[b_k],8)\n\t"
#define GEMM_PACKING_FETCH_3 GEMM_PACKING_FETCH_2 "prefetcht0 128(%[b],%[b_k],8)\n\t"
#define GEMM_PACKING_FETCH_4 GEMM_PACKING_FETCH_3 "prefetcht0 192(%[b],%[b_k],8)\n\t"
#define GEMM_PACKING(M, V, last, p, AHEAD) \
    GEMM_ROW_##V(last, 0, "") GEMM_PACKING_FETCH_##V GEMM_##AHEAD(V) GEMM_ROWS_##M(GEMM_FMAS, V, last, "4*" #p) \
    "add %[b_k], %[b]\n\t"
#define GEMM_PACKING_NEXT(M, n) GEMM_MOVES_##M("$4*" #n)
#define GEMM_PACKING_STRIDES(V) , [b_k] "r"(tile->b_k * 4)
#define GEMM_LED_B_1 "vmovups (%[b]), %%zmm27\n\tprefetcht0 (%[ahead])\n\t"
#define GEMM_LED_B_2 GEMM_LED_B_1 "vmovups (%[b],%[p1]), %%zmm28\n\tprefetcht0 (%[ahead],%[p1])\n\t"
#define GEMM_LED_B_3 GEMM_LED_B_2 "vmovups (%[b],%[p1],2), %%zmm29\n\t"
#define GEMM_LED_B_4 GEMM_LED_B_3 "vmovups (%[b],%[p3]), %%zmm26\n\t"
#define GEMM_LED_REST_1
#define GEMM_LED_REST_2
#define GEMM_LED_REST_3 "prefetcht0 (%[ahead],%[p1],2)\n\t"
#define GEMM_LED_REST_4 GEMM_LED_REST_3 "prefetcht0 (%[ahead],%[p3])\n\t"
#define GEMM_LED(M, V, last, p, AHEAD) \
    GEMM_LED_B_##V GEMM_ROWS_##M(GEMM_FMAS, V, last, "") GEMM_LED_REST_##V \
    "add %[b_k], %[ahead]\n\t" GEMM_APART_MOVE(M)
#define GEMM_LED_NEXT(M, n)
#define GEMM_LED_STRIDES GEMM_APART_STRIDES

// What each step prefetches for later tiles: nothing, a line, or a line of each panel. PAGES: nothing, but the steps
// are cut into stretches of a page, before each of which a line of a later page is prefetched. LEAD, of LED: that,
// ahead of what its steps prefetch; in a last stretch of `later` steps they prefetch what lies at `next`. A stretch
// ends with GEMM_x_STRETCH, where %[row] is free; members of struct gemm_stretch are addressed by their offsets: with
// an operand each there would be more than 30. With `step` in memory a tile has 13 registers of operands at most, which
// is what gcc's address sanitizer leaves.
#define GEMM_NONE(V)
#define GEMM_NONE_POINTER
#define GEMM_NONE_STRIDES(V)
#define GEMM_NONE_STRETCH(V)
#define GEMM_LINE(V) "prefetcht1 (%[ahead])\n\tadd %[step], %[ahead]\n\t"
#define GEMM_LINE_POINTER , [ahead] "+&r"(ahead)
#define GEMM_LINE_STRIDES(V) , [step] "rm"(tile->ahead_step * 4)
#define GEMM_LINE_STRETCH(V)
#define GEMM_PANELS_1 "prefetcht1 (%[ahead])\n\t"
#define GEMM_PANELS_2 GEMM_PANELS_1 "prefetcht1 (%[ahead],%[q1])\n\t"
#define GEMM_PANELS_3 GEMM_PANELS_2 "prefetcht1 (%[ahead],%[q1],2)\n\t"
#define GEMM_PANELS_4 GEMM_PANELS_3 "prefetcht1 (%[ahead],%[q3])\n\t"
#define GEMM_PANELS(V) GEMM_PANELS_##V "add %[step], %[ahead]\n\t"
#define GEMM_PANELS_POINTER GEMM_LINE_POINTER
#define GEMM_PANELS_STRIDES(V) GEMM_LINE_STRIDES(V) GEMM_PANEL_STRIDES_##V(q1, q3, tile->ahead_panel)
#define GEMM_PANELS_STRETCH(V)
#define GEMM_PACK_1 "vmovups %%zmm27, (%[packed])\n\t"
#define GEMM_PACK_2 GEMM_PACK_1 "vmovups %%zmm28, (%[packed],%[q1])\n\t"
#define GEMM_PACK_3 GEMM_PACK_2 "vmovups %%zmm29, (%[packed],%[q1],2)\n\t"
#define GEMM_PACK_4 GEMM_PACK_3 "vmovups %%zmm26, (%[packed],%[q3])\n\t"
#define GEMM_PACK(V) GEMM_PACK_##V "add $64, %[packed]\n\t"
#define GEMM_PACK_POINTER , [packed] "+&r"(packed)
#define GEMM_PACK_STRIDES(V) \
    GEMM_PANEL_STRIDES_##V(q1, q3, FOVEA_FAULT_IS(GEMM_PACKS_ONE_PANEL) ? 0 : tile->packed_panel)
#define GEMM_PACK_STRETCH(V)
#define GEMM_PAGES(V)
#define GEMM_PAGES_POINTER , [stretch] "+m"(stretch)
#define GEMM_PAGES_STRIDES(V)
#define GEMM_PAGES_STRETCH(V) \
    "mov " GEMM_STRETCH_LEFT ", %[k]\n\ttest %[k], %[k]\n\tjz 8f\n\tmov %[b], %[row]\n\t" GEMM_NEXT_PAGE(V) "8:\n\t"
#define GEMM_LEAD_POINTER GEMM_LINE_POINTER, [stretch] "+m"(stretch)
#define GEMM_LEAD_STRIDES(V)
#define GEMM_LEAD_STRETCH(V) \
    "mov " GEMM_STRETCH_LEFT ", %[k]\n\ttest %[k], %[k]\n\tjnz 7f\n\t" \
    "mov " GEMM_STRETCH_LATER ", %[k]\n\ttest %[k], %[k]\n\tjz 8f\n\tmovq $0, " GEMM_STRETCH_LATER "\n\t" \
    "mov " GEMM_STRETCH_NEXT ", %[ahead]\n7:\tmov %[ahead], %[row]\n\t" GEMM_NEXT_PAGE(V) "8:\n\t"
// The %[k] steps that are left, from the next page on.
#define GEMM_NEXT_PAGE(V) \
    "add " GEMM_STRETCH_TOUCH ", %[row]\n\t" GEMM_TOUCH_##V "mov %[k], " GEMM_STRETCH_LEFT "\n\t" \
    "cmp " GEMM_STRETCH_PAGE ", %[k]\n\tcmova " GEMM_STRETCH_PAGE ", %[k]\n\t" \
    "sub %[k], " GEMM_STRETCH_LEFT "\n\tjmp 0b\n"
#define GEMM_TOUCH_1 "prefetcht0 (%[row])\n\t"
#define GEMM_TOUCH_2 GEMM_TOUCH_1 "prefetcht0 (%[row],%[p1])\n\t"
#define GEMM_TOUCH_3 GEMM_TOUCH_2 "prefetcht0 (%[row],%[p1],2)\n\t"
#define GEMM_TOUCH_4 GEMM_TOUCH_3 "prefetcht0 (%[row],%[p3])\n\t"
// %H: eight bytes further. That has a displacement wherever the compiler has put the struct; clang refuses "16+(%rsp)".
#define GEMM_STRETCH_LEFT "%[stretch]"
#define GEMM_STRETCH_LATER "%H[stretch]"
#define GEMM_STRETCH_NEXT "8+%H[stretch]"
#define GEMM_STRETCH_PAGE "16+%H[stretch]"
#define GEMM_STRETCH_TOUCH "24+%H[stretch]"
#define GEMM_PANEL_STRIDES_1(one, three, panel)
#define GEMM_PANEL_STRIDES_2(one, three, panel) , [one] "r"((panel) * 4)
#define GEMM_PANEL_STRIDES_3(one, three, panel) GEMM_PANEL_STRIDES_2(one, three, panel)
#define GEMM_PANEL_STRIDES_4(one, three, panel) GEMM_PANEL_STRIDES_3(one, three, panel), [three] "r"((panel) * 12)

// The steps after all others of a B whose last rows are not whole panels, of whose last one the lanes of %[kb] exist.
#define GEMM_KB "%{%[kb]%}%{z%}"
#define GEMM_WHOLE(M, V, last, FORM)
#define GEMM_WHOLE_MASK
#define GEMM_ENDS(M, V, last, FORM) \
    "mov %[ends], %[k]\n\ttest %[k], %[k]\n\tjz 6f\n5:\t" GEMM_##FORM##_MASKED(M, V, last) "dec %[k]\n\tjnz 5b\n6:\t"
#define GEMM_ENDS_MASK , [ends] "m"(ends), [kb] "Yk"(run.kb)

// Four steps a turn, as long as there are four. Not in tiles that prefetch lines of all panels, are led, or prefetch
// anything over natural rows: these are for few rows over a B from memory (16 rows of 4096: 0.97).
#define GEMM_TURNS(M, V, last, FORM, AHEAD)                                                           \
    "sub $4, %[k]\n\tjb 2f\n\t.p2align 6\n"                                                           \
    "1:\n\t"                                                                                          \
    GEMM_##FORM(M, V, last, 0, AHEAD) GEMM_##FORM(M, V, last, 1, AHEAD)                               \
    GEMM_##FORM(M, V, last, 2, AHEAD) GEMM_##FORM(M, V, last, 3, AHEAD)                               \
    GEMM_##FORM##_NEXT(M, 4) "sub $4, %[k]\n\tjae 1b\n"                                               \
    "2:\tadd $4, %[k]\n\t"
#define GEMM_NEAR_NONE_TURNS GEMM_TURNS
#define GEMM_NEAR_PAGES_TURNS GEMM_TURNS
#define GEMM_NEAR_LINE_TURNS GEMM_TURNS
#define GEMM_NEAR_PANELS_TURNS(M, V, last, FORM, AHEAD)
#define GEMM_NATURAL_NONE_TURNS GEMM_TURNS
#define GEMM_PACKING_PACK_TURNS GEMM_TURNS
#define GEMM_APART_NONE_TURNS GEMM_TURNS
#define GEMM_APART_LINE_TURNS(M, V, last, FORM, AHEAD)
#define GEMM_APART_PANELS_TURNS(M, V, last, FORM, AHEAD)
#define GEMM_LED_LEAD_TURNS(M, V, last, FORM, AHEAD)

// A tile of M rows and V panels, in the scope of GEMM_TILE: its sums begin at the rows of C from `row` on, or at +0
// where it is NULL. last: zmm, or ymm where at most half of the last panel's columns exist.
#define GEMM_TILE_OF(M, V, last, FORM, AHEAD, END, TAIL)                                              \
    __asm__ volatile(                                                                                 \
        GEMM_ROWS_##M(GEMM_ZERO, V, last, "")                                                         \
        "test %[row], %[row]\n\tjz 0f\n\t" GEMM_ROWS_##M(GEMM_LOAD, V, last, "")                      \
        "0:\n\t" GEMM_##FORM##_##AHEAD##_TURNS(M, V, last, FORM, AHEAD)                               \
        "test %[k], %[k]\n\tjz 10f\n\t.p2align 5\n"                                                   \
        "3:\n\t" GEMM_##FORM(M, V, last, 0, AHEAD) GEMM_##FORM##_NEXT(M, 1) "dec %[k]\n\tjnz 3b\n"    \
        "10:\n\t" GEMM_##TAIL(M, V, last, FORM, AHEAD)                                                \
        "4:\n\t" GEMM_##AHEAD##_STRETCH(V) GEMM_##END(M, V, last, FORM)                               \
        GEMM_ADD_TERMS(#M "x" #V) "mov %[c], %[row]\n\t" GEMM_ROWS_##M(GEMM_STORE, V, last, "")       \
        "11:\n\t"                                                                                    \
        : GEMM_A_##M, [b] "+&a"(b), [k] "+&c"(k), [row] "+&r"(row) GEMM_##AHEAD##_POINTER             \
        : [r1] "r"(tile->a_row * 4), [c] "m"(c), [c_row] "m"(c_row), [kc] "Yk"(run.kc),               \
          [terms] "m"(terms.any), [tail] "m"(tail)                                                    \
          GEMM_##FORM##_STRIDES(V) GEMM_##AHEAD##_STRIDES(V)                                          \
          GEMM_##END##_MASK                                                                           \
        : "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11",\
          "xmm12", "xmm13", "xmm14", "xmm15", "xmm16", "xmm17", "xmm18", "xmm19", "xmm20", "xmm21", "xmm22",\
          "xmm23", "xmm24", "xmm25", "xmm26", "xmm27", "xmm28", "xmm29", "xmm30", "xmm31", "k1", "memory", "cc")
// clang-format on

#endif
