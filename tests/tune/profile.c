// SPDX-License-Identifier: Apache-2.0
// tests/tune/profile.c - profiles: what is written is read; anything else is ignored as a whole, with the reason;
// strangers' files are refused; replacing is atomic; no bit changes.
#include "dispatch/adopt.h"
#include "fovea/fovea.h"
#include "tests/support/engines.h"
#include "tests/support/memory.h"
#include "tests/support/operator.h"
#include "tests/tune/random_profile.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char folder[] = "/tmp/fovea_profile_XXXXXX";
static char path[128];
static char text[FOVEA_PROFILE_BYTES_MAX];
static struct fovea_profile profile, back;

static const struct fovea_machine *machine(void)
{
    static struct fovea_engine *engine;
    if (!engine && fovea_engine_create(NULL, &engine))
        exit(1);
    return fovea_engine_machine(engine);
}

static void put(const char *bytes, size_t size, mode_t mode)
{
    FILE *const file = fopen(path, "wb");
    if (!file || fwrite(bytes, 1, size, file) != size || fclose(file) != 0 || chmod(path, mode) != 0) {
        perror(path);
        exit(1);
    }
}

static void test_round_trip(void)
{
    char why[FOVEA_PROFILE_WHY];
    for (uint64_t seed = 0; seed < 50; seed++) {
        random_profile(machine(), machine()->cpu, seed, &profile);
        const size_t size = tune_write(&profile, text);
        const bool bad = !fovea_profile_parse(text, size, &profile.key, &back, why);
        CHECK(!bad, "seed %d: %s", (int)seed, why);
        CHECK(bad || memcmp(&profile, &back, sizeof back) == 0, "seed %d comes back changed", (int)seed);
    }
}

static void test_damage(void)
{
    char why[FOVEA_PROFILE_WHY], copy[FOVEA_PROFILE_BYTES_MAX];
    random_profile(machine(), machine()->cpu, 7, &profile);
    const size_t size = tune_write(&profile, text);
    uint64_t random = 1;
    size_t accepted = 0;
    for (size_t at = 0; at < size; at++) {
        memcpy(copy, text, size);
        copy[at] ^= (char)(1u << test_below(&random, 8));
        accepted += fovea_profile_parse(copy, size, &profile.key, &back, why);
        accepted += fovea_profile_parse(text, at, &profile.key, &back, why);
    }
    CHECK(accepted == 0, "%zu damaged files were accepted", accepted);
}

// A line replaced (NULL: left out), with a right checksum: only what the words mean is wrong then.
static bool parse_with(const char *line, const char *with, char why[FOVEA_PROFILE_WHY])
{
    static char changed[FOVEA_PROFILE_BYTES_MAX];
    tune_write(&profile, text);
    char *const at = strstr(text, line), *const end = at ? strchr(at, '\n') + 1 : NULL;
    CHECK(at, "no line %s in\n%s", line, text);
    if (!at)
        return false;
    *strstr(text, "checksum ") = '\0';
    int length = snprintf(changed, sizeof changed, "%.*s%s%s", (int)(at - text), text, with ? with : "", end);
    length += snprintf(changed + length, sizeof changed - (size_t)length, "checksum %016llx\n",
                       (unsigned long long)fovea_fnv(FOVEA_FNV, changed, (size_t)length));
    return fovea_profile_parse(changed, (size_t)length, &profile.key, &back, why);
}

#define ATTENTION(queries, prefill, beside)                                                                            \
    "attention heads-64 queries=" queries " prefill=" prefill " prefill_rows=16 tiles=4 beside=" beside " near=1 "
#define REST_OF_ATTENTION "again=0 whole=0 decode_into=0 near_tiles=1 into_l1=0 copy_k=2 copy_v=1"
#define EVIDENCE " gain=1.000000 low=1.000000 high=1.000000 p=0.000000 pairs=1\n"

static void test_meaning(void)
{
    static const struct {
        const char *line, *with, *must_say;
    } cases[] = {
        {"fovea-profile 1", "fovea-profile 2\n", "line 1"},
        {"fovea-profile 1", NULL, "line 1"},
        {"library", "library 99.0.0\n", "made by fovea 99.0.0"},
        {"registers", "registers 0000000000000000\n", "other kernels"},
        {"cpu ", "cpu Abacus\n", "another CPU"},
        {"signature", "signature 1\n", "another CPU"},
        {"signature", "signature \n", "line 5"},
        {"features", "features 80000000\n", "other CPU features"},
        {"caches", "caches 1 2 3\n", "other caches"},
        {"caches", "caches 1 2\n", "line 7"},
        {"level", "level lazy\n", "line 9"},
        {"level", "level install \n", "line 9"},
        {"level", "level install\nquarantine relu_f32_scalar differs\n", "line 10"},
        {"level", "level install\nquarantine nonesuch differs\n", "line 10"},
        {"level", "level install\n\n", "line 10"},
        {"level", "level install\nslot softmax\n", "line 10"},
        {"level", "level install\nslot nonesuch relu_f32_scalar gain=1.000000\n", "line 10"},
        {"level",
         "level install\nslot softmax relu_f32_scalar gain=1.000000 low=1.000000 high=1.000000 p=0.000000 "
         "pairs=1\n",
         "line 10"},
        {"level", "level install\n" ATTENTION("0", "1", "0") REST_OF_ATTENTION EVIDENCE, "line 10"},
        {"level", "level install\n" ATTENTION("16", "65", "0") REST_OF_ATTENTION EVIDENCE, "line 10"},
        {"level", "level install\n" ATTENTION("16", "16", "3") REST_OF_ATTENTION EVIDENCE, "line 10"},
        {"level",
         "level install\n" ATTENTION("16", "16", "0") "again=0 whole=0 decode_into=0 near_tiles=1 "
                                                      "into_l1=0 copy_k=0 copy_v=1" EVIDENCE,
         "line 10"},
        {"level",
         "level install\n" ATTENTION("16", "16", "0") "again=0 whole=0 decode_into=0 near_tiles=1 "
                                                      "into_l1=0 copy_k=1 copy_v=18" EVIDENCE,
         "line 10"},
        {"level",
         "level install\n" ATTENTION("16", "16", "0") "again=0 whole=3 decode_into=0 near_tiles=1 "
                                                      "into_l1=0 copy_k=1 copy_v=1" EVIDENCE,
         "line 10"},
        {"level", "level install\nl2 1000\n", "line 10"}, // less than is reported
        {"level", "level install\nl2 1073741825\n", "line 10"},
        {"level", "level install\nl2 1073741824\nl2 1073741824\n", "line 11"},
        {"level", "level install\ncache border near=0" EVIDENCE, "line 10"},
        {"level", "level install\ncache border near=1048577" EVIDENCE, "line 10"},
        {"level", "level install\ncache border near=" EVIDENCE, "line 10"},
        {"level", "level install\ncache border" EVIDENCE, "line 10"},
        {"level", "level install\ncache border far=512" EVIDENCE, "line 10"},
        {"level", "level install\ncache nonesuch near=512" EVIDENCE, "line 10"},
        {"level", "level install\ncache border gemm_f32_4x16_scalar near=512" EVIDENCE, "line 10"},
        {"level", "level install\ncache border near=512" EVIDENCE "cache border near=512" EVIDENCE, "line 11"},
        {"level", "level install\nattention heads-64 queries=16 tiles=4 beside=0 near=1 " REST_OF_ATTENTION EVIDENCE,
         "line 10"},
    };
    char why[FOVEA_PROFILE_WHY];
    memset(&profile, 0, sizeof profile);
    profile.key = fovea_profile_key(machine());
    profile.isa = machine()->cpu;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const bool bad = !parse_with(cases[i].line, cases[i].with, why);
        CHECK(bad && strstr(why, cases[i].must_say), "%s -> %s: %s", cases[i].line, cases[i].with, bad ? why : "taken");
    }
    char digits[40]; // one more than a number of 64 bits has, which must not push out the first
    snprintf(digits, sizeof digits, "registers 1%016llx\n", (unsigned long long)profile.key.registers);
    CHECK(!parse_with("registers", digits, why) && strstr(why, "line 3"), "%s", why);
    // A text that is longer than its place by one byte, the NUL; what is shorter by that is another CPU's.
    char wide[8 + sizeof profile.key.cpu] = "cpu ";
    memset(wide + 4, 'x', sizeof profile.key.cpu);
    strcpy(wide + 4 + sizeof profile.key.cpu, "\n");
    CHECK(!parse_with("cpu ", wide, why) && strstr(why, "line 4"), "%s", why);
    strcpy(wide + 4 + sizeof profile.key.cpu - 1, "\n");
    CHECK(!parse_with("cpu ", wide, why) && strstr(why, "another CPU"), "%s", why);
    CHECK(!parse_with("library", "library 0123456789abcdef\n", why) && strstr(why, "line 2"), "%s", why);
    const char *const good = "level install\nattention heads-64 queries=16 prefill=64 prefill_rows=64 tiles=4 beside=0 "
                             "near=1048576 again=64 "
                             "whole=2 decode_into=0 near_tiles=1 into_l1=0 copy_k=17 copy_v=1" EVIDENCE;
    CHECK(parse_with("level", good, why) && back.has[fovea_attention_number(FOVEA_HEADS_64)], "%s", why);
    CHECK(!parse_with("level",
                      "level install\n" ATTENTION("16", "64", "0") REST_OF_ATTENTION EVIDENCE ATTENTION("16", "64", "0")
                          REST_OF_ATTENTION EVIDENCE,
                      why),
          "a class twice");
    CHECK(parse_with("level", "level install\ncache border near=640" EVIDENCE, why) && back.has[FOVEA_CLASS_CACHE] &&
              back.tuned[FOVEA_CLASS_CACHE].kernel == -1 && back.tuned[FOVEA_CLASS_CACHE].values[0] == 640,
          "%s", why);
}

// An engine with options.profile; what it says of it.
static struct fovea_engine *engine_of(const char *file, const char *isa, const char *pin, const char *exclude)
{
    struct fovea_engine_options options = FOVEA_ENGINE_OPTIONS_INIT;
    struct fovea_engine *engine = NULL;
    options.profile = file;
    options.isa = isa;
    options.pin = pin;
    options.exclude = exclude;
    CHECK(fovea_engine_create(&options, &engine) == FOVEA_OK, "an engine with %s", file);
    return engine;
}

static void expect(const char *must_say, bool tuned)
{
    struct fovea_engine *const engine = engine_of(path, NULL, NULL, NULL);
    const struct fovea_kernels *const kernels = fovea_engine_kernels(engine);
    const struct fovea_tuned got = fovea_tuned_get(kernels, fovea_attention_number(FOVEA_HEADS_64));
    const char *const said = fovea_engine_profile(engine);
    CHECK(strstr(said, must_say), "\"%s\" lacks \"%s\"", said, must_say);
    CHECK((got.values[0] == 32) == tuned, "queries %u, %s", got.values[0], must_say);
    fovea_engine_destroy(engine);
}

static void make_profile(void)
{
    const uint32_t heads = fovea_attention_number(FOVEA_HEADS_64);
    memset(&profile, 0, sizeof profile);
    profile.key = fovea_profile_key(machine());
    profile.isa = machine()->cpu;
    profile.level = FOVEA_LEVEL_INSTALL;
    profile.has[heads] = 1;
    profile.tuned[heads] = fovea_tuned_default(machine(), heads, -1);
    profile.tuned[heads].values[0] = 32; // queries
}

static void test_files(void)
{
    char why[FOVEA_PROFILE_WHY];
    make_profile();
    CHECK(tune_save(path, false, &profile, why), "%s", why);
    expect("level install, 1 class tuned", 1);
    const size_t size = tune_write(&profile, text);
    put(text, size, 0666);
    expect("others may write it", 0);
    put(text, size, 0664); // a person's own group may; of a system's file it may not
    expect("level install", 1);
    put(text, size - 1, 0644);
    expect("checksum", 0);
    put("", 0, 0644);
    expect("checksum", 0);
    static char long_text[FOVEA_PROFILE_BYTES_MAX + 1];
    put(long_text, sizeof long_text, 0644);
    expect("too long", 0);
    unlink(path);
    expect("cannot be opened: No such file or directory", 0);
    CHECK(mkfifo(path, 0600) == 0, "mkfifo");
    expect("not a file", 0);
    unlink(path);
    CHECK(mkdir(path, 0700) == 0, "mkdir");
    expect("not a file", 0);
    rmdir(path);
    struct fovea_profile_place place = {"", true, false};
    snprintf(place.path, sizeof place.path, "%s", path);
    put(text, size, 0664);
    CHECK(fovea_profile_read(&place, NULL, text, &back, why) == FOVEA_PROFILE_REFUSED && strstr(why, "others"),
          "a system file: %s", why);
    chmod(path, 0644);
    const enum fovea_profile_found has = fovea_profile_read(&place, NULL, text, &back, why);
    CHECK(geteuid() == 0 ? has == FOVEA_PROFILE_GOOD : has == FOVEA_PROFILE_REFUSED && strstr(why, "another user"),
          "a system file: %s", why);
    unlink(path);
    CHECK(!tune_save("/proc/nonesuch/profile", true, &profile, why) && *why, "saving into /proc");
}

static void test_places(void)
{
    struct fovea_profile_place places[FOVEA_PROFILE_PLACES];
    setenv("FOVEA_PROFILE", "/a/b", 1);
    CHECK(fovea_profile_places(places) == 1 && strcmp(places[0].path, "/a/b") == 0, "%s", places[0].path);
    setenv("FOVEA_PROFILE", "none", 1);
    CHECK(fovea_profile_places(places) == 0, "none");
    unsetenv("FOVEA_PROFILE");
    setenv("XDG_CONFIG_HOME", folder, 1);
    setenv("HOME", "/home/x", 1);
    CHECK(fovea_profile_places(places) == 3 && strncmp(places[0].path, folder, strlen(folder)) == 0 &&
              places[1].system && places[2].system && !places[0].system,
          "%s", places[0].path);
    unsetenv("XDG_CONFIG_HOME");
    CHECK(fovea_profile_places(places) == 3 && strcmp(places[0].path, "/home/x/.config/fovea/profile") == 0, "%s",
          places[0].path);
    setenv("HOME", "relative", 1);
    CHECK(fovea_profile_places(places) == 2, "a relative HOME");
    setenv("HOME", folder, 1);

    // The engine finds the user's profile.
    char place[160], why[FOVEA_PROFILE_WHY];
    snprintf(place, sizeof place, "%s/.config/fovea/profile", folder);
    make_profile();
    CHECK(!tune_save(place, false, &profile, why) && !tune_can_save(place, false, why) && *why, "without its folder");
    CHECK(tune_can_save(place, true, why) && !tune_save(place, false, &profile, why), "it is asked, and nothing made");
    CHECK(tune_save(place, true, &profile, why), "%s", why);
    struct fovea_engine *engine = engine_of(NULL, NULL, NULL, NULL);
    CHECK(strstr(fovea_engine_profile(engine), place), "%s", fovea_engine_profile(engine));
    fovea_engine_destroy(engine);
    engine = engine_of("none", NULL, NULL, NULL);
    CHECK(strncmp(fovea_engine_profile(engine), "none", 4) == 0, "%s", fovea_engine_profile(engine));
    fovea_engine_destroy(engine);
    unlink(place);
    setenv("FOVEA_PROFILE", "none", 1);
}

// While one process replaces the file again and again, another always reads a whole one.
static void test_atomic(void)
{
    char why[FOVEA_PROFILE_WHY];
    make_profile();
    CHECK(tune_save(path, false, &profile, why), "%s", why);
    const pid_t child = fork();
    if (child == 0)
        for (;;) {
            profile.has[0] = !profile.has[0];
            profile.tuned[0] = fovea_tuned_default(machine(), 0, fovea_variant_find("gemm_f32_4x16_scalar", 20));
            tune_save(path, false, &profile, why);
        }
    int bad = 0;
    for (int i = 0; i < 300; i++)
        bad += !tune_load(path, NULL, &back, why);
    CHECK(bad == 0, "%d of 300 reads: %s", bad, why);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    CHECK(tune_load(path, NULL, &back, why), "after a kill: %s", why);
}

// A number of all GEMM classes of the profile that has them.
static void set_all(const char *name, uint32_t value)
{
    uint32_t count = 0, at = 0;
    const struct fovea_tunable *const tunables = fovea_tunables(FOVEA_TUNED_GEMM, &count);
    while (at + 1 < count && strcmp(tunables[at].name, name) != 0)
        at++;
    for (uint32_t class = 0; class < FOVEA_GEMM_CLASSES; class ++)
        profile.tuned[class].values[at] = value;
}

static void test_bits_of(size_t m, size_t n, size_t k, enum fovea_transpose trans_b)
{
    struct fovea_engine *const scalar = test_engine("scalar", NULL);
    float *const a = test_floats(m * k, TEST_HIGH), *const b = test_floats(k * n, TEST_HIGH);
    float *const want = test_floats(m * n, TEST_HIGH), *const got = test_floats(m * n, TEST_HIGH);
    uint64_t random = 3;
    for (size_t i = 0; i < m * k; i++)
        a[i] = test_float(&random);
    for (size_t i = 0; i < k * n; i++)
        b[i] = test_float(&random);
    struct fovea_gemm_desc desc = FOVEA_GEMM_DESC_INIT;
    desc.m = m, desc.n = desc.ldc = n, desc.k = desc.lda = k;
    desc.trans_b = trans_b, desc.ldb = trans_b == FOVEA_TRANS ? k : n;
    struct fovea_gemm_args args = {.a = a, .b = b, .c = want, .m = m};
    CHECK(!test_run(&test_gemm, scalar, &desc, &args, TEST_SERIAL, 1), "the scalar path");
    args.c = got;
    for (uint64_t seed = 0; seed < 40; seed++) {
        struct fovea_engine *engine = NULL;
        random_profile(machine(), machine()->cpu, seed, &profile);
        if (seed % 4 == 0) // B of many rows is kept in a room in which A would not fit, and not at all
            set_all("pass_rows", seed % 8 ? 1 << 20 : 0), set_all("bt_rows", 1 << 20);
        CHECK(!fovea_engine_create_with(NULL, &profile, &engine), "seed %d", (int)seed);
        CHECK(!test_run(&test_gemm, engine, &desc, &args, (enum test_way)(seed % TEST_WAYS), seed), "seed %d",
              (int)seed);
        CHECK_SAME(want, got, m * n, "profile %d, %zux%zux%zu", (int)seed, m, n, k);
        fovea_engine_destroy(engine);
    }
    fovea_engine_destroy(scalar);
    test_memory_reset();
}

static void test_bits(void)
{
    // Few and many rows, C wide and narrow: what is kept of B and of A has rooms of different sizes.
    static const size_t shapes[][3] = {{300, 100, 60}, {300, 40, 130}, {70, 100, 130}, {7, 200, 90}};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        test_bits_of(shapes[i][0], shapes[i][1], shapes[i][2], FOVEA_NO_TRANS);
        test_bits_of(shapes[i][0], shapes[i][1], shapes[i][2], FOVEA_TRANS);
    }
}

int main(void)
{
    if (!mkdtemp(folder))
        return 1;
    snprintf(path, sizeof path, "%s/profile", folder);
    test_plain_environment();
    test_round_trip();
    test_damage();
    test_meaning();
    test_files();
    test_places();
    test_atomic();
    test_bits();
    char command[80];
    snprintf(command, sizeof command, "rm -r %s", folder);
    CHECK(system(command) == 0, "%s", command);
    return test_done();
}
