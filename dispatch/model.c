// SPDX-License-Identifier: Apache-2.0
// dispatch/model.c - the numbers of a class that was not tuned, from the sizes of the caches and what lies beyond them.
#include "dispatch/tuning.h"

#include <stdbool.h>
#include <string.h>

enum { SEVERAL = 1, SOME = 2, MANY = 3 }; // rows of a class: fovea_gemm_class

// What the defaults suppose of a core and of what is beyond its L2, four sets of numbers, and CPUID says which
// (fovea_machine): L3's addresses hashed over slices, 512 bits computed at once, both, or neither.
//     narrow   an L3 of a few cores, which delivers nearly what L2 does (25 to 30 bytes a cycle); cores that follow few
//              streams of memory, and compute 32 elements of multiply-adds in two cycles, by AVX-512 or AVX2 (Zen 4;
//              Zen 3, and what tells nothing, Arm among it, where many_steps and pass_rows were not measured)
//     wide     the same, in one cycle (Zen 5)
//     hashed   an L3 on a mesh (Cascade Lake, 5 bytes a cycle); cores that follow 16 streams and more, so that
//              prefetches of what they fetch anyway take their buffers
//     mesh     an L3 on a mesh (Granite Rapids, 7 bytes a cycle), a larger L2, and cores that profit from prefetches of
//              few streams but lose where rows that begin anywhere in a page are many
// Ratios are speeds with what stands in the table against another's.
enum { NARROW, WIDE, HASHED, MESH = HASHED | WIDE, SETS };
struct beyond {
    // Steps of a k block for many rows of C, at most, and floats of L2 for each of them: Zen 4, k of 3072 to 8192,
    // against 2048, 1.00 to 1.03; Zen 5, 200 to 2048 rows, k of 1152 to 4096, against 1024, 1.00 to 1.07; Cascade
    // Lake, k of 2048 to 4096, against 2048, 1.05 to 1.11.
    uint32_t many_steps, step_floats;
    // Steps of one for fewer rows over a packed B, by wide tiles: Zen 4, k of 1536 to 8192, 1.00 to 1.03 (4 to 8 rows
    // 1.02 to 1.23); Zen 5, 16 to 64 rows, the other way round 1.06 to 1.13.
    uint32_t packed_steps;
    // Of L2, for a strip of all of k (strip_steps): Cascade Lake, k of 3072 to 4864, 1.05 to 1.40, k to 2048 alike.
    uint32_t strip_eighths;
    // Up to which AVX-512 takes a packed B as one stream, of at most eight rows: Zen 5 1.15; Zen 4, one row,
    // 0.94 to 1.05 (from L2 0.6), more 0.85 to 1.0; Cascade Lake 1.03 to 1.06 (the other way round for 9 to 14
    // rows: 1.00 to 1.05).
    uint32_t few_rows;
    // Steps of its k blocks over a natural B, 0 where it does not run over one. Short blocks of a far B are nearly its
    // rows one after another: Zen 4, 10 to 14 rows in blocks of 128, 1.0 to 1.15 (N of 300 1.9); 15 and more 0.95,
    // blocks of 1024 0.86 to 0.89.
    uint32_t thin_kc;
    // Up to which a far B passes once in one tile, its next strips not prefetched into L2: a packed one, and a natural
    // one whose rows do not meet in few sets of L1. Packed, nothing prefetched at all, Zen 4, one row, 1.07 to 1.44,
    // two 1.12 to 1.25, three 1.07 to 1.2, four 0.95 to 1.2, six 0.7 to 0.95. Zen 5, with lead, 13 to 16 rows, 0.94
    // to 1.12; natural, where bn_rows does not hide it, three to six 0.91 to 1.3, seven to nine 0.92 to 1.3, ten to
    // twelve 0.96 to 1.58, 16 0.79 to 1.14, rows that meet 0.36 to 1.08.
    uint32_t follow_rows, follow_natural;
    // Panels of it side by side then, as many as a micro-kernel has, but at most so many; or 0, those of the one that
    // few rows have anyway. Zen 5, one stream of 16x16 in place of 9x48, seven to nine rows, 0.63 to 0.99, of 12x32,
    // ten to twelve 0.77 to 0.95 (B of 32 MiB and more 1.0 to 1.19).
    uint32_t follow_panels;
    // Lines of it that are prefetched into L1 before their use, of all panels together, or 0. Zen 5, against nothing
    // (four panels) one row 1.03 to 1.17, two 1.09 to 1.18, four 1.1 to 1.25, six 1.14 to 1.32; against one stream
    // prefetched into L2, seven to nine rows 1.2 to 1.6, ten to twelve 1.0 to 1.4, 13 and 14 0.93 to 1.06. 64 lines are
    // 0.95 to 1.0 of 96 to 128, 192 and more 0.8 to 0.95, of four panels down to 0.75.
    uint32_t lead;
    // Up to which the next rows of a transposed B are prefetched: Zen 4, M = 1, 1.3 to 2.5; Cascade Lake, k of 896 and
    // more, 1.07 to 1.23; of 384 and 640 the other way round 1.12 to 1.22.
    uint32_t fetch_k;
    // Whether these are prefetched into L1 (kernels/common/gemm_bt_ahead.h): Zen 5, AVX-512, one row 1.02 to 1.24, k of
    // 3072 and more 1.11 to 1.43 by the hour, two to eight 1.01 to 1.40, 12 and 16 1.00 to 1.12; Zen 4 down to 0.5.
    uint32_t bt_into_l1;
    // Rows of C times k up to which rows of a transposed B are taken far apart, so that each is one long stream, by
    // kernels that take eight at a time, of cores without AVX-512 and with it, and by those that take 16: Zen 3 1.1 to
    // 1.4; Zen 4 (8), one row 0.71 to 0.88, two to five 0.66 to 0.91, six to eight 0.85 to 1.08, (16), M = 1, 0.74 to
    // 0.96; Cascade Lake (16), M = 1, k of 384 to 1024, 1.20 to 1.01, of 1536 and more 0.94 to 1.01, more rows 0.85 to
    // 1.15, (8), nothing prefetched, k = 768 1.15, 4096 0.96.
    // Granite Rapids, with what stream says, all of them.
    uint32_t spread[3];
    // Lines ahead that each of these is prefetched into L1, or 0. Granite Rapids, AVX-512, against the former with 0, one
    // to 16 rows, 1.07 to 1.23; three and four lines 0.95 to 0.98 of that, and without taking rows far apart, k to 1152
    // 0.8 to 0.95.
    uint32_t stream;
    // Rows of C up to which AVX-512 takes eight rows of a transposed B at a time in place of 16, where the next ones
    // are prefetched, and thrice as many where rows of B meet in few sets of L1: Zen 4, one row, k of 1024, 2048, 3072
    // and 4096 (all in one set) 1.13 to 1.2, other k 1.0 to 1.19, two rows 1.06 to 1.1; four rows, those k, 1.10 to
    // 1.16, other k 0.89 to 1.04; six, those k, 1.0 to 1.07. Elsewhere nobody measured it. AVX2 takes eight of a B that
    // is larger than L2 for all rows that it could take more for.
    uint32_t half_rows;
    // Up to which a far natural B is read a few of its rows at a time: Zen 4 (ops/gemm_bn.c); Zen 5, with lead, one row
    // 1.03 to 1.65 times as fast as without, two 1.1 to 1.5; against tiles, three to seven 0.92 to 1.36, eight 0.83 to
    // 1.3, AVX2, three to six, 0.96 to 1.97. Elsewhere nobody measured it.
    uint32_t bn_rows;
    // From which on wide tiles pack a natural B, and one whose rows meet in few sets of L1, or 0, as many as a few
    // tiles have: Zen 4, 40 to 200 rows, ldb of 192 to 3072, 1.00 to 1.17 in place, rows that meet 1.02 to 1.30; 256 to
    // 1024 rows 0.89 to 1.04. Zen 5, 40 to 128 rows 1.00 to 1.21 (k = 3072 0.95 to 1.00), 200 rows 0.93; rows that
    // meet, 40 to 72 rows, 1.00 to 1.11, 96 rows 0.91 to 0.94.
    uint32_t pack_rows, alias_rows;
    // Of L2, what wide tiles run directly over a natural B: Zen 4, operands of 1.2 to 1.8 MiB, 1.00 to 1.05, A
    // transposed 1.01 to 1.13, other B 0.98 to 1.01, three times L2 0.91 to 1.03; AVX2 0.92 to 1.04. Zen 5, 1.2 to 3.6
    // MiB, 1.02 to 1.04, A transposed 1.04 to 1.08; 5 MiB 1.03, 7 MiB 0.96. The same over a packed B: Zen 5, 1.2 to 2.1
    // MiB, 1.01 to 1.02 (transposed 0.99 to 1.01).
    uint32_t direct_of_l2, direct_packed;
    // Last columns of them that AVX-512 computes apart: Zen 5, one to four 1.04 to 1.17, five to eight 0.98 to 1.04
    // (ops/gemm_direct.c); AVX2 there 0.90 to 1.10, not in use. Elsewhere nobody measured it.
    uint32_t edge_columns;
    // From which on rows of B that begin within a line are packed in small products: Cascade Lake, 64 to 170 rows, 1.00
    // to 1.28, 36 rows the other way round 1.1.
    uint32_t split_rows;
    // Rows up to which a transposed B that stays in L2 is read where it lies, by AVX2 and by AVX-512: Cascade Lake, 7
    // to 16 rows, 1.04 to 1.55 (as many as are computed in registers); Zen 5, AVX-512, B up to 64 KiB, packed in place
    // of that, one to four rows 1.11 to 1.27, eight to 16 1.07 to 1.65, AVX2, one row 0.53, two 0.71, four and
    // eight 1.02 to 1.09.
    uint32_t bt_near[2];
    // Rows up to which one thread packs a transposed B strip by strip and keeps nothing of it: Zen 4, 300 to 512 rows,
    // 1.00 to 1.045 (AVX2 the same), 600 to 1024 1.01 to 1.02, 2048 0.98, a natural B 0.99 to 1.03; Cascade Lake, 300
    // to 512 rows, 1.03 to 1.09 (512 cube 0.985), more rows 0.94 to 1.00, a natural B 0.9 to 1.0; Zen 5, 200 to 1024
    // rows, 0.99 to 1.05.
    uint32_t pass_rows;
    // Rows of decoding for which a chunk is asked for once more: Zen 4, K in rows, one and four rows, 1.2 to 1.3, 8
    // 1.05, in panels one row 1.1 to 1.2, 8 rows 0.93; Cascade Lake, one and four rows, the other way round 1.10
    // to 1.20. And whether for all of it: Zen 5 0.95 to 0.96 (kernels/common/attention_decode_fetch.h).
    uint32_t again, whole;
    // Whether prefill of AVX-512 prefetches K, V, queries and output into L1: Zen 4, d = 64, 1024 to 4096 keys 1.00
    // to 1.06, fewer keys 1.00 to 1.03, d = 128 0.99 to 1.0.
    uint32_t into_l1;
    // Tiles of prefill from which on K is copied, and V (ops/attention_copy.c). Granite Rapids, AVX-512, three tiles and
    // more, V 1.01 to 1.03, K 0.98 to 1.0; fewer 0.94 to 0.98. On Zen 4, Zen 3 and Cascade Lake nobody measured it since
    // it is a choice.
    uint32_t copy_k, copy_v;
    // Tiles of a task, at most: Granite Rapids, 16 in place of 8, d = 64 and 128, 512 to 4096 keys, 1.01 to 1.03.
    uint32_t tiles;
    // Steps up to which four strips and more read a transposed A in place: Granite Rapids, copied, 16 to 128 steps, 768
    // to 3072 columns, 1.04 to 1.17, 300 rows and fewer 1.0; elsewhere ops/gemm_plan.c.
    uint32_t turned_steps;
    // Columns of a group of strips where all of B stays in L2 beside many rows of A, which is read once for each group:
    // Zen 4, packed 1.01 to 1.03 (AVX2 1.01 to 1.06), else 1.00 to 1.03; Zen 5 0.97 to 1.02.
    uint32_t near_columns;
};
static const struct beyond beyonds[SETS] = {
    [NARROW] = {.many_steps = 4096,
                .step_floats = 64,
                .packed_steps = 8192,
                .strip_eighths = 8,
                .few_rows = 0,
                .thin_kc = 128,
                .follow_rows = 4,
                .follow_natural = 0,
                .follow_panels = 0,
                .lead = 0,
                .fetch_k = 1 << 20,
                .bt_into_l1 = 0,
                .spread = {1 << 20, 0, 0},
                .stream = 0,
                .half_rows = 2,
                .bn_rows = 6,
                .pack_rows = 216,
                .alias_rows = 216,
                .direct_of_l2 = 2,
                .direct_packed = 1,
                .edge_columns = 0,
                .split_rows = 1 << 20,
                .bt_near = {UINT32_MAX, UINT32_MAX},
                .pass_rows = 1024,
                .again = 6,
                .whole = 1,
                .into_l1 = 1,
                .copy_k = 2,
                .copy_v = 1,
                .tiles = 8,
                .turned_steps = 128,
                .near_columns = 256},
    [WIDE] = {.many_steps = 2048,
              .step_floats = 128,
              .packed_steps = 1024,
              .strip_eighths = 8,
              .few_rows = 8,
              .thin_kc = 0,
              .follow_rows = 16,
              .follow_natural = 12,
              .follow_panels = 4,
              .lead = 112,
              .fetch_k = 1 << 20,
              .bt_into_l1 = 1,
              .spread = {1 << 20, 1 << 20, 0},
              .stream = 0,
              .half_rows = 0,
              .bn_rows = 7,
              .pack_rows = 144,
              .alias_rows = 90,
              .direct_of_l2 = 4,
              .direct_packed = 2,
              .edge_columns = 8,
              .split_rows = 1 << 20,
              .bt_near = {UINT32_MAX, 0},
              .pass_rows = 1024,
              .again = 6,
              .whole = 0,
              .into_l1 = 0,
              .copy_k = 17,
              .copy_v = 17,
              .tiles = 8,
              .turned_steps = 128,
              .near_columns = 0},
    [HASHED] = {.many_steps = 1024,
                .step_floats = 128,
                .packed_steps = 1024,
                .strip_eighths = 3,
                .few_rows = 0,
                .thin_kc = 0,
                .follow_rows = 0,
                .follow_natural = 0,
                .follow_panels = 0,
                .lead = 0,
                .fetch_k = 640,
                .bt_into_l1 = 0,
                .spread = {1024, 1024, 1024},
                .stream = 0,
                .half_rows = 0,
                .bn_rows = 0,
                .pack_rows = 0,
                .alias_rows = 0,
                .direct_of_l2 = 1,
                .direct_packed = 1,
                .edge_columns = 0,
                .split_rows = 64,
                .bt_near = {6, 6},
                .pass_rows = 512,
                .again = 0,
                .whole = 0,
                .into_l1 = 0,
                .copy_k = 2,
                .copy_v = 1,
                .tiles = 8,
                .turned_steps = 128,
                .near_columns = 0},
    [MESH] = {.many_steps = 1024,
              .step_floats = 128,
              .packed_steps = 1024,
              .strip_eighths = 3,
              .few_rows = 8,
              .thin_kc = 128,
              .follow_rows = 14,
              .follow_natural = 0,
              .follow_panels = 4,
              .lead = 112,
              .fetch_k = 0,
              .bt_into_l1 = 0,
              .spread = {1 << 20, 1 << 20, 1 << 20},
              .stream = 7,
              .half_rows = 0,
              .bn_rows = 8,
              .pack_rows = 0,
              .alias_rows = 0,
              .direct_of_l2 = 1,
              .direct_packed = 1,
              .edge_columns = 0,
              .split_rows = 64,
              .bt_near = {6, 6},
              .pass_rows = 0,
              .again = 0,
              .whole = 0,
              .into_l1 = 0,
              .copy_k = 17,
              .copy_v = 3,
              .tiles = 16,
              .turned_steps = 0,
              .near_columns = 0},
};

static const struct beyond *beyond_l2(const struct fovea_machine *machine)
{
    return &beyonds[(machine->l3_hashed ? HASHED : 0) | (machine->wide512 ? WIDE : 0)];
}

static uint32_t clamp(uint32_t value, uint32_t low, uint32_t high)
{
    return value < low ? low : value > high ? high : value;
}

// Long k blocks, for which B streams from L2 and a tile of A stays in L1; two groups of strips in L2, one computed, one
// prefetched. A group is one wide strip (AVX-512) or two narrow ones, and A's chunk of mc rows takes 3/8 or 5/8 of L2,
// however few rows that makes of long blocks (AVX2, L2 of 512 KiB: 72 of 1024 steps in place of 144 of 512 are 1 to 9 %
// faster where k is 768 to 3072). Many rows may want longer blocks, and 144 rows of them, which is more than L2
// holds (packed_steps: fewer rows over a B from memory not everywhere). Natural rows of B are read in place at least by
// fewer than three tiles, wide ones four (Zen 5, 28 to 35 rows: 1.12 to 1.27 times as fast; 19 to 22 rows by narrow
// ones 1.06 to 1.18, but 0.61 where rows meet in few sets of L1). Packing a strip takes as long as 4 (natural) to 8
// rows of C, so above 256 rows it is done once. L2 is what a product may take that relies on all of it being there.
// Rows of a transposed B are read in place for as many rows of C as registers hold beside the transpose: a second pass
// over B is slower than packing it.
static struct fovea_gemm_tuning gemm_default(const struct fovea_machine *machine,
                                             const struct fovea_variant_facts *facts, uint32_t class)
{
    const struct beyond *const beyond = beyond_l2(machine);
    const uint32_t mr = facts->mr, nr = facts->nr;
    const uint32_t floats2 = machine->l2_bytes / (uint32_t)sizeof(float), eighths = nr > 16 ? 3 : 5;
    const uint32_t tiles = fovea_in_place_tiles(nr) * mr;
    const bool far = class / 3 % 2 == 1;
    struct fovea_gemm_tuning t = {
        .nc = nr > 16 ? nr : 2 * nr,
        .ahead = 1,
        .pack_rows = nr > 16 && beyond->pack_rows != 0 ? beyond->pack_rows : tiles,
        .alias_rows = nr > 16 && beyond->alias_rows != 0 ? beyond->alias_rows : tiles,
        .split_rows = beyond->split_rows,
        .keep_rows = 256,
        .turned_steps = beyond->turned_steps,
        .direct = machine->l2_bytes / 1024,
        .edge_columns = strcmp(facts->isa, "avx512") == 0 ? beyond->edge_columns : 0,
        .bn_rows = class % 3 == FOVEA_FORM_NN && far ? beyond->bn_rows : 0,
        .thin_kc = nr > 16 && beyond->thin_kc != 0 ? beyond->thin_kc : 1 << 20,
    };
    t.lead = far ? beyond->lead : 0;
    if (far && (t.lead == 0 || strcmp(facts->isa, "avx512") == 0)) { // other tiles have no lead
        const uint32_t of[] = {beyond->follow_rows, beyond->follow_natural, 0};
        t.follow_rows = of[class % 3];
        t.follow_panels = beyond->follow_panels;
    }
    const uint32_t of_l2[] = {
        [FOVEA_FORM_PACKED] = beyond->direct_packed, [FOVEA_FORM_NN] = beyond->direct_of_l2, [FOVEA_FORM_NT] = 1};
    t.direct = clamp(t.direct * (nr > 16 ? of_l2[class % 3] : 1), 0, 1 << 20);
    const bool many = class / 6 == MANY, near = class / 3 % 2 == 0, packed = class % 3 == FOVEA_FORM_PACKED && nr > 16;
    t.nc = many && near ? clamp(beyond->near_columns, t.nc, UINT32_MAX) : t.nc;
    const uint32_t share = nr <= 16 ? 128 : many ? beyond->step_floats : 256;
    t.kc = packed && !many ? beyond->packed_steps : clamp(floats2 / share, 256, many ? beyond->many_steps : 1024);
    const uint32_t steps = t.kc < 1024 ? t.kc : 1024; // as ops/gemm_plan.c counts rows of longer blocks
    t.mc = clamp(floats2 / 8 * eighths / steps / 18 * 18, t.kc > 1024 ? 144 : 54, 480);
    return t;
}

// The one variant that an ISA has in slot gemm_bt.
static const struct fovea_variant_facts *bt_of(const char *isa)
{
    for (int32_t i = 0; i < FOVEA_VARIANTS; i++) {
        const struct fovea_variant_facts *const facts = &fovea_variant_facts[i];
        if (strcmp(facts->slot, "gemm_bt") == 0 && strcmp(facts->isa, isa) == 0) {
            return facts;
        }
    }
    return NULL;
}

// The numbers of a B that is given transposed.
static void set_bt(const struct fovea_machine *machine, const char *isa, bool near, struct fovea_gemm_tuning *t)
{
    const struct beyond *const beyond = beyond_l2(machine);
    const struct fovea_variant_facts *const kernel = bt_of(isa);
    const uint32_t rows = kernel != NULL ? kernel->mr : 0;
    t->bt_rows = near ? clamp(rows, 0, beyond->bt_near[strcmp(isa, "avx512") == 0]) : rows;
    t->fetch_k = beyond->fetch_k;
    t->into_l1 = beyond->bt_into_l1;
    t->spread = strcmp(isa, "avx512") == 0 ? beyond->spread[2]
                : strcmp(isa, "avx2") == 0 ? beyond->spread[(machine->cpu & FOVEA_CPU_AVX512) != 0]
                                           : 0;
    t->stream = beyond->stream;
    t->half_rows = strcmp(isa, "avx512") == 0 ? beyond->half_rows : strcmp(isa, "avx2") == 0 ? 4 : 0;
    t->pass_rows = beyond->pass_rows;
}

// Up to how many rows the micro-kernel for few is taken. AVX2's streams a B that is near or packed; where that is far
// two tiles of it, one below the other, are faster than one of another (3 and 4 rows on Zen 3: 1.1 to 1.25 times as
// fast, and 0.85 where B is near; 6 rows 0.93). Natural rows that are far want what it lacks, prefetches (Zen 4: 1 to 4
// rows 0.5 to 0.65). That of AVX-512 is for a B that is far: the one stream of a packed one from memory, as of a model
// that is larger than L3 (Zen 5, where follow_rows hides it: 8 rows 1.15 times as fast as 9x48, 12 rows 1.05 to 1.25,
// 16 rows 0.96 to 1.06; from L3 0.7 to 0.95), or more rows than 9x48 takes at once over a natural one.
static uint32_t thin_rows_of(const struct fovea_machine *machine, const char *isa, uint32_t class)
{
    const struct beyond *const beyond = beyond_l2(machine);
    const bool several = class / 6 >= SEVERAL, natural = class % 3 == FOVEA_FORM_NN;
    const struct {
        const char *isa;
        uint32_t near, packed, natural; // rows; the latter two of a B that is far
    } table[] = {{"avx2", 2, 4, 0},
                 {"avx512", 0, several ? 14 : beyond->few_rows, several && beyond->thin_kc != 0 ? 14 : 0}};
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        if (strcmp(isa, table[i].isa) == 0 && class % 3 != FOVEA_FORM_NT) {
            return class / 3 % 2 == 0 ? table[i].near : natural ? table[i].natural : table[i].packed;
        }
    }
    return 0;
}

// Of each tile of a task its queries and state, the next task's queries and the output that are being fetched, and at
// times a second state, in twice L2: streaming them from L3 costs less than reading, and there copying, K and V for
// fewer tiles (Zen 3, L2 512 KiB, 32 heads of 128 on 8: 4 tiles 1.08 times as fast as 2, 8 tiles 1.14; 16 of d = 64
// gain 1 to 2 % over 8).
//
// Rows for 14 and 15 queries rather than lanes: Zen 4, AVX-512, d = 64, 14 to 1024 keys 1.02 to 1.08 times as fast, d =
// 128 1.04 to 1.32 (2048 keys 0.87), 256 1.13 to 1.32; AVX2 d = 64 1.05 to 1.12, 1024 keys 0.93, d = 128 1.12, 256 keys
// and more 0.79 to 0.83; AVX2 of Zen 5, d = 64, 64 and 128 keys, 1.7. For 16 queries, AVX-512, d = 64 0.89 to 0.96.
static struct fovea_attention_tuning attention_default(const struct fovea_machine *machine, uint32_t class)
{
    const bool avx512 = (machine->cpu & FOVEA_CPU_AVX512) != 0;
    const struct beyond *const beyond = beyond_l2(machine);
    struct fovea_attention_tuning t = {
        .queries = 48,
        .prefill = avx512 ? 16 : 14,
        .near = clamp(machine->l2_bytes >> 10, 1, 1 << 20),
        .again = beyond->again,
        .whole = beyond->whole,
        .into_l1 = avx512 && beyond->into_l1,
        .copy_k = beyond->copy_k,
        .copy_v = beyond->copy_v,
    };
    const uint32_t dim = UINT32_C(64) << (class - FOVEA_CLASS_ATTENTION); // the largest of the class, of most models
    t.tiles = clamp(2 * machine->l2_bytes / (5 * t.queries * dim * (uint32_t)sizeof(float)), 1, beyond->tiles);
    return t;
}

// Steps of all of k, of what L2, or 3/8 of it, holds a strip of at most, for 9 to 192 rows of C for which a transposed
// B is packed on the way: what is prefetched of the next strip, rows, then lies side by side, where shorter blocks
// prefetch lines that come much later. Zen 3, 12 to 24 rows, K up to 4864: 1.26 to 1.33 times as fast as blocks of 512
// steps, 32 rows 1.15, K = 8192 1.06. Zen 5, AVX-512, K up to 4864, against blocks of 1024: 20 to 48 rows 1.00 to 1.13,
// 100 to 180 rows 1.03 to 1.07. AVX2 with more than 32 rows and other ISAs were not measured.
static uint32_t strip_steps(const struct fovea_machine *machine, const struct fovea_variant_facts *facts,
                            uint32_t class)
{
    const uint32_t rows = class / 6, most = strcmp(facts->isa, "avx512") == 0 ? SOME
                                            : strcmp(facts->isa, "avx2") == 0 ? SEVERAL
                                                                              : 0;
    const bool far_nt = class / 3 % 2 == 1 && class % 3 == FOVEA_FORM_NT;
    const uint32_t bytes = machine->l2_bytes / 8 * beyond_l2(machine)->strip_eighths;
    return far_nt && rows >= SEVERAL && rows <= most ? bytes / (facts->nr * (uint32_t)sizeof(float)) : 0;
}

struct fovea_tuned fovea_tuned_default(const struct fovea_machine *machine, uint32_t class, int32_t kernel)
{
    struct fovea_tuned tuned = {.kernel = kernel};
    if (fovea_tuned_classes[class].kind == FOVEA_TUNED_GEMM) {
        const struct fovea_variant_facts *const facts = &fovea_variant_facts[kernel];
        struct fovea_gemm_tuning t = gemm_default(machine, facts, class);
        if (class % 3 == FOVEA_FORM_NT) {
            set_bt(machine, facts->isa, class / 3 % 2 == 0, &t);
        }
        t.thin_rows = thin_rows_of(machine, facts->isa, class);
        const uint32_t steps = strip_steps(machine, facts, class);
        if (steps != 0) {
            t.kc = clamp(steps, t.kc, 1 << 20);
            t.nc = facts->nr;
        }
        memcpy(tuned.values, &t, sizeof t);
    } else if (fovea_tuned_classes[class].kind == FOVEA_TUNED_ATTENTION) {
        tuned.kernel = -1;
        const struct fovea_attention_tuning t = attention_default(machine, class);
        memcpy(tuned.values, &t, sizeof t);
    } else if (fovea_tuned_classes[class].kind == FOVEA_TUNED_CACHE) {
        tuned.kernel = -1;
        const struct fovea_cache_tuning t = {.near = clamp(machine->l2_bytes >> 10, 1, 1 << 20)};
        memcpy(tuned.values, &t, sizeof t);
    }
    return tuned;
}
