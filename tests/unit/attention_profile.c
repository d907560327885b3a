// SPDX-License-Identifier: Apache-2.0
// tests/unit/attention_profile.c - no number of a tuning profile, and no number of workers, changes a bit of attention.
#include "dispatch/tuning.h"
#include "tests/support/engines.h"
#include "tests/support/memory.h"
#include "tests/support/operator.h"
#include "tests/support/test.h"
#include "tests/unit/attention_case.h"

enum { PROFILES = 3, WORKERS_MAX = 9 }; ///< PROFILES: of each case on each engine

static struct fovea_engine *engines[TEST_ISAS];
static size_t compared[TEST_ISAS]; ///< profiles of cases that have rows

// Any legal numbers: of each, one that is worth trying, or a small one.
static void draw_numbers(struct check_rng *rng, struct fovea_attention_tuning *tuning)
{
    uint32_t count, values[FOVEA_TUNABLES_MAX];
    const struct fovea_tunable *const of = fovea_tunables(FOVEA_TUNED_ATTENTION, &count);
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t most = of[i].largest < 64 ? of[i].largest : 64;
        values[i] = check_chance(rng, 50) ? of[i].values[check_below(rng, of[i].count)]
                                          : of[i].smallest + (uint32_t)check_below(rng, most - of[i].smallest + 1);
    }
    CHECK(count * sizeof *values == sizeof *tuning, "a profile has %u numbers", (unsigned)count);
    memcpy(tuning, values, sizeof *tuning);
}

struct result {
    float *out, *lse;
};

static struct result run(struct attention_case *c, int e, enum test_way way)
{
    const size_t rows = c->args.batch * c->desc.heads * c->args.q_len;
    const struct result r = {test_floats(c->out_floats, TEST_HIGH), test_floats(rows, TEST_HIGH)};
    memcpy(r.out, c->out_before, c->out_floats * sizeof *r.out);
    c->args.out = r.out;
    c->args.lse = r.lse;
    const enum fovea_status status = test_run(&test_attention, engines[e], &c->desc, &c->args, way, c->rng.state);
    CHECK(!status, "%s: %s: %s", c->text, test_isas[e], fovea_status_string(status));
    return r;
}

static void run_case(uint64_t number)
{
    struct attention_case c;
    attention_draw(&c, number, true, 500000);
    const size_t rows = c.args.batch * c.desc.heads * c.args.q_len;
    const struct result expected = run(&c, 0, TEST_SERIAL);
    for (int e = 0; e < TEST_ISAS; e++) {
        for (int i = 0; i < PROFILES && engines[e] && rows != 0; i++) {
            for (int j = 0; j < FOVEA_ATTENTION_CLASSES; j++)
                draw_numbers(&c.rng, &test_tuning(engines[e])->attention[j]);
            test_set_workers(engines[e], 1 + (uint32_t)check_below(&c.rng, WORKERS_MAX));
            const struct result got = run(&c, e, (enum test_way)check_below(&c.rng, TEST_WAYS));
            CHECK_SAME(expected.out, got.out, c.out_floats, "%s: %s: profile %d", c.text, test_isas[e], i);
            CHECK_SAME(expected.lse, got.lse, rows, "%s: %s: profile %d", c.text, test_isas[e], i);
            compared[e]++;
        }
    }
    test_memory_reset();
}

int main(void)
{
    const bool small = getenv("FOVEA_TEST_SMALL") != NULL;
    const size_t cases = small ? 40 : 300;
    test_engines(engines);
    for (uint64_t number = 110001; number <= 110000 + cases; number++)
        run_case(number);
    for (int e = 0; e < TEST_ISAS; e++)
        CHECK(!engines[e] || compared[e] >= cases, "%s: %zu profiles", test_isas[e], compared[e]);
    test_engines_free(engines);
    return test_done();
}
