// SPDX-License-Identifier: Apache-2.0
// dispatch/model.c - the numbers of a class that was not tuned, from the sizes of the caches and what lies beyond them.
#include "dispatch/beyond.h"
#include "dispatch/tuning.h"

#include <stdbool.h>
#include <string.h>

static uint32_t clamp(uint32_t value, uint32_t low, uint32_t high)
{
    return value < low ? low : value > high ? high : value;
}

// Long k blocks, for which B streams from L2 and a tile of A stays in L1; two groups of strips in L2, one computed, one
// prefetched. A group is one wide strip (AVX-512) or two small ones, and A's chunk of mc rows takes 3/8 or 5/8 of L2,
// however few rows that makes of long blocks (AVX2, L2 of 512 KiB: 72 of 1024 steps in place of 144 of 512 are 1 to 9 %
// faster where k is 768 to 3072), but of many over a far B where slim_steps says otherwise. Many rows may want longer
// blocks, and 144 rows of them, which is more than L2 holds, but on a mesh as many as it does, and no more of 1024
// steps (long_rows; packed_steps: fewer rows over a B from memory not everywhere). Natural rows of B are read in place
// at least by fewer than three tiles, wide ones four (Zen 5, 28 to 35 rows: 1.12 to 1.27 times as fast; 19 to 22 rows
// by small ones 1.06 to 1.18, but 0.61 where rows meet in few sets of L1). Packing a strip takes as long as 4 (natural)
// to 8 rows of C, so above 256 rows it is done once. L2 is what a product may take that relies on all of it being
// there; by wide tiles it may be more where L3 delivers nearly as much (direct_of_l2), and most of a packed B, whose
// strips, unlike rows, never meet in few sets of L1 (direct_packed). Rows of a transposed B are read in place for as
// many rows of C as registers hold beside the transpose: a second pass over B is slower than packing it.
static struct fovea_gemm_tuning gemm_default(const struct fovea_machine *machine,
                                             const struct fovea_variant_facts *facts, struct fovea_gemm_class of)
{
    const struct fovea_beyond *const beyond = fovea_beyond_l2(machine);
    const uint32_t mr = facts->mr, nr = facts->nr;
    const uint32_t floats2 = machine->l2_bytes / (uint32_t)sizeof(float);
    const bool wide = !fovea_is_small(mr, nr);
    const uint32_t eighths = wide ? 3 : 5;
    const uint32_t in_place = fovea_in_place_rows(mr, nr);
    const bool far = of.far, avx512 = facts->isa == FOVEA_ISA_avx512;
    const bool packed = of.form == FOVEA_FORM_PACKED, natural_far = of.form == FOVEA_FORM_NN && far;
    struct fovea_gemm_tuning t = {
        .nc = wide ? nr : 2 * nr,
        .ahead = 1,
        .pack_rows = wide && beyond->pack_rows != 0 ? beyond->pack_rows : in_place,
        .alias_rows = wide && beyond->alias_rows != 0 ? beyond->alias_rows : in_place,
        .split_rows = beyond->split_rows[avx512],
        .split_kib = beyond->split_kib,
        .keep_rows = 256,
        .turned_steps = beyond->turned_steps,
        .set_rows = beyond->set_rows,
        .direct = machine->l2_bytes / 1024,
        .edge_columns = avx512 ? beyond->edge_columns : 0,
        .chain_rows = avx512 ? beyond->chain_rows : 0,
        .pairs = facts->isa == FOVEA_ISA_avx2 ? beyond->pairs : 0,
        .bn_rows = natural_far ? beyond->bn_rows[avx512] : 0,
        .bn_alias = natural_far ? beyond->bn_alias[avx512] : 0,
        .pass_rows = natural_far ? beyond->pass_natural : 0,
        .alone = natural_far || (packed && far && avx512) ? beyond->alone : 0,
        .alias_kc = natural_far && wide && beyond->alias_kc != 0 ? beyond->alias_kc : 1 << 20,
        .thin_kc = wide && beyond->thin_kc != 0 ? beyond->thin_kc : 1 << 20,
    };
    const bool few = of.rows == FOVEA_FEW, many = of.rows == FOVEA_MANY;
    t.lead = far ? beyond->lead[!packed][!few] : 0;
    if (far && (t.lead == 0 || avx512)) { // other tiles have no lead
        t.follow_rows = packed ? beyond->follow_rows : of.form == FOVEA_FORM_NN ? beyond->follow_natural : 0;
        t.follow_panels = beyond->follow_panels[!packed || !few];
    } else if (!far && avx512 && of.form != FOVEA_FORM_NT && beyond->follow_near != 0) {
        t.follow_rows = beyond->follow_near;
        t.follow_panels = beyond->follow_panels[1];
    }
    const uint32_t of_l2[] = {
        [FOVEA_FORM_PACKED] = beyond->direct_packed, [FOVEA_FORM_NN] = beyond->direct_of_l2, [FOVEA_FORM_NT] = 1};
    t.direct = clamp(t.direct * (wide ? of_l2[of.form] : 1), 0, 1 << 20);
    t.along =
        !far && avx512 && of.form != FOVEA_FORM_NT ? machine->l2_bytes / 8192 * beyond->along_eighths[!packed] : 0;
    t.nc = many && !far ? clamp(beyond->near_columns, t.nc, UINT32_MAX) : t.nc;
    const uint32_t share = !wide ? 128 : many ? beyond->step_floats : 256;
    t.kc =
        packed && wide && !many ? beyond->packed_steps : clamp(floats2 / share, 256, many ? beyond->many_steps : 1024);
    const bool long_steps = t.kc > 1024 && beyond->long_rows != 0;
    t.mc =
        clamp(floats2 / 8 * eighths / (long_steps ? 1024 : t.kc) / 18 * 18, long_steps ? beyond->long_rows : 54, 480);
    if (many && far && !wide && beyond->slim_steps != 0) {
        t.kc = beyond->slim_steps;
        t.mc = beyond->slim_rows;
        t.nc = beyond->slim_columns;
    }
    // Whose chunks of A are those of longer blocks, as they were measured.
    if (!few && !many && natural_far && wide && beyond->natural_steps != 0) {
        t.kc = beyond->natural_steps;
    }
    return t;
}

// The one variant that an ISA has in slot gemm_bt.
static const struct fovea_variant_facts *bt_of(enum fovea_isa isa)
{
    for (int32_t i = 0; i < FOVEA_VARIANTS; i++) {
        const struct fovea_variant_facts *const facts = &fovea_variant_facts[i];
        if (facts->slot == FOVEA_SLOT_gemm_bt && facts->isa == isa) {
            return facts;
        }
    }
    return NULL;
}

// The numbers of a B that is given transposed.
static void set_bt(const struct fovea_machine *machine, enum fovea_isa isa, bool near, struct fovea_gemm_tuning *t)
{
    const struct fovea_beyond *const beyond = fovea_beyond_l2(machine);
    const struct fovea_variant_facts *const kernel = bt_of(isa);
    const uint32_t rows = kernel != NULL ? kernel->mr : 0;
    t->bt_rows = near ? clamp(rows, 0, beyond->bt_near[isa == FOVEA_ISA_avx512]) : rows;
    t->fetch_k = beyond->fetch_k;
    t->into_l1 = beyond->bt_into_l1;
    t->spread = isa == FOVEA_ISA_avx512 ? beyond->spread[2]
                : isa == FOVEA_ISA_avx2 ? beyond->spread[(machine->cpu & FOVEA_CPU_AVX512) != 0]
                                        : 0;
    t->stream = isa == FOVEA_ISA_avx512 ? beyond->stream[1] : isa == FOVEA_ISA_avx2 ? beyond->stream[0] : 0;
    t->half_rows = isa == FOVEA_ISA_avx512 ? beyond->half_rows : isa == FOVEA_ISA_avx2 ? 4 : 0;
    t->pass_rows = beyond->pass_rows;
}

// Up to how many rows the micro-kernel for few is taken. AVX2's streams a B that is near or packed; where that is far
// two tiles of it, one below the other, are faster than one of another (3 and 4 rows on Zen 3: 1.1 to 1.25 times as
// fast, and 0.85 where B is near; 6 rows 0.93). Natural rows that are far want what it lacks, prefetches (Zen 4: 1 to 4
// rows 0.5 to 0.65). That of AVX-512 is for a B that is far: the one stream of a packed one from memory, as of a model
// that is larger than L3 (Zen 5, where follow_rows hides it: 8 rows 1.15 times as fast as 9x48, 12 rows 1.05 to 1.25,
// 16 rows 0.96 to 1.06; from L3 0.7 to 0.95), or more rows than 9x48 takes at once over a natural one.
static uint32_t thin_rows_of(const struct fovea_machine *machine, enum fovea_isa isa, struct fovea_gemm_class of)
{
    const struct fovea_beyond *const beyond = fovea_beyond_l2(machine);
    const bool several = of.rows >= FOVEA_SEVERAL;
    const struct {
        uint32_t near, packed, natural; // rows; the latter two of a B that is far
    } rows[FOVEA_ISAS] = {
        [FOVEA_ISA_avx2] = {2, 4, 0},
        [FOVEA_ISA_avx512] = {0, several ? 14 : beyond->few_rows, several && beyond->thin_kc != 0 ? 14 : 0},
    };
    return of.form == FOVEA_FORM_NT   ? 0
           : !of.far                  ? rows[isa].near
           : of.form == FOVEA_FORM_NN ? rows[isa].natural
                                      : rows[isa].packed;
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
    const bool avx512 = (machine->cpu & FOVEA_CPU_AVX512) != 0;
    const struct fovea_beyond *const beyond = fovea_beyond_l2(machine);
    struct fovea_attention_tuning t = {
        .queries = 48,
        .prefill = avx512 ? beyond->prefill[heads != FOVEA_HEADS_64] : 14,
        .near = clamp(machine->l2_bytes >> 10, 1, 1 << 20),
        .near_tiles = clamp(machine->l2_bytes / 8 * beyond->near_eighths >> 10, 1, 1 << 20),
        .again = beyond->again,
        .whole = beyond->whole,
        .decode_into = avx512 ? beyond->decode_into : FOVEA_INTO_L2,
        .into_l1 = avx512 && beyond->into_l1,
        .beside = beyond->beside,
        .copy_k = beyond->copy_k,
        .copy_v = beyond->copy_v[heads != FOVEA_HEADS_64],
    };
    const uint32_t dim = UINT32_C(64) << heads; // the largest of the class, of most models
    t.tiles = clamp(2 * machine->l2_bytes / (5 * t.queries * dim * (uint32_t)sizeof(float)), 1, beyond->tiles);
    return t;
}

// Steps of all of k, of what L2, or 3/8 of it, holds a strip of at most, for 9 to 192 rows of C for which a transposed
// B is packed on the way: what is prefetched of the next strip, rows, then lies side by side, where shorter blocks
// prefetch lines that come much later. Zen 3, 12 to 24 rows, K up to 4864: 1.26 to 1.33 times as fast as blocks of 512
// steps, 32 rows 1.15, K = 8192 1.06. Zen 5, AVX-512, K up to 4864, against blocks of 1024: 20 to 48 rows 1.00 to 1.13,
// 100 to 180 rows 1.03 to 1.07. AVX2 with more than 32 rows and other ISAs were not measured.
static uint32_t strip_steps(const struct fovea_machine *machine, const struct fovea_variant_facts *facts,
                            struct fovea_gemm_class of)
{
    const enum fovea_gemm_rows most = facts->isa == FOVEA_ISA_avx512 ? FOVEA_SOME
                                      : facts->isa == FOVEA_ISA_avx2 ? FOVEA_SEVERAL
                                                                     : FOVEA_FEW;
    const bool far_nt = of.far && of.form == FOVEA_FORM_NT;
    const uint32_t bytes = machine->l2_bytes / 8 * fovea_beyond_l2(machine)->strip_eighths;
    return far_nt && of.rows >= FOVEA_SEVERAL && of.rows <= most ? bytes / (facts->nr * (uint32_t)sizeof(float)) : 0;
}

static struct fovea_gemm_tuning gemm_numbers(const struct fovea_machine *machine,
                                             const struct fovea_variant_facts *facts, struct fovea_gemm_class of)
{
    struct fovea_gemm_tuning t = gemm_default(machine, facts, of);
    if (of.form == FOVEA_FORM_NT) {
        set_bt(machine, facts->isa, !of.far, &t);
    }
    t.thin_rows = thin_rows_of(machine, facts->isa, of);
    const uint32_t steps = strip_steps(machine, facts, of);
    if (steps != 0) {
        t.kc = clamp(steps, t.kc, 1 << 20);
        t.nc = facts->nr;
    }
    return t;
}

struct fovea_tuned fovea_tuned_default(const struct fovea_machine *machine, uint32_t class, int32_t kernel)
{
    const struct fovea_class of = fovea_class(class);
    struct fovea_tuned tuned = {.kernel = fovea_class_slot(class) != FOVEA_SLOTS ? kernel : -1};
    if (of.kind == FOVEA_TUNED_GEMM) {
        const struct fovea_gemm_tuning t = gemm_numbers(machine, &fovea_variant_facts[kernel], of.gemm);
        memcpy(tuned.values, &t, sizeof t);
    } else if (of.kind == FOVEA_TUNED_ATTENTION) {
        const struct fovea_attention_tuning t = attention_default(machine, of.heads);
        memcpy(tuned.values, &t, sizeof t);
    } else if (of.kind == FOVEA_TUNED_CACHE) {
        const struct fovea_cache_tuning t = {.near = clamp(machine->l2_bytes >> 10, 1, 1 << 20)};
        memcpy(tuned.values, &t, sizeof t);
    }
    return tuned;
}
