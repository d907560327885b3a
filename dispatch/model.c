// SPDX-License-Identifier: Apache-2.0
// dispatch/model.c - the numbers of a class that was not tuned, from the sizes of the caches and what lies beyond them.
//
// gemm_default and attention_default state every number of kernels/tuning.def once, in its order. What a machine's set
// in dispatch/beyond.c has for it stands there with what it was measured to be worth; what is the same everywhere, or
// follows from the caches and the micro-kernel, stands here.
#include "dispatch/beyond.h"
#include "dispatch/tuning.h"

#include <stdbool.h>
#include <string.h>

enum { ANY = 1 << 20 }; // of a number that is "up to" or "from": the largest

static uint32_t clamp(uint32_t value, uint32_t low, uint32_t high)
{
    return value < low ? low : value > high ? high : value;
}

// What a set has, or, where that is 0, this.
static uint32_t or_else(uint32_t value, uint32_t other)
{
    return value != 0 ? value : other;
}

// A class of GEMM on a machine, by a micro-kernel.
struct gemm {
    const struct fovea_machine *machine;
    const struct fovea_beyond *beyond;
    const struct fovea_variant_facts *kernel;
    struct fovea_gemm_class class;
    bool wide; // the tiles are not small ones
};

// Steps of all of k, of what L2, or 3/8 of it, holds a strip of at most, for 9 to 192 rows of C for which a transposed
// B is packed on the way: what is prefetched of the next strip, rows, then lies side by side, where shorter blocks
// prefetch lines that come much later. Zen 3, 12 to 24 rows, K up to 4864: 1.26 to 1.33 times as fast as blocks of 512
// steps, 32 rows 1.15, K = 8192 1.06. Zen 5, AVX-512, K up to 4864, against blocks of 1024: 20 to 48 rows 1.00 to 1.13,
// 100 to 180 rows 1.03 to 1.07. AVX2 with more than 32 rows and other ISAs were not measured.
static uint32_t strip_steps(const struct gemm *of)
{
    const enum fovea_gemm_rows most = of->kernel->isa == FOVEA_ISA_avx512 ? FOVEA_SOME
                                      : of->kernel->isa == FOVEA_ISA_avx2 ? FOVEA_SEVERAL
                                                                          : FOVEA_FEW;
    const bool packs = of->class.rows >= FOVEA_SEVERAL && of->class.rows <= most;
    const uint32_t bytes = of->machine->l2_bytes / 8 * of->beyond->strip_eighths;
    return of->class.far && of->class.form == FOVEA_FORM_NT && packs
               ? bytes / (of->kernel->nr * (uint32_t)sizeof(float))
               : 0;
}

struct blocks {
    uint32_t kc, mc, nc;
};

// Long k blocks, for which B streams from L2 and a tile of A stays in L1; two groups of strips in L2, one computed, one
// prefetched. A group is one wide strip (AVX-512) or two small ones, and A's chunk of mc rows takes 3/8 or 5/8 of L2,
// however few rows that makes of long blocks (AVX2, L2 of 512 KiB: 72 of 1024 steps in place of 144 of 512 are 1 to 9 %
// faster where k is 768 to 3072), but of many over a far B where slim_steps says otherwise. Many rows may want longer
// blocks, and 144 rows of them, which is more than L2 holds, but on a mesh as many as it does, and no more of 1024
// steps (long_rows; packed_steps: fewer rows over a B from memory not everywhere). Chunks of A beside natural_steps and
// strip_steps are those of the blocks that others have, as they were measured.
static struct blocks blocks_of(const struct gemm *of)
{
    const struct fovea_beyond *const beyond = of->beyond;
    const enum fovea_gemm_form form = of->class.form;
    const bool wide = of->wide, far = of->class.far, few = of->class.rows == FOVEA_FEW,
               many = of->class.rows == FOVEA_MANY;
    if (many && far && !wide && beyond->slim_steps != 0) {
        return (struct blocks){beyond->slim_steps, beyond->slim_rows, beyond->slim_columns};
    }
    const uint32_t nr = of->kernel->nr, floats2 = of->machine->l2_bytes / (uint32_t)sizeof(float);
    const uint32_t share = !wide ? 128 : many ? beyond->step_floats : 256, eighths = wide ? 3 : 5;
    const bool packed = form == FOVEA_FORM_PACKED && wide && !many;
    const uint32_t kc = packed ? beyond->packed_steps : clamp(floats2 / share, 256, many ? beyond->many_steps : 1024);
    const bool longer = kc > 1024 && beyond->long_rows != 0;
    const uint32_t mc =
        clamp(floats2 / 8 * eighths / (longer ? 1024 : kc) / 18 * 18, longer ? beyond->long_rows : 54, 480);
    const uint32_t nc = wide ? nr : 2 * nr, strip = strip_steps(of);
    if (strip != 0) {
        return (struct blocks){clamp(strip, kc, ANY), mc, nr};
    }
    const bool natural = form == FOVEA_FORM_NN && far && wide && !few && !many;
    return (struct blocks){
        .kc = natural ? or_else(beyond->natural_steps, kc) : kc,
        .mc = mc,
        .nc = many && !far ? clamp(beyond->near_columns, nc, UINT32_MAX) : nc,
    };
}

// Whether B passes few rows once, and panels of it side by side then. Tiles other than those of AVX-512 have no lead,
// and follow only where none is needed.
struct follow {
    uint32_t rows, panels;
};

static struct follow follow_of(const struct gemm *of, uint32_t lead)
{
    const struct fovea_beyond *const beyond = of->beyond;
    const bool packed = of->class.form == FOVEA_FORM_PACKED, nt = of->class.form == FOVEA_FORM_NT;
    const bool avx512 = of->kernel->isa == FOVEA_ISA_avx512;
    struct follow follow = {0, 0};
    if (of->class.far && (lead == 0 || avx512)) {
        follow.rows = packed ? beyond->follow_rows : nt ? 0 : beyond->follow_natural;
        follow.panels = beyond->follow_panels[!packed || of->class.rows != FOVEA_FEW];
    } else if (!of->class.far && avx512 && !nt && beyond->follow_near != 0) {
        follow = (struct follow){beyond->follow_near, beyond->follow_panels[1]};
    }
    return follow;
}

// As many rows of C as registers hold beside the transpose of rows of B, by the one variant that the ISA has for that:
// a second pass over B is slower than packing it.
static uint32_t bt_rows_of(const struct gemm *of)
{
    const enum fovea_isa isa = of->kernel->isa;
    uint32_t rows = 0;
    for (int32_t i = 0; i < FOVEA_VARIANTS && rows == 0; i++) {
        const struct fovea_variant_facts *const facts = &fovea_variant_facts[i];
        rows = facts->slot == FOVEA_SLOT_gemm_bt && facts->isa == isa ? facts->mr : 0;
    }
    return of->class.far ? rows : clamp(rows, 0, of->beyond->bt_near[isa == FOVEA_ISA_avx512]);
}

// Up to how many rows the micro-kernel for few is taken. AVX2's streams a B that is near or packed; where that is far
// two tiles of it, one below the other, are faster than one of another (3 and 4 rows on Zen 3: 1.1 to 1.25 times as
// fast, and 0.85 where B is near; 6 rows 0.93). Natural rows that are far want what it lacks, prefetches (Zen 4: 1 to 4
// rows 0.5 to 0.65). That of AVX-512 is for a B that is far: the one stream of a packed one from memory, as of a model
// that is larger than L3 (Zen 5, where follow_rows hides it: 8 rows 1.15 times as fast as 9x48, 12 rows 1.05 to 1.25,
// 16 rows 0.96 to 1.06; from L3 0.7 to 0.95), or more rows than 9x48 takes at once over a natural one.
static uint32_t thin_rows_of(const struct gemm *of)
{
    const bool several = of->class.rows >= FOVEA_SEVERAL;
    const struct {
        uint32_t near, packed, natural; // rows; the latter two of a B that is far
    } rows[FOVEA_ISAS] = {
        [FOVEA_ISA_avx2] = {2, 4, 0},
        [FOVEA_ISA_avx512] = {0, several ? 14 : of->beyond->few_rows, several && of->beyond->thin_kc != 0 ? 14 : 0},
    };
    const enum fovea_isa isa = of->kernel->isa;
    return of->class.form == FOVEA_FORM_NT   ? 0
           : !of->class.far                  ? rows[isa].near
           : of->class.form == FOVEA_FORM_NN ? rows[isa].natural
                                             : rows[isa].packed;
}

// Natural rows of B are read in place at least by fewer than three tiles, wide ones four (Zen 5, 28 to 35 rows: 1.12 to
// 1.27 times as fast; 19 to 22 rows by small ones 1.06 to 1.18, but 0.61 where rows meet in few sets of L1). Packing a
// strip takes as long as 4 (natural) to 8 rows of C, so above 256 rows it is done once. L2 is what a product may take
// that relies on all of it being there; by wide tiles it may be more where L3 delivers nearly as much (direct_of_l2),
// and most of a packed B, whose strips, unlike rows, never meet in few sets of L1 (direct_packed).
static struct fovea_gemm_tuning gemm_default(const struct fovea_machine *machine,
                                             const struct fovea_variant_facts *kernel, struct fovea_gemm_class class)
{
    const struct fovea_beyond *const beyond = fovea_beyond_l2(machine);
    const bool wide = !fovea_is_small(kernel->mr, kernel->nr);
    const struct gemm of = {machine, beyond, kernel, class, wide};
    const bool avx512 = kernel->isa == FOVEA_ISA_avx512, avx2 = kernel->isa == FOVEA_ISA_avx2;
    const bool packed = class.form == FOVEA_FORM_PACKED, nt = class.form == FOVEA_FORM_NT;
    const bool far = class.far, far_nn = class.form == FOVEA_FORM_NN && far, few = class.rows == FOVEA_FEW;
    const bool has_avx512 = (machine->cpu & FOVEA_CPU_AVX512) != 0;
    const uint32_t in_place = fovea_in_place_rows(kernel->mr, kernel->nr);
    const uint32_t direct_of[FOVEA_FORMS] = {
        [FOVEA_FORM_PACKED] = beyond->direct_packed, [FOVEA_FORM_NN] = beyond->direct_of_l2, [FOVEA_FORM_NT] = 1};
    const uint32_t lead = far ? beyond->lead[!packed][!few] : 0;
    const struct blocks blocks = blocks_of(&of);
    const struct follow follow = follow_of(&of, lead);
    return (struct fovea_gemm_tuning){
        .kc = blocks.kc,
        .mc = blocks.mc,
        .along = !far && avx512 && !nt ? machine->l2_bytes / 8192 * beyond->along_eighths[!packed] : 0,
        .nc = blocks.nc,
        .alias_kc = far_nn && wide ? or_else(beyond->alias_kc, ANY) : ANY,
        .ahead = 1,
        .pack_rows = wide ? or_else(beyond->pack_rows, in_place) : in_place,
        .split_rows = beyond->split_rows[avx512],
        .keep_rows = 256,
        .pass_rows = nt       ? beyond->pass_rows
                     : far_nn ? beyond->pass_natural
                              : 0,
        .alias_rows = wide ? or_else(beyond->alias_rows, in_place) : in_place,
        .split_kib = beyond->split_kib,
        .bt_rows = nt ? bt_rows_of(&of) : 0,
        .fetch_k = nt ? beyond->fetch_k : 0,
        .spread = !nt      ? 0
                  : avx512 ? beyond->spread[2]
                  : avx2   ? beyond->spread[has_avx512]
                           : 0,
        .half_rows = !nt      ? 0
                     : avx512 ? beyond->half_rows
                     : avx2   ? 4
                              : 0,
        .bn_rows = far_nn ? beyond->bn_rows[avx512] : 0,
        .direct = clamp(machine->l2_bytes / 1024 * (wide ? direct_of[class.form] : 1), 0, ANY),
        .into_l1 = nt ? beyond->bt_into_l1 : 0,
        .follow_rows = follow.rows,
        .follow_panels = follow.panels,
        .chain_rows = avx512 ? beyond->chain_rows : 0,
        .lead = lead,
        .stream = !nt      ? 0
                  : avx512 ? beyond->stream[1]
                  : avx2   ? beyond->stream[0]
                           : 0,
        .turned_steps = beyond->turned_steps,
        .edge_columns = avx512 ? beyond->edge_columns : 0,
        .thin_rows = thin_rows_of(&of),
        .thin_kc = wide ? or_else(beyond->thin_kc, ANY) : ANY,
        .alone = far_nn || (packed && far && avx512) ? beyond->alone : 0,
        .set_rows = beyond->set_rows,
        .pairs = avx2 ? beyond->pairs : 0,
        .bn_alias = far_nn ? beyond->bn_alias[avx512] : 0,
    };
}

// Of each tile of a task its queries and state, the next task's queries and the output that are being fetched, and at
// times a second state, in twice L2: streaming them from L3 costs less than reading, and there copying, K and V for
// fewer tiles (Zen 3, L2 512 KiB, 32 heads of 128 on 8: 4 tiles 1.08 times as fast as 2, 8 tiles 1.14; 16 of d = 64
// gain 1 to 2 % over 8).
//
// Rows for 14 and 15 queries rather than lanes: Zen 4, AVX-512, d = 64, 14 to 1024 keys 1.02 to 1.08 times as fast, d =
// 128 1.04 to 1.32 (2048 keys 0.87), 256 1.13 to 1.32; AVX2 d = 64 1.05 to 1.12, 1024 keys 0.93, d = 128 1.12, 256 keys
// and more 0.79 to 0.83; AVX2 of Zen 5, d = 64, 64 and 128 keys, 1.7. For 16 queries, AVX-512, d = 64 0.89 to 0.96.
static struct fovea_attention_tuning attention_default(const struct fovea_machine *machine, enum fovea_heads heads)
{
    const bool avx512 = (machine->cpu & FOVEA_CPU_AVX512) != 0, wider = heads != FOVEA_HEADS_64;
    const struct fovea_beyond *const beyond = fovea_beyond_l2(machine);
    enum { QUERIES = 48 };
    const uint32_t dim = UINT32_C(64) << heads; // the largest of the class, of most models
    const uint32_t tile_bytes = QUERIES * dim * (uint32_t)sizeof(float);
    return (struct fovea_attention_tuning){
        .queries = QUERIES,
        .prefill = avx512 ? beyond->prefill[wider] : 14,
        .tiles = clamp(2 * machine->l2_bytes / (5 * tile_bytes), 1, beyond->tiles),
        .beside = beyond->beside,
        .near = clamp(machine->l2_bytes >> 10, 1, ANY),
        .again = beyond->again,
        .whole = beyond->whole,
        .decode_into = avx512 ? beyond->decode_into : FOVEA_INTO_L2,
        .near_tiles = clamp(machine->l2_bytes / 8 * beyond->near_eighths >> 10, 1, ANY),
        .into_l1 = avx512 && beyond->into_l1,
        .copy_k = beyond->copy_k,
        .copy_v = beyond->copy_v[wider],
    };
}

struct fovea_tuned fovea_tuned_default(const struct fovea_machine *machine, uint32_t class, int32_t kernel)
{
    const struct fovea_class of = fovea_class(class);
    struct fovea_tuned tuned = {.kernel = fovea_class_slot(class) != FOVEA_SLOTS ? kernel : -1};
    if (of.kind == FOVEA_TUNED_GEMM) {
        const struct fovea_gemm_tuning t = gemm_default(machine, &fovea_variant_facts[kernel], of.gemm);
        memcpy(tuned.values, &t, sizeof t);
    } else if (of.kind == FOVEA_TUNED_ATTENTION) {
        const struct fovea_attention_tuning t = attention_default(machine, of.heads);
        memcpy(tuned.values, &t, sizeof t);
    } else if (of.kind == FOVEA_TUNED_CACHE) {
        const struct fovea_cache_tuning t = {.near = clamp(machine->l2_bytes >> 10, 1, ANY)};
        memcpy(tuned.values, &t, sizeof t);
    }
    return tuned;
}
