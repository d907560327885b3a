// SPDX-License-Identifier: Apache-2.0
// dispatch/model.c - the numbers of a class that was not tuned, computed from the cache sizes and what is known beyond
// L2.
//
// gemm_default and attention_default state every number of kernels/tuning.def once, in its order. A number that depends
// on the machine's set is in dispatch/beyond.def, with what it was measured to be worth. A number that is the same
// everywhere, or follows from the caches and the micro-kernel, is here.
#include "dispatch/beyond.h"
#include "dispatch/tuning.h"

#include <stdbool.h>
#include <string.h>

enum { ANY = 1 << 20 }; // for a number that is an upper or lower limit: the largest value

static uint32_t clamp(uint32_t value, uint32_t low, uint32_t high)
{
    return value < low ? low : value > high ? high : value;
}

// The value of a set or, if that is 0, `other`.
static uint32_t or_else(uint32_t value, uint32_t other)
{
    return value != 0 ? value : other;
}

// A class of GEMM on a machine, with its micro-kernel.
struct gemm {
    const struct fovea_machine *machine;
    const struct fovea_beyond *beyond;
    const struct fovea_variant_facts *kernel;
    struct fovea_gemm_class class;
    bool wide; // the tiles are not small ones (fovea_is_small)
};

// The largest k, in steps, for which a strip over all of k fits in L2 (or strip_eighths of it), for 9 to 192 rows of C
// over a transposed B that is packed on the fly. What is prefetched of the next strip, its rows, is contiguous then;
// shorter blocks prefetch lines that are used much later. Zen 3, 12 to 24 rows, K up to 4864: 1.26 to 1.33 times as
// fast as blocks of 512 steps, 32 rows 1.15, K = 8192 1.06. Zen 5, AVX-512, K up to 4864, against blocks of 1024: 20 to
// 48 rows 1.00 to 1.13, 100 to 180 rows 1.03 to 1.07. Not measured: AVX2 with more than 32 rows, and other ISAs.
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

// Block sizes: long k blocks, in which B streams from L2 while a tile of A stays in L1. Two groups of strips fit in L2:
// one being computed, one being prefetched. A group is one wide strip (AVX-512) or two small ones. A's chunk of mc rows
// takes 3/8 or 5/8 of L2, however few rows of long blocks that is (AVX2, L2 of 512 KiB: 72 rows of 1024 steps in place
// of 144 of 512 are 1 to 9 % faster if k is 768 to 3072).
//
// Exceptions: many rows over a far B may use slim_steps. Many rows may use blocks of more than 1024 steps; mc is then
// that of 1024 steps, at least long_rows (144), which is more than L2 holds, or on a mesh (long_rows 0) as many rows as
// L2 holds. Fewer rows over a packed B from memory use packed_steps. With natural_steps and strip_steps the chunks of A
// are those of the usual blocks, as they were measured.
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

// The largest number of rows for which B is read once by one tile, and how many panels it reads side by side then.
// Tiles that ignore lead follow only where none is needed.
struct follow {
    uint32_t rows, panels;
};

static struct follow follow_of(const struct gemm *of, uint32_t lead)
{
    const struct fovea_beyond *const beyond = of->beyond;
    const bool packed = of->class.form == FOVEA_FORM_PACKED, nt = of->class.form == FOVEA_FORM_NT;
    const bool avx512 = of->kernel->isa == FOVEA_ISA_avx512;
    struct follow follow = {0, 0};
    if (of->class.far && (lead == 0 || of->kernel->lead)) {
        follow.rows = packed ? beyond->follow_rows : nt ? 0 : beyond->follow_natural;
        follow.panels = beyond->follow_panels[!packed || of->class.rows != FOVEA_FEW];
    } else if (!of->class.far && avx512 && !nt && beyond->follow_near != 0) {
        follow = (struct follow){beyond->follow_near, beyond->follow_panels[1]};
    }
    return follow;
}

// The most rows of C that registers hold besides the transposed rows of B, in the one variant that the ISA has for
// this, or more where a second pass over a far B is faster than packing it. (AVX2 of Zen 4, nine to 16 rows, 0.75
// to 0.89.)
static uint32_t bt_rows_of(const struct gemm *of)
{
    const enum fovea_isa isa = of->kernel->isa;
    uint32_t rows = 0;
    for (int32_t i = 0; i < FOVEA_VARIANTS && rows == 0; i++) {
        const struct fovea_variant_facts *const facts = &fovea_variant_facts[i];
        rows = facts->slot == FOVEA_SLOT_gemm_bt && facts->isa == isa ? facts->mr : 0;
    }
    return !of->class.far            ? clamp(rows, 0, of->beyond->bt_near[isa == FOVEA_ISA_avx512])
           : isa == FOVEA_ISA_avx512 ? of->beyond->bt_far
                                     : rows;
}

// The largest number of rows for which the micro-kernel for few rows is used. AVX2's streams a B that is near or
// packed. If B is far and packed, two tiles of it, one below the other, are faster than one of another kernel (3 and 4
// rows on Zen 3: 1.1 to 1.25 times as fast, and 0.85 if B is near; 6 rows 0.93). Far natural rows need prefetches,
// which it lacks (Zen 4: 1 to 4 rows 0.5 to 0.65). AVX-512's reads the single stream of a packed B from memory, as with
// a model that is larger than L3 (Zen 5, where follow_rows takes precedence: 8 rows 1.15 times as fast as 9x48, 12 rows
// 1.05 to 1.25, 16 rows 0.96 to 1.06; from L3 0.7 to 0.95). NEON's has more chains of FMAs than 6x16
// (kernels/neon/gemm_f32_2x48.c); a second tile below gains nothing.
static uint32_t thin_rows_of(const struct gemm *of)
{
    const bool far = of->class.far, packed = of->class.form == FOVEA_FORM_PACKED, nt = of->class.form == FOVEA_FORM_NT;
    const uint32_t avx512 = of->beyond->few_rows[of->class.rows >= FOVEA_SEVERAL];
    switch (of->kernel->isa) {
    case FOVEA_ISA_avx2:
        return nt ? 0 : !far ? 2 : packed ? 4 : 0;
    case FOVEA_ISA_avx512:
        return far && packed ? avx512 : 0;
    case FOVEA_ISA_neon:
        return nt || (far && !packed) ? 0 : 2;
    default:
        return 0;
    }
}

// The largest number of rows for which a far packed B is computed by gemm_few. NEON's has four panels side by side for
// one row, three for two and two for three: 16 sums and more, where 6x16 has four of each row. llvm-mca-19, cycles for
// a step of a panel, against 6x16: one row 2.6 for 4.0 on Neoverse N1, 2.0 for 4.0 on N2, 1.8 for 4.0 on V1 and for 2.0
// on V2; two 2.0 for 4.0 on V1 and for 2.3 on V2; three 3.0 for 4.0 on V1; otherwise, and for more rows, of one panel,
// the same. Not measured: memory, which is read faster by several streams elsewhere.
static uint32_t blob_rows_of(const struct gemm *of)
{
    enum { NEON_ROWS = 3 };
    if (!of->class.far || of->class.form != FOVEA_FORM_PACKED) {
        return 0;
    }
    switch (of->kernel->isa) {
    case FOVEA_ISA_avx2:
        return of->beyond->blob_rows[0];
    case FOVEA_ISA_avx512:
        return of->beyond->blob_rows[of->class.rows == FOVEA_FEW ? 1 : 2];
    case FOVEA_ISA_neon:
        return NEON_ROWS;
    default:
        return 0;
    }
}

// Natural rows of B are read in place at least for fewer than three tiles of rows, wide ones four (Zen 5, 28 to 35
// rows: 1.12 to 1.27 times as fast; 19 to 22 rows by small ones 1.06 to 1.18, but 0.61 if rows alias in few sets of
// L1). A product that relies on all of it being in L2 may take as much as L2 holds; by wide tiles more if L3 is nearly
// as fast (direct_of_l2), and with a packed B most, because its strips, unlike rows, never alias in few sets of L1
// (direct_packed).
static struct fovea_gemm_tuning gemm_default(const struct fovea_machine *machine,
                                             const struct fovea_variant_facts *kernel, struct fovea_gemm_class class)
{
    const struct fovea_beyond *const beyond = fovea_beyond_l2(machine);
    const bool wide = !fovea_is_small(kernel->mr, kernel->nr);
    const struct gemm of = {machine, beyond, kernel, class, wide};
    const bool avx512 = kernel->isa == FOVEA_ISA_avx512, avx2 = kernel->isa == FOVEA_ISA_avx2;
    const bool packed = class.form == FOVEA_FORM_PACKED, nt = class.form == FOVEA_FORM_NT;
    const bool far = class.far, far_nn = class.form == FOVEA_FORM_NN && far, few = class.rows == FOVEA_FEW;
    const bool blob = packed || nt; // nt: blobs of smaller elements
    const bool has_avx512 = (machine->cpu & FOVEA_CPU_AVX512) != 0;
    const uint32_t in_place = (wide ? 4 : 3) * kernel->mr;
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
        .pack_rows = wide ? or_else(beyond->pack_rows, in_place) : in_place,
        .split_rows = beyond->split_rows[avx512],
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
        .twice = nt && avx512 ? beyond->bt_twice : 0,
        .follow_rows = follow.rows,
        .follow_panels = follow.panels,
        .chain_rows = avx512 ? beyond->chain_rows : 0,
        .lead = lead,
        .touch = far ? beyond->touch : 0,
        .stream = nt && (avx512 || avx2) ? beyond->stream : 0,
        .turned_steps = beyond->turned_steps,
        .edge_columns = avx512 ? beyond->edge_columns : 0,
        .thin_rows = thin_rows_of(&of),
        .blob_rows = blob_rows_of(&of),
        .quiet_rows = blob && far && (avx512 || avx2) ? beyond->quiet_rows[avx512] : 0,
        .alone = far_nn || (packed && far && avx512) ? beyond->alone : 0,
        .set_rows = beyond->set_rows,
        .pairs = avx2 ? beyond->pairs : 0,
        .bn_alias = far_nn ? beyond->bn_alias[avx512] : 0,
        .bn_split = far_nn ? beyond->bn_split[avx512] : 0,
    };
}

// The tiles of a task: in twice L2 fit, for each of them, its queries and state, the next task's queries and the output
// that are being prefetched, and at times a second state. Streaming these from L3 costs less than reading K and V, and
// copying them where that is done, for fewer tiles (Zen 3, L2 512 KiB, 32 heads of 128 on 8: 4 tiles 1.08 times as fast
// as 2, 8 tiles 1.14; 16 of d = 64 gain 1 to 2 % over 8).
//
// Decoding 14 and 15 queries as rows rather than prefill: Zen 4, AVX2 d = 64 1.05 to 1.12, 1024 keys 0.93, d = 128
// 1.12, 256 keys and more 0.79 to 0.83; AVX2 of Zen 5, d = 64, 64 and 128 keys, 1.7. With 16 queries, AVX-512, d = 64
// 0.89 to 0.96.
static struct fovea_attention_tuning attention_default(const struct fovea_machine *machine, enum fovea_heads heads)
{
    const bool avx512 = (machine->cpu & FOVEA_CPU_AVX512) != 0, wider = heads != FOVEA_HEADS_64;
    const struct fovea_beyond *const beyond = fovea_beyond_l2(machine);
    enum { QUERIES = 48 };
    const uint32_t dim = UINT32_C(64) << heads; // the largest dim of the class, for most models
    const uint32_t tile_bytes = QUERIES * dim * (uint32_t)sizeof(float);
    return (struct fovea_attention_tuning){
        .queries = QUERIES,
        .prefill = avx512 ? beyond->prefill[wider] : 14,
        .prefill_rows = avx512 ? beyond->prefill_rows[wider] : 14,
        .tiles = clamp((uint32_t)(UINT64_C(2) * machine->l2_bytes / (5 * tile_bytes)), 1, beyond->tiles),
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

void fovea_model_prefers(const struct fovea_machine *machine, uint8_t preferred[FOVEA_VARIANTS])
{
    (void)machine, (void)preferred;
#if FOVEA_HAVE_AVX512
    static const int32_t of_halves[] = {FOVEA_VARIANT_gemm_few_f32_halves_avx512,
                                        FOVEA_VARIANT_gemm_bf16_f32_halves_avx512,
                                        FOVEA_VARIANT_gemm_f16_f32_halves_avx512,
                                        FOVEA_VARIANT_gemm_s8_f32_halves_avx512,
                                        FOVEA_VARIANT_attention_decode_f32_halves_avx512,
                                        FOVEA_VARIANT_attention_decode_bf16_f32_halves_avx512,
                                        FOVEA_VARIANT_attention_decode_f16_f32_halves_avx512};
    for (size_t i = 0; i < sizeof of_halves / sizeof *of_halves; i++) {
        preferred[of_halves[i]] = fovea_beyond_l2(machine)->halves != 0;
    }
#endif
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
