// SPDX-License-Identifier: Apache-2.0
// tests/unit/model.c - the defaults of every class and micro-kernel are numbers that a profile may have, on any
// machine.
#include "dispatch/cpu.h"
#include "dispatch/resolve.h"
#include "dispatch/tuning.h"
#include "tests/support/test.h"

#include <string.h>

// A number stands for one class, and the table of names has the order of the numbers.
static void test_numbers(void)
{
    static const char *const rows[] = {"few", "several", "some", "many"}, *const forms[] = {"packed", "nn", "nt"},
                             *const heads[] = {"heads-64", "heads-128", "heads-wide"};
    for (uint32_t number = 0; number < FOVEA_TUNED_CLASSES; number++) {
        const struct fovea_class of = fovea_class(number);
        const uint32_t back = of.kind == FOVEA_TUNED_GEMM        ? fovea_gemm_number(of.gemm)
                              : of.kind == FOVEA_TUNED_ATTENTION ? fovea_attention_number(of.heads)
                              : of.kind == FOVEA_TUNED_CACHE     ? (uint32_t)FOVEA_CLASS_CACHE
                                                                 : fovea_slot_number(of.slot);
        char name[64] = "";
        if (of.kind == FOVEA_TUNED_GEMM) {
            snprintf(name, sizeof name, "%s-%s-%s", rows[of.gemm.rows], of.gemm.far ? "far" : "near",
                     forms[of.gemm.form]);
        } else if (of.kind == FOVEA_TUNED_ATTENTION) {
            snprintf(name, sizeof name, "%s", heads[of.heads]);
        }
        CHECK(back == number, "class %u is %u", (unsigned)number, (unsigned)back);
        CHECK(*name == '\0' || strcmp(name, fovea_class_names[number].name) == 0, "class %u is %s, not %s",
              (unsigned)number, name, fovea_class_names[number].name);
    }
}

static void test_class(const struct fovea_machine *machine, uint32_t class, int32_t kernel)
{
    const struct fovea_tuned tuned = fovea_tuned_default(machine, class, kernel);
    uint32_t count = 0;
    const struct fovea_tunable *const tunables = fovea_tunables(fovea_class(class).kind, &count);
    for (uint32_t i = 0; i < count; i++) {
        CHECK(tuned.values[i] >= tunables[i].smallest && tuned.values[i] <= tunables[i].largest,
              "%s, L2 %u KiB, hashed %u, wide %u: %s is %u", fovea_class_names[class].name, machine->l2_bytes >> 10,
              machine->l3_hashed, machine->wide512, tunables[i].name, tuned.values[i]);
    }
}

static void test_machine(const struct fovea_machine *machine)
{
    for (uint32_t class = 0; class < FOVEA_TUNED_CLASSES; class ++) {
        const enum fovea_tuned_operator kind = fovea_class(class).kind;
        if (kind == FOVEA_TUNED_ATTENTION || kind == FOVEA_TUNED_CACHE) {
            test_class(machine, class, -1);
        }
        for (int32_t i = 0; i < FOVEA_VARIANTS && kind == FOVEA_TUNED_GEMM; i++) {
            if (fovea_variant_facts[i].slot == FOVEA_SLOT_gemm) {
                test_class(machine, class, i);
            }
        }
    }
}

static uint32_t number_of(enum fovea_tuned_operator kind, const char *name)
{
    uint32_t count = 0, i = 0;
    const struct fovea_tunable *const tunables = fovea_tunables(kind, &count);
    while (i < count && strcmp(tunables[i].name, name) != 0) {
        i++;
    }
    CHECK(i < count, "no number is called %s", name);
    return i < count ? i : 0;
}

static uint32_t number(const char *name)
{
    return number_of(FOVEA_TUNED_GEMM, name);
}

static uint32_t of_attention(const struct fovea_machine *machine, const char *name)
{
    const uint32_t heads = fovea_attention_number(FOVEA_HEADS_64);
    return fovea_tuned_default(machine, heads, -1).values[number_of(FOVEA_TUNED_ATTENTION, name)];
}

struct fetches {
    uint32_t into_l1, decode_into, copy_k, copy_v;
};

static void test_fetches(const struct fovea_machine *machine, struct fetches expected, const char *text)
{
    const struct fetches got = {of_attention(machine, "into_l1"), of_attention(machine, "decode_into"),
                                of_attention(machine, "copy_k"), of_attention(machine, "copy_v")};
    CHECK(memcmp(&got, &expected, sizeof got) == 0, "%s: into_l1 %u, decode_into %u, copy_k %u, copy_v %u", text,
          (unsigned)got.into_l1, (unsigned)got.decode_into, (unsigned)got.copy_k, (unsigned)got.copy_v);
}

// The largest L2 that can be given: twice as many bytes are no 32-bit number.
static void test_largest(void)
{
    struct fovea_machine machine = {.l1d_bytes = 32 << 10, .l2_bytes = 1u << 30};
    const uint32_t tiles = of_attention(&machine, "tiles");
    machine.l2_bytes = 1u << 31;
    CHECK(of_attention(&machine, "tiles") == tiles, "%u tiles of a task, and with twice the L2 %u", (unsigned)tiles,
          (unsigned)of_attention(&machine, "tiles"));
}

struct follows {
    uint32_t rows, panels, lead;
};

// A number of a class of GEMM by the model.
static uint32_t of_gemm(const struct fovea_machine *machine, struct fovea_gemm_class class, int32_t kernel,
                        const char *name)
{
    return fovea_tuned_default(machine, fovea_gemm_number(class), kernel).values[number(name)];
}

static void test_follows(const struct fovea_machine *machine, struct fovea_gemm_class class, int32_t kernel,
                         struct follows expected, const char *text)
{
    const struct follows got = {of_gemm(machine, class, kernel, "follow_rows"),
                                of_gemm(machine, class, kernel, "follow_panels"),
                                of_gemm(machine, class, kernel, "lead")};
    CHECK(memcmp(&got, &expected, sizeof got) == 0, "%s, class %u: follow_rows %u, follow_panels %u, lead %u", text,
          (unsigned)fovea_gemm_number(class), (unsigned)got.rows, (unsigned)got.panels, (unsigned)got.lead);
}

static const struct fovea_gemm_class few_near_packed = {FOVEA_FEW, false, FOVEA_FORM_PACKED},
                                     few_far_packed = {FOVEA_FEW, true, FOVEA_FORM_PACKED},
                                     few_far_nn = {FOVEA_FEW, true, FOVEA_FORM_NN},
                                     few_far_nt = {FOVEA_FEW, true, FOVEA_FORM_NT},
                                     many_far_packed = {FOVEA_MANY, true, FOVEA_FORM_PACKED};

// Which is KiB of B where it is near, and 0 where it is far or transposed.
static void test_along(const struct fovea_machine *machine, int32_t kernel, const uint32_t near[2], const char *text)
{
    for (uint32_t c = 0; fovea_class(c).gemm.rows == FOVEA_FEW; c++) {
        const struct fovea_gemm_class class = fovea_class(c).gemm;
        const uint32_t along = of_gemm(machine, class, kernel, "along");
        CHECK(along == (class.far || class.form == FOVEA_FORM_NT ? 0 : near[class.form]), "%s, class %u: along %u",
              text, (unsigned)c, (unsigned)along);
    }
}

// Which is KiB, so many times those of L2, whether B is near or far.
static void test_direct(const struct fovea_machine *machine, int32_t kernel, const uint32_t times[FOVEA_FORMS],
                        const char *text)
{
    for (uint32_t c = 0; fovea_class(c).gemm.rows == FOVEA_FEW; c++) {
        const struct fovea_gemm_class class = fovea_class(c).gemm;
        const uint32_t direct = of_gemm(machine, class, kernel, "direct");
        CHECK(direct == (machine->l2_bytes >> 10) * times[class.form], "%s, class %u: direct %u", text, (unsigned)c,
              (unsigned)direct);
    }
}

enum { ANY = 1 << 20 };
static const struct {
    const char *text;
    uint32_t hashed, wide, fetch_k, half_rows, kc, whole, alone;
    uint32_t along[2];            // KiB, of a near B, packed and natural
    uint32_t direct[FOVEA_FORMS]; // in L2s
    struct fetches fetches;
    struct follows packed, natural, near;
} cases[] = {
    // clang-format off
    {"32K,1M,32M,hashed", 1, 0, 640, 0, 1024, 0, 0, {0, 0}, {1, 1, 1},
     {0, 0, 2, 1}, {0}, {0}, {0}},
    {"32K,1M,32M,wide", 0, 1, ANY, 0, 1024, 1, 1, {0, 768}, {16, 4, 1},
     {0, 1, 17, 17}, {16, 1, 160}, {12, 4, 112}, {6, 4, 0}},
    {"32K,1M,32M,plain", 0, 0, ANY, 2, 8192, 2, 0, {0, 0}, {1, 2, 1},
     {1, 0, 17, 17}, {4, 0, 0}, {0, 4, 0}, {3, 4, 0}},
    {"32K,1M,32M,mesh", 1, 1, 0, 0, 1024, 0, 0, {512, 512}, {1, 1, 1},
     {0, 2, 17, 6}, {12, 4, 112}, {0, 4, 112}, {6, 4, 0}},
    // clang-format on
};

// Blocks of many rows over a far packed B, rows of A that are read in place though they meet, rows that read whole rows
// of a natural B, and V of wider heads.
static void test_blocks(void)
{
    static const struct {
        const char *text;
        uint32_t kc, mc, set_rows, split_kib, bn_rows, bn_alias, bn_split, copy_v, again;
    } kinds[] = {{"32K,1M,32M,plain", 4096, 144, 9, 0, 14, 4, 16, 17, 6},
                 {"32K,1M,32M,wide", 2048, 144, 9, 0, 2, 2, 0, 17, 6},
                 {"32K,1M,32M,hashed", 1024, 90, 5, 0, 0, 0, 0, 1, 0},
                 {"48K,2M,480M,mesh", 2048, 90, 9, 48, 64, 64, 0, 3, 2}};
    const int32_t wide = fovea_variant_find("gemm_f32_9x48_avx512", 20);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds && wide >= 0; i++) {
        struct fovea_machine machine = {.cpu = ~0u};
        CHECK(fovea_cache_from_text(kinds[i].text, &machine), "%s", kinds[i].text);
        const struct fovea_tuned heads = fovea_tuned_default(&machine, fovea_attention_number(FOVEA_HEADS_128), -1);
        const uint32_t got[] = {of_gemm(&machine, many_far_packed, wide, "kc"),
                                of_gemm(&machine, many_far_packed, wide, "mc"),
                                of_gemm(&machine, many_far_packed, wide, "set_rows"),
                                of_gemm(&machine, many_far_packed, wide, "split_kib"),
                                of_gemm(&machine, few_far_nn, wide, "bn_rows"),
                                of_gemm(&machine, few_far_nn, wide, "bn_alias"),
                                of_gemm(&machine, few_far_nn, wide, "bn_split"),
                                heads.values[number_of(FOVEA_TUNED_ATTENTION, "copy_v")],
                                heads.values[number_of(FOVEA_TUNED_ATTENTION, "again")]};
        CHECK(memcmp(got, &kinds[i].kc, sizeof got) == 0,
              "%s: kc %u, mc %u, set_rows %u, split_kib %u, bn_rows %u, bn_alias %u, bn_split %u, copy_v %u, again %u",
              kinds[i].text, (unsigned)got[0], (unsigned)got[1], (unsigned)got[2], (unsigned)got[3], (unsigned)got[4],
              (unsigned)got[5], (unsigned)got[6], (unsigned)got[7], (unsigned)got[8]);
    }
}

// AVX2 alone over an L3 that is not hashed has numbers of its own; with AVX-512, or hashed, AVX2's are others.
static void test_lean(void)
{
    enum { KINDS = 5, NUMBERS = 11 };
    static const struct {
        const char *text;
        uint32_t cpu, numbers[NUMBERS];
    } kinds[KINDS] = {{"32K,512K,32M,plain", FOVEA_CPU_AVX2, {2048, 324, 48, 512, 32, 32, 4, 1, ANY, 0, 0}},
                      {"32K,512K,32M,plain", ~0u, {1024, 72, 32, 1024, 64, 64, 0, 0, ANY, 0, 3}},
                      {"32K,512K,32M,hashed", FOVEA_CPU_AVX2, {1024, 72, 32, 0, 0, 0, 0, 0, 64, 0, 0}},
                      {"48K,2M,36M,mesh", FOVEA_CPU_AVX2, {2048, 144, 32, 0, 96, 96, 0, 1, ANY, 7, 6}},
                      {"48K,2M,480M,mesh", ~0u, {2048, 144, 32, 0, 96, 96, 0, 1, ANY, 7, 6}}};
    static const struct {
        struct fovea_gemm_class class;
        const char *name;
    } of[NUMBERS] = {
        {{FOVEA_MANY, true, FOVEA_FORM_PACKED}, "kc"},         {{FOVEA_MANY, true, FOVEA_FORM_PACKED}, "mc"},
        {{FOVEA_MANY, true, FOVEA_FORM_PACKED}, "nc"},         {{FOVEA_MANY, true, FOVEA_FORM_NN}, "pass_rows"},
        {{FOVEA_FEW, true, FOVEA_FORM_NN}, "bn_rows"},         {{FOVEA_FEW, true, FOVEA_FORM_NN}, "bn_alias"},
        {{FOVEA_FEW, true, FOVEA_FORM_NN}, "alone"},           {{FOVEA_FEW, false, FOVEA_FORM_PACKED}, "pairs"},
        {{FOVEA_FEW, false, FOVEA_FORM_PACKED}, "split_rows"}, {{FOVEA_FEW, true, FOVEA_FORM_NT}, "stream"},
        {{FOVEA_MANY, true, FOVEA_FORM_PACKED}, "blob_rows"}};
    const int32_t kernel = fovea_variant_find("gemm_f32_6x16_avx2", 18);
    for (size_t i = 0; i < KINDS && kernel >= 0; i++) {
        struct fovea_machine machine = {.cpu = kinds[i].cpu};
        CHECK(fovea_cache_from_text(kinds[i].text, &machine), "%s", kinds[i].text);
        for (size_t j = 0; j < NUMBERS; j++) {
            const uint32_t got = of_gemm(&machine, of[j].class, kernel, of[j].name);
            CHECK(got == kinds[i].numbers[j], "%s, cpu %x, class %u: %s is %u", kinds[i].text, (unsigned)machine.cpu,
                  (unsigned)fovea_gemm_number(of[j].class), of[j].name, (unsigned)got);
        }
    }
}

// Rows of a far B that a kernel made for few takes: of a blob, and of how many nothing is prefetched, also of smaller
// elements, whose classes are those of a transposed B; and of such a B, read in place, and whether one row asks for it
// twice. And rows that a micro-kernel made for few of a near B takes.
static void test_few_rows(void)
{
    enum { NUMBERS = 9 };
    static const struct {
        const char *text, *kernel;
        uint32_t numbers[NUMBERS];
    } kinds[] = {{"32K,1M,32M,plain", "gemm_f32_9x48_avx512", {5, 12, 6, 6, 0, 21, 0, 1, 0}},
                 {"32K,1M,32M,plain", "gemm_f32_6x16_avx2", {3, 3, 2, 2, 0, 8, 0, 0, 2}},
                 {"32K,1M,32M,plain", "gemm_f32_4x16_scalar", {0, 0, 0, 0, 0, 4, 0, 0, 0}},
                 {"32K,1M,32M,wide", "gemm_f32_9x48_avx512", {0, 0, 0, 0, 0, 16, 0, 0, 0}},
                 {"32K,1M,32M,wide", "gemm_f32_6x16_avx2", {6, 6, 0, 0, 0, 8, 0, 0, 2}},
                 {"32K,1M,32M,hashed", "gemm_f32_9x48_avx512", {0, 0, 0, 0, 0, 16, 0, 0, 0}},
                 {"48K,2M,480M,mesh", "gemm_f32_9x48_avx512", {12, 12, 0, 0, 0, 16, 0, 0, 0}},
                 {"48K,2M,480M,mesh", "gemm_f32_6x16_avx2", {6, 6, 0, 0, 0, 8, 0, 0, 2}},
                 {"64K,1M,32M,plain", "gemm_f32_6x16_neon", {3, 3, 0, 0, 0, 6, 0, 0, 2}}};
    static const struct {
        struct fovea_gemm_class class;
        const char *name;
    } of[NUMBERS] = {
        {{FOVEA_FEW, true, FOVEA_FORM_PACKED}, "blob_rows"},   {{FOVEA_SEVERAL, true, FOVEA_FORM_PACKED}, "blob_rows"},
        {{FOVEA_FEW, true, FOVEA_FORM_PACKED}, "quiet_rows"},  {{FOVEA_FEW, true, FOVEA_FORM_NT}, "quiet_rows"},
        {{FOVEA_FEW, false, FOVEA_FORM_PACKED}, "quiet_rows"}, {{FOVEA_SOME, true, FOVEA_FORM_NT}, "bt_rows"},
        {{FOVEA_FEW, true, FOVEA_FORM_PACKED}, "bt_rows"},     {{FOVEA_FEW, true, FOVEA_FORM_NT}, "twice"},
        {{FOVEA_FEW, false, FOVEA_FORM_NN}, "thin_rows"}};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        struct fovea_machine machine = {.cpu = ~0u};
        const int32_t kernel = fovea_variant_find(kinds[i].kernel, strlen(kinds[i].kernel));
        CHECK(fovea_cache_from_text(kinds[i].text, &machine), "%s", kinds[i].text);
        for (size_t j = 0; j < NUMBERS && kernel >= 0; j++) {
            const uint32_t got = of_gemm(&machine, of[j].class, kernel, of[j].name);
            CHECK(got == kinds[i].numbers[j], "%s, %s, class %u: %s is %u", kinds[i].text, kinds[i].kernel,
                  (unsigned)fovea_gemm_number(of[j].class), of[j].name, (unsigned)got);
        }
    }
}

// Which cores compute 512 bits at once.
static void test_wide(void)
{
    static const struct {
        const char *core;
        bool fp512, told, avx_vnni, avx512, intel, wide;
    } cores[] = {{"Zen 5", true, true, true, true, false, true},
                 {"Zen 5, a guest", false, false, true, true, false, true},
                 {"Zen 5 at 256 bits", false, true, true, true, false, false},
                 {"Zen 5, a guest without AVX-512", false, false, true, false, false, false},
                 {"Zen 4, a guest", false, false, false, true, false, false},
                 {"Zen 3", false, false, false, false, false, false},
                 {"Sapphire Rapids", false, false, true, true, true, true},
                 {"Alder Lake", false, false, true, false, true, true},
                 {"Cascade Lake", false, false, false, true, true, false},
                 {"Skylake", false, false, false, false, true, false}};
    for (size_t i = 0; i < sizeof cores / sizeof *cores; i++)
        CHECK(fovea_cpu_is_wide(cores[i].fp512, cores[i].told, cores[i].avx_vnni, cores[i].avx512, cores[i].intel) ==
                  cores[i].wide,
              "%s: not %d", cores[i].core, cores[i].wide);
}

// What CPUID says of the core and its L3, or a person, decides what is prefetched, and what is left to L2.
static void test_sets(void)
{
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct fovea_machine machine = {.cpu = ~0u, .l3_hashed = 2, .wide512 = 2};
        CHECK(fovea_cache_from_text(cases[i].text, &machine), "%s", cases[i].text);
        CHECK(machine.l3_hashed == cases[i].hashed && machine.wide512 == cases[i].wide, "%s", cases[i].text);
        const int32_t scalar = fovea_variant_find("gemm_f32_4x16_scalar", 20);
        const uint32_t fetch_k = of_gemm(&machine, few_far_nt, scalar, "fetch_k");
        CHECK(fetch_k == cases[i].fetch_k, "%s: fetch_k %u", cases[i].text, fetch_k);
        const uint32_t turned = of_gemm(&machine, few_far_nt, scalar, "turned_steps");
        CHECK((turned == 0) == (cases[i].hashed && cases[i].wide), "%s: turned_steps %u", cases[i].text, turned);
        const int32_t wide = fovea_variant_find("gemm_f32_9x48_avx512", 20);
        const struct follows near = cases[i].near, packed = cases[i].packed, natural = cases[i].natural;
        if (wide >= 0) {
            test_along(&machine, wide, cases[i].along, cases[i].text);
            test_direct(&machine, wide, cases[i].direct, cases[i].text);
            test_follows(&machine, few_near_packed, wide, near, cases[i].text);
            test_follows(&machine, few_far_packed, wide, packed, cases[i].text);
            test_follows(&machine, few_far_nn, wide, natural, cases[i].text);
        }
        test_direct(&machine, scalar, (const uint32_t[FOVEA_FORMS]){1, 1, 1}, cases[i].text); // tiles of one panel
        // Tiles that have no lead follow only where none is needed.
        const struct follows narrow = {packed.lead != 0 ? 0 : packed.rows, packed.lead != 0 ? 0 : packed.panels,
                                       packed.lead};
        test_follows(&machine, few_far_packed, scalar, narrow, cases[i].text);
        const uint32_t kc = wide < 0 ? cases[i].kc : of_gemm(&machine, few_far_packed, wide, "kc");
        CHECK(kc == cases[i].kc, "%s: kc %u", cases[i].text, kc);
        const uint32_t half_rows = wide < 0 ? cases[i].half_rows : of_gemm(&machine, few_far_nt, wide, "half_rows");
        CHECK(half_rows == cases[i].half_rows && of_gemm(&machine, few_far_nt, scalar, "half_rows") == 0,
              "%s: half_rows %u", cases[i].text, half_rows);
        test_fetches(&machine, cases[i].fetches, cases[i].text);
        const int32_t best = wide >= 0 ? wide : scalar;
        const uint32_t alone = of_gemm(&machine, few_far_nn, best, "alone"),
                       packed_alone = of_gemm(&machine, few_far_packed, best, "alone");
        const uint32_t alias_kc = of_gemm(&machine, few_far_nn, best, "alias_kc"),
                       packed_kc = of_gemm(&machine, few_far_packed, best, "alias_kc");
        CHECK(alias_kc == (wide >= 0 && cases[i].wide && !cases[i].hashed ? 512 : ANY) && packed_kc == ANY,
              "%s: alias_kc %u, packed %u", cases[i].text, (unsigned)alias_kc, (unsigned)packed_kc);
        CHECK(alone == cases[i].alone && packed_alone == (wide >= 0 ? alone : 0), "%s: alone %u, packed %u",
              cases[i].text, (unsigned)alone, (unsigned)packed_alone);
        const uint32_t whole = of_attention(&machine, "whole");
        CHECK(whole == cases[i].whole, "%s: whole %u", cases[i].text, (unsigned)whole);
        const uint32_t beside = of_attention(&machine, "beside");
        CHECK(beside == (cases[i].hashed && cases[i].wide ? 1 : 2), "%s: beside %u", cases[i].text, (unsigned)beside);
    }
    struct fovea_machine machine = {.l3_hashed = 1, .wide512 = 1};
    CHECK(fovea_cache_from_text("32K,1M", &machine) && machine.l3_hashed == 1 && machine.wide512 == 1, "as it was");
    static const char *const wrong[] = {"",         "32K",      "32KiB,1M", "32k,1M", " 32K,1M", "32K, 1M",   "-1K,1M",
                                        "32K,1.5M", "32K,1M,x", "32K,,1M",  "2K,1M",  "32,1024", "32K,9999M", "K,M"};
    static const char *const wrong_kinds[] = {"32K,1M,32M,", "32K,1M,32M,meshed", "32K,1M,32M,plain,"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        CHECK(!fovea_cache_from_text(wrong[i], &machine), "\"%s\" was taken", wrong[i]);
    for (size_t i = 0; i < sizeof wrong_kinds / sizeof *wrong_kinds; i++)
        CHECK(!fovea_cache_from_text(wrong_kinds[i], &machine), "\"%s\" was taken", wrong_kinds[i]);
}

int main(void)
{
    test_numbers();
    test_largest();
    test_wide();
    test_sets();
    test_blocks();
    test_lean();
    test_few_rows();
    for (uint32_t l2 = 4u << 10; l2 <= 1u << 30; l2 *= 2) {
        for (uint32_t set = 0; set < 5; set++) {
            const struct fovea_machine machine = {.cpu = set == 4 ? FOVEA_CPU_AVX2 : 0,
                                                  .l1d_bytes = 32 << 10,
                                                  .l2_bytes = l2,
                                                  .l3_bytes = 32 << 20,
                                                  .l3_hashed = set & 1,
                                                  .wide512 = set >> 1 & 1};
            test_machine(&machine);
        }
    }
    return test_done();
}
