// SPDX-License-Identifier: Apache-2.0
// tests/unit/attention_weights.c - returned weights, scores and their sums: float64 within the bound, the scalar
// engine's bits on every ISA and any order of tasks, sums that are sums of the weights, and an output that stays as it
// was.
#include "fovea/attention_weights.h"
#include "tests/check/bounds.h"
#include "tests/support/engines.h"
#include "tests/support/memory.h"
#include "tests/support/operator.h"
#include "tests/support/test.h"
#include "tests/support/threads.h"
#include "tests/unit/attention_case.h"

enum { WORKERS = 3 };

static struct fovea_engine *engines[TEST_ISAS];
static size_t dropped; ///< weights that dropout took, in all cases

// Everything that one case can return, dense: weights and scores (B, H, Lq, Lk), means (B, Lq, Lk).
enum kind { WEIGHTS, DROPPED, SCORES, MEANS, KEY_SUMS, HEAD_SUMS, KINDS };
static const char *const kind_names[KINDS] = {"weights", "dropped", "scores", "means", "key sums", "head sums"};
struct returned {
    float *of[KINDS];
};

static size_t count_of(const struct attention_case *c, enum kind kind)
{
    const size_t heads = c->args.batch * c->desc.heads, keys = c->args.kv_len;
    const size_t all = heads * c->args.q_len * keys;
    const size_t counts[KINDS] = {all, all, all, c->args.batch * c->args.q_len * keys, heads * keys, heads};
    return counts[kind];
}

static void call(const struct attention_case *c, int e, const struct test_session *s,
                 const struct fovea_attention_weights_args *args, bool threads)
{
    struct test_threads t;
    test_threads_init(&t, WORKERS, c->rng.state);
    const enum fovea_status status = fovea_attention_weights(s->plan, args, s->scratch, threads ? &t.executor : NULL);
    CHECK(!status, "%s: %s: %s", c->text, test_isas[e], fovea_status_string(status));
}

static struct returned run(const struct attention_case *c, int e, bool threads)
{
    struct returned r;
    const struct test_session s = test_plan(&test_attention, engines[e], &c->desc, WORKERS);
    for (int k = 0; k < KINDS; k++)
        r.of[k] = test_floats(count_of(c, (enum kind)k), threads ? TEST_LOW : TEST_HIGH);
    const size_t keys = c->args.kv_len, head = c->args.q_len * keys;
    struct fovea_attention_weights_args args = {.call = &c->args, .weights = r.of[WEIGHTS]};
    args.strides = (struct fovea_strides){c->desc.heads * head, head, keys};
    args.key_sums = r.of[KEY_SUMS];
    args.head_sums = r.of[HEAD_SUMS];
    call(c, e, &s, &args, threads);
    args.key_sums = args.head_sums = NULL;
    args.weights = r.of[MEANS];
    args.average = 1;
    args.strides.batch = head;
    call(c, e, &s, &args, threads);
    args.average = 0;
    args.strides.batch = c->desc.heads * head;
    args.dropped = 1;
    args.weights = r.of[DROPPED];
    call(c, e, &s, &args, threads);
    args.dropped = 0;
    args.weights = r.of[SCORES];
    args.returned = FOVEA_RETURN_SCORES;
    call(c, e, &s, &args, threads);
    return r;
}

static void compare(const struct attention_case *c, int e, const struct returned *a, const struct returned *b)
{
    for (int k = 0; k < KINDS; k++)
        CHECK_SAME(a->of[k], b->of[k], count_of(c, (enum kind)k), "%s: %s: %s", c->text, test_isas[e], kind_names[k]);
}

// A query and its keys: scores and weights from their definition, the bound of fovea/attention_weights.h.
static size_t wrong_in_row(const struct attention_case *c, const struct returned *r, size_t b, size_t h, size_t i)
{
    struct check_exact out[512], lse;
    attention_exact(c, b, h, i, out, &lse);
    const size_t keys = c->args.kv_len, row = ((b * c->desc.heads + h) * c->args.q_len + i) * keys;
    size_t wrong = 0;
    for (size_t j = 0; j < keys; j++) {
        const float score = r->of[SCORES][row + j], weight = r->of[WEIGHTS][row + j];
        if (!attention_case_sees(c, b, h, i, j)) {
            wrong += score != -INFINITY || weight != 0 || signbit(weight);
            continue;
        }
        const struct check_exact s = attention_exact_score(c, b, h, i, j);
        const double w = exp(s.value - lse.value);
        const double error = s.bound + lse.bound + CHECK_U * (3 * fabs(s.value - lse.value) + 2);
        wrong += !(fabs((double)score - s.value) <= s.bound);
        wrong += !(fabs((double)weight - w) <= 1.01 * expm1(error) * w + 0x1p-126);
    }
    return wrong;
}

static void check_rows(const struct attention_case *c, const struct returned *r)
{
    const size_t rows = c->args.batch * c->desc.heads * c->args.q_len;
    for (size_t row = 0; row < rows; row += 1 + rows / 12) {
        const size_t i = row % c->args.q_len, h = row / c->args.q_len % c->desc.heads,
                     b = row / c->args.q_len / c->desc.heads;
        CHECK(wrong_in_row(c, r, b, h, i) == 0, "%s: row %zu is farther from float64 than the bound", c->text, row);
    }
}

// After dropout a weight is nothing, or the weight times 1 / (1 - p); and the output is their product with V.
static void check_dropped(const struct attention_case *c, const struct returned *r)
{
    const bool drops = c->desc.dropout > 0 && !c->args.eval;
    const float scale = drops ? 1.0f / (1.0f - c->desc.dropout) : 1;
    const size_t n = count_of(c, WEIGHTS), keys = c->args.kv_len, rows = c->args.batch * c->desc.heads * c->args.q_len;
    size_t wrong = 0, none = 0;
    for (size_t i = 0; i < n; i++) {
        const float kept = drops ? r->of[WEIGHTS][i] * scale : r->of[WEIGHTS][i];
        none += r->of[DROPPED][i] != kept;
        wrong += r->of[DROPPED][i] != kept && !(drops && r->of[DROPPED][i] == 0);
    }
    CHECK(wrong == 0, "%s: %zu weights after dropout are neither kept nor dropped", c->text, wrong);
    dropped += none;
    for (size_t row = 0; row < rows && c->desc.v_dim; row += 1 + rows / 12) {
        const size_t i = row % c->args.q_len, h = row / c->args.q_len % c->desc.heads,
                     b = row / c->args.q_len / c->desc.heads, group = c->desc.heads / c->desc.kv_heads;
        const float *const v = (const float *)c->args.v + b * c->v.batch + h / group * c->v.head;
        double sum = 0, magnitude = 0;
        for (size_t j = 0; j < keys; j++) {
            const double w = (double)r->of[DROPPED][row * keys + j];
            sum += w == 0 ? 0 : w * (double)v[j * c->v.row];
            magnitude += w == 0 ? 0 : w * fabs((double)v[j * c->v.row]);
        }
        const float out = c->args.out[b * c->out.batch + h * c->out.head + i * c->out.row];
        const double lse = fabs((double)c->args.lse[row]), off = 1e-3 + (isinf(lse) ? 0 : 4 * CHECK_U * lse);
        CHECK(fabs((double)out - sum) <= off * magnitude + 1e-30, "%s: row %zu: %g, by its weights %g", c->text, row,
              (double)out, sum);
    }
}

// Means and sums are chains over the weights.
static void check_sums(const struct attention_case *c, const struct returned *r)
{
    const size_t keys = c->args.kv_len, q_len = c->args.q_len, heads = c->desc.heads;
    size_t wrong = 0;
    for (size_t b = 0; b < c->args.batch; b++) {
        for (size_t h = 0; h < heads; h++) {
            float total = 0;
            for (size_t j = 0; j < keys; j++) {
                float sum = 0;
                for (size_t i = 0; i < q_len; i++)
                    sum += r->of[WEIGHTS][((b * heads + h) * q_len + i) * keys + j];
                wrong += test_differ(&sum, &r->of[KEY_SUMS][(b * heads + h) * keys + j], 1) == 0;
                total += sum;
            }
            wrong += test_differ(&total, &r->of[HEAD_SUMS][b * heads + h], 1) == 0;
        }
        for (size_t at = 0; at < q_len * keys; at++) {
            float sum = 0;
            for (size_t h = 0; h < heads; h++)
                sum += r->of[WEIGHTS][(b * heads + h) * q_len * keys + at];
            sum *= 1.0f / (float)heads;
            wrong += heads != 0 && test_differ(&sum, &r->of[MEANS][b * q_len * keys + at], 1) == 0;
        }
    }
    CHECK(wrong == 0, "%s: %zu sums or means are not those of the weights", c->text, wrong);
}

static void run_case(uint64_t number)
{
    struct attention_case c;
    attention_draw(&c, number, true, 1500000);
    c.lse_floats = c.args.batch * c.desc.heads * c.args.q_len;
    c.args.out = test_floats(c.out_floats, TEST_HIGH);
    c.args.lse = test_floats(c.lse_floats, TEST_HIGH);
    memcpy(c.args.out, c.out_before, c.out_floats * sizeof *c.args.out);
    CHECK(!test_run(&test_attention, engines[0], &c.desc, &c.args, TEST_SERIAL, 1), "%s", c.text);
    const uint64_t before = test_hash(c.args.out, c.out_floats) ^ test_hash(c.args.lse, c.lse_floats);
    const struct returned expected = run(&c, 0, false);
    check_rows(&c, &expected);
    check_sums(&c, &expected);
    check_dropped(&c, &expected);
    for (int e = 0; e < TEST_ISAS; e++) {
        if (!engines[e])
            continue;
        const struct returned got = run(&c, e, true);
        compare(&c, e, &expected, &got);
    }
    CHECK(before == (test_hash(c.args.out, c.out_floats) ^ test_hash(c.args.lse, c.lse_floats)), "%s: out changed",
          c.text);
    test_memory_reset();
}

// Keys before kv_begin, which ends within a chunk, are keys that a mask hides.
static void test_begin(void)
{
    enum { HEADS = 2, QUERIES = 5, KEYS = 400, BEGIN = 144, SEEN = KEYS - BEGIN, DIM = 8 };
    struct fovea_attention_desc d;
    fovea_attention_desc_init(&d, sizeof d);
    d.batch = 1, d.heads = d.kv_heads = HEADS, d.q_len = QUERIES, d.kv_len = KEYS, d.qk_dim = d.v_dim = DIM;
    d.q = d.k = d.v = d.out = (struct fovea_strides){0, DIM, HEADS * DIM};
    d.mask_key = 1;
    uint64_t seed = 7;
    float q[QUERIES * HEADS * DIM], k[KEYS * HEADS * DIM], out[QUERIES * HEADS * DIM], lse[HEADS * QUERIES];
    for (size_t i = 0; i < sizeof q / sizeof *q; i++)
        q[i] = 4 * test_float(&seed);
    for (size_t i = 0; i < sizeof k / sizeof *k; i++)
        k[i] = test_float(&seed);
    uint8_t mask[KEYS] = {0};
    memset(mask + BEGIN, 1, SEEN);
    static float weights[2][HEADS * QUERIES * KEYS], sums[2][HEADS * KEYS];
    for (int e = 0; e < TEST_ISAS; e++) {
        for (size_t hide = 0; hide < 2 && engines[e]; hide++) {
            const size_t begin = hide ? 0 : BEGIN, keys = KEYS - begin;
            d.mask = hide ? FOVEA_MASK_BYTES : FOVEA_MASK_NONE;
            const struct fovea_attention_args args = {.q = q,
                                                      .k = k + begin * HEADS * DIM,
                                                      .v = k + begin * HEADS * DIM,
                                                      .out = out,
                                                      .lse = lse,
                                                      .batch = 1,
                                                      .q_len = QUERIES,
                                                      .kv_len = KEYS,
                                                      .kv_begin = begin,
                                                      .mask = hide ? mask : NULL};
            const struct test_session s = test_plan(&test_attention, engines[e], &d, 1);
            const struct fovea_attention_weights_args all = {
                .call = &args, .weights = weights[hide], .strides = {0, QUERIES * keys, keys}, .key_sums = sums[hide]};
            CHECK(!fovea_attention(s.plan, &args, s.shared, s.scratch, NULL) &&
                      !fovea_attention_weights(s.plan, &all, s.scratch, NULL),
                  "%s", test_isas[e]);
        }
        for (size_t row = 0; row < HEADS * QUERIES && engines[e]; row++)
            CHECK_SAME(weights[1] + row * KEYS + BEGIN, weights[0] + row * SEEN, SEEN, "%s row %zu", test_isas[e], row);
        for (size_t h = 0; h < HEADS && engines[e]; h++)
            CHECK_SAME(sums[1] + h * KEYS + BEGIN, sums[0] + h * SEEN, SEEN, "%s", test_isas[e]);
        test_memory_reset();
    }
}

static void test_errors(void)
{
    struct attention_case c;
    uint64_t number = 1;
    do
        attention_draw(&c, number++, true, 100000);
    while (c.args.kv_len < 40 || c.args.q_len < 2 || c.out_floats == 0);
    float lse[1];
    c.args.lse = lse;
    const struct test_session s = test_plan(&test_attention, engines[0], &c.desc, 1);
    const size_t n = count_of(&c, WEIGHTS), head = c.args.q_len * c.args.kv_len;
    float *const weights = test_floats(n, TEST_HIGH);
    const struct fovea_attention_weights_args good = {
        .call = &c.args, .weights = weights, .strides = {c.desc.heads * head, head, c.args.kv_len}};
    struct fovea_attention_weights_args a = good;
#define REFUSED(status) CHECK(fovea_attention_weights(s.plan, &a, s.scratch, NULL) == (status), "%s", #status)
    a.returned = (enum fovea_attention_returned)7;
    REFUSED(FOVEA_ERR_ENUM);
    a = good, a.average = 2;
    REFUSED(FOVEA_ERR_ENUM);
    a = good, a.average = 1, a.returned = FOVEA_RETURN_SCORES;
    REFUSED(FOVEA_ERR_VALUE);
    a = good, a.weights = NULL;
    REFUSED(FOVEA_ERR_NULL);
    a.head_sums = weights;
    REFUSED(FOVEA_ERR_NULL);
    a = good, a.strides.row--;
    REFUSED(FOVEA_ERR_STRIDE);
    a = good, a.strides.batch = SIZE_MAX / 2;
    a.strides.head = SIZE_MAX / 2;
    REFUSED(FOVEA_ERR_OVERFLOW);
    c.args.lse = NULL;
    a = good;
    REFUSED(FOVEA_ERR_NULL);
    c.args.lse = lse;
    c.args.q_len = c.desc.q_len + 1;
    REFUSED(FOVEA_ERR_SHAPE);
    CHECK(fovea_attention_weights(NULL, &good, s.scratch, NULL) == FOVEA_ERR_NULL, "no plan");
    size_t written = 0;
    for (size_t i = 0; i < n; i++)
        written += !isnan(weights[i]);
    CHECK(written == 0, "a refused call wrote");
    test_memory_reset();
}

// A sum for each head is a task, and tasks are counted in 32 bits: 2^32 heads were none, whose sums stayed unwritten.
static void test_many_heads(void)
{
    struct fovea_attention_desc d;
    fovea_attention_desc_init(&d, sizeof d);
    d.batch = 1, d.heads = (size_t)1 << 32, d.kv_heads = 1, d.q_len = 1, d.qk_dim = d.v_dim = 1;
    d.q.row = d.k.row = d.v.row = d.out.row = d.out.head = 1;
    const struct test_session s = test_plan(&test_attention, engines[0], &d, 1);
    float q = 1, lse = 0, key_sum = 0, head_sum = NAN; // keys: none, so nothing is read
    const struct fovea_attention_args args = {.q = &q, .lse = &lse, .batch = 1, .q_len = 1};
    const struct fovea_attention_weights_args all = {.call = &args, .key_sums = &key_sum, .head_sums = &head_sum};
    CHECK(fovea_attention_weights(s.plan, &all, s.scratch, NULL) == FOVEA_ERR_OVERFLOW && isnan(head_sum),
          "2^32 heads");
    test_memory_reset();
}

int main(void)
{
    const bool small = getenv("FOVEA_TEST_SMALL") != NULL;
    test_engines(engines);
    for (uint64_t number = 40001; number <= (small ? 40040 : 40160); number++)
        run_case(number);
    CHECK(dropped > 0, "no case has dropout");
    test_begin();
    test_errors();
    test_many_heads();
    test_engines_free(engines);
    return test_done();
}
