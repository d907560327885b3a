// SPDX-License-Identifier: Apache-2.0
// dispatch/beyond.h - measured numbers that describe a core and its memory beyond L2.
//
// The defaults assume one of five sets of numbers, selected by CPUID (fovea_machine): L3 addresses hashed over slices,
// full-width 512-bit units, both, or neither; and with neither, whether AVX2 is the highest ISA.
//     narrow   an L3 shared by a few cores, nearly as fast as L2 (25 to 30 bytes a cycle); cores whose prefetcher
//              follows few streams, and which compute 32 multiply-adds in two cycles, with AVX-512 or AVX2 (Zen 4; also
//              used if CPUID does not tell, and on Arm, where many_steps and pass_rows were not measured)
//     lean     the same with AVX2 only and a smaller L2: cores that read rows of memory fastest without software
//              prefetches (Zen 3; also used for earlier Zens and for guests that do not see AVX-512)
//     wide     as narrow, but 32 multiply-adds in one cycle (Zen 5)
//     hashed   an L3 on a mesh (Cascade Lake, 5 bytes a cycle); cores whose prefetcher follows 16 streams and more, so
//              that software prefetches of the same lines only occupy fill buffers
//     mesh     an L3 on a mesh (Granite Rapids, 7 bytes a cycle, and Emerald Rapids), a larger L2, and cores that gain
//              from prefetches of few streams but lose with many rows that begin anywhere in a page (also used for
//              Intel's CPUs with AVX-VNNI but without AVX-512, Alder Lake and later: measured on Emerald Rapids without
//              AVX-512, but neither on their L3, a ring, nor on their small cores)
// Where no measurement of Granite Rapids is given it uses Cascade Lake's number; comparisons of whole sets showed no
// disadvantage. Ratios are the speed with the number in the table divided by the speed with another.
#ifndef FOVEA_DISPATCH_BEYOND_H
#define FOVEA_DISPATCH_BEYOND_H

#include "fovea/engine.h"

struct fovea_beyond {
    // A k block for many rows of C has as many steps as L2 holds with step_floats floats per step, at most many_steps.
    // Zen 4, k of 3072 to 8192, against 2048, 1.00 to 1.03; Zen 5, 200 to 2048 rows, k of 1152 to 4096, against 1024,
    // 1.00 to 1.07; Cascade Lake, k of 2048 to 4096, against 2048, 1.05 to 1.11; Granite Rapids, AVX-512, k of 2048 to
    // 4864, against 1024, 1.005 to 1.04.
    uint32_t many_steps, step_floats;
    // Block sizes kc, mc and nc of tiles of one panel for many rows over a far B; 0: computed from the sizes of L1 and
    // L2. Zen 3, against 1024 steps, 72 rows and 32 columns, which all fit in L2: packed 1.01 to 1.1, natural 1.02 to
    // 1.09, transposed 1.0 to 1.1, 2048 cubes 1.08 to 1.18. Streaming rows of A from L3 costs less than rereading B for
    // every few of them. Blocks of 256 and 512 steps 0.75 to 0.97, because C is read and written once more per block;
    // 216 to 480 rows, 1536 to 4096 steps and 64 columns the same within 2 %.
    uint32_t slim_steps, slim_rows, slim_columns;
    // Least rows of A (mc) of blocks of more than 1024 steps, even if L2 cannot hold them; 0: as many as L2 holds.
    // Granite Rapids, 180 of 2048 steps in place of 90, 0.94 to 0.99. (With 768 and 1024 steps, half as many rows as L2
    // holds: 0.997 to 1.005.)
    uint32_t long_rows;
    // Steps of a k block for fewer rows over a packed B with wide tiles. Zen 4, k of 1536 to 8192, 1.00 to 1.03 (4 to 8
    // rows 1.02 to 1.23); Zen 5, 16 to 64 rows, the other way round 1.06 to 1.13.
    uint32_t packed_steps;
    // Eighths of L2 that a strip of all of k may take (strip_steps in dispatch/model.c). Cascade Lake, k of 3072 to
    // 4864, 1.05 to 1.40, k to 2048 equal.
    uint32_t strip_eighths;
    // Steps of a k block for 9 to 192 rows over a far natural B, where bn_rows does not take precedence; 0: no special
    // length. Granite Rapids, k of 768 to 3072, 24 to 64 rows 1.01 to 1.39, 128 and 192 rows 0.99 to 1.13.
    uint32_t natural_steps;
    // few_rows: largest number of rows of C (at most 8) for which AVX-512 reads a far packed B as one stream, with the
    // single-panel 16x16 kernel. Zen 5 1.15; Zen 4, one row, 0.94 to 1.05 (from L2 0.6), more 0.85 to 1.0; Cascade Lake
    // 1.03 to 1.06 (the other way round for 9 to 14 rows: 1.00 to 1.05).
    uint32_t few_rows;
    // Steps of a k block of that kernel over a natural B; 0: it is not used for one. Short blocks read a far B nearly
    // row after row. Zen 4, 10 to 14 rows in blocks of 128, 1.0 to 1.15 (N of 300 1.9); 15 and more 0.95, blocks of
    // 1024 0.86 to 0.89. Granite Rapids, 12 and 14 rows 1.4 to 1.8, k of 896 to 1024 1.1 (bn_rows takes precedence).
    uint32_t thin_kc;
    // Steps of a k block of wide tiles over a far natural B whose rows alias in few sets of L1, if several tiles read
    // it in place; 0: no special length. Zen 5, blocks of 512 rather than 1024, 13 to 20 rows from memory 0.99 to 1.08,
    // 28 to 88 rows 1.03 to 1.12, from L3 1.0 to 1.15; 96 rows and more 0.99 to 1.02, rows that do not alias 0.98 to
    // 1.01. Not measured elsewhere.
    uint32_t alias_kc;
    // Largest number of rows of C for which a far B is read once, by one tile, without prefetching its next strips into
    // L2. follow_rows is for a packed B. follow_natural is for a natural B whose rows do not alias in few sets of L1
    // (or do, but would otherwise be read twice: ops/gemm_plan.c). Packed, nothing prefetched at all, Zen 4, one row,
    // 1.07 to 1.44, two 1.12 to 1.25, three 1.07 to 1.2, four 0.95 to 1.2, six 0.7 to 0.95. Zen 5, with lead, 13 to 16
    // rows, 0.94 to 1.12; natural, where bn_rows does not take precedence, three to six 0.91 to 1.3, seven to nine 0.92
    // to 1.3, ten to twelve 0.96 to 1.58, 16 0.79 to 1.14, rows that alias 0.36 to 1.08.
    uint32_t follow_rows, follow_natural;
    // The same for a B that stays in L2, packed or natural: with the widest tiles, which have enough sums to hide their
    // latency. Granite Rapids, one to six rows, 1.07 to 1.25.
    uint32_t follow_near;
    // Most panels of that B read side by side (the widest micro-kernel that has no more); 0: those of the kernel that
    // few rows use anyway. [0] is for up to eight rows of a packed B: Zen 5 whose host has huge pages, one to six rows,
    // one stream in place of four 1.01 to 1.09 with its lead, seven and eight 0.98 to 1.04; whose page tables are slow
    // to walk, one row 0.7. [1] is for more rows, and for a natural B: Zen 5, one stream of 16x16 in place of 9x48,
    // nine rows, 0.63 to 0.97, of 12x32, ten to twelve 0.77 to 0.95, natural 0.6 to 0.75.
    uint32_t follow_panels[2];
    // How many lines ahead of use that B is prefetched into L1, over all panels together, or 0. The first index is
    // packed, natural; the second up to eight rows, more. Zen 5, against nothing (four panels) one row 1.03 to 1.17,
    // two 1.09 to 1.18, four 1.1 to 1.25, six 1.14 to 1.32; against one stream prefetched into L2, seven to nine rows
    // 1.2 to 1.6, ten to twelve 1.0 to 1.4, 13 and 14 0.93 to 1.06. Packed, against 112 lines, 160 lines of one panel,
    // one to four rows 1.00 to 1.03, five to eight 1.05 to 1.09; 192 of several, ten to twelve 1.12 to 1.2, 14 and 16
    // 1.04 to 1.07; natural, 160, three to six rows 0.93 to 0.99, seven to twelve 1.01 to 1.10. (Where page tables are
    // slow to walk 192 and more 0.8 to 0.95 of 96 to 128.) Granite Rapids, against none, one to twelve rows 1.07 to
    // 1.22, 16 0.77.
    uint32_t lead[2][2];
    // Largest k for which the next rows of a transposed B are prefetched. Zen 4, M = 1, 1.3 to 2.5; Cascade Lake, k of
    // 896 and more, 1.07 to 1.23; of 384 and 640 the other way round 1.12 to 1.22.
    uint32_t fetch_k;
    // Whether these rows are prefetched into L1 (kernels/common/gemm_bt_ahead.h). Zen 5, AVX-512, one row 1.02 to 1.24,
    // k of 3072 and more 1.11 to 1.43 by the hour, two to eight 1.01 to 1.40, 12 and 16 1.00 to 1.12; Zen 4 down to
    // 0.5.
    uint32_t bt_into_l1;
    // Largest product of rows of C and k for which the rows of a transposed B read side by side are far apart, each as
    // one long stream: [0] kernels that read eight rows at a time on cores without AVX-512, [1] the same on cores with
    // AVX-512, [2] kernels that read 16. Zen 3 1.1 to 1.4; Zen 4 (8), one row 0.71 to 0.88, two to five 0.66 to 0.91,
    // six to eight 0.85 to 1.08, (16), M = 1, 0.74 to 0.96; Cascade Lake (16), M = 1, k of 384 to 1024, 1.20 to 1.01,
    // of 1536 and more 0.94 to 1.01, more rows 0.85 to 1.15, (8), nothing prefetched, k = 768 1.15, 4096 0.96. Granite
    // Rapids, AVX-512, together with stream, any product; AVX2, one to eight rows, against the next rows prefetched,
    // 1.0 to 1.37.
    uint32_t spread[3];
    // How many lines ahead of use each of these rows is prefetched into L1, by AVX2 and by AVX-512, or 0. Granite
    // Rapids, AVX-512, against spread with 0, one to 16 rows, 1.07 to 1.39; three and four lines 0.95 to 0.98 of that,
    // and without reading rows far apart, k to 1152 0.8 to 1.03. Emerald Rapids, AVX2, one to eight rows from memory,
    // 1.14 to 1.23; two lines 1.02 to 1.12, four 1.11 to 1.19, 12 and 20 1.11 to 1.25; from L3 1.00 to 1.03.
    uint32_t stream[2];
    // Largest number of rows of C for which AVX-512 reads eight rows of a transposed B at a time in place of 16, if the
    // next ones are prefetched; three times as many if rows of B alias in few sets of L1. Zen 4, one row, k of 1024,
    // 2048, 3072 and 4096 (all in one set) 1.13 to 1.2, other k 1.0 to 1.19, two rows 1.06 to 1.1; four rows, those k,
    // 1.10 to 1.16, other k 0.89 to 1.04; six, those k, 1.0 to 1.07. Not measured elsewhere. AVX2 reads eight rows at a
    // time of a B that is larger than L2 for all rows of C for which it could read more.
    uint32_t half_rows;
    // Largest number of rows of C for which a far natural B is read a few of its rows at a time (ops/gemm_bn.c), by
    // AVX2 and by AVX-512. Zen 4: see there; Zen 5, with lead, one row 1.03 to 1.65 times as fast as without, two 1.1
    // to 1.5; against tiles with lead, three to seven 0.83 to 0.95 (where page tables are slow to walk 0.92 to 1.36);
    // AVX2, three to six, 0.96 to 1.97. Granite Rapids, AVX-512, rows of B that do not alias, one and four rows 1.8,
    // eight 1.7, 12 and 16 1.0 to 1.8, 20 to 32 1.13 to 2.3, 48 1.6 to 1.9, 64 1.1 to 1.44; from L3 nine to 16 rows
    // 1.14 to 1.23, 24 to 64 0.90 to 1.08. Zen 3, from memory or L3, eight rows 1.7 to 2.2, 12 1.3 to 1.6, 16 1.4 to
    // 1.8 (16x1152x384 0.87), 24 and 32 1.06 to 1.2, 48 0.89 to 0.96, 96 0.73. Emerald Rapids, AVX2, from memory, one
    // to six rows 1.85 to 1.9, eight to 16 1.68 to 1.75, 24 and 32 1.44 to 1.57, 40 to 64 1.14 to 1.23, 96 1.07, 128
    // 1.03 to 1.10; from L3 one to four 2.05 to 2.16, eight 1.6, 16 1.2 to 1.35, 32 1.26, 64 1.06, 96 1.01, 128 0.92 to
    // 0.97. AVX-512 there, 80 and 96 rows from memory 1.09 to 1.17, but from L3 0.91 to 0.93. Not measured elsewhere.
    uint32_t bn_rows[2];
    // The same for a B whose rows alias in few sets of L1. Granite Rapids, AVX-512, from memory, six to 32 rows 1.9 to
    // 3.5, 48 and 64 1.44 to 1.9, 96 1.1 to 1.27, 128 1.02 to 1.16; from L3 six to 16 rows 1.23 to 1.94. Zen 3 as
    // without aliasing. Emerald Rapids, AVX2, from memory, four to 16 rows 2.1 to 2.2, 48 and 64 1.32 to 1.35; from L3
    // eight 2.5, 16 2.2, 64 1.27, 128 0.93. Elsewhere not measured beyond four rows.
    uint32_t bn_alias[2];
    // Largest number of rows of C for which nothing of such a B is prefetched, nor, by AVX-512, of a packed B: there
    // are so few instructions per line that the core itself looks 100 lines and more ahead. Zen 5, against lead,
    // natural, one row 1.04 to 1.24 (AVX2 1.04 to 1.06), two 0.95 to 1.01, three 0.75 to 0.95; packed, one row 1.00 to
    // 1.03, two 0.86 to 0.89, three 0.71. Zen 3, against rows prefetched one after another, natural, one row 1.02 to
    // 1.77, two 1.24, three and four 1.10 to 1.16, six 1.01, eight 0.96, 12 and 16 0.98 to 1.0. Not measured elsewhere.
    uint32_t alone;
    // Smallest number of rows of C for which wide tiles pack a natural B, and for alias_rows one whose rows alias in
    // few sets of L1; 0: as many rows as a few tiles have. Zen 4, in place, 40 to 200 rows, ldb of 192 to 3072, 1.00 to
    // 1.17, rows of B that alias 1.02 to 1.30; 256 to 1024 rows 0.89 to 1.04. Zen 5, 40 to 128 rows 1.00 to 1.21 (k =
    // 3072 0.95 to 1.00), 200 rows 0.93; rows of B that alias, 40 to 72 rows, 1.00 to 1.11, 96 rows 0.91 to 0.94.
    // Granite Rapids, rows of B that are not whole lines, 40 to 70 rows in place 1.03 to 1.14.
    uint32_t pack_rows, alias_rows;
    // Multiple of L2 that all operands together may take for wide tiles to run directly (ops/gemm_direct.c) over a
    // natural B. Zen 4, operands of 1.2 to 1.8 MiB, 1.00 to 1.05, A transposed 1.01 to 1.13, other B 0.98 to 1.01,
    // three times L2 0.91 to 1.03; AVX2 0.92 to 1.04. Zen 5, 1.2 to 3.6 MiB, 1.02 to 1.04, A transposed 1.04 to 1.08; 5
    // MiB 1.03, 7 MiB 0.96. direct_packed is the same over a packed B: Zen 5, 1.2 to 2.1 MiB, 1.01 to 1.02 (transposed
    // 0.99 to 1.01), 3 to 15 MiB 1.00 to 1.02, 53 MiB 0.94. Granite Rapids, twice its L2, one step per iteration of the
    // k loop, 512 cube 0.74, A transposed 0.68, packed 0.97 to 1.0; four steps, 512 cube 1.04, A transposed 0.89.
    uint32_t direct_of_l2, direct_packed;
    // Eighths of L2 that B may take, packed and natural, to stay there while wide tiles run along the rows of C,
    // whatever the size of A and C. Granite Rapids, natural 1.03 to 1.07 (1024x256x1024 1.00), packed 1.01 to 1.02; of
    // five to six eighths natural 0.99 to 1.00, packed 0.98; where all three matrices are in L2 0.99 to 1.00. Zen 5,
    // natural 1.00 to 1.015, packed 0.99 to 1.00. Not measured elsewhere.
    uint32_t along_eighths[2];
    // Most last columns of direct products that AVX-512 computes with a kernel of their own. Zen 5, one to four 1.04 to
    // 1.17, five to eight 0.98 to 1.04 (ops/gemm_fit.c); AVX2 there 0.90 to 1.10, not in use. Not measured elsewhere.
    uint32_t edge_columns;
    // Largest number of rows for which AVX-512 uses the widest tile over a small B if that leaves fewer strips
    // (ops/gemm_fit.c). Zen 5, one to five 1.02 to 1.5, six 0.97 to 1.0. Not measured elsewhere.
    uint32_t chain_rows;
    // Whether AVX2 computes small products two panels at a time, with 3x32 in place of 6x16 (ops/gemm_fit.c). Zen 3, 32
    // cubes 1.06 to 1.14, 64 cubes 1.02 to 1.09, 128 1.03, 12 rows 1.06, heads of 128 tokens 1.03 to 1.04, 256 cubes
    // 1.00. Emerald Rapids, 32 cubes 1.03, 64 and 128 0.995. Not measured elsewhere.
    uint32_t pairs;
    // Smallest number of rows of C for which a B whose rows begin within a cache line is packed in small products, by
    // AVX2 and by AVX-512. Cascade Lake, 64 to 170 rows, 1.00 to 1.28, 36 rows the other way round 1.1. Granite Rapids,
    // AVX-512, 75 to 200 rows over rows of 511 1.17 to 1.26 (75 to 130 cubes the other way round 1.01 to 1.04). Emerald
    // Rapids, AVX2, in place, 100 to 200 rows 1.00 to 1.05. split_kib: KiB of B up to which it is not packed, whatever
    // the rows of C: what L1 holds. In place, Emerald Rapids, 66 cube 1.02, 75 to 100 cubes 1.03 to 1.09, 105 and 110
    // cubes 0.97 to 1.04, 130 and 190 rows over 33 columns 1.03 to 1.08; beyond, 58 to 90 KiB 0.91 to 1.07, 100 KiB and
    // more 0.82 to 0.95; Granite Rapids, up to 72 KiB 1.01 to 1.09, 90 to 520 KiB 0.92 to 0.99.
    uint32_t split_rows[2], split_kib;
    // Largest number of rows of C for which a transposed B that stays in L2 is read in place, by AVX2 and by AVX-512.
    // Cascade Lake, 7 to 16 rows, 1.04 to 1.55 (as many as are computed in registers); Zen 5, AVX-512, B up to 64 KiB,
    // packed instead, one to four rows 1.11 to 1.27, eight to 16 1.07 to 1.65, AVX2, one row 0.53, two 0.71, four and
    // eight 1.02 to 1.09.
    uint32_t bt_near[2];
    // Largest number of rows of C for which one thread packs a transposed B strip by strip and keeps nothing of it. Zen
    // 4, 300 to 512 rows, 1.00 to 1.045 (AVX2 the same), 600 to 1024 1.01 to 1.02, 2048 0.98, a natural B 0.99 to 1.03;
    // Cascade Lake, 300 to 512 rows, 1.03 to 1.09 (512 cube 0.985), more rows 0.94 to 1.00, a natural B 0.9 to 1.0; Zen
    // 5, 200 to 1024 rows, 0.99 to 1.05. pass_natural is the same for a natural B: Zen 3, 257 to 512 rows, 1.01 to 1.03
    // (A transposed 1.00), 1024 and more by 0.89 to 0.97.
    uint32_t pass_rows, pass_natural;
    // again: most rows of decoding for which a chunk is prefetched a second time. Zen 4, K in rows, one and four rows,
    // 1.2 to 1.3, 8 1.05, in panels one row 1.1 to 1.2, 8 rows 0.93; Cascade Lake, one and four rows, the other way
    // round 1.10 to 1.20. whole: whether all of the chunk is. 1: only with K in rows, and with three rows and more (Zen
    // 5, K in rows, d = 64, 1.055 to 1.07, d = 128 0.98 to 1.0, three to six rows 1.00 to 1.08, K in panels, one and
    // two rows, 0.95 to 0.99), 2: always (kernels/common/attention_decode_fetch.h). Zen 3, seven to twelve rows, K in
    // rows 1.04 to 1.08, in panels 0.97 to 1.02. Emerald Rapids, beside decode_into, K in rows from memory, one and two
    // rows, d = 64 and 32 1.07, 128 1.02 to 1.03, from L3 0.97 to 1.0, four rows 0.99, in panels, four rows, 0.98;
    // without decode_into 1.02 to 1.03 and, four rows, 0.96 to 0.97, as on Granite Rapids.
    uint32_t again, whole;
    // Where decoding with AVX-512 prefetches to, an enum fovea_into (kernels/common/attention_decode_fetch.h). Zen 5
    // into L1; Granite Rapids in parts, 1.03 to 1.19. Not measured elsewhere.
    uint32_t decode_into;
    // Whether AVX2 reads V of a chunk interleaved with K of the next one for one and two rows, and prefetches nothing
    // (kernels/common/attention_decode_beside.h): 0 never, 1 only over K in rows, 2 always. Zen 3 1.2 to 1.4. Emerald
    // Rapids, prefetches against that, K in panels from memory, one row 1.14 to 1.23, two 1.43, from L3 0.98 to 0.99,
    // two 0.95; K in rows from memory, one row 0.91 to 0.93, two 1.05 to 1.10, from L3 two 0.84. Not measured
    // elsewhere.
    uint32_t beside;
    // Eighths of L2 that Q, K, V and O may take for prefill not to prefetch. Granite Rapids, Q, K, V and O of 1.5 and 2
    // MiB of its 2, 1.01 to 1.04.
    uint32_t near_eighths;
    // Whether prefill with AVX-512 prefetches K, V, queries and output into L1. Zen 4, d = 64, 1024 to 4096 keys 1.00
    // to 1.06, fewer keys 1.00 to 1.03, d = 128 0.99 to 1.0.
    uint32_t into_l1;
    // Smallest number of queries of a head for which AVX-512 uses prefill, where queries are lanes: heads up to 64, and
    // wider ones. Zen 5, 14 and 15 queries, K in rows, 1.06 to 1.18, d = 128 1.02, K in panels 1.00 to 1.02; 12 queries
    // 0.93 to 1.06. Granite Rapids, 12 to 15 queries of 12 heads of 64 and 32 1.06 to 1.28, K in panels 0.94 to 1.04,
    // of 32 heads on 8 12 queries 0.91 to 1.0, more 1.01 to 1.25; d = 128, 13 to 15 queries, 0.86 to 1.06. Not measured
    // elsewhere.
    uint32_t prefill[2];
    // Smallest number of prefill tiles of a task for which K is copied, and V (ops/attention_copy.c). Granite Rapids,
    // AVX-512, three tiles and more, V 1.01 to 1.03, K 0.98 to 1.0; fewer 0.94 to 0.98. Zen 3, in place, K 0.97 to
    // 1.01, V 0.93 to 1.0 (50 tokens 1.02). Not measured on Zen 4 and Cascade Lake since it became a choice. copy_v is
    // for heads up to 64, and for wider ones: Granite Rapids, since then, three to five tiles, d = 32 and 64 in place
    // 1.01 to 1.02, d = 128 0.93.
    uint32_t copy_k, copy_v[2];
    // Most prefill tiles of a task. Granite Rapids, 16 in place of 8, d = 64 and 128, 512 to 4096 keys, 1.01 to 1.03.
    // Zen 3 0.97 to 1.02.
    uint32_t tiles;
    // Largest k for which four strips and more read a transposed A in place. Granite Rapids, copied, 16 to 128 steps,
    // 768 to 3072 columns, 1.02 to 1.17, 300 rows and fewer 1.0; elsewhere ops/gemm_plan.c.
    uint32_t turned_steps;
    // Most rows of A in one set of L1 for which a tile reads them in place; sets have eight ways, or 12 where this is
    // 9. Granite Rapids, rows a multiple of 4 KiB apart, nine of them, 1.00 to 1.04 of copied, if all operands are in
    // L2 1.10 to 1.27 (ops/gemm_direct.c); 2048 cubes 0.995 to 1.005. Zen 5, which has 12 ways, too, was not measured.
    uint32_t set_rows;
    // Columns of a group of strips if all of B stays in L2 and A has many rows, which are read once for each group. Zen
    // 4, packed 1.01 to 1.03 (AVX2 1.01 to 1.06), else 1.00 to 1.03; Zen 5 0.97 to 1.02. Zen 3, whose L2 is half as
    // large, 128 against 256 1.00 to 1.03.
    uint32_t near_columns;
};

/// The set of numbers of a machine.
const struct fovea_beyond *fovea_beyond_l2(const struct fovea_machine *machine);

#endif
