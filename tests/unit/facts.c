// SPDX-License-Identifier: Apache-2.0
// tests/unit/facts.c - plans that do something else have other facts, also where their words are the same.
#include "ops/facts.h"
#include "fovea/fovea.h"
#include "tests/support/engines.h"
#include "tests/support/test.h"

enum { TEXT = FOVEA_EXPLAIN_BYTES };

// Eight rows over a natural B, a few of its rows at a time and as many columns as leave C in half of what the border
// says, of 16384 columns 4096 or all.
static void test_gemm(const char *isa)
{
    enum { M = 8, N = 16384, K = 512, SMALL = 256, LARGE = 2048 };
    static const uint32_t borders[] = {SMALL, LARGE, LARGE};
    struct fovea_gemm_desc d = FOVEA_GEMM_DESC_INIT;
    struct fovea_engine *engines[3];
    void *plans[3];
    char texts[3][TEXT];
    struct fovea_gemm_facts facts[3];
    d.m = M, d.n = d.ldb = d.ldc = N, d.k = d.lda = K;
    for (int i = 0; i < 3; i++) {
        engines[i] = test_engine(isa, NULL);
        struct fovea_tuning *const tuning = test_tuning(engines[i]);
        tuning->cache.near = borders[i];
        struct fovea_gemm_tuning *const class =
            &tuning->gemm[fovea_gemm_number(fovea_gemm_class(tuning, M, N, K, FOVEA_FORM_NN))];
        class->bn_rows = class->bn_alias = M;
        class->lead = 96;
        plans[i] = aligned_alloc(64, fovea_gemm_plan_size());
        CHECK(plans[i] && fovea_gemm_plan(engines[i], &d, plans[i]) == FOVEA_OK, "%s", isa);
        fovea_gemm_say(plans[i], texts[i], TEXT);
        fovea_gemm_facts(plans[i], &facts[i]);
        char *const memory = strstr(texts[i], ", shared_bytes"); // which differs with the columns
        CHECK(memory != NULL, "%s", texts[i]);
        if (memory)
            *memory = '\0';
    }
    CHECK(strcmp(texts[0], texts[1]) == 0 && strstr(texts[0], "a few rows at a time"), "%s: %s and %s", isa, texts[0],
          texts[1]);
    CHECK(facts[0].step_columns == 4096 && facts[1].step_columns == N, "%s: %zu and %zu columns at a time", isa,
          facts[0].step_columns, facts[1].step_columns);
    CHECK(!fovea_gemm_same(plans[0], plans[1]), "%s: columns at a time", isa);
    CHECK(fovea_gemm_same(plans[1], plans[2]), "%s: another engine with the same numbers", isa);
    CHECK(memcmp(&facts[1], &facts[2], sizeof *facts) == 0, "%s: facts have padding", isa);
    for (int i = 0; i < 3; i++) {
        free(plans[i]);
        fovea_engine_destroy(engines[i]);
    }
}

// Whose kernel is to follow a hint, if it does.
enum slot { NOBODY, GEMM, GEMM_BT, GEMM_BN };

static bool follows(const char *isa, enum slot slot)
{
    const bool scalar = strcmp(isa, "scalar") == 0, avx2 = strcmp(isa, "avx2") == 0;
    return slot == GEMM ? strcmp(isa, "avx512") == 0 : slot == GEMM_BT ? !scalar && !avx2 : slot == GEMM_BN && !scalar;
}

// Pages touched, and lines prefetched ahead: of a packed B that passes once, and of another one, or of an A, by one row
// or column, unless its rows are read eight at a time. Where the kernel ignores them, other numbers are the same plan.
static void test_hints(const char *isa)
{
    enum { SIZE = 1000, PLANS = 4 };
    static const struct {
        size_t m, n;
        bool packed, a_turned, b_turned, eights;
        enum slot touches, leads;
    } cases[] = {
        {1, SIZE, true, false, false, false, GEMM, GEMM},       {2, SIZE, true, false, false, false, GEMM, GEMM},
        {1, SIZE, false, false, false, false, GEMM_BN, NOBODY}, {2, SIZE, false, false, false, false, NOBODY, GEMM_BN},
        {1, SIZE, false, false, true, false, GEMM_BT, NOBODY},  {2, SIZE, false, false, true, false, NOBODY, NOBODY},
        {1, SIZE, false, false, true, true, GEMM_BT, NOBODY},   {SIZE, 1, false, false, false, false, GEMM_BT, NOBODY},
        {SIZE, 2, false, false, false, false, NOBODY, NOBODY},  {SIZE, 1, false, true, false, false, GEMM_BN, NOBODY},
        {SIZE, 2, false, true, false, false, NOBODY, GEMM_BN},
    };
    static const uint32_t touch[PLANS] = {1, 3, 3, 3}, lead[PLANS] = {96, 96, 96, 160};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        struct fovea_gemm_desc d = FOVEA_GEMM_DESC_INIT;
        d.m = cases[c].m, d.n = d.ldc = cases[c].n, d.k = SIZE;
        d.b_packed = cases[c].packed;
        d.trans_a = cases[c].a_turned ? FOVEA_TRANS : FOVEA_NO_TRANS, d.lda = cases[c].a_turned ? d.m : d.k;
        d.trans_b = cases[c].b_turned ? FOVEA_TRANS : FOVEA_NO_TRANS, d.ldb = cases[c].b_turned ? d.k : d.n;
        // Only AVX-512 has a choice between eight and more.
        const bool touches = follows(isa, cases[c].touches) && !(cases[c].eights && strcmp(isa, "avx512") == 0);
        const bool leads = follows(isa, cases[c].leads);
        struct fovea_engine *engines[PLANS];
        void *plans[PLANS];
        for (int i = 0; i < PLANS; i++) {
            engines[i] = test_engine(isa, NULL);
            for (uint32_t number = 0; number < FOVEA_GEMM_CLASSES; number++) {
                struct fovea_gemm_tuning *const class = &test_tuning(engines[i])->gemm[number];
                class->bt_rows = class->bn_rows = class->bn_alias = class->follow_rows = 2;
                class->fetch_k = SIZE;
                class->blob_rows = 0;
                class->spread = 0;
                class->alone = number % FOVEA_FORMS != FOVEA_FORM_PACKED;
                class->half_rows = cases[c].eights;
                class->lead = lead[i];
                class->touch = touch[i];
            }
            plans[i] = aligned_alloc(64, fovea_gemm_plan_size());
            CHECK(plans[i] && fovea_gemm_plan(engines[i], &d, plans[i]) == FOVEA_OK, "%s", isa);
            struct fovea_gemm_facts facts;
            char text[TEXT];
            fovea_gemm_facts(plans[i], &facts);
            fovea_gemm_say(plans[i], text, TEXT);
            CHECK(facts.touch == (touches ? touch[i] : 0), "%s, case %zu: %zu pages: %s", isa, c, facts.touch, text);
            CHECK((strstr(text, "pages touched") != NULL) == touches, "%s, case %zu: %s", isa, c, text);
        }
        CHECK(fovea_gemm_same(plans[0], plans[1]) != touches, "%s, case %zu: other pages", isa, c);
        CHECK(fovea_gemm_same(plans[1], plans[2]), "%s, case %zu: the same pages", isa, c);
        CHECK(fovea_gemm_same(plans[2], plans[3]) != leads, "%s, case %zu: other lines", isa, c);
        for (int i = 0; i < PLANS; i++) {
            free(plans[i]);
            fovea_engine_destroy(engines[i]);
        }
    }
}

// Rows that are told to prefetch nothing of a blob: as many as the numbers say, of 16-bit elements half as many, at
// most those of the kernel; beyond these other numbers are the same plan.
static void test_quiet(const char *isa)
{
    enum { SIZE = 1000, ROWS = 9, TOLD = 8 };
    struct fovea_engine *const engines[] = {test_engine(isa, NULL), test_engine(isa, NULL)};
    const struct fovea_gemm_few_kernel *const kernel = &fovea_engine_kernels(engines[0])->gemm_few;
    const size_t able = kernel->quiet_rows;
    for (uint32_t class = 0; class < FOVEA_GEMM_CLASSES; class ++)
        for (uint32_t i = 0; i < 2; i++) {
            test_tuning(engines[i])->gemm[class].blob_rows = ROWS;
            test_tuning(engines[i])->gemm[class].quiet_rows = i * TOLD;
        }
    void *const plans[] = {aligned_alloc(64, fovea_gemm_plan_size()), aligned_alloc(64, fovea_gemm_plan_size())};
    for (int type = FOVEA_F32; type <= FOVEA_S8; type++)
        for (size_t m = 1; m <= ROWS; m++) {
            const size_t told = type == FOVEA_F32 ? TOLD : TOLD / 2;
            const bool quiet = type != FOVEA_S8 && m <= able && m <= told;
            struct fovea_gemm_desc d = FOVEA_GEMM_DESC_INIT;
            struct fovea_gemm_facts facts;
            char text[TEXT];
            d.m = m, d.n = d.ldc = d.k = d.lda = SIZE, d.b_packed = 1, d.b_type = (enum fovea_type)type;
            CHECK(plans[0] && fovea_gemm_plan(engines[0], &d, plans[0]) == FOVEA_OK, "%s", isa);
            CHECK(plans[1] && fovea_gemm_plan(engines[1], &d, plans[1]) == FOVEA_OK, "%s", isa);
            fovea_gemm_facts(plans[1], &facts);
            fovea_gemm_say(plans[1], text, TEXT);
            const bool few = facts.reads == FOVEA_READS_FEW;
            CHECK(fovea_gemm_same(plans[0], plans[1]) == !(few && quiet), "%s, type %d, %zu rows", isa, type, m);
            CHECK(!few || (strstr(text, "nothing prefetched") != NULL) == quiet, "%s, type %d: %s", isa, type, text);
            CHECK(!few || (strstr(text, "fetched into L1") != NULL) == (kernel->lead != 0 && !quiet), "%s: %s", isa,
                  text);
            CHECK(few || m > able, "%s, type %d: %s", isa, type, text);
        }
    for (int i = 0; i < 2; i++) {
        free(plans[i]);
        fovea_engine_destroy(engines[i]);
    }
}

// The next strip of a direct plan is prefetched, by kernels that do, if B is packed, comes from beyond L2, and has
// fewer panels in a strip than a strip of C has tiles.
static void test_next(const char *isa)
{
    enum { N = 1024, K = 256, FEW = 8, MANY = 300, SMALL = 256, LARGE = 4096 };
    static const struct {
        size_t m;
        uint32_t near, packed, ahead;
    } cases[] = {{MANY, SMALL, 1, 1}, {MANY, LARGE, 1, 0}, {MANY, SMALL, 0, 0}, {FEW, SMALL, 1, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct fovea_engine *const engine = test_engine(isa, NULL);
        struct fovea_tuning *const tuning = test_tuning(engine);
        struct fovea_gemm_desc d = FOVEA_GEMM_DESC_INIT;
        struct fovea_gemm_facts facts;
        tuning->cache.near = cases[i].near;
        for (size_t class = 0; class < FOVEA_GEMM_CLASSES; class ++)
            tuning->gemm[class].direct = 1 << 20, tuning->gemm[class].along = 0;
        d.m = cases[i].m, d.n = d.ldb = d.ldc = N, d.k = d.lda = K, d.b_packed = cases[i].packed;
        void *const plan = aligned_alloc(64, fovea_gemm_plan_size());
        CHECK(plan && fovea_gemm_plan(engine, &d, plan) == FOVEA_OK, "%s", isa);
        fovea_gemm_facts(plan, &facts);
        const bool prefetches = strcmp(isa, "scalar") != 0 && cases[i].ahead;
        CHECK(cases[i].m != MANY || !cases[i].packed || facts.direct, "%s: case %zu is not direct", isa, i);
        CHECK((facts.direct && facts.ahead) == prefetches, "%s: case %zu: the next strip %zu", isa, i, facts.ahead);
        free(plan);
        fovea_engine_destroy(engine);
    }
}

// Numbers that change a plan, and others that it does not read: two values of each.
static void test_numbers(const char *isa)
{
    enum {
        SIZE = 1000,
        NEVER,
        IF_AHEAD,
        IF_FIRST
    }; // IF_AHEAD: the kernel prefetches rows; IF_FIRST: first rows pack B
    static const struct {
        size_t m, n, k, number;
        uint32_t twice, values[2];
        int differs;
    } cases[] = {
#define NUMBER(name) offsetof(struct fovea_gemm_tuning, name) / sizeof(uint32_t)
        {1, SIZE, SIZE, NUMBER(twice), 0, {0, 1}, IF_AHEAD},
        {2, SIZE, SIZE, NUMBER(twice), 0, {0, 1}, NEVER},
        {1, SIZE, SIZE, NUMBER(into_l1), 0, {0, 1}, IF_AHEAD},
        {1, SIZE, SIZE, NUMBER(into_l1), 1, {0, 1}, NEVER},
        {2, SIZE, SIZE, NUMBER(into_l1), 1, {0, 1}, IF_AHEAD},
        {300, SIZE, SIZE, NUMBER(into_l1), 0, {0, 1}, IF_FIRST},
        {300, SIZE, SIZE, NUMBER(fetch_k), 0, {0, SIZE}, IF_FIRST},
        {64, 64, 64, NUMBER(mc), 0, {16, 64}, NEVER}, // directly: there are no chunks
        {64, 64, 64, NUMBER(nc), 0, {64, 128}, NEVER},
#undef NUMBER
    };
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        struct fovea_engine *const engines[] = {test_engine(isa, NULL), test_engine(isa, NULL)};
        void *const plans[] = {aligned_alloc(64, fovea_gemm_plan_size()), aligned_alloc(64, fovea_gemm_plan_size())};
        struct fovea_gemm_facts facts;
        for (int i = 0; i < 2; i++) {
            struct fovea_gemm_desc d = FOVEA_GEMM_DESC_INIT;
            d.m = cases[c].m, d.n = d.ldc = cases[c].n, d.k = d.lda = d.ldb = cases[c].k, d.trans_b = FOVEA_TRANS;
            for (uint32_t number = 0; number < FOVEA_GEMM_CLASSES; number++) {
                struct fovea_gemm_tuning *const class = &test_tuning(engines[i])->gemm[number];
                class->bt_rows = 2, class->spread = 0, class->fetch_k = SIZE, class->twice = cases[c].twice;
                ((uint32_t *)class)[cases[c].number] = cases[c].values[i];
            }
            CHECK(plans[i] && fovea_gemm_plan(engines[i], &d, plans[i]) == FOVEA_OK, "%s", isa);
            fovea_gemm_facts(plans[i], &facts);
        }
        const bool ahead = fovea_engine_kernels(engines[0])->gemm_bt.ahead;
        const bool differs = ahead && (cases[c].differs == IF_AHEAD || (cases[c].differs == IF_FIRST && facts.first));
        CHECK(fovea_gemm_same(plans[0], plans[1]) != differs, "%s: numbers %zu", isa, c);
        CHECK(cases[c].m != 64 || facts.direct, "%s: a cube of 64", isa);
        for (int i = 0; i < 2; i++) {
            free(plans[i]);
            fovea_engine_destroy(engines[i]);
        }
    }
}

// A transposed A of many steps is copied, but not for few rows over a transposed B in place, or over a blob of smaller
// elements: these read it where it lies, by kernels of their own, without blocks.
static void test_copy(const char *isa)
{
    enum { N = 1000, K = 1000, MOST = 200 };
    static const char *const kernels[] = {"gemm_bt_f32_", "gemm_bf16_f32_", "gemm_f16_f32_", "gemm_s8_f32_"};
    struct fovea_engine *const engine = test_engine(isa, NULL);
    void *const plan = aligned_alloc(64, fovea_gemm_plan_size());
    size_t in_place = 0;
    for (int type = FOVEA_F32; type <= FOVEA_S8; type++)
        for (size_t m = 1; m <= MOST; m += m < 20 ? 1 : 60) {
            struct fovea_gemm_desc d = FOVEA_GEMM_DESC_INIT;
            struct fovea_gemm_facts facts;
            d.m = d.lda = m, d.n = d.ldc = N, d.k = d.ldb = K, d.trans_a = d.trans_b = FOVEA_TRANS;
            d.b_type = (enum fovea_type)type, d.b_packed = d.b_type != FOVEA_F32;
            CHECK(plan && fovea_gemm_plan(engine, &d, plan) == FOVEA_OK, "%s", isa);
            fovea_gemm_facts(plan, &facts);
            const bool itself = facts.reads == FOVEA_READS_ROWS || facts.reads == FOVEA_READS_FEW;
            in_place += itself;
            CHECK(!itself || (!facts.copy_a && ((const struct fovea_work *)plan)->phases == 1),
                  "%s, type %d, %zu rows: A is copied, and nobody reads that", isa, type, m);
            CHECK(!itself || (strstr(facts.kernel, kernels[type]) == facts.kernel && facts.kc == 0),
                  "%s, type %d, %zu rows: %s in blocks of %zu steps", isa, type, m, facts.kernel, facts.kc);
            CHECK(m < 100 || facts.copy_a, "%s, type %d, %zu rows: A is not copied", isa, type, m);
        }
    CHECK(in_place != 0, "%s: no plan reads B in place", isa);
    free(plan);
    fovea_engine_destroy(engine);
}

// The last rows of a head that are decoded: where they prefetch to is a fact, too, if they are a task of their own;
// among tiles, which prefetch for them, they prefetch nothing.
static void test_block(const char *isa, uint32_t workers)
{
    enum { HEADS = 12, DIM = 128, TOKENS = 200, ROW = HEADS * DIM };
    const bool apart = workers > 1;
    struct fovea_attention_desc d;
    fovea_attention_desc_init(&d, sizeof d);
    d.batch = 1, d.heads = d.kv_heads = HEADS, d.q_len = d.kv_len = TOKENS, d.qk_dim = d.v_dim = DIM;
    d.q = d.k = d.v = d.out = (struct fovea_strides){0, DIM, ROW};
    struct fovea_engine *engines[3];
    void *plans[3];
    char texts[3][TEXT];
    struct fovea_attention_facts facts[3];
    static const uint32_t into[] = {FOVEA_INTO_L1, FOVEA_INTO_L2_PARTS, FOVEA_INTO_L2_PARTS};
    for (int i = 0; i < 3; i++) {
        engines[i] = test_engine(isa, NULL);
        struct fovea_attention_tuning *const tuning = &test_tuning(engines[i])->attention[1];
        tuning->queries = 48;
        tuning->near = 512;
        tuning->near_tiles = 512;
        tuning->decode_into = into[i];
        ((struct fovea_kernels *)fovea_engine_kernels(engines[i]))->workers = workers; // allocated
        plans[i] = aligned_alloc(64, fovea_attention_plan_size());
        CHECK(plans[i] && fovea_attention_plan(engines[i], &d, plans[i]) == FOVEA_OK, "%s", isa);
        fovea_attention_say(plans[i], texts[i], TEXT);
        fovea_attention_facts(plans[i], &facts[i]);
    }
    CHECK(strcmp(texts[0], texts[1]) == 0, "%s: %s and %s", isa, texts[0], texts[1]);
    CHECK((facts[0].few == 8) == (strcmp(isa, "avx512") == 0), "%s: %zu rows are decoded", isa, facts[0].few);
    CHECK(fovea_attention_same(plans[0], plans[1]) == (facts[0].few == 0 || !apart), "%s: the block", isa);
    CHECK(facts[0].few == 0 ||
              (facts[0].blocks[1].rows == 8 && facts[0].blocks[1].into == (uint32_t)(apart ? FOVEA_INTO_L1 : 0) &&
               facts[1].blocks[1].into == (uint32_t)(apart ? FOVEA_INTO_L2_PARTS : 0)),
          "%s: the facts of the block", isa);
    CHECK(fovea_attention_same(plans[1], plans[2]), "%s: another engine with the same numbers", isa);
    CHECK(memcmp(&facts[1], &facts[2], sizeof *facts) == 0, "%s: facts have padding", isa);
    for (int i = 0; i < 3; i++) {
        free(plans[i]);
        fovea_engine_destroy(engines[i]);
    }
}

// A packed B has no rows, whatever ldb says.
static void test_ldb(const char *isa)
{
    static const size_t shapes[][3] = {{128, 16, 1000}, {200, 32, 520}, {1, 1000, 1000}, {300, 768, 768}};
    struct fovea_engine *const engine = test_engine(isa, NULL);
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++) {
        void *plans[3];
        for (int i = 0; i < 3; i++) {
            struct fovea_gemm_desc d = FOVEA_GEMM_DESC_INIT;
            d.m = shapes[s][0], d.n = d.ldc = shapes[s][1], d.k = d.lda = shapes[s][2];
            d.b_packed = 1, d.ldb = i == 0 ? 0 : i == 1 ? d.n : 1024, d.trans_b = i == 2 ? FOVEA_TRANS : FOVEA_NO_TRANS;
            plans[i] = aligned_alloc(64, fovea_gemm_plan_size());
            CHECK(plans[i] && fovea_gemm_plan(engine, &d, plans[i]) == FOVEA_OK, "%s", isa);
            CHECK(fovea_gemm_same(plans[0], plans[i]), "%s, shape %zu: ldb %zu of a packed B", isa, s, d.ldb);
        }
        for (int i = 0; i < 3; i++)
            free(plans[i]);
    }
    fovea_engine_destroy(engine);
}

// Each makes engines of its own, as numbers are read where a plan is asked.
static void test_isa(const struct fovea_engine *engine, const char *isa)
{
    (void)engine;
    test_gemm(isa);
    test_hints(isa);
    test_quiet(isa);
    test_next(isa);
    test_numbers(isa);
    test_copy(isa);
    test_ldb(isa);
    test_block(isa, 1);
    test_block(isa, 16);
}

int main(void)
{
    setenv("FOVEA_CACHES", "32K,1M,32M,plain", 1);
    setenv("FOVEA_PROFILE", "none", 1);
    test_each_engine(test_isa);
    return test_done();
}
